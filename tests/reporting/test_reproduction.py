"""The reproduction pages count printed numbers honestly: no stand-ins, no times, readings and groups apart."""

from collections import Counter
from pathlib import Path

import pytest
from reporting_fakes import make_experiment

from manifold_oos.config.load import load_config
from manifold_oos.config.model import Arm, Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.store import make_frame
from manifold_oos.errors import MoosError
from manifold_oos.reporting.pages import reproduction
from manifold_oos.reporting.pages.confirmation import cells_of_columns, confirmation, picked, write_seed
from manifold_oos.reporting.pages.reproduction import (
    GROUPS,
    PAPERS,
    Reproduced,
    configs,
    count_lines,
    gather,
    group_of,
    run,
    shortest_first,
    write_pages,
)
from manifold_oos.reporting.write import write_tables
from manifold_oos.results.collect import Results
from manifold_oos.results.explanations import states

EMPTY = {"selection": "fixed", "candidate": "{}", "chosen": "{}", "fitted": "{}", "warnings": "[]", "tuned": True}


@pytest.fixture
def results():
    """A and B are off, C stands in for A and gives its number; digits is at hand, the other set is a stand-in."""
    values = {"A": [30.0, 30.02], "B": [40.0, 40.02], "C": [10.0, 10.02], "D": [5.0, 5.02]}
    records = [
        EMPTY
        | {"arm": arm, "dataset": label, "size": 5, "repetition": repetition, "value": value, "metric": metric}
        | {"n_train": 50, "n_test": 100}
        for arm, numbers in values.items()
        for repetition, value in enumerate(numbers)
        for label in ("digits", "other")
        for metric in ("misclassification_rate", "fit_seconds")
    ]
    sets = [{"name": "digits"}, {"name": "digits", "label": "other", "stand_in": "a set that is not at hand"}]
    printed = {"A": {5: 10.0}, "B": {5: 10.0}, "D": {5: 5.0}}
    values = {
        metric: dict.fromkeys(("digits", "other"), printed) for metric in ("misclassification_rate", "fit_seconds")
    }
    config = {
        "datasets": sets,
        "split": {"train_per_class": 5},
        "arms": {arm: {"classifier": "nn"} for arm in "ABCD"},
        "metrics": ["misclassification_rate", "fit_seconds"],
        "published": [{"source": "Table 1", "values": values}],
        "readings": {"otherwise": {"text": "C", "arms": {"A": "C"}}},
    }
    return Results(Experiment.model_validate(config), make_frame(records))


def test_stand_ins_and_times_are_not_counted(results):
    one = Reproduced(results, of=5)
    assert one.verdicts == Counter({"match": 1, "worse": 2})
    assert states(one.columns) == {"given by a reading": 1, "no reading measured": 1}
    text = "\n".join(count_lines([one]))
    assert "Of 3 printed numbers" in text and "1 (33 %) match" in text and "2 worse" in text
    assert "2 (67 %) match, are compatible, or stand in a column that a reading gives" in text
    assert "gives 1 (50 %) as a whole (1 numbers)" in text and "1 have no reading (1 numbers)" in text


def test_arms_are_grouped_by_whose_method_they_are():
    own = Arm.model_validate({"embedding": "suplap", "extender": "sosi", "classifier": "nn"})
    assert group_of(own, "sosi") == GROUPS[0] and group_of(own, "nsse") == GROUPS[2]
    assert group_of(Arm.model_validate({"classifier": "nn"}), "nsse") == GROUPS[1]
    assert group_of(Arm.model_validate({"classifier": "svm"}), "nsse") == GROUPS[2]


CLAIMS = """
title: {name}
paper: sosi
dataset: {{name: digits}}
split: {{train_per_class: 5, repetitions: 6}}
arms: {{A: {{classifier: nn}}, B: {{classifier: nn}}}}
metrics: [misclassification_rate]
claims: [{{source: "§1", left: A, op: "<", right: B}}]
"""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Two experiments of one paper whose committed splits speak for a claim with p of about 0.04 each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduction, "shipped_configs", lambda: ["one.yaml", "two.yaml"])
    Path("configs").mkdir()
    Path("docs").mkdir()
    Path("mkdocs.yml").write_text("nav:\n" + "".join(reproduction.NAV) + "\n")
    for name in ("one", "two"):
        Path(f"configs/{name}.yaml").write_text(CLAIMS.format(name=name))
        values = {"A": [1.0] * 6, "B": [5.0, 6.0, 9.0, 3.0, 7.0, 6.0]}
        records = [
            EMPTY
            | {"arm": arm, "dataset": "digits", "size": 5, "repetition": i, "value": value, "n_train": 50}
            | {"metric": "misclassification_rate", "n_test": 30}
            for arm, numbers in values.items()
            for i, value in enumerate(numbers)
        ]
        write_tables(Results(load_config(f"configs/{name}.yaml"), make_frame(records)), Path("results") / name)
    return tmp_path


