"""``moos new`` and ``moos embed`` on images and tables that a person might bring."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from manifold_oos.cli import main, own_data
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Data
from manifold_oos.datasets import available
from manifold_oos.engine import embed
from manifold_oos.engine.embed import embed_new
from manifold_oos.probabilities import Sharpness, class_distances, class_probabilities


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
    assert extenders == {"normalized_rbf", "rbf", "lle", "sparse", "sosi"}
    assert next(iter(experiment.arms)) == "normalized"
    assert moos("run", "my.yaml", "--set", "split.repetitions=2", "--workers", "1", "--quiet") == 0
    cells = pd.read_csv("results/my/set_split.repetitions=2/table.csv")
    assert set(cells["arm"]) == set(experiment.arms) and (cells["splits"] == 2).all()


def test_the_report_opens_with_verdict_and_picture_and_takes_a_results_root(images, capsys):
    assert moos("new", "--data", "folder:known", "--out", "my.yaml") == 0
    assert moos("run", "my.yaml", "--workers", "1", "--quiet", "--keep-embeddings", "one") == 0
    assert moos("report", "results") == 0
    assert "results/my/report.html" in capsys.readouterr().out
    page = Path("results/my/report.html").read_text(encoding="utf-8")
    places = [page.index(text) for text in ("Verdict: folder, 4 per class", "novel ones marked", "<h3>Tables</h3>")]
    assert places == sorted(places) and "data-viewer" in page
    assert page.count('alt="Known and new points') == 1
    Path("other.yaml").write_text(Path("my.yaml").read_text().replace("seed: 0", "seed: 1"))
    assert moos("run", "other.yaml", "--set", "split.repetitions=1", "--out", "results", "--workers", "1") == 0
    Path("results/my").rename("results/your")
    assert moos("run", "my.yaml", "--workers", "1", "--quiet") == 0
    capsys.readouterr()
    assert moos("report", "results") == 0
    assert capsys.readouterr().out.split() == [
        "results/my/report.html", "results/your/report.html", "results/index.html",
    ]  # fmt: skip
    assert moos("table", "results") == 0
    assert capsys.readouterr().out.count("misclassification rate (%) on folder") == 2


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
    assert load_config("t.yaml").metrics[:2] == ["trustworthiness", "continuity"]
    pd.read_csv("known.csv").drop(columns="species").to_csv("plain.csv", index=False)
    assert moos("new", "--data", "table:plain.csv", "--out", "p.yaml") == 0
    assert moos("run", "p.yaml", "--set", "split.repetitions=2", "--workers", "1", "--quiet") == 0
    out = capsys.readouterr().out
    assert "Verdict for table, 80 % known, 2 splits:" in out and "trustworthiness 0." in out.split("Verdict")[1]


def test_new_lists_all_faults_at_once(table, capsys):
    Path("my.yaml").write_text("precious")
    frame = pd.read_csv("known.csv").astype({"p": object, "q": object})
    frame.loc[3, "p"], frame.loc[5, "q"] = "", "many"
    frame.to_csv("bad.csv", index=False)
    assert moos("new", "--data", "table:bad.csv", "--label", "species") == 2
    err = capsys.readouterr().err.strip()
    assert "my.yaml: already exists" in err and "line 5, column 0 (p)" in err and "line 7, column 1 (q)" in err
    assert "(here: --label, --ignore, --impute)" in err and err.count("\n") == 0
    assert moos("new", "--data", "folder:x", "--ignore", "a", "--impute", "mean", "--out", "o.yaml") == 2
    err = capsys.readouterr().err
    assert "--ignore, --impute goes with table:FILE" in err and "no such folder" in err
    assert moos("new", "--data", "table:known.csv", "--skip-bad", "--out", "o.yaml") == 2
    assert "--skip-bad goes with folder:PATH" in capsys.readouterr().err


def test_new_ignores_and_imputes(table, capsys):
    frame = pd.read_csv("known.csv").assign(day=[f"2020-01-{i % 28 + 1:02d}" for i in range(36)])
    frame.loc[3, "p"] = np.nan
    frame.to_csv("holes.csv", index=False)
    assert moos("new", "--data", "table:holes.csv", "--ignore", "day", "--impute", "median", "--out", "h.yaml") == 0
    out = capsys.readouterr().out
    assert "labels are column 'species'; 1 missing cells are the median of their column" in out
    options = load_config("h.yaml").datasets[0].options
    assert options["ignore"] == ["day"] and options["impute"] == "median"
    assert moos("run", "h.yaml", "--set", "split.repetitions=1", "--workers", "1", "--quiet") == 0


def test_a_label_of_measurements_is_asked_about(table, capsys, monkeypatch):
    frame = pd.read_csv("known.csv").drop(columns="species")
    frame.assign(target=np.random.default_rng(0).normal(size=36)).to_csv("price.csv", index=False)
    assert moos("new", "--data", "table:price.csv", "--out", "p.yaml") == 2
    assert "36 different numbers are no classes" in capsys.readouterr().err and not Path("p.yaml").exists()
    asked = []
    monkeypatch.setattr(own_data, "_agrees", lambda question: asked.append(question) or True)
    assert moos("new", "--data", "table:price.csv", "--out", "p.yaml") == 0
    assert "go on without labels?" in asked[0] and "36 rows without labels" in capsys.readouterr().out
    assert load_config("p.yaml").datasets[0].options["ignore"] == [4]


def test_bad_images_are_left_out_if_asked(images, capsys):
    Path("known", "lying", "bad.png").write_bytes(b"no picture")
    assert moos("new", "--data", "folder:known", "--out", "b.yaml") == 2
    assert "bad.png" in capsys.readouterr().err
    assert moos("new", "--data", "folder:known", "--skip-bad", "--out", "b.yaml") == 0
    assert load_config("b.yaml").datasets[0].options["skip_bad"] is True


def test_many_rows_without_labels_need_no_embedding_of_all(table, capsys):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc")).to_csv("bare.csv", index=False)
    assert moos("new", "--data", "table:bare.csv", "--out", "b.yaml") == 0
    experiment = load_config("b.yaml")
    assert experiment.split.n_train == [500, 1000] and "embedding_error" not in experiment.metrics


def test_embed_gives_every_new_image_coordinates_label_and_confidence(images, capsys):
    assert moos("new", "--data", "folder:known") == 0
    assert moos("embed", "my.yaml", "--new", "fresh", "--out", "coords.csv") == 0
    out = capsys.readouterr().out
    assert "coords.csv: 6 new points by normalized (--arm for RBF" in out
    table = pd.read_csv("coords.csv")
    assert list(table["name"]) == [f"new{i}.png" for i in range(6)]
    assert list(table["label"]) == ["lying", "standing"] * 3
    assert table["confidence"].between(0.5, 1).all()
    novel = int((table["novelty"] > 99).sum())
    assert (f"{novel} of 6 novel" if novel else "none of them is novel") in out
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
    assert coordinates["confidence"].min() > 0.9  # the rows are among the known ones, which keep their place
    assert (coordinates["novelty"] == 0).all()


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
    assert "narrow.csv" in (err := capsys.readouterr().err) and "no column s" in err


def test_probabilities_by_hand():
    known, y = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 0.0]]), np.array([0, 1, 1])
    new = np.array([[2.0, 0.0], [5.0, 0.0], [10.0, 0.0], [9.0, 0.0]])
    distances = class_distances(known, y, new)
    np.testing.assert_array_equal(distances, [[2, 8], [5, 5], [10, 0], [9, 1]])
    np.testing.assert_allclose(class_probabilities(distances, Sharpness())[:, 0], [0.8, 0.5, 0.0, 0.1])
    np.testing.assert_allclose(class_probabilities(distances, Sharpness(2.0, 0.1))[0, 0], 0.9 * 64 / 68 + 0.05)


def test_confidence_is_the_probability_of_the_model(table):
    moos("new", "--data", "table:known.csv", "--label", "species", "--out", "t.yaml")
    experiment = load_config("t.yaml")
    pd.DataFrame(np.random.default_rng(3).normal(size=(20, 4)) + 2, columns=list("pqrs")).to_csv(
        "far.csv", index=False
    )
    result = embed_new(experiment, experiment.datasets[0], "normalized", Path("far.csv"))
    known = pd.read_csv("known.csv")[list("pqrs")].to_numpy()
    points = (pd.read_csv("far.csv").to_numpy() - known.mean(axis=0)) / known.std(axis=0)
    np.testing.assert_allclose(result.table["confidence"], result.model.predict_proba(points).max(axis=1))
    np.testing.assert_allclose(result.table["novelty"], result.model.novelty(points))
    assert result.table["confidence"].nunique() > 5


def test_embed_with_a_transductive_classifier(table):
    config = """
