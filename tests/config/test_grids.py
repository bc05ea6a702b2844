"""Open values of configs: lists, ranges, sizes of the split, values by data set."""

import pytest

from manifold_oos.config.values import Facts, fill, grids_of, has_grid, literals, settle
from manifold_oos.errors import ConfigError

FACTS = Facts("coil20", 140, 20, 625)


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"grid": [1, 2]}, (1, 2)),
        ({"grid": [5, "n_classes-1", "n_train - 1"]}, (5, 19, 139)),
        ({"grid": {"from": 5, "to": "n_train-1", "step": 50}}, (5, 55, 105)),
        ({"grid": {"from": 1, "to": 100, "count": 3, "log": True}}, (1, 10, 100)),
        ({"grid": {"from": 0.5, "to": 1.5, "count": 3}}, (0.5, 1.0, 1.5)),
        ({"grid": [{"median": 0.5}, {"median": 1}]}, ({"median": 0.5}, {"median": 1})),
        ({"by_dataset": {"coil20": {"grid": [7]}, "default": 3}}, (7,)),
    ],
)
def test_grids(value, expected):
    assert settle({"p": value}, FACTS)["p"].values == expected
    assert has_grid({"p": value}, "coil20")


def test_default_of_a_grid_is_its_middle():
    assert settle({"grid": [1, 2, 3]}, FACTS).default == 2
    assert settle({"grid": [1, 2, 3], "default": 7}, FACTS).default == 7


def test_paths_of_nested_grids():
    settled = settle({"sigma": {"median": {"grid": [1, 2]}}, "mu": 3}, FACTS)
    assert list(grids_of(settled, "extender")) == ["extender.sigma.median"]
    filled = fill(settled, {"extender.sigma.median": 2}, "extender")
    assert filled == {"sigma": {"median": 2}, "mu": 3}


def test_values_by_data_set_without_a_default():
    with pytest.raises(ConfigError, match="by_dataset has no value for coil20"):
        settle({"by_dataset": {"orl": 3}}, FACTS)
    assert not has_grid({"p": {"by_dataset": {"orl": {"grid": [1]}, "coil20": 3}}}, "coil20")


def test_literals_cover_everything_a_value_can_become():
    assert list(literals({"by_dataset": {"a": 1, "b": {"grid": [2, 3], "default": 4}}})) == [1, 2, 3, 4]
    assert list(literals({"median": {"grid": [1, 2]}})) == [{"median": 1}, {"median": 2}]
    assert list(literals({"median": 2})) == [{"median": 2}]
    assert list(literals("n_train/2")) == [2]


def test_a_word_is_not_taken_for_a_size():
    assert settle("regularity", FACTS) == "regularity"
    assert settle("n_train/2", FACTS) == 70
