"""A model in a file gives the answers of the model in memory, to the last bit, and a bad file is one line."""

import json
import zipfile

import numpy as np
import pytest

from manifold_oos import OutOfSample, load
from manifold_oos.contracts import sample
from manifold_oos.embeddings.base import JointEmbedding
from manifold_oos.errors import DataError
from manifold_oos.extenders.propagation import PropagationExtender
from manifold_oos.registry import available

EMBEDDINGS = ("suplap", "laplacian_eigenmaps", "isomap")
PAIRS = [
    (embedding, name)
    for name, cls in available("extenders").items()
    for embedding in EMBEDDINGS
    if cls.supports(available("embeddings")[embedding]) and not issubclass(cls, PropagationExtender)
]
JOINT = [name for name, cls in available("embeddings").items() if issubclass(cls, JointEmbedding)]


def assert_same(model, path):
    _, _, X_new, _ = sample()
    model.save(path)
    loaded = load(path)
    for answer in ("transform", "predict", "predict_proba", "novelty"):
        for points in (X_new, X_new[:1], X_new.astype(np.float32)):
            expected = getattr(model, answer)(points)
            actual = getattr(loaded, answer)(points)
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(actual, expected, err_msg=answer)
    return loaded


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("embedding", "extender"), PAIRS)
def test_every_extender_answers_the_same_after_a_round_trip(tmp_path, embedding, extender):
    X, y, X_new, _ = sample()
    model = OutOfSample({"name": embedding, "n_components": 2}, extender).fit(X, y, X_new=X_new[:8])
    loaded = assert_same(model, tmp_path / "model")
    assert loaded.get_params()["extender"] == extender


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("embedding", JOINT)
def test_joint_embeddings_answer_the_same(tmp_path, embedding):
    X, y, _, _ = sample()
    assert_same(OutOfSample({"name": embedding, "n_components": 2}, None).fit(X, y), tmp_path / "model")


def test_other_classifiers_text_labels_and_given_coordinates(tmp_path):
    X, y, X_new, _ = sample()
    names = np.array(["ash", "beech", "cedar"], dtype=object)[y]
    for classifier in ("svm", {"name": "nn", "n_neighbors": 3}):
        assert_same(OutOfSample("suplap", classifier=classifier).fit(X, names), tmp_path / "model")
    given = OutOfSample(X[:, :2] ** 2, "lle").fit(X, y)
    assert_same(given, tmp_path / "given")
    plain = OutOfSample(X[:, :2] ** 2, "lle").fit(X)
    plain.save(tmp_path / "plain", about={"made": "by hand"})
    loaded = load(tmp_path / "plain")
    np.testing.assert_array_equal(loaded.transform(X_new), plain.transform(X_new))
    assert loaded.about_ == {"made": "by hand"}
    with pytest.raises(ValueError, match="without labels"):
        loaded.predict(X_new)


def test_the_file_is_small_and_has_no_pickle(tmp_path):
    X, y, X_new, _ = sample()
    model = OutOfSample({"name": "suplap", "n_components": 2}, "sosi").fit(X, y, X_new=X_new)
    model.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert {name.rsplit(".", 1)[1] for name in archive.namelist()} == {"json", "npy"}
        text = archive.read("model.json").decode()
    assert "steps_" not in text and "new_embedding_" not in text
    assert (tmp_path / "model").stat().st_size < 6 * X.nbytes + 30_000


def rewritten(path, **changes):
    """The same file with other contents of model.json."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["model.json"] = json.dumps(json.loads(parts["model.json"]) | changes).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_damaged_newer_and_foreign_files_are_one_line(tmp_path):
    X, y, _, _ = sample()
    path = tmp_path / "model"

    def message():
        with pytest.raises(DataError) as caught:
            load(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no such file" in message()
    model = OutOfSample({"name": "suplap", "n_components": 2}).fit(X, y)
    model.save(path)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:length])
        assert "damaged" in message()
    middle = bytearray(whole)
    middle[whole.index(b"NUMPY") + 300] ^= 255
    path.write_bytes(middle)
    assert "damaged" in message()
    path.write_bytes(whole)
    rewritten(path, format=2, manifold_oos="9.0")
    assert "by manifold_oos 9.0" in message() and "update it" in message()
    path.write_bytes(whole)
    rewritten(path, state={"method": ["extenders", "os:system"], "state": {}})
    assert "damaged" in message()
    np.savez(tmp_path / "arrays.npz", X=X)
    path.write_bytes((tmp_path / "arrays.npz").read_bytes())
    assert "not a model" in message()


HOSTILE = {
    "a bomb": ({"model.json": b" " * (1 << 26) + b"{}"}, zipfile.ZIP_DEFLATED, "model.json is packed"),
    "nested lists": ({"model.json": b"[" * 100_000}, zipfile.ZIP_STORED, "recursion"),
    "an array that claims 8 TB": (
        {"0.npy": b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"},
        zipfile.ZIP_STORED,
        "no array of shape",
    ),
    "pickled objects": (
        {"0.npy": b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"}, zipfile.ZIP_STORED, "no array of"
    ),
    "a header of code": ({"0.npy": b"__import__('os').system('true')"}, zipfile.ZIP_STORED, "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_before_memory_is_taken(tmp_path, case):
    parts, packing, message = HOSTILE[case]
    with zipfile.ZipFile(tmp_path / "model", "w", packing) as archive:
        if "model.json" not in parts:
            archive.writestr("model.json", json.dumps({"format": 1, "about": {}, "state": {"array": 0}}))
        for name, content in parts.items():
            header = b"\x93NUMPY\x01\x00\x76\x00" + content.ljust(118)
            archive.writestr(name, content if name == "model.json" else header)
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path / "model")
    assert "\n" not in str(caught.value) and "not a model, or damaged" in str(caught.value)


def test_damaged_files_by_the_hundred_are_read_the_same_or_refused(tmp_path):
    X, y, X_new, _ = sample()
    model = OutOfSample({"name": "suplap", "n_components": 2}, "lle").fit(X, y)
    path = tmp_path / "model"
    model.save(path)
    whole, answers = path.read_bytes(), model.transform(X_new)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), rng.integers(1, 5)):
            data[at : at + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(1, 9)))
        path.write_bytes(data)
        try:
            loaded = load(path)
        except DataError as error:
            refused += 1
            assert "\n" not in str(error)
        else:
            np.testing.assert_array_equal(loaded.transform(X_new), answers)
    assert refused > 100


def test_what_cannot_be_saved_says_so(tmp_path):
    from sklearn.linear_model import LogisticRegression

    X, y, X_new, _ = sample()
    with pytest.raises(ValueError, match="answers for the points of fit only"):
        OutOfSample({"name": "ltsa", "n_components": 2}, "gom").fit(X, y, X_new=X_new).save(tmp_path / "m")
    with pytest.raises(DataError, match="LogisticRegression cannot be saved"):
        OutOfSample("suplap", classifier=LogisticRegression()).fit(X, y).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
