"""SOSI takes unlabelled points in: it labels all of them, believes the surest, and goes on from there."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from manifold_oos import SOSI, OutOfSample, SupervisedLaplacian
from manifold_oos.datasets import load

data = load("turntable", classes=6, size=[16, 16])
known = np.concatenate([np.flatnonzero(data.y == label)[::18] for label in range(6)])  # four views each
new = np.setdiff1d(np.arange(len(data)), known)
X = normalize(data.X)
model = OutOfSample(SupervisedLaplacian(n_components=5), SOSI(n_iterations=9))
model.fit(X[known], data.y[known], X_new=X[new])

steps = model.extender_model_.steps_
figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained", sharex=True, sharey=True)
for ax, step in zip(axes, (steps[0], steps[len(steps) // 2], steps[-1]), strict=True):
    wrong = step.labels != data.y[new]
    ax.scatter(*step.coordinates[:, :2].T, c=data.y[new], cmap="tab10", vmax=9, s=9, linewidths=0)
    ax.scatter(*step.coordinates[wrong, :2].T, c="black", marker="x", s=14, linewidths=0.6)
    ax.scatter(*model.embedding_[:, :2].T, c=data.y[known], cmap="tab10", vmax=9, s=60, edgecolors="black")
    ax.set(title=f"iteration {step.number}: {int(step.taken.sum())} taken in", xticks=[], yticks=[])
    ax.set_xlabel(f"{100 * wrong.mean():.1f} % wrong labels")
    print(f"iteration {step.number}: {int(step.taken.sum())} taken in, {100 * wrong.mean():.1f} % wrong")
figure.savefig("sosi_taking_in.png", dpi=110)
