"""Readings patch arms: what is derived, what it is called, and where it is not shown."""

import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment

from manifold_oos.config.dump import config_text, plain_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.views import patched
from manifold_oos.engine.keys import arm_part
from manifold_oos.engine.plan import make_plan
from manifold_oos.errors import ConfigError
from manifold_oos.results.collect import Results
from manifold_oos.results.explanations import printed_columns
from manifold_oos.results.tables import make_tables

ARMS = {
    "RBF": {"embedding": {"name": "suplap", "n_components": 2}, "extender": "rbf", "classifier": "nn"},
    "LVM": {"embedding": {"name": "suplap", "n_components": 2}, "extender": "lvm", "classifier": "nn", "note": "n"},
    "NN": {"classifier": "nn"},
}


def experiment_with(readings, **config) -> Experiment:
    return make_experiment(arms=ARMS, readings=readings, **config)


def test_an_arm_is_derived_for_each_that_a_reading_changes():
    experiment = experiment_with(
        {"wide": {"text": "a wider kernel", "arms": ["RBF", "LVM"], "set": {"embedding.n_components": 5}}}
    )
    assert list(experiment.arms) == [*ARMS, "RBF [wide]", "LVM [wide]"]
    assert experiment.readings["wide"].arms == {"RBF": "RBF [wide]", "LVM": "LVM [wide]"}
    derived = experiment.arms["LVM [wide]"]
    assert derived.embedding.parameters == {"n_components": 5} and derived.extender.name == "lvm"
    assert derived.reading == "wide" and derived.note == ""
    assert experiment.arms["LVM"].embedding.parameters == {"n_components": 2}
    assert list(experiment.shown) == list(ARMS)


def test_a_stage_is_replaced_or_taken_away():
    readings = {"joint": {"text": "", "arms": "RBF", "set": {"embedding": {"name": "lda"}, "extender": None}}}
    arm = experiment_with(readings).arms["RBF [joint]"]
    assert list(arm.methods()) == ["embedding", "classifier"] and arm.embedding.name == "lda"


def test_a_patch_of_a_part_leaves_the_rest():
    arm = {"extender": {"name": "rbf", "sigma": {"median": 1}, "lambda_": 2}}
    assert patched(arm, {"extender.sigma.median": 3}) == {
        "extender": {"name": "rbf", "sigma": {"median": 3}, "lambda_": 2}
    }
    assert arm["extender"]["sigma"] == {"median": 1}


def test_what_is_the_same_is_run_once():
    readings = {
        "wide": {"text": "", "arms": "RBF", "set": {"extender.sigma": 2.0}},
        "wide there too": {"text": "", "arms": {"LVM": "RBF"}, "set": {"extender.sigma": 2.0}},
        "as LVM": {"text": "", "arms": "RBF", "set": {"extender": "lvm"}},
    }
    experiment = experiment_with(readings)
    assert list(experiment.arms) == [*ARMS, "RBF [wide]"]
    assert experiment.readings["wide there too"].arms == {"LVM": "RBF [wide]"}
    assert experiment.readings["as LVM"].arms == {"RBF": "LVM"}


def test_an_arm_for_another_data_set_runs_on_that_alone():
    sets = [{"name": "digits"}, {"name": "digits", "label": "small", "per_class": 20}]
    patch = {"text": "", "arms": "RBF", "set": {"extender.sigma": 2.0}}
    experiment = experiment_with(
        {"small": patch | {"datasets": {"digits": "small"}}, "here": patch | {"set": {"datasets": "digits"}}},
        datasets=sets,
    )
    assert experiment.arms["RBF [small]"].datasets == ["small"]
    assert experiment.readings["here"].arms == {"RBF": "RBF"}  # the arm runs there anyway
    assert [data.label for data in experiment.views_of()] == ["digits"]
    assert [data.label for data in experiment.views_of(["small"])] == ["small"]


def test_the_written_config_has_the_patch_and_not_the_arm():
    experiment = experiment_with({"wide": {"text": "w", "arms": ["RBF"], "set": {"extender.sigma": 2.0}}})
    plain = plain_config(experiment)
    assert list(plain["arms"]) == list(ARMS)
    assert plain["readings"]["wide"] == {"text": "w", "arms": {"RBF": "RBF"}, "set": {"extender.sigma": 2.0}}
    assert Experiment.model_validate(plain).arms == experiment.arms
    assert "RBF [wide]" not in config_text(experiment)


