"""``moos table``, ``moos plot`` and ``moos check`` on a tiny experiment that was really run."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from manifold_oos.cli import main

CONFIG = """
title: Tiny & complete
datasets:
  - {name: digits, classes: 4, per_class: 12, stand_in: MNIST, split: {train_per_class: [3, 6]}}
split: {repetitions: 3, seed: 0}
selection: [train_only, best]
arms:
  NN: {classifier: nn}
  RBF:
    embedding: {name: suplap, n_components: 3}
    extender: {name: rbf, sigma: {grid: [{median: 0.5}, {median: 1}, {median: 2}]}}
    classifier: nn
metrics: [misclassification_rate]
outputs:
  - {table: 2, title: Errors}
  - {figure: 7, kind: curve, x: size}
  - {figure: 9, kind: curve, x: sigma}
  - {figure: map, kind: embedding, arms: [RBF]}
  - {figure: rank, kind: ranks}
published: {misclassification_rate: {digits: {NN: {3: 99.0}}}}
claims:
  - {source: "§1", left: NN, op: "<", right: 90}
"""


def moos(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Path:
    """A folder in which the tiny experiment was run."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "configs").mkdir()
    (folder / "configs" / "tiny.yaml").write_text(CONFIG)
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert moos("run", "configs/tiny.yaml", "--workers", "1", "--quiet") == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(workspace, monkeypatch) -> Path:
    monkeypatch.chdir(workspace)
    return workspace


FILES = ["table.csv", "splits.csv", "timing.csv", "table.md", "table.tex", "claims.csv"]
FIGURES = ["figure_7", "figure_9", "map", "rank"]


def test_a_run_writes_every_table_and_figure(here):
    folder = here / "results" / "tiny"
    for name in [*FILES, *(f"{stem}{suffix}" for stem in FIGURES for suffix in (".png", ".pdf"))]:
        assert (folder / name).stat().st_size > 0, name
    with Image.open(folder / "map.png") as image:
        assert min(image.size) > 300


def test_table_csv_is_long_form_without_times_and_timing_csv_has_them(here):
    cells = pd.read_csv(here / "results/tiny/table.csv")
    assert set(cells["metric"]) == {"misclassification_rate"}
    assert list(cells["protocol"].unique()) == ["train_only", "best"]
    assert set(cells["splits"]) == {3}
    times = pd.read_csv(here / "results/tiny/timing.csv")
    assert {"fit_seconds", "milliseconds_per_sample"} <= set(times["metric"])


def test_table_is_rebuilt_from_the_store_byte_by_byte(here, capsys):
    folder = here / "results" / "tiny"
    before = {name: (folder / name).read_bytes() for name in FILES}
    for name in FILES:
        (folder / name).unlink()
    assert moos("table", "configs/tiny.yaml") == 0
    assert {name: (folder / name).read_bytes() for name in FILES} == before
    printed = capsys.readouterr().out
    assert "Table 2: Errors" in printed and "99.00 too noisy" in printed
    assert "stand-in for MNIST" in printed and "(train_only)" in printed and "mean of 3 splits" in printed
    assert "holds  §1" in printed


def test_table_takes_the_results_folder_and_prints_other_formats(here, capsys):
    assert moos("table", "results/tiny", "--format", "tex") == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    assert moos("table", "results/tiny", "--format", "md") == 0
    assert capsys.readouterr().out.startswith("# Tiny &amp; complete")
    assert moos("table", "results/tiny", "--format", "csv") == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert rows[0]["arm"] == "NN"