def test_claims_are_corrected_over_all_of_a_paper_and_pages_need_no_store(workspace):
    found = gather(list(configs()), Path("results"))
    alone = [claim for one in found for claim in one.results.claims]
    assert [claim.verdict for claim in alone] == ["holds", "holds"] and all(
        0.025 < claim.p < 0.05 for claim in alone
    )
    assert [claim.verdict for one in found for claim in one.claims] == ["undecided", "undecided"]
    paths = write_pages(found, Path("results"), Path("mkdocs.yml"))
    assert [path.as_posix() for path in paths[1:3]] == ["docs/reproduction/one.md", "docs/reproduction/two.md"]
    front = paths[0].read_text(encoding="utf-8")
    assert "| [one](reproduction/one.md) | 6 of 6 |" in front and "0 hold, 0 fail, 2 are undecided" in front
    page = paths[1].read_text(encoding="utf-8")
    assert found[0].results.origin.endswith("committed tables (results/one/splits.csv)")
    assert "committed tables" not in page and "**undecided**" in page  # the config is the same: so are the numbers
    assert '"one": reproduction/one.md' in Path("mkdocs.yml").read_text()
    assert write_pages(found, Path("results"), Path("mkdocs.yml"))[0].read_text() == front


def test_the_shortest_experiment_is_first_and_a_failure_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    many, few = (
        make_experiment(split={"repetitions": repetitions}).named(name)
        for name, repetitions in (("a", 9), ("b", 1))
    )
    assert [one.name for one in shortest_first([many, few], tmp_path)] == ["b", "a"]

    def breaks(*_, **__):
        raise MoosError("the pool broke")

    monkeypatch.setattr(reproduction, "run_and_collect", breaks)
    assert run(few, tmp_path, 1, force=False) is False
    assert "   failed: the pool broke" in capsys.readouterr().out


def test_the_front_page_is_short():
    assert len(Path(__file__).parents[2].joinpath("docs/reproduction.md").read_text().splitlines()) <= 200


def test_every_paper_is_run_with_every_repetition():
    whole = {experiment.name: experiment for experiment in configs()}
    assert {experiment.paper for experiment in whole.values()} == set(PAPERS)
    assert "sparse_coding/pie" in whole and "coil20_sosi" in whole and "grid/all" not in whole
    part = reduce_experiment(whole["nsse/orl"], repetitions=2)
    assert all(block.splits == 20 for block in part.published)  # the paper's own stay where ours are fewer


def test_the_seed_that_chose_stands_beside_the_fresh_one(results, tmp_path):
    one = Reproduced(results, of=5)
    cells = cells_of_columns({"mine": one.columns}, earlier=["mine"])
    assert list(cells["arm"]) == ["A", "B", "D"] and list(cells["verdict"]) == ["worse", "worse", "match"]
    assert confirmation(cells, tmp_path, [7]) == []  # nothing is kept of the choosing seed
    chosen = cells.assign(verdict="match", mean=cells["published"])
    write_seed(chosen, tmp_path, 0)
    text = "\n".join(confirmation(cells, tmp_path, [0, 7]))
    assert "seed 7, which chose nothing of ours;" in text
    assert "suggested says so. 3 cells of seed 0 are of an earlier form" in text
    assert "Of the 3 numbers that matched on seed 0, 1 match on the fresh one" in text
    assert "| 0, which chose | 3 | 3 | 0 | 0 | 0 | 0 | 3 |" in text
    assert "| 7, fresh | 3 | 1 | 0 | 0 | 0 | 2 | 1 |" in text


def test_what_was_picked_by_test_errors_is_listed():
    lines = picked(configs())
    assert any("NSSE: the weights" in line and "nsse/orl" in line for line in lines)
    assert any("picked by closeness" in line and "sparse_coding/yale" in line for line in lines)
    assert any("reading “raw pixels, fixed weights”" in line and "(nsse/coil20)" in line for line in lines)
    assert all("picked" in line.lower() for line in lines if line.strip())
