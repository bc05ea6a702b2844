"""ROBOTICS-CSIE faces: ninety people turning from profile to profile."""

from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.files import FileLoader, labelled, pictures
from manifold_oos.datasets.sources import Source


class RoboticsCSIE(FileLoader):
    """ROBOTICS-CSIE faces: 90 people, 37 pictures each, turning from −90 to +90 degrees by 5.

    ``angle`` is the turn in degrees. NSSE takes 40 people and does not say which: ``classes: 40`` are the first.

    References
    ----------
    .. [1] Robotics Laboratory, Department of CSIE, National Cheng Kung University, face database.
    """

    name = "robotics_csie"
    variants = {"faces": "Subject01 … Subject90, A_<id>_<angle>.Jpg"}

    def parse(self, variant: str, source: Source) -> Raw:
        """See :class:`FileLoader`."""
        images = pictures(source, r"Subject(?P<person>\d+)/A_\d+_(?P<angle>[+-]?\d+)\.jpe?g")
        images.sort(key=lambda image: (int(image.tokens["person"]), int(image.tokens["angle"])))
        angle = [float(image.tokens["angle"]) for image in images]
        return labelled(
            images,
            source,
            group="person",
            class_name="Subject{}".format,
            parameters={"angle": angle},
            sample_name=lambda image: f"Subject{image.tokens['person']}{int(image.tokens['angle']):+03d}",
        )
