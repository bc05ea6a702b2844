"""Which points are known and which are new, from a seed that arms, workers and their order cannot change."""

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifold_oos import datasets
from manifold_oos.arrays import Array, Index
from manifold_oos.config.model import Split
from manifold_oos.config.values import Facts
from manifold_oos.datasets.base import Dataset
from manifold_oos.errors import DataError
from manifold_oos.numerics.kernels import squared_distances


def split_seed(seed: int, dataset: str, size: float, repetition: int) -> np.random.SeedSequence:
    """The seed of a split, from nothing but its four coordinates.

    Examples
    --------
    >>> split_seed(0, "coil20", 7, 0).generate_state(1).tolist()
    [1347861055]
    """
    digest = hashlib.sha256(f"{dataset}|{float(size)!r}".encode()).digest()
    return np.random.SeedSequence([seed, int.from_bytes(digest[:8], "big"), repetition])


def draw(split: Split, size: float, seed: np.random.SeedSequence, data: Dataset) -> tuple[Index, Index]:
    """Draw the known and the new points of one repetition."""
    rng = np.random.default_rng(seed)
    n = len(data)
    groups = [np.flatnonzero(data.y == c) for c in range(data.n_classes)] if data.y is not None else []
    if split.kind == "train_per_class":
        if not groups:
            raise DataError(f"{data.name} has no labels: train_per_class needs them, fraction does not")
        small = [data.class_names[c] for c, group in enumerate(groups) if len(group) < size]
        if small:
            raise DataError(f"{data.name}: train_per_class {size:g} is more than class {small[0]} has")
        known = np.concatenate([rng.permutation(group)[: int(size)] for group in groups])
    elif split.kind in ("fraction", "ratio", "n_train"):
        share = {"fraction": size, "ratio": size / (1 + size), "n_train": size / n}[split.kind]
        total = round(share * n)
        if not 0 < total < n:
            raise DataError(f"{data.name}: {split.kind} {size:g} of {n} points leaves no known or no new ones")
        if not groups or not split.stratified:
            known = rng.permutation(n)[:total]
        else:
            counts = np.array([len(group) for group in groups])
            shares = _apportion(counts, total) if split.kind == "n_train" else _rounded(counts, share)
            known = np.concatenate([rng.permutation(g)[:k] for g, k in zip(groups, shares, strict=True)])
    elif split.kind == "half_space":
        known = _half_space(split, size, data)
    elif split.kind == "alternate":
        known = np.arange(0, n, int(size))
    else:
        known = np.arange(min(int(size), n))
    new = np.setdiff1d(np.arange(n), known)
    if not len(new):
        raise DataError(f"{data.name}: {split.kind} {size:g} of {n} points leaves no new ones")
    if split.n_test is not None and split.n_test < len(new):
        new = np.sort(rng.permutation(new)[: split.n_test])
    return np.sort(known), new


