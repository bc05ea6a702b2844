"""Pages of a real small run: what the viewer is given is what the run kept, and the command writes it."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from report_run import CLOSING, HOSTILE, HOSTILE_ARM, KNOWN, NEW, small_run
from rich.console import Console

from manifold_oos import datasets
from manifold_oos.cli import moos
from manifold_oos.config.load import load_config
from manifold_oos.engine.runner import run_experiment
from manifold_oos.errors import ConfigError
from manifold_oos.reporting.report import viewer as viewer_module
from manifold_oos.reporting.report import write_index, write_report
from manifold_oos.reporting.report.blocks import Blocks
from manifold_oos.reporting.report.index import experiments
from manifold_oos.reporting.report.page import write_page
from manifold_oos.reporting.report.viewer import make_viewer
from manifold_oos.reporting.write import print_results, write_tables
from manifold_oos.results import collect as collect_module
from manifold_oos.results.collect import Located

LIMIT = 15e6


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Located:
    return small_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOOS_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("MOOS_OFFLINE", "1")


def decode(blocks: Blocks, name: str) -> np.ndarray:
    block = blocks.found[name]
    codes = np.frombuffer(base64.b64decode(block["data"]), dtype="<u4" if block.get("wide") else "<u2")
    array = codes.reshape(block["shape"]).astype(float)
    if "low" in block:
        low, high = np.array(block["low"]), np.array(block["high"])
        array = low + array / 65534 * (high - low)
    return array


def views(place: Located, blocks: Blocks) -> list[dict[str, Any]]:
    made = make_viewer(place.collect(), blocks)
    assert made is not None
    return list(made["views"])


def test_the_viewer_has_the_kept_coordinates_labels_and_iterations(place: Located) -> None:
    blocks = Blocks(10**7)
    found = views(place, blocks)
    view = next(view for view in found if (view["dataset"], view["arm"]) == ("turntable", "SOSI"))
    (path,) = (place.folder / "embeddings").glob("turntable-SOSI-*.npz")
    with np.load(path) as kept:
        for name in ("known", "new"):
            spread = np.ptp(kept[name], axis=0)
            assert (np.abs(decode(blocks, view[name]) - kept[name]) <= 1e-4 * spread).all()
        for name in ("known_index", "new_labels", "predicted"):
            assert (decode(blocks, view[name]) == kept[name]).all()
        assert (decode(blocks, view["steps"]["taken"]) == kept["step_taken"]).all()
        assert view["steps"]["numbers"] == kept["step_numbers"].tolist() and view["steps"]["final"]
    assert decode(blocks, view["known"]).shape == (KNOWN, 5) and decode(blocks, view["new"]).shape == (NEW, 5)


def test_every_arm_with_coordinates_has_a_view_and_those_of_one_split_share_the_known_ones(place: Located) -> None:
    found = views(place, Blocks(10**7))
    here = [view for view in found if view["dataset"] == "turntable"]
    assert {view["arm"] for view in here} == {HOSTILE_ARM, "SOSI", "CP"}
    shared = {view["arm"]: view["known"] for view in here}
    assert shared["SOSI"] == shared[HOSTILE_ARM] != shared["CP"]
    chosen = {view["arm"]: view["chosen"] for view in here}
    assert chosen[HOSTILE_ARM].startswith("extender.sigma = median") and chosen["SOSI"] == ""


def test_long_ways_are_thinned_and_keep_their_ends(place: Located, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer_module, "STEPS", 3)
    view = next(view for view in views(place, Blocks(10**7)) if view["arm"] == "SOSI")
    assert view["steps"]["numbers"] == [1, 3, 5]


def test_what_does_not_fit_is_counted(place: Located) -> None:
    made = make_viewer(place.collect(), Blocks(30_000))
    assert made is not None and 0 < len(made["views"]) < 8
    assert any("kept embeddings are left out" in note for note in made["notes"])


def test_pictures_are_left_out_when_the_data_are_not_those_of_the_run(
    place: Located, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = datasets.load
    monkeypatch.setattr(datasets, "load", lambda name, **options: load("digits", per_class=20))
    made = make_viewer(place.collect(), Blocks(10**7))
    assert made is not None and "sprite" not in made["datasets"]["turntable"]
    assert any("not those of the run" in note for note in made["notes"])


def test_the_page_is_whole_and_light(place: Located, tmp_path: Path) -> None:
    path = write_report([place], tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert 4e6 < path.stat().st_size < LIMIT
    outside = re.findall(r"<(?:link|script|img|a)\b[^>]*?(?:src|href)=\"([^\"]*)", text.split("moos-data")[0])
    assert outside and all(address.startswith(("data:", "#")) for address in outside)
    ours = text.split('<script type="application/json"')[0]
    assert HOSTILE not in ours and CLOSING not in ours
    data = json.loads(text.split('id="moos-data">')[1].split("</script>")[0])
    assert set(data) == {"texts", "charts", "viewers", "blocks", "palette"}
    assert data["viewers"]["small"]["datasets"][f"own {HOSTILE}"]["classes"][0] == HOSTILE
    assert "broken" in ours and "LTSA of dimension 6 needs n_neighbors" in ours
    assert "numpy" in ours and "train_per_class" in ours


def test_cells_and_claims_are_made_once_for_all_views(place: Located, tmp_path: Path, monkeypatch) -> None:
    made = []
    for name in ("summarize_cells", "judge_claims", "final_rows"):
        real = getattr(collect_module, name)
        monkeypatch.setattr(collect_module, name, lambda *a, _n=name, _r=real, **k: made.append(_n) or _r(*a, **k))
    results = place.collect(None)
    write_tables(results, tmp_path / "views")
    with (tmp_path / "printed").open("w") as file:
        print_results(results, Console(file=file))
    write_page([(place, results)], tmp_path / "report.html")
    assert sorted(made) == ["final_rows", "judge_claims", "summarize_cells"]


def test_a_run_without_coordinates_says_how_to_keep_them(tmp_path: Path) -> None:
    bare = small_run(tmp_path, keep=False)
    text = write_report([bare], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "moos run YOUR_CONFIG.yaml --keep-embeddings" in text


def test_the_index_has_every_experiment_run_or_not(place: Located) -> None:
    broken = place.root / "half <i>" / "config.yaml"
    broken.parent.mkdir()
    broken.write_text("datasets: 5", encoding="utf-8")
    told: list[Path] = []
    written = write_index(place.root, done=told.append)
    assert told == written.pages, "each page is told as it is done"
    text = written.index.read_text(encoding="utf-8")
    assert written.pages == [place.folder / "report.html"] and written.pages[0].is_file()
    assert len(written.skipped) == 1 and "config.yaml" in written.skipped[0]
    assert 'href="small/report.html"' in text
    assert re.search(r'class="badge undecided" href="small/report.html"[^>]*sosi, Table 1: undecided', text)
    assert "moos run configs/quickstart.yaml" in text
    assert HOSTILE not in text and CLOSING not in text
    assert "data absent</span> <strong>Table 7</strong>" in text


def test_archives_are_no_experiments(place: Located) -> None:
    old = place.root / "archive" / "small-1"
    old.mkdir(parents=True)
    (old / "config.yaml").write_text((place.folder / "config.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert old not in experiments(place.root) and place.folder in experiments(place.root)


def test_index_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        write_index(tmp_path / "nowhere")


def test_the_command_writes_the_page(place: Located, tmp_path: Path) -> None:
    runner = CliRunner()
    out = tmp_path / "page.html"
    done = runner.invoke(moos, ["report", str(place.folder), "--out", str(out)])
    assert done.exit_code == 0 and out.is_file() and "MB" in done.output
    done = runner.invoke(moos, ["report", str(place.folder)])
    assert done.exit_code == 0 and (place.folder / "report.html").is_file()
    done = runner.invoke(moos, ["report", "--index", str(place.root)])
    assert done.exit_code == 0 and done.output.splitlines()[-1] == str(place.root / "index.html")


@pytest.mark.parametrize("arguments", [[], ["x", "--index", "."]])
def test_wrong_use_is_exit_code_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(moos, ["report", *arguments]).exit_code == 2


@pytest.mark.parametrize(
    "split", [{"fraction": 0.5, "repetitions": 1}, {"draws": {"train": 60, "test": 40}, "repetitions": 1}]
)
def test_sets_without_classes_are_coloured_by_their_true_coordinate(tmp_path: Path, split: dict[str, Any]) -> None:
    config = {
        "datasets": [{"name": "swiss_roll", "n_samples": 100, "split": split}],
        "arms": {"LLE": {"embedding": {"name": "isomap", "n_components": 2}, "extender": "lle"}},
        "metrics": ["parameter_r2"],
    }
    path = tmp_path / "roll.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    experiment = load_config(path)
    summary = run_experiment(experiment, out=tmp_path / "results", workers=1, keep_embeddings="one")
    blocks = Blocks(10**6)
    (view,) = views(Located(experiment, tmp_path / "results", summary.folder), blocks)
    data = datasets.find("swiss_roll")().load(n_samples=100)
    assert view["color"]["name"] == next(iter(data.parameters)) and "new_labels" not in view
    known = decode(blocks, view["color"]["known"])
    assert len(known) == len(decode(blocks, view["known"])) and np.ptp(known) > 0
    if "fraction" in split:
        truth = data.parameters[view["color"]["name"]][decode(blocks, view["known_index"]).astype(int)]
        assert np.allclose(known, truth, atol=1e-4 * np.ptp(truth))
