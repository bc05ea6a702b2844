"""Shared fixtures: where the real data are, and a clean place for caches and results."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real data sets; without it the test is skipped, or fails when MOOS_REQUIRE_DATA=1."""
    folder = os.environ.get("MOOS_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if os.environ.get("MOOS_REQUIRE_DATA") == "1":
        pytest.fail(f"MOOS_REQUIRE_DATA=1 but MOOS_DATA={folder!r} is not a folder")
    pytest.skip("set MOOS_DATA to the folder of the real data sets")
