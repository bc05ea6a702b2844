"""A folder with the fake methods in it, importable here and in worker processes."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml


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
        from manifold_oos.experiment.loading import load_config

        return load_config(self.write(text, name).relative_to(self.folder), overrides)

    def run(self, text, *overrides, out="results", **options):
        from manifold_oos.experiment.runner import run_experiment

        return run_experiment(self.load(text, *overrides), out, **options)

    def rows(self, summary, out="results"):
        from manifold_oos.experiment.store import Store

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


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Bench:
    shutil.copy(Path(__file__).with_name("fake_methods.py"), tmp_path / "fake_methods.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("MOOS_FITS", str(tmp_path / "fits.jsonl"))
    sys.modules.pop("fake_methods", None)
    from manifold_oos.experiment import sources, trial

    for cached in (sources.source_digest, sources._file, sources._tree, sources._code):
        cached.cache_clear()
    trial._datasets.items.clear()
    trial._splits.items.clear()
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
