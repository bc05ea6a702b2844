"""Places any number of points with a saved model: in blocks, in flat memory, and again from where it stopped."""

import csv
import hashlib
import io
import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from manifold_oos.arrays import Array
from manifold_oos.atomic import write_text
from manifold_oos.datasets import images
from manifold_oos.datasets.folder import SUFFIXES
from manifold_oos.datasets.preprocess import COMMON, checked, features
from manifold_oos.datasets.sources import natural_key
from manifold_oos.errors import DataError
from manifold_oos.novelty import NOVEL
from manifold_oos.pipeline import OutOfSample, load_model

#: Rows of a block.
BLOCK = 2048
#: Blocks in flight per worker of an executor.
AHEAD = 2
#: A refit is due when more than this share of so many recent points is novel; of usual points it is 1 %.
DUE, RECENT = 0.1, 100
Block = tuple[Sequence[str], Array]


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
    model = load_model(model_file)
    rows = _source(source, model)
    part = out.with_name(f".{out.name}.part")
    note = out.with_name(f".{out.name}.part.json")
    key = [_stamp(model_file), rows.identity(), out.suffix.lower()]
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


def _lines(model: OutOfSample, names: Sequence[str], X: Array, novelty: Array) -> bytes:
    return _csv_text(_answers(model, names, X, novelty)).encode()


def _stamp(path: Path) -> list[Any]:
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


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

    place = staticmethod(_lines)

    def __init__(self, part: Path, model: OutOfSample, n: int, state: dict[str, int]) -> None:
        part.parent.mkdir(parents=True, exist_ok=True)
        self.stream = part.open("r+b" if state["rows"] else "w+b")
        self.stream.truncate(state["bytes"])
        self.stream.seek(state["bytes"])
        if not state["rows"]:
            self.write(_csv_text([_head(model)]).encode())

    def write(self, placed: bytes) -> None:
        self.stream.write(placed)

    def flush(self) -> int:
        self.stream.flush()
        return self.stream.tell()

    def close(self) -> None:
        self.stream.close()


def _head(model: OutOfSample) -> list[str]:
    labels = ["label", "confidence"] if model.classifier_model_ is not None else []
    return ["name", *labels, "novelty", *(f"y{k + 1}" for k in range(model.embedding_.shape[1]))]


def _answers(model: OutOfSample, names: Sequence[str], X: Array, novelty: Array) -> Iterator[tuple[Any, ...]]:
    """A row for each point: name, label and confidence, novelty, coordinates."""
    columns: list[Sequence[Any]] = [names]
    Z = model.transform(X)
    if model.classifier_model_ is not None:
        labels, probability = model.classifier_model_.predict(Z), model._probabilities(Z)
        codes = np.searchsorted(model.classes_, labels)
        class_names = model.about_.get("class_names")
        columns.append([class_names[c] for c in codes] if class_names else labels.tolist())
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
    model = load_model(model_file)
    rows = _Rows(Path("standard input"), model)
    answer(_csv_text([_head(model)]))
    count = novel = 0
    last: deque[bool] = deque(maxlen=RECENT)
    due = False
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
        count += 1
        novel += int(novelty[0] > NOVEL)
        last.append(bool(novelty[0] > NOVEL))
        was_due, due = due, len(last) == RECENT and sum(last) > DUE * RECENT
        if due and not was_due:
            say(f"row {count - 1}: {sum(last)} of the last {RECENT} points are novel; the model is due for a refit")
    return count, novel


class _Rows:
    """Points in blocks, made as those that the model was fitted on."""

    def __init__(self, path: Path, model: OutOfSample) -> None:
        self.path, self.model, self.about = path, model, model.about_
        options = self.about.get("options", {})
        self.step = checked("model", {**COMMON, **{key: options[key] for key in COMMON if key in options}})

    def identity(self) -> list[Any]:
        return _stamp(self.path)

    def points(self, values: NDArray, start: int) -> Array:
        """Features of raw rows or images."""
        X = features(values, self.step)
        if X.shape[1] != self.model.n_features_in_:
            raise DataError(f"{self.path}: {X.shape[1]} features where the model has {self.model.n_features_in_}")
        if not np.isfinite(X).all():
            row = start + int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            raise DataError(f"{self.path}, row {row} (from 0): a value is not a finite number")
        if self.about.get("mean") is not None:
            X = (X - np.array(self.about["mean"])) / np.array(self.about["scale"])
        return X


