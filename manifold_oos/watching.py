"""Places points with a saved model as files with them arrive in a folder; stopped, it goes on where it was."""

import csv
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from manifold_oos.atomic import write_text
from manifold_oos.datasets.folder import SUFFIXES
from manifold_oos.datasets.sources import natural_key
from manifold_oos.errors import DataError
from manifold_oos.incoming import BLOCK, Block, FolderRows, open_rows
from manifold_oos.novelty import NOVEL
from manifold_oos.pipeline import load
from manifold_oos.streaming import Drift, Placement, csv_head, csv_lines

#: Seconds between two looks at the folder.
EVERY = 1.0
#: Files with a row per point; every image is a point.
TABLES = (".csv", ".tsv", ".npy")
#: Size and time of a file.
State = tuple[int, int]


def watch_folder(
    model_file: Path,
    folder: Path,
    out: Path,
    say: Callable[[str], None],
    placed: Callable[[int, int], None] = lambda rows, novel: None,
    pause: Callable[[], None] = lambda: time.sleep(EVERY),
) -> Placement:
    """Place what arrives in a folder until Ctrl-C.

    Parameters
    ----------
    model_file : Path
        A saved model.
    folder : Path
        Images, or CSV and NPY files with a row per point, at any depth. A file is read once, when its size and time
        have not changed between two looks.
    out : Path
        A CSV file with name, label, confidence, novelty and coordinates, to which every point is added. Beside it
        ``.NAME.watch.json`` says how far it is whole, and the same call goes on from there.
    say : callable
        Told of a file that cannot be read, and when a refit is due.
    placed : callable
        Given all points and the novel ones so far, after each look that found some.
    pause : callable
        Waits between two looks.

    Returns
    -------
    Placement
        What was done, those of earlier calls included.
    """
    if out.suffix.lower() != ".csv":
        raise DataError(f"{out}: points that arrive are added to a .csv file")
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder to watch")
    started = time.monotonic()
    watch = _Watch(model_file, folder, out, say)
    resumed = watch.rows
    try:
        with threadpool_limits(1):
            while True:
                before = watch.rows
                watch.look()
                if watch.rows > before:
                    placed(watch.rows, watch.novel)
                pause()
    except KeyboardInterrupt:
        watch.close()
    return Placement(watch.rows, watch.novel, resumed, time.monotonic() - started)


class _Watch:
    """The folder as it was at the last look, and the file to which points are added."""

    def __init__(self, model_file: Path, folder: Path, out: Path, say: Callable[[str], None]) -> None:
        self.model, self.folder, self.out, self.say = load(model_file), folder, out, say
        self.key = hashlib.sha256(model_file.read_bytes()).hexdigest()[:32]
        self.note = out.with_name(f".{out.name}.watch.json")
        self.drift = Drift()
        self.done: set[str] = set()
        self.bad: dict[str, State] = {}
        self.seen: dict[str, State] = {}
        self.rows = self.novel = self.bytes = 0
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.exists():
            self._resume()
        self.stream = out.open("ab")
        if not self.bytes:
            self.stream.write(csv_head(self.model))
            self._keep()

    def _resume(self) -> None:
        """Which files are in the output already, and the state of the drift after them."""
        try:
            told = json.loads(self.note.read_text(encoding="utf-8"))
            key, self.bytes = str(told["key"]), int(told["bytes"])
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(f"{self.out}: is there already, and not of a watch; give another --out") from None
        if key != self.key:
            raise DataError(f"{self.out}: its points were placed by another model; give another --out")
        os.truncate(self.out, self.bytes)
        with self.out.open(encoding="utf-8", newline="") as stream:
            rows = csv.reader(stream)
            at = next(rows).index("novelty")
            for row in rows:
                self.done.add(_file_of(row[0]))
                self._count(float(row[at]))

    def _count(self, novelty: float) -> bool:
        """Take in a point; true when a refit becomes due with it."""
        self.rows += 1
        self.novel += novelty > NOVEL
        return self.drift.add(novelty)

    def look(self) -> None:
        """Place the points of all files that are new and whole."""
        ready = sorted(self._ready(), key=natural_key)
        pictures = [name for name in ready if not name.lower().endswith(TABLES)]
        for at in range(0, len(pictures), BLOCK):
            self._add(self._pictures(pictures[at : at + BLOCK]))
        for name in ready:
            if name.lower().endswith(TABLES):
                try:
                    self._add(self._table(name))
                except (DataError, OSError) as error:
                    self.stream.truncate(self.bytes)
                    self._leave_out(name, error)
        self.done.update(name for name in ready if name not in self.bad)

    def _ready(self) -> Iterator[str]:
        """Names of files that have not changed since the last look, but have since they could not be read."""
        found: dict[str, State] = {}
        for place, folders, files in os.walk(self.folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for file in (Path(place, name) for name in files if not name.startswith(".")):
                name = file.relative_to(self.folder).as_posix()
                if file.suffix.lower() in (*SUFFIXES, *TABLES) and name not in self.done and file != self.out:
                    try:
                        status = file.stat()
                    except OSError:  # it is gone again
                        continue
                    found[name] = (status.st_size, status.st_mtime_ns)
        before, self.seen = self.seen, found
        for name, state in found.items():
            if state[0] and before.get(name) == state != self.bad.get(name):
                self.bad.pop(name, None)
                yield name

    def _pictures(self, names: list[str]) -> Iterator[Block]:
        rows = FolderRows(self.folder, self.model, names)
        good, points = [], []
        for i, name in enumerate(names):
            try:
                points.append(rows.picture(name, i))
                good.append(name)
            except (DataError, OSError) as error:
                self._leave_out(name, error)
        if good:
            yield good, np.vstack(points)

    def _table(self, name: str) -> Iterator[Block]:
        for rows, X in open_rows(self.folder / name, self.model).blocks(0):
            yield [f"{name}:{row}" for row in rows], X

    def _add(self, blocks: Iterable[Block]) -> None:
        """Append the points of some images or of one table, all of them or none."""
        found: list[tuple[str, float]] = []
        for names, X in blocks:
            novelty = self.model.novelty(X)
            self.stream.write(csv_lines(self.model, names, X, novelty))
            found += zip(names, novelty.tolist(), strict=True)
        for name, value in found:
            if self._count(value):
                self.say(f"{name}: {self.drift}")
        self._keep()

    def _leave_out(self, name: str, error: Exception) -> None:
        """Say that a file cannot be read; it is tried again when it has changed."""
        self.bad[name] = self.seen[name]
        self.say(f"left out: {error}")

    def _keep(self) -> None:
        """What is written so far is whole."""
        self.stream.flush()
        os.fsync(self.stream.fileno())
        self.bytes = os.fstat(self.stream.fileno()).st_size
        write_text(self.note, json.dumps({"key": self.key, "bytes": self.bytes}))

    def close(self) -> None:
        """Cut off what an interrupt left behind the last whole points."""
        self.stream.close()
        os.truncate(self.out, self.bytes)


def _file_of(name: str) -> str:
    """The file of a point: ``part.csv`` of ``part.csv:17``, an image itself."""
    file, _, _ = name.rpartition(":")
    return file if file.lower().endswith(TABLES) else name