def test_table_as_json(here, capsys):
    assert moos("table", "results/tiny", "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["experiment"] == "tiny" and len(entry["cells"]) > 4
    assert entry["claims"][0]["verdict"] == "holds"


def test_plot_draws_again_with_the_same_bytes(here, capsys):
    folder = here / "results" / "tiny"
    before = {stem: (folder / f"{stem}.png").read_bytes() for stem in FIGURES}
    assert moos("plot", "configs/tiny.yaml", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 2 * len(FIGURES)
    assert {stem: (folder / f"{stem}.png").read_bytes() for stem in FIGURES} == before


def test_plot_one_figure_by_number_and_an_unknown_one(here, capsys):
    assert moos("plot", "results/tiny", "--figure", "7") == 0
    assert capsys.readouterr().out.split() == ["results/tiny/figure_7.png", "results/tiny/figure_7.pdf"]
    assert moos("plot", "results/tiny", "--figure", "99") == 2
    assert "no such figure; there are: 7, 9, map, rank" in capsys.readouterr().err


def test_embedding_from_kept_coordinates_is_the_same_picture(here, tmp_path, monkeypatch):
    import manifold_oos.reporting.figures.pictures as pictures

    config = tmp_path / "kept.yaml"
    text = CONFIG.replace("{grid: [{median: 0.5}, {median: 1}, {median: 2}]}", "{median: 1}")
    config.write_text(text.replace("train_per_class: [3, 6]", "train_per_class: 6"))
    options = (str(config), "--workers", "1", "--quiet", "--out", str(tmp_path / "out"))
    assert moos("run", *options) == 0
    with Image.open(tmp_path / "out/kept/map.png") as image:
        computed = np.asarray(image.convert("RGB"), dtype=float)
    monkeypatch.setattr(pictures, "run_place", None)  # nothing may be computed anew
    assert moos("run", *options, "--keep-embeddings") == 0
    with Image.open(tmp_path / "out/kept/map.png") as image:
        kept = np.asarray(image.convert("RGB"), dtype=float)
    assert computed.shape == kept.shape and np.abs(computed - kept).mean() < 0.1
    assert computed.std() > 10


def test_views_without_results_say_what_to_run(here, tmp_path, capsys):
    assert moos("table", "configs/tiny.yaml", "--out", str(tmp_path)) == 2
    assert "moos run configs/tiny.yaml first" in capsys.readouterr().err
    assert moos("table", str(tmp_path)) == 2
    assert "not a folder of results" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def reference_of(here: Path) -> Path:
    """results/reference/tiny.csv, made from two of the splits."""
    assert moos("check", "configs/tiny.yaml", "--update", "first", "--repetitions", "2", "--workers", "1") == 0
    return here / "results" / "reference" / "tiny.csv"


def test_check_passes_on_what_was_just_computed(here, capsys):
    path = reference_of(here)
    first = path.read_bytes()
    assert reference_of(here).read_bytes() == first
    assert moos("check", "configs/tiny.yaml", "--update", "as | it was", "--workers", "1") == 0
    assert path.read_bytes() == first  # without narrowing it covers what it covered
    log = (path.parent / "CHANGES.md").read_text(encoding="utf-8")
    assert log.endswith("- `tiny`, 12 numbers: first\n- `tiny`, 12 numbers: as | it was\n")
    assert moos("check", "--workers", "1") == 0
    printed = capsys.readouterr().out
    assert "tiny: same: 12 numbers compared" in printed
    assert "published numbers, on 2 splits: 2 too noisy" in printed and "§1" in printed
    assert moos("check", "configs/tiny.yaml", "--workers", "1", "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)["configs"]
    assert (
        entry["compared"] == 12 and entry["differences"] == [] and entry["published"][0]["verdict"] == "too noisy"
    )


def test_a_changed_number_exits_with_three(here, tmp_path, capsys):
    table = pd.read_csv(reference_of(here))
    table.loc[0, "value"] += 30
    changed = tmp_path / "changed.csv"
    table.to_csv(changed, index=False)
    assert moos("check", "results/tiny", "--against", str(changed), "--workers", "1") == 3
    printed = capsys.readouterr().out
    assert "NN on digits 3 (fixed), split 0" in printed and "instead of" in printed


def test_a_results_folder_is_checked_against_its_own_splits(here, capsys, monkeypatch, tmp_path):
    import manifold_oos.regression as check

    monkeypatch.setattr(check, "find_references", dict)
    assert moos("check", "results/tiny", "--workers", "1") == 0
    assert "18 numbers compared with results/tiny/splits.csv" in capsys.readouterr().out


def test_check_refuses_what_it_cannot_compare(here, tmp_path, monkeypatch, capsys):
    import manifold_oos.regression as check

    monkeypatch.setattr(check, "find_references", dict)
    assert moos("check") == 2
    assert "nothing to check" in capsys.readouterr().err
    assert moos("check", "configs/tiny.yaml") == 2
    assert "no reference for tiny" in capsys.readouterr().err
    assert moos("check", "--against", "x.csv") == 2
    assert "goes with one config" in capsys.readouterr().err
    assert moos("check", "--update", " ") == 2 and moos("check", "configs/tiny.yaml", "--repetitions", "2") == 2
    assert "needs a reason" in capsys.readouterr().err


def test_other_values_have_their_own_folder_and_fewer_rows_replace_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(CONFIG.split("outputs:")[0] + "outputs: [{table: 2}]\n")
    run = ("run", "tiny.yaml", "--workers", "1", "--quiet")
    assert moos(*run) == 0
    before = {path: path.read_bytes() for path in Path("results/tiny").glob("table*")}
    assert moos(*run, "--set", "split.repetitions=1") == 0
    assert Path("results/tiny/set_split.repetitions=1/table.csv").is_file()
    assert moos("table", "tiny.yaml", "--set", "split.repetitions=1") == 0
    Path("tiny.yaml").write_text(Path("tiny.yaml").read_text().replace("repetitions: 3", "repetitions: 2"))
    capsys.readouterr()
    for command in (run, ("table", "tiny.yaml")):
        assert moos(*command) == 0
        said = capsys.readouterr().err
        assert "results/tiny: kept, its tables rest on" in said and "--force replaces them" in said
    assert {path: path.read_bytes() for path in before} == before
    assert moos("table", "tiny.yaml", "--force") == 0
    assert {path: path.read_bytes() for path in before} != before


@pytest.mark.parametrize("kept", [("splits.csv", "claims.csv"), ("table.csv", "claims.csv")])
def test_a_fresh_clone_shows_the_committed_tables(here, tmp_path, monkeypatch, capsys, kept):
    folder = tmp_path / "configs" / "tiny.yaml", tmp_path / "results" / "tiny"
    for path in folder:
        path.parent.mkdir()
    folder[0].write_text(CONFIG)
    folder[1].mkdir()
    for name in kept:
        (folder[1] / name).write_bytes((here / "results/tiny" / name).read_bytes())
    assert moos("table", "configs/tiny.yaml", "--format", "md") == 0
    whole = capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert moos("table", "configs/tiny.yaml", "--format", "md") == 0
    out, err = capsys.readouterr()
    assert f"committed tables (results/tiny/{kept[0]})" in err
    assert [line for line in out.splitlines() if line.startswith("|")] == [
        line for line in whole.splitlines() if line.startswith("|")
    ]
    assert {path.name for path in folder[1].iterdir()} == set(kept), "nothing is written"
    assert moos("report", "configs/tiny.yaml", "--out", "page.html") == 0
    assert "committed tables" in Path("page.html").read_text(encoding="utf-8")


def test_missing_data_is_exit_two_and_nothing_compared_is_never_a_pass(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOOS_DATA", str(tmp_path))
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MOOS_OFFLINE", "1")
    Path("absent.yaml").write_text("dataset: {name: pf01, split: {train_per_class: 3}}\nclassifier: nn\n")
    header = "metric,dataset,size,arm,selection,repetition,n_components,n_train,n_test,value,chosen\n"
    Path("ref.csv").write_text(header + "misclassification_rate,pf01,3,nn,fixed,0,,30,100,10.0,{}\n")
    assert moos("check", "absent.yaml", "--against", "ref.csv", "--workers", "1") == 2
    assert "pf01" in capsys.readouterr().err
    assert moos("check", "absent.yaml", "--against", "ref.csv", "--workers", "1", "--skip-missing") == 2
    captured = capsys.readouterr()
    assert "pf01 skipped, data absent" in captured.out and "nothing was compared" in captured.err


def test_missing_data_beside_present_data_may_be_skipped(here, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MOOS_DATA", str(tmp_path))
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MOOS_OFFLINE", "1")
    config = tmp_path / "two.yaml"
    text = CONFIG.replace("datasets:", "datasets:\n  - {name: pf01, split: {train_per_class: 3}}")
    config.write_text(text)
    table = pd.read_csv(reference_of(here))
    both = pd.concat([table, table.assign(dataset="pf01")])
    both.to_csv(tmp_path / "both.csv", index=False)
    arguments = ("check", str(config), "--against", str(tmp_path / "both.csv"), "--workers", "1")
    assert moos(*arguments) == 2
    capsys.readouterr()
    assert moos(*arguments, "--skip-missing") == 0
    printed = capsys.readouterr().out
    assert "pf01 skipped" in printed and "12 numbers compared" in printed
