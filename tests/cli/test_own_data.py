"""``moos new`` and ``moos embed`` on images and tables that a person might bring."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from manifold_oos.cli import main
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Data
from manifold_oos.datasets import available
from manifold_oos.engine.embed import confidence


def moos(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


def bar(rng: np.random.Generator, horizontal: bool, width: int = 24, height: int = 18) -> np.ndarray:
    """A bright bar somewhere on noise, lying or standing."""
    pixels = rng.integers(0, 60, size=(height, width)).astype(np.uint8)
    at = rng.integers(4, 12)
    if horizontal:
        pixels[at : at + 3] = 255
    else:
        pixels[:, at : at + 3] = 255
    return pixels


@pytest.fixture
def images(tmp_path, monkeypatch) -> Path:
    """12 known images in two folders, 6 new ones in another, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    for kind in ("lying", "standing"):
        Path("known", kind).mkdir(parents=True)
        for i in range(8):
            Image.fromarray(bar(rng, kind == "lying")).save(Path("known", kind, f"{i}.png"))
    Path("fresh").mkdir()
    for i in range(6):
        Image.fromarray(bar(rng, i % 2 == 0)).save(Path("fresh", f"new{i}.png"))
    return tmp_path


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 12)
    X = rng.normal(size=(36, 4)) + 6 * np.eye(4)[np.repeat([0, 1, 2], 12)]
    frame = pd.DataFrame(X, columns=["p", "q", "r", "s"]).assign(species=y)
    frame.to_csv("known.csv", index=False)
    frame.groupby("species").head(2).drop(columns="species").to_csv("fresh.csv", index=False)
    return tmp_path


def test_new_writes_a_config_that_runs(images, capsys):
    assert moos("new", "--data", "folder:known", "--out", "my.yaml") == 0
    assert "16 images of 2 classes. Next: moos run my.yaml" in capsys.readouterr().out
    text = Path("my.yaml").read_text()
    assert text.count("#") >= 5 and "smallest class has 8" in text
    experiment = load_config("my.yaml")
    assert experiment.datasets[0].options["size"] == [24, 18]
    extenders = {arm.extender.name for arm in experiment.arms.values() if arm.extender}
    assert {"rbf", "lle", "nystrom", "sparse", "sosi"} <= extenders
    assert moos("run", "my.yaml", "--set", "split.repetitions=2", "--workers", "1", "--quiet") == 0
    cells = pd.read_csv("results/my/set_split.repetitions=2/table.csv")
    assert set(cells["arm"]) == set(experiment.arms) and (cells["splits"] == 2).all()


def test_large_images_are_made_small(images):
    Path("big", "x").mkdir(parents=True)
    Path("big", "y").mkdir()
    for kind in ("x", "y"):
        for i in range(4):
            Image.new("RGB", (400, 200), (40 * i, 0, 0 if kind == "x" else 200)).save(Path("big", kind, f"{i}.png"))
    assert moos("new", "--data", "folder:big", "--out", "big.yaml") == 0
    assert load_config("big.yaml").datasets[0].options["size"] == [32, 16]


def test_new_never_overwrites(images, capsys):
    Path("my.yaml").write_text("precious")
    assert moos("new", "--data", "folder:known", "--out", "my.yaml") == 2
    assert "already exists and is not overwritten" in capsys.readouterr().err
    assert Path("my.yaml").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "known"], "write folder:PATH"),
        (["--data", "zip:known"], "write folder:PATH"),
        (["--data", "folder:nowhere"], "no such folder"),
        (["--data", "folder:known", "--label", "x"], "--label goes with table"),
        (["--data", "table:nowhere.csv"], "no such file"),
    ],
)
def test_new_with_wrong_data_writes_nothing(images, capsys, arguments, message):
    assert moos("new", *arguments, "--out", "my.yaml") == 2
    assert message in capsys.readouterr().err and not Path("my.yaml").exists()


def test_new_for_a_table_with_labels(table, capsys):
    assert moos("new", "--data", "table:known.csv", "--label", "species", "--out", "t.yaml") == 0
    assert "36 rows of 3 classes" in capsys.readouterr().out
    options = ("--set", "split.repetitions=2", "--workers", "1", "--quiet")
    assert moos("run", "t.yaml", *options) == 0


def test_new_for_a_table_without_labels(table, capsys):
    assert moos("new", "--data", "table:fresh.csv", "--out", "t.yaml") == 0
    assert "without labels" in capsys.readouterr().out
    assert load_config("t.yaml").metrics == ["embedding_error"]
    pd.read_csv("known.csv").drop(columns="species").to_csv("plain.csv", index=False)
    assert moos("new", "--data", "table:plain.csv", "--out", "p.yaml") == 0
    assert moos("run", "p.yaml", "--set", "split.repetitions=2", "--workers", "1", "--quiet") == 0


