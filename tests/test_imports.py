"""Imports point one way: a room uses those below it, never those above, and siblings only where stated."""

import ast
import subprocess
import sys
from pathlib import Path

from manifold_oos import registry

PACKAGE = Path(__file__).parents[1] / "manifold_oos"
#: From the top to the bottom; rooms of one row may not import each other unless SIBLINGS says so.
ROWS = [
    ["cli"],
    ["regression", "reporting"],
    ["results"],
    ["engine"],
    ["config"],
    ["watching"],
    ["streaming"],
    ["incoming"],
    ["contracts", "pipeline"],
    ["docstrings"],
    ["classifiers", "extenders", "embeddings", "datasets", "metrics", "model_files", "novelty", "probabilities"],
    ["placement"],
    ["outlines"],
    ["numerics"],
    ["costs", "registry"],
    ["remembered"],
    ["arrays", "atomic", "constraints", "errors", "lazy", "resources", "spreadsheet", "steps"],
]
#: Who may look sideways: an extender at the embedding that it extends, a classifier at how unlabelled points look.
SIBLINGS = {("regression", "reporting"), ("extenders", "embeddings"), ("classifiers", "extenders")}
MOST_MODULES = 15
#: Rooms in which one method is one file: these files do not count, only what stands beside them.
METHODS = ("embeddings", "extenders", "classifiers")
RANK = {room: i for i, row in enumerate(ROWS) for room in row}


def imports_of(file: Path) -> set[str]:
    """The modules of this package that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "manifold_oos":
            found |= {f"manifold_oos.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{file}: relative import"
            found.add(node.module)
    return {name for name in found if name.startswith("manifold_oos.")}


def room(name: str) -> str:
    return name.split(".")[1]


def test_imports_point_one_way():
    wrong = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] in ("__init__", "__main__"):
            continue
        here = parts[0]
        for name in sorted(imports_of(file)):
            there = room(name)
            if there not in RANK:  # an attribute of the package, such as __version__
                assert there.startswith("__"), f"{file}: {name} is in no room"
                continue
            down = RANK[here] < RANK[there] or here == there or (here, there) in SIBLINGS
            if not down:
                wrong.append(f"{'/'.join(parts)} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_every_room_has_its_row():
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__", "__main__"} == set(RANK)


def test_rooms_are_small():
    for folder in {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE, PACKAGE / "datasets"}:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        if folder.name in METHODS:
            methods = {registry.module_of(folder.name, name) for name in registry.index(folder.name)}
            modules = [path for path in modules if f"manifold_oos.{folder.name}.{path.stem}" not in methods]
        assert len(modules) <= MOST_MODULES, f"{folder.name} has {len(modules)} modules"


def test_a_class_name_stands_once():
    seen: dict[str, list[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                seen.setdefault(node.name, []).append(file.relative_to(PACKAGE).as_posix())
    assert not {name: files for name, files in seen.items() if len(files) > 1}


def test_gathering_results_draws_nothing():
    code = (
        "import sys; from manifold_oos.results.collect import locate, collect; "
        "import manifold_oos.reporting.write, manifold_oos.regression; "
        "print([name for name in ('matplotlib', 'plotly') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
