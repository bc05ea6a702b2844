"""Classifiers: what label a point gets; see ``moos list classifiers``."""

from typing import TYPE_CHECKING

from manifold_oos.lazy import attach

if TYPE_CHECKING:
    from manifold_oos.classifiers.base import Classifier as Classifier
    from manifold_oos.classifiers.gaussian_fields import GaussianFields as GaussianFields
    from manifold_oos.classifiers.mreg import ManifoldRegularization as ManifoldRegularization
    from manifold_oos.classifiers.nn import NearestNeighbor as NearestNeighbor
    from manifold_oos.classifiers.svm import SVM as SVM

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Classifier": "base",
        "GaussianFields": "gaussian_fields",
        "ManifoldRegularization": "mreg",
        "NearestNeighbor": "nn",
        "SVM": "svm",
    },
)
