"""Runs every block of code in README, CONTRIBUTING and docs; what is marked long or network is parsed instead.

The convention is in CONTRIBUTING.md. A page is a session: its blocks run from top to bottom in one empty folder.
"""

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click
import matplotlib
import pytest
import yaml

from manifold_oos.cli import main, moos
from manifold_oos.config.load import load_config
from manifold_oos.errors import ConfigError

matplotlib.use("Agg")
ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if path.parent.name != "methods" and path.name != "reproduction.md"
]
FENCE = re.compile(
    r'(?:^<!-- test: (?P<mark>[^\n]*) -->\n)?^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?(?P<rest>[^\n]*)\n'
    r"(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LANGUAGES = ("bash", "python", "yaml", "text")
#: What a marked block may call besides moos; files among their arguments must exist.
OTHERS = ("make", "python", "pip", "source", "dask")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, file name, mark and text."""

    language: str
    title: str | None
    mark: str | None
    body: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        assert match["language"] in LANGUAGES and not match["rest"].strip(), (
            f"line {line}: a block of no known kind"
        )
        assert match["mark"] in (None, "long", "network"), f"line {line}: no such mark: {match['mark']}"
        yield Block(match["language"], match["title"], match["mark"], match["body"], line)


def commands(body: str) -> Iterator[list[str]]:
    """The words of each command of a bash block; comments and continued lines are understood."""
    for line in body.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


def parse(command: click.Command, words: list[str], name: str) -> None:
    """Parse words against a command line without running anything; a wrong one is a UsageError."""
    context = command.make_context(name, list(words))
    if isinstance(command, click.Group):
        rest = [*context._protected_args, *context.args] if hasattr(context, "_protected_args") else context.args
        _, below, rest = command.resolve_command(context, rest)
        assert below is not None
        parse(below, rest, f"{name} {below.name}")


def check_marked(words: list[str]) -> None:
    """That a command which is not run exists with its options, and the files that it names."""
    program, *arguments = words
    if program == "moos":
        parse(moos, arguments, "moos")
    elif program == "dask":
        (command,) = entry_points(group="dask_cli", name=arguments[0])
        parse(command.load(), arguments[1:], f"dask {arguments[0]}")
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(arguments) <= set(targets), f"make {arguments}: there is {targets}"
    else:
        assert program in OTHERS, f"{program}: a command that the test does not know"
    for word in arguments:
        if word.startswith(("configs/", "scripts/", "benchmarks/", "docs/")):
            assert (ROOT / word).is_file(), f"{word}: no such file"
    if program == "python" and (arguments[0] == "-m" or "/" in arguments[0]):
        at = f"{arguments[1].replace('.', '/')}.py" if arguments[0] == "-m" else arguments[0]
        source = (ROOT / at).read_text()
        for option in [word for word in arguments if word.startswith("--")]:
            assert f'"{option}"' in source, f"{at} has no {option}"


def run(words: list[str]) -> None:
    """Run a command of a block in this process; it must succeed."""
    program, *arguments = words
    if program == "python":
        script = ROOT / arguments[0]
        namespace: dict[str, Any] = {"__name__": "a_script", "__file__": str(script)}
        exec(compile(script.read_text(), str(script), "exec"), namespace)
        assert namespace["main"](arguments[1:]) == 0
        return
    assert program == "moos", f"{program}: mark the block as long or network"
    if arguments[0] in ("run", "sweep") and "--workers" not in arguments and "--dry-run" not in arguments:
        arguments += ["--workers", "1"]  # the same numbers without the start of processes
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code in (0, None), f"exit code {stop.value.code}"


def skeleton(line: str) -> str:
    """A line of output without its numbers and spaces."""
    return re.sub(r"\d+([.]\d+)?", "#", re.sub(r"\s+", " ", line).strip())


def small_configs(folder: Path) -> None:
    """A copy of the shipped configs with two splits, the digits having few classes and samples."""
    for source in (ROOT / "configs").rglob("*.yaml"):
        target = folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        tree = yaml.safe_load(source.read_text(encoding="utf-8"))
        for data in tree.get("datasets", []):
            if isinstance(data, dict) and data["name"] == "digits":
                data |= {"classes": 4, "per_class": 20}
        if source.stem == "quickstart":
            tree["datasets"] = [data for data in tree["datasets"] if data["name"] == "digits"]
        if isinstance(tree.get("split"), dict):
            tree["split"]["repetitions"] = 2
        target.write_text(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True), encoding="utf-8")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """A results root that all pages share: what one has run the next finds in the store."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture
def workplace(tmp_path, monkeypatch, results) -> Iterator[Path]:
    """An empty folder with small configs."""
    small_configs(tmp_path)
    (tmp_path / "results").symlink_to(results)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("MOOS_DATA", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.filterwarnings("ignore")
def test_page(page, workplace):
    printed = io.StringIO()
    names: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}, line {block.line}"
        try:
            if block.mark:
                assert block.language == "bash", "only bash may be marked"
                for words in commands(block.body):
                    check_marked(words)
            elif block.title:
                (workplace / block.title).write_text(block.body, encoding="utf-8")
                if block.title.endswith(".yaml"):
                    load_config(block.title)
            elif block.language == "bash":
                with contextlib.redirect_stdout(printed):
                    for words in commands(block.body):
                        run(words)
            elif block.language == "python":
                with contextlib.redirect_stdout(printed):
                    exec(compile(block.body, where, "exec"), names)
            elif block.language == "yaml":
                assert isinstance(yaml.safe_load(block.body), dict)
            else:
                have = {skeleton(line) for line in printed.getvalue().splitlines()}
                missing = [line for line in block.body.splitlines() if line.strip() and skeleton(line) not in have]
                assert not missing, f"not printed: {missing}"
        except BaseException as error:
            error.add_note(f"in {where}:\n{block.body}")
            raise


def test_unknown_options_are_found():
    with pytest.raises(click.UsageError):
        check_marked(["moos", "run", "configs/quickstart.yaml", "--repetitions", "3"])
    with pytest.raises(ConfigError, match="no such command"):
        check_marked(["moos", "swep", "--param", "sigma"])
    with pytest.raises(AssertionError, match="no such file"):
        check_marked(["moos", "run", "configs/none.yaml"])
    with pytest.raises(AssertionError, match="has no --nothing"):
        check_marked(["python", "-m", "manifold_oos.reporting.pages.readme_table", "--nothing"])


def test_marks_and_languages_are_known():
    good = "<!-- test: long -->\n```bash\nmoos check  # all\n```\n"
    (block,) = blocks(good)
    assert block.mark == "long" and list(commands(block.body)) == [["moos", "check"]]
    with pytest.raises(AssertionError, match="no such mark"):
        list(blocks(good.replace("long", "lazy")))
    with pytest.raises(AssertionError, match="no known kind"):
        list(blocks(good.replace("bash", "sh")))
