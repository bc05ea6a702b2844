"""Digests of what determines a number: data, split, methods with their source, how grids are decided."""

import ast
import hashlib
import io
import json
import sys
import tokenize
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from manifold_oos import registry
from manifold_oos.config.model import Arm, Data, Experiment, Method, Protocol
from manifold_oos.config.values import is_by_dataset, literals
from manifold_oos.engine.splits import DataFacts, DataRef, SplitRef
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import METRICS
from manifold_oos.outlines import outline
from manifold_oos.registry import KINDS
from manifold_oos.remembered import remembered

PACKAGE = "manifold_oos"
#: Modules whose source is in no key: they word errors, say which parameters and sizes are refused, and name types.
#: What they let through is computed elsewhere, so that an edit of theirs cannot change a number.
NUMBERLESS = frozenset(f"{PACKAGE}.{name}" for name in ("arrays", "constraints", "costs", "errors"))


@cache
def source_digest(module: str) -> str:
    """A digest of a module and of every module of this package that it imports, directly or not, but NUMBERLESS."""
    return str(_shipped_digests().get(module) or _source_digest(module))


@cache
def _shipped_digests() -> Mapping[str, str]:
    """Those of every method and data set of the package."""
    kinds = (*KINDS.values(), "datasets")
    modules = {listing.module for kind in kinds for listing in registry.index(kind).values()}
    digests: dict[str, str] = remembered("digests", lambda: {module: _source_digest(module) for module in modules})
    return digests


def _source_digest(module: str) -> str:
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
            ours = {other for other in _imports(file, name) if other.startswith(f"{PACKAGE}.")}
            waiting += ours - NUMBERLESS
    return seen


@cache
def _file(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    origin = getattr(loaded, "__file__", None)
    if origin is None:
        origin = registry.source_of(module)
    path = Path(origin) if origin else None
    return path if path and path.suffix == ".py" and path.is_file() else None


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def _code(file: Path) -> bytes:
    """The source without comments, docstrings and blank lines: the same bytes for every version of Python."""
    text = file.read_text(encoding="utf-8")
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in [_tree(file), *_statements(file)]:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                for row in range(first.lineno - 1, first.end_lineno or first.lineno):
                    lines[row] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


def _statements(file: Path) -> list[ast.AST]:
    """Every statement, also inside others: where imports and docstrings are, without the expressions between."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [_tree(file)]
    while waiting:
        node = waiting.pop()
        for key in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, key, ())
            waiting += inner
            found += inner
    return found


@cache
def _imports(file: Path, module: str) -> list[str]:
    names = []
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in _statements(file):
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


def as_json(value: Any) -> str:
    """A value as JSON with sorted keys; numbers of NumPy as plain ones."""
    return json.dumps(value, sort_keys=True, default=lambda item: item.item(), ensure_ascii=False)


#: Raise when the engine itself computes a number differently: stored rows are then computed again.
ENGINE = 2


def facts_key(ref: DataRef) -> str:
    """What a data set is remembered by: its name and options, not its label or folder."""
    return as_json([ref.name, ref.options])


def arm_part(experiment: Experiment, arm: Arm, protocol: Protocol | None, data: Data) -> str:
    """The part of a line's key that the arm determines: its stages, their source, and how grids are decided."""
    selection: Any = "fixed"
    if protocol is not None:
        cv = experiment.cv_of(protocol, arm).model_dump() if protocol.name != "best" else None
        score = score_metric(experiment, arm, protocol) if protocol.name != "best" else None
        selection = [protocol.name, protocol.rules, cv, score]
    stages = {
        stage: [method.name, _for_dataset(method.parameters, data.label), _sources(stage, method)]
        for stage, method in arm.methods().items()
    }
    return _digest([ENGINE, stages, arm.batch, selection])


def split_part(split: SplitRef, facts: DataFacts) -> str:
    """The part of a line's key that the points determine: the data, their options and the split."""
    kind = split.split.kind
    rules = {"kind": kind, "size": float(split.size), "repetition": split.repetition, "seed": split.split.seed}
    rules |= {key: getattr(split.split, key) for key in ("stratified", "n_test", "redraw")}
    if kind == "half_space" and split.split.half_space:
        rules["half_space"] = split.split.half_space.model_dump(exclude={"quantile"})
    if kind == "draws" and split.split.draws:
        rules["test"] = split.split.draws.test
    drawn_by = source_digest(registry.module_of("datasets", split.data.name)) if split.drawn else None
    return _digest([split.data.name, split.data.options, facts.fingerprint, drawn_by, rules])


def _digest(content: Any) -> str:
    return hashlib.sha256(as_json(content).encode()).hexdigest()[:32]


def score_metric(experiment: Experiment, arm: Arm, protocol: Protocol | None) -> str:
    """What cross-validation looks at: its own metric, or the first of the experiment's that the arm has."""
    own = experiment.cv_of(protocol, arm).metric
    if own is not None:
        if own not in METRICS:
            raise ConfigError(f"cv.metric: no metric {own} (moos list metrics)")
        return own
    possible = {"batch", "parameters", "inputs"} if arm.embedding else set()
    possible |= {"labels"} if arm.classifier or arm.extender else set()
    return next((name for name in experiment.metrics if METRICS[name].needs in possible), "misclassification_rate")


def _for_dataset(value: Any, label: str) -> Any:
    """A value of the config with what is said of other data sets left out."""
    if is_by_dataset(value):
        options = value["by_dataset"]
        return _for_dataset(options.get(label, options.get("default")), label)
    if isinstance(value, Mapping):
        return {key: _for_dataset(item, label) for key, item in value.items()}
    return value


def _content(path: str) -> str:
    """A digest of the content of a file that a method reads."""
    try:
        return hashlib.sha256(Path(path).expanduser().read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error


def _sources(stage: str, method: Method) -> list[str]:
    """Digests of the module of a method and of the methods that it is given by name."""
    digests = [source_digest(registry.module_of(KINDS[stage], method.name))]
    files = outline(KINDS[stage], method.name).files
    for inner, value in method.parameters.items():
        if inner in files:
            digests += [_content(path) for path in literals(value) if isinstance(path, str)]
        if inner in KINDS and isinstance(value, str | Mapping):
            digests += _sources(inner, Method.model_validate(value))
    return digests
