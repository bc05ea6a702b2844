"""Embeddings: where the training points go. One file per method family; see ``moos list embeddings``."""

from typing import TYPE_CHECKING

from manifold_oos.lazy import attach

if TYPE_CHECKING:
    from manifold_oos.embeddings.base import Embedding as Embedding
    from manifold_oos.embeddings.diffusion_maps import DiffusionMaps as DiffusionMaps
    from manifold_oos.embeddings.discriminant import LDA as LDA
    from manifold_oos.embeddings.discriminant import LDE as LDE
    from manifold_oos.embeddings.discriminant import LFDA as LFDA
    from manifold_oos.embeddings.fisher import FisherEmbedding as FisherEmbedding
    from manifold_oos.embeddings.foreign import OpenTSNE as OpenTSNE
    from manifold_oos.embeddings.foreign import PaCMAPEmbedding as PaCMAPEmbedding
    from manifold_oos.embeddings.foreign import SupervisedUMAP as SupervisedUMAP
    from manifold_oos.embeddings.foreign import UMAPEmbedding as UMAPEmbedding
    from manifold_oos.embeddings.iso_krr import IsoKRR as IsoKRR
    from manifold_oos.embeddings.isomap import Isomap as Isomap
    from manifold_oos.embeddings.isomap import LandmarkIsomap as LandmarkIsomap
    from manifold_oos.embeddings.kernel_pca import KPCA as KPCA
    from manifold_oos.embeddings.laplacian_eigenmaps import LaplacianEigenmaps as LaplacianEigenmaps
    from manifold_oos.embeddings.lgrm import LGRM as LGRM
    from manifold_oos.embeddings.local_alignment import LLE as LLE
    from manifold_oos.embeddings.local_alignment import LTSA as LTSA
    from manifold_oos.embeddings.local_alignment import LocalSplineEmbedding as LocalSplineEmbedding
    from manifold_oos.embeddings.nsse import NSSE as NSSE
    from manifold_oos.embeddings.precomputed import Precomputed as Precomputed
    from manifold_oos.embeddings.projections import KLPP as KLPP
    from manifold_oos.embeddings.projections import LPP as LPP
    from manifold_oos.embeddings.projections import KernelSpectralRegression as KernelSpectralRegression
    from manifold_oos.embeddings.projections import SpectralRegression as SpectralRegression
    from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian as SupervisedLaplacian

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "DiffusionMaps": "diffusion_maps",
        "Embedding": "base",
        "FisherEmbedding": "fisher",
        "IsoKRR": "iso_krr",
        "Isomap": "isomap",
        "KLPP": "projections",
        "KPCA": "kernel_pca",
        "KernelSpectralRegression": "projections",
        "LDA": "discriminant",
        "LDE": "discriminant",
        "LFDA": "discriminant",
        "LGRM": "lgrm",
        "LLE": "local_alignment",
        "LPP": "projections",
        "LTSA": "local_alignment",
        "LandmarkIsomap": "isomap",
        "LaplacianEigenmaps": "laplacian_eigenmaps",
        "LocalSplineEmbedding": "local_alignment",
        "NSSE": "nsse",
        "OpenTSNE": "foreign",
        "PaCMAPEmbedding": "foreign",
        "Precomputed": "precomputed",
        "SpectralRegression": "projections",
        "SupervisedLaplacian": "supervised_laplacian",
        "SupervisedUMAP": "foreign",
        "UMAPEmbedding": "foreign",
    },
)
