"""Transform of 1, 100 and 10,000 new points beside SciPy and scikit-learn (N = 1000, D = 50): ours over theirs.

Medians of interleaved processor times of one thread, and how far the coordinates of the two are apart, relative.
"""

import argparse
import time

import numpy as np
from scipy.interpolate import RBFInterpolator
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.manifold import Isomap as SklearnIsomap
from sklearn.manifold import LocallyLinearEmbedding
from threadpoolctl import threadpool_limits

from manifold_oos.embeddings.isomap import Isomap
from manifold_oos.embeddings.kernel_pca import KPCA
from manifold_oos.extenders.krr import KernelRidgeExtender
from manifold_oos.extenders.landmark import LandmarkExtender
from manifold_oos.extenders.lle import LLEExtender
from manifold_oos.extenders.nystrom import Nystrom
from manifold_oos.extenders.rbf import RBFExtender


def pairs(X: np.ndarray, d: int) -> dict:
    """Ours and theirs by name, both fitted, with the same coordinates for training points."""
    Y, sigma = np.random.default_rng(1).standard_normal((len(X), d)), 0.6 * np.sqrt(2 * X.shape[1])
    rbf = RBFExtender(sigma=sigma).fit(X, Y)
    ridge = KernelRidge(alpha=1e-3, kernel="rbf", gamma=1 / sigma**2).fit(X, Y)
    isomap, own_isomap = SklearnIsomap(n_neighbors=8, n_components=d).fit(X), Isomap(d, n_neighbors=8).fit(X)
    lle = LocallyLinearEmbedding(n_neighbors=8, n_components=d).fit(X)
    pca, own_pca = KernelPCA(d, kernel="rbf", gamma=1 / sigma**2).fit(X), KPCA(d, sigma=sigma).fit(X)
    krr = KernelRidgeExtender(alpha=1e-3, sigma=sigma).fit(X, Y)
    landmark = LandmarkExtender().fit(X, own_isomap.embedding_, embedding=own_isomap)
    nystrom = Nystrom().fit(X, own_pca.embedding_, embedding=own_pca)
    return {
        "rbf / RBFInterpolator": (rbf, RBFInterpolator(X, Y, kernel="gaussian", epsilon=1 / sigma, degree=-1)),
        "rbf / KernelRidge": (rbf, KernelRidge(alpha=1e-12, kernel="rbf", gamma=1 / sigma**2).fit(X, Y).predict),
        "krr / KernelRidge": (krr, ridge.predict),
        "landmark / Isomap": (landmark, isomap.transform),
        "lle / LocallyLinearEmbedding": (LLEExtender(n_neighbors=8).fit(X, lle.embedding_), lle.transform),
        "nystrom / KernelPCA": (nystrom, pca.transform),
    }


def seconds(function, X: np.ndarray, repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        function(X)
    return (time.process_time() - start) / repeats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    X, X_new = random.standard_normal((1000, 50)), random.standard_normal((10_000, 50))
    print(f"{'ours / theirs':30s}" + "".join(f"{n:>10d}" for n in (1, 100, 10_000)) + "   µs/point of ours, apart")
    with threadpool_limits(1):
        for name, (ours, theirs) in pairs(X, options.dimension).items():
            F, G = (np.abs(function(X_new[:100])) for function in (ours.transform, theirs))  # signs are free
            line, last = f"{name:30s}", 0.0
            for n, repeats in ((1, 100), (100, 10), (10_000, 1)):
                rounds = [
                    (seconds(ours.transform, X_new[:n], repeats), seconds(theirs, X_new[:n], repeats))
                    for _ in range(options.rounds)
                ]
                mine, other = np.median(rounds, axis=0)
                line, last = line + f"{mine / other:10.2f}", mine / n
            print(f"{line}   {1e6 * last:6.2f}  {np.abs(F - G).max() / np.abs(G).max():.0e}", flush=True)


if __name__ == "__main__":
    main()
