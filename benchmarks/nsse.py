"""NSSE beside a literal transcription of Algorithm 1: CPU time, σ, objective and peak memory, in one run.

The transcription inverts Ψ for each of 80 values of σ in every iteration. Its grid search stops as soon as the best
σ for the last Y is the old one, which on smooth data (digits) happens far from the minimum of eq. 11; there the
objectives say who is right. On data with pixel noise (curves) both must agree in σ to within a step of the grid.

With ``--since COMMIT`` (c32d3a7 when none is named) the fits of one point set in a repetition of configs/nsse, over
dimensions and weights and with the linear methods beside, run in the package as it was at that commit, in turn
with this one, each in a process of its own.

With ``--subspace`` every eigenproblem of a fit is also solved by subspace iteration from the eigenvectors at the
last σ, with the residual that the fit itself asks for and a shift close to the wanted eigenvalues.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits

from manifold_oos.embeddings import nsse
from manifold_oos.embeddings.discriminant import LDA, LDE, LFDA
from manifold_oos.embeddings.nsse import NSSE

MU1, MU2, MU3 = 300.0, 1e-3, 1.0
GRID = np.geomspace(0.2, 5, 80)


def curves(N, classes=20, D=1200, noise=1.0):
    """A noisy closed curve per class."""
    random = np.random.default_rng(0)
    y = np.arange(N) % classes
    t = random.uniform(0, 2 * np.pi, N)
    harmonics = np.column_stack([np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)])
    centers, planes = random.standard_normal((classes, D)), random.standard_normal((classes, 4, D))
    X = 2 * centers[y] + np.einsum("nk,nkd->nd", harmonics, planes[y]) + noise * random.standard_normal((N, D))
    return X / np.sqrt(D), y


def digits(N):
    X, y = load_digits(return_X_y=True)
    return X[:N], y[:N]


def literal(X, y, d, start):
    """Algorithm 1 in the units of ``scaling="mean"``: σ in median distances, objective, iterations."""
    N = len(X)
    squared = squareform(pdist(X, "sqeuclidean"))
    apart = squared[np.triu_indices(N, 1)]
    median, same = np.median(np.sqrt(apart)), y[:, None] == y
    W_w = np.where(same & ~np.eye(N, dtype=bool), np.exp(-squared / apart.mean()), 0)
    L_w = (np.diag(W_w.sum(axis=1)) - W_w) / N
    L_b = (np.diag((~same).sum(axis=1)) - ~same) / N**2

    def inverse(sigma):
        return np.linalg.inv(np.exp(-squared / (sigma * median) ** 2))

    sigma, objective, settled, iterations = start, np.inf, False, 0
    while not settled:
        iterations += 1
        Psi_inverse = inverse(sigma)
        A = L_w - MU1 * L_b + MU2 * Psi_inverse @ Psi_inverse
        Y = np.linalg.eigh(A)[1][:, :d]
        values = []
        for candidate in GRID:
            Psi_inverse = inverse(candidate)
            values.append(MU2 * np.trace(Y.T @ Psi_inverse @ Psi_inverse @ Y) + MU3 / candidate**2)
        sigma = GRID[int(np.argmin(values))]
        previous, objective = objective, np.trace(Y.T @ (L_w - MU1 * L_b) @ Y) + min(values)
        settled = previous - objective <= 1e-9 * abs(objective)
    return sigma, objective, iterations


def repetition(N):
    """CPU seconds of NSSE and of the linear methods on one point set, and σ and objective of every NSSE."""
    try:
        from manifold_oos.numerics.shared import Kept, sharing

        together = sharing(Kept())
    except ImportError:  # a commit before work was shared
        together = contextlib.nullcontext()
    weights = [(mu1, 1e-4, 1) for mu1 in (100, 300)] + [(1000, mu2, mu3) for mu2 in (1e-4, 1e-3) for mu3 in (1, 5)]
    requests = [{"n_components": 7, "mu1": a, "mu2": b, "mu3": c} for a, b, c in weights]
    requests += [{"n_components": d, "mu1": 1000, "mu2": 1e-4, "mu3": 1} for d in (2, 5, 7, 10, 15, 20, 19)]
    cuts = [{"regularization": "pinv", "rcond": 10.0**power} for power in (-15, -6, -5, -4, -3, -2)]
    X, y = curves(N)
    NSSE(2).fit(*curves(40))
    with together:
        begin = time.process_time()
        models = [NSSE(**request).fit(X, y) for request in requests]
        middle = time.process_time()
        for method in (LDA, LFDA, LDE):
            for setting in cuts + [{"ridge": ridge} for ridge in (0.01, 0.1, 1)]:
                method(**setting).fit(X, y)
        end = time.process_time()
    return {"nsse": middle - begin, "linear": end - middle, "found": [(m.sigma_, m.objective_) for m in models]}


def against(commit, N, rounds=3):
    """Print the ratio of CPU times to those of a commit, and how far σ and the objective are apart."""
    root = Path(__file__).resolve().parents[1]
    archive = subprocess.run(["git", "archive", commit, "manifold_oos"], cwd=root, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as old:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(old, filter="data")
        runs = {"old": [], "new": []}
        for _ in range(rounds):
            for name, folder in (("old", old), ("new", str(root))):
                command = [sys.executable, __file__, "-n", str(N), "--repetition"]
                environment = os.environ | {"PYTHONPATH": folder}
                child = subprocess.run(command, env=environment, cwd=old, capture_output=True, check=True)
                runs[name].append(json.loads(child.stdout))
    for part in ("nsse", "linear"):
        old, new = (np.median([run[part] for run in runs[name]]) for name in ("old", "new"))
        print(
            f"N = {N}, {part} fits of a repetition: {new:.3f} s, {old:.3f} s at {commit}: {100 * new / old:.0f} %"
        )
    found = [np.array(runs[name][0]["found"]) for name in ("old", "new")]
    sigma, objective = np.max(np.abs(found[1] / found[0] - 1), axis=0)
    print(f"largest relative differences: sigma {sigma:.1e}, objective {objective:.1e}")


class Subspace:
    """Stands in for the solver of a problem: times both, counts iterations, gives the result of the dense one."""

    #: The shift is so much above what makes the matrix positive definite, in parts of it; more vectors than wanted.
    CLOSE, MORE, MOST = 0.005, 8, 60

    def __init__(self):
        self.dense, self.seconds, self.iterations, self.Y = 0.0, 0.0, [], None
        self.solve = nsse._Problem._solve

    def __call__(self, problem, Psi, k):
        """Solve by both."""
        start = time.process_time()
        result = self.solve(problem, Psi, k)
        self.dense += time.process_time() - start
        if self.Y is None:  # the first has nothing to start from
            self.Y = np.random.default_rng(0).standard_normal((len(Psi), k + self.MORE))
        start = time.process_time()
        self.iterate(problem, Psi, k)
        self.seconds += time.process_time() - start
        return result

    def iterate(self, problem, Psi, k):
        """Improve the last eigenvectors until the wanted ones have the residual of the dense solver's check."""
        N = len(Psi)
        B = problem.B.copy()
        B.flat[:: N + 1] += problem.mu1 * N * (1 + self.CLOSE)
        K = Psi @ B @ Psi
        K.flat[:: N + 1] += problem.mu2
        R = cholesky(K, overwrite_a=True, check_finite=False)
        self.iterations.append(0)
        while self.iterations[-1] < self.MOST:
            self.iterations[-1] += 1
            Y = np.linalg.qr(self.Y)[0]
            half = solve_triangular(R, Psi @ Y, trans="T", check_finite=False)
            Z = Psi @ solve_triangular(R, half, check_finite=False)
            theta, rotation = np.linalg.eigh(Y.T @ Z)
            theta, rotation = theta[: -k - 1 : -1], rotation[:, ::-1]
            self.Y = Z @ rotation
            missed = self.Y[:, :k] - (Y @ rotation[:, :k]) * theta
            if np.linalg.norm(missed, axis=0).max() <= 1e-9 * theta[0]:
                break


