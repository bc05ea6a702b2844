"""The grid: numbers computed again by hand, ranks and situations, pages that are those of the committed data."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manifold_oos.engine.replay import split_points
from manifold_oos.engine.store import Store
from manifold_oos.reporting.pages import grid_data, which_extender
from manifold_oos.reporting.pages.grid_tables import GridCells, judge, per_class, situations
from manifold_oos.results.collect import collect

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"


@pytest.fixture(scope="module")
def cells():
    return grid_data.read_data(RESULTS)[0]


@pytest.fixture(scope="module")
def grid(cells):
    return GridCells(cells)


def points_of(config, label, repetition):
    experiment = grid_data.experiments()[config]
    data = next(data for data in experiment.datasets if data.label == label)
    return split_points(experiment, data, experiment.split_of(data).sizes[0], repetition)


def mean_by_hand(cells, config, label, arm, metric, compute):
    """The committed mean of a cell, and the same from the splits by a function of known and new points."""
    line = cells[(cells["config"] == config) & (cells["dataset"] == label) & (cells["arm"] == arm)].iloc[0]
    values = [compute(points_of(config, label, repetition)) for repetition in range(int(line["splits"]))]
    return line[metric], line[f"{metric} ±"], values


def nearest_label(points):
    wrong = 0
    for x, truth in zip(points.X_new, points.y_new, strict=True):
        distances = [float(np.sum((x - z) ** 2)) for z in points.X]
        wrong += points.y[int(np.argmin(distances))] != truth
    return 100 * wrong / len(points.X_new)


def test_the_error_of_nearest_neighbours_on_digits_by_hand(cells):
    mean, half, values = mean_by_hand(cells, "classes", "digits", "nn", "misclassification_rate", nearest_label)
    assert mean == pytest.approx(np.mean(values), rel=1e-3)
    expected = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    assert half == pytest.approx(expected, rel=0.05)  # two digits are kept of it


def linear_after_principal_components(points):
    """kpca with a Gaussian kernel of squared width the mean squared distance, by its definition; then 1-NN."""
    squared = np.array([[np.sum((x - z) ** 2) for z in points.X] for x in points.X])
    width = squared.sum() / (len(squared) * (len(squared) - 1))
    K = np.exp(-squared / width)
    n = len(K)
    H = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(H @ K @ H)
    top = np.argsort(-values)[:2]
    known = vectors[:, top] * np.sqrt(values[top])
    new = []
    for x in points.X_new:
        k = np.exp(-np.array([np.sum((x - z) ** 2) for z in points.X]) / width)
        new.append(((k - k.mean()) - (K.mean(axis=1) - K.mean())) @ vectors[:, top] / np.sqrt(values[top]))
    wrong = [
        points.y[np.argmin(np.sum((known - y) ** 2, axis=1))] != t for y, t in zip(new, points.y_new, strict=True)
    ]
    return 100 * float(np.mean(wrong))


def test_the_error_after_kernel_pca_on_digits_by_hand(cells):
    mean, _, values = mean_by_hand(
        cells, "looking", "digits", "kpca", "misclassification_rate", linear_after_principal_components
    )
    assert mean == pytest.approx(np.mean(values), abs=0.3)


def isomap_and_lle(points):
    """R² on a Swiss roll: geodesics by Floyd and Warshall, classical scaling, LLE's weights, one regression."""
    X, k = points.X, 8
    distances = np.sqrt(np.maximum(((X[:, None] - X[None]) ** 2).sum(axis=2), 0))
    graph = np.full_like(distances, np.inf)
    for i, row in enumerate(distances):
        for j in np.argsort(row, kind="stable")[1 : k + 1]:
            graph[i, j] = graph[j, i] = row[j]
    np.fill_diagonal(graph, 0)
    for middle in range(len(X)):
        graph = np.minimum(graph, graph[:, [middle]] + graph[[middle]])
    assert np.isfinite(graph).all()
    H = np.eye(len(X)) - 1 / len(X)
    values, vectors = np.linalg.eigh(-H @ graph**2 @ H / 2)
    known = vectors[:, -2:] * np.sqrt(values[-2:])
    new = []
    for x in points.X_new:
        near = np.argsort(np.sum((X - x) ** 2, axis=1))[:5]
        C = (X[near] - x) @ (X[near] - x).T
        C += 1e-3 * np.trace(C) * np.eye(5)
        weights = np.linalg.solve(C, np.ones(5))
        new.append(weights @ known[near] / weights.sum())
    truth = np.column_stack(list(points.parameters.values()))
    design = np.column_stack([np.ones(len(new)), new])
    residual = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return 1 - np.sum(residual**2) / np.sum((truth - truth.mean(axis=0)) ** 2)


def test_the_parameters_after_isomap_and_lle_on_swiss_rolls_by_hand(cells):
    mean, _, values = mean_by_hand(cells, "truth", "swiss_roll", "isomap + lle", "parameter_r2", isomap_and_lle)
    assert mean == pytest.approx(np.mean(values), abs=2e-3)


def test_every_line_of_the_configs_is_there_or_says_why_not(cells):
    for name, experiment in grid_data.experiments().items():
        wanted = {(data.label, arm) for data in experiment.datasets for arm in experiment.arms_of(data)}
        lines = cells[cells["config"] == name]
        assert set(zip(lines["dataset"], lines["arm"], strict=True)) == wanted, name
        whole = lines["splits"] > 0
        reasons = lines["failed"] if "failed" in lines else pd.Series("", lines.index)
        assert (whole | (reasons != "")).all()


def test_ten_labelled_sets_and_four_with_true_parameters(cells):
    assert cells.loc[cells["config"] == "classes", "dataset"].nunique() == 10
    names = {data.name for data in grid_data.experiments()["truth"].datasets}
    assert len(names) == 4


