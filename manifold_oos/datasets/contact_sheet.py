"""Draws a contact sheet: a row of samples per class, with its name."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from manifold_oos.atomic import atomic
from manifold_oos.datasets.base import Dataset
from manifold_oos.errors import DataError

TILE = 72
GAP = 4
LABEL = 130
LINE = 22


def contact_sheet(data: Dataset, path: Path, *, columns: int = 12, rows: int = 20) -> Path:
    """Write a PNG with samples of a data set of images, evenly spaced within each class, a row per class."""
    import matplotlib  # for its font; every worker looks at this module, so not at its top

    if data.image_shape is None:
        raise DataError(f"{data.name}: its samples are points, not images, so there is nothing to show")
    lines = _lines(data, columns, rows)
    height, width = data.image_shape[:2]
    tile = (max(1, round(TILE * min(1.0, width / height))), max(1, round(TILE * min(1.0, height / width))))
    across = LABEL + max(len(members) for _, members in lines) * (tile[0] + GAP) + GAP
    sheet = Image.new("RGB", (max(across, 520), 2 * LINE + len(lines) * (tile[1] + GAP) + GAP), "white")
    font = ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf", 12)
    draw = ImageDraw.Draw(sheet)
    size = f"{width}×{height}"
    title = f"{data.name} ({data.variant}): {len(data)} samples, {data.n_classes or 'no'} classes, {size}"
    draw.text((GAP, GAP), title, fill="black", font=font)
    draw.text((GAP, LINE), data.note, fill="#aa0000", font=font)
    for row, (label, members) in enumerate(lines):
        top = 2 * LINE + row * (tile[1] + GAP)
        draw.text((GAP, top + tile[1] // 2 - 8), label[:18], fill="black", font=font)
        for column, index in enumerate(members):
            sheet.paste(_tile(data.X[index], data.image_shape, tile), (LABEL + column * (tile[0] + GAP), top))
    try:
        with atomic(path) as stream:
            sheet.save(stream, format="PNG")
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    return path


def _lines(data: Dataset, columns: int, rows: int) -> list[tuple[str, list[int]]]:
    if data.y is None:
        chosen = _spread(np.arange(len(data)), columns * rows)
        return [(data.names[chosen[i]], chosen[i : i + columns]) for i in range(0, len(chosen), columns)]
    return [
        (data.class_names[label], _spread(np.flatnonzero(data.y == label), columns))
        for label in range(min(rows, data.n_classes))
    ]


def _spread(members: np.ndarray, count: int) -> list[int]:
    positions = np.linspace(0, len(members) - 1, min(count, len(members))).round().astype(int)
    return [int(i) for i in members[positions]]


def _tile(row: np.ndarray, shape: tuple[int, ...], size: tuple[int, int]) -> Image.Image:
    pixels = row.reshape(shape)
    scale = max(1.0, float(pixels.max()))
    image = Image.fromarray(np.uint8(np.clip(pixels / scale, 0, 1) * 255 + 0.5))
    shrinks = size[0] < shape[1]
    return image.resize(size, Image.Resampling.LANCZOS if shrinks else Image.Resampling.NEAREST)
