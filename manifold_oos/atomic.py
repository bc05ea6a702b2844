"""Files that are either the old ones or the new ones, never half written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Write a file so that it appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as stream:
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        except BaseException:
            stream.close()
            Path(stream.name).unlink(missing_ok=True)
            raise
    umask = os.umask(0)
    os.umask(umask)
    Path(stream.name).chmod(0o666 & ~umask)
    Path(stream.name).replace(path)


def write_text(path: Path, text: str) -> Path:
    """Write a text file as a whole (UTF-8, newlines as given)."""
    with atomic(path) as stream:
        stream.write(text.encode())
    return path
