"""Arrays and thumbnails as text in a page: small, each thing once, and never more than the page may weigh."""

import base64
import hashlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from manifold_oos.arrays import Array
from manifold_oos.datasets.base import Dataset

#: Longer side of a thumbnail in pixels, and how many bytes of pixels a sheet of them may have.
SIDE = 32
SHEET_BYTES = 2 * 2**20
#: Levels of a quantised coordinate; the last stands for a missing one.
LEVELS = 65534
MISSING = 65535


class Blocks:
    """Arrays by digest, base64; the same array is stored once however many views show it.

    Attributes
    ----------
    found : dict
        What goes into the page.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.found: dict[str, dict[str, Any]] = {}

    @property
    def full(self) -> bool:
        """Whether the limit is passed."""
        return self.size >= self.limit

    def reserve(self, text: str) -> None:
        """Count text that is stored elsewhere in the page, such as a sheet of thumbnails."""
        self.size += len(text)

    def put(self, array: NDArray) -> str:
        """Store an array."""
        array = np.asarray(array)
        block: dict[str, Any] = {"shape": list(array.shape)}
        if array.dtype.kind == "f":
            codes, block["low"], block["high"] = quantize(array)
        else:
            block["wide"] = array.size > 0 and int(array.max()) > LEVELS
            codes = array.astype("<u4" if block["wide"] else "<u2")
        raw = np.ascontiguousarray(codes).tobytes()
        name = hashlib.sha256(raw + repr(block).encode()).hexdigest()[:12]
        if name not in self.found:
            block["data"] = base64.b64encode(raw).decode()
            self.found[name] = block
            self.size += len(block["data"])
        return name


def quantize(array: Array) -> tuple[NDArray[np.uint16], list[float], list[float]]:
    """Sixteen bits per value, evenly between the least and the greatest of each column (the last axis).

    Examples
    --------
    >>> quantize(np.array([[0.0, 5.0], [1.0, np.nan]]))[0].tolist()
    [[0, 0], [65534, 65535]]
    """
    columns = np.asarray(array, dtype=float)
    if columns.ndim == 1:
        codes, low, high = quantize(columns[:, None])
        return codes[:, 0], low, high
    finite = np.isfinite(columns)
    axes = tuple(range(columns.ndim - 1))
    low = np.where(finite, columns, np.inf).min(axis=axes, initial=np.inf)
    high = np.where(finite, columns, -np.inf).max(axis=axes, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    span = np.where(high > low, high - low, 1.0)
    scaled = np.round((np.where(finite, columns, low) - low) / span * LEVELS)
    codes = np.where(finite, scaled, MISSING).astype("<u2")
    return codes, low.tolist(), high.tolist()


def sprite(data: Dataset, samples: Sequence[int]) -> dict[str, Any] | None:
    """Thumbnails of samples on one sheet."""
    if data.image_shape is None or not len(samples):
        return None
    height, width = data.image_shape[:2]
    scale = min(1.0, SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    room = max(1, SHEET_BYTES // (size[0] * size[1]))
    if len(samples) > room:
        samples = [samples[i] for i in np.linspace(0, len(samples) - 1, room).round().astype(int)]
    columns = int(np.ceil(np.sqrt(len(samples))))
    rows = -(-len(samples) // columns)
    mode = "RGB" if len(data.image_shape) == 3 else "L"
    sheet = Image.new(mode, (columns * size[0], rows * size[1]))
    for place, index in enumerate(samples):
        image = Image.fromarray(_pixels(data.X[index].reshape(data.image_shape)))
        if scale < 1:
            image = image.resize(size, Image.Resampling.LANCZOS)
        sheet.paste(image, (place % columns * size[0], place // columns * size[1]))
    if mode == "RGB":
        sheet = sheet.quantize(128)
    stream = io.BytesIO()
    sheet.save(stream, format="PNG", optimize=True)
    uri = "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()
    return {
        "uri": uri,
        "columns": columns,
        "width": size[0],
        "height": size[1],
        "samples": [int(i) for i in samples],
    }


def _pixels(image: Array) -> NDArray[np.uint8]:
    """Grey levels or colours; rows that were normalised are spread over the whole range again."""
    low, high = min(0.0, float(image.min())), float(image.max())
    span = high - low if high > low else 1.0
    if low == 0.0 and 0.5 <= high <= 1.0:
        span = 1.0
    return (np.clip((image - low) / span, 0, 1) * 255 + 0.5).astype(np.uint8)
