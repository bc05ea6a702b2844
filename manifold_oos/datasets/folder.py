"""A person's own images: a folder or archive with one folder per class, or a pattern that finds the label."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from manifold_oos.datasets import images, limits
from manifold_oos.datasets.base import Listing, Loader, Raw
from manifold_oos.datasets.sources import Source, listed, natural_key, open_source, own_path
from manifold_oos.errors import ConfigError, DataError

SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".pgm", ".ppm", ".pnm", ".pbm", ".bmp", ".tif", ".tiff"}
UNREAD = {".webp", ".heic", ".heif", ".avif", ".jp2", ".svg", ".raw", ".dng"}
SEARCH = """
import json, re, sys
pattern, names = json.load(sys.stdin)
found = [re.search(pattern, name) for name in names]
json.dump([match and match["label"] for match in found], sys.stdout)
"""
"""Runs in a process of its own, as a search cannot be stopped otherwise."""


class Folder(Loader):
    """Your own images: a folder (or zip, tar) with one folder per class, or a pattern that finds the label."""

    name = "folder"
    listing = Listing(found="your own")
    cached = True

    @classmethod
    def check(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Validate options; see :meth:`Loader.check`."""
        full = super().check(options)
        if not isinstance(full["path"], str | Path) or not str(full["path"]):
            raise ConfigError("folder.path: give the folder or archive of your images")
        for key in ("labelled", "skip_bad"):
            if not isinstance(full[key], bool):
                raise ConfigError(f"folder.{key}: {full[key]!r} is none of true, false")
        if full["pattern"] is not None:
            if len(str(full["pattern"])) > limits.PATTERN_LENGTH:
                raise ConfigError(f"folder.pattern: more than {limits.PATTERN_LENGTH} characters")
            try:
                groups = re.compile(full["pattern"]).groupindex
            except (re.error, TypeError, OverflowError, RecursionError) as error:
                raise ConfigError(
                    f"folder.pattern: {full['pattern']!r} is no regular expression ({error})"
                ) from error
            if "label" not in groups:
                raise ConfigError(f"folder.pattern: {full['pattern']!r} has no group (?P<label>...)")
        return full

    def read(
        self,
        variant: str,
        *,
        path: str | Path = "",
        pattern: str | None = None,
        labelled: bool = True,
        skip_bad: bool = False,
        gray: bool = False,
        size: tuple[int, int] | None = None,
        resample: str = "lanczos",
    ) -> Raw:
        """Decode the images; hidden files and those that are not images by name are passed over.

        Grey images of 16 bits are read with their full depth.

        Parameters
        ----------
        variant : str
            The only one.
        path : path
            A folder or an archive (zip, tar); has to be given.
        pattern : str, optional
            A regular expression with a group ``(?P<label>...)``, searched in each file's path within the folder;
            without it the label is the uppermost folder in which the files differ. The search of all names has to
            end within seconds.
        labelled : bool, default=True
            False for new images: no labels are looked for.
        skip_bad : bool, default=False
            Whether to leave out files that cannot be decoded, with a note; otherwise one error lists them.
        gray : bool, default=False
            Grey before resizing.
        size : (width, height), optional
            Each image is resized as it is read; needed when they differ in size.
        resample : {"lanczos", "box", "bicubic", "nearest"}, default="lanczos"
            How images are resized.

        Returns
        -------
        Raw
            Names are paths within the folder, in natural order, class by class.
        """
        source = _open(path)
        names, pictures, total, bad = [], [], 0, []
        for name, content in source.read(_is_image):
            try:
                if PurePosixPath(name).suffix.lower() in UNREAD:
                    what = "images of this format are not read; convert them to PNG"
                    raise DataError(f"{source.where(name)}: {what}")
                picture = images.decode(content, source.where(name), deep=True)[None]
            except DataError as error:
                bad.append(str(error))
                continue
            if gray:
                picture = images.to_gray(picture)
            width, height = size or (picture.shape[2], picture.shape[1])
            total += width * height * (3 if picture.ndim == 4 else 1)
            if total > limits.VALUES:
                most = f"more than {limits.VALUES} pixels up to here"
                raise DataError(f"{source.where(name)}: {most}; give size [width, height]")
            if size is not None:
                picture = images.resize(picture, size, resample)
            names.append(name)
            pictures.append(picture[0])
        if bad and not (skip_bad and names):
            short = [line.removeprefix(f"{source.path}: ") for line in bad[: limits.SHOWN]]
            bad_images = (
                "1 bad image; mend or remove it" if len(bad) == 1 else f"{len(bad)} bad images; mend or remove them"
            )
            hint = f" ({bad_images}, or give skip_bad: true)"
            raise listed(f"{source.path}: ", short, len(bad), hint)
        if not names:
            raise DataError(f"{source.path}: no images in it (read are {', '.join(sorted(SUFFIXES))})")
        label_of = _labels(source, names, pattern) if labelled else dict.fromkeys(names, "")
        order = sorted(range(len(names)), key=lambda i: (natural_key(label_of[names[i]]), natural_key(names[i])))
        names, pictures = [names[i] for i in order], [pictures[i] for i in order]
        number = {label: i for i, label in enumerate(dict.fromkeys(label_of[name] for name in names))}
        try:
            values = images.stack(pictures, names, source.path)
        except DataError as error:
            raise DataError(f"{error}; give size [width, height]") from error
        return Raw(
            values,
            labels=[number[label_of[name]] for name in names] if labelled else None,
            class_names=list(number) if labelled else (),
            names=names,
            note=f"{len(bad)} files that are no readable images were left out" if bad else "",
        )

    def identity(self, variant: str, **own: Any) -> Any:
        """What changes when the folder or archive does."""
        return _open(own["path"]).identity()


