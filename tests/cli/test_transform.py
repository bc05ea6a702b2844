"""``moos transform``: the answers of ``moos embed`` in blocks, resumed after a stop, in flat memory."""

import json
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from manifold_oos import OutOfSample, incoming, load, streaming, watching
from manifold_oos.cli import main
from manifold_oos.errors import DataError
from manifold_oos.streaming import place_file


def moos(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return int(stop.value.code or 0)


@pytest.fixture
def table(tmp_path, monkeypatch) -> pd.DataFrame:
    """A saved model of standardised features, and new points beside it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 12)
    X = 7 * rng.normal(size=(36, 4)) + 40 * np.eye(4)[y] + 100
    pd.DataFrame(X, columns=list("pqrs")).assign(kind=np.array(["a", "b", "c"])[y]).to_csv("known.csv", index=False)
    fresh = pd.DataFrame(X + rng.normal(size=X.shape), columns=list("pqrs"))
    fresh.iloc[5] *= 10
    fresh.to_csv("fresh.csv", index=False)
    np.save("fresh.npy", fresh.to_numpy())
    assert moos("new", "--data", "table:known.csv", "--label", "kind", "--out", "t.yaml") == 0
    arguments = ("--new", "fresh.csv", "--out", "embedded.csv", "--save", "t.model")
    assert moos("embed", "t.yaml", *arguments) == 0
    return pd.read_csv("embedded.csv")


def test_the_same_answers_as_embed(table, capsys):
    assert moos("transform", "t.model", "--in", "fresh.csv", "--out", "a.csv") == 0
    out = capsys.readouterr().out
    assert f"36 points, {(table['novelty'] > 99).sum()} of them novel" in out
    placed = pd.read_csv("a.csv").assign(name=table["name"])
    pd.testing.assert_frame_equal(placed, table, rtol=1e-6)
    assert table["novelty"].idxmax() == 5
    assert moos("transform", "t.model", "--in", "fresh.npy", "--out", "a.npy") == 0
    np.testing.assert_allclose(np.load("a.npy"), table.filter(regex="^y").to_numpy(), rtol=1e-6)
    assert not list(Path().glob(".a.*"))


def test_a_cluster_writes_the_same_bytes(table, monkeypatch, capsys):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(incoming, "BLOCK", 5)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        for suffix in ("csv", "npy"):
            assert moos("transform", "t.model", "--in", "fresh.npy", "--out", f"here.{suffix}") == 0
            arguments = ("--scheduler", cluster.scheduler_address, "--quiet")
            assert moos("transform", "t.model", "--in", "fresh.npy", "--out", f"there.{suffix}", *arguments) == 0
            assert Path(f"there.{suffix}").read_bytes() == Path(f"here.{suffix}").read_bytes()
        assert capsys.readouterr().out.count("36 points") == 4
    assert moos("transform", "t.model", "--in", "-", "--scheduler", "local") == 2
    assert "leave --out and --scheduler away" in capsys.readouterr().err


def test_an_error_on_a_worker_is_raised_here(table):
    class Failing(streaming.Here):
        def map(self, calls):
            return enumerate([DataError("lost")] * len(calls))

    with pytest.raises(DataError, match="lost"):
        place_file(Path("t.model"), Path("fresh.npy"), Path("f.npy"), executor=Failing())


def test_a_column_of_labels_in_the_new_points_is_passed_over(table):
    pd.read_csv("fresh.csv").assign(kind="?").to_csv("labelled.csv", index=False)
    place_file(Path("t.model"), Path("labelled.csv"), Path("l.npy"))
    place_file(Path("t.model"), Path("fresh.csv"), Path("f.npy"))
    np.testing.assert_array_equal(np.load("l.npy"), np.load("f.npy"))


def test_columns_known_by_name_are_found_by_name(table):
    model = load("t.model")
    model.save("named.model", model.about_ | {"features": list("pqrs")})
    fresh = pd.read_csv("fresh.csv")
    fresh[list("srqp")].to_csv("reversed.csv", index=False)
    place_file(Path("named.model"), Path("reversed.csv"), Path("r.npy"))
    place_file(Path("t.model"), Path("fresh.csv"), Path("f.npy"))
    np.testing.assert_array_equal(np.load("r.npy"), np.load("f.npy"))
    fresh.drop(columns="q").to_csv("less.csv", index=False)
    with pytest.raises(DataError, match="fitted on: no column q"):
        place_file(Path("named.model"), Path("less.csv"), Path("x.npy"))


def test_blocks_do_not_change_the_answer(table, monkeypatch):
    place_file(Path("t.model"), Path("fresh.npy"), Path("whole.npy"))
    monkeypatch.setattr(incoming, "BLOCK", 7)
    for name in ("fresh.npy", "fresh.csv"):
        place_file(Path("t.model"), Path(name), Path("blocks.npy"))
        np.testing.assert_allclose(np.load("blocks.npy"), np.load("whole.npy"), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("source", "out"), [("fresh.npy", "r.npy"), ("fresh.csv", "r.csv"), ("fresh.npy", "r.csv")]
)
def test_a_stopped_run_goes_on_where_it_was(table, monkeypatch, capsys, source, out):
    monkeypatch.setattr(incoming, "BLOCK", 10)
    place_file(Path("t.model"), Path(source), Path("straight" + out))
    seen = []

    def stop(done, total):
        seen.append(done)
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place_file(Path("t.model"), Path(source), Path(out), stop)
    assert not Path(out).exists() and json.loads(Path(f".{out}.part.json").read_text())["rows"] == 20
    with Path(f".{out}.part").open("ab") as stream:
        if out.endswith("csv"):
            stream.write(b"half a li")
    result = place_file(Path("t.model"), Path(source), Path(out), lambda done, total: seen.append(done))
    assert result.resumed == 20 and seen == [10, 20, 30, 36]
    assert Path(out).read_bytes() == Path("straight" + out).read_bytes()
    assert result.novel == (table["novelty"] > 99).sum()


def test_another_model_or_other_points_start_anew(table, monkeypatch):
    monkeypatch.setattr(incoming, "BLOCK", 10)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place_file(Path("t.model"), Path("fresh.npy"), Path("r.npy"), stop)
    np.save("fresh.npy", np.load("fresh.npy")[::-1] + 1)
    assert place_file(Path("t.model"), Path("fresh.npy"), Path("r.npy")).resumed == 0


def test_images(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    for kind in ("a", "=1+1"):  # which a spreadsheet would run
        Path("known", kind).mkdir(parents=True)
        Path("fresh", kind).mkdir(parents=True)
        for i in range(8):
            pixels = rng.integers(0, 80, size=(40, 50)).astype(np.uint8)
            pixels[:, :25] += 100 * np.uint8(kind == "a")
            pixels[:, 25:] += 100 * np.uint8(kind != "a")
            folder = "known" if i < 6 else "fresh"
            Image.fromarray(pixels).save(Path(folder, kind, f"{i}.png"))
    assert moos("new", "--data", "folder:known") == 0
    assert moos("embed", "my.yaml", "--new", "fresh", "--out", "e.csv", "--save", "m") == 0
    assert "m: normalized" in capsys.readouterr().out
    assert moos("transform", "m", "--in", "fresh", "--out", "t.csv", "--quiet") == 0
    pd.testing.assert_frame_equal(pd.read_csv("t.csv"), pd.read_csv("e.csv"), rtol=1e-6)
    assert set(pd.read_csv("t.csv")["label"]) == {"a", "'=1+1"}
    assert {name[:2] for name in pd.read_csv("t.csv")["name"]} == {"a/", "'="}


def test_save_without_new_points(table, capsys):
    assert moos("embed", "t.yaml", "--save", "again.model") == 0
    assert "Next: moos transform again.model" in capsys.readouterr().out
    X = np.load("fresh.npy")
    known = pd.read_csv("known.csv")[list("pqrs")].to_numpy()
    points = (X - known.mean(axis=0)) / known.std(axis=0)
    np.testing.assert_array_equal(*(load(name).transform(points) for name in ("t.model", "again.model")))


def test_a_model_saved_in_python_takes_rows_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    model = OutOfSample(X[:, :2], "lle").fit(X)
    model.save(tmp_path / "m")
    np.save(tmp_path / "new.npy", rng.normal(size=(30, 5)).astype(np.float32))
    place_file(tmp_path / "m", tmp_path / "new.npy", tmp_path / "o.npy")
    expected = model.transform(np.load(tmp_path / "new.npy").astype(float))
    np.testing.assert_allclose(np.load(tmp_path / "o.npy"), expected)


def test_memory_does_not_grow_with_the_points(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20))
    OutOfSample(X[:, :2], "lle").fit(X).save(tmp_path / "m")

    def peak(n: int) -> int:
        np.save(tmp_path / f"{n}.npy", rng.normal(size=(n, 20)))
        tracemalloc.start()
        place_file(tmp_path / "m", tmp_path / f"{n}.npy", tmp_path / f"out{n}.npy")
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    small, large = peak(4000), peak(40000)
    assert large < 1.3 * small, "memory grows with the number of points"


@pytest.mark.parametrize(
    ("source", "out", "message"),
    [
        ("nowhere.npy", "o.npy", "no such folder or file"),
        ("fresh.npy", "o.txt", "to a .npy or a .csv file"),
        ("t.yaml", "o.npy", "points are read from"),
        ("narrow.npy", "o.npy", "3 features where the model has 4"),
        ("holes.npy", "o.npy", "row 2 (from 0): a value is not a finite number"),
        ("text.csv", "o.npy", "row 0 (from 0), column 2 (r): 'x' is not a number"),
        ("flat.npy", "o.npy", "not rows of numbers"),
    ],
)
def test_wrong_input_is_one_line(table, capsys, source, out, message):
    X = np.load("fresh.npy")
    np.save("narrow.npy", X[:, :3])
    X[2, 1] = np.nan
    np.save("holes.npy", X)
    np.save("flat.npy", X[0])
    Path("text.csv").write_text("p,q,r,s\n1,2,x,4\n")
    capsys.readouterr()
    assert moos("transform", "t.model", "--in", source, "--out", out) == 2
    err = capsys.readouterr().err.strip()
    assert message in err and "\n" not in err and not Path(out).exists()


def test_lines_are_answered_as_they_arrive(table, monkeypatch, capsys):
    monkeypatch.setattr(streaming, "RECENT", 10)
    X = np.load("fresh.npy")
    far = np.vstack([X[:5], 10 * X[:15], X[:20], 10 * X[:15]])
    monkeypatch.setattr("sys.stdin", [",".join(map(repr, row)) + "\n" for row in far.tolist()] + ["\n"])
    capsys.readouterr()
    assert moos("transform", "t.model", "--in", "-") == 0
    out, err = capsys.readouterr()
    Path("lines.csv").write_text(out)
    np.save("far.npy", far)
    place_file(Path("t.model"), Path("far.npy"), Path("block.csv"))
    pd.testing.assert_frame_equal(pd.read_csv("lines.csv"), pd.read_csv("block.csv"), rtol=1e-6)
    assert err.count("due for a refit") == 2 and "55 points" in err


def test_lines_that_are_no_numbers(table, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", ["1,2,3,4\n", "1,2,x,4\n"])
    assert moos("transform", "t.model", "--in", "-") == 2
    assert "standard input, row 1 (from 0)" in capsys.readouterr().err
    assert moos("transform", "t.model", "--in", "-", "--out", "o.csv") == 2
    assert moos("transform", "t.model", "--in", "fresh.npy") == 2
    assert "give --out FILE" in capsys.readouterr().err


def test_what_is_no_model_is_one_line(table, capsys):
    assert moos("transform", "fresh.npy", "--in", "fresh.npy", "--out", "o.npy") == 2
    assert "not a model" in capsys.readouterr().err


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """A saved model of images of two kinds of 16 bits, and a function that makes one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)

    def picture(kind: int, file: Path, far: bool = False) -> None:
        pixels = rng.integers(0, 20000, size=(12, 12))
        pixels[:, 6 * kind : 6 * kind + 6] += 30000
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels.T if far else pixels).astype(np.uint16)).save(file)

    for i in range(16):
        picture(i % 2, Path("known", "ab"[i % 2], f"{i}.png"))
    assert moos("new", "--data", "folder:known") == 0
    assert moos("embed", "my.yaml", "--save", "m") == 0
    Path("in").mkdir()
    return picture


