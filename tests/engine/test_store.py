"""The store: what determines a number is in its key and nothing else; nothing is lost and nothing done twice."""

import ast
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from manifold_oos.engine.plan import PLACE, make_plan
from manifold_oos.engine.store import COLUMNS, Store
from manifold_oos.errors import MoosError


def keys(bench, config, *overrides):
    return {
        (line.arm, line.size, line.repetition): line.key for line in make_plan(bench.load(config, *overrides)).lines
    }


def test_rows_have_the_stated_columns_and_identity(bench, small):
    rows = bench.rows(bench.run(small))
    assert list(rows.columns) == list(COLUMNS)
    assert {name: str(dtype) for name, dtype in rows.dtypes.items()} == {
        name: str(pd.Series(dtype=dtype).dtype) for name, (dtype, _) in COLUMNS.items()
    }
    assert not rows.duplicated([*PLACE, "n_components", "step", "candidate", "metric"]).any()
    assert len(rows) == 3 * 2 * 3
    assert rows["dataset"].tolist() == ["blobs"] * 18
    assert rows["arm"].tolist()[:9] == ["A"] * 3 + ["B"] * 3 + ["ambient"] * 3
    assert rows["n_test"].tolist()[:9] == [36] * 9


def test_timings_are_apart_from_the_rows(bench, small):
    summary = bench.run(small, "metrics=[misclassification_rate, fit_seconds]")
    with Store("results") as store:
        times = store.timings(summary.plan)
        assert set(store.rows(summary.plan)["metric"]) == {"misclassification_rate"}
    assert set(times["metric"]) == {"fit_seconds", "milliseconds_per_sample"}
    assert (times["value"] >= 0).all() and len(times) == 2 * 18


@pytest.mark.parametrize(
    "same",
    ["title=Other", "arms.A.note=hm", "split.repetitions=2", "split.train_per_class=[3]",
     "metrics=[recognition_rate]", "selection=best", "datasets.0.stand_in=x",
     "claims=[{source: a, best: A}]"],
)  # fmt: skip
def test_what_does_not_change_a_number_does_not_change_its_key(bench, small, same):
    before, after = keys(bench, small), keys(bench, small, same)
    assert after.items() <= before.items() and after


@pytest.mark.parametrize(
    "other",
    ["split.seed=1", "datasets.0.spread=2.0", "datasets.0.normalize=unit",
     "arms.A.extender={name: 'fake_methods:Shift', tag: 1}", "arms.A.embedding.scale=2.0",
     "split.stratified=false", "split.n_test=5",
     "arms.A.classifier={name: 'fake_methods:NN', n_neighbors: 3}"],
)  # fmt: skip
def test_what_changes_a_number_changes_its_key(bench, small, other):
    before, after = keys(bench, small), keys(bench, small, other)
    assert all(before[place] != after[place] for place in before if place[0] == "A")


def test_keys_of_grids_depend_on_the_protocol(bench, small):
    small["arms"]["A"]["extender"] = {"name": "fake_methods:Shift", "amount": {"grid": [0.0, 1.0]}}
    seen = set()
    for override in ("selection=best", "selection=train_only", "cv.repeats=2", "selection={paper: {amount: best}}"):
        plan = make_plan(bench.load(small, override))
        seen.add(next(line.key for line in plan.lines if line.arm == "A"))
    assert len(seen) == 4
    best, again = (
        next(line.key for line in make_plan(bench.load(small, "selection=best", more)).lines if line.arm == "A")
        for more in ("cv.repeats=5", "cv.repeats=2")
    )
    assert best == again


def test_the_source_of_a_method_is_in_the_key_and_its_comments_are_not(bench, small):
    from manifold_oos.engine import keys as sources

    def changed(old, new):
        path = bench.folder / "fake_methods.py"
        path.write_text(path.read_text().replace(old, new))
        for cached in (sources.source_digest, sources._file, sources._tree, sources._code, sources._imports):
            cached.cache_clear()
        return keys(bench, small)

    before = keys(bench, small)
    assert changed('"""The first coordinates."""', '"""First coordinates."""  # a comment') == before
    assert not set(changed("+ self.amount", "+ 1 * self.amount").values()) & set(before.values())


