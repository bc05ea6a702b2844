"""MIT-CBCL faces: ten people, rendered from 3-D models for training and photographed for testing."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.sources import Source

FOLDERS = {"all": "training-synthetic|test", "synthetic": "training-synthetic", "test": "test"}


class MITCBCL(FileLoader):
    """MIT-CBCL faces: 10 people, 324 rendered and 200 photographed grey pictures each, 200×200.

    NSSE takes all 524 of each.

    References
    ----------
    .. [1] Weyrauch, Huang, Heisele & Blanz, Component-based face recognition with 3D morphable models, 2004.
    """

    name = "mit_cbcl"
    variants = {
        "all": "rendered and photographed, 524 each",
        "synthetic": "training-synthetic: rendered under changing pose and light, 324 each",
        "test": "test: photographed, 200 each",
    }

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        images = pictures(source, rf"(?P<folder>{FOLDERS[variant]})/(?P<person>\d{{4}})(?P<rest>[^/]*)\.pgm")
        images.sort(key=lambda image: (int(image.tokens["person"]), image.tokens["folder"] == "test"))
        return labelled(images, source, group="person")
