"""What every method promises, as checks that can fail, for the project's own methods and for a user's.

``tests/test_contracts.py`` and ``moos describe --check`` run the same list.
"""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from manifold_oos.arrays import Array
from manifold_oos.classifiers.base import Classifier
from manifold_oos.embeddings.base import Embedding, JointEmbedding
from manifold_oos.extenders.base import Extender
from manifold_oos.registry import available

Check = Callable[[Any], None]
TOLERANCE = 1e-6


def sample() -> tuple[Array, NDArray, Array, NDArray]:
    """Three noisy arcs in R⁵, a class each: training points, labels, new points, labels.

    Returns
    -------
    X, y, X_new, y_new : ndarrays
        60 training and 24 new points.

    Examples
    --------
    >>> [part.shape for part in sample()]
    [(60, 5), (60,), (24, 5), (24,)]
    """
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 28)
    t = random.uniform(0, np.pi, size=84)
    X = np.column_stack([np.cos(t) + 1.2 * y, np.sin(t), 0.3 * t, np.cos(t + y), 0.2 * y])
    X += 0.02 * random.standard_normal(X.shape)
    order = random.permutation(84)
    return X[order[:60]], y[order[:60]], X[order[60:]], y[order[60:]]


def close(actual: Array, expected: Array, what: str, tolerance: float = TOLERANCE) -> None:
    """Fail with a sentence when two arrays differ by more than a share of their size.

    Parameters
    ----------
    actual, expected : ndarray
        What is and what should be.
    what : str
        The promise, for the message.
    tolerance : float
        Largest difference, relative to the largest expected magnitude.
    """
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    difference = np.abs(actual - expected).max() / max(np.abs(expected).max(), 1e-300)
    assert difference <= tolerance, f"{what}: relative difference {difference:.1e} > {tolerance:.0e}"


def rejects(call: Callable[[], Any], what: str) -> None:
    """Fail unless a call raises ValueError.

    Parameters
    ----------
    call : callable
        Something wrong.
    what : str
        The promise, for the message.
    """
    try:
        call()
    except ValueError:
        return
    raise AssertionError(f"{what}: no ValueError")


def embedding_shape(method: Embedding) -> None:
    """``embedding_`` has a finite row for each training point and n_components columns."""
    X, y, _, _ = sample()
    Y = method.fit(X, y).embedding_
    assert isinstance(Y, np.ndarray), f"embedding_ is {type(Y).__name__}; _fit must return the coordinates"
    assert Y.shape == (len(X), method.n_components), f"embedding_ has shape {Y.shape}"
    assert np.isfinite(Y).all(), "embedding_ has values that are not finite"


def embedding_deterministic(method: Embedding) -> None:
    """Two fits give the same bits."""
    X, y, _, _ = sample()
    first, second = clone(method).fit(X, y).embedding_, clone(method).fit(X, y).embedding_
    assert np.array_equal(first, second), "two fits on the same data differ"


def embedding_nested(method: Embedding) -> None:
    """Where ``nested`` says so, fewer components are the first columns of more."""
    if not method.nested:
        return
    X, y, _, _ = sample()
    small = clone(method).set_params(n_components=1).fit(X, y).embedding_
    large = clone(method).set_params(n_components=2).fit(X, y).embedding_
    close(large[:, :1], small, "nested")


def embedding_pickles(method: Embedding) -> None:
    """A fitted embedding survives pickling."""
    X, y, _, _ = sample()
    method.fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(method)).embedding_, method.embedding_), "pickling changed it"


def embedding_rejects_nan(method: Embedding) -> None:
    """NaN among the features and more components than points are ValueErrors."""
    X, y, _, _ = sample()
    rejects(lambda: clone(method).fit(np.where(X > 1, np.nan, X), y), "NaN in X")
    rejects(lambda: clone(method).set_params(n_components=len(X) + 1).fit(X, y), "n_components > n_samples")


def embedding_transform(method: Embedding) -> None:
    """A joint method maps any points, each on its own."""
    if not isinstance(method, JointEmbedding):
        return
    X, y, X_new, _ = sample()
    pointwise(method.fit(X, y), X_new)


def pointwise(fitted: Any, X_new: Array) -> None:
    """Fail unless transform is finite, treats each point on its own and takes float32.

    Parameters
    ----------
    fitted : estimator
        With a ``transform``.
    X_new : ndarray
        New points.
    """
    Z = fitted.transform(X_new)
    assert np.isfinite(Z).all(), "transform has values that are not finite"
    close(np.vstack([fitted.transform(x[None]) for x in X_new]), Z, "pointwise transform")
    close(fitted.transform(X_new.astype(np.float32)), Z, "float32 transform", tolerance=1e-2)


