"""Committed tables tell when another form of their config gave them."""

from dataclasses import replace

import pandas as pd
from reporting_fakes import make_experiment

from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.store import Store
from manifold_oos.reporting.write import claims_frame, write_tables
from manifold_oos.results.claims import ClaimResult
from manifold_oos.results.collect import Located, Results
from manifold_oos.results.committed import DIGEST, claims_of, config_digest
from manifold_oos.results.sheets import csv_text, packed, read_csv, unpacked


def test_tables_of_an_earlier_config_say_so(rows, tmp_path):
    experiment = make_experiment()
    write_tables(Results(experiment, rows), tmp_path)
    told = Located(experiment, tmp_path, tmp_path).read_committed()
    assert told is not None and not told.earlier and "earlier form" not in told.origin
    changed = make_experiment(split={"train_per_class": [5, 10], "repetitions": 9})
    told = Located(changed, tmp_path, tmp_path).read_committed()
    assert told is not None and told.earlier and "earlier form of this config" in told.origin
    (tmp_path / DIGEST).unlink()
    assert Located(experiment, tmp_path, tmp_path).read_committed().earlier


def test_what_does_not_change_a_number_does_not_change_the_digest():
    assert config_digest(make_experiment(title="a")) == config_digest(make_experiment(title="b"))
    claims = [{"source": "§1", "best": "A"}]
    assert config_digest(make_experiment(claims=claims)) == config_digest(make_experiment())


def test_a_part_that_is_the_whole_has_the_digest_of_the_whole():
    experiment = make_experiment(split={"train_per_class": [5, 10], "repetitions": 4, "stratified": True})
    assert config_digest(reduce_experiment(experiment)) == config_digest(experiment)
    assert config_digest(reduce_experiment(experiment, repetitions=2)) != config_digest(experiment)


def test_committed_tables_are_shown_beside_a_store_that_has_other_experiments(rows, tmp_path):
    experiment = make_experiment(
        datasets=[{"name": "coil20", "label": "digits", "split": {"train_per_class": [5, 10]}}]
    )
    write_tables(Results(experiment, rows), tmp_path / "one")
    with Store(tmp_path) as store:
        assert not store.facts()
    told = Located(experiment, tmp_path, tmp_path / "one").collect(data_dir=tmp_path)
    assert told.committed is not None and len(told.rows) == len(rows)


def test_splits_come_back_from_their_lists(tmp_path):
    rows = pd.DataFrame(
        {
            "arm": ["=A", "=A", "=A", "B"],
            "chosen": ["{}", "{}", '{"d": 2}', "{}"],
            "repetition": [0, 2, 1, 0],
            "value": [-3.25, 1e-12, 0.1 + 0.2, float("nan")],
        }
    )
    path = tmp_path / "splits.csv"
    path.write_text(csv_text(packed(rows)), encoding="utf-8")
    assert len(path.read_text().splitlines()) == 4  # a line for each arm and choice
    again = unpacked(read_csv(path, "splits", ("arm", "repetition", "value")))
    expected = rows.sort_values(["arm", "chosen"], key=lambda c: c.map({"=A": 0, "B": 1, "{}": 0, '{"d": 2}': 1}))
    pd.testing.assert_frame_equal(again, expected.reset_index(drop=True))


def test_why_a_claim_is_not_counted_is_not_read_back_as_its_numbers(tmp_path):
    experiment = make_experiment(claims=[{"source": "§1", "text": "A wins", "left": "A", "op": "<", "right": "B"}])
    told = ClaimResult(experiment.claims[0], "holds", "A wins", "A − B = -1; 3 splits", p=0.01)
    for part_of in ("", "all win"):
        for stand_in in (False, True):
            kept = replace(told, part_of=part_of, stand_in=stand_in)
            assert (kept.numbers_text == told.numbers) == kept.counted
            (tmp_path / "claims.csv").write_text(csv_text(claims_frame([kept])), encoding="utf-8")
            assert claims_of(tmp_path, experiment)[0] == kept


def test_repetitions_with_gaps_and_in_any_order_come_back():
    numbers = [0, 1, 2, 5, 7, 8, 3, 10]
    rows = pd.DataFrame({"arm": "A", "repetition": numbers, "value": [float(number) for number in numbers]})
    assert packed(rows)["repetition"].tolist() == ["0..2 5 7..8 3 10"]
    pd.testing.assert_frame_equal(unpacked(packed(rows)), rows)
    listed = packed(rows).assign(repetition="0 1 2 5 7 8 3 10")  # as a person or an older version writes it
    pd.testing.assert_frame_equal(unpacked(listed), rows)
