"""Changes one thing in numerics or metrics at a time and sees whether the tests notice (``make mutants``).

``python tests/mutation/mutants.py [MODULE ...] [--sample N] [--seed S] [--minutes M]``: a seeded sample of the
changes of each module, each in a copy of the repository and a process of its own, against the tests of that module
that need no real data, compiled code as Python. What no test notices is printed with its place. Where it changes
nothing that a test should notice, ``equivalent.yaml`` beside this file says why; the rest is a missing test, and
the exit code is 1.
"""

import argparse
import ast
import importlib
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numba
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGE = "manifold_oos"
#: The tests of each module, the nearest first; its own examples come before them.
TESTS = {
    "numerics/alignment.py": ["numerics/test_alignment.py", "embeddings/test_local_alignment.py"],
    "numerics/basis_pursuit.py": ["numerics/test_basis_pursuit.py", "extenders/test_sparse.py"],
    "numerics/centers.py": ["extenders/test_centers.py", "embeddings/test_centers.py"],
    "numerics/chunks.py": ["numerics/test_chunks.py", "test_lazy_arrays.py"],
    "numerics/compiled/active_set.py": ["numerics/test_convex_weights.py"],
    "numerics/compiled/l1_simplex.py": ["numerics/test_basis_pursuit.py", "extenders/test_sparse.py"],
    "numerics/components.py": ["numerics/test_geodesics.py", "numerics/test_graphs.py",
                               "embeddings/test_iso_krr.py", "embeddings/test_laplacian_eigenmaps.py"],
    "numerics/convex_weights.py": ["numerics/test_convex_weights.py"],
    "numerics/eigen.py": ["numerics/test_eigen.py", "embeddings/test_suplap.py", "embeddings/test_centers.py"],
    "numerics/geodesics.py": ["numerics/test_geodesics.py", "embeddings/test_isomap.py"],
    "numerics/graphs.py": ["numerics/test_graphs.py", "embeddings/test_suplap.py",
                           "embeddings/test_laplacian_eigenmaps.py"],
    "numerics/kernels.py": ["numerics/test_kernel_matrix.py", "extenders/test_rbf.py",
                            "extenders/test_normalized_rbf.py"],
    "numerics/nearest.py": ["numerics/test_nearest.py"],
    "numerics/rbf.py": ["extenders/test_rbf.py", "extenders/test_centers.py", "extenders/test_sosi.py"],
    "numerics/rbf_scales.py": ["extenders/test_rbf.py", "extenders/test_sosi.py"],
    "numerics/shared.py": ["numerics/test_shared.py", "numerics/test_kernel_matrix.py", "numerics/test_graphs.py"],
    "numerics/splines.py": ["numerics/test_splines.py", "numerics/test_alignment.py"],
    "metrics.py": ["test_metrics.py", "test_placement.py"],
}  # fmt: skip
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.FloorDiv: "/", ast.Mod: "*",
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.And: "or", ast.Or: "and",
}  # fmt: skip
#: Arguments that change no result: checks of what is right, copies of what nobody changes, whom a warning names.
UNSEEN = ("check_finite", "copy", "strict", "stacklevel")
#: Functions of two arguments in either order.
SYMMETRIC = ("min", "max", "minimum", "maximum")
#: Modules whose tests compile what others have: they take too long as Python.
COMPILED = ("numerics/nearest.py",)
#: Least seconds of a mutant; beyond this and three times what the tests usually take, it counts as noticed.
SECONDS = 10
#: What its tests import of others, once before the processes part.
HEAVY = (
    "hypothesis", "matplotlib.pyplot", "osqp", "pandas", "pydantic", "pytest", "scipy.optimize",
    "scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.stats", "sklearn.datasets", "sklearn.decomposition",
    "sklearn.ensemble", "sklearn.manifold", "sklearn.model_selection", "sklearn.pipeline", "sklearn.svm",
    "sklearn.utils.estimator_checks", "yaml",
)  # fmt: skip


class Change(NamedTuple):
    """Characters of a file and what stands there instead."""

    start: int
    end: int
    text: str


