"""Splits: every kind, the same for ever, and standardised on the known points alone."""

import numpy as np
import pytest

from manifold_oos.config.model import Split
from manifold_oos.engine.splits import DataFacts, DataRef, SplitRef, count_known, draw, split_seed
from manifold_oos.errors import ConfigError, DataError


@pytest.fixture
def data(bench):
    return DataRef("blobs", "fake_methods:Blobs", {}).load()


def cut(data, size, repetition=0, **split):
    split = Split(**split)
    return draw(split, size, split_seed(split.seed, data.name, size, repetition), data)


# Never change these: stored numbers and the reference tables stand on them.
VECTOR = {
    ("train_per_class", 3): [0, 3, 8, 12, 13, 16, 26, 28, 33, 36, 37, 38],
    ("fraction", 0.25): [0, 1, 10, 15, 19, 20, 28, 29, 32, 36, 45, 46],
    ("n_train", 7): [1, 10, 16, 19, 29, 32, 37],
}


@pytest.mark.parametrize("kind, size", VECTOR)
def test_committed_vector(data, kind, size):
    known, _ = cut(data, size, 2, **{kind: size, "seed": 5})
    assert known.tolist() == VECTOR[kind, size]


KINDS = [
    ({"train_per_class": 3}, 3, 12),
    ({"fraction": 0.3}, 0.3, 16),
    ({"fraction": 0.3, "stratified": False}, 0.3, 14),
    ({"ratio": 0.2}, 0.2, 8),
    ({"ratio": 0.2, "stratified": False}, 0.2, 8),
    ({"n_train": 10}, 10, 10),
    ({"n_train": 10, "stratified": False}, 10, 10),
    ({"half_space": {"parameter": "height"}}, 0.5, 24),
    ({"half_space": {"parameter": 0, "quantile": 0.25, "known": "above"}}, 0.25, 12),
    ({"alternate": 2}, 2, 24),
    ({"alternate": 5}, 5, 10),
    ({"first": 20}, 20, 20),
]


@pytest.mark.parametrize("split, size, expected", KINDS)
def test_kinds_divide_all_points(data, split, size, expected):
    known, new = cut(data, size, **split)
    assert len(known) == expected
    assert np.array_equal(np.union1d(known, new), np.arange(48))
    assert not np.intersect1d(known, new).size
    assert np.all(np.diff(known) > 0) and np.all(np.diff(new) > 0)
    assert count_known(Split(**split), size, DataFacts.of(data)) == expected


def test_stratified_kinds_take_the_same_of_each_class(data):
    for split, size in [({"train_per_class": 5}, 5), ({"fraction": 0.4}, 0.4), ({"n_train": 20}, 20)]:
        known, _ = cut(data, size, **split)
        assert np.bincount(data.y[known]).tolist() == [5, 5, 5, 5]


def test_largest_remainders_add_up(data):
    known, _ = cut(data, 10, n_train=10)
    assert sorted(np.bincount(data.y[known])) == [2, 2, 3, 3]


def test_half_space_is_one_side_of_the_parameter(data):
    known, new = cut(data, 0.5, half_space={"parameter": "height", "known": "above"})
    assert data.parameters["height"][known].min() > data.parameters["height"][new].max()


def test_seed_depends_on_the_four_coordinates_alone(data):
    base = cut(data, 3, train_per_class=3)[0].tolist()
    assert base == cut(data, 3, train_per_class=[5, 3], repetitions=9)[0].tolist()
    assert base != cut(data, 3, 1, train_per_class=3)[0].tolist()
    assert base != cut(data, 3, train_per_class=3, seed=1)[0].tolist()
    words = {tuple(split_seed(0, name, size, 0).generate_state(2)) for name in "ab" for size in (3, 4)}
    assert len(words) == 4


def test_n_test_takes_some_of_the_new_points(data):
    known, new = cut(data, 3, train_per_class=3, n_test=6)
    assert len(new) == 6 and not np.intersect1d(known, new).size


