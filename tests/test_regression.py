"""The regression check: tolerances, what counts as missing, and the part of an experiment that is run."""

import math

import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment

from manifold_oos.config.subset import experiment_of, narrowed, reduce_experiment
from manifold_oos.errors import ConfigError
from manifold_oos.regression import compare_splits, read_reference, tolerance
from manifold_oos.reporting.write import csv_text, split_rows
from manifold_oos.results.collect import Results


def splits(values, **common) -> pd.DataFrame:
    return split_rows(Results(make_experiment(), fake_rows(values, **common)))


def differ(reference: float | list[float], ours: float | list[float], **common) -> list:
    lists = [value if isinstance(value, list) else [value] for value in (reference, ours)]
    tables = [splits({("A", "digits", 5): value}, **common) for value in lists]
    compared, differences = compare_splits(tables[1], tables[0])
    assert compared == len(lists[0])
    return differences


def test_two_test_samples_or_three_tenths_of_a_point_whichever_is_larger():
    # 100 test samples: 2 samples are 2 points; the mean of a cell must agree within 0.2, so many splits here
    others = [10.0] * 19
    assert differ([10.0, *others], [12.0, *others]) == []
    (difference,) = differ([10.0, *others], [13.0, *others])
    assert difference.repetition == 0 and difference.allowed == 2.0
    assert differ([10.0], [10.2], n_test=10_000) == []
    assert {d.repetition for d in differ([10.0], [10.31], n_test=10_000)} == {0, None}


def test_means_agree_within_two_tenths_of_a_point():
    (difference,) = differ([10.0, 10.0], [10.5, 10.5])
    assert difference.repetition is None and "mean" in str(difference)
    assert differ([10.0, 10.0], [10.5, 9.9]) == []


def test_better_numbers_are_changes_too():
    assert differ([10.0], [5.0])


def test_continuous_metrics_within_a_thousandth():
    assert differ([0.5], [0.5004], metric="embedding_error") == []
    assert differ([0.5], [0.5006], metric="embedding_error")
    assert differ([-200.0], [-200.1], metric="objective") == []


def test_tolerance_by_kind_of_number():
    assert tolerance("recognition_rate", 90.0, n_test=50) == 4.0
    assert tolerance("recognition_rate", 90.0, n_test=5000) == 0.3
    assert tolerance("parameter_r2", 0.98) == pytest.approx(0.00098)


def test_a_missing_result_is_a_change_and_nan_equals_nan():
    reference = splits({("A", "digits", 5): [10.0, 11.0]})
    ours = splits({("A", "digits", 5): [10.0]})
    _, differences = compare_splits(ours, reference)
    assert len(differences) == 1 and "no result" in str(differences[0])
    both = splits({("A", "digits", 5): [math.nan]})
    assert compare_splits(both, both) == (1, [])


def test_what_only_ours_has_is_not_compared():
    reference = splits({("A", "digits", 5): [10.0]})
    ours = splits({("A", "digits", 5): [10.0, 50.0], ("B", "digits", 5): [1.0]})
    assert compare_splits(ours, reference) == (1, [])


def test_protocols_and_sizes_are_not_mixed_up():
    reference = pd.concat(
        [
            splits({("A", "digits", 5): [10.0], ("A", "digits", 10): [5.0]}, selection="best"),
            splits({("A", "digits", 5): [12.0], ("A", "digits", 10): [7.0]}, selection="train_only"),
        ]
    )
    assert compare_splits(reference.sample(frac=1, random_state=0), reference) == (4, [])


def test_a_reference_survives_its_file(tmp_path):
    table = splits({("A", "digits", 5): [100 / 3, 1e-17], ("B", "digits", 5): [0.1, 2.0]}, n_components=3)
    path = tmp_path / "reference.csv"
    path.write_text(csv_text(table))
    assert compare_splits(table, read_reference(path)) == (4, [])
    assert csv_text(read_reference(path)) == path.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "not a table"), ("a,b\n1,2\n", "no column metric"), ("{}", "no column"), (None, "no such reference")],
)
def test_a_damaged_reference_is_a_clear_error(tmp_path, text, message):
    path = tmp_path / "reference.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_reference(path)


def test_an_empty_reference_is_an_error(tmp_path):
    path = tmp_path / "reference.csv"
    path.write_text(csv_text(splits({("A", "digits", 5): [1.0]}).head(0)))
    with pytest.raises(ConfigError, match="empty"):
        read_reference(path)


def test_only_what_the_reference_covers_is_run():
    data = [
        {"name": "digits", "split": {"train_per_class": [5, 10, 20], "seed": 7}},
        {"name": "digits", "label": "other", "split": {"fraction": [0.3]}},
    ]
    whole = make_experiment(datasets=data, split={"repetitions": 20}, selection=["train_only", "best"])
    reference = splits({("A", "digits", 10): [1.0, 2.0], ("C", "digits", 10): [1.0, 2.0]}, selection="best")
    part = experiment_of(whole, reference)
    assert [item.label for item in part.datasets] == ["digits"] and list(part.arms) == ["A", "C"]
    split = part.split_of(part.datasets[0])
    assert (split.sizes, split.repetitions, split.seed) == ([10], 2, 7)
    assert [protocol.name for protocol in part.selection] == ["best"]
    assert whole.split_of(whole.datasets[0]).sizes == [5, 10, 20]  # the whole is left alone
    assert part.name == whole.name


def test_a_reference_of_something_else_is_an_error():
    reference = splits({("A", "digits", 5): [1.0]}).assign(dataset="coil20")
    with pytest.raises(ConfigError, match="none of its data sets"):
        experiment_of(make_experiment(), reference)


def test_reduce_by_name_size_and_repetitions():
    part = reduce_experiment(make_experiment(), arms=["B"], sizes=[5], repetitions=2)
    assert list(part.arms) == ["B"] and part.split_of(part.datasets[0]).sizes == [5]
    assert part.split_of(part.datasets[0]).repetitions == 2
    with pytest.raises(ConfigError, match="no arm Z; there are A, B, C"):
        reduce_experiment(make_experiment(), arms=["Z"])


@pytest.mark.parametrize(
    "split",
    [
        {"fraction": [0.3, 0.5]},
        {"half_space": {"parameter": 0, "quantile": [0.3, 0.5]}},
        {"draws": {"train": [100, 200], "test": 50}},
        {"first": [100, 200]},
    ],
)
def test_every_kind_of_split_can_be_narrowed(split):
    experiment = make_experiment(datasets=[{"name": "digits", "split": split}])
    whole = experiment.split_of(experiment.datasets[0])
    part = narrowed(whole, whole.sizes[:1], None)
    assert part.kind == whole.kind and part.sizes == whole.sizes[:1] and len(whole.sizes) == 2
