"""Files that are either the old ones or the new ones, never half written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside a file; when the block ends well it takes the file's place.

    Parameters
    ----------
    path : Path
        The file to write; its folder is made where missing.

    Yields
    ------
    Path
        Where to write, with the same suffix; removed when the block raises.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write a text file as a whole (UTF-8, newlines as given).

    Parameters
    ----------
    path : Path
        The file.
    text : str
        What it shall hold.

    Returns
    -------
    Path
        The file.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode())
    return path
