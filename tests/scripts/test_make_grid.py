"""The grid of all pairs is the one that the registry gives."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_arms_of_the_grid_are_current():
    script = runpy.run_path(str(ROOT / "scripts" / "make_grid.py"))
    assert script["PATH"].read_text(encoding="utf-8") == script["arms"](), "run scripts/make_grid.py"
