"""Places any number of points with a saved model: in blocks, in flat memory, and again from where it stopped."""

import csv
import io
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from threadpoolctl import threadpool_limits

from manifold_oos.arrays import Array
from manifold_oos.atomic import write_text
from manifold_oos.errors import DataError
from manifold_oos.incoming import Block, IncomingRows, open_rows, stamp
from manifold_oos.novelty import NOVEL
from manifold_oos.pipeline import OutOfSample, load
from manifold_oos.spreadsheet import guarded

#: Blocks in flight per worker of an executor.
AHEAD = 2
#: A refit is due when more than this share of so many recent points is novel; of usual points it is 1 %.
DUE, RECENT = 0.1, 100


@dataclass(frozen=True)
class Placement:
    """What was done: how many points there are, how many of them novel, how many came from an earlier start."""

    rows: int
    novel: int
    resumed: int
    seconds: float


class Here:
    """Places blocks one after the other in this process: what an executor of the engine does elsewhere."""

    workers = 1

    def share(self, value: Any) -> Any:
        """It is at hand."""
        return value

    def map(self, calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> Iterator[tuple[int, Any]]:
        """Index and result of each call."""
        for i, (function, arguments) in enumerate(calls):
            yield i, function(*arguments)


def place_file(
    model_file: Path,
    source: Path,
    out: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    executor: Any = None,
) -> Placement:
    """Place the points of a file or folder and write their coordinates.

    Parameters
    ----------
    model_file : Path
        A saved model.
    source : Path
        An NPY file (read through a memory map), a CSV file, or a folder of images.
    out : Path
        An NPY file of coordinates, or a CSV file with name, label, confidence, novelty and coordinates. It has its
        name when it is whole; until then, ``.NAME.part`` and ``.NAME.part.json`` keep what is done, and the same
        call goes on from there.
    progress : callable
        Given the rows that are done and all of them, after each block.
    executor : Executor, optional
        Where blocks are placed; here when left out. The bytes are the same.

    Returns
    -------
    Placement
        What was done.
    """
    if out.suffix.lower() not in (".npy", ".csv"):
        raise DataError(f"{out}: write coordinates to a .npy or a .csv file")
    if not source.exists():
        raise DataError(f"{source}: no such folder or file of new points")
    started = time.monotonic()
    model = load(model_file)
    rows = open_rows(source, model)
    part = out.with_name(f".{out.name}.part")
    note = out.with_name(f".{out.name}.part.json")
    key = [stamp(model_file), rows.identity(), out.suffix.lower()]
    state = _resumed(part, note, key)
    first = state["rows"]
    writer = (_NpyOut if out.suffix.lower() == ".npy" else _CsvOut)(part, model, len(rows), state)
    for count, novel, placed in _placed(model, writer.place, rows.blocks(state["rows"]), executor or Here()):
        writer.write(placed)
        state["rows"] += count
        state["novel"] += novel
        state["bytes"] = writer.flush()
        write_text(note, json.dumps({"key": key, **state}))
        progress(state["rows"], len(rows))
    if state["rows"] != len(rows):
        raise DataError(f"{source}: {len(rows)} rows at first, {state['rows']} in the end; did it change?")
    writer.close()
    part.replace(out)
    note.unlink(missing_ok=True)
    return Placement(len(rows), state["novel"], first, time.monotonic() - started)


def _placed(
    model: OutOfSample, place: Callable[..., Any], blocks: Iterator[Block], executor: Any
) -> Iterator[tuple[int, int, Any]]:
    """Rows, novel rows and what is written of each block, in order; some blocks for every worker are in flight."""
    shared = {"model": executor.share(model)}
    while window := list(islice(blocks, AHEAD * executor.workers if executor.workers > 1 else 1)):
        done = dict(executor.map([(_place_block, (shared, place, names, X)) for names, X in window]))
        for i in range(len(window)):
            if isinstance(done[i], Exception):
                raise done[i]
            yield done[i]


def _place_block(
    shared: dict[str, OutOfSample], place: Callable[..., Any], names: Sequence[str], X: Array
) -> tuple[int, int, Any]:
    with threadpool_limits(1):
        novelty = shared["model"].novelty(X)
        return len(X), int((novelty > NOVEL).sum()), place(shared["model"], names, X, novelty)


def _coordinates(model: OutOfSample, names: Sequence[str], X: Array, novelty: Array) -> Array:
    return model.transform(X)


def csv_lines(model: OutOfSample, names: Sequence[str], X: Array, novelty: Array) -> bytes:
    """A line of CSV for each point."""
    return _csv_text(_answers(model, names, X, novelty)).encode()


def _resumed(part: Path, note: Path, key: list[Any]) -> dict[str, int]:
    """How far an earlier start came, if it was the same work."""
    nothing = {"rows": 0, "novel": 0, "bytes": 0}
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        same = told.pop("key") == key and part.is_file()
        return {name: int(told[name]) for name in nothing} if same else nothing
    except (OSError, ValueError, KeyError, TypeError):
        return nothing


class _NpyOut:
    """Coordinates through a memory map."""

    place = staticmethod(_coordinates)

    def __init__(self, part: Path, model: OutOfSample, n: int, state: dict[str, int]) -> None:
        self.at = state["rows"]
        shape = (n, model.embedding_.shape[1])
        part.parent.mkdir(parents=True, exist_ok=True)
        mode = "r+" if self.at else "w+"
        self.map = open_memmap(part, mode=mode, dtype=np.float64, shape=None if self.at else shape)

    def write(self, placed: Array) -> None:
        self.map[self.at : self.at + len(placed)] = placed
        self.at += len(placed)

    def flush(self) -> int:
        self.map.flush()
        return 0

    def close(self) -> None:
        del self.map


class _CsvOut:
    """Lines of text; what an interrupted block left behind the last whole one is cut off."""

    place = staticmethod(csv_lines)

    def __init__(self, part: Path, model: OutOfSample, n: int, state: dict[str, int]) -> None:
        part.parent.mkdir(parents=True, exist_ok=True)
        self.stream = part.open("r+b" if state["rows"] else "w+b")
        self.stream.truncate(state["bytes"])
        self.stream.seek(state["bytes"])
        if not state["rows"]:
            self.write(csv_head(model))

    def write(self, placed: bytes) -> None:
        self.stream.write(placed)

    def flush(self) -> int:
        self.stream.flush()
        return self.stream.tell()

    def close(self) -> None:
        self.stream.close()


def csv_head(model: OutOfSample) -> bytes:
    """The line of CSV with the names of the columns."""
    labels = ["label", "confidence"] if model.classifier_model_ is not None else []
    return _csv_text(
        [["name", *labels, "novelty", *(f"y{k + 1}" for k in range(model.embedding_.shape[1]))]]
    ).encode()


def _answers(model: OutOfSample, names: Sequence[str], X: Array, novelty: Array) -> Iterator[tuple[Any, ...]]:
    """A row for each point: name, label and confidence, novelty, coordinates."""
    columns: list[Sequence[Any]] = [list(map(guarded, names))]
    Z = model.transform(X)
    if model.classifier_model_ is not None:
        labels, probability = model.classifier_model_.predict(Z), model._probabilities(Z)
        codes = np.searchsorted(model.classes_, labels)
        class_names = model.about_.get("class_names")
        told = [class_names[c] for c in codes] if class_names else labels.tolist()
        columns.append(list(map(guarded, told)))
        columns.append(probability[np.arange(len(X)), codes].tolist())
    columns += [novelty.tolist(), *Z.T.tolist()]
    return zip(*columns, strict=True)


def _csv_text(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def place_lines(
    model_file: Path, lines: Iterable[str], answer: Callable[[str], None], say: Callable[[str], None]
) -> tuple[int, int]:
    """Place points as they arrive, a line of numbers each.

    Parameters
    ----------
    model_file : Path
        A saved model.
    lines : iterable of str
        Numbers with commas between; empty lines are passed over.
    answer : callable
        Given a line of CSV for each point, after one with the names of the columns.
    say : callable
        Told when more than a tenth of the last hundred points are novel, once each time that it comes to this.

    Returns
    -------
    rows, novel : int
        How many points there were, and how many of them novel.
    """
    model = load(model_file)
    rows = IncomingRows(Path("standard input"), model)
    answer(csv_head(model).decode())
    count = novel = 0
    drift = Drift()
    for line in lines:
        if not line.strip():
            continue
        try:
            values = np.array([[float(cell) for cell in line.split(",")]])
        except ValueError as error:
            raise DataError(f"standard input, row {count} (from 0): {error}") from error
        X = rows.points(values, count)
        novelty = model.novelty(X)
        answer(_csv_text(_answers(model, [str(count)], X, novelty)))
        if drift.add(float(novelty[0])):
            say(f"row {count}: {drift}")
        count += 1
        novel += int(novelty[0] > NOVEL)
    return count, novel


class Drift:
    """Whether the points that arrive are still like those that the model was fitted on."""

    def __init__(self) -> None:
        self.last: deque[bool] = deque(maxlen=RECENT)
        self.due = False

    def add(self, novelty: float) -> bool:
        """Take in a point; true when a refit becomes due with it, not while it stays so."""
        self.last.append(novelty > NOVEL)
        was_due, self.due = self.due, len(self.last) == RECENT and sum(self.last) > DUE * RECENT
        return self.due and not was_due

    def __str__(self) -> str:
        return f"{sum(self.last)} of the last {RECENT} points are novel; the model is due for a refit"
