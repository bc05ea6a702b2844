"""Label-free metrics against scikit-learn, a co-ranking matrix filled by loops, and their own promises."""

import pickle

import numpy as np
import pytest
import yaml
from scipy.stats import spearmanr
from sklearn import manifold
from sklearn.metrics import roc_auc_score

from manifold_oos import placement
from manifold_oos.config.load import load_config
from manifold_oos.embeddings import KPCA
from manifold_oos.engine.replay import split_points
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.extenders import RBFExtender
from manifold_oos.numerics.shared import Kept, sharing
from manifold_oos.placement import (
    PLACEMENT,
    area_under_rnx,
    continuity,
    neighborhood_preservation,
    rnx_curve,
    shepard_correlation,
    shift,
    trustworthiness,
)
from manifold_oos.results.collect import collect


def data(N=30, n=12, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((N + n, 4))
    Y = X[:, :2] + 0.5 * random.standard_normal((N + n, 2))
    return X[:N], X[N:], Y[:N], Y[N:]


def coranking(X_known, X_new, Y_known, Y_new):
    """Q[a, b]: how many pairs have rank a + 1 in the data and b + 1 in the embedding."""
    N = len(X_known)
    Q = np.zeros((N, N), dtype=int)
    for x, y in zip(X_new, Y_new, strict=True):
        before = [np.linalg.norm(x - z) for z in X_known]
        after = [np.linalg.norm(y - z) for z in Y_known]
        for j in range(N):
            Q[sum(d < before[j] for d in before), sum(d < after[j] for d in after)] += 1
    return Q


@pytest.mark.parametrize("k", [1, 5, 14, 15, 22, 29])
def test_against_a_literal_co_ranking_matrix(k):
    points = data()
    Q, N, n = coranking(*points), 30, 12
    worst = sum(sorted((rank - k for rank in range(k + 1, N + 1)), reverse=True)[:k])
    strangers = sum((a + 1 - k) * Q[a, b] for a in range(k, N) for b in range(k))
    lost = sum((b + 1 - k) * Q[a, b] for a in range(k) for b in range(k, N))
    assert trustworthiness(*points, k) == pytest.approx(1 - strangers / (n * worst))
    assert continuity(*points, k) == pytest.approx(1 - lost / (n * worst))
    kept = Q[:k, :k].sum() / (k * n)
    assert neighborhood_preservation(*points, k) == pytest.approx(kept)
    assert rnx_curve(*points)[k - 1] == pytest.approx((N * kept - k) / (N - k))


def test_the_area_is_the_weighted_mean_of_the_curve():
    points = data()
    Q, N, n = coranking(*points), 30, 12
    top = bottom = 0.0
    for k in range(1, N):
        top += (N * Q[:k, :k].sum() / (k * n) - k) / (N - k) / k
        bottom += 1 / k
    assert area_under_rnx(*points) == pytest.approx(top / bottom)


@pytest.mark.parametrize("k", [1, 5, 12])
def test_leaving_each_point_out_is_scikit_learns_trustworthiness(k):
    X, _, Y, _ = data(N=40)
    rest = [np.delete(np.arange(40), i) for i in range(40)]
    ours = [trustworthiness(X[others], X[[i]], Y[others], Y[[i]], k) for i, others in enumerate(rest)]
    assert np.mean(ours) == pytest.approx(manifold.trustworthiness(X, Y, n_neighbors=k))


def test_shepard_correlation_is_scipys(monkeypatch):
    X_known, X_new, Y_known, Y_new = points = data()
    distances = [
        [np.linalg.norm(a - b) for a in new for b in known] for known, new in ((X_known, X_new), (Y_known, Y_new))
    ]
    assert shepard_correlation(*points) == pytest.approx(spearmanr(*distances)[0])
    monkeypatch.setattr(placement, "MOST_PAIRS", 4 * 30)
    some = placement.evenly(12, 4)
    assert shepard_correlation(*points) == pytest.approx(
        shepard_correlation(X_known, X_new[some], Y_known, Y_new[some])
    )


@pytest.mark.parametrize("name", PLACEMENT)
def test_a_perfect_picture_has_one_and_noise_about_chance(name):
    measure = PLACEMENT[name][1]
    X_known, X_new, _, _ = data(N=200, n=100)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    assert measure(X_known, X_new, 7 * X_known @ turn + 3, 7 * X_new @ turn + 3) == pytest.approx(1)
    noise = np.random.default_rng(2).standard_normal((300, 2))
    chance = {"trustworthiness": 0.5, "continuity": 0.5, "neighborhood_preservation": 10 / 200}.get(name, 0)
    assert measure(X_known, X_new, noise[:200], noise[200:]) == pytest.approx(chance, abs=0.06)


@pytest.mark.parametrize("name", PLACEMENT)
def test_collapsed_coordinates_are_no_better_than_chance_whatever_the_order(name):
    """Known points sorted along the data: ties by index would look like a good picture."""
    X = np.sort(np.random.default_rng(0).uniform(size=200))[:, None]
    value = PLACEMENT[name][1](X, X[:50] - 1e-3, np.zeros((200, 2)), np.zeros((50, 2)))
    assert np.isnan(value) if name == "shepard_correlation" else value < 0.75


@pytest.mark.parametrize("name", PLACEMENT)
def test_units_origin_and_blocks_do_not_matter(name, monkeypatch):
    measure = PLACEMENT[name][1]
    X_known, X_new, Y_known, Y_new = data()
    expected = measure(X_known, X_new, Y_known, Y_new)
    assert measure(1e-60 * X_known, 1e-60 * X_new, 1e6 + Y_known, 1e6 + Y_new) == pytest.approx(expected)
    monkeypatch.setattr(placement, "BLOCK_FLOATS", 5 * 30)
    assert measure(X_known, X_new, Y_known, Y_new) == pytest.approx(expected)
    with sharing(Kept()):
        first = measure(X_known, X_new, Y_known, Y_new)
        assert measure(X_known, X_new, Y_known[::-1], Y_new) != first
        assert measure(X_known, X_new, Y_known, Y_new) == first == pytest.approx(expected)


@pytest.mark.parametrize("name", PLACEMENT)
def test_few_known_points(name):
    X_known, X_new, Y_known, Y_new = data(N=3)
    assert np.isfinite(PLACEMENT[name][1](X_known, X_new, Y_known, Y_new))
    lone = PLACEMENT[name][1](X_known[:1], X_new[:1], Y_known[:1], Y_new[:1])
    assert np.isnan(lone)


def test_duplicates_of_known_points_are_the_same_in_both_spaces():
    X_known, X_new, _, _ = data()
    X_known = np.vstack([X_known, X_known])
    assert trustworthiness(X_known, X_new, X_known, X_new) == 1
    assert area_under_rnx(X_known, X_new, X_known, X_new) == pytest.approx(1)


def test_shift_by_hand():
    known = np.array([[-2.0, 0.0], [2.0, 0.0]])
    assert shift(np.array([[0.0, 1.0], [5.0, 5.0]]), np.array([[0.0, 0.0], [5.0, 5.0]]), known) == pytest.approx(
        0.25
    )
    assert np.isnan(shift(known, known, np.ones((3, 2))))


CONFIG = {
    "title": "placement",
    "dataset": {"name": "digits", "classes": 4, "per_class": 15},
    "split": {"train_per_class": 8, "repetitions": 1},
    "arms": {
        "RBF": {"embedding": {"name": "isomap", "n_components": 2}, "extender": "rbf"},
        "GOM": {"embedding": {"name": "ltsa", "n_components": 2}, "extender": "gom"},
        "PCA": {"embedding": {"name": "kpca", "n_components": 2}},
        "batch": {"embedding": {"name": "isomap", "n_components": 2}, "batch": True},
        "NN": {"classifier": "nn"},
    },
    "metrics": [*PLACEMENT, "shift"],
}


def test_a_config_names_them(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(CONFIG, sort_keys=False))
    experiment = load_config(path)
    summary = run_experiment(experiment, tmp_path, 1)
    with Store(tmp_path) as store:
        cells = collect(experiment, store, plan=summary.plan).cells.set_index(["arm", "metric"])["mean"]
    for arm in ("RBF", "GOM", "PCA", "batch"):
        assert 0.6 < cells[arm, "trustworthiness"] <= 1
        assert -1 <= cells[arm, "shepard_correlation"] <= 1
    assert cells["RBF", "shift"] == pytest.approx(0, abs=1e-9) == cells["PCA", "shift"]
    assert cells["GOM", "shift"] > 1e-6  # new points see each other
    assert ("batch", "shift") not in cells and ("NN", "trustworthiness") not in cells
    assert cells["RBF", "neighborhood_preservation"] > 10 / 32


def test_a_grid_can_be_decided_without_labels(tmp_path):
    path = tmp_path / "tuned.yaml"
    arm = {
        "embedding": {"name": "isomap", "n_components": 2},
        "extender": {"name": "rbf", "sigma": {"grid": [0.01, 2.0]}},
    }
    tuned = CONFIG | {"arms": {"RBF": arm}, "metrics": ["trustworthiness"], "selection": ["train_only"]}
    path.write_text(yaml.safe_dump(tuned, sort_keys=False))
    experiment = load_config(path)
    summary = run_experiment(experiment, tmp_path, 1)
    with Store(tmp_path) as store:
        rows = collect(experiment, store, plan=summary.plan).rows
    assert set(rows["chosen"]) == {'{"extender.sigma": 2.0}'}


def test_novelty_is_scikit_learns_area_under_the_curve():
    X_known, X_new, _, _ = data()
    foreign = X_new[:7] + 1.0
    near, far = (np.linalg.norm(Z[:, None] - X_known[None], axis=2).min(axis=1) for Z in (X_new, foreign))
    expected = roc_auc_score([0] * len(near) + [1] * len(far), np.concatenate([near, far]))
    assert placement.novelty_auc(X_known, X_new, foreign) == pytest.approx(expected)


def test_a_map_that_snaps_to_known_points_tells_nothing_new():
    X_known, X_new, Y_known, _ = data()
    assert placement.novelty_auc(Y_known, Y_known[:9], Y_known[5:8]) == 0.5
    assert placement.novelty_auc(X_known, X_known[:9], X_new) == 1.0


def test_what_a_run_measures_of_novelty_alone_and_sizes(tmp_path):
    """Against the same things done by hand; an arm without coordinates is judged by its features."""
    config = {
        "dataset": {"name": "digits", "classes": 3, "per_class": 30, "normalize": "unit"},
        "split": {"train_per_class": 15, "repetitions": 1},
        "arms": {
            "nn": {"classifier": "nn"},
            "rbf": {"embedding": {"name": "kpca", "n_components": 3}, "extender": "rbf", "classifier": "nn"},
            "own": {"embedding": {"name": "kpca", "n_components": 3}, "classifier": "nn"},
            "gom": {"embedding": {"name": "kpca", "n_components": 3}, "extender": "gom"},
        },
        "metrics": ["misclassification_rate", "novelty_auc", "shift", "model_kilobytes", "peak_megabytes"],
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(config))
    experiment = load_config(path)
    summary = run_experiment(experiment, tmp_path / "out")
    assert not summary.failed
    with Store(tmp_path / "out") as store:
        rows = collect(experiment, store, plan=summary.plan).rows
    values = {(row.arm, row.metric): row.value for row in rows.itertuples()}
    points = split_points(experiment, experiment.datasets[0], 15, 0)
    half = points.X.shape[1] // 2
    n = len(points.X_new)
    foreign = np.array([[*points.X_new[i, :half], *points.X_new[(i + n // 2) % n, half:]] for i in range(n)])
    kpca = KPCA(n_components=3).fit(points.X)
    rbf = RBFExtender().fit(points.X, kpca.embedding_)
    for arm, known, place in [
        ("nn", points.X, lambda Z: Z),
        ("own", kpca.embedding_, kpca.transform),
        ("rbf", kpca.embedding_, rbf.transform),
    ]:
        near, far = (
            np.linalg.norm(Z[:, None] - known[None], axis=2).min(axis=1)
            for Z in map(place, (points.X_new, foreign))
        )
        expected = roc_auc_score([0] * len(near) + [1] * len(far), np.concatenate([near, far]))
        assert values[arm, "novelty_auc"] == pytest.approx(expected), arm
    assert values["rbf", "model_kilobytes"] == pytest.approx(len(pickle.dumps(rbf)) / 1000, rel=0.02)
    assert ("nn", "model_kilobytes") not in values
    assert {arm for arm, metric in values if metric == "milliseconds_alone"} == {"rbf", "own", "gom"}
    assert values["gom", "milliseconds_alone"] > values["rbf", "milliseconds_alone"]  # it is fitted for each point
