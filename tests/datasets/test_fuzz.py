"""Damaged files by the hundred, from a seed: every one is a data set or one line, within little memory."""

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from PIL import Image

COUNT = 200
MEMORY = 400 << 20
#: Runs in a process of its own, so that memory can be limited and measured.
READ = """
import json, os, resource, sys
from manifold_oos.datasets import load
from manifold_oos.errors import MoosError

load("digits")
def status(key):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith(key))

room = status("VmSize") + {memory}
resource.setrlimit(resource.RLIMIT_AS, (room, room))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
outcomes = {{"read": 0, "refused": 0, "wrong": []}}
for name, path, options in json.load(sys.stdin):
    try:
        load(name, offline=True, **options)
        outcomes["read"] += 1
    except MoosError as error:
        outcomes["refused"] += 1
        if "\\n" in str(error) or os.path.basename(path) not in str(error):
            outcomes["wrong"].append([path, str(error)])
    except BaseException as error:
        outcomes["wrong"].append([path, repr(error)])
print(json.dumps(outcomes))
"""


def picture(number):
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(number).integers(0, 256, (6, 5), dtype=np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def zip_file(rng):
    stream = io.BytesIO()
    with zipfile.ZipFile(
        stream, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.5 else zipfile.ZIP_STORED
    ) as archive:
        for i in range(4):
            archive.writestr(f"{'ab'[i % 2]}/{i}.png", picture(i))
    return stream.getvalue()


def tar_file(rng):
    stream = io.BytesIO()
    kind = tarfile.PAX_FORMAT if rng.random() < 0.5 else tarfile.GNU_FORMAT
    with tarfile.open(fileobj=stream, mode="w" if rng.random() < 0.8 else "w:gz", format=kind) as archive:
        for i in range(4):
            info = tarfile.TarInfo(f"{'ab'[i % 2]}/{'ü' * (120 if i == 3 else 1)}{i}.png")
            info.size = len(picture(i))
            archive.addfile(info, io.BytesIO(picture(i)))
    return stream.getvalue()


def npy_file(rng):
    stream = io.BytesIO()
    np.save(stream, rng.integers(0, 9, (5, 3)).astype(rng.choice(["f8", "i2", ">f4"])))
    return stream.getvalue()


def npz_file(rng):
    stream = io.BytesIO()
    save = np.savez if rng.random() < 0.5 else np.savez_compressed
    save(stream, X=rng.standard_normal((5, 3)), y=np.array(list("abbaa")))
    return stream.getvalue()


def csv_file(rng):
    rows = [[*(f"{x:.3f}" for x in rng.standard_normal(3)), "pq"[i % 2]] for i in range(8)]
    delimiter = str(rng.choice([",", ";"]))
    return "\n".join(delimiter.join(row) for row in [["a", "b", "c", "kind"], *rows]).encode()


def mat_file(rng):
    stream = io.BytesIO()
    content = {"X": rng.integers(0, 256, (4, 1024), dtype=np.uint8), "Y": np.array([[1], [1], [2], [2]])}
    scipy.io.savemat(stream, content, do_compression=bool(rng.random() < 0.5))
    return stream.getvalue()


MAKERS = {"zip": zip_file, "tar": tar_file, "npy": npy_file, "npz": npz_file, "csv": csv_file, "mat": mat_file}


BYTES = {"csv": b"0123456789.,;\t\n\r\"'eE+-_ xyn\0\xc3\xa4"}


def mutated(whole, rng, alphabet):
    """The file with flipped bytes, cut off, with a part of itself elsewhere, or with a telling value inside."""
    data = bytearray(whole)
    kind = rng.choice(["flip", "head", "cut", "splice", "value"])
    if kind == "cut":
        return bytes(data[: rng.integers(0, len(data))])
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(0, min(len(data), 200) if kind == "head" else len(data)))
        if kind in ("flip", "head"):
            data[at] = alphabet[rng.integers(len(alphabet))]
        elif kind == "splice":
            start, length = int(rng.integers(0, len(data))), int(rng.integers(1, 60))
            data[at : at + int(rng.integers(0, length + 1))] = data[start : start + length]
        else:
            value = [b"\xff\xff\xff\xff", bytes(8), b"\xff\xff\xff\x7f", b"(", b"9" * 30, "²٣".encode()][
                rng.integers(6)
            ]
            data[at : at + len(value)] = value
    return bytes(data)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and measures memory as Linux does")
@pytest.mark.parametrize("kind", MAKERS)
def test_every_damaged_file_is_read_or_refused_in_one_line(kind, alone):
    rng = np.random.default_rng(list(MAKERS).index(kind))
    tasks = []
    for i in range(COUNT):
        folder = alone / str(i)
        folder.mkdir()
        file = folder / ("UMIST.mat" if kind == "mat" else f"damaged{i}.{kind}")
        file.write_bytes(mutated(MAKERS[kind](rng), rng, BYTES.get(kind, bytes(range(256)))))
        if kind == "mat":
            tasks.append(("umist", str(file), {"data_dir": str(folder)}))
        else:
            extra = {"label_column": "y"} if kind == "npz" and i % 2 else {}
            name = "folder" if kind in ("zip", "tar") else "table"
            tasks.append((name, str(file), {"path": str(file), **extra}))
    command = [sys.executable, "-c", READ.format(memory=MEMORY)]
    done = subprocess.run(
        command,
        input=json.dumps(tasks),
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = json.loads(done.stdout)
    assert outcomes["wrong"] == []
    assert outcomes["refused"] > COUNT / 4
    assert outcomes["read"] + outcomes["refused"] == COUNT
