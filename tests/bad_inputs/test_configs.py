"""Broken configs and command lines: exit code 2, a line that names the place, nothing run, nothing written."""

import string
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manifold_oos.cli import main

GOOD = """\
dataset: {name: digits, classes: 3, per_class: 12}
split: {train_per_class: [3], repetitions: 1}
arms:
  NN: {classifier: nn}
  RBF: {embedding: {name: suplap, n_components: 2}, extender: {name: rbf, sigma: 1.0}, classifier: nn}
outputs:
  - {table: 1}
"""
SECONDS = 5
MEMORY = 600 << 20


def changed(old, new):
    """The good config with one thing changed, and the line that it stands in."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new), f"mine.yaml:{GOOD[: GOOD.index(old)].count(chr(10)) + 1}: "


def split(text):
    return changed("{train_per_class: [3], repetitions: 1}", text)


def data(text):
    return changed("{name: digits, classes: 3, per_class: 12}", text)


def embedding(text):
    return changed("{name: suplap, n_components: 2}", text)


def extender(text):
    return changed("{name: rbf, sigma: 1.0}", text)


def output(text):
    return changed("{table: 1}", text)


def more(text):
    return GOOD + text + "\n", "mine.yaml:8: "


def whole(text, place="mine.yaml:1: "):
    return text, place


def nested(levels, opening="[", closing="]"):
    return whole(f"title: {opening * levels}{closing * levels}\n", "mine.yaml:1: ")


BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}], k{i}: 1}}\n" for i in range(1, 12)
)
LISTS = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)
BROKEN = {
    # YAML
    "nothing": whole(""),
    "a list": whole("- a\n"),
    "a word": whole("digits\n"),
    "two documents": whole("a: 1\n---\nb: 2\n", "mine.yaml:2: "),
    "open bracket": whole("dataset: [digits\n", "mine.yaml:2: "),
    "tab": whole("dataset:\n\t- digits\n", "mine.yaml:2: "),
    "control character": whole("title: a\x01b\n", "mine.yaml: "),
    "undefined alias": whole("dataset: *nothing\n"),
    "python object": whole("dataset: !!python/object/apply:os.system ['true']\n"),
    "own tag": whole("dataset: !mine digits\n"),
    "binary": whole("dataset: !!binary aGk=\n"),
    "tagged set": whole("dataset: !!set {a, b}\n"),
    "tagged key": whole("!!python/name:os.system '': 1\n"),
    "no truth value": whole("title: !!bool abc\n"),
    "no number": whole("title: !!int abc\n"),
    "empty number": whole("title: !!int ''\n"),
    "no float": whole("title: !!float x.y\n"),
    "key twice": whole("dataset: digits\ndataset: orl\n", "mine.yaml:2: "),
    "key twice, far down": (GOOD.replace("  NN:", "  RBF: {classifier: nn}\n  NN:"), "mine.yaml:6: "),
    "list as key": whole("[a, b]: 1\n"),
    "mapping as key": whole("? {a: b}\n: 1\n"),
    "merge of a number": whole("{<<: 3}\n"),
    "merge of a list of numbers": whole("<<: [1, 2]\n"),
    "merge twice": whole("<<: {a: 1}\n<<: {b: 1}\n", "mine.yaml:2: "),
    "merge bomb": whole(BOMB, "mine.yaml:"),
    "alias bomb": whole(LISTS, "mine.yaml:"),
    "list of itself": whole("title: &a [*a]\n"),
    "mapping of itself": whole("title: &a {b: *a}\n"),
    "merge of itself": whole("&a\n<<: *a\ntitl: x\n", "mine.yaml:1: "),
    "nested lists": nested(5000),
    "nested mappings": nested(3000, "{a: ", "}"),
    "nested blocks": whole("".join(" " * i + "- \n" for i in range(200)), "mine.yaml:"),
    "5,000 digits": whole(f"title: {'9' * 5000}\n"),
    "4,000 digits": split("{repetitions: " + "1" * 4000 + "}"),
    "hexadecimal digits": whole(f"title: 0x{'f' * 5000}\n"),
    "exponent of many digits": split("{repetitions: 1" + "0" * 100 + "}"),
    "too large a file": whole("# " + "x" * 500_000 + "\n", "mine.yaml: "),
    # include
    "include of nothing": whole("include: no.yaml\n"),
    "include of a system file": whole("include: /etc/passwd\n"),
    "include from above": whole("include: ../other.yaml\n"),
    "include through a link": whole("include: link.yaml\n"),
    "include of a folder": whole("include: .\n"),
    "include of itself": whole("include: mine.yaml\n"),
    "include with NUL": whole('include: "a\\0b.yaml"\n'),
    "include of a number": whole("include: 3\n"),
    "include of a mapping": whole("include: {a: b}\n"),
    "include of nothing in a list": whole("include: [[]]\n"),
    "include of a long name": whole(f"include: {'x' * 5000}\n"),
    "includes of includes": whole("include: [fan0.yaml, fan0.yaml]\n", "fan"),
    # keys and types
    "unknown key": more("titel: x"),
    "missing arms": whole("dataset: digits\n"),
    "missing data": whole("arms: {NN: {classifier: nn}}\n"),
    "empty arms": whole("dataset: digits\narms: {}\n", "mine.yaml:2: "),
    "arms as a list": whole("dataset: digits\narms: [a]\n", "mine.yaml:2: "),
    "arm as a number": whole("dataset: digits\narms: {a: 3}\n", "mine.yaml:2: "),
    "empty datasets": whole("datasets: []\nclassifier: nn\n"),
    "data as a number": data("3"),
    "data without a name": data("{classes: 3}"),
    "data of a number": data("{name: 3}"),
    "unknown data": data("{name: digitz}"),
    "unknown option": data("{name: digits, clases: 3}"),
    "data twice": changed("dataset: {name: digits, classes: 3, per_class: 12}", "datasets: [digits, digits]"),
    "title as a list": more("title: [a]"),
    "note as a mapping": more("note: {a: 1}"),
    "seed below 0": split("{seed: -1}"),
    "seed of 10^30": split("{seed: 1000000000000000000000000000000}"),
    "repetitions as truth": split("{repetitions: true}"),
    "repetitions as a word": split("{repetitions: many}"),
    "repetitions of none": split("{repetitions: 0}"),
    "repetitions of 10^12": split("{repetitions: 1000000000000}"),
    "half a repetition": split("{repetitions: 1.5}"),
    "infinite repetitions": split("{repetitions: .inf}"),
    "two kinds of split": split("{first: 3, fraction: 0.5}"),
    "sizes twice": split("{train_per_class: [3, 3]}"),
    "no sizes": split("{train_per_class: []}"),
    "size of 0": split("{train_per_class: 0}"),
    "size as truth": split("{train_per_class: true}"),
    "fraction of 1": split("{fraction: 1.0}"),
    "fraction of NaN": split("{fraction: .nan}"),
    "ratio below 0": split("{ratio: -1}"),
    "infinite ratio": split("{ratio: .inf}"),
    "alternate of 1": split("{alternate: 1}"),
    "n_test of 10^23": split("{train_per_class: 3, n_test: 100000000000000000000000}"),
    "draws without test": split("{draws: {train: 3}}"),
    "unknown split": split("{per_class: 3}"),
    "quantile of 2": split("{half_space: {quantile: 2}}"),
    "side of a half space": split("{half_space: {known: left}}"),
    "unknown metric": more("metrics: [misclassification]"),
    "no metrics": more("metrics: []"),
    "metrics twice": more("metrics: [recognition_rate, recognition_rate]"),
    "unknown protocol": more("selection: tran_only"),
    "paper without rules": more("selection: paper"),
    "rules of train_only": more("selection: [{name: train_only, rules: {a: best}}]"),
    "unknown rule": more("selection: {paper: {a: worst}}"),
    "cv repeats of 10^11": more("cv: {repeats: 100000000000}"),
    "cv of one fold": more("cv: {scheme: kfold, folds: 1}"),
    "cv metric": more("cv: {metric: nothing}"),
    "cv scheme": more("cv: {scheme: thirds}"),
    # methods and parameters
    "unknown embedding": embedding("suplapp"),
    "embedding without a name": embedding("{n_components: 2}"),
    "embedding as a list": embedding("[suplap]"),
    "unknown parameter": embedding("{name: suplap, n_component: 2}"),
    "parameter below its range": embedding("{name: suplap, n_components: -2}"),
    "parameter as a word": embedding("{name: suplap, n_components: two}"),
    "n_components of 10^6": embedding("{name: suplap, n_components: 1000000}"),
    "n_components: n_train*2": embedding("{name: suplap, n_components: n_train*2}"),
    "n_components: n_classes-9": embedding("{name: suplap, n_components: n_classes-9}"),
    "n_components: n_train/0": embedding("{name: suplap, n_components: n_train/0}"),
    "grid too large for the split": embedding("{name: suplap, n_components: {grid: [500, 600]}}"),
    "median below 0": extender("{name: rbf, sigma: {median: -1}}"),
    "median of a word": extender("{name: rbf, sigma: {median: x}}"),
    "median of truth": extender("{name: rbf, sigma: {median: true}}"),
    "median of NaN": extender("{name: rbf, sigma: {median: .nan}}"),
    "median in a grid": extender("{name: rbf, sigma: {grid: [{median: 1}, {median: -1}]}}"),
    "median over a grid": extender("{name: rbf, sigma: {median: {grid: [1, -1]}}}"),
    "median and more": extender("{name: rbf, sigma: {median: 1, mean: 2}}"),
    "another unit": extender("{name: rbf, sigma: {mean: 1}}"),
    "unknown data set by name": extender("{name: rbf, sigma: {by_dataset: {nope: 3, default: 1}}}"),
    "no value for a data set": extender("{name: rbf, sigma: {by_dataset: {}}}"),
    "by_dataset as a list": extender("{name: rbf, sigma: {by_dataset: [1]}}"),
    "empty grid": extender("{name: rbf, sigma: {grid: []}}"),
    "grid of a number": extender("{name: rbf, sigma: {grid: 3}}"),
    "grid with another key": extender("{name: rbf, sigma: {grid: [1], defalt: 1}}"),
    "range without an end": extender("{name: rbf, sigma: {grid: {from: 1, step: 1}}}"),
    "range with step and count": extender("{name: rbf, sigma: {grid: {from: 1, to: 2, step: 1, count: 2}}}"),
    "step below 0": extender("{name: rbf, sigma: {grid: {from: 1, to: 3, step: -1}}}"),
    "step of 0": extender("{name: rbf, sigma: {grid: {from: 1, to: 3, step: 0}}}"),
    "step of 1e-12": extender("{name: rbf, sigma: {grid: {from: 1, to: 3, step: 1e-12}}}"),
    "step as a word": extender("{name: rbf, sigma: {grid: {from: 1, to: 3, step: x}}}"),
    "count of 10^10": extender("{name: rbf, sigma: {grid: {from: 1, to: 3, count: 10000000000}}}"),
    "count as truth": extender("{name: rbf, sigma: {grid: {from: 1, to: 3, count: true}}}"),
    "range downwards": extender("{name: rbf, sigma: {grid: {from: 3, to: 1, count: 3}}}"),
    "logarithm of 0": extender("{name: rbf, sigma: {grid: {from: 0, to: 1, count: 3, log: true}}}"),
    "infinite range": extender("{name: rbf, sigma: {grid: {from: 1, to: .inf, count: 3}}}"),
    "joint grid too large": (
        GOOD.replace("sigma: 1.0", "sigma: {grid: {from: 1.0, to: 2, count: 5000}}, lambda_: {grid: [1, 2, 3]}"),
        "mine.yaml:5: ",
    ),
    "extender alone": changed("embedding: {name: suplap, n_components: 2}, ", ""),
    "embedding without a map": changed("extender: {name: rbf, sigma: 1.0}, ", ""),
    "unknown classifier": changed("NN: {classifier: nn}", "NN: {classifier: nm}"),
    "empty arm": changed("NN: {classifier: nn}", "NN: {}"),
    "batch without an embedding": changed("NN: {classifier: nn}", "NN: {classifier: nn, batch: true}"),
    "arm on an unknown data set": changed("NN: {classifier: nn}", "NN: {classifier: nn, datasets: nope}"),
    # classes of one's own
    "no module": changed("NN: {classifier: nn}", "NN: {classifier: 'nothing_here:NN'}"),
    "no class": changed("NN: {classifier: nn}", "NN: {classifier: 'fine:Nothing'}"),
    "a function": changed("NN: {classifier: nn}", "NN: {classifier: 'fine:function'}"),
    "a class without fit": changed("NN: {classifier: nn}", "NN: {classifier: 'fine:Bare'}"),
    "a loader without read": data("{name: 'fine:Bare'}"),
    "relative module": changed("NN: {classifier: nn}", "NN: {classifier: '.foo:Bar'}"),
    "empty class": changed("NN: {classifier: nn}", "NN: {classifier: 'fine:'}"),
    "path for a module": changed("NN: {classifier: nn}", "NN: {classifier: '../fine:NN'}"),
    "module that raises": changed("NN: {classifier: nn}", "NN: {classifier: 'raises:NN'}"),
    "module that exits": changed("NN: {classifier: nn}", "NN: {classifier: 'leaves:NN'}"),
    "module with a wrong line": changed("NN: {classifier: nn}", "NN: {classifier: 'wrong:NN'}"),
    # what the data cannot give
    "more known than there are": split("{train_per_class: 500}"),
    "all known": split("{train_per_class: 12}"),
    "first of 100,000": split("{first: 100000}"),
    "n_train of all": split("{n_train: 36}"),
    "fraction of nothing": split("{fraction: 0.001, stratified: false}"),
    "alternate of 10^6": split("{alternate: 1000000}"),
    "half space of digits": split("{half_space: {parameter: 99}}"),
    "half space by a name": split("{half_space: {parameter: angle}}"),
    "draws of digits": split("{draws: {train: 3, test: 3}}"),
    "classes": data("{name: digits, classes: 99}"),
    "classes as a word": data("{name: digits, classes: [x]}"),
    "per_class": data("{name: digits, per_class: 100000}"),
    "per_class of 0": data("{name: digits, per_class: 0}"),
    "labels that are not there": (
        "dataset: {name: swiss_roll, n_samples: 50}\nclassifier: nn\nsplit: {fraction: 0.5}\n", "mine.yaml:2: "
    ),
    "classes of what has none": (
        "dataset: {name: swiss_roll, n_samples: 50}\nclassifier: nn\nsplit: {train_per_class: 5}\n", "mine.yaml:3: "
    ),
    # outputs, published numbers, claims, readings
    "neither table nor figure": output("{dataset: digits}"),
    "table and figure": output("{table: 1, figure: 2}"),
    "kind of a table": output("{table: 1, kind: curve}"),
    "unknown kind": output("{figure: 1, kind: pie}"),
    "second of a pareto": output("{figure: 1, kind: pareto, second: fit_seconds}"),
    "second of a table": output("{table: 1, second: fit_seconds}"),
    "x of a trace": output("{figure: 1, kind: trace, x: size}"),
    "rows of a curve": output("{figure: 1, rows: known}"),
    "rows of a gallery": output("{figure: 1, kind: gallery, rows: all}"),
    "values of a gallery": output("{figure: 1, kind: gallery, values: [1]}"),
    "log of ranks": output("{figure: 1, kind: ranks, log: true}"),
    "metric of an embedding": output("{figure: 1, kind: embedding, metric: recognition_rate}"),
    "columns of an embedding": output("{figure: 1, kind: embedding, columns: size}"),
    "two sizes of points": output("{figure: 1, kind: embedding, size: [3, 4]}"),
    "repetition below 0": output("{figure: 1, kind: embedding, repetition: -1}"),
    "function of digits": output("{figure: 1, kind: function}"),
    "embedding of no embedding": output("{figure: 1, kind: embedding, arms: NN}"),
    "cost that is no metric": output("{figure: 1, kind: pareto, x: money}"),
    "arm that is not there": output("{table: 1, arms: [nope]}"),
    "data that are not there": output("{table: 1, dataset: nope}"),
    "protocol that is not there": output("{table: 1, selection: best}"),
    "published of an unknown arm": more("published: {misclassification_rate: {digits: {nope: {3: 1}}}}"),
    "published of a word": more("published: {misclassification_rate: {digits: {NN: {3: one}}}}"),
    "published of an unknown metric": more("published: {rate: {digits: {NN: {3: 1}}}}"),
    "claim without a source": more("claims: [{best: NN}]"),
    "claim of two forms": more("claims: [{source: a, best: NN, monotone: falling}]"),
    "claim of an unknown arm": more("claims: [{source: a, best: nope}]"),
    "claim of an unknown protocol": more("claims: [{source: a, best: NN, selection: best}]"),
    "share of 2": more("claims: [{source: a, best: NN, over: share, share: 2}]"),
    "reading of an unknown arm": more("readings: {r: {text: a, arms: nope}}"),
    "reading without arms": more("readings: {r: {text: a, arms: []}}"),
    "reading of an unknown data set": more("readings: {r: {text: a, arms: NN, datasets: {digits: nope}}}"),
    "patch of nothing": more("readings: {r: {text: a, arms: NN, set: {nothing: 3}}}"),
    "patch of a missing stage": more("readings: {r: {text: a, arms: NN, set: {extender.sigma: 3}}}"),
    "patch of an unknown parameter": more("readings: {r: {text: a, arms: RBF, set: {extender.sigm: 3}}}"),
    "patch to an unknown method": more("readings: {r: {text: a, arms: RBF, set: {embedding: nope}}}"),
    "patch with a wrong value": more("readings: {r: {text: a, arms: RBF, set: {embedding.n_components: -3}}}"),
    "patch that takes the arm away": more("readings: {r: {text: a, arms: NN, set: {classifier: null}}}"),
    "patch too large for the split": more(
        "readings: {r: {text: a, arms: RBF, set: {embedding.n_components: 77}}}\n"
        "published: {misclassification_rate: {digits: {RBF: {3: 1.0}}}}"
    ),
    "patch of an unknown option": more("readings: {r: {text: a, arms: NN, set: {dataset.sise: 3}}}"),
    "patch of an option out of range": more("readings: {r: {text: a, arms: NN, set: {dataset.per_class: 0}}}"),
    "patch of a split": more("readings: {r: {text: a, arms: NN, set: {dataset.split.repetitions: 0}}}"),
    "patch to too many classes": more("readings: {r: {text: a, arms: NN, set: {dataset.classes: 99}}}"),
    "patch to too many known": more("readings: {r: {text: a, arms: NN, set: {dataset.split.train_per_class: 99}}}"),
    "patch to an unknown data set": more("readings: {r: {text: a, arms: NN, set: {datasets: nope}}}"),
}  # fmt: skip
LINES = {
    "--set without a value": ("run", "good.yaml", "--set", "title"),
    "--set of no entry": ("run", "good.yaml", "--set", "outputs.7.table=1"),
    "--set of a superscript": ("run", "good.yaml", "--set", "outputs.²=1"),
    "--set below a number": ("run", "good.yaml", "--set", "split.seed.more=1"),
    "--set of no YAML": ("run", "good.yaml", "--set", "title=["),
    "--set of a tag": ("run", "good.yaml", "--set", "title=!!python/name:os.system x"),
    "--set of an unknown key": ("run", "good.yaml", "--set", "titel=3"),
    "--set of many digits": ("run", "good.yaml", "--set", "split.seed=" + "9" * 5000),
    "--set of nested lists": ("run", "good.yaml", "--set", "title=" + "[" * 3000 + "]" * 3000),
    "--workers 0": ("run", "good.yaml", "--workers", "0"),
    "--workers of a word": ("run", "good.yaml", "--workers", "many"),
    "no config": ("run", "nothing.yaml"),
    "config with NUL": ("run", "a\0b.yaml"),
    "folder for a config": ("run", "."),
    "config named ...yaml": ("run", "...yaml"),
    "config named ..yaml": ("run", "..yaml"),
    "config named .yaml": ("run", ".yaml"),
    "config named store.sqlite.yaml": ("run", "store.sqlite.yaml"),
    "config named store.sqlite-wal.yaml": ("run", "store.sqlite-wal.yaml"),
    "config named archive.yaml": ("run", "archive.yaml"),
    "second config broken": ("run", "good.yaml", "bad.yaml"),
    "not UTF-8": ("run", "latin.yaml"),
    "--range of 10^10": ("sweep", "good.yaml", "--param", "sigma", "--range", "0:1:10000000000"),
    "--range of one": ("sweep", "good.yaml", "--param", "sigma", "--range", "0:1:1"),
    "--range of words": ("sweep", "good.yaml", "--param", "sigma", "--range", "a:b:c"),
    "--range to infinity": ("sweep", "good.yaml", "--param", "sigma", "--range", "1:inf:3"),
    "--range of 0, log": ("sweep", "good.yaml", "--param", "sigma", "--range", "0:1:3:log"),
    "--values of nothing": ("sweep", "good.yaml", "--param", "sigma", "--values", ""),
    "--values below 0": ("sweep", "good.yaml", "--param", "sigma", "--values", "-1"),
    "--values and --range": ("sweep", "good.yaml", "--param", "sigma", "--values", "1", "--range", "1:2:3"),
    "--param of nothing": ("sweep", "good.yaml", "--param", "nothing"),
    "table of nothing": ("table", "nothing.yaml"),
    "table before a run": ("table", "good.yaml"),
    "embed of an unknown arm": ("embed", "good.yaml", "--new", "new", "--out", "new.csv", "--arm", "nope"),
    "embed of an unknown data set": ("embed", "good.yaml", "--new", "new", "--out", "new.csv", "--dataset", "nope"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Configs and modules that the broken ones meet; its parent has what must not be reached."""
    home = tmp_path_factory.mktemp("bad")
    here = home / "here"
    here.mkdir()
    (home / "other.yaml").write_text("secret: 42\n")
    (here / "link.yaml").symlink_to(home / "other.yaml")
    for i in range(25):
        (here / f"fan{i}.yaml").write_text(f"include: [fan{i + 1}.yaml, fan{i + 1}.yaml]\n")
    (here / "fan25.yaml").write_text("title: x\n")
    for name in ("good", "..", ".", "store.sqlite", "store.sqlite-wal", "archive"):
        (here / f"{name}.yaml").write_text(GOOD)
    (here / ".yaml").write_text(GOOD)
    (here / "bad.yaml").write_text("dataset: nothing\n")
    (here / "latin.yaml").write_bytes("title: Fréchet\n".encode("latin-1"))
    (here / "fine.py").write_text("def function(): ...\nclass Bare: ...\n")
    (here / "raises.py").write_text("raise RuntimeError('two\\nlines')\n")
    (here / "leaves.py").write_text("import sys\nsys.exit(7)\n")
    (here / "wrong.py").write_text("def (:\n")
    return here


