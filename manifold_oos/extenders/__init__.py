"""Extenders: how new points join an embedding. One file per method; see ``moos list extenders``."""

from typing import TYPE_CHECKING

from manifold_oos.lazy import attach

if TYPE_CHECKING:
    from manifold_oos.extenders.base import Extender as Extender
    from manifold_oos.extenders.cp import CoordinatePropagation as CoordinatePropagation
    from manifold_oos.extenders.geometric_harmonics import GeometricHarmonics as GeometricHarmonics
    from manifold_oos.extenders.gom import GlobalOptimization as GlobalOptimization
    from manifold_oos.extenders.kernel_map import KernelMap as KernelMap
    from manifold_oos.extenders.krr import KernelRidgeExtender as KernelRidgeExtender
    from manifold_oos.extenders.landmark import LandmarkExtender as LandmarkExtender
    from manifold_oos.extenders.laplacian_pyramids import LaplacianPyramids as LaplacianPyramids
    from manifold_oos.extenders.linear import LinearExtender as LinearExtender
    from manifold_oos.extenders.lle import LLEExtender as LLEExtender
    from manifold_oos.extenders.lvm import LVMExtender as LVMExtender
    from manifold_oos.extenders.mlp import MLPExtender as MLPExtender
    from manifold_oos.extenders.normalized_rbf import NormalizedRBF as NormalizedRBF
    from manifold_oos.extenders.nystrom import Nystrom as Nystrom
    from manifold_oos.extenders.progressive import Progressive as Progressive
    from manifold_oos.extenders.random_features import RandomFeatures as RandomFeatures
    from manifold_oos.extenders.rbf import RBFExtender as RBFExtender
    from manifold_oos.extenders.sosi import SOSI as SOSI
    from manifold_oos.extenders.sparse import SparseExtender as SparseExtender

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "CoordinatePropagation": "cp",
        "Extender": "base",
        "GeometricHarmonics": "geometric_harmonics",
        "GlobalOptimization": "gom",
        "KernelMap": "kernel_map",
        "KernelRidgeExtender": "krr",
        "LLEExtender": "lle",
        "LVMExtender": "lvm",
        "LandmarkExtender": "landmark",
        "LaplacianPyramids": "laplacian_pyramids",
        "LinearExtender": "linear",
        "MLPExtender": "mlp",
        "NormalizedRBF": "normalized_rbf",
        "Nystrom": "nystrom",
        "Progressive": "progressive",
        "RBFExtender": "rbf",
        "RandomFeatures": "random_features",
        "SOSI": "sosi",
        "SparseExtender": "sparse",
    },
)