def test_source_of_a_shipped_method_covers_what_it_imports():
    from manifold_oos.engine.keys import _closure

    modules = _closure("manifold_oos.extenders.sosi")
    assert {"manifold_oos.extenders.rbf", "manifold_oos.extenders.base", "manifold_oos.numerics.kernels"} <= modules
    assert not any(name.startswith(("manifold_oos.engine", "manifold_oos.cli")) for name in modules)


def test_an_edit_of_what_cannot_change_a_number_changes_no_key(monkeypatch):
    from manifold_oos.engine import keys as sources

    real = sources._code

    def edited(module):
        monkeypatch.setattr(sources, "_code", lambda file: real(file) + b"x" * (file == sources._file(module)))
        return sources._source_digest("manifold_oos.extenders.sosi")

    before = edited("manifold_oos.cli.run")
    assert {edited(module) for module in sources.NUMBERLESS} == {before}
    assert before not in {edited(f"manifold_oos.{name}") for name in ("numerics.rbf", "extenders.base")}


def test_methods_take_no_number_from_what_is_left_out_of_keys():
    from manifold_oos.engine import keys as sources

    taken = set()
    for room in ("embeddings", "extenders", "classifiers", "numerics", "datasets"):
        for file in (Path(sources.__file__).parents[1] / room).rglob("*.py"):
            for node in ast.walk(sources._tree(file)):
                if isinstance(node, ast.ImportFrom) and node.module in sources.NUMBERLESS:
                    taken |= {alias.name for alias in node.names}
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "costs":
                    taken.add(ast.unparse(node))
    types, refusals = {"Array", "Index"}, {"ConfigError", "DataError", "ContinuousLabelError", "costs.check"}
    assert taken <= types | refusals | {"HasMethods", "Interval", "StrOptions"}


def test_statements_are_all_that_a_walk_of_the_whole_tree_finds():
    from manifold_oos.engine import keys as sources

    kinds = ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for file in [Path(sources.__file__), *Path(sources.__file__).parents[1].glob("datasets/*.py")]:
        whole = {node for node in ast.walk(sources._tree(file)) if isinstance(node, kinds)}
        assert {node for node in sources._statements(file) if isinstance(node, kinds)} == whole


def test_adding_an_arm_computes_that_arm_alone(bench, small):
    bench.run(small)
    bench.forget()
    small["arms"]["C"] = {
        "embedding": small["arms"]["A"]["embedding"],
        "extender": {"name": "fake_methods:Shift", "amount": 2.0},
        "classifier": "fake_methods:NN",
    }
    summary = bench.run(small)
    assert (summary.trials, summary.computed, summary.reused) == (6, 6, 18)
    assert {fit["amount"] for fit in bench.fits if fit["what"] == "extender"} == {2.0}


def test_adding_a_metric_computes_that_metric_alone(bench, small):
    bench.run(small)
    rows = bench.rows(bench.run(small, "metrics=[misclassification_rate, parameter_r2]"))
    assert rows.groupby("metric").size().to_dict() == {"misclassification_rate": 18, "parameter_r2": 12}
    bench.forget()
    assert bench.run(small, "metrics=[parameter_r2]").computed == 0 and not bench.fits


def test_two_experiments_share_rows(bench, small):
    bench.run(small)
    renamed = dict(small, arms={f"new {name}": arm for name, arm in small["arms"].items()})
    from manifold_oos.engine.runner import run_experiment

    summary = run_experiment(bench.load(renamed, name="other.yaml"), "results")
    assert (summary.computed, summary.reused) == (0, 18)
    assert set(bench.rows(summary)["arm"]) == {"new A", "new B", "new ambient"}


