"""Embeddings of other libraries, with their own maps and with every extender."""

import sys
import warnings

import numpy as np
import pytest
import yaml
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from manifold_oos.config.load import load_config
from manifold_oos.contracts import sample
from manifold_oos.embeddings import foreign
from manifold_oos.embeddings.foreign import OpenTSNE, PaCMAPEmbedding, SupervisedUMAP, UMAPEmbedding
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import ConfigError
from manifold_oos.pipeline import OutOfSample
from manifold_oos.registry import absent, available, build
from manifold_oos.results.collect import collect

ADAPTERS = {
    "umap": UMAPEmbedding(n_neighbors=8),
    "supervised_umap": SupervisedUMAP(n_neighbors=8),
    "opentsne": OpenTSNE(perplexity=10),
    "pacmap": PaCMAPEmbedding(n_neighbors=5),
}
SCIKIT_LEARN = {
    "Isomap": {"n_neighbors": 8},
    "LocallyLinearEmbedding": {"n_neighbors": 8},
    "SpectralEmbedding": {"n_neighbors": 8},
    "TSNE": {"perplexity": 10, "max_iter": 250},
    "MDS": {"n_init": 1, "max_iter": 50},
}
#: Two dimensions are too few for LTSA's default neighbours: the alignment of LLE has no such limit.
SETTINGS = {"gom": {"alignment": "lle"}, "cp": {"alignment": "lle"}, "mlp": {"max_iter": 20}}
#: By nature: a linear map of a curved thing, and a mean that shrinks what it extends.
WEAK = ("linear", "nystrom")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", params=ADAPTERS)
def fitted(request):
    """An adapter fitted on the sample of the contracts, with the library at hand."""
    method = ADAPTERS[request.param]
    if absent(type(method)):
        pytest.skip(absent(type(method)))
    X, y, _, _ = sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(method).fit(X, y)


def accuracy(known, y, new, y_new):
    return KNeighborsClassifier(1).fit(known, y).score(new, y_new)


def test_its_own_map_places_new_points_beside_their_class(fitted):
    _, y, X_new, y_new = sample()
    Z = fitted.transform(X_new)
    assert Z.shape == (24, 2) and Z.dtype == np.float64
    assert accuracy(fitted.embedding_, y, Z, y_new) > 0.8


def test_the_library_itself_gives_the_same(fitted):
    X, y, X_new, _ = sample()
    if isinstance(fitted, OpenTSNE):
        import openTSNE

        theirs = openTSNE.TSNE(2, perplexity=10, random_state=0, n_jobs=1).fit(X)
        new, expected = np.asarray(theirs.transform(X_new)), np.asarray(theirs)  # transform moves all points
    elif isinstance(fitted, PaCMAPEmbedding):
        import pacmap

        model = pacmap.PaCMAP(n_components=2, n_neighbors=5, random_state=0)
        expected, new = model.fit_transform(X.copy()), model.transform(X_new.copy(), basis=X.copy())
    else:
        import umap

        model = umap.UMAP(n_neighbors=8, random_state=0).fit(X, y if fitted.supervised else None)
        expected, new = model.embedding_, model.transform(X_new)
    np.testing.assert_allclose(fitted.embedding_, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(fitted.transform(X_new), new, rtol=1e-4, atol=1e-4)


def test_placing_points_leaves_the_known_ones_where_they_are(fitted):
    X, _, X_new, _ = sample()
    before = fitted.embedding_.copy()
    first = fitted.transform(X_new)
    np.testing.assert_array_equal(fitted.embedding_, before)
    np.testing.assert_allclose(fitted.transform(X_new), first, atol=1e-6 * np.ptp(before))
    apart = np.linalg.norm(fitted.transform(X) - before, axis=1)
    assert np.median(apart) < 0.2 * np.linalg.norm(before - before.mean(axis=0), axis=1).mean()


def test_only_the_supervised_one_reads_labels(fitted):
    X, y, _, _ = sample()
    if fitted.supervised:
        with pytest.raises(ValueError, match="y"):
            clone(fitted).fit(X)
        words = np.array(["a", "b", "c"])[y]
        np.testing.assert_array_equal(clone(fitted).fit(X, words).embedding_, fitted.embedding_)
    else:
        np.testing.assert_array_equal(clone(fitted).fit(X).embedding_, fitted.embedding_)


@pytest.mark.parametrize(
    "name", [name for name in available("extenders") if name not in ("landmark", "progressive")]
)
def test_every_extender_places_new_points(fitted, name):
    X, y, X_new, y_new = sample()
    extender = build("extenders", {"name": name, **SETTINGS.get(name, {})})
    new = X_new if extender.transductive else None
    Z = extender.fit(X, fitted.embedding_, y, X_new=new, embedding=fitted).transform(X_new)
    assert np.isfinite(Z).all() and Z.shape == (24, 2)
    assert name in WEAK or accuracy(fitted.embedding_, y, Z, y_new) > 0.6


def test_an_absent_package_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "umap", None)
    line = "umap needs the package umap: pip install 'manifold-oos\\[neighbors\\]'"
    with pytest.raises(ConfigError, match=line):
        OutOfSample("umap", "rbf").fit(*sample()[:2])
    with pytest.raises(ConfigError, match=line):
        UMAPEmbedding().fit(sample()[0])
    config = tmp_path / "own.yaml"
    config.write_text("dataset: digits\nembedding: umap\nextender: rbf\n")
    with pytest.raises(ConfigError, match=line):
        load_config(config)


