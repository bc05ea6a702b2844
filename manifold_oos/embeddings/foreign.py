"""Embeddings of other libraries with manners of their own: UMAP, openTSNE and PaCMAP, each with its map."""

import contextlib
import importlib
import logging
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.errors import ConfigError
from manifold_oos.registry import absent

#: Names of the methods that have compiled in this process.
_WARM: set[str] = set()
_COMPONENTS = [Interval(Integral, 1, None, closed="left")]
_NEIGHBORS = [Interval(Integral, 2, None, closed="left")]


class ForeignEmbedding(TransformerMixin, Embedding):
    """An embedding that another library fits and maps; a method adds ``_train`` and ``_place``.

    Unlike a joint embedding it promises nothing of its map: points that arrive together may see each other.
    """

    nested: ClassVar[bool] = False
    #: The library, by the name that Python imports.
    package: ClassVar[str]

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        if self.n_components >= len(X):
            raise ValueError(f"n_components={self.n_components} needs more than n_samples = {len(X)} points")
        if absent(type(self)):
            raise ConfigError(absent(type(self)))
        return np.asarray(self._train(importlib.import_module(self.package), X, y), dtype=np.float64)

    def transform(self, X: ArrayLike) -> Array:
        """Give new points coordinates by the library's own map.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n, n_components)
            Their coordinates.
        """
        check_is_fitted(self, "embedding_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self._place(X), dtype=np.float64)

    @classmethod
    def warm_up(cls) -> None:
        """Let the library compile what it compiles at its first use, so that no fit is timed with it."""
        if cls.name in _WARM:
            return
        _WARM.add(cls.name)
        X = np.random.default_rng(0).standard_normal((60, 4))
        with warnings.catch_warnings(), contextlib.suppress(Exception):  # a fit will say what is wrong
            warnings.simplefilter("ignore")
            cls().fit(X, np.arange(60) % 2).transform(X[:5])

    @abstractmethod
    def _train(self, library: Any, X: Array, y: NDArray | None) -> Any:
        """Coordinates of the training points."""

    @abstractmethod
    def _place(self, X: Array) -> Any:
        """Coordinates of new points."""


class UMAPEmbedding(ForeignEmbedding):
    """UMAP by umap-learn, without labels [1]_.

    A fuzzy neighbour graph of the data is laid out by attraction along edges and repulsion of random pairs. It
    shows clusters well; distances between them, and densities, mean little. Its map optimises the new points of one
    call with shared random numbers: a point placed alone lands elsewhere than in a batch (the metric ``shift``).

    ``umap:UMAP`` in a config is the library's own class with all its parameters, which uses the labels where there
    are any.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=15
        Neighbours per point, the point itself counted as the library does.
    min_dist : float, default=0.1
        How close points may be packed.
    random_state : int, default=0
        Seed; with one the library works on a single core.

    References
    ----------
    .. [1] McInnes, Healy & Melville, UMAP: uniform manifold approximation and projection for dimension reduction,
       arXiv:1802.03426, 2018.
    """

    name: ClassVar[str] = "umap"
    package: ClassVar[str] = "umap"
    grids: ClassVar[Mapping[str, Any]] = {
        "n_components": [2, 5, 10, 20],
        "n_neighbors": [5, 10, 15, 30, 50],
        "min_dist": [0.0, 0.1, 0.5],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": _COMPONENTS,
        "n_neighbors": _NEIGHBORS,
        "min_dist": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components: int = 2, n_neighbors: int = 15, min_dist: float = 0.1, random_state: int | None = 0
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.random_state = random_state

    def _train(self, library: Any, X: Array, y: NDArray | None) -> Any:
        self._model = library.UMAP(**self.get_params(), n_jobs=1)
        target = np.unique(np.asarray(y), return_inverse=True)[1] if self.supervised else None
        return self._model.fit(X, target).embedding_

    def _place(self, X: Array) -> Any:
        return self._model.transform(X)


class SupervisedUMAP(UMAPEmbedding):
    """UMAP by umap-learn with class labels [1]_.

    The neighbour graph is intersected with that of the labels, so that classes come apart. New points are placed by
    the data alone.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=15
        Neighbours per point, the point itself counted as the library does.
    min_dist : float, default=0.1
        How close points may be packed.
    random_state : int, default=0
        Seed; with one the library works on a single core.

    References
    ----------
    .. [1] McInnes, Healy & Melville, UMAP: uniform manifold approximation and projection for dimension reduction,
       arXiv:1802.03426, 2018.
    """

    name: ClassVar[str] = "supervised_umap"
    supervised: ClassVar[bool] = True


class OpenTSNE(ForeignEmbedding):
    """t-SNE by openTSNE, which has a map for new points [1]_.

    The coordinates minimise the divergence of neighbour probabilities in data and embedding; a new point starts at
    the median of its neighbours and is optimised against the known points alone, which stay. Clusters and close
    neighbours are kept; distances and sizes of clusters mean nothing. scikit-learn's ``sklearn.manifold:TSNE`` has
    no map and needs an extender.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding; above 2 it is slow.
    perplexity : float, default=30.0
        How many neighbours count; a third of the points where they are few.
    random_state : int, default=0
        Seed.

    References
    ----------
    .. [1] Poličar, Stražar & Zupan, openTSNE: a modular Python library for t-SNE dimensionality reduction and
       embedding, Journal of Statistical Software, 2024.
    """

    name: ClassVar[str] = "opentsne"
    package: ClassVar[str] = "openTSNE"
    grids: ClassVar[Mapping[str, Any]] = {"perplexity": [5, 10, 20, 30, 50]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": _COMPONENTS,
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_components: int = 2, perplexity: float = 30.0, random_state: int | None = 0):
        self.n_components = n_components
        self.perplexity = perplexity
        self.random_state = random_state

    def _train(self, library: Any, X: Array, y: NDArray | None) -> Any:
        perplexity = min(self.perplexity, (len(X) - 1) / 3)
        self._model = library.TSNE(
            self.n_components, perplexity=perplexity, random_state=self.random_state, n_jobs=1
        ).fit(X)
        # The library moves the middle to the origin with the first new points, under the coordinates given out.
        self._model -= (self._model.max(axis=0) + self._model.min(axis=0)) / 2
        return np.array(self._model)

    def _place(self, X: Array) -> Any:
        return self._model.transform(X)


class PaCMAPEmbedding(ForeignEmbedding):
    """PaCMAP by its own library [1]_.

    Near, mid-near and far pairs of points pull and push in three phases, for the shape of the whole as well as for
    neighbours. For its map the training points are kept; the library itself warns that a known point may land
    elsewhere than where it was.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=10
        Near pairs per point.
    random_state : int, default=0
        Seed.

    References
    ----------
    .. [1] Wang, Huang, Rudin & Shaposhnik, Understanding how dimension reduction tools work: an empirical approach
       to deciphering t-SNE, UMAP, TriMap, and PaCMAP for data visualization, Journal of Machine Learning Research,
       2021.
    """

    name: ClassVar[str] = "pacmap"
    package: ClassVar[str] = "pacmap"
    grids: ClassVar[Mapping[str, Any]] = {"n_components": [2, 5, 10], "n_neighbors": [5, 10, 20, 40]}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": _COMPONENTS,
        "n_neighbors": _NEIGHBORS,
        "random_state": ["random_state"],
    }

    def __init__(self, n_components: int = 2, n_neighbors: int = 10, random_state: int | None = 0):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _train(self, library: Any, X: Array, y: NDArray | None) -> Any:
        logging.getLogger("pacmap").setLevel(logging.ERROR)  # it warns at every seed
        self._model = library.PaCMAP(**self.get_params())
        self._train_points = X
        return self._model.fit(X).embedding_

    def _place(self, X: Array) -> Any:
        return self._model.transform(X, basis=self._train_points, save_pairs=False)
