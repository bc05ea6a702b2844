"""Results without a store: what a checkout has in splits.csv, or in table.csv and claims.csv."""

import hashlib
import html
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from manifold_oos.config.dump import plain_config
from manifold_oos.config.model import Claim, Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.keys import as_json
from manifold_oos.engine.store import make_frame
from manifold_oos.metrics import is_time
from manifold_oos.results.cells import COLUMNS, JUDGED, judge_cells
from manifold_oos.results.claims import COUNTED_WITH, ON_STAND_IN, ClaimResult, describe
from manifold_oos.results.judges import NO_CLAIM, NOT_JUDGED
from manifold_oos.results.sheets import read_csv, unpacked

#: Columns of splits.csv and of the reference tables; repetitions and values of a row are lists.
SPLIT_COLUMNS = [
    "metric", "dataset", "size", "arm", "selection", "repetition", "n_components", "n_train", "n_test", "value",
    "chosen", "tuned",
]  # fmt: skip
FILES = ("splits.csv", "table.csv")
#: Beside the tables: a digest of the config that they were computed by.
DIGEST = "config.digest"
#: What of a config decides the numbers of a table.
DECIDING = ("datasets", "split", "arms", "selection", "cv", "metrics", "readings")


def config_digest(experiment: Experiment) -> str:
    """The same for configs that compute the same numbers under the same names."""
    plain = plain_config(reduce_experiment(experiment))  # each data set with its split written out
    return hashlib.sha256(as_json({key: plain.get(key) for key in DECIDING}).encode()).hexdigest()[:16]


def of_earlier_config(folder: Path, experiment: Experiment) -> bool:
    """Whether tables were computed by another form of the config, or before forms were told apart."""
    path = folder / DIGEST
    return not path.is_file() or path.read_text(encoding="utf-8").strip() != config_digest(experiment)


def rows_of(folder: Path) -> pd.DataFrame | None:
    """The final rows that a splits.csv has: grids are decided, iterations left out."""
    path = folder / "splits.csv"
    if not path.is_file():
        return None
    needs = ("metric", "dataset", "size", "arm", "selection", "repetition", "value")
    frame = unpacked(read_csv(path, "splits", needs))
    plain: dict[str, Any] = {"chosen": "{}", "tuned": True, "n_train": 1, "n_test": 0, "n_components": pd.NA}
    kept: list[dict[str, Any]] = [
        {**plain, **{str(key): value for key, value in row.items()}, "candidate": "{}", "fitted": "{}"}
        for row in frame.assign(warnings="[]").to_dict("records")
    ]
    return make_frame(kept)


def cells_of(folder: Path, experiment: Experiment) -> pd.DataFrame | None:
    """The cells that a table.csv has, with the verdicts of today's rule."""
    path = folder / "table.csv"
    if not path.is_file():
        return None
    kept = [name for name in COLUMNS if name not in JUDGED]
    frame = read_csv(path, "cells", tuple(kept))[kept]
    frame["n_components"] = frame["n_components"].astype("Float64").astype("Int64")
    return judge_cells(frame, experiment)


def claims_of(folder: Path, experiment: Experiment) -> dict[int, ClaimResult]:
    """The claims of a config that a claims.csv has, by their place; those of an older rule are not judged."""
    path = folder / "claims.csv"
    if not path.is_file():
        return {}
    frame = read_csv(path, "claims", ("source", "claim", "verdict", "numbers"))
    rows: dict[tuple[str, str], Any] = {(str(r.source), str(r.claim)): r for r in frame.itertuples(index=False)}
    found = {}
    for place, claim in enumerate(experiment.claims):
        text = claim.text or describe(claim, claim.metric or experiment.metrics[0])
        row = rows.get((claim.source, text))
        if row is not None:
            numbers, _, part_of = str(row.numbers).removesuffix(ON_STAND_IN).partition(COUNTED_WITH)
            stand_in = str(row.numbers).endswith(ON_STAND_IN)
            p = getattr(row, "p", math.nan)
            result = ClaimResult(claim, row.verdict, text, numbers, p=p, part_of=part_of, stand_in=stand_in)
            if claim.by_construction:
                result = replace(result, verdict=NO_CLAIM)
            elif "p" not in frame and result.counted:
                numbers = f"no splits are kept to judge it by; it was: {row.verdict}, uncorrected; {numbers}"
                result = replace(result, verdict=NOT_JUDGED, numbers=numbers)
            found[place] = result
    return found


def caveats_of(folder: Path, labels: Iterable[str]) -> dict[str, str]:
    """What a table.md says of the data sets, whose facts a store would have."""
    path = folder / "table.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = {
        label: re.search(rf"^- {re.escape(label)}: (?!data absent)(.+)$", text, re.MULTILINE) for label in labels
    }
    return {label: html.unescape(match[1]) for label, match in found.items() if match}


def beyond_splits(claim: Claim, lead: str) -> bool:
    """Whether a claim needs more than committed rows: times, iterations, or every value of a grid."""
    return is_time(claim.metric or lead) or claim.form == "argbest" or claim.along not in (None, "size", "n_train")
