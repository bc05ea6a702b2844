"""Manifold regularisation: a kernel machine that is also smooth over the graph of the points it has seen."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted, validate_data

from manifold_oos.arrays import Array
from manifold_oos.classifiers.base import Classifier
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.numerics.chunks import map_rows
from manifold_oos.numerics.graphs import knn_weights, laplacian
from manifold_oos.numerics.kernels import Scale, gaussian_kernel, resolve_sigma, shared_distances


class ManifoldRegularization(Classifier):
    r"""Laplacian-regularised least squares and support vector machine in an RKHS.

    .. math:: \min_f \frac{1}{l} \sum_{i \le l} V(y_i, f(x_i)) + \gamma_A \|f\|_K^2
              + \frac{\gamma_I}{n^2} \mathbf f^\top L \mathbf f

    over :math:`n` points of which :math:`l` are labelled (eq. 4 of [1]_), one class against the rest, so that
    :math:`f = \sum_i \alpha_i K(\cdot, x_i)`. For :math:`V = (y - f)^2` (eq. 8)

    .. math:: \alpha = \Bigl(JK + \gamma_A l I + \frac{\gamma_I l}{n^2} LK\Bigr)^{-1} JY,

    and for the hinge loss :math:`\alpha = (2\gamma_A I + 2\frac{\gamma_I}{n^2} LK)^{-1} J^\top Y \beta` with
    :math:`\beta` from the dual of a support vector machine (eq. 10, 11). The kernel is
    :math:`\exp(-\|x - z\|^2/\sigma^2)`. The result is a function of any x; new points at ``fit`` are optional.

    Parameters
    ----------
    loss : {"squared", "hinge"}, default="hinge"
        Least squares (LapRLS) or support vector machine (LapSVM).
    gamma_A : float, default=1e-6
        Weight of the norm in the RKHS.
    gamma_I : float, default=1e-2
        Weight of the smoothness over the graph.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Kernel width; the heat weights of the graph share it.
    n_neighbors : int, default=5
        Neighbours in the graph.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_new,)
        Labels of the new points of ``fit``: rows with y = −1, then those of ``X_new``.
    coefficients_ : ndarray of shape (n, n_classes)
        α of each class; a single column for two classes.
    sigma_ : float
        Absolute kernel width.

    References
    ----------
    .. [1] Belkin, Niyogi & Sindhwani, Manifold regularization: a geometric framework for learning from labeled
       and unlabeled examples, Journal of Machine Learning Research, 2006.

    Examples
    --------
    >>> machine = ManifoldRegularization().fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    >>> machine.predict([[0.5], [5.5]]).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "mreg"
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "loss": ["squared", "hinge"],
        "gamma_A": [1e-8, 1e-6, 1e-4, 1e-2],
        "gamma_I": [0.0, 1e-4, 1e-2, 1.0],
        "sigma": [{"median": f} for f in (0.5, 1, 2, 4)],
        "n_neighbors": [3, 5, 10],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"squared", "hinge"})],
        "gamma_A": [Interval(Real, 0, None, closed="neither")],
        "gamma_I": [Interval(Real, 0, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "hinge",
        gamma_A: float = 1e-6,
        gamma_I: float = 1e-2,
        sigma: Scale = "mean_squared",
        n_neighbors: int = 5,
    ) -> None:
        self.loss = loss
        self.gamma_A = gamma_A
        self.gamma_I = gamma_I
        self.sigma = sigma
        self.n_neighbors = n_neighbors

    def fit(self, X: ArrayLike, y: ArrayLike, X_new: ArrayLike | None = None) -> Self:
        """Learn the decision functions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points; those with label −1 are new.
        y : array-like of shape (n_samples,)
            Labels.
        X_new : array-like of shape (n_new, n_features), optional
            More new points, which shape the graph.

        Returns
        -------
        self
            Fitted.
        """
        X, codes, X_new = self._validate_new(X, y, X_new)
        if len(self.classes_) < 2:
            raise ValueError(f"mreg needs two classes, but y has one class only: {self.classes_[0]}")
        self.points_ = np.vstack([X, X_new])
        self.sigma_ = resolve_sigma(self.sigma, self.points_)
        n, n_labelled = len(self.points_), len(X)
        K = gaussian_kernel(shared_distances(self.points_), self.sigma_)
        L, _ = laplacian(knn_weights(self.points_, min(self.n_neighbors, n - 1), self.sigma_))
        smooth = self.gamma_I / n**2 * (L @ K)
        targets = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        if len(self.classes_) == 2:
            targets = targets[:, 1:]
        learn = self._squared if self.loss == "squared" else self._hinge
        self.coefficients_, self.intercept_ = learn(K, smooth, targets, n_labelled)
        self.transduction_ = self.classes_[_codes(K[n_labelled:] @ self.coefficients_ + self.intercept_)]
        return self

    def _squared(self, K: Array, smooth: Array, targets: Array, n_labelled: int) -> tuple[Array, Array]:
        system = n_labelled * smooth
        system[:n_labelled] += K[:n_labelled]
        system[np.diag_indices_from(system)] += self.gamma_A * n_labelled
        right = np.zeros((len(K), targets.shape[1]))
        right[:n_labelled] = targets
        return np.linalg.solve(system, right), np.zeros(targets.shape[1])

    def _hinge(self, K: Array, smooth: Array, targets: Array, n_labelled: int) -> tuple[Array, Array]:
        system = 2 * smooth
        system[np.diag_indices_from(system)] += 2 * self.gamma_A
        expand = np.linalg.solve(system, np.eye(len(K), n_labelled))
        Q = K[:n_labelled] @ expand
        Q = (Q + Q.T) / 2
        alpha, intercept = np.empty((len(K), targets.shape[1])), np.empty(targets.shape[1])
        for k, target in enumerate(targets.T):
            machine = SVC(C=1 / n_labelled, kernel="precomputed", tol=1e-5).fit(Q, target)
            alpha[:, k] = expand[:, machine.support_] @ machine.dual_coef_[0]
            intercept[k] = machine.intercept_[0]
        return alpha, intercept

    def decision_function(self, X: ArrayLike) -> Array:
        """Values of the functions whose largest decides.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Points.

        Returns
        -------
        ndarray of shape (n, n_classes) or (n,) for two classes
            One column per class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = map_rows(self._values, X, row_floats=len(self.points_))
        return values[:, 0] if values.shape[1] == 1 else values

    def _values(self, X: Array) -> Array:
        kernel = gaussian_kernel(shared_distances(X, self.points_), self.sigma_)
        return kernel @ self.coefficients_ + self.intercept_

    def _predict(self, X: Array) -> NDArray[np.intp]:
        return _codes(map_rows(self._values, X, row_floats=len(self.points_)))


def _codes(decision: Array) -> NDArray[np.intp]:
    """The class of the largest value; of two classes, by the sign of the one function."""
    return (decision[:, 0] > 0).astype(np.intp) if decision.shape[1] == 1 else decision.argmax(axis=1)