class Changes(ast.NodeVisitor):
    """Every change of a source: operators, signs, numbers, order of arguments, ends of slices, lines left out."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line.encode()))
        self.found: list[Change] = []
        self.visit(ast.parse(source))

    def place(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        start, end = self.place(node)
        return self.source.encode()[start:end].decode()

    def replace(self, node: ast.AST, text: str) -> None:
        self.found.append(Change(*self.place(node), text))

    def between(self, left: ast.AST, right: ast.AST, operator: ast.AST) -> None:
        """Another operator between two operands."""
        if (new := OPERATORS.get(type(operator))) is not None:
            start, end = self.place(left)[1], self.place(right)[0]
            old = self.source.encode()[start:end].decode()
            core = old.strip(" ()\n\\")
            if core and "#" not in old:
                at = start + len(old[: old.index(core)].encode())
                self.found.append(Change(at, at + len(core.encode()), new))

    def body(self, nodes: list[ast.stmt]) -> None:
        for i, node in enumerate(nodes):
            expression = node.value if isinstance(node, ast.Expr) else None
            if i == 0 and isinstance(expression, ast.Constant):
                continue  # a docstring
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            dropped = isinstance(node, ast.AugAssign | ast.Continue | ast.Break)
            if expression is not None or dropped or isinstance(target, ast.Attribute | ast.Subscript):
                self.replace(node, "pass")
            self.visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                self.body(value)
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, ast.AST):
                    self.visit(item)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in UNSEEN:
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages are words."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Messages are words."""

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.between(node.values[0], node.values[1], node.op)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.between(node.left, node.comparators[0], node.ops[0])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if (new := OPERATORS.get(type(node.op))) is not None:
            self.replace(node, f"{self.text(node.target)} {new}= {self.text(node.value)}")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not):
            self.replace(node, f"({self.text(node.operand)})")
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self.replace(node.test, f"not ({self.text(node.test)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self.replace(node, str(node.value + 1))
        elif isinstance(node.value, float):
            self.replace(node, repr(2 * node.value if node.value else 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        either_way = self.text(node.func).removeprefix("np.") in SYMMETRIC
        if len(plain) > 1 and not either_way and ast.dump(plain[0]) != ast.dump(plain[1]):
            start, end = self.place(plain[0])[0], self.place(plain[1])[1]
            between = self.source.encode()[self.place(plain[0])[1] : self.place(plain[1])[0]].decode()
            self.found.append(Change(start, end, self.text(plain[1]) + between + self.text(plain[0])))
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                self.replace(bound, "")
        self.generic_visit(node)


def mutants(source: str) -> list[tuple[str, int, str, str]]:
    """Changed source, line, the line before and after, of every change that compiles to something else."""
    found, encoded = {}, source.encode()
    same = ast.dump(ast.parse(source))
    for change in Changes(source).found:
        new = (encoded[: change.start] + change.text.encode() + encoded[change.end :]).decode()
        try:
            if ast.dump(ast.parse(new)) == same:
                continue
        except SyntaxError:
            continue
        line = encoded[: change.start].count(b"\n")
        height = encoded[change.start : change.end].count(b"\n") + 1
        was = " ".join(part.strip() for part in source.splitlines()[line : line + height])
        now = " ".join(part.strip() for part in new.splitlines()[line : line + 1 + change.text.count("\n")])
        found[new] = (new, line + 1, was, now)
    return list(found.values())


def passes(copy: Path, tests: list[str], seconds: float, compiled: bool) -> tuple[bool, float]:
    """Whether the tests pass in a copy of the repository, and the processor's seconds; too many are a failure."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
            signal.alarm(60 + 20 * math.ceil(seconds))  # one that waits forever
            os.chdir(copy)
            numba.config.DISABLE_JIT = int(not compiled)
            sys.path[:0] = [str(copy)]
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status) == 0, used.ru_utime + used.ru_stime


def survivors(copy: Path, module: str, sample: int, seed: int, left: float) -> Iterator[str]:
    """What no test of a module notices within the seconds that are left."""
    file, source = copy / PACKAGE / module, (ROOT / PACKAGE / module).read_text(encoding="utf-8")
    tests = [f"{PACKAGE}/{module}", *(f"tests/{name}" for name in TESTS[module])]
    fine, usual = passes(copy, tests, 900, module in COMPILED)
    if not fine:
        yield f"{module}: its tests fail without any change"
        return
    known = {(entry["was"], entry["now"]): entry["why"] for entry in equivalent().get(module, [])}
    every = mutants(source)
    tried = noticed = explained = 0
    spent = usual
    for new, line, was, now in random.Random(f"{seed} {module}").sample(every, min(sample, len(every))):
        if spent > left:
            break
        tried += 1
        if (was, now) in known:
            explained += 1
            continue
        file.write_text(new, encoding="utf-8")
        alive, seconds = passes(copy, tests, SECONDS + 3 * usual, module in COMPILED)
        spent += seconds
        noticed += not alive
        if alive:
            yield f"{PACKAGE}/{module}:{line}\n  - {was}\n  + {now}"
    file.write_text(source, encoding="utf-8")
    counts = f"{tried} of {len(every)} changes, {noticed} noticed, {explained} equivalent"
    print(f"{module}: {counts}, {tried - noticed - explained} not; {spent:.0f} s", flush=True)


def equivalent() -> dict[str, list[dict[str, str]]]:
    """Changes that nobody can notice, by module, with the reason."""
    return yaml.safe_load((Path(__file__).parent / "equivalent.yaml").read_text(encoding="utf-8")) or {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=list(TESTS), help="such as numerics/eigen.py; all by default")
    parser.add_argument("--sample", type=int, default=12, help="changes of each module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60, help="of the processor, for all modules alike")
    options = parser.parse_args()
    share = 60 * options.minutes / len(options.modules)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for name in ("MOOS_DATA", "MOOS_REQUIRE_DATA"):
        os.environ.pop(name, None)
    sys.dont_write_bytecode = True
    for name in HEAVY:
        importlib.import_module(name)
    left = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder)
        ignored = shutil.ignore_patterns("__pycache__")
        for name in (PACKAGE, "tests", "configs", "datasets", "docs/methods"):
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        for module in options.modules:
            for text in survivors(copy, module, options.sample, options.seed, share):
                left += 1
                print(text, flush=True)
    print(f"{left} survivors")
    return int(left > 0)


if __name__ == "__main__":
    raise SystemExit(main())
