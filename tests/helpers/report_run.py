"""A small real run with everything that a report shows: iterations, grids, failures, absent and hostile data."""

from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from manifold_oos.config.load import load_config
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.reporting.records import write_records
from manifold_oos.results.collect import Located

#: Strings that would run a script if any of them reached a page unescaped.
HOSTILE = "<img src=x onerror=window.hacked=1>"
HOSTILE_ARM = "RBF <b onmouseover=window.hacked=1>"
CLOSING = "title </script><script>window.hacked=1</script> & <i>more"
KNOWN, NEW = 6 * 4, 6 * 14

NN = {"classifier": "nn"}
EMBEDDING = {"name": "suplap", "n_components": 5}
CONFIG = {
    "title": CLOSING,
    "paper": "sosi",
    "datasets": [
        {
            "name": "turntable",
            "size": [16, 16],
            "classes": 6,
            "per_class": 18,
            "split": {"train_per_class": [4, 6]},
        },
        {"name": "coil20", "split": {"train_per_class": 7}},
    ],
    "split": {"repetitions": 2, "seed": 0},
    "arms": {
        "NN": NN,
        HOSTILE_ARM: NN
        | {"embedding": EMBEDDING, "extender": {"name": "rbf", "sigma": {"grid": [{"median": 1}, {"median": 2}]}}},
        "SOSI": NN | {"embedding": EMBEDDING, "extender": {"name": "sosi", "n_iterations": 5}},
        "CP": NN
        | {"embedding": {"name": "laplacian_eigenmaps", "n_components": 2, "n_neighbors": 8}, "extender": "cp"},
        "broken": NN
        | {
            "embedding": {"name": "ltsa", "n_components": 6, "n_neighbors": 3},
            "extender": "lle",
            "datasets": ["turntable"],
        },
    },
    "published": {
        "source": "Table 1",
        "values": {"misclassification_rate": {"turntable": {"NN": {4: 90.0}, "SOSI": {4: 0.0, 6: 0.0}}}},
    },
    "claims": [
        {"source": "Fig. 7", "left": "SOSI", "op": "<", "right": HOSTILE_ARM},
        {"source": "§5", "best": "SOSI"},
    ],
    "outputs": [
        {"table": 1, "dataset": "turntable"},
        {"figure": 7, "kind": "curve", "x": "size"},
        {"figure": "iterations", "kind": "trace", "arms": "SOSI"},
    ],
}


def hostile_images(folder: Path) -> Path:
    """Images 8×8 of three classes, whose folder and file names are markup."""
    rng = np.random.default_rng(0)
    for label, level in ((HOSTILE, 40), ("a & b <i>", 120), ("</script>".replace("/", ""), 200)):
        place = folder / label
        place.mkdir(parents=True)
        for i in range(8):
            pixels = np.clip(level + rng.normal(0, 12, (8, 8)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(place / f"{i} <svg onload=window.hacked=1>.png")
    return folder


def small_run(root: Path, *, keep: bool = True) -> Located:
    """Run it; without the coordinates where they are not wanted."""
    own = {"name": "folder", "path": str(hostile_images(root / "images")), "label": f"own {HOSTILE}"}
    own["split"] = {"train_per_class": 4}
    config = CONFIG | {"datasets": [*CONFIG["datasets"], own]}
    path = root / "configs" / "small.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    experiment = load_config(path)
    out = root / "results"
    summary = run_experiment(
        experiment,
        out=out,
        workers=1,
        data_dir=root / "no data here",
        offline=True,
        skip_missing=True,
        keep_embeddings="one" if keep else None,
    )
    with Store(out) as store:
        write_records(summary.plan, store, summary.folder)
    return Located(experiment, out, summary.folder)