def partner(method: Extender) -> Embedding:
    """An embedding that an extender supports.

    Parameters
    ----------
    method : Extender
        The extender.

    Returns
    -------
    Embedding
        Unfitted, with two components.
    """
    embeddings = available("embeddings")
    for name in ("suplap" if method.supervised else "ltsa", "laplacian_eigenmaps", "isomap", *embeddings):
        if method.supports(embeddings[name]):
            embedding: Embedding = embeddings[name](n_components=2)
            return embedding
    raise AssertionError(f"{method.name} supports no embedding at all")


def fit_extender(method: Extender, columns: int | None = None, order: NDArray | None = None) -> Extender:
    """An extender fitted on the sample, with the new points where it is transductive.

    Parameters
    ----------
    method : Extender
        Unfitted; a clone is fitted.
    columns : int, optional
        Keep only the first so many coordinates.
    order : ndarray, optional
        Permutation of the training points.

    Returns
    -------
    Extender
        The fitted clone.
    """
    X, y, X_new, _ = sample()
    embedding = partner(method).fit(X, y)
    rows = np.arange(len(X)) if order is None else order
    return clone(method).fit(
        X[rows],
        embedding.embedding_[rows, :columns],
        y[rows],
        X_new=X_new if method.transductive else None,
        embedding=embedding if order is None and columns is None else None,
    )


def extender_transform(method: Extender) -> None:
    """New points get finite coordinates, each on its own."""
    _, _, X_new, _ = sample()
    fitted = fit_extender(method)
    pointwise_or_known(fitted, X_new)


def pointwise_or_known(fitted: Extender, X_new: Array) -> None:
    """Fail unless a transform is pointwise or, for transductive methods, answers for the new points.

    Parameters
    ----------
    fitted : Extender
        Fitted, with the new points where it is transductive.
    X_new : ndarray
        The new points.
    """
    if fitted.transductive:
        Z = fitted.transform(X_new)
        assert np.isfinite(Z).all(), "coordinates of the new points are not finite"
        close(np.vstack([fitted.transform(x[None]) for x in X_new]), Z, "pointwise transform")
        close(fitted.new_embedding_, Z, "new_embedding_ agrees with transform")
    else:
        pointwise(fitted, X_new)


def extender_interpolates(method: Extender) -> None:
    """Where ``interpolates`` says so, training points keep their coordinates."""
    if not method.interpolates:
        return
    X, y, _, _ = sample()
    close(fit_extender(method).transform(X), partner(method).fit(X, y).embedding_, "f(x_i) = y_i")


def extender_nested(method: Extender) -> None:
    """Where ``nested`` says so, the first columns of Y decide the first columns of the result."""
    if not method.nested or needs_embedding(method):
        return
    _, _, X_new, _ = sample()
    rows = np.arange(60)
    both = fit_extender(method, order=rows).transform(X_new)
    close(fit_extender(method, columns=1, order=rows).transform(X_new), both[:, :1], "nested")


def needs_embedding(method: Extender) -> bool:
    """Whether an extender works only with the fitted embedding at hand.

    Parameters
    ----------
    method : Extender
        The extender.

    Returns
    -------
    bool
        True when it supports some embeddings only.
    """
    return not all(method.supports(embedding) for embedding in available("embeddings").values())


def extender_permutation(method: Extender) -> None:
    """The order of the training points does not matter."""
    if needs_embedding(method):
        return
    _, _, X_new, _ = sample()
    plain = fit_extender(method, order=np.arange(60)).transform(X_new)
    shuffled = fit_extender(method, order=np.random.default_rng(1).permutation(60)).transform(X_new)
    close(shuffled, plain, "permutation invariance")


def extender_pickles(method: Extender) -> None:
    """A fitted extender survives pickling."""
    _, _, X_new, _ = sample()
    fitted = fit_extender(method)
    close(pickle.loads(pickle.dumps(fitted)).transform(X_new), fitted.transform(X_new), "pickling", tolerance=0)


def extender_rejects_nan(method: Extender) -> None:
    """NaN among features or coordinates is a ValueError."""
    X, y, _, _ = sample()
    Y = X[:, :2]
    rejects(lambda: clone(method).fit(np.where(X > 1, np.nan, X), Y, y), "NaN in X")
    rejects(lambda: clone(method).fit(X, np.where(Y > 1, np.nan, Y), y), "NaN in Y")


