"""A fixed number of centres beside all points: labels, seconds and peak memory, of a process each.

    python benchmarks/centers.py --drawn --figure centers.png        six methods, ten surfaces in 64 dimensions
    python benchmarks/centers.py nsse kpca                           some, on USPS (unit norm)
    python benchmarks/centers.py sosi --drawn --new 20000 --centers  the exact form alone, of many new points
    python benchmarks/centers.py --drawn --choices                   other ways to choose centres, over five splits

New points are labelled by their nearest known point in ten coordinates. 2,000 points are known, 200 of SOSI, whose
new points become centres too. RBF, KRR and SOSI extend coordinates of the supervised Laplacian, the others their
own. SOSI's exact form holds half of a kernel matrix from 4,096 points on; "whole" is the same with whole matrices.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.cluster import kmeans_plusplus

from manifold_oos.embeddings.base import Embedding
from manifold_oos.embeddings.kernel_pca import KPCA
from manifold_oos.embeddings.lgrm import LGRM
from manifold_oos.embeddings.nsse import NSSE
from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.extenders import sosi
from manifold_oos.extenders.krr import KernelRidgeExtender
from manifold_oos.extenders.rbf import RBFExtender
from manifold_oos.extenders.sosi import SOSI, nearest_class
from manifold_oos.numerics import centers, rbf
from manifold_oos.numerics.kernels import kernel_matrix, median_distance

D_OUT = 10
METHODS = {
    "rbf": RBFExtender(),
    "krr": KernelRidgeExtender(),
    "nsse": NSSE(D_OUT, n_neighbors=10),
    "kpca": KPCA(D_OUT),
    "lgrm": LGRM(D_OUT, n_neighbors=15),
    "sosi": SOSI(),
}
#: Known points of each of the ten classes, and numbers of centres.
PER_CLASS, CENTERS = 200, (100, 200, 500, 1000)
SOSI_PER_CLASS, SOSI_CENTERS = 20, (500, 1000, 2000, 3000)


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


def by_kmeans(X: np.ndarray, count: int) -> np.ndarray:
    """Each with a probability that is its squared distance from those before."""
    return np.sort(kmeans_plusplus(X, count, random_state=0)[1])


def by_leverage(X: np.ndarray, count: int) -> np.ndarray:
    """By the ridge leverage scores of the Gaussian kernel one median distance wide."""
    K, ridge = kernel_matrix(X, sigma=median_distance(X)), 1e-3 * len(X) / count
    scores = 1 - ridge * np.linalg.inv(K + ridge * np.eye(len(X))).diagonal()
    return np.sort(np.random.default_rng(0).choice(len(X), count, replace=False, p=scores / scores.sum()))


CHOICES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "farthest": centers.farthest_points,
    "k-means++": by_kmeans,
    "leverage": by_leverage,
}


def choices(path: str | None, methods: list[str], per_class: int, n_new: int) -> None:
    """Errors with centres that are chosen otherwise, and half the 95 % interval over five splits."""
    print(f"{'':5} {'centres':>8} " + " ".join(f"{how:>14}" for how in CHOICES))
    for name in [name for name in methods if name != "sosi"]:
        for n_centers in CENTERS[:3]:
            told = []
            for choose in CHOICES.values():
                centers.farthest_points = choose
                errors = [run(name, path, per_class, n_new, n_centers, split)[1] for split in range(1, 6)]
                told.append(f"{np.mean(errors):7.2f} ± {2.78 * np.std(errors, ddof=1) / 5**0.5:4.2f}")
            print(f"{name:5} {n_centers:8} " + " ".join(told), flush=True)


def run(
    name: str, path: str | None, per_class: int, n_new: int, n_centers: int | str | None, split: int = 1
) -> tuple[np.ndarray, float, float, float]:
    """Labels of the new points, their error in per cent, CPU seconds and the process's peak in GiB."""
    X, y = usps(path) if path else drawn(n_new + 20 * per_class + 600)
    order = np.random.default_rng(split).permutation(len(X))
    known = np.concatenate([order[y[order] == label][:per_class] for label in np.unique(y)])
    new = order[~np.isin(order, known)][:n_new]
    X_new, truth, X, y = X[new], y[new], X[known], y[known]
    if n_centers == "whole":
        sosi.PACKED_FROM = rbf.PACKED_FROM = sys.maxsize
        n_centers = None
    method = METHODS[name].set_params(n_centers=n_centers)
    if not isinstance(method, Embedding):
        Y = SupervisedLaplacian(n_components=D_OUT).fit(X, y).embedding_
    start = time.process_time()
    if isinstance(method, SOSI):
        labels = method.fit(X, Y, y, X_new=X_new).labels_
    else:
        fitted = method.fit(X, y) if isinstance(method, Embedding) else method.fit(X, Y, y)
        labels = nearest_class(fitted.transform(X_new), fitted.transform(X), y)[0]
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return labels, 100 * float(np.mean(labels != truth)), seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=list(METHODS), metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--usps", default="USPS.mat", help="the file with fea and gnd")
    parser.add_argument("--drawn", action="store_true")
    parser.add_argument("--per-class", type=int, help="known points of each class")
    parser.add_argument("--new", type=int, default=4000, help="new points")
    parser.add_argument("--centers", type=int, nargs="*", help="numbers of centres beside all")
    parser.add_argument("--figure", metavar="PNG", help="draw the table")
    parser.add_argument("--choices", action="store_true", help="compare ways to choose centres")
    options = parser.parse_args()
    if unknown := set(options.methods) - set(METHODS):
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(METHODS)}")
    path = None if options.drawn else options.usps
    if path and not Path(path).is_file():
        parser.error(f"--usps {path}: no such file; name it, or take drawn points with --drawn")
    if options.choices:
        return choices(path, options.methods, options.per_class or 100, options.new)
    context, rows = multiprocessing.get_context("spawn"), {}
    print(f"{options.new} new points")
    print(f"{'':6} {'centres':>8} {'equal to exact %':>17} {'error %':>8} {'CPU s':>8} {'peak GiB':>9}", flush=True)
    for name in options.methods:
        many = name == "sosi"
        per_class = options.per_class or (SOSI_PER_CLASS if many else PER_CLASS)
        numbers = (SOSI_CENTERS if many else CENTERS) if options.centers is None else options.centers
        every = 10 * per_class + (options.new if many else 0)
        exact, rows[name] = None, []
        for n_centers in (None, *(["whole"] if many and numbers else []), *numbers):
            with context.Pool(1) as pool:
                labels, error, seconds, peak = pool.apply(run, (name, path, per_class, options.new, n_centers))
            exact = labels if exact is None else exact
            equal = 100 * float(np.mean(labels == exact))
            told = f"{equal:17.2f} {error:8.2f} {seconds:8.1f} {peak:9.2f}"
            print(f"{name:6} {n_centers or 'all':>8} {told}", flush=True)
            if n_centers != "whole":
                rows[name].append((n_centers or every, equal, error, seconds, peak))
    if options.figure:
        draw(rows, options.figure)


def draw(rows: dict[str, list[tuple[float, ...]]], file: str) -> None:
    """Labels and time against the number of centres, all of them at the right end of a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for name, values in rows.items():
        centers, equal, error, seconds, _ = np.array(sorted(values)).T
        left.semilogx(centers, 100 - error, "o-", markersize=4, label=name)
        middle.semilogx(centers, equal, "o-", markersize=4)
        right.loglog(centers, seconds, "o-", markersize=4)
    left.set(xlabel="centres", ylabel="labels right, %")
    middle.set(xlabel="centres", ylabel="labels as the exact form's, %")
    right.set(xlabel="centres", ylabel="CPU seconds")
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