def test_embed_gives_every_new_image_coordinates_label_and_confidence(images, capsys):
    assert moos("new", "--data", "folder:known") == 0
    assert moos("embed", "my.yaml", "--new", "fresh", "--out", "coords.csv") == 0
    assert "coords.csv: 6 new points by RBF (--arm for LLE" in capsys.readouterr().out
    table = pd.read_csv("coords.csv")
    assert list(table["name"]) == [f"new{i}.png" for i in range(6)]
    assert list(table["label"]) == ["lying", "standing"] * 3
    assert table["confidence"].between(0.5, 1).all()
    assert [name for name in table if name.startswith("y")] == ["y1", "y2"]
    assert np.isfinite(table[["y1", "y2"]]).all().all()


def test_embed_with_another_arm_and_as_json(images, capsys):
    moos("new", "--data", "folder:known")
    capsys.readouterr()
    assert moos("embed", "my.yaml", "--new", "fresh", "--arm", "SOSI", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["arm"] == "SOSI" and len(answer["points"]) == 6
    assert [point["label"] for point in answer["points"]] == ["lying", "standing"] * 3


def test_embed_of_known_points_finds_them(table):
    moos("new", "--data", "table:known.csv", "--label", "species", "--out", "t.yaml")
    assert moos("embed", "t.yaml", "--new", "fresh.csv", "--out", "c.csv") == 0
    coordinates = pd.read_csv("c.csv")
    assert list(coordinates["label"]) == ["a", "a", "b", "b", "c", "c"]
    assert coordinates["confidence"].min() > 0.9  # the rows are among the known ones, and RBF interpolates


def test_embed_decides_grids_on_the_known_points(table, capsys):
    config = """
dataset: {name: table, path: known.csv, label_column: species, normalize: standard}
embedding: {name: suplap, n_components: {grid: [1, 2]}}
extender: rbf
"""
    Path("g.yaml").write_text(config)
    assert moos("embed", "g.yaml", "--new", "fresh.csv", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["chosen"] == {"embedding.n_components": 2}  # one dimension cannot separate three classes


def test_embed_for_a_data_set_of_the_project_takes_a_folder_of_images(images, capsys):
    Path("d.yaml").write_text("dataset: {name: digits, per_class: 10}\nembedding: suplap\nextender: rbf\n")
    assert moos("embed", "d.yaml", "--new", "fresh", "--out", "c.csv") == 0
    assert len(pd.read_csv("c.csv")) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--new", "nowhere", "--out", "c.csv"], "no such folder or file"),
        (["--new", "fresh"], "give --out FILE"),
        (["--new", "fresh", "--out", "c.csv", "--arm", "NN"], "not an arm with an embedding"),
        (["--new", "fresh", "--out", "c.csv", "--dataset", "z"], "not in my.yaml; there are folder"),
    ],
)
def test_embed_with_wrong_input_is_one_line(images, capsys, arguments, message):
    moos("new", "--data", "folder:known")
    assert moos("embed", "my.yaml", *arguments) == 2
    err = capsys.readouterr().err.strip()
    assert message in err and err.count("\n") == 0 and not Path("c.csv").exists()


def test_embed_refuses_points_of_another_width(table, capsys):
    moos("new", "--data", "table:known.csv", "--label", "species", "--out", "t.yaml")
    pd.read_csv("fresh.csv").drop(columns="s").to_csv("narrow.csv", index=False)
    assert moos("embed", "t.yaml", "--new", "narrow.csv", "--out", "c.csv") == 2
    assert "3 features where table has 4" in capsys.readouterr().err


def test_confidence_by_hand():
    known, y = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]]), np.array([0, 1, 1])
    new = np.array([[2.0, 0.0], [5.0, 0.0], [10.0, 0.0], [9.0, 0.0]])
    np.testing.assert_allclose(confidence(known, y, new, np.array([0, 0, 1, 0])), [0.8, 0.5, 1.0, 0.1])
    assert (confidence(known, np.zeros(3, dtype=int), new, np.zeros(4, dtype=int)) == 1).all()


def test_no_option_of_a_data_set_has_the_name_of_a_key_that_configs_use_otherwise():
    taken = set(Data.model_fields)
    for name, loader in available().items():
        assert not taken & set(loader.defaults()), name
