"""Reads untrusted tar streams: Python's reader takes the memory that a header claims before it looks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from tarfile import (
    BLOCKSIZE,
    GNUTYPE_LONGLINK,
    GNUTYPE_LONGNAME,
    GNUTYPE_SPARSE,
    NUL,
    SOLARIS_XHDTYPE,
    SUPPORTED_TYPES,
    XGLTYPE,
    XHDTYPE,
    ReadError,
    TarInfo,
)
from typing import IO

from manifold_oos.datasets import limits

LONG, PAX = (GNUTYPE_LONGNAME, GNUTYPE_LONGLINK), (XHDTYPE, SOLARIS_XHDTYPE, XGLTYPE)
SPARSE = "a sparse file; pack it again without --sparse"


@dataclass(frozen=True)
class Entry:
    """A member; ``content`` may be called until the next one is asked for."""

    name: str
    size: int
    is_file: bool
    is_folder: bool
    content: Callable[[], bytes]


def entries(stream: IO[bytes], most: int) -> Iterator[Entry]:
    """Members of a tar stream in order; a stream that unpacks to more than ``most`` bytes is refused."""
    meter = _Meter(stream, most)
    name, size, count = "", None, 0  # name and size as an extended header gives them to the next member
    while (block := meter.read(BLOCKSIZE)) != NUL * BLOCKSIZE:
        if not block:
            return
        info = TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if (count := count + 1) > limits.ENTRIES:
            raise ReadError(f"more than {limits.ENTRIES} members")
        if info.type in LONG + PAX:
            if not 0 <= info.size <= limits.EXTENDED_HEADER_BYTES:
                raise ReadError(f"a header of {info.size} bytes, more than {limits.EXTENDED_HEADER_BYTES}")
            text = meter.read(_padded(info.size))[: info.size]
            if info.type == GNUTYPE_LONGNAME:
                name = _name(text)
            elif info.type in PAX:
                records = _records(text)
                if any(key.startswith(b"GNU.sparse") for key in records):
                    raise ReadError(SPARSE)
                if info.type != XGLTYPE:
                    name = _name(records[b"path"]) if b"path" in records else name
                    size = int(records[b"size"]) if b"size" in records else None
            continue
        if info.type == GNUTYPE_SPARSE:
            raise ReadError(SPARSE)
        length = info.size if size is None else size
        if length < 0:
            raise ReadError("a member of negative size")
        start = meter.total
        yield Entry(name or info.name, length, info.isfile(), info.isdir(), partial(meter.read, length))
        if info.isfile() or info.type not in SUPPORTED_TYPES:
            meter.skip(start + _padded(length) - meter.total)
        name, size = "", None
    meter.skip_rest()


def _name(text: bytes) -> str:
    return text.rstrip(NUL).decode("utf-8", "surrogateescape")


def _padded(size: int) -> int:
    return -(-size // BLOCKSIZE) * BLOCKSIZE


def _records(text: bytes) -> dict[bytes, bytes]:
    """Keys and values of a pax header: ``length key=value`` lines."""
    found = {}
    while text:
        digits, _, _ = text.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) <= limits.DIGITS else 0
        key, equals, value = text[len(digits) + 1 : length - 1].partition(b"=")
        if not equals or not len(digits) < length <= len(text):
            raise ReadError("a damaged extended header")
        found[key], text = value, text[length:]
    return found


class _Meter:
    """Counts what is read, and refuses to go beyond a limit."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self.stream, self.most, self.total = stream, most, 0

    def read(self, size: int) -> bytes:
        data = self.stream.read(size)
        self.total += len(data)
        if self.total > self.most:
            raise ReadError(f"unpacks to more than {self.most} bytes")
        return data

    def skip(self, size: int) -> None:
        while size > 0:
            data = self.read(min(size, 1 << 20))
            if not data:
                raise ReadError("unexpected end of data")
            size -= len(data)

    def skip_rest(self) -> None:
        """To the end, where gzip keeps its checksum."""
        while self.read(1 << 20):
            pass
