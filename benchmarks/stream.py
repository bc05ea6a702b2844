"""A million new points from disk through a saved model of each inductive extender: python benchmarks/stream.py.

The points lie in a memory-mapped .npy (D = 20), the model knows 500 others, the coordinates go to another .npy, by
the same call as ``moos transform``: novelty and coordinates of each point. Time is wall-clock of one thread, memory
what the process itself holds beyond the start (RssAnon of Linux, looked at every 5 ms), not the pages of the files.
An extender that would take too long gets fewer points, and the time of all is extrapolated.
"""

import argparse
import re
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from threadpoolctl import threadpool_limits

from manifold_oos import OutOfSample
from manifold_oos.errors import DataError
from manifold_oos.registry import available
from manifold_oos.streaming import place_file

KNOWN, FEATURES = 500, 20
#: Seconds that an extender may take before it gets a tenth of the points.
LONG = 150


def roll(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    t, height = random.uniform(1.5 * np.pi, 4.5 * np.pi, n), random.uniform(0, 20, n)
    basis = np.random.default_rng(0).standard_normal((3, FEATURES))
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)]) @ basis
    return X + 0.05 * random.standard_normal((n, FEATURES)), (t // 3).astype(int)


class Memory:
    """The most that the process held while it was watched, beyond the start."""

    def __enter__(self) -> "Memory":
        self.start = self.most = self.now()
        self.watching = True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.watching = False
        self.thread.join()

    def watch(self) -> None:
        """Look again and again."""
        while self.watching:
            self.most = max(self.most, self.now())
            time.sleep(0.005)

    @staticmethod
    def now() -> int:
        """Bytes that the process holds."""
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"RssAnon:\s+(\d+)", status)[1])


def write_points(path: Path, rows: int) -> None:
    points = open_memmap(path, mode="w+", dtype=np.float64, shape=(rows, FEATURES))
    for start in range(0, rows, 10_000):
        points[start : start + 10_000] = roll(min(10_000, rows - start), seed=start + 1)[0]
    points.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", help="names with commas between")
    options = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    X, y = roll(KNOWN, seed=0)
    print("| extender | points | ms per point | seconds for all | memory MiB |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = {rows: folder / f"{rows}.npy" for rows in (options.rows, options.rows // 10, 2048)}
        for rows, path in parts.items():
            write_points(path, rows)
        for extender, cls in available("extenders").items():
            if cls.transductive or (options.only and extender not in options.only.split(",")):
                continue
            embedding = "isomap" if extender == "landmark" else "suplap"
            model = OutOfSample({"name": embedding, "n_components": 2}, extender).fit(X, y)
            try:
                model.save(folder / "model")
            except DataError as error:
                print(f"| {extender} | {error} | | | |", flush=True)
                continue
            place_file(folder / "model", parts[2048], folder / "first.npy")  # compiled functions, imports
            first = place_file(folder / "model", parts[2048], folder / "first.npy").seconds
            rows = options.rows if first * options.rows / 2048 < LONG else options.rows // 10
            with Memory() as memory:
                seconds = place_file(folder / "model", parts[rows], folder / "out.npy").seconds
            whole = f"{seconds * options.rows / rows:.0f}" + (" (extrapolated)" if rows < options.rows else "")
            grown = (memory.most - memory.start) / 2**20
            print(f"| {extender} | {rows:,} | {1e3 * seconds / rows:.4f} | {whole} | {grown:.0f} |", flush=True)


if __name__ == "__main__":
    main()
