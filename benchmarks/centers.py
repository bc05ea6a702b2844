"""SOSI with a fixed number of centres beside its exact form: labels, seconds and peak memory of a process each.

USPS (200 labelled of 11,000, unit norm) or, with ``--drawn``, ten curved surfaces in 64 dimensions.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import resource
import time

import numpy as np
from scipy.io import loadmat

from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.extenders.sosi import SOSI


def usps(path: str) -> tuple[np.ndarray, np.ndarray]:
    data = loadmat(path)
    X = data["fea"].astype(float)
    return X / np.linalg.norm(X, axis=1, keepdims=True), data["gnd"].ravel()


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    y, t = random.integers(10, size=n), random.uniform(-1, 1, (n, 3))
    features = np.column_stack([t, t**2, np.sin(3 * t)])
    maps, means = random.standard_normal((10, 9, 64)), 0.7 * random.standard_normal((10, 64))
    X = np.einsum("nf,nfd->nd", features, maps[y]) + means[y]
    return X + 1.5 * random.standard_normal(X.shape), y


def run(
    path: str | None, per_class: int, n_new: int, n_iterations: int, n_centers: int | None
) -> tuple[np.ndarray, float, float, float]:
    X, y = usps(path) if path else drawn(n_new + 20 * per_class + 600)
    order = np.random.default_rng(1).permutation(len(X))
    known = np.concatenate([order[y[order] == label][:per_class] for label in np.unique(y)])
    new = order[~np.isin(order, known)][:n_new]
    Y = SupervisedLaplacian(n_components=10).fit(X[known], y[known]).embedding_
    X_new, truth, X, y = X[new], y[new], X[known], y[known]
    start = time.process_time()
    fitted = SOSI(n_iterations=n_iterations, n_centers=n_centers).fit(X, Y, y, X_new=X_new)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return fitted.labels_, 100 * float(np.mean(fitted.labels_ != truth)), seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--usps", default="USPS.mat", help="the file with fea and gnd")
    parser.add_argument("--drawn", action="store_true")
    parser.add_argument("--per-class", type=int, default=20, help="labelled points of each of the ten classes")
    parser.add_argument("--new", type=int, default=4000, help="new points")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--centers", type=int, nargs="*", default=[500, 1000, 2000, 3000])
    parser.add_argument("--figure", metavar="PNG", help="draw the table")
    options = parser.parse_args()
    context, rows, exact = multiprocessing.get_context("spawn"), [], None
    print(f"{options.new} new points, {options.iterations} iterations")
    print(f"{'centres':>8} {'equal to exact %':>17} {'error %':>8} {'CPU s':>8} {'peak GiB':>9}", flush=True)
    path = None if options.drawn else options.usps
    for n_centers in (None, *options.centers):
        with context.Pool(1) as pool:
            arguments = (path, options.per_class, options.new, options.iterations, n_centers)
            labels, error, seconds, peak = pool.apply(run, arguments)
        exact = labels if exact is None else exact
        equal = 100 * np.mean(labels == exact)
        rows.append((n_centers or 10 * options.per_class + options.new, equal, error, seconds, peak))
        print(f"{n_centers or 'all':>8} {equal:17.2f} {error:8.2f} {seconds:8.1f} {peak:9.2f}", flush=True)
    if options.figure:
        draw(sorted(rows), options.figure)


def draw(rows: list[tuple[float, ...]], file: str) -> None:
    """Accuracy, time and memory against the number of centres, all of them at the right."""
    from matplotlib.figure import Figure

    centers, equal, error, seconds, peak = np.array(rows).T
    figure = Figure(figsize=(9, 3), layout="constrained")
    panels = (
        ("%", {"labels as the exact form's": equal, "labels right": 100 - error}),
        ("CPU seconds", {"": seconds}),
        ("peak, GiB", {"": peak}),
    )
    for axes, (unit, lines) in zip(figure.subplots(1, 3), panels, strict=True):
        for label, values in lines.items():
            axes.plot(centers, values, "o-", label=label)
        axes.set(xlabel="centres", ylabel=unit, **({} if unit == "%" else {"ylim": (0, None)}))
        if len(lines) > 1:
            axes.legend()
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