def subspace(N):
    """Subspace iteration from the last σ beside the dense solver, on the eigenproblems of a fit."""
    for data, dimensions in ((curves, (2, 10, 19)), (digits, (2, 5, 9))):
        X, y = data(N)
        for d in dimensions:
            stand_in = Subspace()
            nsse._Problem._solve = lambda *given, run=stand_in: run(*given)
            NSSE(d, mu1=MU1, mu2=MU2, mu3=MU3).fit(X, y)
            nsse._Problem._solve = stand_in.solve
            print(
                f"{data.__name__:7} N = {N}, d = {d:2}: subspace iteration takes"
                f" {stand_in.seconds / stand_in.dense:.1f} times the dense solver;"
                f" iterations {stand_in.iterations} (at most {stand_in.MOST})",
                flush=True,
            )


def timed(function, repeats):
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        result = function()
        best = min(best, time.process_time() - begin)
    return best, result


def peak(function):
    tracemalloc.start()
    function()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=600, help="number of training points (600)")
    parser.add_argument("--since", metavar="COMMIT", nargs="?", const="c32d3a7", help="compare with a commit")
    parser.add_argument("--subspace", action="store_true", help="subspace iteration beside the dense solver")
    parser.add_argument("--repetition", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    N = options.n
    if options.repetition:
        json.dump(repetition(N), sys.stdout)
        return 0
    if options.since:
        against(options.since, N)
        return 0
    if options.subspace:
        subspace(N)
        return 0
    failed, apart = False, 0.0
    print(f"N = {N}; sigma in median distances; a step of the grid is a factor {GRID[1] / GRID[0]:.3f}")
    print("data    start  method    seconds  iterations    sigma   objective  peak MiB")
    for data, d in ((curves, 19), (digits, 9)):
        X, y = data(N)
        median = np.median(pdist(X))
        for start in ("high", "low"):
            model = NSSE(d, mu1=MU1, mu2=MU2, mu3=MU3, start=start)
            first = {"high": 4.0, "low": 0.2}[start]
            ours, _ = timed(lambda model=model, X=X, y=y: model.fit(X, y), 3)
            sigma = model.sigma_ / median
            memory = peak(lambda model=model, X=X, y=y: model.fit(X, y))
            slow, (grid_sigma, objective, iterations) = timed(lambda *a, c=(X, y, d, first): literal(*c), 1)
            row = f"{data.__name__:7} {start:5}"
            numbers = f"{ours:8.2f}  {model.n_iter_:10}  {sigma:7.3f}  {model.objective_:10.5f}  {memory:8.0f}"
            print(f"{row}  NSSE     {numbers}")
            print(f"{row}  literal  {slow:8.2f}  {iterations:10}  {grid_sigma:7.3f}  {objective:10.5f}")
            steps = abs(np.log(sigma / grid_sigma)) / np.log(GRID[1] / GRID[0])
            apart = max(apart, steps)
            print(f"{row}  {slow / ours:.1f} times as fast; {steps:.2f} steps of the grid apart", flush=True)
            failed |= slow < 5 * ours or (data is curves and steps > 1) or model.objective_ > objective
    promise = "at least 5 times as fast, objective never larger, sigma within a step of the grid on curves"
    print(f"{'NOT kept: ' if failed else 'kept: '}{promise}; largest difference in all: {apart:.2f} steps")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
