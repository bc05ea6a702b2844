"""Reads the members of an untrusted archive or folder, one after the other and never outside of it."""

import gzip
import hashlib
import io
import os
import re
import struct
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from manifold_oos.datasets import limits, tar
from manifold_oos.errors import DataError

GZIP = b"\x1f\x8b"
DAMAGE = (
    *(OSError, EOFError, ValueError, RuntimeError, LookupError, OverflowError),
    *(struct.error, zlib.error, zipfile.BadZipFile, tarfile.TarError),
)
"""What the archive readers raise on damaged files."""
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, line ends, and what stands for bytes that are not UTF-8."""


def natural_key(name: str) -> list[tuple[int, str] | str]:
    """Sort key that puts s2 before s10: text and numbers (length, digits) by turns.

    Examples
    --------
    >>> sorted(["s10", "s2"], key=natural_key)
    ['s2', 's10']
    """
    parts = re.split(r"([0-9]+)", name)
    numbers = [digits.lstrip("0") for digits in parts[1::2]]
    key: list[tuple[int, str] | str] = list(parts)
    key[1::2] = [(len(digits), digits) for digits in numbers]
    return key


def shown(name: object) -> str:
    """A name on one line: what cannot be printed is escaped."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), str(name))


def own_path(path: str | Path) -> Path:
    """A path that a person gave, its ``~`` resolved; a name that cannot be printed is refused."""
    if UNPRINTABLE.search(str(path)):
        raise DataError(f"{shown(path)}: a name with control characters, or not in UTF-8; rename it")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise DataError(f"{path}: no such home folder") from error


def listed(place: str, faults: Sequence[str], count: int, hint: str = "") -> DataError:
    """One line for all faults of a place: the first few, how many more there are, and what to do."""
    shown = [*faults[: limits.SHOWN], *([f"and {count - limits.SHOWN} more"] if count > limits.SHOWN else [])]
    return DataError(f"{place}{'; '.join(shown)}{hint}")


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive, refused before its list of members is read if that is too large."""
    with _Sips(io.FileIO(path)) as file:
        file.most = limits.DIRECTORY_BYTES
        with zipfile.ZipFile(file) as archive:
            file.most = None
            yield archive


class _Sips(io.BufferedReader):
    """A file that does not give more than ``most`` bytes at once."""

    most: int | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        if self.most is not None and size is not None and size > self.most:
            raise zipfile.BadZipFile(f"a list of members of {size} bytes, more than {self.most}")
        return super().read(size)


class Source(ABC):
    """A place with members: an archive or a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def where(self, member: str) -> str:
        """File and member, for messages."""
        return f"{self.path}: {shown(member)}"

    @abstractmethod
    def identity(self) -> Any:
        """What changes when the content does, without reading it, as JSON."""

    @abstractmethod
    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        """Name and size of every member, and a way to its content, in the order of the source."""

    def read(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Name (with forward slashes) and content of the members that are wanted, in the order of the source."""
        total = count = 0
        try:
            for name, size, content in self._members(wanted):
                self._check_path(name)
                if wanted(name):
                    count, total = count + 1, total + size
                    self._check_member(name, size, count, total)
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
        if len(name) > limits.NAME_LENGTH:
            what = f"a path of {len(name)} characters, more than {limits.NAME_LENGTH}"
            raise DataError(f"{self.where(name[:40])}…: {what}")

    def _check_member(self, name: str, size: int, count: int, total: int) -> None:
        if UNPRINTABLE.search(name):
            raise DataError(f"{self.where(name)}: a name with control characters, or not in UTF-8; rename it")
        if size > limits.MEMBER_BYTES:
            raise DataError(f"{self.where(name)}: {size} bytes unpacked are more than {limits.MEMBER_BYTES}")
        if count > limits.MEMBERS or total > limits.ARCHIVE_BYTES:
            most = f"more than {limits.MEMBERS} members or {limits.ARCHIVE_BYTES} bytes unpacked"
            raise DataError(f"{self.where(name)}: {most}")


class ZipSource(Source):
    """A zip archive."""

    def identity(self) -> Any:
        """Path, size and time."""
        return _stamp(self.path)

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        with open_zip(self.path) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield info.filename, info.file_size, partial(unzip, archive, info)


def unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Content of a member, at most one byte more than its declared size."""
    with open_member(archive, info) as stream:
        return stream.read(info.file_size + 1)


def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """A member as a stream; other kinds of packing than deflate unpack to any size at once."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile("packed in another way than deflate; pack it again")
    return archive.open(info)


class TarSource(Source):
    """A tar archive, gzipped or not."""

    def identity(self) -> Any:
        """Path, size and time."""
        return _stamp(self.path)

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        with self.path.open("rb") as file:
            gzipped = file.read(2) == GZIP
        times, least = limits.EXPANSION
        most = max(least, times * self.path.stat().st_size)
        with gzip.open(self.path) if gzipped else self.path.open("rb") as stream:
            for entry in tar.entries(cast("IO[bytes]", stream), most):
                if entry.is_file:
                    yield entry.name, entry.size, entry.content
                elif not entry.is_folder and wanted(entry.name):
                    what = "a link or device instead of a file; do not trust it"
                    raise DataError(f"{self.where(entry.name)}: {what}")


class FolderSource(Source):
    """An unpacked folder."""

    def identity(self) -> Any:
        """Path and a digest of the names, sizes and times within."""
        digest = hashlib.sha256()
        try:
            for file in self._files():
                stat = file.stat()
                facts = f" {stat.st_size} {stat.st_mtime_ns}\n".encode()
                digest.update(os.fsencode(file.relative_to(self.path)) + facts)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({_reason(error)})") from error
        return [str(self.path.resolve()), digest.hexdigest()]

    def _files(self) -> list[Path]:
        within = list(islice(self.path.rglob("*"), limits.ENTRIES + 1))
        if len(within) > limits.ENTRIES:
            raise DataError(f"{self.path}: more than {limits.ENTRIES} files in it and below")
        return sorted(file for file in within if file.is_file())

    def _members(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
        root = self.path.resolve()
        for file in self._files():
            name = file.relative_to(self.path).as_posix()
            if file.is_symlink() and wanted(name) and not file.resolve().is_relative_to(root):
                raise DataError(f"{self.where(name)}: a link that leaves the folder; copy the file instead")
            yield name, file.stat().st_size, file.read_bytes


class PartsSource(Source):
    """Several archives that are one set, in order."""

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
    """The right reader for a folder or a file, told by content, not by name; nothing is unpacked to disk."""
    if path.is_dir():
        return FolderSource(path)
    if path.suffix == ".mat":
        return FileSource(path)
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: neither a file nor a folder")
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
    return shown((str(error) or type(error).__name__).splitlines()[0][:200])
