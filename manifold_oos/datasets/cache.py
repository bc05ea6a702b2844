"""Keeps decoded arrays on disk; an entry counts only when it was written to its end and still has its digest."""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos.atomic import atomic
from manifold_oos.resources import cache_dir

MAX_ENTRY = 1 << 30
MAX_TOTAL = 4 << 30
"""Bytes: a larger array is not kept; past the total the entries that were not used for longest go."""


def remember(
    key: Mapping[str, Any], make: Callable[[], tuple[NDArray, dict[str, Any]]]
) -> tuple[NDArray, dict[str, Any]]:
    """The array and the facts (JSON) under a key, made and kept when they are not there.

    An entry is ``<digest of key>.npy`` and, written after it, ``.json`` with the facts and the size, time and
    sha256 of the array's file. Without the second, or when anything differs, it is made anew: a process killed in
    between leaves nothing that is read. The array's sha256 is computed again only when its file's time changed.
    The array is read-only, and memory-mapped when it comes from the cache.
    """
    text = json.dumps(key, sort_keys=True, default=str)
    stem = cache_dir() / "arrays" / hashlib.sha256(text.encode()).hexdigest()[:32]
    kept = _read(stem)
    if kept is not None:
        return kept
    array, facts = make()
    if array.nbytes <= MAX_ENTRY:
        with suppress(OSError):  # a full or read-only disk makes loading slower, not impossible
            _write(stem, array, facts)
    return array, facts


def array(key: Mapping[str, Any], make: Callable[[], NDArray]) -> NDArray[np.floating]:
    """Like :func:`remember`, for an array alone."""
    return remember(key, lambda: (make(), {}))[0]


def _read(stem: Path) -> tuple[NDArray, dict[str, Any]] | None:
    file, card = stem.with_suffix(".npy"), stem.with_suffix(".json")
    try:
        digest, _, text = card.read_text().partition("\n")
        if digest != hashlib.sha256(text.encode()).hexdigest():
            return None
        entry, stat = json.loads(text), file.stat()
        if stat.st_size != entry["size"] or (
            stat.st_mtime_ns != entry["time"] and _sha256(file) != entry["sha256"]
        ):
            return None
        values = np.load(file, mmap_mode="r", allow_pickle=False)
        os.utime(card)
    except (OSError, ValueError):
        return None
    return values.view(np.ndarray), entry["facts"]


def _write(stem: Path, values: NDArray, facts: dict[str, Any]) -> None:
    file, card = stem.with_suffix(".npy"), stem.with_suffix(".json")
    card.unlink(missing_ok=True)
    with atomic(file) as stream:
        np.save(stream, values, allow_pickle=False)
    stat = file.stat()
    text = json.dumps({"size": stat.st_size, "time": stat.st_mtime_ns, "sha256": _sha256(file), "facts": facts})
    with atomic(card) as stream:
        stream.write(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}".encode())
    _prune(stem.parent)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left half written in a folder a day ago."""
    for part in folder.glob(".part-*"):
        with suppress(OSError):
            if part.stat().st_mtime < time.time() - 86400:
                shutil.rmtree(part) if part.is_dir() else part.unlink()


def _prune(folder: Path) -> None:
    """Remove leftovers and, past the limit, the entries unused for longest."""
    remove_leftovers(folder)
    with suppress(OSError):  # another process may prune at the same time
        used = sorted((card.stat().st_mtime, card) for card in folder.glob("*.json"))
        sizes = {card: card.with_suffix(".npy").stat().st_size for _, card in used}
        total = sum(sizes.values())
        for _, card in used[:-1]:
            if total <= MAX_TOTAL:
                break
            card.unlink(missing_ok=True)
            card.with_suffix(".npy").unlink(missing_ok=True)
            total -= sizes[card]
