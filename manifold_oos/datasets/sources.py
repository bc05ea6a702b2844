"""Reads the members of an untrusted archive or folder, one after the other and never outside of it."""

import gzip
import hashlib
import re
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from manifold_oos.errors import DataError

MAX_MEMBERS = 200_000
MAX_MEMBER = 1 << 26
MAX_TOTAL = 1 << 33
"""Wanted members, bytes of one, bytes of all when unpacked: several times the largest known set."""

GZIP = b"\x1f\x8b"
DAMAGE = (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile, tarfile.TarError)
"""What the archive readers raise on damaged files."""


def natural_key(name: str) -> list[int | str]:
    """Sort key that puts s2 before s10.

    Parameters
    ----------
    name : str
        Any text.

    Returns
    -------
    list
        Text and numbers by turns.

    Examples
    --------
    >>> sorted(["s10", "s2"], key=natural_key)
    ['s2', 's10']
    """
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]


class Source(ABC):
    """A place with members.

    Parameters
    ----------
    path : Path
        The archive or the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def where(self, member: str) -> str:
        """File and member, for messages."""
        return f"{self.path}: {member}"

    @abstractmethod
    def identity(self) -> Any:
        """What changes when the content does, without reading it, as JSON."""

    @abstractmethod
    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        """Name and size of every member, and a way to its content, in the order of the source."""

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Members by name, in the order of the source.

        Parameters
        ----------
        wanted : callable
            Says by name whether a member is needed.

        Yields
        ------
        name : str
            With forward slashes.
        content : bytes
            At most ``MAX_MEMBER``.
        """
        total = count = 0
        try:
            for name, size, content in self._members(wanted):
                self._check_path(name)
                if wanted(name):
                    count, total = count + 1, total + size
                    self._check_size(name, size, count, total)
                    try:
                        data = content()
                    except DAMAGE as error:
                        what = f"cannot be read ({_reason(error)}); get the file again"
                        raise DataError(f"{self.where(name)}: {what}") from error
                    if len(data) != size:
                        raise DataError(f"{self.where(name)}: {len(data)} of {size} bytes; get the file again")
                    yield name, data
        except DataError:
            raise
        except DAMAGE as error:
            raise DataError(f"{self.path}: truncated or damaged ({_reason(error)}); get the file again") from error

    def _check_path(self, name: str) -> None:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or re.match("[A-Za-z]:", name):
            raise DataError(f"{self.where(name)}: the member's path leaves the archive; do not trust this file")

    def _check_size(self, name: str, size: int, count: int, total: int) -> None:
        if size > MAX_MEMBER:
            raise DataError(f"{self.where(name)}: {size} bytes unpacked are more than {MAX_MEMBER}")
        if count > MAX_MEMBERS or total > MAX_TOTAL:
            raise DataError(f"{self.where(name)}: more than {MAX_MEMBERS} members or {MAX_TOTAL} bytes unpacked")


class ZipSource(Source):
    """A zip archive."""

    def identity(self) -> Any:
        """Path, size and time."""
        return _stamp(self.path)

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        with zipfile.ZipFile(self.path) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield info.filename, info.file_size, partial(archive.read, info)


class TarSource(Source):
    """A tar archive, gzipped or not."""

    def identity(self) -> Any:
        """Path, size and time."""
        return _stamp(self.path)

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        with self.path.open("rb") as file:
            gzipped = file.read(2) == GZIP
        with (
            gzip.open(self.path) if gzipped else self.path.open("rb") as stream,
            tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive,
        ):
            for info in archive:
                if info.isfile():
                    yield info.name, info.size, cast("IO[bytes]", archive.extractfile(info)).read
                elif not info.isdir() and wanted(info.name):
                    raise DataError(f"{self.where(info.name)}: a link or device instead of a file; do not trust it")
            while stream.read(1 << 20):  # to the end, where gzip keeps its checksum
                pass


class FolderSource(Source):
    """An unpacked folder."""

    def identity(self) -> Any:
        """Path and a digest of the names, sizes and times within."""
        digest = hashlib.sha256()
        for file in self._files():
            stat = file.stat()
            digest.update(f"{file.relative_to(self.path)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        return [str(self.path.resolve()), digest.hexdigest()]

    def _files(self) -> list[Path]:
        return sorted(file for file in self.path.rglob("*") if file.is_file())

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        root = self.path.resolve()
        for file in self._files():
            name = file.relative_to(self.path).as_posix()
            if file.is_symlink() and wanted(name) and not file.resolve().is_relative_to(root):
                raise DataError(f"{self.where(name)}: a link that leaves the folder; copy the file instead")
            yield name, file.stat().st_size, file.read_bytes


class PartsSource(Source):
    """Several archives that are one set.

    Parameters
    ----------
    parts : sequence of Source
        In order.
    """

    def __init__(self, parts: Sequence[Source]) -> None:
        super().__init__(parts[0].path)
        self.parts = parts

    def identity(self) -> Any:
        """Those of all parts."""
        return [part.identity() for part in self.parts]

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Members of one part after the other."""
        for part in self.parts:
            yield from part.read(wanted)

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        for part in self.parts:
            yield from part._members(wanted)


class FileSource(Source):
    """A single file that is no archive, such as ``.mat``."""

    def identity(self) -> Any:
        """Path, size and time."""
        return _stamp(self.path)

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        yield self.path.name, self.path.stat().st_size, self.path.read_bytes


def open_source(path: Path) -> Source:
    """The right reader for a path, told by content, not by name.

    Parameters
    ----------
    path : Path
        A folder or a file.

    Returns
    -------
    Source
        To read from; nothing is unpacked to disk.
    """
    if path.is_dir():
        return FolderSource(path)
    if path.suffix == ".mat":
        return FileSource(path)
    try:
        with path.open("rb") as stream:
            start = stream.read(2)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({_reason(error)})") from error
    zipped = start == b"PK" or (path.suffix == ".zip" and start != GZIP)
    return ZipSource(path) if zipped else TarSource(path)


def _stamp(path: Path) -> list[Any]:
    stat = path.stat()
    return [str(path.resolve()), stat.st_size, stat.st_mtime_ns]


def _reason(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
