"""The reproduction page counts printed numbers honestly: no stand-ins, no times, readings apart."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

from manifold_oos.config.model import Experiment
from manifold_oos.engine.store import make_frame
from manifold_oos.results.collect import Results

SCRIPT = runpy.run_path(str(Path(__file__).parent.parent.parent / "scripts" / "reproduce.py"))
EMPTY = {"selection": "fixed", "candidate": "{}", "chosen": "{}", "fitted": "{}", "warnings": "[]", "tuned": True}


@pytest.fixture
def results():
    """A and B are off, C stands in for A and gives its number; digits is at hand, the other set is a stand-in."""
    values = {"A": [30.0, 30.2], "B": [40.0, 40.2], "C": [10.0, 10.2], "D": [5.0, 5.2]}
    records = [
        EMPTY
        | {"arm": arm, "dataset": label, "size": 5, "repetition": repetition, "value": value, "metric": metric}
        | {"n_train": 50, "n_test": 100}
        for arm, numbers in values.items()
        for repetition, value in enumerate(numbers)
        for label in ("digits", "other")
        for metric in ("misclassification_rate", "fit_seconds")
    ]
    sets = [{"name": "digits"}, {"name": "digits", "label": "other", "stand_in": "a set that is not at hand"}]
    printed = {"A": {5: 10.0}, "B": {5: 10.0}, "D": {5: 5.0}}
    values = {
        metric: dict.fromkeys(("digits", "other"), printed) for metric in ("misclassification_rate", "fit_seconds")
    }
    config = {
        "datasets": sets,
        "split": {"train_per_class": 5},
        "arms": {arm: {"classifier": "nn"} for arm in "ABCD"},
        "metrics": ["misclassification_rate", "fit_seconds"],
        "published": [{"source": "Table 1", "values": values}],
        "readings": {"otherwise": {"text": "C", "arms": {"A": "C"}}},
    }
    return Results(Experiment.model_validate(config), make_frame(records))


def test_stand_ins_and_times_are_not_counted(results):
    counts = SCRIPT["count_cells"](results)
    assert counts == Counter({"match": 1, "near": 1, "another reading matches": 1, "no other reading measured": 1})


def test_shares_are_of_all_printed_numbers():
    text = "\n".join(
        SCRIPT["total_lines"](
            Counter({"match": 6, "near": 4, "another reading matches": 2, "no reading matches": 2})
        )
    )
    assert "Of 10 printed numbers" in text and "- 6 (60 %) match" in text and "4 (40 %) lie within" in text
    assert "- 2 (20 %) do not" in text and "- 0 (0 %) have no other reading" in text


def test_a_cut_experiment_keeps_its_first_splits_and_one_left_out_is_named():
    cut = {experiment.name: experiment for experiment in SCRIPT["configs"](False)}
    whole = {experiment.name: experiment for experiment in SCRIPT["configs"](True)}
    left = [name for name, repetitions in SCRIPT["REPETITIONS"].items() if repetitions == 0]
    assert set(whole) - set(cut) == set(left) and set(SCRIPT["REPETITIONS"]) <= set(whole)
    for name, repetitions in SCRIPT["REPETITIONS"].items():
        if repetitions:
            assert max(cut[name].split_of(data).repetitions for data in cut[name].datasets) == repetitions
