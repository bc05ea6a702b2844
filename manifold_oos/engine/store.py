"""Keeps the numbers of all experiments of a results folder in one SQLite file, a transaction per trial."""

import io
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from manifold_oos.engine.keys import as_json, facts_key
from manifold_oos.engine.plan import PLACE, Line, Plan
from manifold_oos.engine.splits import DataFacts
from manifold_oos.engine.store_file import FILE, StoreFile, guarded
from manifold_oos.engine.trial import LineResult
from manifold_oos.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd

#: Column, pandas dtype, meaning.
COLUMNS: dict[str, tuple[str, str]] = {
    "arm": ("object", "name of the arm in the config"),
    "dataset": ("object", "label of the data set in the config"),
    "size": ("float64", "the split's swept value: train_per_class, fraction, ratio, n_train, quantile, step, ..."),
    "repetition": ("int64", "number of the random split, from 0; the same for all arms"),
    "n_components": ("Int64", "dimension of the coordinates; missing for a classifier in the ambient space"),
    "step": ("Int64", "iteration of SOSI, NSSE, ...; missing for the final result"),
    "selection": ("object", "how grids were decided: train_only, paper, best; fixed where the arm has no grid"),
    "candidate": ("object", "JSON of the grid values still to be decided on test averages (best_rows); else {}"),
    "metric": ("object", "name in METRICS, or a scalar of an iteration (objective, sigma)"),
    "value": ("float64", "the number; rates in percent"),
    "n_train": ("int64", "known points"),
    "n_test": ("int64", "new points that the number is an average over"),
    "chosen": ("object", 'JSON of every grid value behind the row, such as {"embedding.mu1": 300}'),
    "tuned": ("bool", "False where classes were too small to choose on the training set: defaults were taken"),
    "fitted": ("object", 'JSON of what the methods report, such as {"extender.sigma_": 1.2}'),
    "warnings": ("object", "JSON list of the warnings of the methods"),
}


def make_frame(records: Sequence[Mapping[str, object]]) -> "pd.DataFrame":
    """The rows as a DataFrame with the columns, types and order that :data:`COLUMNS` states."""
    import pandas as pd

    frame = pd.DataFrame.from_records(records, columns=list(COLUMNS))
    return frame.astype({name: dtype for name, (dtype, _) in COLUMNS.items()})


#: The columns of a row beside those that its line has.
VALUES = [name for name in COLUMNS if name not in PLACE]
_values = itemgetter(*VALUES)
TIMES = tuple(name for name, metric in METRICS.items() if metric.needs == "time")
FACTS = TypeAdapter(DataFacts)


