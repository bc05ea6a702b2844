"""moos list, moos describe and the manners of the command itself."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from manifold_oos import datasets
from manifold_oos.cli import COMMANDS, main, moos
from manifold_oos.cli.listing import LISTS
from manifold_oos.docstrings import options, parse
from manifold_oos.registry import KINDS, available, signature

BROKEN = '''
from manifold_oos.extenders.base import Extender

class Broken(Extender):
    """Claims to interpolate, gives zeros."""
    name = "broken"
    interpolates = True
    def _fit(self, X, Y, y, X_new, embedding):
        self.coordinates_ = Y
    def _transform(self, X):
        return 0 * X[:, : self.coordinates_.shape[1]]
'''


def call(*arguments):
    return CliRunner().invoke(moos, arguments, catch_exceptions=False)


@pytest.mark.parametrize("kind", LISTS)
def test_every_entry_has_a_line(kind):
    entries = json.loads(call("list", kind, "--json").output)
    assert entries
    assert all(text and "\n" not in text for text in entries.values()), entries
    lines = call("list", kind).output.splitlines()
    assert len(lines) == len(entries)
    assert all(line.startswith(name) for line, name in zip(lines, entries, strict=True))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"]])
def test_first_words_import_nothing_heavy(arguments):
    code = f"import sys; from manifold_oos.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
    code += "sys.exit(' '.join({'numpy', 'sklearn', 'pydantic', 'matplotlib', 'rich'} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_misspelt_command_names_the_nearest():
    done = subprocess.run(
        [sys.executable, "-m", "manifold_oos", "rum"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2 and 'did you mean "run"' in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_teaches(command):
    result = call(command, "--help")
    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 5


def test_describe_shows_parameters_defaults_and_reference():
    output = call("describe", "extenders/lvm").output
    assert "n_neighbors = 3" in output
    assert "Raducanu" in output
    assert "Extends: every embedding" in output


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_parameter_of_every_method_is_documented(kind):
    for name, cls in available(kind).items():
        documented = [parameter.name for parameter in parse(cls).parameters]
        assert sorted(documented) == sorted(signature(cls)), name
        assert all(parameter.text for parameter in parse(cls).parameters), name


@pytest.mark.parametrize("name", datasets.available())
def test_every_option_of_every_data_set_is_documented(name):
    loader = datasets.find(name)
    shown = {option.name: option for option in options(loader)}
    hidden = {"variant"} if len(loader.variants) == 1 else set()
    assert set(shown) == set(loader.defaults()) - hidden
    assert all(option.text and option.type for option in shown.values())
    assert all(option.default == repr(loader.defaults()[key]) for key, option in shown.items())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("table", ["path  (path)", "label_column = None", "normalize = 'none'", "per_class"]),
        ("folder", ["pattern = None", "(?P<label>...)", "size = None  ((width, height)"]),
        ("turntable", ["seed = 0", "brightness of each solid", "1440 samples, 20 classes, 128×128, built in"]),
        (
            "coil20",
            ["variant = 'png'", "Variant mat32: COIL20.mat", "Licence: free for research", "Page: h", "Nene"],
        ),
        ("pf01", ["on request"]),
        ("misclassification_rate", ["(metrics)", "The lower the better"]),
        ("metrics/misclassification_rate", ["The lower the better"]),
    ],
)
def test_describe_tells_options_variants_licence_and_reference(name, words):
    output = call("describe", name).output
    assert all(word in output for word in words), output


def test_json_of_a_data_set_has_its_variants():
    entry = json.loads(call("describe", "yaleb", "--json").output)
    assert entry["variants"]["extended28"]["samples"] == 1774
    assert {parameter["name"] for parameter in entry["parameters"]} >= {"variant", "size", "per_class"}


def test_json_of_describe_is_for_programs():
    entry = json.loads(call("describe", "lvm", "--json").output)
    assert entry["kind"] == "extenders"
    assert entry["parameters"][0]["default"] == "3"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "lle"], ["extenders/lle", "embeddings/lle"]),
        (["describe", "sossi"], ["sosi"]),
        (["describe", "extendrs/lle"], ["extenders/lle"]),
        (["describe", "no.such.module:Class"], ["package.module:Class"]),
        (["describe", "--check", "pathlib:Path"], ["Embedding, Extender, Classifier"]),
        (["describe", "--check", "precomputed"], ["coordinates from elsewhere"]),
        (["describe", "--check", "coil20"], ["coil20", "Embedding, Extender, Classifier"]),
        (["describe", "--check", "misclassification_rate"], ["Embedding, Extender, Classifier"]),
    ],
)
def test_a_wrong_name_is_one_line_and_exit_code_2(arguments, words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert len(message.splitlines()) == 1
    assert all(word in message for word in words), message


def test_check_of_ones_own_method_names_the_broken_promise(tmp_path):
    (tmp_path / "mine.py").write_text(BROKEN)
    command = [sys.executable, "-m", "manifold_oos", "describe", "--check", "mine:Broken"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    assert "✗ Where ``interpolates`` says so" in result.stdout
    assert "✓ New points get finite coordinates" in result.stdout
    assert "✓ scikit-learn's own checks" in result.stdout


OWN = '''
from manifold_oos.embeddings.base import Embedding

class FirstColumns(Embedding):
    """The first columns are the coordinates."""
    name = "first_columns"
    def __init__(self, n_components=1):
        self.n_components = n_components
    def _fit(self, X, y):
        if self.n_components > X.shape[1]:
            raise ValueError(f"n_components = {self.n_components} is more than {X.shape[1]} features")
        return X[:, : self.n_components].copy()

class Careless(FirstColumns):
    """Converts its parameters at once, which scikit-learn's checks forbid."""
    name = "careless"
    def __init__(self, n_components=1):
        self.n_components = int(n_components)

