"""Printed columns that ours miss, and what other readings of the paper give in their place."""

import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment, swept_rows

from manifold_oos.config.load import load_config
from manifold_oos.errors import ConfigError
from manifold_oos.reporting.write import readings_markdown, write_tables
from manifold_oos.results.collect import Results
from manifold_oos.results.committed import rows_of
from manifold_oos.results.explanations import (
    EXPLAINED,
    OPEN,
    UNTESTED,
    Chance,
    chance_rates,
    printed_columns,
    states,
)

ROWS = {
    ("A", "digits", 5): [20.0, 20.02],
    ("A", "digits", 10): [9.0, 9.02],
    ("B", "digits", 5): [10.0, 10.02],
    ("B", "digits", 10): [30.0, 30.02],
}
FLAT = {"flat": {"text": "a flat kernel", "arms": {"A": "B"}}}


def published(values, selection=None):
    return [{"source": "Table 2", "selection": selection, "values": {"misclassification_rate": {"digits": values}}}]


def results_of(rows=None, **config):
    return Results(make_experiment(**config), fake_rows(ROWS) if rows is None else rows)


def missed(results):
    return [column for column in printed_columns(results) if column.deviates]


def test_a_column_that_matches_needs_no_reading():
    results = results_of(published=published({"A": {5: 20.0, 10: 9.0}}), readings=FLAT)
    assert missed(results) == [] and readings_markdown(results) == "" and not states(printed_columns(results))


def test_a_reading_explains_a_column_only_where_it_gives_every_number_of_it():
    whole = results_of(published=published({"A": {5: 10.0, 10: 30.0}}), readings=FLAT)
    (column,) = missed(whole)
    assert (column.state, column.explained_by, column.missed) == (EXPLAINED, ["flat"], 2)
    assert states([column]) == {EXPLAINED: 2}
    half = results_of(published=published({"A": {5: 10.0, 10: 50.0}}), readings=FLAT)
    (column,) = missed(half)
    assert [measured.verdict.word for measured in column.readings["flat"].values()] == ["match", "better"]
    assert (column.state, states([column])) == (OPEN, {OPEN: 2})


def test_a_number_that_ours_match_must_be_given_by_the_reading_too():
    # ours gives 9 at size 10 and the reading 30: it cannot be what the paper did
    (column,) = missed(results_of(published=published({"A": {5: 10.0, 10: 9.0}}), readings=FLAT))
    assert column.state == OPEN and column.missed == 1


def test_a_column_that_no_reading_speaks_of_is_untested():
    results = results_of(published=published({"A": {5: 10.0}, "B": {5: 40.0}}), readings=FLAT)
    assert states(printed_columns(results)) == {EXPLAINED: 1, UNTESTED: 1}
    assert "| none | none |" in readings_markdown(results)


def test_one_value_of_an_open_grid_is_a_reading_that_a_committed_table_keeps(tmp_path):
    spread = {0.1: [5.0, 5.02], 0.2: [12.0, 12.02]}
    rows = [
        swept_rows("A", "digits", 5, spread, "embedding.rcond"),
        fake_rows({("A [cut-off 0.2]", "digits", 5): spread[0.2]}),
    ]
    arm = {
        "embedding": {"name": "lda", "regularization": "pinv", "rcond": {"grid": [0.1, 0.2]}},
        "classifier": "nn",
    }
    results = results_of(
        pd.concat(rows, ignore_index=True),
        arms={"A": arm},
        published=published({"A": {5: 12.0}}, "best"),
        selection=["best"],
        readings={"cut-off 0.2": {"text": "this cut-off", "arms": "A", "set": {"embedding.rcond": 0.2}}},
    )
    write_tables(results, tmp_path)
    kept = Results(results.experiment, rows_of(tmp_path), committed=tmp_path)
    for told in (results, kept):
        (column,) = missed(told)
        (cell,) = column.cells
        assert (cell.mean, cell.verdict) == (pytest.approx(5.01), "better")
        assert column.readings["cut-off 0.2"][5.0].summary.mean == pytest.approx(12.01)
        assert column.explained_by == ["cut-off 0.2"]


def test_another_data_set_is_measured_in_the_place_of_the_printed_one():
    rows = pd.concat([fake_rows(ROWS), fake_rows({("A", "raw", 5): [33.0, 33.02]})], ignore_index=True)
    sets = [
        {"name": "digits", "label": label, "split": {"train_per_class": [5, 10]}} for label in ("digits", "raw")
    ]
    results = results_of(
        rows,
        datasets=sets,
        published=published({"A": {5: 33.0}}),
        readings={"raw pixels": {"text": "no unit norm", "arms": "A", "datasets": {"digits": "raw"}}},
    )
    (column,) = missed(results)
    assert column.readings["raw pixels"][5.0].summary.mean == pytest.approx(33.01)
    assert column.explained_by == ["raw pixels"]


def test_chance_is_how_often_the_readings_give_columns_that_nobody_printed_for_the_arm():
    # B's printed column put in the place of A's is given by the reading; C's is not; shifted by ±5 or ±10 none is
    rows = fake_rows({**ROWS, ("C", "digits", 5): [60.0, 60.02], ("C", "digits", 10): [70.0, 70.02]})
    printed = {"A": {5: 15.0, 10: 40.0}, "B": {5: 10.0, 10: 30.0}, "C": {5: 60.0, 10: 70.0}}
    results = results_of(rows, published=published(printed), readings=FLAT)
    swapped, shifted = chance_rates(printed_columns(results))
    assert swapped == Chance(1, 2) and shifted == Chance(0, 4)
    near = results_of(rows, published=published({"A": {5: 15.0, 10: 35.0}}), readings=FLAT)
    assert chance_rates(printed_columns(near)) == (Chance(0, 0), Chance(1, 4))  # shifted by −5 it is B's


def test_a_false_column_that_ours_give_is_no_trial_of_the_readings():
    rows = fake_rows({**ROWS, ("C", "digits", 5): [20.0, 20.02], ("C", "digits", 10): [9.0, 9.02]})
    printed = {"A": {5: 15.0, 10: 40.0}, "C": {5: 20.0, 10: 9.0}}
    results = results_of(rows, published=published(printed), readings=FLAT)
    assert chance_rates(printed_columns(results))[0] == Chance(0, 0)


def test_the_table_shows_printed_ours_and_every_reading_with_its_words():
    results = results_of(published=published({"A": {5: 10.0, 10: 50.0}}), readings=FLAT)
    text = readings_markdown(results)
    line = "| Table 2, digits | A | 5, 10 | 10.00, 50.00 | 20.01 −, 9.01 + | *flat* 10.01 =, 30.01 + | none |"
    assert line in text and "- *flat*: a flat kernel" in text


def test_a_reading_that_names_an_unknown_arm_is_refused_with_its_place(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(
        "dataset: digits\nsplit: {train_per_class: 5}\narms: {A: {classifier: nn}}\n"
        "readings: {flat: {text: a, arms: {A: Bee}}}\n"
    )
    with pytest.raises(ConfigError, match=r"(?s)bad.yaml.*no arm Bee"):
        load_config(path)
