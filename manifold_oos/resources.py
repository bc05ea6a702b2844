"""Finds the cache folder, and what ships with the project: beside the package in a checkout, in it in a wheel."""

import os
import re
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).parent


def cache_dir() -> Path:
    """The user's cache folder: ``MOOS_CACHE``, or the system's place for caches."""
    return Path(os.environ.get("MOOS_CACHE") or platformdirs.user_cache_dir("manifold_oos"))


def shipped(folder: str) -> Path:
    """A folder of the top level, such as ``configs`` or ``datasets``.

    Examples
    --------
    >>> shipped("configs").joinpath("quickstart.yaml").is_file()
    True
    """
    inside = PACKAGE / f"_{folder}"
    return inside if inside.is_dir() else PACKAGE.parent / folder


def shipped_configs() -> dict[str, str]:
    """Title of every shipped config by its path below ``configs``.

    Examples
    --------
    >>> "quickstart.yaml" in shipped_configs()
    True
    """
    root = shipped("configs")
    titles = {}
    for path in sorted(root.rglob("*.yaml")):
        if not path.name.startswith("_"):
            title = re.search(r"^title:\s*(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            titles[path.relative_to(root).as_posix()] = title[1].strip("\"' ") if title else ""
    return titles