def files(folder):
    """Everything below a folder but what Python itself leaves when it imports."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


@contextmanager
def within(memory):
    """Let this process take so much more memory and no more, where the system can hold it to that."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    lines = Path("/proc/self/status").read_text().splitlines()
    size = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmSize"))
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture
def refused(folder, monkeypatch, capsys):
    """Run a command line that must be refused; what it says."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        before = files(folder.parent)
        start = time.process_time()  # on a busy machine the clock says little
        with within(MEMORY), pytest.raises(SystemExit) as stop:
            main(arguments)
        took = time.process_time() - start
        said = capsys.readouterr().err
        assert stop.value.code == 2, said
        assert said.strip() and "Traceback" not in said
        assert all(len(line) < 600 for line in said.splitlines())
        assert took < SECONDS
        assert files(folder.parent) == before and not (folder / "results").exists()
        return said

    return run


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_config_is_refused_with_its_place(name, folder, refused):
    text, place = BROKEN[name]
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    said = refused("run", "mine.yaml", "--workers", "1", "--quiet")
    assert said.startswith(f"moos: {place}"), said
    assert "secret" not in said and "root:" not in said


@pytest.mark.parametrize("name", LINES)
def test_a_broken_command_line_is_refused(name, refused):
    assert refused(*LINES[name])


def test_the_good_config_is_good(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert code_of("run", "good.yaml", "--dry-run") == 0
    assert "2 lines" in capsys.readouterr().out


def code_of(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return stop.value.code or 0


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A config outside the current folder that names a class of the current folder; importing it leaves a trace."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "traced.py").write_text(
        "from pathlib import Path\nfrom manifold_oos.classifiers.nn import NearestNeighbor\n"
        f"Path({str(tmp_path / 'trace')!r}).touch()\nclass NN(NearestNeighbor):\n    name = 'own'\n"
    )
    text = GOOD.replace("NN: {classifier: nn}", "NN: {classifier: 'traced:NN'}")
    (there / "own.yaml").write_text(text)
    (here / "own.yaml").write_text(text)
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("traced", None)
    yield tmp_path
    sys.modules.pop("traced", None)


def test_code_from_outside_is_not_imported_unless_trusted(foreign, monkeypatch, capsys):
    assert code_of("run", "../there/own.yaml") == 2
    said = capsys.readouterr().err
    assert "own.yaml:4: arms.NN.classifier: traced:NN: code of a config from outside" in said and "--trust" in said
    monkeypatch.setenv("MOOS_TRUST", "trace another")
    assert code_of("run", "../there/own.yaml") == 2
    assert not (foreign / "trace").exists()
    monkeypatch.setenv("MOOS_TRUST", "other, traced")
    assert code_of("run", "../there/own.yaml", "--workers", "1", "--quiet") == 0
    assert (foreign / "trace").exists()
    monkeypatch.delenv("MOOS_TRUST")
    assert code_of("run", "../there/own.yaml", "--workers", "1", "--quiet", "--trust") == 0


def test_views_and_dry_runs_import_no_code(foreign, capsys):
    assert code_of("run", "own.yaml", "--workers", "1", "--quiet") == 0
    (foreign / "trace").unlink()
    sys.modules.pop("traced")
    capsys.readouterr()
    assert code_of("run", "own.yaml", "--dry-run") == 0
    assert "(2 lines are in the store)" in capsys.readouterr().out
    assert code_of("table", "own.yaml") == 0
    assert "NN" in capsys.readouterr().out
    assert code_of("report", "results/own") == 0
    assert code_of("check", "results/own") == 2
    assert not (foreign / "trace").exists()


WORDS = st.text(string.ascii_letters, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(string.printable, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(string.ascii_letters, max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
LEAVES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def paths_of(value, path=()):
    yield path
    for key, item in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from paths_of(item, (*path, key))


def replaced(tree, path, value):
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = replaced(tree[path[0]], path[1:], value)
    return copy


RICH = yaml.safe_load(GOOD) | {
    "selection": ["train_only", {"paper": {"sigma": "best"}}],
    "cv": {"repeats": 2},
    "metrics": ["misclassification_rate", "recognition_rate"],
    "published": {"misclassification_rate": {"digits": {"NN": {3: 1.5}}}},
    "readings": {"wide": {"text": "wider", "arms": ["RBF"], "set": {"extender.sigma": {"median": 2}}}},
    "claims": [{"source": "Fig. 1", "left": "RBF", "op": "<", "right": ["NN", 3.0], "at": [3]}],
    "outputs": [{"table": 1}, {"figure": 2, "kind": "curve", "x": "size"}, {"figure": 3, "kind": "embedding"}],
}


@LEAVES
@given(path=st.sampled_from(list(paths_of(RICH))), value=VALUES)
def test_a_mutated_config_is_planned_or_refused(path, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mutated.yaml").write_text(
        yaml.safe_dump(replaced(RICH, path, value), allow_unicode=True), encoding="utf-8"
    )
    assert code_of("run", "mutated.yaml", "--dry-run") in (0, 2)


WIDTHS = (
    st.floats(0.01, 100)
    | st.builds(lambda factor: {"median": factor}, st.floats(0.1, 10))
    | st.just("mean_squared")
)
OPEN_WIDTHS = WIDTHS | st.builds(lambda values: {"grid": values}, st.lists(WIDTHS, min_size=1, max_size=3))
SPLITS = st.one_of(
    st.builds(
        lambda sizes: {"train_per_class": sizes}, st.lists(st.integers(3, 9), min_size=1, max_size=3, unique=True)
    ),
    st.builds(lambda share: {"fraction": share}, st.floats(0.3, 0.8)),
    st.builds(lambda n: {"n_train": n}, st.integers(9, 30)),
    st.just({"alternate": 2}),
    st.just({"first": 20}),
)


@LEAVES
@given(
    split=SPLITS,
    sigma=OPEN_WIDTHS,
    d=st.just(2) | st.just("n_classes-1") | st.just({"grid": [1, 2]}),
    repetitions=st.integers(1, 50),
    protocols=st.sampled_from(["train_only", "best", ["train_only", "best"], {"paper": {"*": "best"}}]),
)
def test_a_valid_config_is_planned(split, sigma, d, repetitions, protocols, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    extender = {"name": "rbf", "sigma": sigma}
    config = {
        "dataset": {"name": "digits", "classes": 3, "per_class": 12},
        "split": split | {"repetitions": repetitions},
        "arms": {"RBF": {"embedding": {"name": "suplap", "n_components": d}, "extender": extender}},
        "selection": protocols,
    }
    Path("valid.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert code_of("run", "valid.yaml", "--dry-run") == 0
