"""Every config that ships loads and can be planned, with its data or without."""

import pytest

from manifold_oos.experiment.loading import load_config
from manifold_oos.experiment.plan import make_plan
from manifold_oos.resources import shipped, shipped_configs


@pytest.mark.parametrize("name", shipped_configs())
def test_loads_and_plans(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOOS_DATA", raising=False)
    experiment = load_config(shipped("configs") / name)
    assert experiment.title
    assert experiment.name == name.removesuffix(".yaml")
    plan = make_plan(experiment, offline=True, skip_missing=True)
    labels = {data.label for data in experiment.datasets}
    assert set(plan.facts) | set(plan.absent) == labels
    assert {line.dataset for line in plan.lines} == set(plan.facts)


@pytest.mark.parametrize("name", [name for name in shipped_configs() if "/" in name])
def test_says_where_in_its_paper_a_number_stands(name):
    experiment = load_config(shipped("configs") / name)
    assert all(block.source for block in experiment.published)
    assert all(claim.source for claim in experiment.claims)