def classifier_learns(method: Classifier) -> None:
    """A classifier gives the new points of an easy problem their labels better than chance."""
    X, y, X_new, y_new = sample()
    if method.transductive:
        predicted = method.fit(X, y, X_new=X_new).transduction_
    else:
        predicted = method.fit(X, y).predict(X_new)
    assert predicted.shape == y_new.shape, f"labels have shape {predicted.shape}"
    error = float(np.mean(predicted != y_new))
    assert error < 0.34, f"error {error:.0%} on three well-separated classes"


UNSEEN = "predicts or transforms points that fit never saw, which a transductive method refuses by contract"
MINUS_ONE = "uses −1 as a class, which semi-supervised methods read as unlabelled"
TOGETHER = "places points one by one, which umap-learn places together with shared random numbers"
#: scikit-learn's checks that cannot hold → why, by the name of the method.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "gom": {"check_fit_idempotent": UNSEEN},
    "cp": {"check_fit_idempotent": UNSEEN},
    "gaussian_fields": {
        "check_fit_idempotent": UNSEEN,
        "check_classifiers_one_label": UNSEEN,
        "check_classifiers_classes": MINUS_ONE,
    },
    "mreg": {"check_classifiers_classes": MINUS_ONE},
    "umap": {"check_methods_sample_order_invariance": TOGETHER, "check_methods_subset_invariance": TOGETHER},
    "supervised_umap": {
        "check_methods_sample_order_invariance": TOGETHER,
        "check_methods_subset_invariance": TOGETHER,
    },
}


def expected_failures(method: Any) -> dict[str, str]:
    """scikit-learn's checks that make no sense for a method, with the reason.

    Parameters
    ----------
    method : estimator
        Of the project or a user's own.

    Returns
    -------
    dict of str to str
        Reason by check; a user's transductive method is excused as the project's are.
    """
    own = type(method).__module__.startswith("manifold_oos.")
    excused = getattr(method, "transductive", False) and not own
    return EXPECTED_FAILURES["gaussian_fields"] if excused else EXPECTED_FAILURES.get(method.name, {})


def scikit_learn_instance(cls: type) -> Any:
    """An instance for scikit-learn's checks, which know of no labels beside coordinates.

    Parameters
    ----------
    cls : type
        A method; a supervised extender is given labels made from the coordinates.

    Returns
    -------
    estimator
        Unfitted.
    """
    if not (issubclass(cls, Extender) and cls.supervised):
        return cls()

    def fit(self: Any, X: Any, Y: Any, y: Any = None, *, X_new: Any = None, embedding: Any = None) -> Any:
        if Y is not None and y is None:
            values = np.asarray(Y)
            y = values.reshape(len(values), -1)[:, 0] > 0
        return cls.fit(self, X, Y, y, X_new=X_new, embedding=embedding)

    labelled = type(f"Labelled{cls.__name__}", (cls,), {"fit": fit, "__module__": __name__})
    globals()[labelled.__name__] = labelled  # where pickle finds it
    return labelled()


def scikit_learn(method: Any) -> None:
    """scikit-learn's own checks of estimators hold."""
    instance = scikit_learn_instance(type(method))
    results = check_estimator(
        instance, on_skip=None, on_fail=None, expected_failed_checks=expected_failures(instance)
    )
    failed = [f"{entry['check_name']}: {entry['exception']}" for entry in results if entry["status"] == "failed"]
    assert not failed, f"{len(failed)} of {len(results)} fail, the first: {' '.join(failed[0].split())[:300]}"


CHECKS: dict[type, tuple[Check, ...]] = {
    Embedding: (
        embedding_shape,
        embedding_deterministic,
        embedding_nested,
        embedding_pickles,
        embedding_rejects_nan,
        embedding_transform,
    ),
    Extender: (
        extender_transform,
        extender_interpolates,
        extender_nested,
        extender_permutation,
        extender_pickles,
        extender_rejects_nan,
    ),
    Classifier: (classifier_learns,),
}


def checks_for(cls: type) -> tuple[Check, ...]:
    """The promises of the kind that a class belongs to.

    Parameters
    ----------
    cls : type
        A subclass of Embedding, Extender or Classifier.

    Returns
    -------
    tuple of callables
        Each takes an unfitted instance and raises AssertionError when a promise is broken.

    Examples
    --------
    >>> from manifold_oos.registry import find
    >>> checks_for(find("embeddings", "ltsa"))[0].__name__
    'embedding_shape'
    """
    if getattr(cls, "needs_index", False):
        raise ValueError(f"{cls.__name__} has coordinates from elsewhere, which promise nothing")
    for base, checks in CHECKS.items():
        if isinstance(cls, type) and issubclass(cls, base):
            return checks
    raise ValueError(f"{getattr(cls, '__name__', cls)} derives from none of Embedding, Extender, Classifier")