def test_a_rank_has_the_interval_of_its_mean_and_alike_are_those_that_holm_does_not_tell():
    rng = np.random.default_rng(0)
    values = pd.DataFrame(rng.normal(size=(10, 4)), columns=list("abcd")) + np.array([0, 0.1, 0, 9])
    found = judge(values, "lower")
    ranks = values.rank(axis=1)
    assert found.ranks.to_dict() == pytest.approx(ranks.mean().to_dict())
    half = stats.t.ppf(0.975, 9) * ranks["d"].std() / np.sqrt(10)
    assert found.halves["d"] == pytest.approx(half)
    assert "d" not in found.alike and found.test == "Wilcoxon"
    others = [arm for arm in "abcd" if arm != found.best]
    p = sorted((stats.wilcoxon(values[found.best] - values[arm]).pvalue, arm) for arm in others)
    holm = np.maximum.accumulate([value * (len(p) - i) for i, (value, _) in enumerate(p)])
    assert set(found.alike) == {arm for (_, arm), value in zip(p, holm, strict=True) if value >= 0.05}
    assert judge(values[:4], "lower").test == "Nemenyi"


def test_situations_leave_what_their_words_say(grid, cells):
    found = {words: table for words, _, _, table in situations(grid)}
    facts = cells[cells["config"].isin(["looking", "classes"])].drop_duplicates("arm").set_index("arm")
    alone = found["labels, to classify; one by one"]
    assert not facts.loc[list(alone), "together"].any() and "suplap + sosi" not in alone
    assert "suplap + sosi" in found["labels, to classify; new points together"]
    assert not facts.loc[list(found["no labels, to look at"]), "supervised"].any()
    assert set(facts.loc[list(found["no labels, coordinates of UMAP given"]), "embedding"]) == {"umap"}
    assert "svm" not in found["labels, to look at; one by one"]
    few = found["labels, to classify; up to 7 known of a class"]
    assert set(few.index) == {"orl", "yale", "pie", "fei"}
    assert (
        per_class(cells[cells["config"] == "classes"].drop_duplicates("dataset").set_index("dataset"))["digits"]
        == 30
    )
    quick = found["labels, to classify; one by one, at most 0.1 ms"]
    assert (
        cells[cells["config"] == "looking"].groupby("arm")["milliseconds_alone"].median()[list(quick)] <= 0.1
    ).all()


def test_the_pages_are_those_of_the_committed_numbers(tmp_path, monkeypatch):
    """Every sentence is computed: written anew they are the same, and another number gives another text."""
    monkeypatch.chdir(ROOT)
    assert which_extender.main(["--pages", "--out", str(RESULTS), "--docs", str(tmp_path)]) == 0
    for name in ("which_extender.md", "grid.html"):
        committed = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert (tmp_path / name).read_text(encoding="utf-8") == committed, (
            f"make grid, or --pages, writes {name} anew"
        )


def test_other_numbers_give_another_answer(grid, cells):
    best = "\n".join(which_extender.answer(grid))
    extender = best.split("With `")[1].split("`")[0]
    worse = cells.copy()
    mine = (worse["arm"] == f"umap + {extender}") & (worse["config"] == "looking")
    worse.loc[mine, "area_under_rnx"] = 0.0
    other = "\n".join(which_extender.answer(GridCells(worse)))
    assert f"With `{extender}`" not in other and f'OutOfSample(coordinates, "{extender}")' not in other


def test_files_are_small_and_pictures_are_of_arms(cells):
    for path in (RESULTS / grid_data.CELLS, RESULTS / grid_data.PICTURES, ROOT / "docs" / "grid.html"):
        assert path.stat().st_size < 1_000_000, path
    drawn = json.loads((RESULTS / grid_data.PICTURES).read_text(encoding="utf-8"))
    for config, sets in drawn.items():
        for label, shown in sets.items():
            arms = set(cells.loc[(cells["config"] == config) & (cells["dataset"] == label), "arm"])
            assert set(shown["arms"]) <= arms and len(shown["arms"]) > 50


def test_what_a_run_left_is_gathered(bench):
    """From rows to lines: means, intervals, the fastest time, and a failure with its reason."""
    text = """
dataset: {name: digits, classes: 3, per_class: 20}
split: {train_per_class: 10, repetitions: 2}
arms:
  nn: {classifier: nn}
  kpca + rbf: {embedding: {name: kpca, n_components: 2}, extender: rbf, classifier: nn}
  kpca + gom: {embedding: {name: kpca, n_components: 20}, extender: gom, classifier: nn}
metrics: [misclassification_rate, shift, milliseconds_per_sample]
"""
    summary = bench.run(text, keep_embeddings="one")
    with Store("results") as store:
        results = collect(summary.plan.experiment, store, plan=summary.plan, folder=summary.folder)
    lines = grid_data.gather("mine", results).set_index("arm")
    rows = results.rows
    mine = rows[(rows["arm"] == "kpca + rbf") & (rows["metric"] == "misclassification_rate")]["value"]
    assert lines.at["kpca + rbf", "misclassification_rate"] == pytest.approx(mine.mean())
    times = rows[(rows["arm"] == "kpca + rbf") & (rows["metric"] == "milliseconds_per_sample")]["value"]
    assert lines.at["kpca + rbf", "milliseconds_per_sample"] == times.min()
    assert "neighbo" in lines.at["kpca + gom", "failed"] and lines.at["kpca + gom", "splits"] == 0
    shown = grid_data.pictures(results)["digits"]
    assert set(shown["arms"]) == {"kpca + rbf"} and shown["labelled"]
