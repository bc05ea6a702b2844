"""Surfaces with known coordinates, for transductive extenders."""

import numpy as np
import pytest


def s_surface(n=1200, seed=0):
    """Roweis's S-curve and its (arc length, width)."""
    random = np.random.default_rng(seed)
    angle, width = np.pi * (1.5 * random.random(n // 2) - 1), 5 * random.random(n)
    X = np.column_stack([np.r_[np.cos(angle), -np.cos(angle)], width, np.r_[np.sin(angle), 2 - np.sin(angle)]])
    return X, np.column_stack([np.r_[angle, np.pi - angle], width])


def _similarity(Y, truth):
    """R² of the best rotation, scale and shift."""
    Y, truth = Y - Y.mean(axis=0), truth - truth.mean(axis=0)
    singular = np.linalg.svd(Y.T @ truth, compute_uv=False)
    return singular.sum() ** 2 / ((Y**2).sum() * (truth**2).sum())


def _half_surface():
    X, truth = s_surface()
    low = X[:, 2] < np.median(X[:, 2])
    return X[low], X[~low], np.vstack([truth[low], truth[~low]])


def _sheet(n=60, seed=1):
    """A curved sheet in R³, two thirds known."""
    random = np.random.default_rng(seed)
    Y = random.uniform(-1, 1, (n, 2))
    X = np.column_stack([Y, 0.3 * (Y**2).sum(axis=1)])
    return X[: 2 * n // 3], Y[: 2 * n // 3], X[2 * n // 3 :], Y[2 * n // 3 :]


@pytest.fixture
def half_surface():
    """The function of that name."""
    return _half_surface


@pytest.fixture
def sheet():
    """The function of that name."""
    return _sheet


@pytest.fixture
def similarity():
    """The function of that name."""
    return _similarity
