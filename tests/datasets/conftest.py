"""Tiny data sets in the official layouts, which the tests make; and a cache of their own."""

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """No real data, no network, an empty cache, an empty current folder."""
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MOOS_OFFLINE", "1")
    monkeypatch.delenv("MOOS_DATA", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


class Maker:
    """Writes pictures and archives."""

    def pixels(self, number, width=6, height=8, channels=None):
        """Different for every number."""
        shape = (height, width) if channels is None else (height, width, channels)
        return np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8)

    def encode(self, pixels, kind):
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, format=kind)
        return stream.getvalue()

    def picture(self, number, kind="PNG", **shape):
        return self.encode(self.pixels(number, **shape), kind)

    def zip(self, path: Path, members):
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    def tgz(self, path: Path, members):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w:gz") as archive:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return path

    def folder(self, path: Path, members):
        for name, content in members.items():
            file = path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return path


@pytest.fixture
def make():
    return Maker()
