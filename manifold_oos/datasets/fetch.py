"""Downloads the data sets that are free to download, and says how to get the others."""

import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pooch
import requests
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from manifold_oos.datasets import limits
from manifold_oos.datasets.cache import remove_leftovers
from manifold_oos.datasets.files import FileLoader, download_dir, search_path
from manifold_oos.datasets.sources import PartsSource, open_source
from manifold_oos.datasets.specs import Copy
from manifold_oos.errors import DataError

RETRIES = 3
TIMEOUT = 30
#: Who was not reached is not asked again so soon: several data sets of a config may want the same file.
AGAIN_SECONDS = 60.0
_UNREACHED: dict[str, float] = {}


def download(
    loader: type[FileLoader], variant: str, *, data_dir: str | Path | None = None, offline: bool = False
) -> list[Path]:
    """Download a variant into the user's cache.

    Nothing appears there before all of it has come and was checked: by sha256 where the official file is known
    byte by byte, otherwise by the fingerprint of what it holds.

    Parameters
    ----------
    loader : type
        The data set.
    variant : str
        One of its variants.
    data_dir : path, optional
        For the message when it cannot be had.
    offline : bool
        Do not download.

    Returns
    -------
    list of Path
        The files.
    """
    copy = free_copy(loader, variant)
    if copy is None or offline:
        raise DataError(missing(loader, variant, data_dir=data_dir))
    target = download_dir()
    try:
        target.mkdir(parents=True, exist_ok=True)
        staging_folder = tempfile.TemporaryDirectory(dir=target, prefix=".part-")
    except OSError as error:
        raise DataError(
            f"{target}: cannot be written ({error.strerror}); set MOOS_CACHE to another folder"
        ) from error
    remove_leftovers(target)
    with staging_folder as staging:
        hashes = copy.sha256 or [None] * len(copy.files)
        sizes = copy.bytes or [limits.DOWNLOAD_BYTES] * len(copy.files)
        try:
            files = [
                _fetch(url, Path(staging) / name, digest, most)
                for url, name, digest, most in zip(copy.urls, copy.files, hashes, sizes, strict=True)
            ]
            if not copy.sha256:
                _check_content(loader, variant, copy, files)
        except DataError as error:
            by_hand = missing(loader, variant, data_dir=data_dir, by_hand=True)
            raise DataError(f"download failed: {error}. {by_hand}") from error
        return [file.replace(target / file.name) for file in files]


def free_copy(loader: type[FileLoader], variant: str) -> Copy | None:
    """The copy of a variant that anybody may download; None where a person has to ask for it."""
    copies = loader.spec().variants[variant].copies
    return next((copy for copy in copies if copy.urls), None)


def missing(
    loader: type[FileLoader], variant: str, *, data_dir: str | Path | None = None, by_hand: bool = False
) -> str:
    """One line for a variant that is not there: where it was looked for, how to get it, what to try meanwhile.

    Where the download by the command was tried already, ``by_hand`` leaves it out.
    """
    known, copy = loader.spec(), free_copy(loader, variant)
    name = " + ".join((copy or known.variants[variant].copies[0]).files)
    if copy is not None:
        command = "" if by_hand else f"with moos data get {loader.name} --variant {variant} or "
        how = f"get {name} {command}from {copy.urls[0] if len(copy.urls) == 1 else known.page}"
    else:
        how = f"get {name} from {known.page}" + (f" ({known.form})" if known.form else "")
    places = ", ".join(str(place) for place in search_path(data_dir))
    return f"{loader.name} ({variant}): not found in {places}; {how}; meanwhile try the built-in {known.meanwhile}"


def _fetch(url: str, file: Path, sha256: str | None, most: int) -> Path:
    host = urlsplit(url).netloc
    if time.monotonic() - _UNREACHED.get(host, -AGAIN_SECONDS) < AGAIN_SECONDS:
        raise DataError(f"{url}: no connection to {host}")
    pooch.get_logger().setLevel("ERROR")
    with _Bar(file.name) as bar:
        store = pooch.create(
            path=file.parent,
            base_url="",
            registry={file.name: None if sha256 is None else f"sha256:{sha256}"},
            urls={file.name: url},
            retry_if_failed=RETRIES,
        )
        try:
            store.fetch(file.name, downloader=partial(_stream, most=most, bar=bar))
        except (requests.exceptions.RequestException, ValueError, OSError, _Refused) as error:
            if isinstance(error, requests.exceptions.ConnectionError):
                _UNREACHED[host] = time.monotonic()
            raise DataError(f"{url}: {_reason(error, url)}") from error
    return file


class _Refused(Exception):
    """Why a download is not to be had, however often it is tried."""


class _Session(requests.Session):
    """Follows redirects, but not from https to anything less."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        where = None if target is None else urljoin(resp.url, target)
        if where is not None and resp.url.startswith("https:") and not where.startswith("https:"):
            raise _Refused(f"is sent on to {where[:120]!r}, which is not https")
        return target


def _stream(url: str, output: str, store: pooch.Pooch, *, most: int, bar: "_Bar") -> None:
    """Write what an address gives to a file, up to so many bytes: a downloader for pooch."""
    with _Session() as session, session.get(url, stream=True, timeout=TIMEOUT) as response:
        response.raise_for_status()
        said = response.headers.get("content-length", "")
        bar.start(int(said) if said.isdecimal() else 0)
        if bar.total > most:
            raise _Refused(f"{bar.total} bytes, where at most {most} are expected")
        with Path(output).open("wb") as file:
            for chunk in response.iter_content(1 << 16):
                if file.tell() + len(chunk) > most:
                    raise _Refused(f"more than {most} bytes")
                file.write(chunk)
                bar.update(len(chunk))


def _reason(error: Exception, url: str) -> str:
    if isinstance(error, requests.exceptions.ConnectionError):
        return f"no connection to {urlsplit(url).netloc}"
    if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
        return f"the server says {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off before the end"
    if "hash" in str(error):
        return "what came has another sha256 than the official file"
    return str(error).splitlines()[0][:120]


def _check_content(loader: type[FileLoader], variant: str, copy: Copy, files: Sequence[Path]) -> None:
    sources = [open_source(file) for file in files]
    source = sources[0] if len(sources) == 1 else PartsSource(sources)
    try:
        raw = loader().parse(variant, source)
    except DataError as error:
        raise DataError(f"{copy.urls[0]}: what came is not usable ({error})") from error
    if copy.fingerprint is not None and raw.fingerprint() != copy.fingerprint:
        raise DataError(f"{copy.urls[0]}: what came has other content than the official {' '.join(copy.files)}")


class _Bar:
    """Progress of a download: a bar on a terminal, a line per quarter elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.total = 0
        self.done = 0
        self.terminal = sys.stderr.isatty()
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, disable=not self.terminal)
        self.task = self.progress.add_task(name, total=None)

    def __enter__(self) -> "_Bar":
        self.progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.progress.stop()

    def start(self, total: int) -> None:
        self.done, self.total = 0, total

    def update(self, count: int) -> None:
        before = 4 * self.done // self.total if self.total else 0
        self.done = min(self.done + count, self.total)
        self.progress.update(self.task, total=self.total or None, completed=self.done)
        if not self.terminal and self.total and 4 * self.done // self.total > before:
            print(f"{self.name}: {self.done / 1e6:.1f} of {self.total / 1e6:.1f} MB", file=sys.stderr, flush=True)
