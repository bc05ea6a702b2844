"""Times of the extenders and of the two kernels behind them, in one run: ``python benchmarks/extenders.py``.

Processor time of one thread; where times are compared they are medians of rounds in which all take turns, so that
other work on the machine matters little. The data are the Extended Yale B and ORL faces of the sparse-coding paper
(random projection to 200, unit norm), or random ones, said so, where they are not at hand (MOOS_DATA). A baseline
that misses the accuracy asked of it stops the run: its time would mean nothing. Other packages (highspy, daqp,
quadprog) are left out, said so, where they are not installed.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping

import numpy as np
import osqp
import scipy.sparse as sp
from scipy.optimize import linprog, nnls
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


def faces(name: str = "yaleb") -> tuple[np.ndarray, str]:
    """Extended Yale B or ORL as the paper uses them, in random order, one face per row, before the projection."""
    random = np.random.default_rng(0)
    options = {"yaleb": {"variant": "extended28"}, "orl": {}}[name]
    try:
        X = load(name, size=[32, 32], offline=True, **options).X
        return X[random.permutation(len(X))], {"yaleb": "Extended Yale B", "orl": "ORL"}[name]
    except DataError:
        n = {"yaleb": 1774, "orl": 400}[name]
        return random.standard_normal((n, 1024)), "RANDOM DATA (set MOOS_DATA for the real ones)"


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


def take_turns(runs: Mapping[str, tuple[Callable[[], object], int]], rounds: int) -> dict[str, float]:
    """Median milliseconds per item of each run (a function and its number of items)."""
    times: dict[str, list[float]] = {label: [] for label in runs}
    for _ in range(rounds):
        for label, (function, per) in runs.items():
            times[label].append(milliseconds(function, per))
    return {label: float(np.median(values)) for label, values in times.items()}


def installed(name: str) -> bool:
    found = importlib.util.find_spec(name) is not None
    if not found:
        print(f"  ({name} is not installed)")
    return found


def bench_first_call() -> None:
    """Seconds of the first call in a new process, without and with compiled code on the disk."""
    print("\nFirst call in a new process, seconds with that of numba: nothing compiled yet | compiled before")
    calls = {
        "basis_pursuit": "basis_pursuit(np.eye(3), np.ones((3, 1)))",
        "convex_weights": "convex_weights(np.eye(3), np.array([[0, 1]]), np.ones((1, 3)))",
    }
    for name, call in calls.items():
        code = (
            f"import time, numpy as np; from manifold_oos.numerics.{name} import {name};"
            f" start = time.process_time(); {call}; print(time.process_time() - start)"
        )
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"NUMBA_CACHE_DIR": folder}
            cold, warm = (
                float(subprocess.run([sys.executable, "-c", code], env=environment, stdout=-1, check=True).stdout)
                for _ in range(2)
            )
        print(f"  {name:16s} {cold:6.2f} | {warm:6.2f}")


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


def by_linprog(A: np.ndarray, b: np.ndarray, form: str, method: str) -> float:
    """The optimum by SciPy."""
    options = {"presolve": False}
    if form == "dual":
        limits = np.ones(2 * A.shape[1])
        return -linprog(-b, np.vstack([A.T, -A.T]), limits, bounds=(-1, 1), method=method, options=options).fun
    K = np.hstack([A, np.eye(len(A))])
    ones = np.ones(2 * K.shape[1])
    return linprog(ones, A_eq=np.hstack([K, -K]), b_eq=b, bounds=(0, None), method=method, options=options).fun


def by_highspy(A: np.ndarray, B: np.ndarray) -> list[float]:
    """The optima by one HiGHS model in dual form, each started from the solution of the one before."""
    import highspy

    D, N = A.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = D, N
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(D), -np.ones(D), np.ones(D)
    lp.row_lower_, lp.row_upper_ = -np.ones(N), np.ones(N)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(0, N * D + 1, D)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = np.tile(np.arange(D), N), A.T.ravel()
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("presolve", "off")
    model.passModel(lp)
    optima = []
    for b in B.T:
        model.changeColsCost(D, np.arange(D, dtype=np.int32), -b)
        model.run()
        optima.append(-model.getInfo().objective_function_value)
    return optima


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


def bench_basis_pursuit(n_slow: int, rounds: int) -> None:
    print("\nBasis pursuit, D = 200: ms per sample and how many times ours in a batch")
    with_highspy = installed("highspy")
    for name, N, n_new in (("orl", 280, 120), ("yaleb", 1241, 300)):
        X, source = faces(name)
        Z = projected(X, 200)
        A, B = Z[:N].T, Z[N : N + n_new].T
        few = B[:, :n_slow]
        result = basis_pursuit(A, B)
        optima = objective(A, few, result.coefficients[:, :n_slow])
        found = {"interior point": lambda A=A, few=few: [objective(A, b, interior_point(A, b)) for b in few.T]}
        for form in ("primal", "dual"):
            for method in ("highs-ds", "highs-ipm"):
                found[f"SciPy linprog {form} {method}"] = lambda A=A, few=few, form=form, method=method: [
                    by_linprog(A, b, form, method) for b in few.T
                ]
        if with_highspy:
            found["highspy dual, warm"] = lambda A=A, few=few: by_highspy(A, few)
        for label, function in found.items():
            missed = np.abs(np.array(function()) / optima - 1).max()
            if not missed <= 2e-6:
                raise SystemExit(f"{label} misses the optimum by {missed:.1e}: no ratio")
        alone = [b[:, None] for b in B.T[:50]]
        extender = SparseExtender().fit(Z[:N], np.random.default_rng(2).standard_normal((N, 100)))
        runs = {
            "ours, in a batch": (lambda A=A, B=B: basis_pursuit(A, B), n_new),
            "ours, one by one": (lambda A=A, alone=alone: [basis_pursuit(A, b) for b in alone], len(alone)),
            "sparse extender": (lambda e=extender, new=B.T: e.transform(new), n_new),
        } | {label: (function, n_slow) for label, function in found.items()}
        times = take_turns(runs, rounds)
        ours = times["ours, in a batch"]
        print(
            f"  {source}, N = {N}, batch of {n_new} (gap {result.gap.max():.0e}, fall-backs"
            f" {result.fallback.sum()}, {np.count_nonzero(result.coefficients) / n_new:.0f} coefficients)"
        )
        for label, slow in times.items():
            print(f"    {label:32s} {slow:9.3f}  {slow / ours:7.1f} ×")
        fastest = min(slow for label, slow in times.items() if "linprog" in label)
        print(f"    against the fastest linprog {fastest / ours:.0f} ×")


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


def nnls_per_point(G: np.ndarray) -> np.ndarray:
    """Non-negative least squares on a factor of G + 11ᵀ, whose solution is proportional to the weights."""
    u = np.array([nnls(F.T, np.linalg.solve(F, np.ones(len(F))))[0] for F in np.linalg.cholesky(G + 1)])
    return u / u.sum(axis=1, keepdims=True)


def daqp_per_point(G: np.ndarray) -> np.ndarray:
    import daqp

    K = G.shape[1]
    upper, lower = np.r_[np.full(K, 1e30), 1.0], np.r_[np.zeros(K), 1.0]
    kind = np.r_[np.zeros(K), 5].astype(np.int32)  # 5: an equation
    return np.array([daqp.solve(one, np.zeros(K), np.ones((1, K)), upper, lower, kind)[0] for one in G])


def quadprog_per_point(G: np.ndarray) -> np.ndarray:
    import quadprog

    K = G.shape[1]
    constraints, limits = np.column_stack([np.ones(K), np.eye(K)]), np.r_[1.0, np.zeros(K)]
    return np.array([quadprog.solve_qp(one, np.zeros(K), constraints, limits, 1)[0] for one in G])


def bench_convex_weights(X: np.ndarray, rounds: int) -> None:
    print(
        "\nConvex weights, D = 200, 800 known points, 960 targets: µs per target, how many times ours in a batch,"
        " KKT residual (the others are given the Gram matrices, ours computes them)"
    )
    Z = projected(X, 200)
    known, targets, some = Z[:800], Z[800:1760], slice(0, 100)
    others = {"OSQP": osqp_per_point, "nnls": nnls_per_point}
    others |= {"daqp": daqp_per_point} if installed("daqp") else {}
    others |= {"quadprog": quadprog_per_point} if installed("quadprog") else {}
    for K in (3, 5, 10, 20, 30):
        index = NearestNeighbors(n_neighbors=K).fit(known).kneighbors(targets, return_distance=False)
        differences = known[index] - targets[:, None]
        G = differences @ differences.transpose(0, 2, 1)
        runs = {
            "ours, in a batch": (lambda index=index: convex_weights(known, index, targets), len(G)),
            "ours, one by one": (
                lambda index=index: [
                    convex_weights(known, i[None], x[None]) for i, x in zip(index[some], targets[some], strict=True)
                ],
                100,
            ),
        } | {label: (lambda G=G, other=other: other(G[some]), 100) for label, other in others.items()}
        residuals = {"ours, in a batch": kkt_residual(G, convex_weights(known, index, targets))}
        residuals |= {label: kkt_residual(G[some], other(G[some])) for label, other in others.items()}
        times = take_turns(runs, rounds)
        for label, slow in times.items():
            residual = f"{residuals[label]:8.0e}" if label in residuals else ""
            ratio = slow / times["ours, in a batch"]
            print(f"  K = {K:2d}  {label:18s} {1e3 * slow:8.2f}  {ratio:6.1f} ×  {residual}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    quick = parser.parse_args().quick
    n = 60 if quick else 300
    X, source = faces()
    print(f"Data: {source}")
    bench_first_call()
    with threadpool_limits(1):
        bench_basis_pursuit(4, 3 if quick else 5)
        bench_convex_weights(X, 3 if quick else 7)
        bench_table_4(X, n)
        bench_growth(X, n // 2)


if __name__ == "__main__":
    main()
