"""A person's own images: a folder or archive with one folder per class, or a pattern that finds the label."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from manifold_oos.datasets import images
from manifold_oos.datasets.base import Listing, Loader, Raw
from manifold_oos.datasets.sources import Source, natural_key, open_source
from manifold_oos.errors import ConfigError, DataError

SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".pgm", ".ppm", ".pnm", ".pbm", ".bmp", ".tif", ".tiff"}
UNREAD = {".webp", ".heic", ".heif", ".avif", ".jp2", ".svg", ".raw", ".dng"}
MAX_BYTES = 1 << 32
"""Of decoded pixels; more of them must be shrunk with ``size``."""


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
        if not isinstance(full["labelled"], bool):
            raise ConfigError(f"folder.labelled: {full['labelled']!r} is none of true, false")
        if full["pattern"] is not None:
            try:
                groups = re.compile(full["pattern"]).groupindex
            except (re.error, TypeError) as error:
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
        gray: bool = False,
        size: tuple[int, int] | None = None,
        resample: str = "lanczos",
    ) -> Raw:
        """Decode the images; hidden files and those that are not images by name are passed over.

        Parameters
        ----------
        variant : str
            The only one.
        path : path
            A folder or an archive (zip, tar); has to be given.
        pattern : str, optional
            A regular expression with a group ``(?P<label>...)``, searched in each file's path within the folder;
            without it the label is the uppermost folder in which the files differ.
        labelled : bool, default=True
            False for new images: no labels are looked for.
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
        names, pictures, total = [], [], 0
        for name, content in source.read(lambda name: _is_image(source, name)):
            picture = images.decode(content, source.where(name))[None]
            if gray:
                picture = images.to_gray(picture)
            if size is not None:
                picture = images.resize(picture, size, resample)
            names.append(name)
            pictures.append(picture[0])
            total += picture.nbytes
            if total > MAX_BYTES:
                raise DataError(
                    f"{source.where(name)}: more than 4 GiB of pixels up to here; give size [width, height]"
                )
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
        )

    def identity(self, variant: str, **own: Any) -> Any:
        """What changes when the folder or archive does."""
        return _open(own["path"]).identity()


def _open(path: str | Path) -> Source:
    place = Path(path).expanduser()
    if not place.exists():
        raise DataError(f"{place}: no such folder or archive of images")
    return open_source(place)


def _is_image(source: Source, name: str) -> bool:
    path = PurePosixPath(name)
    if any(part.startswith(".") or part == "__MACOSX" for part in path.parts):
        return False
    if path.suffix.lower() in UNREAD:
        raise DataError(f"{source.where(name)}: images of this format are not read; convert them to PNG")
    return path.suffix.lower() in SUFFIXES


def _labels(source: Source, names: Sequence[str], pattern: str | None) -> dict[str, str]:
    """Label of each file."""
    if pattern is not None:
        found = {name: re.search(pattern, name) for name in names}
        for name, match in found.items():
            if match is None or not match["label"]:
                raise DataError(f"{source.where(name)}: folder.pattern {pattern!r} finds no label in it")
        return {name: match["label"] for name, match in found.items() if match is not None}
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