def watched(looks: list, **options) -> tuple[streaming.Placement, list[str]]:
    """The watch of "in" while things happen between the looks, each of which is a call."""
    said: list[str] = []
    happens = iter(looks)

    def pause() -> None:
        step = next(happens, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    found = watching.watch_folder(Path("m"), Path("in"), Path("w.csv"), said.append, pause=pause, **options)
    return found, said


def nothing() -> None:
    pass


def test_images_that_arrive_are_placed_once_and_when_whole(pictures):
    pictures(0, Path("elsewhere.png"))
    whole = Path("elsewhere.png").read_bytes()
    counts = []
    found, said = watched(
        [
            lambda: pictures(0, Path("in/deep/a.png")),
            lambda: Path("in/b.png").write_bytes(whole[:100]),
            lambda: Path("in/b.png").write_bytes(whole),  # it grew between two looks: not read before
            lambda: Path("in/c.png").write_bytes(whole[:100]),
            nothing,
            nothing,  # c stays half a picture: said once
            lambda: Path("in/c.png").write_bytes(whole),
            nothing,
            lambda: Path("in/.hidden.png").write_bytes(whole),
            nothing,
        ],
        placed=lambda rows, novel: counts.append(rows),
    )
    assert found.rows == 3 and counts == [1, 2, 3]
    assert len(said) == 1 and "left out: in/c.png: not a readable image" in said[0]
    table = pd.read_csv("w.csv")
    assert table["name"].tolist() == ["deep/a.png", "b.png", "c.png"] and set(table["label"]) == {"a"}
    assert moos("transform", "m", "--in", "in", "--out", "t.csv") == 0
    once = pd.read_csv("t.csv").set_index("name").loc[table["name"]].reset_index()
    pd.testing.assert_frame_equal(once, table, rtol=1e-6)


def test_a_watch_goes_on_where_it_was(pictures, capsys):
    pictures(0, Path("in/a.png"))
    pictures(1, Path("in/b.png"))
    assert watched([nothing])[0].rows == 2
    first = Path("w.csv").read_bytes()
    with Path("w.csv").open("ab") as stream:
        stream.write(b"c.png,half a li")  # killed while writing
    pictures(1, Path("in/c.png"))
    found, _ = watched([nothing, nothing])
    assert (found.rows, found.resumed) == (3, 2)
    assert Path("w.csv").read_bytes().startswith(first)
    assert pd.read_csv("w.csv")["name"].tolist() == ["a.png", "b.png", "c.png"]
    assert moos("embed", "my.yaml", "--arm", "LLE", "--save", "m") == 0
    for name, message in (("w.csv", "another model"), ("my.csv", "not of a watch"), ("o.npy", "to a .csv file")):
        Path("my.csv").write_text("kept\n")
        assert moos("transform", "m", "--watch", "in", "--out", name) == 2
        assert message in capsys.readouterr().err
    assert Path("my.csv").read_text() == "kept\n"


def test_a_watch_says_when_a_refit_is_due(pictures, monkeypatch):
    monkeypatch.setattr(streaming, "RECENT", 10)
    for i in range(12):
        pictures(i % 2, Path(f"in/{i}.png"), far=i > 7)
    found, said = watched([nothing, nothing])
    assert found.novel == 4 and len(said) == 1 and "due for a refit" in said[0]
    assert watched([nothing])[1] == [], "it was said before the stop"


def test_rows_of_tables_that_arrive(table, monkeypatch):
    Path("t.model").rename("m")
    Path("in").mkdir()
    fresh = pd.read_csv("fresh.csv")
    bad = "p,q,r,s\n1,2,3,4\n1,2,,4\n"
    Path("in/b.csv").write_text(bad)
    fresh.iloc[:3, ::-1].to_csv("in/a.csv", index=False)
    np.save("in/c.npy", fresh.to_numpy()[3:5])
    found, said = watched([nothing, nothing])
    assert found.rows == 5 and len(said) == 1 and "row 1 (from 0), column 2 (r): the cell is missing" in said[0]
    placed = pd.read_csv("w.csv")
    assert placed["name"].tolist() == ["a.csv:0", "a.csv:1", "a.csv:2", "c.npy:0", "c.npy:1"]
    pd.testing.assert_frame_equal(placed.drop(columns="name"), table.iloc[:5].drop(columns="name"), rtol=1e-6)
    assert watched([nothing, nothing])[0].rows == 5


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_ends_cleanly_by_a_signal(pictures, how):
    pictures(0, Path("in/a.png"))
    command = [sys.executable, "-m", "manifold_oos", "transform", "m", "--watch", "in", "--out", "in/w.csv"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(2)]
    assert "watching in" in lines[0] and lines[1].startswith("1 points, 0 of them novel (0.0%)")
    process.send_signal(how)
    out, err = process.communicate(timeout=1800)
    assert process.returncode == 0 and out.startswith("in/w.csv: 1 points") and "Traceback" not in err
    assert len(pd.read_csv("in/w.csv")) == 1


def test_a_watch_or_points_that_are_there(table, capsys):
    for arguments, message in (
        (("--watch", ".", "--in", "fresh.csv", "--out", "o.csv"), "or --watch FOLDER"),
        (("--out", "o.csv"), "or --watch FOLDER"),
        (("--watch", "."), "give --out FILE.csv"),
        (("--watch", "nowhere", "--out", "o.csv"), "no such folder"),
        (("--watch", ".", "--out", "o.csv", "--scheduler", "local"), "leave --scheduler away"),
    ):
        assert moos("transform", "t.model", *arguments) == 2
        assert message in capsys.readouterr().err


def test_columns_that_the_model_does_not_know_are_an_error(table, capsys):
    """As they are for moos embed; but a label or the number of a row may be there."""
    fresh = pd.read_csv("fresh.csv")
    fresh.assign(zz=1, label="a").drop(columns="q").to_csv("other.csv")
    assert moos("transform", "t.model", "--in", "other.csv", "--out", "o.csv") == 2
    assert "fitted on: no column q; not expected: zz" in capsys.readouterr().err
    fresh.assign(label="a").to_csv("numbered.csv")
    assert moos("transform", "t.model", "--in", "numbered.csv", "--out", "o.csv") == 0
