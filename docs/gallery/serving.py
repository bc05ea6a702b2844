"""Serving: save a fitted model, load it elsewhere, place points as they arrive, and see when they change."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from manifold_oos import OutOfSample, load

X, y = load_digits(return_X_y=True)
learned = np.isin(y, range(8))
known = np.flatnonzero(learned)[:800]
with TemporaryDirectory() as folder:
    file = Path(folder) / "digits.model"
    OutOfSample({"name": "suplap", "n_components": 7}).fit(X[known], y[known]).save(file)  # arrays and JSON
    print(f"{file.stat().st_size / 1e6:.1f} MB")
    model = load(file)

usual = np.setdiff1d(np.flatnonzero(learned), known)[:150]
strange = np.flatnonzero(~learned)[:150]  # eights and nines, which nobody showed it
milliseconds, novelty = [], []
for i in [*usual, *strange]:
    start = time.perf_counter()
    model.transform(X[i : i + 1])
    milliseconds.append(1000 * (time.perf_counter() - start))
    novelty.append(model.novelty(X[i : i + 1])[0])
share = np.convolve(np.array(novelty) > 99, np.ones(50) / 50, mode="valid")
print(f"one point: {np.median(milliseconds):.2f} ms")
print(f"novel: {share[0]:.0%} of the first 50 points, {share[-1]:.0%} of the last")

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(np.arange(50, len(novelty) + 1), 100 * share)
ax.axvline(len(usual), color="gray", linestyle="--")
ax.set(
    xlabel="points so far", ylabel="novel of the last 50 (%)", title="New kinds of points begin at the dashed line"
)
figure.savefig("serving.png", dpi=110)
