"""Decodes untrusted image files and resizes or greys stacks of images."""

import io
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from manifold_oos.datasets import limits
from manifold_oos.errors import DataError

RESAMPLE = {
    "lanczos": Image.Resampling.LANCZOS,
    "box": Image.Resampling.BOX,
    "bicubic": Image.Resampling.BICUBIC,
    "nearest": Image.Resampling.NEAREST,
}
FORMATS = ("PNG", "JPEG", "GIF", "PPM", "BMP", "TIFF")
DEEP = 65535.0
"""White in 16 bits."""


def decode(data: bytes, where: str, *, deep: bool = False) -> NDArray:
    """Decode one image, recognised by content, not by name.

    Parameters
    ----------
    data : bytes
        The file's content: PNG, JPEG, GIF, PGM/PPM, BMP or TIFF.
    where : str
        File and member, for messages.
    deep : bool, default=False
        Whether grey images of more than 8 bits are read, too.

    Returns
    -------
    ndarray of shape (h, w) or (h, w, 3), uint8, or float64 in 0..1 where it is deep
        Grey where the file is grey (a palette of greys included), RGB otherwise. Transparency is dropped.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                if image.width * image.height > limits.PIXELS:
                    raise DataError(f"{where}: {image.width}×{image.height} is more than {limits.PIXELS} pixels")
                if image.mode in ("L", "1"):
                    return np.asarray(image.convert("L"))
                if image.mode.startswith(("I", "F")):
                    return _deep(image, where) if deep else _shallow(image, where)
                pixels = np.asarray(image.convert("RGB"))
                if image.mode in ("P", "LA", "PA") and (pixels == pixels[..., :1]).all():
                    return np.ascontiguousarray(pixels[..., 0])
                return pixels
    except DataError:
        raise
    except UnidentifiedImageError as error:
        raise DataError(f"{where}: not an image of a known format") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(f"{where}: more pixels than a data set can have ({error})") from error
    except Exception as error:  # Pillow's decoders raise nearly anything on damaged bytes
        reason = (str(error) or "damaged").splitlines()[0]
        raise DataError(f"{where}: not a readable image ({reason})") from error


def _shallow(image: Image.Image, where: str) -> NDArray[np.uint8]:
    pixels = np.asarray(image)
    if pixels.max() > 255 or pixels.min() < 0:
        raise DataError(f"{where}: more than 8 bits per pixel; convert it to 8-bit grey")
    return pixels.astype(np.uint8)


def _deep(image: Image.Image, where: str) -> NDArray[np.float64]:
    """Grey in 0..1 of a file with 16 bits, or with floats that are in 0..1 already."""
    pixels = np.asarray(image).astype(np.float64) / (1.0 if image.mode == "F" else DEEP)
    if not (pixels.min() >= 0 and pixels.max() <= 1):
        low, high = np.asarray(image).min(), np.asarray(image).max()
        raise DataError(
            f"{where}: pixels from {low} to {high} are neither 8 nor 16 bits; convert it to 16-bit grey"
        )
    return pixels


def stack(pictures: Sequence[NDArray], names: Sequence[str], place: object) -> NDArray:
    """All pictures in one array, in colour or in floats if one is."""
    (height, width), coloured = pictures[0].shape[:2], any(picture.ndim == 3 for picture in pictures)
    deep = any(picture.dtype != np.uint8 for picture in pictures)
    shape = (len(pictures), height, width, *((3,) if coloured else ()))
    values = np.empty(shape, dtype=np.float64 if deep else np.uint8)
    for i, picture in enumerate(pictures):
        if picture.shape[:2] != (height, width):
            size = f"{picture.shape[1]}×{picture.shape[0]}"
            raise DataError(f"{place}: {names[i]}: {size} pixels, but {names[0]} has {width}×{height}")
        picture = picture / 255 if deep and picture.dtype == np.uint8 else picture
        values[i] = picture[..., None] if coloured and picture.ndim == 2 else picture
    return values


def to_gray(values: NDArray) -> NDArray:
    """Luminance of a stack of images in its dtype (ITU-R 601: 0.299 R + 0.587 G + 0.114 B, as Pillow's mode L)."""
    if values.ndim == 3:
        return values
    if values.dtype == np.uint8:
        return np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in values])
    return np.asarray(values @ np.array([0.299, 0.587, 0.114]))


def resize(values: NDArray, size: tuple[int, int], resample: str = "lanczos") -> NDArray:
    """Resize a stack of images, uint8 or floats in 0..1, to (width, height).

    Filters are Pillow's, antialiased when shrinking except ``nearest``; overshoots are clipped.
    """
    if (values.shape[2], values.shape[1]) == tuple(size):
        return values
    method = RESAMPLE[resample]
    if values.dtype == np.uint8:
        return np.stack([np.asarray(Image.fromarray(image).resize(size, method)) for image in values])
    if values.ndim == 4:
        return np.stack([resize(values[..., channel], size, resample) for channel in range(3)], axis=3)
    small = [np.asarray(Image.fromarray(image.astype(np.float32)).resize(size, method)) for image in values]
    return np.clip(np.stack(small).astype(np.float64), 0.0, 1.0)
