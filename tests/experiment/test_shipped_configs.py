"""Every config that ships loads and can be planned, whether its data are at hand or not."""

import pytest

from manifold_oos import datasets
from manifold_oos.experiment.loading import load_config
from manifold_oos.experiment.plan import DataFacts, facts_key, make_plan
from manifold_oos.experiment.splits import DataRef
from manifold_oos.resources import shipped, shipped_configs


def facts(data):
    """Of a set large enough for every split, so that no data are needed."""
    options = datasets.find(data.name).check(data.options)
    counts = (50,) * 60
    known = DataFacts(data.name, "", "", sum(counts), 200, len(counts), class_counts=counts)
    return facts_key(DataRef(data.label, data.name, options)), known


@pytest.mark.parametrize("name", shipped_configs())
def test_loads_and_plans(name):
    experiment = load_config(shipped("configs") / name)
    assert experiment.title
    assert experiment.name == name.removesuffix(".yaml")
    plan = make_plan(experiment, offline=True, known=dict(map(facts, experiment.datasets)))
    for data in experiment.datasets:
        split = experiment.split_of(data)
        shown = {(line.arm, line.size, line.repetition) for line in plan.lines if line.dataset == data.label}
        assert len(shown) == len(experiment.arms_of(data)) * len(split.sizes) * split.rounds
    assert all(plan.batches(trial) is not None for trial in plan.trials)


@pytest.mark.parametrize("name", [name for name in shipped_configs() if "/" in name])
def test_says_where_in_its_paper_a_number_stands(name):
    experiment = load_config(shipped("configs") / name)
    assert all(block.source for block in experiment.published)
    assert all(claim.source for claim in experiment.claims)
