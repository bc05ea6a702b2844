"""What was read from the package's own sources, kept in the user's cache as JSON until one of them changes."""

import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from manifold_oos.atomic import write_text
from manifold_oos.resources import PACKAGE, cache_dir


def remembered(name: str, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, or gave an earlier process that had the same sources; lists for tuples.

    An entry that is damaged, of other sources or cannot be written is as good as none. There is one for each place
    that the package is installed in.
    """
    place = hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:16]
    file = cache_dir() / "sources" / f"{name}-{place}.json"
    with suppress(OSError, ValueError):
        seal, _, text = file.read_text(encoding="utf-8").partition("\n")
        if seal == _seal(text):
            return json.loads(text)
    text = json.dumps(make(), ensure_ascii=False)
    with suppress(OSError):
        write_text(file, f"{_seal(text)}\n{text}")
    return json.loads(text)


def _seal(text: str) -> str:
    return hashlib.sha256(f"{_sources()}{text}".encode()).hexdigest()


@cache
def _sources() -> str:
    """A digest of every source file of the package, and of Python."""
    digest = hashlib.sha256(sys.version.encode())
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
