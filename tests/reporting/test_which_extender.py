"""The recommendation: the best average rank among the arms and data sets of a situation."""

import pandas as pd
import pytest

from manifold_oos.config.model import Experiment
from manifold_oos.reporting.pages.which_extender import advice, pairs, situations


@pytest.fixture
def experiment():
    sets = [
        {"name": "digits", "label": "coil20", "split": {"train_per_class": 7}},
        {"name": "digits", "label": "yaleb", "split": {"train_per_class": 10}},
        {"name": "digits", "label": "orl", "split": {"train_per_class": 5}},
    ]
    arms = {
        "SOSI": {"embedding": "suplap", "extender": "sosi", "classifier": "nn"},
        "RBF": {"embedding": "suplap", "extender": "rbf", "classifier": "nn"},
        "isomap rbf": {"embedding": "isomap", "extender": "rbf", "classifier": "nn"},
        "NN": {"classifier": "nn"},
    }
    return Experiment.model_validate({"datasets": sets, "arms": arms})


@pytest.fixture
def errors():
    columns = {
        "SOSI": [1.0, 1.0, 1.0],
        "RBF": [2.0, 3.0, 2.0],
        "isomap rbf": [3.0, 4.0, 4.0],
        "NN": [4.0, 2.0, 3.0],
    }
    return pd.DataFrame(columns, index=["coil20", "yaleb", "orl"])


def test_a_situation_leaves_its_arms_and_data_sets(experiment, errors):
    times = pd.DataFrame({"SOSI": [5.0] * 3, "RBF": [0.5] * 3, "isomap rbf": [0.5] * 3, "NN": [0.01] * 3})
    found = situations(experiment, errors, times)
    assert list(found["new points one by one"]) == ["RBF", "isomap rbf", "NN"]
    assert list(found["at most 0.1 ms for a new point"]) == ["NN"]
    assert list(found["at most 1 ms for a new point"]) == ["RBF", "isomap rbf", "NN"]
    assert list(found["up to 5 known points of a class"].index) == ["orl"]
    assert list(found["the light changes"].index) == ["yaleb"]


def test_the_best_average_rank_is_taken(errors):
    situation, take, rank, mean, cost, near = advice("any", errors, pd.Series({"SOSI": 5.0}))
    assert (situation, take, rank, mean, cost) == ("any", "**SOSI**", "1.0 of 4", "1.0", "5")
    assert near.startswith("RBF 2.3")  # three sets cannot tell them apart


def test_pairs_are_rows_of_data_set_and_embedding(experiment, errors):
    table = pairs(experiment, errors)
    assert table.loc[("yaleb", "suplap"), "rbf"] == 3.0 and table.loc[("orl", "isomap"), "rbf"] == 4.0
    assert table["sosi"].isna().sum() == 3
