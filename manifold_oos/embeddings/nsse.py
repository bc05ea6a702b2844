"""NSSE: learns coordinates together with the smooth RBF map that gives a new point its own."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, linalg, optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from manifold_oos.arrays import Array
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.numerics.centers import some_centers
from manifold_oos.numerics.eigen import fix_signs, largest_eigenpairs, warn_ambiguous
from manifold_oos.numerics.graphs import laplacian, within_class_weights
from manifold_oos.numerics.kernels import (
    Scale,
    gaussian_kernel,
    median_distance,
    resolve_sigma,
    shared_distances,
    squared_distances,
)
from manifold_oos.numerics.shared import shared
from manifold_oos.steps import Step

#: The two starts of Figs. 3 and 4, in median distances.
STARTS = {"high": 4.0, "low": 0.2}
#: Dimensions up to this share the Y of the same σ.
FIRST = 50
#: Step of log σ on the way downhill.
MARCH = 0.25


class NSSE(JointEmbedding):
    r"""Nonlinear supervised smooth embedding, Algorithm 1 of [1]_.

    .. math:: \min_{Y, \sigma} \; \mathrm{tr}(Y^\top L_w Y) - \mu_1 \mathrm{tr}(Y^\top L_b Y)
              + \mu_2 \mathrm{tr}(Y^\top \Psi^{-2} Y) + \mu_3 / \sigma^2, \qquad Y^\top Y = I

    (eq. 11), with :math:`\Psi_{ij} = \exp(-\|x_i - x_j\|^2 / \sigma^2)`, :math:`L_w` the Laplacian of heat weights
    within classes and :math:`L_b` that of weight 1 for every pair of different classes. Neighbours of a class stay
    together, classes part, and the map :math:`f(x) = \sum_i c_i \exp(-\|x - x_i\|^2 / \sigma^2)`,
    :math:`\Psi C = Y`, keeps a small Lipschitz constant. Y (eq. 12) and σ (eq. 14) take turns.
    Because turns creep when the data are many, ``search="secant"`` goes downhill by equal steps of log σ, which all
    dimensions and μ₃ have in common, until the derivative of the objective (Y being the best for each σ) changes
    sign, and then by secants to where it vanishes: the same point, in a few iterations.

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
    search : {"secant", "alternation"}, default="secant"
        How σ is learned: by secants, or by the turns of Algorithm 1 alone, whose course is that of Figs. 3 and 4
        and which stop short of the minimum where they creep by less than ``tol``.
    max_iter : int, default=50
        Most iterations.
    tol : float, default=1e-3
        Relative change of σ at which it counts as settled.
    n_centers : int or None, default=None
        A fixed number of centres of the map, spread by taking the farthest point again and again; the coordinates
        of all points are then its values there, Y = ΨC. None, or as many as points, is the exact form. The
        within-class graph of many points wants ``n_neighbors``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Y, with orthonormal columns.
    sigma_ : float
        The kernel width, absolute.
    coefficients_ : ndarray of shape (n_samples or n_centers, n_components)
        C of the map.
    lipschitz_ : float
        √N L_φ ‖C‖_F with L_φ = √2 e^(−1/2) / σ, a Lipschitz constant of the map (Proposition 1); N its centres.
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
    instead: ClassVar[str] = "n_centers=1000 with n_neighbors=10, or suplap with lle"
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
        "search": [StrOptions({"secant", "alternation"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_centers": [None, Interval(Integral, 1, None, closed="left")],
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
        search: str = "secant",
        max_iter: int = 50,
        tol: float = 1e-3,
        n_centers: int | None = None,
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
        self.search = search
        self.max_iter = max_iter
        self.tol = tol
        self.n_centers = n_centers

    @property
    def memory(self) -> str:  # type: ignore[override]
        """Dense matrices of all points; of centres their kernel values at all points, and the graph."""
        if self.n_centers is None:
            return "14*N*N"
        return "max(min(N, 10000)**2, 4*N*n_centers) + 1.7*N*n_centers + 3*n_centers**2 + 3*N*n_neighbors"

    def _fit(self, X: Array, y: NDArray | None) -> Array:
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        chosen = some_centers(X, self.n_centers)
        if chosen is not None and self.search == "alternation":
            raise ValueError(
                f"n_centers={self.n_centers} needs search='secant': eq. 14 has every point as a centre"
            )
        name = ("nsse", self.n_neighbors, str(self.heat_sigma), self.n_centers)
        graphs = shared(name, [X, codes], lambda: _Graphs.of(X, codes, self.n_neighbors, self.heat_sigma, chosen))
        course: _Course = shared((graphs, str(self.get_params())), [], lambda: self._learn(graphs, X))
        if not course.settled:
            warnings.warn(
                f"NSSE: sigma still moves after {self.max_iter} iterations; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        state = course.state
        warn_ambiguous(state.theta, self.n_components, state.theta[0])
        self.X_fit_ = X if chosen is None else X[chosen]
        self._row_floats = len(self.X_fit_)
        self.steps_ = list(course.steps)
        self.n_iter_ = len(self.steps_)
        self.objective_ = state.objective
        self.sigma_ = float(np.exp(state.log_sigma))
        self.coefficients_ = state.C.copy()
        L_phi = np.sqrt(2) * np.exp(-0.5) / self.sigma_
        self.lipschitz_ = float(np.sqrt(len(self.X_fit_)) * L_phi * np.linalg.norm(state.C))
        return state.Y.copy()

    def _transform(self, X: Array) -> Array:
        coordinates: Array = gaussian_kernel(shared_distances(X, self.X_fit_), self.sigma_) @ self.coefficients_
        return coordinates

    def _learn(self, graphs: "_Graphs", X: Array) -> "_Course":
        """Eq. 11 in the units that ``scaling`` says, from the best Y of the first σ on."""
        tau, mu1, mu3 = 1.0, self.mu1, self.mu3
        if self.scaling == "mean":
            N = len(X)
            tau, mu1, mu3 = 1 / N, mu1 / N**2, mu3 * graphs.median**2
        kind = _Problem if graphs.L_b is not None else _CenterProblem
        problem = kind(graphs, tau, mu1, self.mu2, mu3, self.n_components)
        scale = self.start if isinstance(self.sigma, str) else self.sigma
        scale = {"median": STARTS[scale]} if isinstance(scale, str) else scale
        course = _Course(problem.embed_node(np.log(resolve_sigma(scale, X, graphs.median))))
        if isinstance(self.sigma, str):
            search = self._alternate if self.search == "alternation" else self._follow_secants
            course.settled = search(problem, course)
        return course

    def _alternate(self, problem: "_Problem", course: "_Course") -> bool:
        """Algorithm 1 to the letter: eq. 14 for the last Y, eq. 12 for the new σ; whether σ has settled."""
        for _ in range(self.max_iter - 1):
            previous = course.state.log_sigma
            course.keep(problem.embed(problem.rescale(course.state, self.tol)))
            if abs(course.state.log_sigma - previous) <= self.tol:
                return True
        return False

    def _follow_secants(self, problem: "_Problem", course: "_Course") -> bool:
        """Downhill by equal steps until the slope changes sign, then to where it vanishes; whether σ has settled.

        Where the objective rises and the slope does not tell (Y changed between the two), the step is halved.
        """
        first = course.state
        seen, move = [first], MARCH if first.slope < 0 else -MARCH
        embed, following = problem.embed_node, first.log_sigma + move
        for _ in range(self.max_iter - 1):
            seen.append(state := embed(following))
            rises = state.objective > course.state.objective
            if not rises:
                course.keep(state)
            if min(one.slope for one in seen) < 0 <= max(one.slope for one in seen):
                embed, following = problem.embed, problem.crossing(seen)
                if abs(following - state.log_sigma) <= self.tol:
                    return True
                continue
            move *= 0.5 if rises else 1
            following = course.state.log_sigma + move
            if abs(move) <= self.tol:
                return True
        return False


@dataclass(frozen=True)
class _State:
    """The best Y for a σ, its coefficients, the objective and its derivative in log σ, times σ².

    ``theta`` are the eigenvalues of Y and the next one.
    """

    log_sigma: float
    theta: Array
    Y: Array
    C: Array
    objective: float
    slope: float


class _Course:
    """Where σ went and what it has come to."""

    def __init__(self, state: _State) -> None:
        self.steps: list[Step] = []
        self.settled = True
        self.keep(state)

    def keep(self, state: _State) -> _State:
        """Go on to a state."""
        self.state = state
        values = {"objective": state.objective, "sigma": float(np.exp(state.log_sigma))}
        self.steps.append(Step(len(self.steps) + 1, values=values))
        return state


@dataclass(frozen=True, eq=False)
class _Graphs:
    """What eq. 11 has of the points alone; ``members`` are the classes, those of one size stacked.

    ``squared`` are distances to the centres. Where not all points are centres L_w is sparse and L_b is left out.
    """

    squared: Array
    L_w: Any
    L_b: Array | None
    codes: NDArray[np.intp]
    members: list[NDArray[np.intp]]
    median: float

    @classmethod
    def of(
        cls,
        X: Array,
        codes: NDArray[np.intp],
        n_neighbors: int | None,
        heat: Scale | None,
        chosen: NDArray[np.intp] | None,
    ) -> "_Graphs":
        width = None if heat is None else resolve_sigma(heat, X)
        weights = within_class_weights(X, codes, n_neighbors, width)
        if chosen is not None:
            return cls(squared_distances(X, X[chosen]), laplacian(weights)[0], None, codes, [], median_distance(X))
        L_w, _ = laplacian(weights.toarray())
        L_b, _ = laplacian((codes[:, None] != codes).astype(np.float64))
        sizes = np.bincount(codes)
        order = np.argsort(codes, kind="stable")
        members = [order[sizes[codes[order]] == size].reshape(-1, size) for size in np.unique(sizes)]
        L_w.flags.writeable = L_b.flags.writeable = False
        return cls(shared_distances(X), L_w, L_b, codes, members, median_distance(X))


class _Problem:
    r"""Eq. 11 with B = τL_w − μ₁L_b and a shift s = 2μ₁N for which B + sI is positive definite.

    Between classes B is μ₁. So :math:`B + s I = F^\top F + \mu_1 1 1^\top` with a Cholesky factor F of the blocks
    :math:`\tau L_w + \mu_1 ((N + n_c) I - 1 1^\top)` of classes of :math:`n_c` points each.
    """

    def __init__(self, graphs: _Graphs, tau: float, mu1: float, mu2: float, mu3: float, d: int) -> None:
        self.graphs, self.squared = graphs, graphs.squared
        self.mu1, self.mu2, self.mu3, self.n_components = mu1, mu2, mu3, d
        self.tau = tau
        self.shift = 2 * mu1 * len(self.squared)  # no eigenvalue of L_b exceeds N
        self._prepare()

    def _prepare(self) -> None:
        graphs, N = self.graphs, len(self.squared)
        assert graphs.L_b is not None
        self.B = self.tau * graphs.L_w - self.mu1 * graphs.L_b
        self.F = []
        for members in graphs.members:
            n = members.shape[1]
            L = self.tau * graphs.L_w[members[:, :, None], members[:, None]]
            self.F.append(np.linalg.cholesky(L + self.mu1 * ((N + n) * np.eye(n) - 1)).transpose(0, 2, 1))

    def apply(self, Y: Array) -> Array:
        """B Y."""
        product: Array = self.B @ Y
        return product

    def psi(self, log_sigma: float) -> Array:
        """Ψ, its diagonal raised by the rounding error of a factorisation so that duplicates do no harm."""
        N = len(self.squared)
        Psi = gaussian_kernel(self.squared, float(np.exp(log_sigma)))
        Psi.flat[:: N + 1] += N**2 * np.finfo(float).eps
        return Psi

    def embed_node(self, log_sigma: float) -> _State:
        """:meth:`embed`, shared between the dimensions and the μ₃ that come by the same σ."""
        k = max(self.n_components, min(FIRST, self.squared.shape[1]))
        name = (self.graphs, self.tau, self.mu1, self.mu2, log_sigma, k)
        return self._state(log_sigma, *shared(name, [], lambda: self._solve(self.psi(log_sigma), k)))

    def embed(self, log_sigma: float) -> _State:
        r"""Eq. 12: the d smallest eigenvectors of :math:`A = B + \mu_2 \Psi^{-2}`."""
        return self._state(log_sigma, *self._solve(self.psi(log_sigma), self.n_components))

    def _solve(self, Psi: Array, k: int) -> tuple[Array, Array, Array, Array]:
        r"""The k largest pairs of :math:`(A + s I)^{-1} = \Psi (\Psi (B + s I) \Psi + \mu_2 I)^{-1} \Psi`.

        That needs no inverse of the ill-conditioned Ψ. From the same factor come :math:`C = \Psi^{-1} Y` and,
        through :math:`\mu_2 \Psi^{-2} Y = Y \Lambda - B Y`, the derivative.
        """
        N = len(Psi)
        T = np.empty((N + 1, N))
        for members, F in zip(self.graphs.members, self.F, strict=True):
            T[members] = F @ Psi[members]
        T[N] = np.sqrt(self.mu1) * Psi.sum(axis=0)
        K = T.T @ T
        K.flat[:: N + 1] += self.mu2
        R = linalg.cholesky(K, overwrite_a=True, check_finite=False)
        V = linalg.solve_triangular(R, Psi, trans="T", check_finite=False)
        # One more than asked for tells whether the cut falls between equal ones.
        theta, Y = largest_eigenpairs(V.T @ V, min(k + 1, max(k, N)), multiple=True, ambiguous="ignore")
        C = linalg.solve_triangular(R, V @ Y, check_finite=False) / theta
        return theta, Y, C, (Psi * self.squared) @ C

    def _state(self, log_sigma: float, theta: Array, Y: Array, C: Array, moved: Array) -> _State:
        d = self.n_components
        Y, C, moved = Y[:, :d], C[:, :d], moved[:, :d]
        BY = self.apply(Y)
        objective = np.sum(Y * BY) + self.mu2 * np.sum(C**2) + self.mu3 * np.exp(-2 * log_sigma)
        residual = Y * (1 / theta[:d] - self.shift) - BY
        slope = -4 * np.sum(residual * moved) - 2 * self.mu3
        return _State(float(log_sigma), theta[: d + 1], Y, C, float(objective), float(slope))

    def crossing(self, seen: Sequence[_State]) -> float:
        """Where the slope vanishes between the nearest two states that enclose it.

        The slope is P − 2 μ₃, and P grows like a power of σ: log(P / 2 μ₃) over log σ is nearly a line.
        """
        pairs = [(a, b) for a in seen for b in seen if a.slope < 0 <= b.slope and a.log_sigma < b.log_sigma]
        low, high = min(pairs, key=lambda pair: pair[1].log_sigma - pair[0].log_sigma)
        if low.slope <= -2 * self.mu3:  # P is lost in rounding
            return (low.log_sigma + high.log_sigma) / 2
        powers = {one.log_sigma: float(np.log1p(one.slope / (2 * self.mu3))) for one in (low, high)}
        others = [one for one in seen if one.slope > -2 * self.mu3 and one.log_sigma not in powers]
        for one in sorted(others, key=lambda one: abs(one.slope))[:1]:
            powers[one.log_sigma] = float(np.log1p(one.slope / (2 * self.mu3)))
        sigmas, values = list(powers), list(powers.values())
        if len(set(values)) == len(values):
            found = float(interpolate.barycentric_interpolate(values, sigmas, 0.0))
            if low.log_sigma < found < high.log_sigma:
                return found
        return low.log_sigma + (high.log_sigma - low.log_sigma) * values[0] / (values[0] - values[1])

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


class _CenterProblem(_Problem):
    r"""Eq. 11 for Y = ΨC with m centres: the largest pairs of :math:`\Psi^\top \Psi c = \theta K c`.

    Here :math:`K = \Psi^\top (B + s I) \Psi + \mu_2 I` is of m × m. Beside L_w, B has μ₁ between classes and
    :math:`\mu_1 (n_c - N)` on the diagonal.
    """

    def _prepare(self) -> None:
        codes = self.graphs.codes
        N, sizes = len(codes), np.bincount(codes)
        self.classes = sparse.csr_array((np.ones(N), (codes, np.arange(N))), shape=(len(sizes), N))
        self.degree = self.mu1 * (N - sizes[codes])[:, None]

    def psi(self, log_sigma: float) -> Array:
        """Ψ of all points and the centres, which is never inverted."""
        return gaussian_kernel(self.squared, float(np.exp(log_sigma)))

    def apply(self, Y: Array) -> Array:
        """B Y, from the sums of classes."""
        sums = self.classes @ Y
        product: Array = self.tau * (self.graphs.L_w @ Y) - self.degree * Y
        product += self.mu1 * (sums.sum(axis=0) - self.classes.T @ sums)
        return product

    def _solve(self, Psi: Array, k: int) -> tuple[Array, Array, Array, Array]:
        m = Psi.shape[1]
        K = Psi.T @ (self.apply(Psi) + self.shift * Psi)
        K = (K + K.T) / 2
        K.flat[:: m + 1] += self.mu2
        R = linalg.cholesky(K, overwrite_a=True, check_finite=False)
        V = linalg.solve_triangular(R, Psi.T, trans="T", check_finite=False)
        theta, U = largest_eigenpairs(V @ V.T, min(k + 1, max(k, m)), multiple=True, ambiguous="ignore")
        U /= np.sqrt(np.maximum(theta, np.finfo(float).tiny))
        Y = V.T @ U
        signs = np.sign(np.sum(Y * fix_signs(Y), axis=0))
        C = linalg.solve_triangular(R, U * signs, check_finite=False)
        return theta, Y * signs, C, (Psi * self.squared) @ C


def _bracket(value: Callable[[float], float], start: float, step: float) -> tuple[float, float, float, float]:
    """Three abscissae around a minimum downhill of start, and the value at the middle one."""
    behind, here, lowest = start, start, value(start)
    ahead = start + step
    while (reached := value(ahead)) < lowest:
        step *= 2
        behind, here, ahead, lowest = here, ahead, ahead + step, reached
    return behind, here, ahead, lowest
