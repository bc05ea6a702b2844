"""What GOM and CP share: known coordinates spread to new points through an alignment matrix of all points."""

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from manifold_oos.arrays import Array, Index
from manifold_oos.constraints import Interval, StrOptions
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.numerics.alignment import laplacian_alignment, lle_alignment, ltsa_alignment, spline_alignment
from manifold_oos.numerics.shared import shared

ALIGNMENTS = ("lle", "ltsa", "spline", "laplacian")


class PropagationExtender(Extender):
    """Base of extenders that know the coordinates of training points and of the new points of ``fit`` only.

    Equal points are one point, with the mean of the coordinates known for it: a new point that equals a training
    point has the training point's coordinates. A method adds ``_solve``.
    """

    transductive: ClassVar[bool] = True
    interpolates: ClassVar[bool] = True
    grids: ClassVar[Mapping[str, Any]] = {
        "alignment": ["lle", "ltsa", "spline"],
        "n_neighbors": [5, 8, 12, 16, 20],
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alignment": [StrOptions(set(ALIGNMENTS))],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    alignment: str
    n_neighbors: int

    def _fit(self, X: Array, Y: Array, y: NDArray | None, X_new: Array | None, embedding: Embedding | None) -> None:
        n = len(X)
        points, place = shared("points to align", [X, X_new], lambda: _distinct(X, X_new))
        known = np.zeros(len(points), dtype=bool)
        known[place[:n]] = True
        coordinates = np.zeros((len(points), Y.shape[1]))
        np.add.at(coordinates, place[:n], Y)
        coordinates[known] /= np.bincount(place[:n], minlength=len(points))[known, None]
        self.residual_ = 0.0
        if not known.all():
            coordinates[~known] = self._solve(points, known, coordinates[known], place[n:])
        self._coordinates = coordinates
        self._rows = {row.tobytes(): i for i, row in enumerate(points)}
        self._row_floats = X.shape[1] + Y.shape[1]
        self.new_embedding_ = coordinates[place[n:]]

    @abstractmethod
    def _solve(self, points: Array, known: NDArray[np.bool_], f: Array, new: NDArray[np.integer]) -> Array:
        """Coordinates of the points that are not known, given f of those that are.

        ``new`` says which of the points each row of X_new is.
        """

    def _alignment(self, points: Array, d: int) -> sparse.csr_array:
        """The matrix M of all points, which methods and parameters that do not touch it share."""
        matrix: sparse.csr_array = shared(
            ("alignment", self.alignment, self.n_neighbors, d), [points], lambda: self._align(points, d)
        )
        return matrix

    def _align(self, points: Array, d: int) -> sparse.csr_array:
        if self.alignment == "lle":
            return lle_alignment(points, self.n_neighbors)
        if self.alignment == "laplacian":
            return laplacian_alignment(points, self.n_neighbors)
        build = ltsa_alignment if self.alignment == "ltsa" else spline_alignment
        return build(points, self.n_neighbors, d)

    def _transform(self, X: Array) -> Array:
        found = [self._rows.get(row.tobytes(), -1) for row in np.ascontiguousarray(X) + 0.0]
        unknown = found.count(-1)
        if unknown:
            raise ValueError(
                f"{unknown} of {len(X)} points were seen by fit neither as X nor as X_new: {self.name} is"
                " transductive and has coordinates for those points only"
            )
        return self._coordinates[found]


def _distinct(X: Array, X_new: Array | None) -> tuple[Array, Index]:
    """Different points of both, and which of them each row is."""
    everything = X if X_new is None else np.vstack([X, X_new])
    points, place = np.unique(everything + 0.0, axis=0, return_inverse=True)  # + 0.0: -0.0 equals 0.0
    points = points.copy()
    points.flags.writeable = False  # what is shared of them is found without reading them each time
    return points, place