class _NpyRows(_Rows):
    def __init__(self, path: Path, model: OutOfSample) -> None:
        super().__init__(path, model)
        try:
            self.values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise DataError(f"{path}: not a readable NPY array ({error})") from error
        if self.values.ndim != 2 or self.values.dtype.kind not in "biuf":
            raise DataError(f"{path}: has {self.values.dtype} of shape {self.values.shape}, not rows of numbers")

    def __len__(self) -> int:
        return len(self.values)

    def blocks(self, start: int) -> Iterator[Block]:
        for at in range(start, len(self.values), BLOCK):
            X = self.points(np.array(self.values[at : at + BLOCK]), at)
            yield [str(i) for i in range(at, at + len(X))], X


class _CsvRows(_Rows):
    """A CSV file; columns are found by the names that the fit knew, else all but label and id are taken."""

    def __init__(self, path: Path, model: OutOfSample) -> None:
        super().__init__(path, model)
        wanted = list(self.about.get("features", ()))
        first = next(self._cells(), None)
        if first is None:
            raise DataError(f"{path}: no rows in it")
        self.header = [cell.strip() for cell in first] if wanted or not any(map(_is_number, first)) else None
        names = self.header or []
        missing = [name for name in wanted if name not in names]
        if missing:
            raise DataError(f"{path}: no column {', '.join(missing)} in its first line, which the model needs")
        options = self.about.get("options", {})
        label, self.id = (_place(options.get(key), names, len(first)) for key in ("label_column", "id"))
        others = [column for column in range(len(first)) if column not in (label, self.id)]
        self.columns = [names.index(name) for name in wanted] or others
        self.count = sum(1 for _ in self._cells()) - (self.header is not None)

    def __len__(self) -> int:
        return self.count

    def _cells(self) -> Iterator[list[str]]:
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as stream:
                start = stream.readline(1 << 20)
                stream.seek(0)
                yield from (cells for cells in csv.reader(stream, delimiter=max(",;\t", key=start.count)) if cells)
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{self.path}: cannot be read as CSV ({error})") from error

    def blocks(self, start: int) -> Iterator[Block]:
        rows = islice(self._cells(), start + (self.header is not None), None)
        at = start
        while chunk := list(islice(rows, BLOCK)):
            try:
                values = np.array([[float(cells[column]) for column in self.columns] for cells in chunk])
            except (ValueError, IndexError) as error:
                raise DataError(f"{self.path}, rows {at} to {at + len(chunk)} (from 0): {error}") from error
            numbers = range(at, at + len(chunk))
            names = map(str, numbers) if self.id is None else (cells[self.id].strip() for cells in chunk)
            yield list(names), self.points(values, at)
            at += len(chunk)


class _FolderRows(_Rows):
    def __init__(self, path: Path, model: OutOfSample) -> None:
        super().__init__(path, model)
        found = (file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)
        names = [file.relative_to(path).as_posix() for file in found if not file.name.startswith(".")]
        self.names = sorted(names, key=natural_key)
        if not self.names:
            raise DataError(f"{path}: no images in it (read are {', '.join(sorted(SUFFIXES))})")

    def __len__(self) -> int:
        return len(self.names)

    def identity(self) -> list[Any]:
        return [str(self.path.resolve()), hashlib.sha256("\n".join(self.names).encode()).hexdigest()]

    def blocks(self, start: int) -> Iterator[Block]:
        for at in range(start, len(self.names), BLOCK):
            names = self.names[at : at + BLOCK]
            yield names, np.vstack([self._picture(name, at + i) for i, name in enumerate(names)])

    def _picture(self, name: str, row: int) -> Array:
        file = self.path / name
        return self.points(images.decode(file.read_bytes(), str(file))[None], row)


def _source(path: Path, model: OutOfSample) -> Any:
    if path.is_dir():
        return _FolderRows(path, model)
    kinds = {".npy": _NpyRows, ".csv": _CsvRows, ".tsv": _CsvRows, ".txt": _CsvRows}
    if path.suffix.lower() not in kinds:
        raise DataError(f"{path}: points are read from a folder of images, a .npy or a .csv file")
    return kinds[path.suffix.lower()](path, model)


def _place(column: str | int | None, names: list[str], width: int) -> int | None:
    """Position of a column that may be there, by name or position."""
    if isinstance(column, int):
        return column % width if -width <= column < width else None
    return names.index(column) if column in names else None


def _is_number(cell: str) -> bool:
    try:
        return not math.isnan(float(cell)) or cell.strip().lower() == "nan"
    except ValueError:
        return False
