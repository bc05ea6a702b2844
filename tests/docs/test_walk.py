"""The walk in CONTRIBUTING is that of the code: every function is there and calls the next."""

import ast
import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]


def walk():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- walk: begin -->(.*?)<!-- walk: end -->", text, re.DOTALL)[1]
    return re.findall(r"^\d+\. `([\w/.]+): ([\w.]+)`", block, re.MULTILINE)


def function(file, name):
    scope = ast.parse((ROOT / "manifold_oos" / file).read_text(encoding="utf-8")).body
    for part in name.split("."):
        node = next(node for node in scope if getattr(node, "name", None) == part)
        scope = node.body
    return node


def test_each_function_calls_the_next():
    steps = walk()
    assert 5 <= len(steps) < 10
    for (file, name), (_, following) in pairwise(steps):
        called = {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(function(file, name))}
        assert following.split(".")[-1] in called, f"{file}: {name} does not call {following}"


def test_the_functions_named_after_it_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py): ([\w.]+)`", text)
    assert len(named) > len(walk()) + 3
    assert all(function(file, name) for file, name in named)
