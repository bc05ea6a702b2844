"""The data sets that live in files: finds the official archive or its folder, and turns image names into labels."""

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos.datasets import limits
from manifold_oos.datasets.base import Listing, Loader, Raw
from manifold_oos.datasets.images import decode, stack
from manifold_oos.datasets.sources import PartsSource, Source, natural_key, open_source
from manifold_oos.datasets.specs import Copy, Spec, spec
from manifold_oos.errors import DataError
from manifold_oos.resources import cache_dir

ARCHIVES = (".zip", ".tgz", ".tar.gz", ".tar")


@dataclass(frozen=True)
class Found:
    """Where a variant was found, and which of its known forms that is."""

    source: Source
    copy: Copy


def search_path(data_dir: str | Path | None = None) -> list[Path]:
    """The folders where data are looked for: the one asked for, ``MOOS_DATA``, ``./datasets``, the user's cache."""
    asked = [] if data_dir is None else [Path(data_dir)]
    environment = os.environ.get("MOOS_DATA")
    return [*asked, *([Path(environment)] if environment else []), Path("datasets"), download_dir()]


def download_dir() -> Path:
    """The folder in the user's cache that downloads go to."""
    return cache_dir() / "datasets"


class FileLoader(Loader):
    """Base of the sets whose samples are in files described by ``datasets/<name>.yaml``."""

    cached = True

    def __init__(self, *, data_dir: str | Path | None = None, offline: bool | None = None) -> None:
        super().__init__(data_dir=data_dir, offline=offline)
        self._found: dict[str, Found] = {}

    @classmethod
    def spec(cls) -> Spec:
        """What ``datasets/<name>.yaml`` says."""
        return spec(cls.name)

    @abstractmethod
    def parse(self, variant: str, source: Source) -> Raw:
        """Raw samples from the variant's archive, folder or ``.mat`` file."""

    def locate(self, variant: str) -> Found | None:
        """The first copy of a variant in the first folder of the search path that has one."""
        for place in search_path(self.data_dir):
            for copy in self.spec().variants[variant].copies:
                files = [_archive(place / name) for name in copy.files]
                sources = [open_source(file) for file in files if file is not None]
                if len(sources) == len(files):
                    return Found(sources[0] if len(sources) == 1 else PartsSource(sources), copy)
                for name in copy.folders:
                    folder = place if place.name == name else place / name
                    if folder.is_dir():
                        return Found(open_source(folder), copy)
        return None

    def found(self, variant: str) -> Found:
        """Like :meth:`locate`, but downloads what is free to download; a :class:`DataError` if there is nothing."""
        if variant not in self._found:
            found = self.locate(variant)
            if found is None:
                from manifold_oos.datasets.fetch import download

                download(type(self), variant, data_dir=self.data_dir, offline=self.offline)
                found = self.locate(variant)
            if found is None:
                raise DataError(f"{self.name}: the download is not where it should be, in {download_dir()}")
            self._found[variant] = found
        return self._found[variant]

    def listed(self, variant: str) -> Listing:
        """From ``datasets/<name>.yaml`` and where it is; see :meth:`Loader.listed`."""
        found, expected = self.locate(variant), self.spec().variants[variant]
        size = (expected.copies[0] if found is None else found.copy).size
        return Listing(
            samples=expected.samples,
            classes=expected.classes,
            size="" if size is None else f"{size[0]}×{size[1]}",
            licence=self.spec().licence,
            found="absent" if found is None else str(found.source.path),
        )

    def identity(self, variant: str, **own: Any) -> Any:
        """Path, size and time of the files."""
        return self.found(variant).source.identity()

    def read(self, variant: str) -> Raw:
        """Read the variant from where it is found."""
        found = self.found(variant)
        raw = self.parse(variant, found.source)
        return replace(raw, note=found.copy.note) if found.copy.note else raw


def _archive(file: Path) -> Path | None:
    """The file, or the same archive packed the other way."""
    stem, _, kind = file.name.partition(".")
    names = [file.name] if f".{kind}" not in ARCHIVES else [file.name, *(stem + suffix for suffix in ARCHIVES)]
    return next((file.with_name(name) for name in names if file.with_name(name).is_file()), None)


@dataclass(frozen=True)
class Picture:
    """One decoded image, its path within the source, and the named groups of the pattern in that path."""

    member: str
    tokens: Mapping[str, str]
    pixels: NDArray[np.uint8]


def pictures(
    source: Source, pattern: str, *, keep: Callable[[Mapping[str, str]], bool] = lambda tokens: True
) -> list[Picture]:
    """Decode every image whose path ends as a pattern says, in natural order of their names.

    The pattern is a regular expression with named groups for the end of the path, from the start of a folder's or
    file's name, in upper or lower case; ``keep`` says by the groups whether an image belongs to the set.
    """
    compiled = re.compile(rf"(?:.*/)?{pattern}", re.IGNORECASE)

    def tokens(member: str) -> dict[str, str] | None:
        junk = any(part.startswith((".", "__MACOSX")) for part in member.split("/"))
        match = None if junk else compiled.fullmatch(member)
        found = None if match is None else match.groupdict(default="")
        return found if found is not None and keep(found) else None

    result: list[Picture] = []
    seen: dict[tuple[str, ...], str] = {}
    total = 0
    for member, data in source.read(lambda name: tokens(name) is not None):
        found = tokens(member) or {}
        key = tuple(found.values())
        if any(len(digits) > limits.DIGITS for token in key for digits in re.findall(r"\d+", token)):
            raise DataError(f"{source.where(member)}: a number of more than {limits.DIGITS} digits")
        if key in seen:
            raise DataError(f"{source.where(member)}: the same image as {seen[key]}; keep one of the two")
        seen[key] = member
        result.append(Picture(member, found, decode(data, source.where(member))))
        total += result[-1].pixels.nbytes
        if total > limits.PIXEL_BYTES:
            raise DataError(f"{source.where(member)}: more than {limits.PIXEL_BYTES} bytes of pixels up to here")
    if not result:
        raise DataError(f"{source.path}: no image whose name is like {pattern}")
    return sorted(result, key=lambda picture: [natural_key(token) for token in picture.tokens.values()])


def labelled(
    images: Sequence[Picture],
    source: Source,
    *,
    group: str,
    parameters: Mapping[str, Sequence[float]] | None = None,
    class_name: Callable[[str], str] = str,
    sample_name: Callable[[Picture], str] = lambda picture: Path(picture.member).stem,
    absent: Iterable[int] = (),
) -> Raw:
    """Raw samples whose class is a named group of their pattern, classes in natural order.

    A gap in numbered classes is an error, unless the number is among ``absent``.
    """
    keys = sorted({image.tokens[group] for image in images}, key=natural_key)
    if all(key.isdecimal() for key in keys):
        known = {*map(int, keys), *absent}
        missing = next(n for n in count(min(int(keys[0]), 1)) if n not in known)
        if missing < int(keys[-1]):
            raise DataError(f"{source.path}: labels with gaps, class {missing} of {keys[-1]} is missing")
    index = {key: position for position, key in enumerate(keys)}
    return Raw(
        stack([image.pixels for image in images], [image.member for image in images], source.path),
        labels=[index[image.tokens[group]] for image in images],
        class_names=[class_name(key) for key in keys],
        names=[sample_name(image) for image in images],
        parameters=parameters or {},
    )
