"""Broken data files and options by the dozen: each is one line that names the file, soon and in little memory."""

import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from PIL import Image

SECONDS = 8
"""Of the processor, with what the worker starts: on a busy machine the clock says little."""
HANGING = 300
MEMORY = 600 << 20
#: Loads what each line asks for, with so much memory and no more.
WORKER = """
import json, os, sys
from manifold_oos.datasets import load
from manifold_oos.errors import MoosError

load("digits")
if sys.platform.startswith("linux"):
    import resource
    size = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
    resource.setrlimit(resource.RLIMIT_AS, (size + {memory}, size + {memory}))
for line in sys.stdin:
    name, options = json.loads(line)
    before = sum(os.times()[:4])
    try:
        data = load(name, offline=True, **options)
        answer = ["accepted", str(data.X.shape)]
    except MoosError as error:
        answer = [type(error).__name__, str(error)]
    except BaseException as error:
        answer = ["traceback", repr(error)]
    print(json.dumps([*answer, sum(os.times()[:4]) - before]), flush=True)
"""


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    environment = {
        **{key: value for key, value in os.environ.items() if key != "MOOS_DATA"},
        "MOOS_CACHE": str(tmp_path_factory.mktemp("cache")),
    }
    command = [sys.executable, "-c", WORKER.format(memory=MEMORY)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    ) as process:
        yield process
        process.stdin.close()


def check_refused(worker, name, options, message, file=""):
    worker.stdin.write(json.dumps([name, options]) + "\n")
    worker.stdin.flush()
    guard = threading.Timer(HANGING, worker.kill)
    guard.start()
    answer = worker.stdout.readline()
    guard.cancel()
    assert answer, "no answer"
    kind, text, seconds = json.loads(answer)
    assert kind in ("DataError", "ConfigError", "ContinuousLabelError"), text
    assert "\n" not in text
    assert re.search(message, text), text
    assert file in text
    assert len(text) < 4000
    assert seconds < SECONDS


def made(content):
    """The bytes, or what makes them where they are many."""
    return content() if callable(content) else content


