"""Coordinates that you have already, by t-SNE here; those of UMAP or of any other method go in the same way."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

from manifold_oos import OutOfSample

X, y = load_digits(n_class=6, return_X_y=True)
known, new = X[:500], X[500:1000]
coordinates = TSNE(random_state=0, init="pca").fit_transform(known)  # or umap.UMAP().fit_transform(known)

model = OutOfSample(coordinates, extender="normalized_rbf").fit(known, y[:500])
places = model.transform(new)
print(f"{model.score(new, y[500:1000]):.3f} of the new points have the label of their nearest known point")

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharex=True, sharey=True)
for ax, points, labels, title in (
    (axes[0], coordinates, y[:500], "500 known points, by t-SNE"),
    (axes[1], places, y[500:1000], "500 new points, placed among them"),
):
    ax.scatter(*points.T, c=labels, cmap="tab10", vmax=9, s=10, linewidths=0)
    ax.set(title=title, xticks=[], yticks=[])
figure.savefig("any_coordinates.png", dpi=110)
