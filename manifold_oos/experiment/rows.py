"""The long-form rows of an experiment: what each column holds, and the choice of the best grid point among them."""

import json
from collections.abc import Mapping, Sequence

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
    "fitted": (
        "object",
        'JSON of what the methods report, such as {"extender.sigma_": 1.2, "extender.n_iter_": 9}',
    ),
    "warnings": ("object", "JSON list of the warnings of the methods"),
}

#: What identifies a row: two rows never agree in all of these.
IDENTITY = [
    "arm",
    "dataset",
    "size",
    "repetition",
    "n_components",
    "step",
    "selection",
    "candidate",
    "metric",
]


def make_frame(records: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """The rows as a DataFrame with the columns, types and order that :data:`COLUMNS` states.

    Parameters
    ----------
    records : sequence of mapping
        One per row; absent columns are missing values.

    Returns
    -------
    DataFrame
        Sorted as in the config is the caller's work; the order of the records is kept.
    """
    frame = pd.DataFrame.from_records(records, columns=list(COLUMNS))
    return frame.astype({name: dtype for name, (dtype, _) in COLUMNS.items()})


def best_rows(rows: pd.DataFrame, directions: Mapping[str, str]) -> pd.DataFrame:
    """Decide the grids that were left to the test average: keep the best candidate of each cell.

    A cell is an arm, data set, size, selection and metric; its candidates are compared by their mean over the
    repetitions of the final rows (no step). Rows without an open candidate pass unchanged.

    Parameters
    ----------
    rows : DataFrame
        As :meth:`Store.rows` gives them.
    directions : mapping of str to {"lower", "higher"}
        Which way each metric is better; metrics that are not in it are compared as lower.

    Returns
    -------
    DataFrame
        The kept rows in their order; a tie goes to the candidate that comes first.
    """
    cell = ["arm", "dataset", "size", "selection", "metric"]
    final = rows[rows["step"].isna()]
    # A dimension is a grid value as well: without a grid over it, it is constant in a cell.
    means = final.groupby([*cell, "candidate"], sort=False, dropna=False)["value"].mean().reset_index()
    sign = means["metric"].map(lambda metric: -1.0 if directions.get(metric) == "higher" else 1.0)
    means["score"] = (sign * means["value"]).fillna(float("inf"))
    kept = means.loc[means.groupby(cell, sort=False, dropna=False)["score"].idxmin()]
    pairs = kept[[*cell, "candidate"]]
    open_rows = rows["candidate"] != "{}"
    decided = rows[open_rows].merge(pairs, on=[*cell, "candidate"], how="inner")
    keep = rows[open_rows].set_index([*cell, "candidate"]).index.isin(decided.set_index([*cell, "candidate"]).index)
    mask = ~open_rows.to_numpy()
    mask[open_rows.to_numpy()] = keep
    return rows[mask]


def parse(column: pd.Series) -> list[dict[str, object]]:
    """The JSON of a column such as ``chosen`` as dictionaries.

    Parameters
    ----------
    column : Series of str
        JSON objects.

    Returns
    -------
    list of dict
        One per row.
    """
    return [json.loads(text) for text in column]