@pytest.mark.parametrize(
    "split, size, words",
    [
        ({"train_per_class": 13}, 13, "train_per_class 13 is more than class a has"),
        ({"first": 48}, 48, "leaves no new ones"),
        ({"n_train": 48}, 48, "leaves no known or no new ones"),
        ({"half_space": {"parameter": "depth"}}, 0.5, "has no parameter depth to split by; it has: height, angle"),
    ],
)
def test_impossible_splits(data, split, size, words):
    with pytest.raises(DataError, match=words):
        cut(data, size, **split)


def test_two_independent_draws(bench):
    ref = DataRef("blobs", "fake_methods:Blobs", {"spread": 2.0})
    split = Split(draws={"train": 20, "test": 8})
    first, second = (SplitRef(ref, split, 20, repetition).points(None) for repetition in (0, 1))
    assert (len(first.X), len(first.X_new)) == (20, 8)
    assert not np.isclose(first.X[:8, :5], first.X_new[:, :5]).any()
    assert not np.isclose(first.X[:, :5], second.X[:, :5]).any()
    again = SplitRef(ref, split, 20, 0).points(None)
    assert np.array_equal(first.X, again.X) and np.array_equal(first.X_new, again.X_new)


def test_redraw_draws_the_points_anew(bench):
    ref = DataRef("blobs", "fake_methods:Blobs", {})
    split = Split(alternate=2, redraw=True, repetitions=3)
    assert (split.rounds, Split(alternate=2, repetitions=3).rounds) == (3, 1)
    first, second = (SplitRef(ref, split, 2, repetition).points(None) for repetition in (0, 1))
    assert np.array_equal(first.known, second.known)
    assert not np.isclose(first.X[:, :5], second.X[:, :5]).any()


def test_redraw_projects_the_same_points_anew(bench):
    ref = DataRef("digits", "digits", {"random_projection": 20, "normalize": "unit"})
    split = Split(fraction=0.5, redraw=True, repetitions=2)
    first, second = (SplitRef(ref, split, 0.5, repetition).points(None) for repetition in (0, 1))
    both = np.intersect1d(first.known, second.known)
    one, other = (points.X[np.searchsorted(points.known, both)] for points in (first, second))
    assert one.shape == (len(both), 20) and np.allclose(np.linalg.norm(one, axis=1), 1)
    assert not np.isclose(one, other).all(axis=1).any()
    again = SplitRef(ref, split, 0.5, 0).points(None)
    assert np.array_equal(again.X, first.X) and np.array_equal(again.known, first.known)


def test_real_sets_cannot_be_drawn(bench):
    experiment = bench.load("dataset: digits\nclassifier: fake_methods:NN\nsplit: {draws: {train: 9, test: 9}}\n")
    from manifold_oos.engine.plan import make_plan

    with pytest.raises(ConfigError, match="digits is not a generated set; use fraction"):
        make_plan(experiment)


def test_standard_is_fitted_on_the_known_points(bench):
    ref = DataRef("blobs", "fake_methods:Blobs", {"normalize": "standard"})
    data = ref.load()
    points = SplitRef(ref, Split(train_per_class=3), 3, 0).points(data)
    raw, new = data.X[points.known], data.X[points.new]
    assert np.allclose(points.X, (raw - raw.mean(axis=0)) / raw.std(axis=0))
    assert np.allclose(points.X_new, (new - raw.mean(axis=0)) / raw.std(axis=0))
    train, validation = np.arange(0, 12, 2), np.arange(1, 12, 2)
    fold = points.fold(train, validation, seed=0)
    part = raw[train]
    assert np.allclose(fold.X_new, (raw[validation] - part.mean(axis=0)) / part.std(axis=0))


def test_every_arm_sees_the_same_split(bench, small):
    bench.run(small)
    seen = {}
    for fit in bench.fits:
        if fit["what"] == "transform":
            seen.setdefault(tuple(fit["rows"]), 0)
            seen[tuple(fit["rows"])] += 1
    assert len(seen) == 6 and set(seen.values()) == {2}
