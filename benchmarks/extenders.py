"""Times of the extenders and of the two kernels behind them, in one run: ``python benchmarks/extenders.py``.

Processor time of one thread, so that other work on the machine matters little. The data are the Extended Yale B
faces of the sparse-coding paper (random projection to 200, unit norm), or random ones, said so, where they are not
at hand (MOOS_DATA). A baseline that misses the accuracy asked of it stops the run: its time would mean nothing.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import osqp
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from manifold_oos.datasets import load
from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps
from manifold_oos.errors import DataError
from manifold_oos.extenders.cp import CoordinatePropagation
from manifold_oos.extenders.gom import GlobalOptimization
from manifold_oos.extenders.krr import KernelRidgeExtender
from manifold_oos.extenders.landmark import LandmarkExtender
from manifold_oos.extenders.linear import LinearExtender
from manifold_oos.extenders.lle import LLEExtender
from manifold_oos.extenders.lvm import LVMExtender
from manifold_oos.extenders.nystrom import Nystrom
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sparse import SparseExtender
from manifold_oos.numerics.basis_pursuit import basis_pursuit
from manifold_oos.numerics.convex_weights import convex_weights

#: Milliseconds that the paper's Tables 4–6 print for one sample (MATLAB, 2 GHz, 2013).
TABLE_4 = {"sparse": 840.52, "lvm": 6.07, "linear": 5.50, "rbf": 139.42}
TABLE_5 = {80: 609.75, 100: 647.27, 120: 677.30, 140: 724.20, 160: 772.98, 180: 804.87, 200: 840.52}
TABLE_6 = {600: 169.68, 700: 219.23, 800: 285.85, 900: 351.48, 1000: 447.37, 1100: 513.04, 1200: 647.27}


def faces() -> tuple[np.ndarray, str]:
    """Extended Yale B as the paper uses it, in random order, one face per row, before the projection."""
    random = np.random.default_rng(0)
    try:
        X = load("yaleb", variant="extended28", size=[32, 32], offline=True).X
        return X[random.permutation(len(X))], "Extended Yale B, 28 subjects"
    except DataError:
        return random.standard_normal((1774, 1024)), "RANDOM DATA (set MOOS_DATA for the real ones)"


def projected(X: np.ndarray, D: int) -> np.ndarray:
    Z = X @ np.random.default_rng(1).standard_normal((X.shape[1], D))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def milliseconds(function: Callable[[], object], per: int = 1, repeats: int = 1) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return 1e3 * min(times) / per


def interior_point(A: np.ndarray, b: np.ndarray, gap: float = 1e-6) -> np.ndarray:
    """l1-magic's primal–dual method for min ‖x‖₁ s.t. [A I] x = b, to a relative duality gap."""
    K = np.hstack([A, np.eye(len(A))])
    x = K.T @ np.linalg.solve(K @ K.T, b)
    u = 0.95 * np.abs(x) + 0.1 * np.abs(x).max()
    f1, f2 = x - u, -x - u
    l1, l2 = -1 / f1, -1 / f2
    v = -K @ (l1 - l2)
    for _ in range(100):
        surrogate = -(f1 @ l1 + f2 @ l2)
        if surrogate <= gap * np.abs(x).sum():
            break
        inverse_tau = surrogate / (10 * 2 * len(x))
        p, q = -l1 / f1, -l2 / f2
        s1, s2 = p + q, q - p
        sx = 4 * p * q / s1  # s1 − s2²/s1 without cancellation
        w1 = -inverse_tau * (1 / f2 - 1 / f1) - K.T @ v
        w2 = -1 - inverse_tau * (1 / f1 + 1 / f2)
        w3 = b - K @ x
        w = w1 - s2 / s1 * w2
        H = (A / sx[: A.shape[1]]) @ A.T
        H[np.diag_indices_from(H)] += 1 / sx[A.shape[1] :]
        dv = np.linalg.solve(H, -(w3 - K @ (w / sx)))
        dx = (w - K.T @ dv) / sx
        du = (w2 - s2 * dx) / s1
        d1 = l1 / -f1 * (dx - du) - l1 - inverse_tau / f1
        d2 = l2 / f2 * (dx + du) - l2 - inverse_tau / f2
        step = 1.0
        for value, change in ((l1, d1), (l2, d2), (-f1, -(dx - du)), (-f2, dx + du)):
            falling = change < 0
            if falling.any():
                step = min(step, float((-value[falling] / change[falling]).min()))
        step *= 0.99
        x, u, v, l1, l2 = x + step * dx, u + step * du, v + step * dv, l1 + step * d1, l2 + step * d2
        f1, f2 = x - u, -x - u
    return x[: A.shape[1]]