MANY = "9" * 5000
TABLES = {
    "nothing": (b"", {}, "no rows in it"),
    "header alone": (b"a,b\n", {}, "no rows in it after the header"),
    "empty lines": (b"\n\n\n", {}, "no rows in it"),
    "a word": (b"hello", {}, "no rows in it after the header"),
    "text in a number": (b"a,b\n1,2\n3,x\n", {}, r"line 3, column 1 \(b\): 'x' is not a finite number"),
    "text and a number in turns": (b"a,b\n1,x\n3,4\n", {}, r"line 2, column 1 \(b\): 'x'"),
    "infinity": (b"a\n1\ninf\n", {}, "'inf' is not a finite number"),
    "too large a float": (b"a\n1\n1e999\n", {}, "'1e999' is not a finite number"),
    "5000 digits": (f"a,b\n1,{MANY}\n".encode(), {}, r"'9{40}'… is not a finite number"),
    "5000 digits as label": (f"a,b\n1,{MANY}\n2,x\n".encode(), {"label_column": "b"}, "too long for a label"),
    "underscores": (b"a\n1\n1_000\n", {}, "'1_000'"),
    "Arabic comma": ("a\n1\n1٫5\n".encode(), {}, "'1٫5'"),
    "superscript": ("a\n1\n²\n".encode(), {}, "'²'"),
    "missing cell": (b"a,b\n1,\n2,3\n", {}, r"line 2, column 1 \(b\): ''.*missing cells: impute"),
    "missing cells by name": (b"a,b\n1,NA\nnull,3\n?,n/a\n", {}, "'NA'.*'null'.*'[?]'.*'n/a'"),
    "empty column": (b"a,b\n1,\n2,\n", {}, r"column 1 \(b\): no cell of it is a number"),
    "empty column to be filled": (b"a,b\n1,\n2,\n", {"impute": "median"}, "no cell of it is a number"),
    "nothing left": (b"a,b\n1,\n,2\n", {"impute": "drop"}, "no row is left"),
    "short row": (b"a,b\n1,2\n3\n", {}, "line 3: 1 cells, but 2"),
    "long row": (b"a,b\n1,2\n3,4,5\n", {}, "line 3: 3 cells, but 2"),
    "every row short": (b"a,b\n" + b"1\n" * 99, {}, "and 89 more"),
    "open quote": (b'a,b\n1,"2\n3,4\n5,6\n', {}, "line 4, column 1"),
    "cell without end": (b'a,b\n1,"' + b"2" * 200_000, {}, "field larger than field limit"),
    "two text columns": (b"a,s,t\n1,u,v\n2,u,v\n", {}, "column 1.*column 2"),
    "two labels": (b"a,label,class\n1,2,3\n", {}, "'label' and 'class' may be the label"),
    "empty label": (b"a,label\n1,p\n2,\n", {}, "empty, but it is the label"),
    "continuous label": (
        b"a,target\n" + b"".join(b"%d,%d.5\n" % (i, i * i) for i in range(40)),
        {},
        "40 different numbers are no classes",
    ),
    "no such label": (b"a,b\n1,2\n", {"label_column": "c"}, "no column 'c'"),
    "label beyond": (b"1,2\n", {"label_column": 7}, "no column 7"),
    "label twice": (b"a,a\n1,2\n", {"label_column": "a"}, "2 columns are named 'a'"),
    "no such id": (b"a,b\n1,2\n", {"id": "c"}, r"no column 'c' \(table.id\)"),
    "empty id": (b"a,b\n1,\n", {"id": "b"}, "empty, but it is the id"),
    "label alone": (b"label\np\nq\n", {}, "no columns are left"),
    "all ignored": (b"a,b\n1,2\n", {"ignore": ["a", "b"]}, "no columns are left"),
    "no such column to ignore": (b"a,b\n1,2\n", {"ignore": ["c"]}, r"no column 'c' \(table.ignore\)"),
    "names twice": (b"a,a\n1,2\n", {}, "more than one column is named a"),
    "no name": (b"a,,b\n1,2,3\n", {}, "no name for column 1"),
    "other columns": (b"a,c\n1,2\n", {"columns": ["a", "b"]}, "no column b, not expected: c"),
    "columns without a header": (b"1,2\n3,4\n", {"columns": ["a"]}, "no column a, not expected: 1, 2"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), {}, "not text in UTF-8"),
    "bytes": (bytes(range(256)), {}, "own.csv"),
    "zeros": (bytes(5000), {}, "own.csv"),
    "one long line": (lambda: b"1," * 10_000_000, {}, "a line of more than"),
    "labels beside": (b"1,2\n", {"labels_file": "nowhere.txt"}, "nowhere.txt: no such file"),
    "features of a CSV": (b"1,2\n", {"features": "X"}, "table.features"),
    "wrong impute": (b"1,2\n", {"impute": "zero"}, "none of mean, median, drop"),
    "wrong ignore": (b"1,2\n", {"ignore": "a"}, "not a list of columns"),
    "wrong columns": (b"1,2\n", {"columns": [1]}, "not a list of columns"),
    "wrong labels file": (b"1,2\n", {"labels_file": 3}, "table.labels_file"),
    "wrong label": (b"1,2\n", {"label_column": 0.5}, "table.label_column"),
    "wrong labelled": (b"1,2\n", {"labelled": "no"}, "table.labelled"),
    "huge projection": (b"1,2\n", {"random_projection": 10**8}, "more than 65536 directions"),
    "huge seed": (b"1,2\n", {"seed": "x"}, "table.seed"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables(case, worker, tmp_path):
    content, options, message = TABLES[case]
    (tmp_path / "own.csv").write_bytes(made(content))
    wrong_option = case.startswith(("wrong", "huge", "labels"))
    check_refused(
        worker, "table", {"path": str(tmp_path / "own.csv"), **options}, message, "" if wrong_option else "own.csv"
    )


def npy(shape, descr="<f8", body=b"", header=None, version=1):
    text = header or f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    encoded = text.encode("latin1").ljust(118)
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + struct.pack("<H" if version == 1 else "<I", len(encoded))
        + encoded
        + body
    )


