"""Printed numbers that ours miss, and what other readings of the paper give in their place."""

import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment, swept_rows

from manifold_oos.config.load import load_config
from manifold_oos.engine.splits import DataFacts
from manifold_oos.errors import ConfigError
from manifold_oos.reporting.write import readings_markdown
from manifold_oos.results.collect import Results
from manifold_oos.results.explanations import EXPLAINED, OPEN, UNTESTED, deviations, explained_states

ROWS = {
    ("A", "digits", 5): [20.0, 20.2],
    ("A", "digits", 10): [9.0, 9.2],
    ("B", "digits", 5): [10.0, 10.2],
    ("B", "digits", 10): [30.0, 30.2],
}


def published(values, selection=None):
    return [{"source": "Table 2", "selection": selection, "values": {"misclassification_rate": {"digits": values}}}]


def results_of(rows=None, facts=None, **config):
    return Results(make_experiment(**config), fake_rows(ROWS) if rows is None else rows, facts=facts or {})


def test_a_number_that_matches_is_no_deviation():
    assert deviations(results_of(published=published({"A": {5: 20.0, 10: 9.0}}))).empty


def test_another_arm_is_measured_in_the_place_of_the_printed_one():
    results = results_of(
        published=published({"A": {5: 10.0, 10: 50.0}}),
        readings={"flat": {"text": "a flat kernel", "arms": {"A": "B"}}},
    )
    table = deviations(results)
    assert table[["size", "ours", "verdict", "reading", "reading_verdict"]].values.tolist() == [
        [5.0, 20.1, "worse", "flat", "matches"],
        [10.0, 9.1, "better", "flat", "better"],
    ]
    assert table["mean"].tolist() == pytest.approx([10.1, 30.1])
    assert explained_states(table) == [EXPLAINED, OPEN]


def test_a_cell_that_no_reading_speaks_of_is_untested():
    results = results_of(
        published=published({"A": {5: 10.0}, "B": {5: 40.0}}),
        readings={"flat": {"text": "a flat kernel", "arms": {"A": "B"}}},
    )
    assert explained_states(deviations(results)) == [EXPLAINED, UNTESTED]
    assert "| none |" in readings_markdown(results)


def test_one_value_of_an_open_grid_is_a_reading():
    rows = swept_rows("A", "digits", 5, {0.1: [5.0, 5.2], 0.2: [12.0, 12.2]}, "embedding.rcond")
    results = results_of(
        rows,
        published=published({"A": {5: 12.0}}, "best"),
        selection=["best"],
        readings={"cut-off 0.2": {"text": "this cut-off", "arms": "A", "chosen": {"rcond": 0.2}}},
    )
    (line,) = deviations(results).itertuples()
    assert (line.ours, line.verdict) == (pytest.approx(5.1), "better")
    assert (line.mean, line.reading_verdict) == (pytest.approx(12.1), "matches")


def test_a_size_is_worked_out_for_each_split():
    rows = swept_rows("A", "digits", 5, {20: [5.0, 5.2], 49: [12.0, 12.2]}, "embedding.n_components")
    results = results_of(
        rows,
        {"digits": DataFacts("digits", "", "", n=1797, n_features=64, n_classes=10)},
        published=published({"A": {5: 12.0}}, "best"),
        selection=["best"],
        readings={"N−1": {"text": "all dimensions", "arms": "A", "chosen": {"n_components": "n_train-1"}}},
    )
    (line,) = deviations(results).itertuples()
    assert line.mean == pytest.approx(12.1) and line.reading_verdict == "matches"


def test_another_data_set_is_measured_in_the_place_of_the_printed_one():
    rows = pd.concat([fake_rows(ROWS), fake_rows({("A", "raw", 5): [33.0, 33.2]})], ignore_index=True)
    sets = [
        {"name": "digits", "label": label, "split": {"train_per_class": [5, 10]}} for label in ("digits", "raw")
    ]
    results = results_of(
        rows,
        datasets=sets,
        published=published({"A": {5: 33.0}}),
        readings={"raw pixels": {"text": "no unit norm", "arms": "A", "datasets": {"digits": "raw"}}},
    )
    (line,) = deviations(results).itertuples()
    assert line.mean == pytest.approx(33.1) and line.reading_verdict == "matches"


def test_the_table_shows_printed_ours_and_every_reading_with_its_words():
    results = results_of(
        published=published({"A": {5: 10.0, 10: 50.0}}),
        readings={"flat": {"text": "a flat kernel", "arms": {"A": "B"}}},
    )
    text = readings_markdown(results)
    line = "| Table 2, digits | A | 5, 10 | 10.00, 50.00 | 20.10 −, 9.10 + | *flat* 10.10 =, 30.10 + |"
    assert line in text and "- *flat*: a flat kernel" in text


def test_a_reading_that_names_an_unknown_arm_is_refused_with_its_place(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        "dataset: digits\nsplit: {train_per_class: 5}\narms: {A: {classifier: nn}}\n"
        "readings: {flat: {text: a, arms: {A: Bee}}}\n"
    )
    with pytest.raises(ConfigError, match=r"(?s)bad.yaml.*no arm Bee"):
        load_config(path)