def test_equal_arms_are_computed_once_and_shown_twice(bench, small):
    small["arms"] = {"A": small["arms"]["A"], "also A": small["arms"]["A"]}
    rows = bench.rows(bench.run(small))
    assert bench.count("extender") == 6
    assert rows[rows["arm"] == "A"]["value"].tolist() == rows[rows["arm"] == "also A"]["value"].tolist()


def test_views_need_no_data(bench, small, monkeypatch):
    summary = bench.run(small)
    rows = bench.rows(summary)
    from manifold_oos.engine.splits import DataRef

    monkeypatch.setattr(DataRef, "load", lambda self, **_: pytest.fail("the data were loaded"))
    with Store("results") as store:
        plan = make_plan(bench.load(small), known=store.facts())
        assert store.rows(plan).equals(rows)


def test_a_failed_transaction_leaves_nothing(bench, small):
    summary = bench.run(small)
    with Store("results") as store:
        with pytest.raises(RuntimeError), store.transaction() as connection:
            connection.execute("delete from rows")
            raise RuntimeError
        assert len(store.rows(summary.plan)) == 18


def test_write_ahead_log(bench, small):
    bench.run(small)
    mode = sqlite3.connect(bench.folder / "results" / "store.sqlite").execute("pragma journal_mode").fetchone()
    assert mode == ("wal",)


def test_a_file_that_is_no_store(bench, small):
    (bench.folder / "results").mkdir()
    (bench.folder / "results" / "store.sqlite").write_text(
        "something else, long enough to be no empty database" * 9
    )
    with pytest.raises(MoosError, match="not a store of results"):
        bench.run(small)


def test_kept_predictions(bench, small):
    bench.run(small)
    summary = bench.run(small, keep_predictions=True)
    assert summary.computed == 18
    with Store("results") as store:
        kept = store.predictions(summary.plan)
        rows = store.rows(summary.plan)
    assert len(kept) == 3 * 3 * (36 + 28)
    wrong = kept.assign(wrong=kept["truth"] != kept["predicted"])
    rate = 100 * wrong.groupby(["arm", "size", "repetition"])["wrong"].mean()
    stored = rows.set_index(["arm", "size", "repetition"])["value"]
    assert (rate.sort_index() - stored.sort_index()).abs().max() < 1e-9
    assert bench.run(small, keep_predictions=True).computed == 0
    from manifold_oos.reporting.records import confusion

    table = confusion(kept, summary.plan)
    assert table["count"].sum() == len(kept) and set(table["truth"]) == set("abcd")


def test_kept_embeddings_need_no_pickle(bench, small):
    import numpy as np

    small["arms"]["K"] = {"embedding": "fake_methods:Slice", "extender": "fake_methods:Knowing"}
    summary = bench.run(small, keep_embeddings="one")
    files = sorted((summary.folder / "embeddings").iterdir())
    assert len(files) == 3
    with np.load(files[-1], allow_pickle=False) as arrays:
        assert str(arrays["arm"]) == "K"
        assert arrays["known"].shape == (12, 2) and arrays["new"].shape == (36, 2)
        assert arrays["known_labels"].shape == (12,) and arrays["predicted"].shape == (36,)
        assert arrays["step_coordinates"].shape == (2, 36, 2) and arrays["step_taken"].shape == (2, 36)
    assert bench.run(small, keep_embeddings="one").computed == 0
    assert len(sorted((bench.run(small, keep_embeddings="all").folder / "embeddings").iterdir())) == 18


def test_the_digest_of_a_source_is_text_alone(tmp_path):
    """``ast.dump`` gave a digest for each version of Python; these bytes are the same for all."""
    from manifold_oos.engine.keys import _code

    file = tmp_path / "method.py"
    file.write_text('"""Doc."""\n\ndef f(x):  # why\n    """Doc\n    of two lines."""\n    return f"{x} # kept"\n')
    assert _code(file) == b'def f(x):\n    return f"{x} # kept"'
