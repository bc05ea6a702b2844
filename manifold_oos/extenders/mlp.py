"""Multilayer perceptron extender: a small neural network learns the map from points to coordinates."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPRegressor

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender


class MLPExtender(Extender):
    r"""Regression of the coordinates by a multilayer perceptron.

    .. math:: \min_\theta \; \frac{1}{2N} \sum_i \|y_i - f_\theta(x_i)\|^2 + \frac{a}{2N} \|W\|^2, \qquad
        f_\theta(x) = W_2 \max(0, W_1 x + b_1) + b_2

    (with one hidden layer) on standardised features and coordinates, minimised by scikit-learn's L-BFGS [1]_, which
    suits the few hundred or thousand points of an embedding. A new point costs a few matrix products, whatever the
    number of training points.

    The minimum depends on the seed, far from the training points the map goes on linearly wherever it was heading,
    and a few points in many dimensions are learned by heart.

    First contact: in two dimensions, or fewer than classes − 1, it is far behind ``normalized_rbf``: it is smooth,
    and on the way from one class to another it passes through those between.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(100,)
        Units of each hidden layer.
    alpha : float, default=1.0
        The a of the formula, the penalty on large weights.
    max_iter : int, default=200
        Steps of L-BFGS at most; it warns where more would help.
    random_state : int, default=0
        Seed of the first weights.

    Attributes
    ----------
    n_iter_ : int
        Steps taken.
    loss_ : float
        Value of the objective at the end.

    References
    ----------
    .. [1] Hinton, Connectionist learning procedures, Artificial Intelligence, 1989; Pedregosa et al., Scikit-learn:
       machine learning in Python, Journal of Machine Learning Research, 2011.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> MLPExtender(alpha=1e-3).fit(X, 2 * X).transform([[0.5]]).round(1).tolist()
    [[1.0]]
    """

    name: ClassVar[str] = "mlp"
    instead: ClassVar[str] = "fewer hidden units, or random_features"
    nested: ClassVar[bool] = False
    grids: ClassVar[Mapping[str, Any]] = {
        "alpha": [1e-2, 1e-1, 1.0, 10.0],
        "hidden_layer_sizes": [[50], [100], [200], [100, 100]],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": ["array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (100,),
        alpha: float = 1.0,
        max_iter: int = 200,
        random_state: int | None = 0,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.alpha = alpha
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def memory(self) -> str:  # type: ignore[override]
        """Activations of all points, and the steps that L-BFGS keeps."""
        return f"3*N*(D + {sum(self.hidden_layer_sizes)}) + 30*{sum(self.hidden_layer_sizes)}*(D + d)"

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        # Sums in another order end in another minimum: points are sorted, so that their order does not matter.
        order = np.lexsort(np.hstack([X, Y]).T)
        self._offset, self._scale = _standard(X[order])
        self._shift, self._spread = _standard(Y[order])
        network = MLPRegressor(
            hidden_layer_sizes=tuple(self.hidden_layer_sizes),
            solver="lbfgs",
            alpha=self.alpha,
            max_iter=self.max_iter,
            max_fun=10 * self.max_iter,
            random_state=self.random_state,
        )
        targets = (Y[order] - self._shift) / self._spread
        network.fit((X[order] - self._offset) / self._scale, targets[:, 0] if Y.shape[1] == 1 else targets)
        self._weights, self._biases = list(network.coefs_), list(network.intercepts_)
        self.n_iter_, self.loss_ = int(network.n_iter_), float(network.loss_)
        self._row_floats = X.shape[1] + sum(self.hidden_layer_sizes)

    def _transform(self, X: Array) -> Array:
        values = (X - self._offset) / self._scale
        for i, (W, b) in enumerate(zip(self._weights, self._biases, strict=True)):
            values = values @ W + b if i == 0 else np.maximum(values, 0) @ W + b
        return values * self._spread + self._shift


def _standard(Z: Array) -> tuple[Array, Array]:
    """Mean and deviation of each column, 1 where it does not vary."""
    spread = Z.std(axis=0)
    return Z.mean(axis=0), np.where(spread > 0, spread, 1.0)
