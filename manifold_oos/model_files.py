"""Fitted models in a file: arrays and JSON in one zip, no pickle, so that reading one cannot run anything."""

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.svm import SVC

from manifold_oos import __version__
from manifold_oos.atomic import atomic
from manifold_oos.errors import DataError
from manifold_oos.registry import KINDS, available

#: Raised when a file of an older format can no longer be read by the same code.
FORMAT = 1
#: What a fitted stage knows of its training and needs for no new point.
TRAINING_ONLY = frozenset(
    ["steps_", "new_embedding_", "labels_", "confidence_", "training_embedding_", "embedding_model_"]
)
#: The same for one method only: other methods have something else of that name.
TRAINING_ONLY_OF = {"rbf": {"_values", "_codes"}, "sosi": {"_values", "_codes"}}
#: The sparse matrices that methods keep, and their parts.
SPARSE = {cls.__name__: cls for cls in (csr_array, csc_array, csr_matrix, csc_matrix)}
SPARSE_PARTS = ("data", "indices", "indptr")


def write_model(path: Path, state: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write values, arrays and fitted methods to a file, as a whole or not at all.

    Parameters
    ----------
    path : Path
        The file.
    state : mapping
        Numbers, texts, arrays, lists, mappings and methods of the project, nested.
    about : mapping
        Plain JSON that goes with it.
    """
    writer = _Writer()
    content = {"format": FORMAT, "manifold_oos": __version__, "about": about, "state": writer.encode(state)}
    with atomic(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model.json", json.dumps(content))
        for i, array in enumerate(writer.arrays):
            with archive.open(f"{i}.npy", "w", force_zip64=True) as entry:
                npy.write_array(entry, array, allow_pickle=False)  # the order in memory too, for equal bits


def read_model(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what :func:`write_model` wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    state, about : dict
        The same values; what is no such file, is damaged or newer is a :class:`DataError` of one line.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file of a model")
    try:
        with zipfile.ZipFile(path) as archive:
            content = json.loads(_member(archive, "model.json"))
            version = content["format"]
            if version > FORMAT:
                raise DataError(
                    f"{path}: a model of format {version}, by manifold_oos {content['manifold_oos']}; this is"
                    f" {__version__}, which reads up to {FORMAT}: update it"
                )
            state = _Reader(archive).decode(content["state"])
            return state, content["about"]
    except DataError:
        raise
    except Exception as error:  # a file from outside: NumPy and JSON raise nearly anything on damage
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise DataError(f"{path}: not a model, or damaged ({reason})") from error


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of a model, which is as large as it is in the file: nothing is packed."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"{name} is packed")
    return archive.read(info)


def _plain_array(content: bytes) -> NDArray:
    """An array of the size that its header states: NumPy takes the memory before it looks."""
    stream = io.BytesIO(content)
    header = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = header(stream)
    if dtype.hasobject or stream.tell() + math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"{len(content)} bytes are no array of shape {shape}")
    stream.seek(0)
    return npy.read_array(stream, allow_pickle=False)


class _Writer:
    """Turns values into JSON and a list of arrays, each once."""

    def __init__(self) -> None:
        self.arrays: list[NDArray] = []
        self._index: dict[int, int] = {}

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str) or type(value) in (int, float):
            return value
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value)
        if isinstance(value, list | tuple):
            return {type(value).__name__: [self.encode(item) for item in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if type(value).__name__ in SPARSE:
            parts = [self.encode(getattr(value, part)) for part in SPARSE_PARTS]
            return {"sparse": type(value).__name__, "parts": parts, "shape": list(value.shape)}
        if isinstance(value, BaseEstimator):
            return self._estimator(value)
        raise DataError(f"a {type(value).__name__} cannot be saved: only numbers, texts, arrays and methods can")

    def _array(self, value: Any) -> dict[str, Any]:
        array = np.asarray(value)
        if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.flat):
            return {"strings": array.ravel().tolist(), "shape": list(array.shape)}
        if array.dtype.kind not in "biufUS":
            raise DataError(f"an array of {array.dtype} cannot be saved: only numbers and texts can")
        if isinstance(value, np.generic):
            return {"scalar": value.item(), "dtype": array.dtype.str}
        if id(value) not in self._index:
            self._index[id(value)] = len(self.arrays)
            self.arrays.append(value)  # which keeps its id its own
        return {"array": self._index[id(value)]}

    def _estimator(self, value: Any) -> dict[str, Any]:
        cls = type(value)
        if cls in (NearestNeighbors, KNeighborsClassifier):  # a tree is built anew from its points, the same
            labels = value.classes_[value._y] if cls is KNeighborsClassifier else None
            return {
                "neighbors": cls.__name__,
                "parameters": self.encode(value.get_params()),
                "X": self.encode(value._fit_X),
                "y": self.encode(labels),
            }
        if cls is SVC:
            return {"svc": self.encode(vars(value))}
        for kind in KINDS.values():
            name = vars(cls).get("name", "")
            if available(kind).get(name) is cls:
                left_out = TRAINING_ONLY | TRAINING_ONLY_OF.get(name, set())
                state = {key: item for key, item in vars(value).items() if key not in left_out}
                return {"method": [kind, name], "state": self.encode(state)}
        raise DataError(f"{cls.__name__} cannot be saved: it is none of the project's methods; pickle the model")


class _Reader:
    """Turns JSON and arrays back into values."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self._arrays: dict[int, NDArray] = {}

    def decode(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "array" in value:
            return self._array(int(value["array"]))
        if "scalar" in value:
            return np.dtype(value["dtype"]).type(value["scalar"])
        if "strings" in value:
            return np.array(value["strings"], dtype=object).reshape(value["shape"])
        if "list" in value:
            return [self.decode(item) for item in value["list"]]
        if "tuple" in value:
            return tuple(self.decode(item) for item in value["tuple"])
        if "dict" in value:
            return {self.decode(key): self.decode(item) for key, item in value["dict"]}
        if "sparse" in value:
            parts = tuple(map(self.decode, value["parts"]))
            return SPARSE[value["sparse"]](parts, shape=tuple(value["shape"]))
        return self._estimator(value)

    def _array(self, i: int) -> NDArray:
        if i not in self._arrays:
            self._arrays[i] = _plain_array(_member(self.archive, f"{i}.npy"))
        return self._arrays[i]

    def _estimator(self, value: dict[str, Any]) -> Any:
        if "neighbors" in value:
            classes = {"NearestNeighbors": NearestNeighbors, "KNeighborsClassifier": KNeighborsClassifier}
            parameters = self.decode(value["parameters"])
            return classes[value["neighbors"]](**parameters).fit(self.decode(value["X"]), self.decode(value["y"]))
        if "svc" in value:
            return _restored(SVC, self.decode(value["svc"]))
        kind, name = value["method"]
        if kind not in KINDS.values():
            raise ValueError(f"no methods are named {kind}")
        return _restored(available(kind)[name], self.decode(value["state"]))


def _restored(cls: type, state: dict[str, Any]) -> Any:
    """An instance with a state, made without its constructor."""
    instance: Any = object.__new__(cls)
    vars(instance).update(state)
    return instance
