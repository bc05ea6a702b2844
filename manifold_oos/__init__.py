"""Embed points that arrive after a manifold was learned: methods, data and the experiment runner ``moos``.

The estimator is :class:`OutOfSample`; methods are in ``manifold_oos.embeddings``, ``manifold_oos.extenders`` and
``manifold_oos.classifiers``, a few of them here too. :func:`load` gives back a saved
model, :func:`manifold_oos.datasets.load` a data set.
"""

from typing import TYPE_CHECKING

from manifold_oos.lazy import attach

if TYPE_CHECKING:
    from manifold_oos.embeddings.nsse import NSSE as NSSE
    from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian as SupervisedLaplacian
    from manifold_oos.extenders.normalized_rbf import NormalizedRBF as NormalizedRBF
    from manifold_oos.extenders.rbf import RBFExtender as RBFExtender
    from manifold_oos.extenders.sosi import SOSI as SOSI
    from manifold_oos.pipeline import OutOfSample as OutOfSample
    from manifold_oos.pipeline import load as load

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "NSSE": "embeddings",
        "NormalizedRBF": "extenders",
        "OutOfSample": "pipeline",
        "RBFExtender": "extenders",
        "SOSI": "extenders",
        "SupervisedLaplacian": "embeddings",
        "load": "pipeline",
    },
)
