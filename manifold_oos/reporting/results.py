"""What the views of one experiment are made from: its config, its rows and what is known of its data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from manifold_oos import datasets
from manifold_oos.experiment.config import Data, Experiment
from manifold_oos.experiment.plan import DataFacts
from manifold_oos.reporting.cells import make_cells
from manifold_oos.reporting.claims import ClaimResult, judge_claims


@dataclass(frozen=True)
class Results:
    """The results of an experiment as they stand, finished or not.

    Parameters
    ----------
    experiment : Experiment
        The config.
    rows : DataFrame
        Rows of the store, those of times included.
    absent : mapping of str to str
        Data sets (labels) that are not at hand, with the reason.
    facts : mapping of str to DataFacts
        What is known of the data sets that are.
    failures : DataFrame, optional
        Lines that failed, with their message.
    data_dir : Path, optional
        Where the data are, for pictures of points.
    kept : mapping of tuple to Path
        Files of kept coordinates by arm, data set, size, repetition and selection.
    """

    experiment: Experiment
    rows: pd.DataFrame
    absent: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, DataFacts] = field(default_factory=dict)
    failures: pd.DataFrame | None = None
    data_dir: Path | None = None
    kept: Mapping[tuple[Any, ...], Path] = field(default_factory=dict)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Means, intervals, comparisons and verdicts: see :func:`~manifold_oos.reporting.cells.make_cells`."""
        return make_cells(self.rows, self.experiment)

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The claims of the config with their verdicts."""
        return judge_claims(self.rows, self.experiment, facts=self._numbers)

    def _numbers(self, label: str, size: float) -> dict[str, float]:
        """The numbers that a claim may name."""
        rows = self.rows[(self.rows["dataset"] == label) & (self.rows["size"] == size)]
        known: dict[str, float] = {} if rows.empty else {"n_train": float(rows["n_train"].iloc[0])}
        if label in self.facts:
            facts = self.facts[label]
            known |= {"n_classes": facts.n_classes, "n_features": facts.n_features}
        return known

    def notes(self, group: list[Data]) -> list[str]:
        """Stand-ins, caveats of the data sets, what is not at hand, and the note of the config.

        Parameters
        ----------
        group : list of Data
            Data sets of the config.

        Returns
        -------
        list of str
            To be shown under every table and figure.
        """
        notes = []
        for data in group:
            if data.stand_in:
                notes.append(f"{data.label} is a stand-in for {data.stand_in}: not a reproduction")
            caveat = self.facts[data.label].note if data.label in self.facts else datasets.find(data.name).note
            if caveat:
                notes.append(f"{data.label}: {caveat}")
            if data.label in self.absent:
                notes.append(f"{data.label}: data absent")
        return [*notes, self.experiment.note] if self.experiment.note else notes