def count_known(split: Split, size: float, facts: "DataFacts") -> int:
    """How many points a split knows, without drawing it."""
    kind, n = split.kind, facts.n
    counts = np.array(facts.class_counts) if facts.class_counts else None
    if kind == "draws":
        return int(size)
    if kind == "train_per_class" and counts is not None:
        return int(size) * len(counts)
    if kind == "alternate":
        return -(-n // int(size))
    if kind == "half_space":
        return round(size * n)
    if kind in ("fraction", "ratio"):
        share = size if kind == "fraction" else size / (1 + size)
        return int(_rounded(counts, share).sum()) if counts is not None and split.stratified else round(share * n)
    return min(int(size), n)


def _rounded(counts: Index, share: float) -> Index:
    """Rounded share of each class, leaving at least one point on either side where it has two."""
    wanted = np.floor(counts * share + 0.5).astype(int)
    return np.clip(wanted, 1, np.maximum(counts - 1, 1))


def _apportion(counts: Index, total: int) -> Index:
    """Shares of each class that add up to ``total``, by largest remainder."""
    exact = counts * (total / counts.sum())
    shares = np.floor(exact).astype(int)
    order = np.argsort(-(exact - shares), kind="stable")
    shares[order[: total - shares.sum()]] += 1
    return shares


def _half_space(split: Split, size: float, data: Dataset) -> Index:
    assert split.half_space is not None
    wanted = split.half_space.parameter
    names = list(data.parameters)
    if isinstance(wanted, int) and wanted < len(names):
        wanted = names[wanted]
    if wanted not in data.parameters:
        known = ", ".join(names) or "none"
        raise DataError(f"{data.name} has no parameter {wanted} to split by; it has: {known}")
    order = np.argsort(data.parameters[str(wanted)], kind="stable")
    count = round(size * len(data))
    return order[:count] if split.half_space.known == "below" else order[len(data) - count :]


@dataclass(frozen=True)
class DataRef:
    """A data set by name and options: what a worker needs to load it."""

    label: str
    name: str
    options: dict[str, Any] = field(hash=False)
    data_dir: str | None = None
    offline: bool | None = None

    def load(self, **changes: Any) -> Dataset:
        """Load it, with options changed."""
        options = self.options | changes
        return datasets.load(self.name, data_dir=self.data_dir, offline=self.offline, **options)


@dataclass(frozen=True)
class SplitRef:
    """One split of one data set."""

    data: DataRef
    split: Split = field(hash=False)
    size: float
    repetition: int

    @property
    def seed(self) -> np.random.SeedSequence:
        """What the split and everything random inside it is drawn from."""
        return split_seed(self.split.seed, self.data.name, self.size, self.repetition)

    @property
    def drawn(self) -> bool:
        """Whether the points themselves are drawn anew for the split."""
        return self.split.kind == "draws" or self.split.redraw

    def size_facts(self, data: "DataFacts") -> Facts:
        """What size expressions of a config refer to, without drawing the split."""
        n_train = count_known(self.split, self.size, data)
        return Facts(self.data.label, n_train, data.n_classes, data.n_features)

    def points(self, data: Dataset | None) -> "Points":
        """The known and new points."""
        seeds = [int(word) for word in self.seed.generate_state(4)]
        if self.split.kind == "draws":
            assert self.split.draws is not None
            train = self.data.load(n_samples=int(self.size), seed=seeds[0])
            test = self.data.load(n_samples=self.split.draws.test, seed=seeds[1])
            data = _joined(train, test)
            known, new = np.arange(len(train)), np.arange(len(train), len(data))
        else:
            if self.split.redraw:
                data = self.data.load(seed=seeds[0])
            assert data is not None
            known, new = draw(self.split, self.size, self.seed, data)
        return Points.of(data, known, new, self.data.label, seeds[2])


def _joined(train: Dataset, test: Dataset) -> Dataset:
    y = None if train.y is None or test.y is None else np.concatenate([train.y, test.y])
    parameters = {key: np.concatenate([train.parameters[key], test.parameters[key]]) for key in train.parameters}
    X, names = np.vstack([train.X, test.X]), train.names + test.names
    return replace(train, X=X, y=y, names=names, parameters=parameters)


def scaling(X: Array) -> tuple[Array, Array]:
    """Means and standard deviations of the features, 1 for one that is constant."""
    deviation = X.std(axis=0)
    return X.mean(axis=0), np.where(deviation > 0, deviation, 1.0)


def standardized(X: Array, X_new: Array) -> tuple[Array, Array]:
    """Both sets with the means and standard deviations of the first."""
    mean, scale = scaling(X)
    return (X - mean) / scale, (X_new - mean) / scale


@dataclass
class Points:
    """Known and new points of a split, or of a fold inside its known points.

    ``known`` and ``new`` are indices in the data set; ``seed`` is for methods that draw random numbers; ``folds``
    are those that cross-validation has cut already.
    """

    X: Array
    y: NDArray | None
    X_new: Array
    y_new: NDArray | None
    parameters: dict[str, Array]
    known: Index
    new: Index
    facts: Facts
    seed: int
    standardize: bool = False
    known_parameters: dict[str, Array] = field(default_factory=dict)
    folds: dict[str, list["Points"]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.X.flags.writeable = self.X_new.flags.writeable = False  # all arms have the same points

    @classmethod
    def of(cls, data: Dataset, known: Index, new: Index, label: str, seed: int) -> "Points":
        """Cut a data set."""
        X, X_new = data.X[known], data.X[new]
        if data.standardize:
            X, X_new = standardized(X, X_new)
        y, y_new = (None, None) if data.y is None else (data.y[known], data.y[new])
        facts = Facts(label, len(known), data.n_classes, X.shape[1])
        of_known, of_new = ({key: column[i] for key, column in data.parameters.items()} for i in (known, new))
        return cls(X, y, X_new, y_new, of_new, known, new, facts, seed, data.standardize, of_known)

    def fold(self, train: Index, validation: Index, seed: int) -> "Points":
        """Some of the known points as known, others as new: what cross-validation sees."""
        y, y_new = (None, None) if self.y is None else (self.y[train], self.y[validation])
        facts = replace(self.facts, n_train=len(train))
        index = self.known[train], self.known[validation]
        X, X_new = self.X[train], self.X[validation]
        if self.standardize:
            X, X_new = standardized(X, X_new)
        parameters = {name: values[validation] for name, values in self.known_parameters.items()}
        return Points(X, y, X_new, y_new, parameters, *index, facts, seed, self.standardize)

    @cached_property
    def distances(self) -> Array:
        """Squared distances of new points (rows) to known points."""
        return squared_distances(self.X_new, self.X)


@dataclass(frozen=True)
class DataFacts:
    """What a plan needs to know of a data set, kept in the store so that views work without the data."""

    name: str
    variant: str
    fingerprint: str
    n: int
    n_features: int
    n_classes: int
    note: str = ""
    class_names: tuple[str, ...] = ()
    class_counts: tuple[int, ...] = ()
    image_shape: tuple[int, ...] | None = None
    parameters: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Dataset) -> "DataFacts":
        """The facts of a loaded data set."""
        counts = () if data.y is None else tuple(np.bincount(data.y, minlength=data.n_classes).tolist())
        shared = ("name", "variant", "fingerprint", "n_classes", "note", "class_names", "image_shape")
        same = {name: getattr(data, name) for name in shared}
        width, names = data.X.shape[1], tuple(data.parameters)
        return cls(n=len(data), n_features=width, class_counts=counts, parameters=names, **same)