class Store(StoreFile):
    """The rows of every experiment below a results root, which is made when something is written."""

    # What a run writes.

    @guarded
    def add(
        self,
        results: Iterable[LineResult],
        asked: Mapping[str, Sequence[str]],
        costs: Mapping[str, str],
        files: Mapping[str, str] | None = None,
    ) -> None:
        """Store what a trial gave, in one transaction; a file that is gone is noticed after it."""
        results = list(results)
        good = [result for result in results if not result.error]
        failed = [
            (result.key, result.error, (files or {}).get(result.key, ""), time.time())
            for result in results
            if result.error
        ]
        marks = ", ".join("?" * (len(VALUES) + 1))
        with self.transaction() as connection:
            connection.executemany("insert or replace into failures values (?, ?, ?, ?)", failed)
            connection.executemany("delete from failures where line = ?", [(result.key,) for result in good])
            pairs = [(result.key, what) for result in good for what in asked[result.key]]
            times = [(result.key, what) for result in good for what in TIMES]
            connection.executemany("delete from rows where line = ? and metric = ?", pairs + times)
            connection.executemany("insert or ignore into done values (?, ?)", pairs)
            rows = [(result.key, *_values(row)) for result in good for row in result.rows + result.times]
            connection.executemany(f"insert into rows values ({marks})", rows)
            kept = [(result.key,) for result in good if "predictions" in asked[result.key]]
            connection.executemany("delete from predictions where line = ?", kept)
            labels = [_packed(result.key, labels) for result in good for labels in result.predictions]
            connection.executemany("insert into predictions values (?, ?, ?, ?)", labels)
            connection.executemany(
                "insert into costs values (?, ?)", [(costs[result.key], result.seconds) for result in good]
            )
        self.check_present()

    @guarded
    def remember(self, plan: Plan) -> None:
        """Keep the facts of a plan's data sets, so that views need no data."""
        with self.transaction() as connection:
            for label, facts in plan.facts.items():
                values = (facts_key(plan.refs[label]), as_json(asdict(facts)))
                connection.execute("insert or replace into datasets values (?, ?)", values)

    @guarded
    def put_choice(self, key: str, value: str) -> None:
        """Keep what was chosen once for an experiment, as JSON."""
        with self.transaction() as connection:
            connection.execute("insert or replace into choices values (?, ?)", (key, value))

    # What a run asks.

    @guarded
    def done(self, lines: Iterable[Line]) -> dict[str, set[str]]:
        """What is there of each line: metrics, ``predictions``, ``embedding``."""
        found: dict[str, set[str]] = {}
        for line, what in self._of_lines("select line, what from done where line in ({})", lines):
            found.setdefault(line, set()).add(what)
        return found

    @guarded
    def choice(self, key: str) -> str | None:
        """What was chosen before, as JSON."""
        row = self.connection.execute("select value from choices where key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @guarded
    def cost(self, what: str) -> float | None:
        """Mean seconds of lines of a kind, None where none was run."""
        row = self.connection.execute("select avg(seconds) from costs where what = ?", (what,)).fetchone()
        return None if row is None or row[0] is None else float(row[0])

    @guarded
    def facts(self) -> dict[str, DataFacts]:
        """Facts of every data set that was ever run here, for :func:`make_plan`."""
        rows = self.connection.execute("select key, facts from datasets").fetchall()
        return {key: FACTS.validate_json(text) for key, text in rows}

    # What views read.

    @guarded
    def rows(self, plan: Plan) -> "pd.DataFrame":
        """The numbers of a plan in the order of the config; columns in :data:`rows.COLUMNS`."""
        return self._frame(plan, plan.metrics)

    @guarded
    def timings(self, plan: Plan) -> "pd.DataFrame":
        """The times of a plan: fit_seconds, milliseconds_per_sample, select_seconds; the columns of the rows."""
        return self._frame(plan, TIMES)

    @guarded
    def failures(self, plan: Plan) -> "pd.DataFrame":
        """The lines that failed: arm, dataset, size, repetition, selection, message, file (of the traceback)."""
        import pandas as pd

        query = "select line, message, file from failures where line in ({})"
        found = {line: (message, file) for line, message, file in self._of_lines(query, plan.lines)}
        records = [(*line.place.values(), *found[line.key]) for line in plan.lines if line.key in found]
        return pd.DataFrame.from_records(records, columns=[*PLACE, "message", "file"])

    @guarded
    def predictions(self, plan: Plan) -> "pd.DataFrame":
        """Per-sample labels that were kept: one row per new point, ``sample`` its index in the data set."""
        import pandas as pd

        lines: dict[str, list[Line]] = {}
        for line in plan.lines:
            lines.setdefault(line.key, []).append(line)
        query = "select line, n_components, candidate, arrays from predictions where line in ({})"
        parts = []
        for key, d, candidate, blob in self._of_lines(query, plan.lines):
            with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
                part = pd.DataFrame({name: arrays[name] for name in arrays.files})
            parts += [part.assign(**line.place, n_components=d, candidate=candidate) for line in lines[key]]
        columns = [*PLACE, "n_components", "candidate", "sample", "truth", "predicted"]
        return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)

    @guarded
    def archive(self, plan: Plan, target: Path) -> None:
        """Move everything of a plan's lines to another store; nothing is lost, other experiments keep theirs."""
        with Store(target) as other:
            other.remember(plan)
        self.connection.execute("attach database ? as archive", (str(target / FILE),))
        try:
            self.connection.execute("create temp table moved (line text primary key)")
            self.connection.executemany("insert into moved values (?)", [(line.key,) for line in set(plan.lines)])
            tables = ("rows", "done", "failures", "predictions")
            with self.transaction() as connection:
                for table in tables:
                    where = "where line in (select line from moved)"
                    connection.execute(f"insert into archive.{table} select * from main.{table} {where}")
            with self.transaction() as connection:
                for table in tables:
                    connection.execute(f"delete from main.{table} where line in (select line from moved)")
            self.connection.execute("drop table moved")
        finally:
            self.connection.execute("detach database archive")

    def _of_lines(self, query: str, lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
        keys = list(dict.fromkeys(line.key for line in lines))
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            yield from self.connection.execute(query.format(", ".join("?" * len(part))), part)

    def _frame(self, plan: Plan, metrics: Sequence[str]) -> "pd.DataFrame":
        found: dict[str, list[tuple[Any, ...]]] = {}
        query = f"select line, {', '.join(VALUES)} from rows where line in ({{}}) order by rowid"
        for key, *values in self._of_lines(query, plan.lines):
            found.setdefault(key, []).append(tuple(values))
        records = []
        order = {name: i for i, name in enumerate(metrics)}
        for line in sorted(plan.lines, key=_order(plan)):
            rows = [dict(zip(VALUES, values, strict=True)) for values in found.get(line.key, [])]
            rows = sorted((row for row in rows if row["metric"] in order), key=lambda row: order[row["metric"]])
            records += [line.place | row | {"tuned": bool(row["tuned"])} for row in rows]
        return make_frame(records)


def _order(plan: Plan) -> Any:
    """Lines in the order of the config: data set, size, arm, protocol, repetition."""
    experiment = plan.experiment
    labels = {data.label: i for i, data in enumerate(experiment.datasets)}
    arms = {name: i for i, name in enumerate(experiment.arms)}
    protocols: dict[str, int] = {protocol.name: i for i, protocol in enumerate(experiment.selection)}

    def key(line: Line) -> tuple[Any, ...]:
        return labels[line.dataset], line.size, arms[line.arm], protocols.get(line.selection, -1), line.repetition

    return key


def _packed(line: str, kept: Mapping[str, Any]) -> tuple[Any, ...]:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{key: kept[key] for key in ("sample", "truth", "predicted")})
    return line, kept["n_components"], kept["candidate"], buffer.getvalue()