ARRAYS = {
    "nothing": (b"", "EOF|readable"),
    "text": (b"1,2,3", "readable"),
    "claims": (npy((10**9, 10)), "takes 80000000"),
    "claims more": (npy((2**62, 2**62)), "takes"),
    "negative": (npy((-5, -5), body=bytes(200)), "damaged"),
    "one dimension": (npy((3,), body=bytes(24)), "2 dimensions"),
    "empty": (npy((0, 3)), "empty, of shape"),
    "NaN": (npy((1, 1), body=struct.pack("<d", float("nan"))), "row 0, column 0"),
    "complex": (npy((1, 1), "<c16", bytes(16)), "complex128"),
    "objects": (npy((1, 1), "|O", b"\x80\x04N."), "pickled objects"),
    "records": (
        npy((1, 1), header="{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1, 1)}"),
        "not read here",
    ),
    "open bracket": (npy((1, 1), header="{'descr': '<f8', 'shape': (1,"), "readable"),
    "nested": (npy((1, 1), header="(" * 3000), "readable"),
    "keys of two types": (npy((1, 1), header="{'descr': '<f8', 1: 2, 'shape': (1, 1)}"), "readable"),
    "no mapping": (npy((1, 1), header="[1, 2]"), "readable"),
    "unknown type": (npy((1, 1), "<q99"), "readable"),
    "long header": (
        b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + bytes(9999),
        "a header of more than 10000",
    ),
    "format 9": (npy((1, 1), version=1).replace(b"Y\x01", b"Y\x09"), "format"),
    "too long": (npy((1, 1), body=bytes(80)), "damaged"),
}


@pytest.mark.parametrize("case", ARRAYS)
@pytest.mark.parametrize("packed", [False, True])
def test_arrays(case, packed, worker, tmp_path):
    content, message = ARRAYS[case]
    file = tmp_path / ("X.npz" if packed else "X.npy")
    if packed:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("X.npy", content)
    else:
        file.write_bytes(content)
    check_refused(worker, "table", {"path": str(file)}, message, file.name)


def forged(content, **fields):
    """A zip whose only member claims another size or packing, in both of its headers."""
    data = bytearray(content)
    for start, shift in ((0, 0), (data.rfind(b"PK\x01\x02"), 2)):
        for name, value in fields.items():
            at, code = {"method": (8, "<H"), "size": (22, "<I")}[name]
            struct.pack_into(code, data, start + at + shift, value)
    return bytes(data)


def zipped(members, **options):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def blown_up():
    """A zip of one member that unpacks to 800 MB."""
    stream = io.BytesIO()
    packed = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packed as archive, archive.open("a/1.png", "w") as member:
        for _ in range(100):
            member.write(bytes(8 << 20))
    return stream.getvalue()


def picture(width=6, height=5, kind="PNG", mode="L"):
    stream = io.BytesIO()
    Image.new(mode, (width, height)).save(stream, kind)
    return stream.getvalue()


def saved(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "TIFF")
    return stream.getvalue()


def test_bytes_that_become_eight_times_as_many(worker, tmp_path):
    header = npy((1 << 15, 1 << 15), "|i1")
    (tmp_path / "X.npz").write_bytes(forged(zipped({"X.npy": header}), size=len(header) + (1 << 30)))
    check_refused(
        worker, "table", {"path": str(tmp_path / "X.npz")}, r"shape \(32768, 32768\) is more than", "X.npz"
    )


def tarred(name, content=b"", **facts):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in facts.items():
        setattr(info, key, value)
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape") + content.ljust(
        -(-len(content) // 512) * 512, b"\0"
    )


