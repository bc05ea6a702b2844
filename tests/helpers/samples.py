"""Points that several tests are made of, and the graph weights of the papers entry by entry."""

import numpy as np
from scipy.spatial.distance import pdist


def blobs(sizes=(14, 11, 15), D=6, seed=0, apart=1.5):
    """Overlapping Gaussian classes of uneven sizes."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return apart * random.standard_normal((len(sizes), D))[y] + random.standard_normal((len(y), D)), y


def literal_weights(X, y, k, same):
    """Heat weights between a point and its k nearest of the same class or of others, entry by entry."""
    N = len(X)
    beta = np.mean(pdist(X, "sqeuclidean"))
    W = np.zeros((N, N))
    for i in range(N):
        others = [j for j in range(N) if j != i and (y[j] == y[i]) == same]
        others.sort(key=lambda j: np.sum((X[i] - X[j]) ** 2))
        for j in others[:k]:
            W[i, j] = W[j, i] = np.exp(-np.sum((X[i] - X[j]) ** 2) / beta)
    return W


def literal_laplacian(X, y, k, same):
    """The Laplacian of :func:`literal_weights`."""
    W = literal_weights(X, y, k, same)
    return np.diag(W.sum(axis=1)) - W
