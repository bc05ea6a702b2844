"""Support vector machine: a point gets the label of the side of the widest margins that it is on."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC

from manifold_oos.arrays import Array
from manifold_oos.classifiers.base import Classifier
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.numerics.chunks import map_rows
from manifold_oos.numerics.kernels import Scale, gaussian_kernel, resolve_sigma, squared_distances


class SVM(Classifier):
    r"""Support vector machine that does not mind the scale of its input.

    Coordinates of an embedding can be tiny: eigenvectors of N points have entries of order
    :math:`1/\sqrt N`. Points are therefore centred and divided by one number, the root of their mean squared
    distance from the mean, so that C means the same on pixels and on coordinates.

    Parameters
    ----------
    kernel : {"linear", "rbf"}, default="linear"
        Inner product or :math:`\exp(-\|x - z\|^2 / \sigma^2)`.
    C : float, default=1000.0
        Price of a point on the wrong side; the default is a hard margin wherever classes are separable.
    sigma : float, {"median": f} or "mean_squared", default="mean_squared"
        Width of the Gaussian kernel, in the units of the input.

    Attributes
    ----------
    scale_ : float
        What the centred points are divided by.
    sigma_ : float
        Absolute width, for ``kernel="rbf"``.

    Examples
    --------
    >>> SVM().fit([[0.0], [1e-6]], ["a", "b"]).predict([[1e-7], [9e-7]]).tolist()
    ['a', 'b']
    """

    name: ClassVar[str] = "svm"
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "kernel": ["linear", "rbf"],
        "C": [0.1, 1.0, 10.0, 100.0, 1000.0],
        "sigma": [{"median": f} for f in (0.5, 1, 2, 4)],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"linear", "rbf"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "sigma": [Interval(Real, 0, None, closed="neither"), dict, StrOptions({"mean_squared"})],
    }

    def __init__(self, kernel: str = "linear", C: float = 1000.0, sigma: Scale = "mean_squared") -> None:
        self.kernel = kernel
        self.C = C
        self.sigma = sigma

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the margins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self
            Fitted.
        """
        X, codes = self._validate(X, y)
        if len(self.classes_) < 2:
            raise ValueError(f"svm needs two classes, but y has one class only: {self.classes_[0]}")
        self.offset_ = X.mean(axis=0)
        spread = float(np.sqrt(((X - self.offset_) ** 2).sum(axis=1).mean()))
        self.scale_ = spread if spread > 0 else 1.0
        gamma = 1.0
        if self.kernel == "rbf":
            self.sigma_ = resolve_sigma(self.sigma, X)
            gamma = (self.scale_ / self.sigma_) ** 2
        self._machine = SVC(C=self.C, kernel=self.kernel, gamma=gamma).fit((X - self.offset_) / self.scale_, codes)
        return self

    def _predict(self, X: Array) -> NDArray[np.intp]:
        codes: NDArray[np.intp] = map_rows(self._votes, X, self._machine.n_support_.sum()).argmax(axis=1)
        return codes

    def _votes(self, X: Array) -> Array:
        """How many other classes each class wins against: libsvm's decision, by matrix products."""
        machine, Z = self._machine, (X - self.offset_) / self.scale_
        S = machine.support_vectors_
        K = Z @ S.T if self.kernel == "linear" else gaussian_kernel(squared_distances(Z, S), machine.gamma**-0.5)
        ends = np.cumsum(machine.n_support_)
        blocks = [slice(end - n, end) for n, end in zip(machine.n_support_, ends, strict=True)]
        # Row j of a class's coefficients is its machine against class j, classes after its own one row earlier.
        sides = [K[:, block] @ machine.dual_coef_[:, block].T for block in blocks]
        sign = -1 if len(blocks) == 2 else 1  # scikit-learn turns the one machine of two classes around
        votes = np.zeros((len(X), len(blocks)))
        for number, (i, j) in enumerate(combinations(range(len(blocks)), 2)):
            wins = sign * (sides[i][:, j - 1] + sides[j][:, i] + machine.intercept_[number]) > 0
            votes[:, i] += wins
            votes[:, j] += ~wins
        return votes