dataset: {name: table, path: known.csv, label_column: species, normalize: standard}
embedding: {name: suplap, n_components: 2}
extender: lle
classifier: gaussian_fields
"""
    Path("g.yaml").write_text(config)
    assert moos("embed", "g.yaml", "--new", "fresh.csv", "--out", "c.csv") == 0
    assert list(pd.read_csv("c.csv")["label"]) == ["a", "a", "b", "b", "c", "c"]


def test_columns_are_matched_by_name(table, capsys):
    moos("new", "--data", "table:known.csv", "--label", "species", "--out", "t.yaml")
    fresh = pd.read_csv("fresh.csv")
    fresh[fresh.columns[::-1]].to_csv("reversed.csv", index=False)
    for name in ("fresh", "reversed"):
        assert moos("embed", "t.yaml", "--new", f"{name}.csv", "--out", f"{name}_c.csv") == 0
    pd.testing.assert_frame_equal(pd.read_csv("fresh_c.csv"), pd.read_csv("reversed_c.csv"))
    fresh.rename(columns={"p": "other"}).to_csv("wrong.csv", index=False)
    assert moos("embed", "t.yaml", "--new", "wrong.csv", "--out", "c.csv") == 2
    assert "p" in capsys.readouterr().err


def test_of_very_many_known_points_some_are_taken(table, capsys, monkeypatch):
    monkeypatch.setattr(embed, "MOST_KNOWN", 18)
    moos("new", "--data", "table:known.csv", "--label", "species", "--out", "t.yaml")
    assert moos("embed", "t.yaml", "--new", "fresh.csv", "--out", "c.csv") == 0
    assert "18 of 36 (in proportion to the classes) known" in capsys.readouterr().out
    assert list(pd.read_csv("c.csv")["label"]) == ["a", "a", "b", "b", "c", "c"]
    counts = np.bincount(np.repeat([0, 1], [60, 30])[embed.thinned(90, np.repeat([0, 1], [60, 30]), 0)])
    assert counts.tolist() == [12, 6]


def write_classes(counts, features=4):
    """A table with so many rows of each class."""
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), features)) + 4 * rng.normal(size=(len(counts), features))[y]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(features)])
    frame.assign(label=[f"c{i}" for i in y]).to_csv("many.csv", index=False)


def new_config(capsys, *arguments):
    assert moos("new", "--data", "table:many.csv", "--label", "label", "--out", "many.yaml", *arguments) == 0
    return load_config("many.yaml"), Path("many.yaml").read_text(), capsys.readouterr().out


def test_as_many_dimensions_as_classes_less_one(table, capsys):
    write_classes([6] * 50)
    experiment, _, _ = new_config(capsys)
    assert experiment.arms["normalized"].embedding.parameters["n_components"] == 49
    assert all(arm.extender.name != "nystrom" for arm in experiment.arms.values() if arm.extender)
    assert "grid" in str(experiment.arms["RBF"].extender.parameters["sigma"])


def test_many_rows_get_a_cap_and_a_cost(table, capsys):
    write_classes([9000, 9000], features=3)
    experiment, text, _ = new_config(capsys)
    assert experiment.split.train_per_class == [250, 500] and experiment.split.n_test == 1000
    assert "At most 1000 are known and 1000 new" in text and re.search(r"About \d+ minutes? on one core", text)


def test_a_slow_arm_is_left_as_a_comment(table, capsys):
    write_classes([60] * 40)
    experiment, text, _ = new_config(capsys)
    assert "SOSI" not in experiment.arms and "  # SOSI: {embedding: *known" in text
    assert "Left out, some" in text


def test_classes_of_one_or_two_samples_are_left_out(table, capsys):
    write_classes([8, 1, 8, 2])
    experiment, _, out = new_config(capsys)
    assert "left out: 2 classes with fewer than 3 samples (c1, c3)" in out
    assert experiment.datasets[0].options["classes"] == ["c0", "c2"]
    assert moos("run", "many.yaml", "--set", "split.repetitions=1", "--workers", "1", "--quiet") == 0


def test_too_few_samples_altogether_are_refused(table, capsys):
    write_classes([8, 1, 2])
    assert moos("new", "--data", "table:many.csv", "--label", "label", "--out", "many.yaml") == 2
    assert "2 of 3 classes have fewer than 3 samples (c1, c2)" in capsys.readouterr().err
    assert not Path("many.yaml").exists()


def test_embed_without_a_place_for_the_answer_reads_nothing(table, capsys):
    for arguments in ([], ["--new", "fresh.csv"], ["--save", "m", "--out", "c.csv"]):
        assert moos("embed", "no_such_config.yaml", *arguments) == 2
        assert "give --" in capsys.readouterr().err


def test_no_option_of_a_data_set_has_the_name_of_a_key_that_configs_use_otherwise():
    taken = set(Data.model_fields)
    for name, loader in available().items():
        assert not taken & set(loader.defaults()), name


def test_a_bad_image_is_named_with_the_option_that_leaves_it_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    for i in range(12):
        Path("p", "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4), 20 * i, dtype=np.uint8)).save(Path("p", "ab"[i % 2], f"{i}.png"))
    Path("p/a/bad.png").write_bytes(b"no picture")
    assert moos("new", "--data", "folder:p") == 2
    err = capsys.readouterr().err
    assert "p/a/bad.png: not an image" in err.replace("p: a/", "p/a/") and err.rstrip().endswith(
        "(here: --skip-bad)"
    )
    assert moos("new", "--data", "folder:p", "--skip-bad") == 0


def test_the_picture_has_two_dimensions_of_its_own(table, capsys):
    """Of more, the first two tell one or two classes from the rest."""
    write_classes([8] * 6)
    experiment, _, _ = new_config(capsys)
    flat = experiment.arms["in 2-D"].embedding
    assert flat is not None and flat.parameters["n_components"] == 2
    assert experiment.arms["normalized"].embedding.parameters["n_components"] == 5
    assert [out.arms for out in experiment.outputs if out.kind == "embedding"] == [["in 2-D"]]


def test_three_classes_are_drawn_as_they_are_embedded(table, capsys):
    write_classes([8] * 3)
    experiment, _, _ = new_config(capsys)
    assert "in 2-D" not in experiment.arms
    assert [out.arms for out in experiment.outputs if out.kind == "embedding"] == [["normalized"]]
