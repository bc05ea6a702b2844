"""Generated pages are up to date, the site builds without a warning, the README's table is that of its sources."""

import importlib.util
import re
from pathlib import Path

import pytest

from manifold_oos.config.load import load_config
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.registry import KINDS, available
from manifold_oos.reporting.pages import readme_table as tool
from manifold_oos.reporting.pages.common import between
from manifold_oos.results.collect import collect, locate

ROOT = Path(__file__).parents[2]


def script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs/builders" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date(capsys):
    code = script("method_pages").main(["--check"])
    assert code == 0, f"run python docs/builders/method_pages.py: {capsys.readouterr().out}"


def test_docstrings_become_markdown():
    pages = script("method_pages")
    text = "Least\n\n.. math:: a = b,\n    \\quad c\n\nof :class:`~x.y.Z` and ``p = 1`` with :math:`x_i` [2]_."
    assert pages.from_rst(text) == "Least\n\n\n$$\na = b, \\quad c\n$$\n\nof `Z` and `p = 1` with $x_i$ [2]."
    assert pages.references(".. [1] A,\n   B.\n.. [2] C.") == "[1] A, B.  \n[2] C.  "
    assert pages.cell('a | b\n"c"') == 'a \\| b "c"'


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_method_has_page_and_picture(kind):
    for name in available(kind):
        page = (ROOT / "docs" / "methods" / f"{kind}_{name}.md").read_text(encoding="utf-8")
        assert "**Cost:**" in page and "**Leave it:**" in page
        assert not re.search(r":math:|:class:|\.\. |``", page), "reStructuredText is left"
        assert page.count("$") % 2 == 0
        assert (ROOT / "docs" / "images" / "methods" / f"{kind}_{name}.png").is_file(), (
            f"run python docs/builders/method_pictures.py {kind}/{name}"
        )


def test_images_are_small():
    assert sum(path.stat().st_size for path in (ROOT / "docs" / "images").rglob("*.png")) < 3e6


def test_the_site_builds_without_warnings(tmp_path, monkeypatch):
    from mkdocs.commands.build import build
    from mkdocs.config import load_config as load_site

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    build(load_site(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(tmp_path / "site")))
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html")]
    assert sum(page.count("<math ") for page in pages) > 100
    assert not any("arithmatex" in page or re.search(r"\\(?:frac|mathrm|top)\b", page) for page in pages)


def test_formulas_become_mathml():
    mathml = script("mathml").to_mathml(r"w = \arg\min_v \|x - v\|^2", display=True)
    assert 'display="block"' in mathml and ">arg<" in mathml and "\\" not in mathml
    with pytest.raises(ValueError, match=r"\\nonsense in the formula"):
        script("mathml").to_mathml(r"a \nonsense b", display=False)


def test_a_wide_formula_falls_into_parts():
    parts = script("mathml").parts_of(r"a = \left\{ b \quad c \right\}, \qquad d_{e \quad f} = g \quad h")
    assert parts == [r"a = \left\{ b \quad c \right\},", r"d_{e \quad f} = g", "h"]
    assert script("mathml").to_mathml(r"a \qquad b", display=True).count("<math ") == 2


def test_links_between_files_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (ROOT / target).exists(), f"{page.name}: {target}"


def readme_numbers() -> dict[tuple[str, float], float]:
    """The published numbers of the README's table by arm and size."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("<!-- table: begin")[1].split("<!-- table: end")[0]
    header, _, *rows = [line for line in table.splitlines() if line.startswith("|")]
    sizes = [float(word.split()[0]) for word in header.strip("|").split("|")[1:]]
    found = {}
    for row in rows:
        arm, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        for size, cell in zip(sizes, cells, strict=True):
            found[arm, size] = float(re.search(r"\(([\d.]+)\)", cell)[1])
    return found


def test_published_numbers_of_the_readme_are_the_config_s():
    printed = {(n.arm, n.size): n.value for n in load_config(ROOT / "configs/nsse/coil20.yaml").published_numbers()}
    numbers = readme_numbers()
    assert numbers and all(printed[key] == value for key, value in numbers.items())


CONFIG = """
title: Tiny
paper: tiny
dataset: {name: digits, classes: 3, per_class: 12}
split: {train_per_class: [3, 6], repetitions: 2}
arms:
  NN: {classifier: nn}
  kNN: {classifier: {name: nn, n_neighbors: {grid: [1, 3]}}}
selection: [{paper: {"*": best}}]
published: {source: Table 9, selection: paper, values: {misclassification_rate: {digits: {NN: {3: 50.0, 6: 0.5}}}}}
"""


def test_the_readme_s_table_comes_from_the_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(CONFIG)
    Path("README.md").write_text(f"before\n{tool.BEGIN}\nold\n{tool.END}\nafter\n")
    arguments = ["tiny.yaml", "--arms", "NN", "--workers", "1"]
    assert tool.main(arguments) == 0
    text = Path("README.md").read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "\nold\n" not in text
    assert "| NN |" in text and "kNN" not in text and "Table 9" in text and "2 random splits" in text
    assert "python -m manifold_oos.reporting.pages.readme_table tiny.yaml --arms NN\n" in text
    cells = locate("tiny.yaml").collect().cells
    expected = cells[(cells["arm"] == "NN") & (cells["metric"] == "misclassification_rate")]["mean"]
    assert len(expected) == 2 and all(f"{mean:.2f} ±" in text for mean in expected)
    assert tool.main(arguments) == 0
    assert Path("README.md").read_text() == text
    assert "0 lines computed" in capsys.readouterr().out.splitlines()[-1]


def test_the_tutorial_s_numbers_are_those_of_the_quick_start(tmp_path):
    arms = ["NN", "SVM", "RBF", "LLE"]
    part = reduce_experiment(load_config(ROOT / "configs" / "quickstart.yaml"), datasets=["digits"], arms=arms)
    summary = run_experiment(part, tmp_path, 1)
    with Store(tmp_path) as store:
        cells = collect(part, store, plan=summary.plan).cells
    cells = cells[cells["metric"] == "misclassification_rate"].sort_values("size")
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    for arm in arms:
        shown = re.search(rf"^ {arm} +fixed +([\d.]+) ± [\d.]+ +([\d.]+) ±", text, re.MULTILINE)
        assert [float(mean) for mean in shown.groups()] == pytest.approx(
            cells[cells["arm"] == arm]["mean"].tolist(), abs=0.2
        )


def test_a_readme_without_markers_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="needs the lines"):
        between("no markers", tool.BEGIN, tool.END, "table")


def test_extenders_that_are_behind_at_first_contact_say_why():
    """More than five points behind the best somewhere, by the page's first table: the docstring has the reason."""
    page = (ROOT / "docs/first_contact.md").read_text(encoding="utf-8")
    first = page.split("\n## ")[1].splitlines()
    assert first[0].startswith("Points behind the best extender")
    behind = {}
    for line in first[4:]:
        name, *cells = (cell.strip() for cell in line.strip("| ").split("|"))
        behind[name] = max(float(cell) for cell in cells if cell != "–")
    extenders = available("extenders")
    assert set(behind) == set(extenders)
    silent = [name for name, most in behind.items() if most > 5 and "First contact:" not in extenders[name].__doc__]
    assert not silent, silent
    for data in ("digits", "usps", "coil20", "orl"):
        peers = page.split(f"## {data}: without labels")[1].split("\n## ")[0]
        assert all(f"| {name} |" in peers for name in ("manifold_oos", "umap-learn", "openTSNE", "PaCMAP"))
