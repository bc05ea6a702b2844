"""Extended Yale B: faces under 64 positions of the light."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.sources import Source

NO_SUBJECT = 14


class YaleB(FileLoader):
    """Extended Yale B, cropped: 38 people, frontal, 59 to 64 positions of the light each, grey 168×192.

    ``azimuth`` and ``elevation`` are those of the light in degrees. The forms of the papers: SOSI
    ``classes: 12, per_class: 58``; NSSE ``per_class: 59`` (2242 images); sparse coding ``variant: extended28``
    (1774 images: the paper says 1800). Pictures under ambient light do not count.

    References
    ----------
    .. [1] Georghiades, Belhumeur & Kriegman, From few to many, PAMI, 2001.
    .. [2] Lee, Ho & Kriegman, Acquiring linear subspaces for face recognition under variable lighting, PAMI, 2005.
    """

    name = "yaleb"
    variants = {
        "cropped": "all 38 subjects, CroppedYale.zip",
        "extended28": "the 28 subjects of the extension, yaleB11 to yaleB39",
    }

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        first = 11 if variant == "extended28" else 1
        images = pictures(
            source,
            r"yaleB(?P<subject>\d+)_P00A(?P<azimuth>[+-]\d+)E(?P<elevation>[+-]\d+)\.pgm",
            keep=lambda tokens: int(tokens["subject"]) >= first,
        )
        light = {key: [float(image.tokens[key]) for image in images] for key in ("azimuth", "elevation")}
        return labelled(
            images,
            source,
            group="subject",
            class_name="yaleB{}".format,
            parameters=light,
            absent=[*range(first), NO_SUBJECT],
        )