def objective(A: np.ndarray, B: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.abs(a).sum(axis=0) + np.abs(B - A @ a).sum(axis=0)


def by_linprog(A: np.ndarray, b: np.ndarray, form: str) -> object:
    options = {"presolve": False}
    if form == "dual":
        limits = np.ones(2 * A.shape[1])
        return linprog(-b, np.vstack([A.T, -A.T]), limits, bounds=(-1, 1), method="highs-ds", options=options)
    K = np.hstack([A, np.eye(len(A))])
    return linprog(
        np.ones(2 * K.shape[1]),
        A_eq=np.hstack([K, -K]),
        b_eq=b,
        bounds=(0, None),
        method="highs-ds",
        options=options,
    )


def bench_table_4(X: np.ndarray, n_new: int) -> None:
    N, d = 1241, 1200
    Z = projected(X, 200)
    train, new = Z[:N], Z[N : N + n_new]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embedding = LaplacianEigenmaps(n_components=d, graph="full").fit(train)
    Y = embedding.embedding_
    print(f"\nOne sample at N = {N}, D = 200, d = {d} (Table 4), ms; batch of {n_new} | one at a time | paper; fit")
    for label, extender in {
        "sparse": SparseExtender(),
        "lvm": LVMExtender(),
        "linear": LinearExtender(),
        "rbf": RBFExtender(sigma="mean_squared"),
        "lle": LLEExtender(),
        "krr": KernelRidgeExtender(),
        "nystrom": Nystrom(kernel="gaussian"),
        "nystrom (own kernel)": Nystrom(kernel="embedding"),
        "landmark": LandmarkExtender(),
    }.items():
        own = embedding if label == "nystrom (own kernel)" else None
        fit = milliseconds(lambda e=extender, own=own: e.fit(train, Y, embedding=own))
        batch = milliseconds(lambda e=extender: e.transform(new), n_new, repeats=2)
        alone = milliseconds(lambda e=extender: [e.transform(x[None]) for x in new[:20]], 20)
        paper = f"{TABLE_4[label]:9.2f}" if label in TABLE_4 else "        –"
        print(f"  {label:22s} {batch:9.3f} | {alone:9.3f} | {paper}; {fit:9.1f}")
    for extender in (GlobalOptimization("lle"), CoordinatePropagation("lle")):
        low = Y[:, :2]  # the cost is per coordinate, but CP's splines live in as many dimensions
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = milliseconds(lambda e=extender, low=low: e.fit(train, low, X_new=new), n_new)
        print(f"  {extender.name + ' (d = 2, in fit)':22s} {whole:9.3f} |         – |         –;         –")


def bench_growth(X: np.ndarray, n_new: int) -> None:
    print("\nSparse representation, ms per sample | paper, and both over their first row")
    for title, table, sizes in (
        ("growth with D at N = 1241 (Table 5)", TABLE_5, [(1241, D) for D in TABLE_5]),
        ("growth with N at D = 100 (Table 6)", TABLE_6, [(N, 100) for N in TABLE_6]),
    ):
        print(f"  {title}")
        first = None
        for (N, D), paper in zip(sizes, table.values(), strict=True):
            Z = projected(X, D)
            ours = milliseconds(lambda Z=Z, N=N: basis_pursuit(Z[:N].T, Z[N : N + n_new].T), n_new)
            first = first or (ours, paper)
            grown = f"{ours / first[0]:5.2f} | {paper / first[1]:5.2f}"
            print(f"    N {N:5d}  D {D:4d} {ours:9.3f} | {paper:8.2f}   {grown}")


def bench_basis_pursuit(X: np.ndarray, n_slow: int) -> None:
    print("\nBasis pursuit, D = 200, batch of 300: ms per sample and how many times ours")
    Z = projected(X, 200)
    for N in (280, 1241):
        A, B = Z[:N].T, Z[N : N + 300].T
        ours = milliseconds(lambda A=A, B=B: basis_pursuit(A, B), 300, repeats=2)
        result = basis_pursuit(A, B)
        residual = np.abs(A @ result.coefficients + result.errors - B).max()
        exact = basis_pursuit(A, B[:, :n_slow], solver="highs")
        Y = np.random.default_rng(2).standard_normal((N, 20))
        weights = [np.abs(r.coefficients[:, :n_slow]).T for r in (result, exact)]
        apart = np.abs(np.subtract(*[W @ Y / W.sum(axis=1, keepdims=True) for W in weights])).max()
        print(
            f"  N = {N}: ours {ours:.2f} (gap {result.gap.max():.0e}, residual {residual:.0e},"
            f" coordinates {apart:.0e} from HiGHS's, fall-backs {result.fallback.sum()})"
        )
        forms = {
            form: milliseconds(
                lambda form=form, A=A, B=B: [by_linprog(A, b, form) for b in B[:, :n_slow].T], n_slow
            )
            for form in ("dual", "primal")
        }
        point = milliseconds(lambda A=A, B=B: [interior_point(A, b) for b in B[:, :n_slow].T], n_slow)
        codes = np.column_stack([interior_point(A, b) for b in B[:, :n_slow].T])
        missed = (objective(A, B[:, :n_slow], codes) / objective(A, B[:, :n_slow], exact.coefficients) - 1).max()
        if not abs(missed) <= 2e-6:
            raise SystemExit(f"the interior point misses the optimum by {missed:.1e}: no ratio")
        for form, slow in forms.items():
            print(f"    SciPy linprog, {form:6s} form, presolve off {slow:8.1f}  {slow / ours:6.1f} ×")
        print(f"    interior point (misses by {missed:.0e})       {point:8.1f}  {point / ours:6.1f} ×")
        print(
            f"    against the faster linprog {min(forms.values()) / ours:.1f} × (wanted 10), interior point"
            f" {point / ours:.1f} × (wanted 8)"
        )


def osqp_per_point(G: np.ndarray) -> np.ndarray:
    """A quadratic program set up anew for each point, as a literal SOSI would; constraints are built once."""
    K = G.shape[1]
    constraints = sp.vstack([np.ones((1, K)), sp.eye(K)], format="csc")
    lower, upper = np.r_[1.0, np.zeros(K)], np.r_[1.0, np.full(K, np.inf)]
    w = np.empty(G.shape[:2])
    for i, one in enumerate(G):
        problem = osqp.OSQP()
        problem.setup(
            sp.csc_matrix(np.triu(one)),
            np.zeros(K),
            constraints,
            lower,
            upper,
            eps_abs=1e-8,
            eps_rel=1e-8,
            polishing=True,
            verbose=False,
        )
        w[i] = problem.solve(raise_error=False).x
    return w


def kkt_residual(G: np.ndarray, w: np.ndarray) -> float:
    g = np.einsum("nij,nj->ni", G, w)
    scale = np.einsum("nii->ni", G).max(axis=1, keepdims=True)
    return float((((g * w).sum(axis=1, keepdims=True) - g) / scale).max())


def bench_convex_weights(X: np.ndarray) -> None:
    print(
        "\nConvex weights, D = 200, 800 known points, 960 targets: µs per target, how many times ours, KKT residual"
    )
    Z = projected(X, 200)
    known, targets, some = Z[:800], Z[800:1760], slice(0, 100)
    for K in (3, 5, 10, 20, 30):
        index = NearestNeighbors(n_neighbors=K).fit(known).kneighbors(targets, return_distance=False)
        differences = known[index] - targets[:, None]
        G = differences @ differences.transpose(0, 2, 1)
        runs = {
            "ours": (lambda index=index: convex_weights(known, index, targets), G, 3),
            "OSQP, set up per point": (lambda G=G: osqp_per_point(G[some]), G[some], 1),
            "OSQP, set up once and updated": (
                lambda index=index: convex_weights(known, index[some], targets[some], solver="osqp"),
                G[some],
                1,
            ),
        }
        times = {}
        for label, (run, grams, repeats) in runs.items():
            times[label] = 1e3 * milliseconds(run, len(grams), repeats)
            residual = kkt_residual(grams, run())
            ratio = times[label] / times["ours"]
            print(f"  K = {K:2d}  {label:30s} {times[label]:8.1f}  {ratio:6.1f} ×  {residual:8.0e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    n = 60 if parser.parse_args().quick else 300
    X, source = faces()
    print(f"Data: {source}")
    with threadpool_limits(1):
        bench_basis_pursuit(X, max(4, n // 30))
        bench_convex_weights(X)
        bench_table_4(X, n)
        bench_growth(X, n // 2)


if __name__ == "__main__":
    main()