def test_derived_arms_explain_numbers_and_stand_in_no_table():
    cells = {("RBF", "digits", 5): [20.0, 20.2] * 5, ("NN", "digits", 5): [30.0, 30.2] * 5}
    cells["RBF [wide]", "digits", 5] = [10.0, 10.2] * 5
    experiment = experiment_with(
        {"wide": {"text": "", "arms": "RBF", "set": {"extender.sigma": 2.0}}},
        datasets=[{"name": "digits", "split": {"train_per_class": [5]}}],
        published={"misclassification_rate": {"digits": {"RBF": {5: 10.1}}}},
        claims=[{"source": "§1", "best": "RBF"}],
    )
    results = Results(experiment, fake_rows(cells))
    (table,) = make_tables(results)
    assert [line.arm for line in table.lines] == list(ARMS)
    assert results.cells.set_index("arm")["best"].to_dict() == {"RBF": True, "NN": False, "RBF [wide]": False}
    assert results.claims[0].verdict == "holds"
    (column,) = printed_columns(results)
    assert column.deviates and column.readings["wide"][5.0].summary.mean == pytest.approx(10.1)
    assert isinstance(results.rows, pd.DataFrame) and set(results.rows["arm"]) == {"RBF", "NN", "RBF [wide]"}


def test_a_patch_that_breaks_an_arm_says_which():
    with pytest.raises(ValueError, match=r"readings\.none: NN: .*an arm needs an embedding, a classifier, or both"):
        experiment_with({"none": {"text": "", "arms": "NN", "set": {"classifier": None}}})


def test_a_patch_of_the_data_derives_a_data_set_for_its_arms_alone():
    readings = {
        "small": {"text": "t", "arms": ["RBF", "NN"], "set": {"dataset.per_class": 20, "dataset.split.seed": 3}},
        "small, wide": {
            "text": "t",
            "arms": "RBF",
            "set": {"dataset.per_class": 20, "extender.sigma": 2.0},
        },
    }
    experiment = experiment_with(readings)
    assert [data.label for data in experiment.datasets] == ["digits", "digits [small]", "digits [small, wide]"]
    derived = experiment.datasets[1]
    assert derived.options == {"per_class": 20}
    split = experiment.split_of(derived)
    assert (split.sizes, split.seed) == ([5, 10], 3)
    assert experiment.readings["small"].datasets == {"digits": "digits [small]"}
    assert list(experiment.arms_of(derived)) == ["RBF", "NN"]
    assert list(experiment.arms_of(experiment.datasets[2])) == ["RBF [small, wide]"]
    assert list(experiment.arms_of(experiment.datasets[0])) == list(ARMS)
    assert [data.label for data in experiment.views_of()] == ["digits"]
    plain = plain_config(experiment)
    assert [data["name"] for data in plain["datasets"]] == ["digits"]
    assert (
        plain["readings"]["small"]["arms"] == {"RBF": "RBF", "NN": "NN"}
        and "datasets" not in plain["readings"]["small"]
    )
    assert [data.label for data in Experiment.model_validate(plain).datasets][1:] == [
        "digits [small]",
        "digits [small, wide]",
    ]


def test_a_reading_may_choose_parameters_once_for_the_experiment(bench):
    sigma = {"grid": [{"median": 1}, {"median": 2}]}
    arms = {**ARMS, "RBF": {**ARMS["RBF"], "extender": {"name": "rbf", "sigma": sigma}}}
    readings = {"once": {"text": "", "arms": "RBF", "set": {"cv.per": "experiment", "cv.repeats": 9}}}
    experiment = make_experiment(arms=arms, readings=readings)
    ours, derived = experiment.arms["RBF"], experiment.arms["RBF [once]"]
    assert derived.methods() == ours.methods() and not ours.covers(derived)
    protocol = experiment.selection[0]
    assert experiment.cv_of(protocol, ours) == experiment.cv
    assert (experiment.cv_of(protocol, derived).per, experiment.cv_of(protocol, derived).repeats) == (
        "experiment",
        9,
    )
    data = experiment.datasets[0]
    assert arm_part(experiment, ours, protocol, data) != arm_part(experiment, derived, protocol, data)
    wrong = (
        "dataset: digits\narms: {A: {classifier: nn}}\nreadings: {once: {text: t, arms: A, set: {cv.per: arm}}}\n"
    )
    with pytest.raises(ConfigError, match=r"cv\.per.*'split' or 'experiment'"):
        bench.load(wrong)


def test_a_reading_is_measured_where_it_may_explain_a_printed_number():
    embedding = {"name": "suplap", "n_components": {"grid": [2, 3]}}
    experiment = make_experiment(
        arms={"RBF": {"embedding": embedding, "extender": "rbf", "classifier": "nn"}},
        datasets=[{"name": "digits"}, {"name": "digits", "label": "stand-in"}],
        selection=["train_only", {"paper": {"*": "best"}}],
        published=[
            {"source": "T", "selection": "paper", "values": {"misclassification_rate": {"digits": {"RBF": 1.0}}}}
        ],
        readings={
            "wide": {"text": "", "arms": "RBF", "set": {"extender.sigma": 2.0}},
            "unit": {"text": "", "arms": "RBF", "datasets": "digits", "set": {"dataset.normalize": "unit"}},
        },
    )
    plan = make_plan(experiment)
    lines = {(line.arm, line.dataset, line.selection) for line in plan.lines}
    ours = {("RBF", data, selection) for data in ("digits", "stand-in") for selection in ("train_only", "paper")}
    assert lines == ours | {("RBF [wide]", "digits", "paper"), ("RBF", "digits [unit]", "paper")}
