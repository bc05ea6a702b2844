"""``moos sweep``: short and full names, values, ranges, declared grids, one curve per arm."""

import json
from pathlib import Path

import pandas as pd
import pytest

from manifold_oos.cli import main
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.sweep import make_sweep, parse_values, targets
from manifold_oos.errors import ConfigError
from manifold_oos.results.sheets import unpacked

CONFIG = """\
dataset: {name: digits, classes: 4, per_class: 12}
split: {train_per_class: 4, repetitions: 2}
arms:
  NN: {classifier: nn}
  RBF: {embedding: {name: suplap, n_components: {grid: [2, 3]}}, extender: rbf, classifier: nn}
  LVM: {embedding: {name: suplap, n_components: 3}, extender: {name: lvm, n_neighbors: 2}, classifier: nn}
claims: [{source: a, best: NN}]
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def tiny(here) -> Experiment:
    return load_config("tiny.yaml")


def moos(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--workers", "1", "--quiet"])
    return int(stop.value.code or 0)


def test_sweep_writes_a_table_and_a_curve_with_a_second_axis(here, capsys):
    assert moos("sweep", "tiny.yaml", "--param", "sigma", "--values", "{median: 0.5},{median: 1},{median: 2}") == 0
    out = capsys.readouterr().out
    assert "regularity" in out and "RBF" in out and "LVM" not in out
    folder = here / "results" / "tiny" / "sweep_sigma"
    assert (folder / "sweep_of_sigma.png").exists() and (folder / "sweep_of_sigma.pdf").exists()
    cells = unpacked(pd.read_csv(folder / "splits.csv"))
    assert set(cells["metric"]) == {"misclassification_rate", "regularity"}


def test_every_value_is_stored(here):
    from manifold_oos.engine.runner import run_experiment
    from manifold_oos.engine.store import Store

    swept = make_sweep(load_config("tiny.yaml"), "arms.RBF.extender.sigma.median", [0.5, 1, 2])
    summary = run_experiment(swept)
    with Store("results") as store:
        rows = store.rows(summary.plan)
    values = [json.loads(text)["extender.sigma.median"] for text in rows["chosen"]]
    assert sorted(set(values)) == [0.5, 1, 2] and len(rows) == 3 * 2 * 2
    regular = rows[rows["metric"] == "regularity"]
    assert regular["value"].nunique() == 6


def test_regularity_is_that_of_the_extender(here):
    import numpy as np

    from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
    from manifold_oos.engine.plan import make_plan
    from manifold_oos.engine.runner import run_experiment
    from manifold_oos.engine.store import Store
    from manifold_oos.extenders.rbf import RBFExtender

    swept = make_sweep(load_config("tiny.yaml"), "sigma", [9.0])
    summary = run_experiment(swept)
    with Store("results") as store:
        rows = store.rows(summary.plan)
    split = make_plan(swept).trials[0].split
    points = split.points(split.data.load())
    Y = SupervisedLaplacian(n_components=3).fit(points.X, points.y).embedding_
    extender = RBFExtender(sigma="regularity").fit(points.X, Y, points.y)
    G, D = extender.regularity(9.0)
    stored = rows[(rows["metric"] == "regularity") & (rows["repetition"] == 0)]["value"].item()
    assert stored == pytest.approx(np.sum(G - extender.lambdas_ * D), rel=1e-9)


def test_a_short_name_means_every_arm_that_has_it(tiny):
    assert targets(tiny, "n_components") == [
        ("RBF", "embedding", "n_components"),
        ("LVM", "embedding", "n_components"),
    ]
    assert targets(tiny, "arms.LVM.embedding.n_components") == [("LVM", "embedding", "n_components")]
    # LVM, its embedding and its classifier all have n_neighbors: one curve per arm, the extender's first
    stages = {arm: stage for arm, stage, _ in targets(tiny, "n_neighbors")}
    assert stages == {"NN": "classifier", "RBF": "extender", "LVM": "extender"}
    assert targets(tiny, "embedding.n_neighbors")[0] == ("RBF", "embedding", "n_neighbors")


def test_the_rest_of_an_arm_keeps_its_defaults(tiny):
    swept = make_sweep(tiny, "sigma", [1, 2])
    assert list(swept.arms) == ["RBF"]
    assert swept.arms["RBF"].embedding.parameters == {"n_components": 3}
    assert swept.arms["RBF"].extender.parameters == {"sigma": {"grid": [1, 2]}}
    assert [protocol.name for protocol in swept.selection] == ["best"]
    assert swept.claims == [] and swept.name == "tiny/sweep_sigma"


def test_without_values_each_method_has_its_own_grid(tiny):
    from manifold_oos.extenders.lvm import LVMExtender

    swept = make_sweep(tiny, "arms.LVM.extender.n_neighbors")
    assert swept.arms["LVM"].extender.parameters["n_neighbors"] == {"grid": list(LVMExtender.grids["n_neighbors"])}


def test_a_bare_sweep_of_the_quick_start_is_planned(here, capsys):
    assert moos("sweep", "--param", "sigma", "--dry-run") == 0
    assert capsys.readouterr().out.startswith("quickstart/sweep_sigma: ")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--param", "sgma"], 'no arm has it; did you mean "sigma"'),
        (["--param", "arms.RBF.extender.sgma"], 'did you mean "arms.RBF.extender.sigma"'),
        (["--param", "formulation"], "declares no grid for it; give --values or --range"),
        (["--param", "sigma", "--values", "1", "--range", "1:2:3"], "give one of the two"),
        (["--param", "sigma", "--range", "1:2"], "write from:to:count"),
        (["--param", "sigma", "--range", "0:2:3:log"], "needs positive ends"),
        (["--param", "sigma", "--values", "-1"], "arms.RBF.extender.sigma: must be"),
        (["--param", "sigma", "--values", ""], "at least one value"),
    ],
)
def test_mistakes(here, capsys, arguments, words):
    assert moos("sweep", "tiny.yaml", *arguments) == 2
    error = capsys.readouterr().err
    assert words in error


def test_unknown_parameters_list_the_candidates(tiny):
    with pytest.raises(ConfigError, match=r"parameters of this config: .*sigma \(LVM, RBF\)|sigma \(RBF"):
        targets(tiny, "zzz")


def test_ranges():
    assert parse_values(None, "1:10:4") == [1, 4, 7, 10]
    assert parse_values(None, "0.1:10:3:log") == [0.1, 1.0, 10.0]
    assert parse_values("0.5,1,2", None) == [0.5, 1, 2]
    assert parse_values("1e-3,{median: 2}", None) == [0.001, {"median": 2}]
    assert parse_values(None, None) is None
