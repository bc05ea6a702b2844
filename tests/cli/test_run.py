"""``moos run`` on a tiny experiment: what it prints and writes, its exit codes, and the shipped configs."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from manifold_oos.cli import main

CONFIG = """\
dataset: {name: digits, classes: 4, per_class: 12}
split: {train_per_class: [3, 5], repetitions: 2}
arms:
  NN: {classifier: nn}
  RBF: {embedding: {name: suplap, n_components: 3}, extender: rbf, classifier: nn}
  SOSI: {embedding: {name: suplap, n_components: 3}, extender: {name: sosi, n_iterations: 2}, classifier: nn}
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(CONFIG)
    return tmp_path


def moos(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--workers", "1"])
    return int(stop.value.code or 0)


def test_run_prints_a_table_and_writes_every_file(here, capsys):
    assert moos("run", "tiny.yaml") == 0
    out, err = capsys.readouterr()
    assert "misclassification rate" in out and "SOSI" in out and "figures: results/tiny/" in out
    assert "12 lines computed, 0 from the store" in out
    assert "\nVerdict for digits, 5 per class, 2 splits:\n" in out.split("12 lines computed")[1]
    assert "8/8 trials" in err
    folder = here / "results" / "tiny"
    names = {path.name for path in folder.iterdir()}
    wanted = {"table.csv", "timing.csv", "table.md", "table.tex", "verdict.md", "config.yaml", "environment.json"}
    assert wanted <= names
    assert any(name.endswith(".png") for name in names) and any(name.endswith(".pdf") for name in names)
    resolved = yaml.safe_load((folder / "config.yaml").read_text())
    assert resolved["split"]["seed"] == 0 and resolved["datasets"][0]["per_class"] == 12
    environment = json.loads((folder / "environment.json").read_text())
    assert {"python", "packages", "libraries", "cores"} <= set(environment)
    assert "seconds" not in (folder / "table.csv").read_text()


def test_a_second_run_gives_the_same_bytes_in_every_table_but_times(here, capsys):
    moos("run", "tiny.yaml")
    moos("run", "tiny.yaml", "--out", "again")
    first, second = here / "results" / "tiny", here / "again" / "tiny"
    tables = sorted(path.name for path in first.glob("*.csv") if path.name != "timing.csv")
    assert "table.csv" in tables
    for name in [*tables, "table.md", "table.tex", "config.yaml"]:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    capsys.readouterr()
    assert moos("run", "tiny.yaml") == 0
    assert "0 lines computed, 12 from the store" in capsys.readouterr().out


def test_dry_run_runs_nothing(here, capsys):
    assert moos("run", "tiny.yaml", "--dry-run") == 0
    done, _, time = capsys.readouterr().out.partition("; ")
    assert done == "tiny: 8 trials, 12 lines, 12 rows to compute (0 lines are in the store)"
    assert time == "about 0 s with 1 workers (a guess by size)\n"
    assert not (here / "results").exists()
    moos("run", "tiny.yaml", "--quiet")
    capsys.readouterr()
    moos("run", "tiny.yaml", "--dry-run", "--set", "split.repetitions=4")
    text = capsys.readouterr().out
    assert "12 lines are in the store" in text and re.search(r"about \d+ s with 1 workers", text)
    moos("run", "tiny.yaml", "--dry-run", "--json")
    assert json.loads(capsys.readouterr().out)["reused"] == 12


def test_mistakes_are_lines_and_exit_code_2(here, capsys):
    (here / "tiny.yaml").write_text(CONFIG.replace("rbf", "rbff").replace("suplap, n", "suplap, m"))
    assert moos("run", "tiny.yaml") == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("moos: tiny.yaml:5: arms.RBF.embedding.m_components: no such parameter of suplap")
    assert any("rbff: no such name among the extenders" in line for line in lines)
    assert not (here / "results").exists()


def test_all_configs_are_checked_before_any_is_run(here, capsys):
    (here / "bad.yaml").write_text("dataset: nothing\nclassifier: nn\n")
    assert moos("run", "tiny.yaml", "bad.yaml") == 2
    assert not (here / "results").exists()


def test_a_failing_trial_exits_1_and_the_rest_is_there(here, capsys):
    text = (
        CONFIG
        + "  big: {embedding: {name: ltsa, n_components: 6, n_neighbors: 3}, extender: rbf, classifier: nn}\n"
    )
    (here / "tiny.yaml").write_text(text)
    assert moos("run", "tiny.yaml", "--set", "split.train_per_class=[3]") == 1
    out, err = capsys.readouterr()
    assert "6 lines computed" in out and "2 lines failed" in err and "big on digits, size 3, repetition 0" in err
    assert len(list((here / "results/tiny/set_split.train_per_class=_3/failures").iterdir())) == 2


def test_json_for_programs(here, capsys):
    assert moos("run", "tiny.yaml", "--json") == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["lines_computed"] == 12 and report["failed"] == [] and err == ""
    assert all(Path(file).exists() for file in report["files"])


def test_kept_predictions_and_embeddings(here, capsys):
    assert moos("run", "tiny.yaml", "--keep-predictions", "--keep-embeddings", "one") == 0
    folder = here / "results" / "tiny"
    kept = pd.read_csv(folder / "predictions.csv")
    assert {"arm", "size", "repetition", "sample", "truth", "predicted"} <= set(kept.columns)
    confusion = pd.read_csv(folder / "confusion.csv")
    assert confusion["count"].sum() == len(kept) == 3 * 2 * (36 + 28)
    files = sorted((folder / "embeddings").iterdir())
    assert len(files) == 2
    with np.load(files[1], allow_pickle=False) as arrays:
        assert str(arrays["arm"]) == "SOSI" and arrays["step_coordinates"].shape == (2, 36, 3)


def test_fresh_says_where_the_old_results_are(here, capsys):
    moos("run", "tiny.yaml", "--quiet")
    capsys.readouterr()
    assert moos("run", "tiny.yaml", "--quiet", "--fresh") == 0
    out, err = capsys.readouterr()
    assert "archived what was there in results/archive/tiny-" in err and "12 lines computed" in out
    (archive,) = (here / "results" / "archive").iterdir()
    assert (archive / "table.csv").exists() and (archive / "store.sqlite").exists()


def test_missing_data_exit_2_unless_skipped(here, capsys):
    options = ["--set", "datasets=[{name: digits, classes: 4, per_class: 12}, pf01]", "--offline", "--quiet"]
    (here / "tiny.yaml").write_text(CONFIG.replace("dataset: {name: digits, classes: 4, per_class: 12}\n", ""))
    assert moos("run", "tiny.yaml", *options) == 2
    assert "pf01" in capsys.readouterr().err
    assert moos("run", "tiny.yaml", *options, "--skip-missing") == 0
    assert "pf01: data absent: " in capsys.readouterr().err


def test_the_quick_start_is_what_it_promises():
    from manifold_oos.config.load import load_config

    experiment = load_config("configs/quickstart.yaml")
    assert [data.name for data in experiment.datasets] == ["turntable", "digits"]
    extenders = {arm.extender.name for arm in experiment.arms.values() if arm.extender}
    assert extenders == {"rbf", "lle", "nystrom", "sparse", "sosi"}
    ambient = {arm.classifier.name for arm in experiment.arms.values() if arm.embedding is None}
    assert ambient == {"nn", "svm"}


def test_coil20_sosi_is_figure_7():
    from manifold_oos.config.load import load_config

    experiment = load_config("configs/coil20_sosi.yaml")
    (data,) = experiment.datasets
    assert data.options["size"] == [32, 32] and data.options["per_class"] == 71
    assert experiment.split_of(data).sizes == [7, 10, 15, 20, 30] and experiment.split.repetitions == 10
    assert {arm.embedding.name for arm in experiment.arms.values() if arm.embedding} == {"suplap", "fisher"}
    assert all(arm.embedding.parameters["n_components"] == 25 for arm in experiment.arms.values() if arm.embedding)
    assert {arm.classifier.name for arm in experiment.arms.values()} == {"nn", "svm", "gaussian_fields"}
    assert experiment.claims and not experiment.published


@pytest.mark.real_data
def test_sosi_beats_the_rbf_extender_on_coil20(here, data_dir, capsys):
    only = ["--set", "split.repetitions=1", "--set", "datasets.0.split.train_per_class=[7]", "--set", "claims=[]"]
    arms = "arms={RBF: {embedding: &e {name: suplap, n_components: 25}, extender: {name: rbf, sigma: regularity}, "
    arms += "classifier: nn}, SOSI: {embedding: *e, extender: sosi, classifier: nn}}"
    options = ["--set", arms, "--set", "outputs=[]", "--data-dir", str(data_dir), "--quiet"]
    assert moos("run", "configs/coil20_sosi.yaml", *only, *options) == 0
    (folder,) = (here / "results" / "coil20_sosi").glob("set_split.repetitions=1*")
    cells = pd.read_csv(folder / "table.csv").set_index("arm")["mean"]
    assert cells["SOSI"] < 8 and cells["SOSI"] < cells["RBF"] < 16
