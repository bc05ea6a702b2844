"""NSSE: learns coordinates together with the smooth RBF map that gives a new point its own."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from manifold_oos.embeddings.base import Array, JointEmbedding
from manifold_oos.numerics.eigen import largest_eigenpairs
from manifold_oos.numerics.graphs import between_class_weights, laplacian, within_class_weights
from manifold_oos.numerics.kernels import Scale, gaussian_kernel, median_distance, resolve_sigma, squared_distances
from manifold_oos.steps import Step

#: The two starts of Figs. 3 and 4, in median distances.
STARTS = {"high": 4.0, "low": 0.2}
#: Longest extrapolation of log σ in one iteration.
LONGEST = 1.0


class NSSE(JointEmbedding):
    r"""Nonlinear supervised smooth embedding, Algorithm 1 of [1]_.

    .. math:: \min_{Y, \sigma} \; \mathrm{tr}(Y^\top L_w Y) - \mu_1 \mathrm{tr}(Y^\top L_b Y)
              + \mu_2 \mathrm{tr}(Y^\top \Psi^{-2} Y) + \mu_3 / \sigma^2, \qquad Y^\top Y = I

    (eq. 11), with :math:`\Psi_{ij} = \exp(-\|x_i - x_j\|^2 / \sigma^2)`, :math:`L_w` the Laplacian of heat weights
    within classes and :math:`L_b` that of weight 1 for every pair of different classes. Neighbours of a class stay
    together, classes part, and the map :math:`f(x) = \sum_i c_i \exp(-\|x - x_i\|^2 / \sigma^2)`,
    :math:`\Psi C = Y`, keeps a small Lipschitz constant. Y (eq. 12) and σ (eq. 14) take turns.
    Because turns creep when the data are many, from the second on σ goes to where the secant of the derivative of
    the objective (Y being the best for each σ) vanishes, or less far when the objective would rise there: the same
    point, in a few iterations.

    Below d = M − 1 dimensions (M classes) a tiny ``mu2 / mu1`` leaves the class contrasts undetermined; duplicates
    with different labels get the same coordinates.

    Parameters
    ----------
    n_components : int, default=2
        Dimension d.
    mu1 : float, default=300
        Weight of the separation of classes; 100 … 1000 in the paper, which fits ``scaling="mean"``.
    mu2 : float, default=1e-3
        Weight of small coefficients of the map; 1e-4 … 1e-3 in the paper.
    mu3 : float, default=1
        Weight of a wide kernel; 1 … 5 in the paper.
    sigma : "alternate", float or {"median": f}, default="alternate"
        Learn σ, or keep it fixed.
    start : {"high", "low"}, float or {"median": f}, default="high"
        σ before the first iteration: 4 or 0.2 median distances, or as given.
    scaling : {"mean", "raw"}, default="mean"
        ``mean`` uses L_w / N, L_b / N² and σ in median distances, so that the weights mean the same for every data
        set; ``raw`` takes eq. 11 to the letter.
    n_neighbors : int or None, default=None
        Neighbours of the same class in L_w; None joins the whole class.
    heat_sigma : float, {"median": f}, "mean_squared" or None, default="mean_squared"
        Width of the heat weights of L_w; None for binary weights.
    max_iter : int, default=50
        Most iterations.
    tol : float, default=1e-3
        Relative change of σ at which it counts as settled.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns.
    sigma_ : float
        The kernel width, absolute.
    coefficients_ : ndarray of shape (n_samples, n_components)
        C of the map.
    lipschitz_ : float
        √N L_φ ‖C‖_F with L_φ = √2 e^(−1/2) / σ, a Lipschitz constant of the map (Proposition 1).
    objective_ : float
        Value of eq. 11.
    steps_ : list of Step
        ``objective`` and ``sigma`` of every iteration.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    .. [1] Örnek & Vural, Nonlinear supervised dimensionality reduction via smooth regular embeddings, Pattern
       Recognition, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NSSE(n_components=2).fit(X[::3], y[::3])
    >>> model.transform(X[1::3]).shape
    (50, 2)
    """

    name: ClassVar[str] = "nsse"
    nested: ClassVar[bool] = False
    supervised: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_components": [2, 3, 5, 7, 10, 15, 19, 25, 30, 39, 49],
        "mu1": [100, 200, 300, 500, 1000],
        "mu2": [1e-4, 3e-4, 1e-3],
        "mu3": [1, 2, 5],
        "sigma": [{"median": f} for f in (0.5, 0.75, 1, 1.5, 2, 3, 4, 6)],
        "n_neighbors": [3, 5, 7, 10, None],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "mu1": [Interval(Real, 0, None, closed="neither")],
        "mu2": [Interval(Real, 0, None, closed="neither")],
        "mu3": [Interval(Real, 0, None, closed="neither")],
        "sigma": [StrOptions({"alternate"}), Interval(Real, 0, None, closed="neither"), Mapping],
        "start": [StrOptions(set(STARTS)), Interval(Real, 0, None, closed="neither"), Mapping],
        "scaling": [StrOptions({"mean", "raw"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "heat_sigma": [Interval(Real, 0, None, closed="neither"), Mapping, StrOptions({"mean_squared"}), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        mu1: float = 300.0,
        mu2: float = 1e-3,
        mu3: float = 1.0,
        sigma: Scale = "alternate",
        start: Scale = "high",
        scaling: str = "mean",
        n_neighbors: int | None = None,
        heat_sigma: Scale | None = "mean_squared",
        max_iter: int = 50,
        tol: float = 1e-3,
    ):
        self.n_components = n_components
        self.mu1 = mu1
        self.mu2 = mu2
        self.mu3 = mu3
        self.sigma = sigma
        self.start = start
        self.scaling = scaling
        self.n_neighbors = n_neighbors
        self.heat_sigma = heat_sigma
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        alternate = isinstance(self.sigma, str)
        scale = self.start if alternate else self.sigma
        start = resolve_sigma({"median": STARTS[scale]} if isinstance(scale, str) else scale, X)
        problem = self._problem(X, np.asarray(y))
        self.steps_: list[Step] = []

        state = self._keep(problem.embed(np.log(start)))
        if alternate:
            state = self._alternate(problem, state)
        self.X_fit_ = X
        self.n_iter_ = len(self.steps_)
        self.objective_ = state.objective
        self.sigma_ = float(np.exp(state.log_sigma))
        self.coefficients_ = state.C
        L_phi = np.sqrt(2) * np.exp(-0.5) / self.sigma_
        self.lipschitz_ = float(np.sqrt(len(X)) * L_phi * np.linalg.norm(state.C))
        return state.Y

    def _transform(self, X: Array) -> Array:
        coordinates: Array = gaussian_kernel(squared_distances(X, self.X_fit_), self.sigma_) @ self.coefficients_
        return coordinates

    def _problem(self, X: Array, y: NDArray) -> "_Problem":
        """Eq. 11 of the training points, in the units that ``scaling`` says."""
        N = len(X)
        width = None if self.heat_sigma is None else resolve_sigma(self.heat_sigma, X)
        L_w = laplacian(within_class_weights(X, y, self.n_neighbors, width).toarray())[0]
        L_b = laplacian(between_class_weights(X, y).toarray())[0]
        mu1, mu3 = self.mu1, self.mu3
        if self.scaling == "mean":
            L_w /= N
            mu1 /= N**2
            mu3 *= median_distance(X) ** 2
        # No eigenvalue of L_b exceeds N.
        return _Problem(squared_distances(X), L_w - mu1 * L_b, 2 * mu1 * N, self.mu2, mu3, self.n_components)

    def _alternate(self, problem: "_Problem", state: "_State") -> "_State":
        """Algorithm 1, from the best Y of the first σ on."""
        move = abs(problem.rescale(state, self.tol) - state.log_sigma)
        move = max(move, self.tol) * (1 if state.slope < 0 else -1)
        secant = False
        while len(self.steps_) < self.max_iter:
            following = problem.embed(state.log_sigma + move)
            falls = following.objective <= state.objective
            # Eq. 14 can move little far from the minimum, a secant cannot.
            settled = abs(move) <= self.tol and (secant or not falls)
            if falls:
                other, state, shortest, longest = state, self._keep(following), 0.0, LONGEST
            else:
                other, shortest, longest = following, 0.2 * abs(move), 0.8 * abs(move)
            if settled:
                return state
            change = (state.slope - other.slope) / (state.log_sigma - other.log_sigma)
            move = abs(state.slope) / change if change > 0 else longest
            move = min(max(move, shortest), longest) * (1 if state.slope < 0 else -1)
            secant = True
        warnings.warn(
            f"NSSE: sigma still moves after {self.max_iter} iterations; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
        return state

    def _keep(self, state: "_State") -> "_State":
        values = {"objective": state.objective, "sigma": float(np.exp(state.log_sigma))}
        self.steps_.append(Step(len(self.steps_) + 1, values=values))
        return state


@dataclass(frozen=True)
class _State:
    """The best Y for a σ, its coefficients, the objective and its derivative in log σ, times σ²."""

    log_sigma: float
    Y: Array
    C: Array
    objective: float
    slope: float


@dataclass(frozen=True)
class _Problem:
    """Eq. 11 with B = L_w − μ₁L_b and a ``shift`` for which B + shift I is positive definite."""

    squared: Array
    B: Array
    shift: float
    mu2: float
    mu3: float
    n_components: int

    def psi(self, log_sigma: float) -> Array:
        """Ψ, its diagonal raised by the rounding error of a factorisation so that duplicates do no harm."""
        N = len(self.squared)
        Psi = gaussian_kernel(self.squared, float(np.exp(log_sigma)))
        Psi.flat[:: N + 1] += N**2 * np.finfo(float).eps
        return Psi

    def embed(self, log_sigma: float) -> _State:
        r"""Eq. 12: the d smallest eigenvectors of :math:`A = B + \mu_2 \Psi^{-2}`.

        They are the d largest of :math:`(A + s I)^{-1} = \Psi (\Psi (B + s I) \Psi + \mu_2 I)^{-1} \Psi`, which
        needs no inverse of the ill-conditioned Ψ; from the same factor come
        :math:`C = \Psi^{-1} Y` and, through :math:`\mu_2 \Psi^{-2} Y = Y \Lambda - B Y`, the derivative.
        """
        Psi = self.psi(log_sigma)
        K = Psi @ (self.B @ Psi + self.shift * Psi)
        K.flat[:: len(K) + 1] += self.mu2
        R = linalg.cholesky(K, overwrite_a=True, check_finite=False)
        V = linalg.solve_triangular(R, Psi, trans="T", check_finite=False)
        theta, Y = largest_eigenpairs(V.T @ V, self.n_components, multiple=True)
        C = linalg.solve_triangular(R, V @ Y, check_finite=False) / theta
        sigma2 = float(np.exp(2 * log_sigma))
        BY = self.B @ Y
        objective = np.sum(Y * BY) + self.mu2 * np.sum(C**2) + self.mu3 / sigma2
        residual = Y * (1 / theta - self.shift) - BY
        slope = -4 * np.sum(residual * ((Psi * self.squared) @ C)) - 2 * self.mu3
        return _State(float(log_sigma), Y, C, float(objective), float(slope))

    def roughness(self, log_sigma: float, Y: Array) -> float:
        """Eq. 14: μ₂ tr(YᵀΨ⁻²Y) + μ₃/σ², the part of the objective that depends on σ."""
        factor = linalg.cho_factor(self.psi(log_sigma), overwrite_a=True, check_finite=False)
        C = linalg.cho_solve(factor, Y, check_finite=False)
        return float(self.mu2 * np.sum(C**2) + self.mu3 * np.exp(-2 * log_sigma))

    def rescale(self, state: _State, tol: float) -> float:
        """Log σ of least roughness downhill from the current one, by doubled steps and Brent's search."""

        def value(log_sigma: float) -> float:
            return self.roughness(log_sigma, state.Y)

        behind, here, ahead, lowest = _bracket(value, state.log_sigma, 0.1 if state.slope < 0 else -0.1)
        found = optimize.minimize_scalar(
            value, bounds=sorted((behind, ahead)), method="bounded", options={"xatol": tol / 4}
        )
        return float(found.x) if found.fun < lowest else here


def _bracket(value: Callable[[float], float], start: float, step: float) -> tuple[float, float, float, float]:
    """Three abscissae around a minimum downhill of start, and the value at the middle one."""
    behind, here, lowest = start, start, value(start)
    ahead = start + step
    while (reached := value(ahead)) < lowest:
        step *= 2
        behind, here, ahead, lowest = here, ahead, ahead + step, reached
    return behind, here, ahead, lowest