class Mute(FirstColumns):
    """Forgets to return the coordinates."""
    name = "mute"
    def _fit(self, X, y):
        self.embedding_ = X
'''


@pytest.mark.parametrize(
    ("cls", "code", "words"),
    [
        ("FirstColumns", 0, ["7 of 7 promises kept"]),
        ("Careless", 1, ["✗ scikit-learn's own checks", "check_do_not_raise_errors_in_init"]),
        ("Mute", 1, ["embedding_ is NoneType; _fit must return the coordinates"]),
    ],
)
def test_check_of_ones_own_embedding(cls, code, words, tmp_path, monkeypatch):
    (tmp_path / f"own_{cls.lower()}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    result = call("describe", "--check", f"own_{cls.lower()}:{cls}")
    assert result.exit_code == code, result.output
    assert all(word in result.output for word in words), result.output


def test_ones_own_embedding_in_a_config(tmp_path, monkeypatch):
    (tmp_path / "own_config.py").write_text(OWN)
    (tmp_path / "own.yaml").write_text(
        "dataset: {name: digits, per_class: 6, classes: 3}\nembedding: own_config:FirstColumns\nextender: linear\n"
        "split: {train_per_class: 3, repetitions: 2}\n"
    )
    monkeypatch.chdir(tmp_path)
    result = call("run", "own.yaml", "--workers", "1")
    assert result.exit_code == 0, result.output
    assert "2 lines computed" in result.output


def test_a_file_that_cannot_be_read_or_written_is_one_line(monkeypatch, capsys):
    def full(kind):
        raise OSError(28, "No space left on device", "results/table.csv")

    monkeypatch.setattr("manifold_oos.cli.listing.catalogue", full)
    with pytest.raises(SystemExit) as stop:
        main(["list", "configs"])
    assert stop.value.code == 2
    message = "moos: results/table.csv: cannot be read or written (No space left on device)\n"
    assert capsys.readouterr().err == message


def test_version():
    from manifold_oos import __version__

    assert call("--version").output == f"moos, version {__version__}\n"


def test_cost_of_a_fit_is_told_before_it_is_made(monkeypatch):
    monkeypatch.setenv("MOOS_MEMORY", str(2**33))
    output = call("describe", "isomap", "--cost", "N=100000").output
    assert "Memory: 149.0 GiB, 2*N*N floats; there are 8.0 GiB" in output
    assert "Instead: landmark_isomap or ltsa" in output
    assert "Cost: Shortest paths from every point" in output
    assert "Instead" not in call("describe", "embeddings/lle", "--cost", "N=100000,D=50,d=3").output
    small, large = (call("describe", "sosi", "--cost", f"N=200,Q={Q}").output for Q in (100, 20_000))
    assert "MiB" in small.splitlines()[1] and "GiB" in large.splitlines()[1].partition("floats")[0]


@pytest.mark.parametrize("cost", ["100000", "N=many", "n=5", "N=0", "N=10,D=-1", "N=inf"])
def test_a_cost_that_cannot_be_told_says_how_to_ask(cost, capsys):
    with pytest.raises(SystemExit):
        main(["describe", "isomap", "--cost", cost])
    assert "write N=100000" in capsys.readouterr().err


def test_costs_are_told_of_embeddings_and_extenders(capsys):
    with pytest.raises(SystemExit):
        main(["describe", "coil20", "--cost", "N=10"])
    assert "told of embeddings and extenders" in capsys.readouterr().err
    assert "Memory: not stated" in call("describe", "umap", "--cost", "N=10").output


def test_a_shell_can_complete_commands():
    environment = {**os.environ, "_MOOS_COMPLETE": "bash_complete", "COMP_WORDS": "moos ne", "COMP_CWORD": "1"}
    code = "from manifold_oos.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["plain,new"]
