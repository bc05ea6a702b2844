"""The handwritten digits that come with scikit-learn."""

import importlib.util
from typing import Any

from manifold_oos.datasets.base import Listing, Loader, Raw


class Digits(Loader):
    """Handwritten digits of scikit-learn, bundled: 1797 grey images 8×8 of 10 classes.

    References
    ----------
    .. [1] Alpaydin & Kaynak, Optical recognition of handwritten digits, UCI Machine Learning Repository, 1998.
    """

    name = "digits"
    listing = Listing(samples=1797, classes=10, size="8×8", licence="CC BY 4.0")
    cached = True  # so that a plan need not import scikit-learn

    def identity(self, variant: str, **own: Any) -> Any:
        """Where scikit-learn is."""
        spec = importlib.util.find_spec("sklearn")
        return spec and spec.origin

    def read(self, variant: str) -> Raw:
        """Take the images from scikit-learn.

        Parameters
        ----------
        variant : str
            The only one.

        Returns
        -------
        Raw
            In scikit-learn's order, pixels scaled from 0..16 to 0..1.
        """
        from sklearn.datasets import load_digits

        digits = load_digits()
        return Raw(
            digits.images / 16, labels=digits.target, class_names=[str(name) for name in digits.target_names]
        )
