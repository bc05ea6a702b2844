"""Digests of source code, so that a number is computed again when the method behind it has changed."""

import ast
import hashlib
import importlib.util
import sys
from functools import cache
from pathlib import Path

PACKAGE = "manifold_oos"


@cache
def source_digest(module: str) -> str:
    """A digest of a module and of every module of this package that it imports, directly or not.

    Parameters
    ----------
    module : str
        Dotted name, of this package or a user's own.

    Returns
    -------
    str
        Hexadecimal; comments and blank lines do not change it.
    """
    digest = hashlib.sha256()
    for name in sorted(_closure(module)):
        file = _file(name)
        if file is not None:
            digest.update(name.encode())
            digest.update(_code(file))
    return digest.hexdigest()[:16]


def _closure(module: str) -> set[str]:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        file = _file(name)
        if file is not None:
            waiting += [other for other in _imports(file, name) if other.startswith(f"{PACKAGE}.")]
    return seen


@cache
def _file(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    origin = getattr(loaded, "__file__", None)
    if origin is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec else None
    path = Path(origin) if origin else None
    return path if path and path.suffix == ".py" and path.is_file() else None


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def _code(file: Path) -> bytes:
    """The code without docstrings and comments: what they say does not change a number."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree).encode()


def _imports(file: Path, module: str) -> list[str]:
    names = []
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
            # A name that is imported may be a module itself; one that is not has no file and is passed over.
            names += [base, *(f"{base}.{alias.name}" for alias in node.names if base.startswith(PACKAGE))]
    return names
