"""The file of a results folder: opening it, its version, what to say when it fails, and who may write."""

import functools
import json
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from manifold_oos.errors import MoosError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

FILE = "store.sqlite"
SCHEMA = """
create table if not exists rows (line text not null, n_components integer, step integer, candidate text not null,
  metric text not null, value real, n_train integer, n_test integer, chosen text, tuned integer, fitted text,
  warnings text);
create index if not exists rows_line on rows (line);
create table if not exists done (line text not null, what text not null, primary key (line, what)) without rowid;
create table if not exists costs (what text not null, seconds real not null);
create table if not exists failures (line text primary key, message text, file text, time real) without rowid;
create table if not exists predictions (line text not null, n_components integer, candidate text, arrays blob);
create index if not exists predictions_line on predictions (line);
create table if not exists choices (key text primary key, value text not null) without rowid;
create table if not exists datasets (key text primary key, facts text not null) without rowid;
"""
TABLES = ("rows", "done", "costs", "failures", "predictions", "choices", "datasets")
#: Kept in the file; raise it with a step in MIGRATIONS when the tables change.
VERSION = 2
#: What brings a file of an older version to the next one. Version 1 had the same tables and other keys.
MIGRATIONS: dict[int, str] = {1: ""}
#: What happened and what to do, by the beginning of SQLite's own name for it.
TROUBLES = {
    "SQLITE_FULL": "the disk is full; what is stored is safe: free some space and run the same command again",
    "SQLITE_READONLY": "cannot be written; give a results folder of your own with --out",
    "SQLITE_CANTOPEN": "cannot be opened; check the folder, or give another with --out",
    "SQLITE_BUSY": "another process has held it for a minute; wait for it, or stop it",
    "SQLITE_CORRUPT": "damaged; moos store check says how much, moos store repair saves what can be read",
    "SQLITE_NOTADB": "not a store of results; move it away, or give another folder with --out",
    "SQLITE_IOERR": "the disk cannot be read or written; what is stored is safe if the disk is",
}


class StoreLostError(MoosError):
    """The file of a store was removed or replaced while it was in use."""


def guarded(method: Callable[..., Any]) -> Any:
    """Tell of trouble with the file in one line: what happened, and what to do."""

    @functools.wraps(method)
    def inner(self: "StoreFile", *arguments: Any, **options: Any) -> Any:
        try:
            return method(self, *arguments, **options)
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            told = next((text for start, text in TROUBLES.items() if name.startswith(start)), "")
            told = told or f"its tables are not those of version {VERSION}; moos store check says more"
            raise MoosError(f"{self.path}: {told} ({error})") from error

    return inner


