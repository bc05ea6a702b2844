"""CMU PIE: faces under changing pose, illumination and expression."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.mat import labelled_images
from manifold_oos.datasets.sources import Source


class PIE(FileLoader):
    """CMU PIE: 68 people, grey 32×32 faces under changing light, and for the paper's subset pose and expression.

    The sparse-coding paper takes 1926 images and does not say which; the frontal pose is another set, and every
    result on it says so.

    References
    ----------
    .. [1] Sim, Baker & Bsat, The CMU pose, illumination, and expression database, PAMI, 2003.
    """

    name = "pie"
    variants = {
        "pose27": "PIE_pose27.mat: the frontal pose, 42 lights each",
        "subset1926": "the paper's 1926 images, in the same form: PIE_1926.mat with fea and gnd",
    }

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        return labelled_images(source.path, lambda number: f"person{number}")
