"""Small methods and a data set for tests of the engine; each fit leaves a line in the file that MOOS_FITS names."""

import json
import os
import time
from numbers import Real
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state

from manifold_oos.constraints import Interval
from manifold_oos.datasets.base import Loader, Raw
from manifold_oos.embeddings.base import Embedding, JointEmbedding
from manifold_oos.extenders.base import Extender
from manifold_oos.steps import Step


def note(what, **facts):
    if "MOOS_FITS" in os.environ:
        with Path(os.environ["MOOS_FITS"]).open("a") as file:
            file.write(json.dumps({"what": what, **facts}) + "\n")


class Blobs(Loader):
    """Four noisy classes of 12 points in six dimensions; the last is the number of the sample."""

    name = "blobs"

    def read(self, variant, *, n_samples=48, spread=1.0, seed=0):
        rng = np.random.default_rng(seed)
        labels = np.arange(n_samples) % 4
        order = np.argsort(labels, kind="stable")
        labels = labels[order]
        centers = 3 * np.random.default_rng(99).normal(size=(4, 5))
        X = centers[labels] + spread * rng.normal(size=(n_samples, 5))
        height = np.linspace(0, 1, n_samples)
        parameters = {"height": height, "angle": 360 * height}
        return Raw(np.column_stack([X, np.arange(n_samples)]), labels, list("abcd"), parameters=parameters)


class Slice(Embedding):
    """The first coordinates."""

    name = "slice"
    grids = {"scale": [1.0, 2.0]}
    _parameter_constraints = {"scale": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, n_components=2, scale=1.0, mu=0):
        self.n_components = n_components
        self.scale = scale
        self.mu = mu

    def _fit(self, X, y):
        note("embedding", n=len(X), d=self.n_components, rows=X[:, -1].astype(int).tolist())
        return self.scale * X[:, : self.n_components]


class Whole(Slice):
    """Slice that says its dimensions are not nested."""

    name = "whole"
    nested = False


class Joint(JointEmbedding):
    """Slice with its own map, a random tilt and iterations."""

    name = "joint"
    nested = False

    def __init__(self, n_components=2, random_state=None):
        self.n_components = n_components
        self.random_state = random_state

    def _fit(self, X, y):
        note("joint", n=len(X))
        self.tilt_ = check_random_state(self.random_state).normal(size=(X.shape[1], self.n_components))
        self.sigma_ = 2.5
        self.steps_ = [Step(i, values={"objective": 1.0 / i}) for i in (1, 2)]
        return X @ self.tilt_

    def _transform(self, X):
        return X @ self.tilt_


class Shift(Extender):
    """The first coordinates, moved by an amount: 0 is right."""

    name = "shift"
    grids = {"amount": [0.0, 1.0, 30.0]}

    def __init__(self, amount=0.0, tag=0):
        self.amount = amount
        self.tag = tag

    def _fit(self, X, Y, y, X_new, embedding):
        note("extender", n=len(X), d=Y.shape[1], amount=self.amount)
        self.d_ = Y.shape[1]

    def _transform(self, X):
        note("transform", n=len(X), rows=X[:, -1].astype(int).tolist())
        return X[:, : self.d_] + self.amount


class Knowing(Shift):
    """Shift that takes the new points in, in two steps, and labels them."""

    name = "knowing"
    nested = False
    transductive = True

    def _fit(self, X, Y, y, X_new, embedding):
        super()._fit(X, Y, y, X_new, embedding)
        coordinates = X_new[:, : self.d_] + self.amount
        right = y[((X_new[:, None, :5] - X[None, :, :5]) ** 2).sum(axis=2).argmin(axis=1)]
        taken = np.zeros(len(X_new), dtype=bool)
        self.steps_ = [
            Step(1, coordinates + 50, np.zeros(len(X_new), dtype=int), np.ones(len(X_new)), taken, {"sigma": 2.0}),
            Step(2, coordinates, right, np.ones(len(X_new)), ~taken, {"sigma": 1.0}),
        ]


class Anew(Shift):
    """Shift that moves the known points too."""

    name = "anew"

    def _fit(self, X, Y, y, X_new, embedding):
        super()._fit(X, Y, y, X_new, embedding)
        self.training_embedding_ = Y[:, ::-1].copy()


class Picky(Shift):
    """Shift that supports Slice alone."""

    name = "picky"

    @classmethod
    def supports(cls, embedding):
        return (embedding if isinstance(embedding, type) else type(embedding)).__name__ == "Slice"


class Failing(Shift):
    """Raises while a file named ``broken`` exists in the current folder."""

    name = "failing"

    def _fit(self, X, Y, y, X_new, embedding):
        if Path("broken").exists() and len(X) > 8:
            raise ArithmeticError("the file broken exists")
        super()._fit(X, Y, y, X_new, embedding)


class Slow(Slice):
    """Slice that takes its time."""

    name = "slow"

    def _fit(self, X, y):
        note("slow")
        time.sleep(float(os.environ.get("MOOS_SLOW", "0.05")))
        return super()._fit(X, y)


class Deadly(Slice):
    """Kills its process once, in the presence of a file named ``deadly``."""

    name = "deadly"

    def _fit(self, X, y):
        try:
            Path("deadly").unlink()  # one of two workers that meet it at once
        except FileNotFoundError:
            return super()._fit(X, y)
        os._exit(1)


class NN(KNeighborsClassifier):
    """1-NN that is not answered from shared distances."""

    name = "fake_nn"
    grids = {}

    def __init__(self, n_neighbors=1):
        super().__init__(n_neighbors=n_neighbors)

    def fit(self, X, y):
        note("classifier", n=len(X), d=X.shape[1])
        return super().fit(X, y)
