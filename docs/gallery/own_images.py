"""Your own images: a folder per class is known, new pictures get a place, a label and a novelty."""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from manifold_oos import OutOfSample
from manifold_oos.datasets import load

digits = load_digits(n_class=5)
with TemporaryDirectory() as folder:  # yours is there already: a folder per class
    for i, (image, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        place = Path(folder) / ("new" if i % 20 == 0 else f"known/{label}")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((image * 15).astype(np.uint8)).save(place / f"{i}.png")
    known = load("folder", path=f"{folder}/known", normalize="unit")
    new = load("folder", path=f"{folder}/new", normalize="unit", labelled=False)

negatives = normalize(new.X.max() - new.X[:3])  # something that was not learned
X_new = np.vstack([new.X, negatives])
model = OutOfSample({"name": "suplap", "n_components": 2}).fit(known.X, known.y)
places, labels, novelty = model.transform(X_new), model.predict(X_new), model.novelty(X_new)
print(f"{len(X_new)} new images, labels {np.bincount(labels).tolist()}, {int((novelty > 99).sum())} novel")

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
ax.scatter(*model.embedding_.T, c=known.y, cmap="tab10", vmax=9, s=12, alpha=0.4, linewidths=0)
for row, at, far in zip(X_new, places, novelty > 99, strict=True):
    thumbnail = OffsetImage(row.reshape(8, 8), cmap="gray_r", zoom=1.8)
    ax.add_artist(AnnotationBbox(thumbnail, at, pad=0.1, bboxprops={"edgecolor": "red" if far else "none"}))
ax.set(title="Known images (dots) and new ones; red frames are novel", xticks=[], yticks=[])
figure.savefig("own_images.png", dpi=110)
