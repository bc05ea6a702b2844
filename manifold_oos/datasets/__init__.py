"""Data sets: official files in, arrays out; see ``moos data list``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from manifold_oos.datasets.base import Dataset, Loader


def available() -> "dict[str, type[Loader]]":
    """Every data set: loader class by name, sorted; found by looking at the modules of this folder.

    Examples
    --------
    >>> available()["coil20"].__name__
    'Coil20'
    """
    from manifold_oos import registry

    return cast("dict[str, type[Loader]]", registry.available("datasets"))


def find(name: str) -> "type[Loader]":
    """The loader class behind a name of a config.

    Parameters
    ----------
    name : str
        A name from :func:`available`, or ``package.module:Class``.

    Returns
    -------
    type
        A subclass of :class:`~manifold_oos.datasets.base.Loader`.
    """
    from manifold_oos import registry

    return cast("type[Loader]", registry.find("datasets", name))


def load(
    name: str, *, data_dir: str | Path | None = None, offline: bool | None = None, **options: Any
) -> "Dataset":
    """Load a data set.

    Parameters
    ----------
    name : str
        A name from :func:`available`.
    data_dir : path, optional
        Folder to look in first; then ``MOOS_DATA``, ``./datasets`` and the user's cache.
    offline : bool, optional
        Do not download a missing set that is free to download; the default is whether ``MOOS_OFFLINE=1``.
    **options
        Those below, as far as they make sense for the set, and the set's own (``moos describe NAME``).

    Other Parameters
    ----------------
    variant : str
        Which of the set's variants; they never stand in for each other.
    classes : int or list, optional
        The first so many classes, or a list of class names and positions (from 0).
    per_class : int, optional
        The first so many samples of each class.
    gray : bool, default=False
        Grey instead of colour, before resizing.
    size : (width, height), optional
        Images are resized to it; one number for a square.
    resample : {"lanczos", "box", "bicubic", "nearest"}, default="lanczos"
        How images are resized.
    normalize : {"none", "unit", "standard"}, default="none"
        ``unit``: rows of length 1; ``standard``: each feature with mean 0 and deviation 1, fitted on the training
        part of each split.
    random_projection : int, optional
        Dimension of a Gaussian random projection, drawn from the seed.
    seed : int, default=0
        Draws the random projection.

    Returns
    -------
    Dataset
        Samples in natural order; the same for the same files and options.

    Examples
    --------
    >>> digits = load("digits", normalize="unit")
    >>> digits.X.shape, digits.image_shape, digits.n_classes
    ((1797, 64), (8, 8), 10)
    """
    return find(name)(data_dir=data_dir, offline=offline).load(**options)


__all__ = ["available", "find", "load"]