def _open(path: str | Path) -> Source:
    place = own_path(path)
    if not place.exists():
        raise DataError(f"{place}: no such folder or archive of images")
    return open_source(place)


def _is_image(name: str) -> bool:
    path = PurePosixPath(name)
    if any(part.startswith(".") or part == "__MACOSX" for part in path.parts):
        return False
    return path.suffix.lower() in SUFFIXES | UNREAD


def _labels(source: Source, names: Sequence[str], pattern: str | None) -> dict[str, str]:
    """Label of each file."""
    if pattern is not None:
        labels = dict(zip(names, _search(source, names, pattern), strict=True))
        for name, label in labels.items():
            if not label:
                raise DataError(f"{source.where(name)}: folder.pattern {pattern!r} finds no label in it")
        return labels
    folders = {name: PurePosixPath(name).parts[:-1] for name in names}
    levels = zip(*folders.values(), strict=False)
    shared = len(list(takewhile(lambda level: len(set(level)) == 1, levels)))
    if all(len(parts) == shared for parts in folders.values()):
        shared -= 1  # a single class: its own folder is the label
    for name, parts in folders.items():
        if shared < 0 or len(parts) <= shared:
            raise DataError(
                f"{source.where(name)}: lies in no class folder; move it to one, or give pattern or labelled: false"
            )
    return {name: parts[shared] for name, parts in folders.items()}


def _search(source: Source, names: Sequence[str], pattern: str) -> list[str]:
    """The label that the pattern finds in each name."""
    command = [sys.executable, "-I", "-S", "-c", SEARCH]
    task = json.dumps([pattern, names]).encode()
    try:
        answer = subprocess.run(
            command, input=task, capture_output=True, timeout=limits.PATTERN_SECONDS, check=True
        )
    except subprocess.TimeoutExpired as error:
        what = f"takes more than {limits.PATTERN_SECONDS:g} seconds; are there repeats within repeats?"
        raise DataError(f"{source.path}: folder.pattern {pattern!r} {what}") from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise DataError(f"{source.path}: folder.pattern {pattern!r} cannot be searched ({error})") from error
    return list(json.loads(answer.stdout))
