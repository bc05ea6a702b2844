"""The contract of a classifier: scikit-learn's, and for transductive ones the new points at fit."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, ClassifierMixin


class Classifier(ClassifierMixin, BaseEstimator):
    """Gives points labels, in the ambient space or on coordinates.

    Inductive ones have ``fit(X, y)`` and ``predict(X)``. Transductive ones have ``fit(X, y, X_new=None)``, take
    rows with label −1 as new points too, and answer for the new points in ``transduction_``.
    """

    #: The word of configs and ``moos list``.
    name: ClassVar[str]
    #: Whether the new points are used in ``fit``.
    transductive: ClassVar[bool] = False
    #: Values that ``moos sweep`` takes for a parameter when none are given.
    grids: ClassVar[Mapping[str, Sequence[Any]]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
