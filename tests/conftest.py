"""Shared fixtures: where the real data are, small experiments on fake methods, rows as a store gives them."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from reporting_fakes import fake_rows, make_experiment

from manifold_oos.config.model import Experiment
from manifold_oos.datasets.toy import swiss_roll

HELPERS = Path(__file__).parent / "helpers"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the real data sets; without it the test is skipped, or fails when MOOS_REQUIRE_DATA=1."""
    folder = os.environ.get("MOOS_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    if os.environ.get("MOOS_REQUIRE_DATA") == "1":
        pytest.fail(f"MOOS_REQUIRE_DATA=1 but MOOS_DATA={folder!r} is not a folder")
    pytest.skip("set MOOS_DATA to the folder of the real data sets")


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fits_file = folder / "fits.jsonl"

    def write(self, text, name="mine.yaml") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False), encoding="utf-8")
        return path

    def load(self, text, *overrides, name="mine.yaml"):
        from manifold_oos.config.load import load_config

        return load_config(self.write(text, name).relative_to(self.folder), overrides)

    def run(self, text, *overrides, out="results", **options):
        from manifold_oos.engine.runner import run_experiment

        return run_experiment(self.load(text, *overrides), out, **options)

    def rows(self, summary, out="results"):
        from manifold_oos.engine.store import Store

        with Store(out) as store:
            return store.rows(summary.plan)

    @property
    def fits(self):
        if not self.fits_file.exists():
            return []
        return [json.loads(line) for line in self.fits_file.read_text().splitlines()]

    def count(self, what) -> int:
        return sum(fit["what"] == what for fit in self.fits)

    def forget(self) -> None:
        self.fits_file.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def roll(request):
    """A Swiss roll of as many points as the module says."""
    return swiss_roll(getattr(request.module, "ROLL_POINTS", 60), np.random.default_rng(0))[0]


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Bench:
    shutil.copy(HELPERS / "fake_methods.py", tmp_path / "fake_methods.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("MOOS_FITS", str(tmp_path / "fits.jsonl"))
    sys.modules.pop("fake_methods", None)
    from manifold_oos.engine import keys as sources
    from manifold_oos.engine import trial

    own = (sources.source_digest, sources._file, sources._tree, sources._code, sources._imports)
    for cached in (*own, trial._load, trial._split):
        cached.cache_clear()
    yield Bench(tmp_path)
    sys.modules.pop("fake_methods", None)


@pytest.fixture
def small() -> dict:
    """Two arms on one embedding and one in the ambient space, two sizes, three repetitions."""
    embedding = {"name": "fake_methods:Slice", "n_components": 3}
    return {
        "datasets": [{"name": "fake_methods:Blobs", "label": "blobs"}],
        "split": {"train_per_class": [3, 5], "repetitions": 3},
        "arms": {
            "A": {"embedding": embedding, "extender": "fake_methods:Shift", "classifier": "fake_methods:NN"},
            "B": {
                "embedding": embedding,
                "extender": {"name": "fake_methods:Shift", "amount": 1.0},
                "classifier": "fake_methods:NN",
            },
            "ambient": {"classifier": "fake_methods:NN"},
        },
    }


@pytest.fixture
def rows() -> pd.DataFrame:
    """Three arms at two sizes, four splits: A is clearly best, B and C differ by noise."""
    return fake_rows(
        {
            ("A", "digits", 5): [4.0, 5.0, 4.5, 4.5],
            ("B", "digits", 5): [10.0, 11.0, 10.5, 10.5],
            ("C", "digits", 5): [11.0, 10.0, 10.0, 11.0],
            ("A", "digits", 10): [2.0, 2.0, 2.0, 2.0],
            ("B", "digits", 10): [6.0, 7.0, 6.5, 6.5],
            ("C", "digits", 10): [7.0, 6.0, 6.0, 7.0],
        }
    )


@pytest.fixture
def experiment() -> Experiment:
    return make_experiment()
