"""The contract of a data set: a loader turns its source into raw samples, the base applies the common options.

The order is fixed: ``classes``, ``per_class``, ``gray``, ``size`` (with ``resample``), pixels scaled to 0..1,
``random_projection``, ``normalize``. Normalisation comes last, so that ``unit`` rows are unit rows in any case.
"""

import hashlib
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from manifold_oos.arrays import Array
from manifold_oos.datasets import cache as arrays
from manifold_oos.datasets.preprocess import COMMON, ROW_OPTIONS, checked, features, image_shape, select
from manifold_oos.errors import ConfigError, DataError

__all__ = ["COMMON", "ROW_OPTIONS", "Dataset", "Listing", "Loader", "Raw"]

Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Dataset:
    """Samples that are ready for an experiment.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        One row per sample, float64, read-only (it may be shared with the cache). Pixels are in 0..1.
    y : ndarray of shape (n,) of int64, or None
        Class of each sample, 0 .. ``len(class_names) - 1``.
    class_names : tuple of str
        Name of each class; empty without labels.
    names : tuple of str
        Name of each sample.
    image_shape : (h, w), (h, w, 3) or None
        How to reshape a row to an upright image; None where rows are not images (or were projected).
    parameters : dict of str to ndarray of shape (n,)
        True manifold coordinates where known. The key says what: ``angle``, ``azimuth``, ``elevation`` in degrees,
        ``arc_length``, ``width``, ``x``, ``y`` in the units of the data; NaN where a sample has none. A loader
        describes any other.
    name, variant : str
        What was loaded.
    fingerprint : str
        sha256 of the raw decoded values and labels, before any common option: the same for an archive and the
        folder it unpacks to.
    note : str
        A caveat to show wherever results on this set are shown; mostly empty.
    standardize : bool
        ``normalize="standard"`` was asked for: mean and scale are to be fitted on each split's training part.
    feature_names : tuple of str
        Names of the columns that were read, before any projection; empty where they have none.
    """

    X: Array
    y: Labels | None
    class_names: tuple[str, ...]
    names: tuple[str, ...]
    image_shape: tuple[int, ...] | None
    parameters: dict[str, Array]
    name: str
    variant: str
    fingerprint: str
    note: str = ""
    standardize: bool = False
    feature_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 without labels."""
        return len(self.class_names)


@dataclass(frozen=True)
class Raw:
    """What a loader reads, before any common option.

    Parameters
    ----------
    values : ndarray
        uint8 images (n, h, w) or (n, h, w, 3), float images in 0..1 of the same shapes, or float rows (n, D).
    labels : sequence of int, optional
        0 .. n_classes − 1; samples in natural order (s2 before s10), those of a class together where files allow.
    class_names : sequence of str
        One per class.
    names : sequence of str
        One per sample; numbered from 0 when empty.
    parameters : mapping of str to array
        True coordinates, one number per sample each; see :class:`Dataset` for the keys.
    note : str
        A caveat about what was read; the loader's own ``note`` when empty.
    feature_names : sequence of str
        One per column of rows, or none.
    """

    values: NDArray
    labels: Sequence[int] | NDArray | None = None
    class_names: Sequence[str] = ()
    names: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    feature_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        n = len(self.values)
        if n == 0:
            raise DataError("no samples")
        if self.values.ndim not in (2, 3, 4) or (self.values.ndim == 4 and self.values.shape[3] != 3):
            raise DataError(f"values of shape {self.values.shape} are neither rows nor images")
        if self.values.dtype != np.uint8 and not np.isfinite(self.values).all():
            raise DataError(
                f"sample {int(np.argwhere(~np.isfinite(self.values))[0, 0])} has NaN or infinite values"
            )
        if self.labels is not None:
            labels = np.asarray(self.labels, dtype=np.int64)
            counts = np.bincount(labels, minlength=len(self.class_names)) if labels.min() >= 0 else np.zeros(0)
            if len(labels) != n or len(counts) != len(self.class_names) or not counts.all():
                raise DataError(f"labels must be 0..{len(self.class_names) - 1} without gaps, one for each of {n}")
            object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "names", tuple(self.names) or tuple(str(i) for i in range(n)))
        object.__setattr__(self, "class_names", tuple(self.class_names))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        parameters = {key: np.asarray(value, dtype=np.float64) for key, value in self.parameters.items()}
        object.__setattr__(self, "parameters", parameters)
        if len(self.names) != n or any(column.shape != (n,) for column in parameters.values()):
            raise DataError(f"names and parameters must have one entry for each of {n} samples")

    def fingerprint(self) -> str:
        """sha256 of values and labels, independent of where they were read from."""
        values = np.ascontiguousarray(self.values)
        digest = hashlib.sha256(f"{values.dtype.name} {values.shape}".encode())
        digest.update(values.data)
        digest.update(b"" if self.labels is None else np.asarray(self.labels, dtype="<i8").tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Listing:
    """What ``moos data list`` says of a variant.

    Parameters
    ----------
    samples, classes : int, optional
        How many with the default options; None where it is not known before loading.
    size : str
        Width × height of the images, or the space of the points.
    licence : str
        In a few words.
    found : str
        Where: a path, ``built in``, ``your own`` or ``absent``.
    """

    samples: int | None = None
    classes: int | None = None
    size: str = ""
    licence: str = ""
    found: str = "built in"


class Loader(ABC):
    """Base of every data set; a subclass in this folder with a ``name`` is found by itself.

    The first line of its docstring is what ``moos list datasets`` shows. Keyword-only arguments of its ``read``
    are options of its own (``n_samples``, ``noise``, ``path``); an argument ``seed`` receives the common seed.

    Parameters
    ----------
    data_dir : path, optional
        Folder to look in first.
    offline : bool, optional
        Never download; the default is whether ``MOOS_OFFLINE=1``.
    """

    name: ClassVar[str]
    variants: ClassVar[Mapping[str, str]] = {"default": "as described"}
    """Name and one line of description of each variant, the default first. They never stand in for each other."""
    note: ClassVar[str] = ""
    """A caveat that every table shows."""
    options: ClassVar[Sequence[str]] = tuple(COMMON)
    """The common options that make sense for this set."""
    listing: ClassVar[Listing] = Listing()
    """What is known of it without loading."""
    cached: ClassVar[bool] = False
    """Whether raw and processed arrays are worth keeping on disk; then ``identity`` must tell sources apart."""

    def __init__(self, *, data_dir: str | Path | None = None, offline: bool | None = None) -> None:
        self.data_dir = None if data_dir is None else Path(data_dir)
        self.offline = os.environ.get("MOOS_OFFLINE") == "1" if offline is None else offline

    @abstractmethod
    def read(self, variant: str) -> Raw:
        """Read or generate the raw samples of a variant; subclasses add keyword-only options.

        Parameters
        ----------
        variant : str
            A key of ``variants``.

        Returns
        -------
        Raw
            All samples, in natural order.
        """

    def listed(self, variant: str) -> Listing:
        """What ``moos data list`` says of a variant, without loading it."""
        return self.listing

    def identity(self, variant: str, **own: Any) -> Any:
        """What tells the source of ``read`` apart from others (path, size, time), as JSON; see ``cached``."""
        return None

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Every option of this set with its default: ``variant``, those of ``read``, the common ones."""
        own = {
            p.name: None if p.default is p.empty else p.default
            for p in inspect.signature(cls.read).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        }
        return {"variant": next(iter(cls.variants)), **{key: COMMON[key] for key in cls.options}, **own}

    @classmethod
    def check(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Validate options without loading.

        Parameters
        ----------
        options : mapping
            What a config gives beside the name.

        Returns
        -------
        dict
            Every option of the set, defaults filled in. A wrong one is a :class:`ConfigError`.
        """
        defaults = cls.defaults()
        for key in options:
            if key not in defaults:
                near = get_close_matches(str(key), defaults, n=3, cutoff=0.5)
                hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(defaults)}"
                raise ConfigError(f"{cls.name}.{key}: no such option; {hint} (moos describe {cls.name})")
        full = {**defaults, **options}
        if full["variant"] not in cls.variants:
            raise ConfigError(f"{cls.name}.variant: {full['variant']!r} is none of {', '.join(cls.variants)}")
        common = {**COMMON, **{key: value for key, value in full.items() if key in COMMON}}
        for key, value in checked(cls.name, common).items():
            if key in full:
                full[key] = value
        return full

    def load(self, **options: Any) -> Dataset:
        """Load with options.

        Parameters
        ----------
        **options
            See :meth:`defaults`.

        Returns
        -------
        Dataset
            The samples.
        """
        full = self.check(options)
        variant = full["variant"]
        raw, fingerprint = self._raw(variant, full)
        step = {**COMMON, **{key: value for key, value in full.items() if key in COMMON}}
        if raw.labels is not None:
            index, y, class_names = select(
                np.asarray(raw.labels), raw.class_names, step["classes"], step["per_class"], self.name
            )
        elif step["classes"] is None and step["per_class"] is None:
            index, y, class_names = np.arange(len(raw.values)), None, ()
        else:
            raise ConfigError(f"{self.name}: classes and per_class need labels, and this set has none")

        def make() -> Array:
            return features(raw.values if len(index) == len(raw.values) else raw.values[index], step, self.name)

        if self.cached:
            X = arrays.array({"fingerprint": fingerprint, "step": step, "code": _code(type(self))}, make)
        else:
            X = make()
        X.flags.writeable = False
        return Dataset(
            X=X,
            y=y,
            class_names=class_names,
            names=tuple(raw.names[i] for i in index),
            image_shape=image_shape(raw.values.shape, step),
            parameters={key: value[index] for key, value in raw.parameters.items()},
            name=self.name,
            variant=variant,
            fingerprint=fingerprint,
            note=raw.note or self.note,
            standardize=step["normalize"] == "standard",
            feature_names=tuple(raw.feature_names),
        )

    def _raw(self, variant: str, full: Mapping[str, Any]) -> tuple[Raw, str]:
        own = {
            p.name: full.get(p.name, COMMON.get(p.name))
            for p in inspect.signature(self.read).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        }

        def read() -> tuple[NDArray, dict[str, Any]]:
            raw = self.read(variant, **own)
            meta = {
                "labels": None if raw.labels is None else np.asarray(raw.labels).tolist(),
                "class_names": list(raw.class_names),
                "names": list(raw.names),
                "parameters": {key: value.tolist() for key, value in raw.parameters.items()},
                "note": raw.note,
                "feature_names": list(raw.feature_names),
                "fingerprint": raw.fingerprint(),
            }
            return raw.values, meta

        if not self.cached:
            raw = self.read(variant, **own)
            return raw, raw.fingerprint()
        source = self.identity(variant, **own)
        key = {"set": self.name, "variant": variant, "own": own, "source": source, "code": _code(type(self))}
        values, meta = arrays.remember(key, read)
        fingerprint = meta.pop("fingerprint")
        return Raw(values, **meta), fingerprint


@cache
def _code(loader: type[Loader]) -> str:
    """Digest of the source that decodes, so that a changed decoder does not meet an old entry of the cache."""
    files = {Path(inspect.getfile(parent)) for parent in loader.__mro__ if issubclass(parent, Loader)}
    digest = hashlib.sha256()
    for path in sorted({*files, *Path(__file__).parent.glob("*.py")}):
        digest.update(path.read_bytes())
    return digest.hexdigest()