class StoreFile:
    """One SQLite file per results root, opened on first use; whoever opens a newer or a foreign one is told."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self.root / FILE

    @property
    def connection(self) -> sqlite3.Connection:
        """Open on first use; write-ahead log, so that readers and a writer do not wait for each other."""
        if self._connection is None:
            if self.path.exists() and not writable(self.root):
                self._connection = sqlite3.connect(f"{self.path.resolve().as_uri()}?immutable=1", uri=True)
                return self._connection
            try:
                self.root.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise MoosError(f"{self.root}: cannot be made ({error}); give another folder with --out") from error
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._identity = connection, _identity(self.path)
            self._log = _identity(self._beside("-wal"))
        return self._connection

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(FILE + ending)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("pragma user_version").fetchone()[0]
        if version == 0:  # a new file, or one from before versions were kept
            version = 1 if connection.execute("select 1 from sqlite_master").fetchone() else VERSION
        if version > VERSION:
            raise MoosError(
                f"{self.path}: written by a newer version of manifold_oos (tables {version}, this one knows "
                f"{VERSION}); update, or give another folder with --out"
            )
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma wal_autocheckpoint = 4000")
        connection.executescript(SCHEMA)
        for step in range(version, VERSION):
            connection.executescript(MIGRATIONS[step])
        connection.execute(f"pragma user_version = {VERSION}")

    def close(self) -> None:
        """Close the file; it opens again on use."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing."""
        connection = self.connection
        connection.execute("begin immediate")
        try:
            yield connection
        except BaseException:
            with suppress(sqlite3.Error):  # the error that is on its way says more
                connection.execute("rollback")
            raise
        connection.execute("commit")

    def check_present(self) -> None:
        """Notice that the file was removed or replaced; everything in it is then written to a rescue file."""
        if self._connection is None or self._identity in (None, _identity(self.path)):
            return
        self.root.mkdir(parents=True, exist_ok=True)
        rescue = self.root / f"rescue-{time.strftime('%Y%m%dT%H%M%S')}.sqlite"
        with closing(sqlite3.connect(rescue)) as other:
            self._connection.backup(other)
        self.close()
        if self._log == _identity(self._beside("-wal")):
            # SQLite would play the log of the lost file into the one that is now in its place.
            for ending in ("-wal", "-shm"):
                self._beside(ending).unlink(missing_ok=True)
        raise StoreLostError(
            f"{self.path}: removed or replaced during the run; all that was computed is in {rescue}: "
            f"move it to {self.path} and run the same command again"
        )

    # What ``moos store`` does.

    @guarded
    def examine(self) -> list[str]:
        """What is in the file, one line each; damage is an error that says what to do."""
        if not self.path.is_file():
            raise MoosError(f"{self.path}: no store here; give the results folder with --out")
        wrong = [row[0] for row in self.connection.execute("pragma integrity_check(3)") if row[0] != "ok"]
        if wrong:
            found = "; ".join(wrong).replace("\n", ", ")
            raise MoosError(f"{self.path}: {TROUBLES['SQLITE_CORRUPT']} ({found})")
        counts = [
            f"{self.connection.execute(f'select count(*) from {table}').fetchone()[0]} {table}" for table in TABLES
        ]
        return [
            f"{self.path}: sound, version {VERSION}, {self.path.stat().st_size / 2**20:.1f} MiB",
            ", ".join(counts),
        ]

    @guarded
    def repair(self) -> str:
        """Copy every row that can be read to a new file in the place of the damaged one, which is kept."""
        if not self.path.is_file():
            raise MoosError(f"{self.path}: no store here; give the results folder with --out")
        self.close()
        damaged = self.path.with_name(f"{FILE}.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
        fresh = StoreFile(self.root / f".repair-{os.getpid()}")
        lost, saved = [], 0
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)) as old, fresh:
            for table in TABLES:
                rows, whole = _readable(old, table)
                lost += [] if whole else [table]
                saved += len(rows)
                with fresh.transaction() as connection:
                    if rows:
                        marks = ", ".join("?" * len(rows[0]))
                        connection.executemany(f"insert or ignore into {table} values ({marks})", rows)
            if lost:
                # What is marked as done but not there is computed again; so are labels, packed in one row each.
                with fresh.transaction() as connection:
                    connection.execute("delete from done where (line, what) not in (select line, metric from rows)")
        self.path.rename(damaged)
        for ending in ("-wal", "-shm"):
            self._beside(ending).unlink(missing_ok=True)
        fresh.path.rename(self.path)
        shutil.rmtree(fresh.root)
        what = (
            f"some rows of {', '.join(lost)} were lost and will be computed again" if lost else "nothing was lost"
        )
        return f"{self.path}: {saved} rows saved, {what}; the old file is {damaged.name}"

    @guarded
    def compact(self) -> tuple[int, int]:
        """Bytes before and after."""
        before = self.path.stat().st_size if self.path.is_file() else 0
        self.connection.execute("vacuum")
        self.connection.execute("pragma wal_checkpoint(truncate)")
        return before, self.path.stat().st_size


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _readable(old: sqlite3.Connection, table: str) -> tuple[list[tuple[Any, ...]], bool]:
    """The rows of a table that can be read from either end, and whether that is all of them.

    The numbers of a line and metric stand together: the last ones before a gap may be a part, and are left out.
    """
    found: dict[tuple[Any, ...], None] = {}
    for order in ("", " order by rowid desc"):
        rows: list[tuple[Any, ...]] = []
        try:
            for row in old.execute(f"select * from {table}{order}"):
                rows.append(row)
            return rows, True
        except sqlite3.Error:
            edge = _pair(rows[-1]) if rows and table == "rows" else None
            found |= dict.fromkeys(row for row in rows if edge is None or _pair(row) != edge)
    return list(found), False


def _pair(row: tuple[Any, ...]) -> tuple[str, str]:
    """Line and metric of a row of the table ``rows``."""
    return row[0], row[4]


def writable(folder: Path) -> bool:
    """Whether files can be made in a folder; root may on a read-only disk too, until it tries."""
    if not os.access(folder, os.W_OK):
        return False
    flag = os.statvfs(folder).f_flag if hasattr(os, "statvfs") else 0
    return not flag & getattr(os, "ST_RDONLY", 0)


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of an experiment.

    The lock belongs to the process: when it dies, however, the system releases it, so a stale file does no harm.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    with path.open("a+", encoding="utf-8") as file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise MoosError(
                f"{name} is already running ({_holder(file.read())}); wait for it, or stop it"
            ) from None
        file.seek(0)
        file.truncate()
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        file.flush()
        try:
            yield
        finally:
            file.seek(0)
            file.truncate()


def _holder(text: str) -> str:
    try:
        holder = json.loads(text)
        return f"process {holder['pid']} on {holder['host']}"
    except (ValueError, KeyError, TypeError):
        return "by another process"
