"""What placing new points keeps, measured for every extender and for the maps of embeddings: a Markdown table.

Usage: python benchmarks/contracts_table.py [--write FILE]
Each number is a mean distance over the spread of the known points on the sample of the contracts; ✓ is below 1e-6.
A dash: the question does not arise, or the method refuses.
"""

import argparse
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from manifold_oos.atomic import write_text
from manifold_oos.contracts import partner, sample
from manifold_oos.placement import shift
from manifold_oos.registry import absent, available, import_class

Array = NDArray[np.floating]
KEPT = 1e-6
COLUMNS = {
    "alone": "a point placed alone lands where it lands among others",
    "order": "the order of the new points does not matter",
    "known": "known points that come again get their own coordinates",
    "again": "the same call gives the same",
    "pickled": "a pickled copy gives the same",
}
SCIKIT_LEARN = ("sklearn.manifold:Isomap", "sklearn.manifold:LocallyLinearEmbedding")


class Map:
    """A way of placing points: ``place`` gives coordinates of new points, ``known`` has those of the known ones."""

    def __init__(self, method: Any, extender: bool) -> None:
        self.X, self.y, self.X_new, _ = sample()
        self.extender = extender
        self.embedding = partner(method).fit(self.X, self.y) if extender else clone(method).fit(self.X, self.y)
        self.known: Array = self.embedding.embedding_
        self.method = method
        self.fitted = self._fit(self.X_new)

    def _fit(self, X_new: Array) -> Any:
        if not self.extender:
            return self.embedding
        new = X_new if self.method.transductive else None
        return clone(self.method).fit(self.X, self.known, self.y, X_new=new, embedding=self.embedding)

    def place(self, X_new: Array) -> Array:
        """As the engine does: a transductive method is fitted with the points that it shall place."""
        fitted = self._fit(X_new) if getattr(self.method, "transductive", False) else self.fitted
        coordinates: Array = fitted.transform(X_new)
        return coordinates


def measure(at: Map) -> dict[str, float]:
    """The numbers of one row; NaN where the question does not arise."""
    together = at.place(at.X_new)
    order = np.random.default_rng(1).permutation(len(together))
    half = slice(None, None, 2)  # UMAP recognises its whole training set and does not place it
    moves = hasattr(at.fitted, "training_embedding_")  # it embeds the known points anew with every call

    def compared(place: Callable[[], Array], expected: Array) -> float:
        try:
            return shift(place(), expected, at.known)
        except ValueError:
            return float("nan")

    return {
        "alone": np.nan if moves else compared(lambda: np.vstack([at.place(x[None]) for x in at.X_new]), together),
        "order": compared(lambda: at.place(at.X_new[order]), together[order]),
        "known": np.nan if moves else compared(lambda: at.fitted.transform(at.X[half]), at.known[half]),
        "again": compared(lambda: at.place(at.X_new), together),
        "pickled": compared(
            lambda: pickle.loads(pickle.dumps(at.fitted)).transform(at.X_new), at.fitted.transform(at.X_new)
        ),
    }


def methods() -> dict[str, tuple[Any, bool]]:
    """Every extender, every joint embedding and the maps of other libraries that are installed."""
    found = {f"extender `{name}`": (cls(), True) for name, cls in available("extenders").items()}
    for name, cls in available("embeddings").items():
        if hasattr(cls, "transform") and not absent(cls):
            found[f"own map of `{name}`"] = cls(n_components=2), False
    for path in SCIKIT_LEARN:
        found[f"own map of `{path}`"] = import_class(path)(n_components=2), False
    return found


def cell(value: float) -> str:
    return "–" if np.isnan(value) else "✓" if value < KEPT else f"{value:.2g}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="write the table to a file")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---|" + "---|" * len(COLUMNS)]
    for name, (method, extender) in methods().items():
        values = measure(Map(method, extender))
        lines.append(f"| {name} | " + " | ".join(cell(values[column]) for column in COLUMNS) + " |")
    text = "\n".join([*(f"- **{name}**: {words}" for name, words in COLUMNS.items()), "", *lines]) + "\n"
    if options.write:
        write_text(options.write, text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
