"""Every config that ships loads and can be planned, whether its data are at hand or not."""

import pytest
from golden import GOLDEN, golden_text, made_up

from manifold_oos.config.load import load_config
from manifold_oos.engine.plan import make_plan
from manifold_oos.resources import shipped, shipped_configs


@pytest.mark.parametrize("name", shipped_configs())
def test_loads_and_plans(name):
    experiment = load_config(shipped("configs") / name)
    assert experiment.title
    assert experiment.name == name.removesuffix(".yaml")
    plan = make_plan(experiment, offline=True, known=dict(map(made_up, experiment.datasets)))
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


def test_what_is_run_is_what_the_golden_file_says():
    """A change here is a change of what the papers' tables are made of: say why in the commit."""
    assert golden_text() == GOLDEN.read_text(encoding="utf-8"), "python tests/helpers/golden.py writes it anew"