GOOD = {"cat/1.png": picture(), "dog/1.png": picture()}
LZMA, BZIP2 = 14, 12
ARCHIVES = {
    "nothing": (b"", "no images in it|truncated"),
    "text": (b"hello, this is no archive" * 99, "truncated or damaged"),
    "no images": (zipped({"readme.txt": b"hello"}), "no images in it"),
    "half a zip": (zipped(GOOD)[:150], "truncated or damaged"),
    "a zip without its start": (zipped(GOOD)[60:], "truncated or damaged|cannot be read"),
    "zip packed by LZMA": (forged(zipped({"a/1.png": picture()}), method=LZMA), "another way than deflate"),
    "zip packed by bzip2": (forged(zipped({"a/1.png": picture()}), method=BZIP2), "another way than deflate"),
    "zip that lies about its size": (
        lambda: forged(blown_up(), size=1000),
        "cannot be read|bytes",
    ),
    "zip that claims 4 GB": (forged(zipped({"a/1.png": b"x"}), size=2**32 - 2), "more than 67108864"),
    "zip bomb": (lambda: zipped({"a/1.png": bytes(1 << 27)}), "more than 67108864"),
    "zip that leaves": (zipped({"../1.png": picture()}), "leaves the archive"),
    "zip with a long name": (zipped({f"{'a' * 60_000}.png": picture()}), "a path of 60004 characters"),
    "zip with a line in a name": (zipped({"a/1\n2.png": picture()}), r"a/1\\n2.png: a name with control"),
    "half a tar": (tarred("a/1.png", picture())[:700], "unexpected end|bytes; get"),
    "tar with a long header": (
        lambda: gzip.compress(tarred("x", type=tarfile.GNUTYPE_LONGNAME, size=1 << 32) + bytes(1 << 24)),
        "a header of 4294967296 bytes",
    ),
    "tar with a long pax header": (
        lambda: gzip.compress(tarred("x", type=tarfile.XHDTYPE, size=1 << 32) + bytes(1 << 24)),
        "a header of 4294967296 bytes",
    ),
    "sparse tar": (tarred("a/1.png", type=tarfile.GNUTYPE_SPARSE, size=5) + bytes(512), "a sparse file"),
    "tar with a link": (tarred("a/1.png", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a link or device"),
    "tar with a device": (tarred("a/1.png", type=tarfile.CHRTYPE), "a link or device"),
    "tar that leaves": (tarred("/etc/1.png", picture()), "leaves the archive"),
    "tar with a name that is not UTF-8": (tarred("a/\udcff.png", picture()), r"a/\\udcff.png: .*not in UTF-8"),
    "tar that claims 8 GB": (tarred("a/1.png", size=1 << 33), "more than 67108864"),
    "gzip without its end": (gzip.compress(tarred("a/1.png", picture()) + bytes(1024))[:-12], "truncated|end"),
    "gzip with another checksum": (
        gzip.compress(tarred("a/1.png", picture()) + bytes(1024))[:-8] + bytes(8),
        "CRC|damaged",
    ),
    "gzip of noise": (b"\x1f\x8b\x08\x00" + b"noise" * 99, "truncated or damaged"),
    "no image": (zipped(GOOD | {"dog/2.png": b"no image"}), "dog/2.png: not an image"),
    "half an image": (zipped(GOOD | {"dog/2.png": picture(90, 90)[:60]}), "dog/2.png: not a readable image"),
    "several bad images": (
        zipped(GOOD | {f"dog/{i}.png": b"no" for i in range(2, 40)}),
        "dog/2.png.*dog/3.png.*and 28 more.*skip_bad: true",
    ),
    "format that is not read": (zipped(GOOD | {"dog/2.webp": b"RIFF"}), "dog/2.webp: images of this format"),
    "sizes that differ": (zipped(GOOD | {"dog/2.png": picture(9, 9)}), "9×9 pixels.*give size"),
    "image beside the classes": (zipped(GOOD | {"1.png": picture()}), "lies in no class folder"),
    "120 large blank images": (
        lambda: zipped({f"a/{i}.png": content for content in [picture(4400, 4400)] for i in range(120)}),
        "more than 268435456 pixels up to here; give size",
    ),
    "image that claims more": (
        zipped({"a/1.png": picture().replace(struct.pack(">II", 6, 5), struct.pack(">II", 60_000, 60_000))}),
        "pixels|not a",
    ),
    "32-bit image": (zipped({"a/1.tif": saved(np.full((4, 4), 7.5, dtype=np.float32))}), "neither 8 nor 16 bits"),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_archives(case, worker, tmp_path):
    content, message = ARCHIVES[case]
    content = made(content)
    file = tmp_path / ("own.zip" if content[:2] == b"PK" else "own.tar")
    file.write_bytes(content)
    check_refused(worker, "folder", {"path": str(file)}, message, file.name)


@pytest.mark.parametrize("case", ["half a zip", "no image", "sizes that differ", "zip packed by LZMA"])
def test_archives_of_a_known_set(case, worker, tmp_path):
    content, _ = ARCHIVES[case]
    (tmp_path / "coil-20-proc.zip").write_bytes(content)
    check_refused(worker, "coil20", {"data_dir": str(tmp_path)}, r"coil-20-proc\.zip: ")


FOLDERS = {
    "no folder": ({"path": "nowhere"}, "nowhere: no such folder"),
    "no path": ({"path": ""}, "folder.path"),
    "path that is a number": ({"path": 3}, "folder.path"),
    "path with a line": ({"path": "a\nb"}, r"a\\nb: a name with control characters"),
    "path with a zero": ({"path": "a\0b"}, r"a\\x00b: a name with control characters"),
    "path that is not UTF-8": ({"path": "a\udcffb"}, r"a\\udcffb: .*not in UTF-8"),
    "no such person": ({"path": "~nobody-of-this-name/x"}, "no such home folder"),
    "a device": ({"path": "/dev/zero"}, "neither a file nor a folder"),
    "nested repeats": ({"pattern": r"(?P<label>(?:a+)+)!$"}, "takes more than 5 seconds"),
    "no group": ({"pattern": "a"}, "no group"),
    "no expression": ({"pattern": "(?P<label>"}, "no regular expression"),
    "a pattern of a number": ({"pattern": 3}, "no regular expression"),
    "a long pattern": ({"pattern": "(?P<label>a)" + "b" * 5000}, "more than 1000 characters"),
    "deep brackets": ({"pattern": "(?P<label>a)" + "(" * 490}, "no regular expression"),
    "a huge repeat": ({"pattern": "(?P<label>a){99999999999}"}, "no regular expression"),
    "a pattern that does not fit": ({"pattern": "(?P<label>[0-9]+)x"}, "finds no label"),
    "huge size": ({"size": [100_000, 100_000]}, r"is not \[width, height\]"),
    "size that takes memory": ({"size": [4096, 4096]}, "more than 268435456 pixels"),
    "projection that takes memory": ({"random_projection": 65536, "size": [96, 96]}, "take more than 268435456"),
    "wrong skip_bad": ({"skip_bad": "yes"}, "folder.skip_bad"),
    "unknown option": ({"sizes": 3}, "did you mean size"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folders(case, worker, tmp_path):
    options, message = FOLDERS[case]
    folder = tmp_path / "own" / "a"
    folder.mkdir(parents=True)
    for i in range(20):
        (folder / f"{'a' * 40}{i}.png").write_bytes(picture())
    check_refused(worker, "folder", {"path": str(tmp_path / "own"), **options}, message)


def test_folder_with_a_name_that_is_not_utf8(worker, tmp_path):
    folder = os.fsencode(tmp_path) + b"/own/cat\xff"
    try:
        Path(os.fsdecode(folder)).mkdir(parents=True)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    (Path(os.fsdecode(folder)) / "1.png").write_bytes(picture())
    check_refused(worker, "folder", {"path": str(tmp_path / "own")}, r"own: cat\\udcff/1\.png: .*not in UTF-8")


def mat(**variables):
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=True)
    return stream.getvalue()


ONES, ZEROS = np.ones((4, 1)), np.zeros((4, 1024))
MATS = {
    "nothing": (b"", "not a MATLAB file"),
    "text": (b"hello" * 99, "not a MATLAB file"),
    "half": (mat(X=ZEROS, Y=ONES)[:200], "truncated or damaged"),
    "version 7.3": (b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(600), "save it with -v7"),
    "no variables": (mat(a=ZEROS), "no such variable; it has a"),
    "another shape": (mat(X=ZEROS[:, :9], Y=ONES), "4×9 instead of n×1024"),
    "other labels": (mat(X=ZEROS, Y=ONES * 5), "labels with gaps"),
    "not finite": (mat(X=ZEROS * np.nan, Y=ONES), "NaN"),
    "bomb": (
        lambda: mat(X=ZEROS)[:128] + struct.pack("<II", 15, 700_000) + zlib.compress(bytes(600 << 20))[:700_000],
        "unpacks to more than|truncated",
    ),
}


@pytest.mark.parametrize("case", MATS)
def test_matlab_files(case, worker, tmp_path):
    content, message = MATS[case]
    (tmp_path / "UMIST.mat").write_bytes(made(content))
    check_refused(worker, "umist", {"data_dir": str(tmp_path)}, message, "UMIST.mat")


def test_there_are_enough_of_them():
    assert len(TABLES) + 2 * len(ARRAYS) + len(ARCHIVES) + len(FOLDERS) + len(MATS) > 150
