"""Outlines say of methods what the methods say of themselves, without importing them."""

import inspect
import itertools
import json
import os
import subprocess
import sys

import pytest

from manifold_oos import outlines, registry, remembered
from manifold_oos.constraints import make_constraint
from manifold_oos.outlines import Limit, Outline, extends, outline
from manifold_oos.registry import KINDS

METHODS = [(kind, name) for kind in KINDS.values() for name in registry.index(kind)]
#: What YAML can give for a parameter.
VALUES = [None, True, False, -1, 0, 1, 2, 7, 2**32 - 1, 2**32, -0.5, 0.0, 0.5, 1.0, 1.5, 1e9, float("inf")]
VALUES += [float("nan"), "", "auto", "connect", "gaussian", [], [1, 2], ["a"], {}, {"median": 1.5}]


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_a_limit_allows_what_scikit_learn_does(kind, name):
    stated = registry.available(kind)[name]._parameter_constraints
    limits = outlines._shipped()[kind][name].limits
    assert limits.keys() == stated.keys()
    words = [option for given in stated.values() for one in given for option in getattr(one, "options", ())]
    for key, given in stated.items():
        for limit, constraint in zip(limits[key], given, strict=True):
            theirs = make_constraint(constraint)
            for value in [*VALUES, *words]:
                assert limit.allows(value) == theirs.is_satisfied_by(value), (key, constraint, value)
            if limit.kind != "options":  # whose words scikit-learn lists in the order of a set
                assert limit.text == str(theirs)


def test_what_a_limit_does_not_know_is_left_to_fit():
    assert all(Limit.of(given).allows("any") for given in (callable, "sparse matrix", OSError, "nonsense"))


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_an_outline_is_that_of_the_class(kind, name):
    cls = registry.available(kind)[name]
    known = outlines._shipped()[kind][name]
    assert known.parameters == {
        key: "" if value is inspect.Parameter.empty else repr(value)
        for key, value in registry.signature(cls).items()
    }
    assert known.maps == hasattr(cls, "transform") and known.package == getattr(cls, "package", None)
    assert known.supervised == getattr(cls, "supervised", False)
    assert list(known.files) == list(getattr(cls, "files", ()))
    if kind == "extenders":
        pairs = registry.available("embeddings").items()
        assert all(extends(name, other) == cls.supports(embedding) for other, embedding in pairs)


def test_of_a_class_that_is_not_imported_nothing_is_known():
    with registry.trusting("none"):
        assert outline("extenders", "nowhere.at:All") == Outline("nowhere.at:All", None, maps=True)
        assert extends("nowhere.at:All", "isomap") and not extends("landmark", "nowhere.at:All")


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_text("{}"),
        lambda file: file.write_bytes(b"\xff\xfe"),
        lambda file: file.write_text(file.read_text().replace("first", "other")),
        lambda file: file.write_text(file.read_text()[:-3]),
        lambda file: file.unlink(),
    ],
)
def test_a_damaged_entry_is_made_again(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path))
    made = iter(["first", "second", "third"])

    def read():
        return remembered.remembered("thing", lambda: {"made": next(made)})

    assert read() == read() == {"made": "first"}
    damage(next((tmp_path / "sources").iterdir()))
    assert read() == read() == {"made": "second"}


def test_what_was_read_of_other_sources_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path))
    (tmp_path / "package").mkdir()
    source = tmp_path / "package" / "method.py"
    monkeypatch.setattr(remembered, "PACKAGE", source.parent)
    counter = itertools.count()
    seen = []
    for text in ("a = 1\n", "a = 1\n", "a = 2\n"):
        source.write_text(text)
        remembered._sources.cache_clear()
        seen.append(remembered.remembered("thing", lambda: next(counter)))
    remembered._sources.cache_clear()
    assert seen == [0, 0, 1]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "file"))
    assert remembered.remembered("thing", lambda: (1, 2)) == [1, 2]


@pytest.mark.parametrize(
    "arguments",
    [["run", "configs/quickstart.yaml", "--dry-run"], ["describe", "extenders/rbf"], ["list", "embeddings"]],
)
def test_plans_and_descriptions_import_no_method_the_second_time(arguments, tmp_path):
    code = f"import json, sys; from manifold_oos.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
    code += "print(json.dumps([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules]))"
    environment = os.environ | {"MOOS_CACHE": str(tmp_path / "cache")}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert first[:-1] == second[:-1] != [] and json.loads(second[-1]) == []
