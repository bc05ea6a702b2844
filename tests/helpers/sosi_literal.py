"""Algorithm 1 of SOSI word for word: a loop over dimensions, scales and points. An oracle, and slow."""

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist


def gradient(x, centers, c, sigma):
    """∇f(x) of f(x) = Σ c_l φ(‖x − a_l‖/σ)."""
    difference = x - centers
    phi = np.exp(-np.sum(difference**2, axis=1) / sigma**2)
    return -2 / sigma**2 * (c * phi) @ difference


def class_neighbors(X, y, i, label, K):
    others = [j for j in np.flatnonzero(y == label) if np.any(X[j] != X[i])]
    return sorted(others, key=lambda j: np.linalg.norm(X[i] - X[j]))[:K]


def directions(X, y, K):
    """n̄_p(x_i) for every point and class."""
    return [
        {
            p: np.array([(X[i] - X[j]) / np.linalg.norm(X[i] - X[j]) for j in class_neighbors(X, y, i, p, K)])
            for p in np.unique(y)
        }
        for i in range(len(X))
    ]


def separable(Yk, y, m, p):
    return Yk[y == m].max() < Yk[y == p].min() or Yk[y == p].max() < Yk[y == m].min()


def terms(X, Yk, y, c, sigma, towards):
    """Ĝ(f^k) and D̂(f^k), eq. 9 and 10."""
    G = D = 0.0
    for i in range(len(X)):
        g = gradient(X[i], X, c, sigma)
        derivative = {p: np.abs(units @ g) for p, units in towards[i].items() if len(units)}
        mean = np.mean(np.concatenate(list(derivative.values())))
        G += np.linalg.norm(g) / mean
        D += sum(np.mean(values) / mean for p, values in derivative.items() if separable(Yk, y, y[i], p))
    return G, D


def scales(X, Y, y, K):
    """Minimise R̂ in each dimension over 40 scales; λ balances the two ranges; then footnote 4."""
    nearest = [min(np.linalg.norm(X[i] - X[j]) for j in range(len(X)) if j != i) for i in range(len(X))]
    grid = np.geomspace(np.median(nearest), 10 * np.median(pdist(X)), 40)
    towards = directions(X, y, K)
    squared = cdist(X, X, "sqeuclidean")
    classes = np.unique(y)
    sigma, pairs = [], []
    for Yk in Y.T:
        G, D = np.empty(len(grid)), np.empty(len(grid))
        for s, scale in enumerate(grid):
            c = np.linalg.solve(np.exp(-squared / scale**2), Yk)
            G[s], D[s] = terms(X, Yk, y, c, scale, towards)
        lambda_ = np.ptp(G) / np.ptp(D) if np.ptp(D) > 0 else 0.0
        sigma.append(grid[np.argmin(G - lambda_ * D)])
        pairs.append(sum(separable(Yk, y, m, p) for m in classes for p in classes if m != p))
    sigma, votes = np.array(sigma), np.array(pairs) >= max(pairs) / 2
    mean, deviation = sigma[votes].mean(), sigma[votes].std()
    return np.clip(np.where(votes, sigma, mean), mean - 2 * deviation, mean + 2 * deviation)


def project(x, X, Y, y, label, K):
    """Coordinates of the projection on the manifold of a class, eq. 20 and 21, by a general solver."""
    members = np.flatnonzero(y == label)
    a = members[np.argsort(np.linalg.norm(X[members] - x, axis=1), kind="stable")[:K]]
    scale = np.sum((X[a] - x) ** 2)
    result = minimize(
        lambda v: np.sum((x - v @ X[a]) ** 2) / scale,
        np.full(len(a), 1 / len(a)),
        jac=lambda v: -2 * X[a] @ (x - v @ X[a]) / scale,
        bounds=[(0, 1)] * len(a),
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": lambda v: np.ones(len(a))},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return result.x @ Y[a]


def classify(F, Y, y):
    """Labels and confidences, eq. 15 and 16."""
    labels, confidence = [], []
    for f in F:
        distance = np.linalg.norm(Y - f, axis=1)
        j = np.argmin(distance)
        labels.append(y[j])
        confidence.append(distance[y != y[j]].min() / distance[j])
    return np.array(labels), np.array(confidence)


def sosi(X, Y, y, X_new, K=5, R=10):
    """Labels and confidences of each iteration, and the scales."""
    sigma = scales(X, Y, y, K)
    squared = cdist(np.vstack([X, X_new]), np.vstack([X, X_new]), "sqeuclidean")
    known, iterations = {}, []
    centers, values = np.arange(len(X)), Y
    for share in np.linspace(0, 1, R):
        if iterations:
            labels, confidence = iterations[-1]
            surest = np.argsort(-confidence, kind="stable")[: round(share * len(X_new))]
            for i in surest:
                if (i, labels[i]) not in known:
                    known[i, labels[i]] = project(X_new[i], X, Y, y, labels[i], K)
            centers = np.r_[np.arange(len(X)), len(X) + surest]
            values = np.vstack([Y, [known[i, labels[i]] for i in surest]])
        F = np.empty((len(X_new), Y.shape[1]))
        for k in range(Y.shape[1]):
            Phi = np.exp(-squared[:, centers] / sigma[k] ** 2)
            F[:, k] = Phi[len(X) :] @ np.linalg.solve(Phi[centers], values[:, k])
        iterations.append(classify(F, Y, y))
    return iterations, sigma