def run(tmp_path, arms, metrics=("misclassification_rate", "trustworthiness", "shift")):
    """Mean of each arm and metric in a small experiment; a failed line is an error."""
    config = {
        "title": "other libraries",
        "dataset": {"name": "digits", "classes": 4, "per_class": 20},
        "split": {"train_per_class": 12, "repetitions": 1},
        "arms": {name: {"classifier": "nn", **arm} for name, arm in arms.items()},
        "metrics": list(metrics),
    }
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    experiment = load_config(path)
    summary = run_experiment(experiment, tmp_path, 1)
    assert not summary.failed, summary.failed
    with Store(tmp_path) as store:
        return collect(experiment, store, plan=summary.plan).cells.set_index(["arm", "metric"])["mean"]


@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_scikit_learn_embeddings_with_every_extender(name, tmp_path):
    embedding = {"name": f"sklearn.manifold:{name}", "n_components": 2, **SCIKIT_LEARN[name]}
    names = [key for key in available("extenders") if key != "landmark"]
    arms = {key: {"embedding": embedding, "extender": {"name": key, **SETTINGS.get(key, {})}} for key in names}
    if name in ("Isomap", "LocallyLinearEmbedding"):
        arms["own map"] = {"embedding": embedding}
    cells = run(tmp_path, arms)
    for arm in arms:
        assert cells[arm, "trustworthiness"] > (0.5 if arm in WEAK else 0.6), arm
        assert arm in WEAK or cells[arm, "misclassification_rate"] < 60, arm
    pointwise = [key for key in names if not available("extenders")[key].transductive]
    assert max(cells[arm, "shift"] for arm in pointwise) < 1e-6


def test_an_embedding_without_a_map_asks_for_an_extender(tmp_path):
    with pytest.raises(ConfigError, match="add an extender"):
        run(tmp_path, {"MDS": {"embedding": "sklearn.manifold:MDS"}})


def test_landmark_refuses_what_has_no_geodesics(tmp_path):
    with pytest.raises(ConfigError, match=r"landmark does not extend Isomap; those that do: .*rbf"):
        run(tmp_path, {"Isomap": {"embedding": "sklearn.manifold:Isomap", "extender": "landmark"}})


def test_umap_of_the_library_and_of_the_adapters_as_arms(tmp_path):
    pytest.importorskip("umap")
    own = {"name": "umap:UMAP", "n_neighbors": 8}
    arms = {
        "library": {"embedding": own},
        "library, rbf": {"embedding": own, "extender": "rbf"},
        "plain": {"embedding": {"name": "umap", "n_neighbors": 8}},
        "supervised": {"embedding": {"name": "supervised_umap", "n_neighbors": 8}},
        "supervised, krr": {"embedding": {"name": "supervised_umap", "n_neighbors": 8}, "extender": "krr"},
    }
    cells = run(tmp_path, arms)
    for arm in arms:
        assert cells[arm, "misclassification_rate"] < 25, arm
    # The library's class is given the labels by the engine, so that it is the supervised one.
    assert cells["library", "trustworthiness"] == pytest.approx(cells["supervised", "trustworthiness"])
    assert cells["plain", "trustworthiness"] != cells["supervised", "trustworthiness"]
    assert cells["plain", "shift"] > 1e-3 > cells["supervised, krr", "shift"]


def test_what_is_compiled_at_the_first_use_is_not_timed(monkeypatch):
    fits = []
    monkeypatch.setattr(UMAPEmbedding, "fit", lambda self, X, y=None: fits.append(self.supervised) or self)
    monkeypatch.setattr(foreign, "_WARM", set())
    for cls in (UMAPEmbedding, UMAPEmbedding, SupervisedUMAP):
        cls.warm_up()  # the transform of what was not fitted is no error here
    assert fits == [False, True]
