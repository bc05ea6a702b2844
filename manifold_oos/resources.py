"""Finds the files that ship with the project: beside the package in a checkout, inside it in a wheel."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parent


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
