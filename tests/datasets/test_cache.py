"""The cache: what it keeps, what it refuses, and that a killed writer leaves nothing that is read."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from manifold_oos.datasets import cache, load
from manifold_oos.datasets import files as files_module


@pytest.fixture(autouse=True)
def empty(alone):
    return alone


class Made:
    """Counts how often it was asked."""

    def __init__(self, value=1.0):
        self.count = 0
        self.value = value

    def __call__(self):
        self.count += 1
        return np.full((30, 40), self.value), {"note": "×", "angle": [0.1, 1e-300, float("nan")]}


def entry(suffix):
    (file,) = (cache.cache_dir() / "arrays").glob(f"*{suffix}")
    return file


def test_second_time_comes_from_disk_exactly():
    make = Made(1 / 3)
    first, facts = cache.remember({"a": 1}, make)
    again, facts_again = cache.remember({"a": 1}, make)
    assert make.count == 1
    np.testing.assert_array_equal(first, again)
    assert type(again) is np.ndarray
    assert not again.flags.writeable
    np.testing.assert_equal(facts, facts_again)


def test_another_key_is_another_entry():
    make = Made()
    cache.remember({"a": 1, "b": 2}, make)
    cache.remember({"b": 2, "a": 1}, make)
    cache.remember({"a": 1, "b": 3}, make)
    assert make.count == 2


def later(file):
    """A time that the clock of the file system tells apart."""
    os.utime(file, ns=(time.time_ns(), file.stat().st_mtime_ns + 1_000_000_000))


def flip(file):
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    later(file)


def cut(file):
    file.write_bytes(file.read_bytes()[:-100])
    later(file)


def empty_file(file):
    file.write_bytes(b"")


def remove(file):
    file.unlink()


@pytest.mark.parametrize("damage", [flip, cut, empty_file, remove])
@pytest.mark.parametrize("suffix", [".npy", ".json"])
def test_a_damaged_entry_is_made_anew(damage, suffix):
    make = Made()
    cache.remember({"a": 1}, make)
    damage(entry(suffix))
    array, facts = cache.remember({"a": 1}, make)
    assert make.count == 2
    assert array[0, 0] == 1
    assert facts["note"] == "×"
    cache.remember({"a": 1}, make)
    assert make.count == 2


def test_a_copied_entry_is_verified_by_digest_and_used():
    make = Made()
    cache.remember({"a": 1}, make)
    later(entry(".npy"))
    cache.remember({"a": 1}, make)
    assert make.count == 1


def test_pickles_are_never_read(monkeypatch):
    make = Made()
    cache.remember({"a": 1}, make)
    file = entry(".npy")
    np.save(file, np.array([print], dtype=object), allow_pickle=True)
    card = entry(".json")
    _, _, text = card.read_text().partition("\n")
    facts = json.loads(text) | {"size": file.stat().st_size, "time": file.stat().st_mtime_ns}
    text = json.dumps(facts)
    card.write_text(f"{cache.hashlib.sha256(text.encode()).hexdigest()}\n{text}")
    array, _ = cache.remember({"a": 1}, make)
    assert make.count == 2
    assert array.dtype == np.float64


KILLED = """
import os, sys
import numpy as np
from manifold_oos.datasets import cache

replace = os.replace
count = 0
def die(*args, **kwargs):
    global count
    count += 1
    if count == int(sys.argv[1]):
        os._exit(9)
    return replace(*args, **kwargs)
os.replace = die
import pathlib
pathlib.Path.replace = lambda self, target: die(self, target)
cache.remember({"a": 1}, lambda: (np.zeros((300, 400)), {}))
"""


@pytest.mark.parametrize("step", [1, 2])
def test_a_writer_that_is_killed_leaves_nothing_that_is_read(step):
    """Killed before the array, or between the array and its card."""
    process = subprocess.run([sys.executable, "-c", KILLED, str(step)], check=False)
    assert process.returncode == 9
    make = Made()
    array, _ = cache.remember({"a": 1}, make)
    assert make.count == 1
    assert array.shape == (30, 40)


def test_leftovers_of_killed_writers_are_removed_after_a_day():
    folder = cache.cache_dir() / "arrays"
    folder.mkdir(parents=True)
    old, new = folder / ".part-old", folder / ".part-new"
    for file in (old, new):
        file.write_bytes(b"x")
    os.utime(old, (time.time() - 90_000,) * 2)
    cache.remember({"a": 1}, Made())
    assert not old.exists()
    assert new.exists()


def test_large_arrays_are_not_kept(monkeypatch):
    monkeypatch.setattr(cache, "MAX_ENTRY", 100)
    make = Made()
    cache.remember({"a": 1}, make)
    cache.remember({"a": 1}, make)
    assert make.count == 2


def test_entries_unused_for_longest_go_first(monkeypatch):
    monkeypatch.setattr(cache, "MAX_TOTAL", 3 * (128 + 30 * 40 * 8))
    makers = [Made(i) for i in range(4)]
    for i in range(2):
        cache.remember({"entry": i}, makers[i])
    old = time.time() - 1000
    for card in (cache.cache_dir() / "arrays").glob("*.json"):
        os.utime(card, (old, old))
    cache.remember({"entry": 0}, makers[0])
    for i in (2, 3):
        cache.remember({"entry": i}, makers[i])
    cache.remember({"entry": 0}, makers[0])
    assert makers[0].count == 1
    cache.remember({"entry": 1}, makers[1])
    assert makers[1].count == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path / "file"))
    make = Made()
    assert cache.remember({"a": 1}, make)[0].shape == (30, 40)


@pytest.fixture
def decoded(monkeypatch):
    """How many images were decoded."""
    calls = []
    original = files_module.decode
    monkeypatch.setattr(files_module, "decode", lambda data, where: calls.append(where) or original(data, where))
    return calls


def test_a_set_is_decoded_once_whatever_the_options(make, tmp_path, decoded):
    members = {f"coil-20-proc/obj{o}__{v}.png": make.picture(10 * o + v) for o in (1, 2) for v in (0, 1)}
    make.zip(tmp_path / "coil-20-proc.zip", members)
    first = load("coil20", data_dir=tmp_path)
    for options in ({}, {"size": (3, 3)}, {"classes": 1}, {"normalize": "unit"}):
        load("coil20", data_dir=tmp_path, **options)
    again = load("coil20", data_dir=tmp_path)
    assert len(decoded) == 4
    np.testing.assert_array_equal(first.X, again.X)
    assert (first.names, first.class_names, first.fingerprint, first.note) == (
        again.names,
        again.class_names,
        again.fingerprint,
        again.note,
    )
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.parameters["angle"], again.parameters["angle"])


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_a_changed_source_is_decoded_anew(form, make, tmp_path):
    place = tmp_path / "coil-20-proc.zip" if form == "zip" else tmp_path
    getattr(make, form)(place, {"coil-20-proc/obj1__0.png": make.picture(1)})
    before = load("coil20", data_dir=tmp_path)
    getattr(make, form)(place, {"coil-20-proc/obj1__0.png": make.picture(2)})
    later(place if form == "zip" else tmp_path / "coil-20-proc/obj1__0.png")
    after = load("coil20", data_dir=tmp_path)
    assert before.fingerprint != after.fingerprint
    np.testing.assert_array_equal(after.X[0].reshape(8, 6), make.pixels(2) / 255)
