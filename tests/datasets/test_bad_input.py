"""Damaged and hostile files: always one line that names file and member."""

import io
import os
import struct
import tarfile
import zipfile
import zlib

import numpy as np
import pytest
import scipy.io
from PIL import Image

from manifold_oos.datasets import limits, load
from manifold_oos.errors import DataError

pytestmark = pytest.mark.usefixtures("alone")

OBJ = "coil-20-proc/obj{}__{}.png"


def check_fails(name, message, tmp_path, **options):
    """Loading raises one line that names the file."""
    with pytest.raises(DataError, match=message) as error:
        load(name, data_dir=tmp_path, **options)
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value)
    return str(error.value)


@pytest.fixture
def good(make):
    return {OBJ.format(o, v): make.picture(10 * o + v) for o in (1, 2, 3) for v in (0, 1)}


@pytest.mark.parametrize(
    "escape", ["../evil.png", "coil-20-proc/../../evil.png", "/etc/evil.png", "..\\evil.png", "C:\\x.png"]
)
@pytest.mark.parametrize("form", ["zip", "tgz"])
def test_member_path_that_leaves_the_folder(escape, form, good, make, tmp_path):
    getattr(make, form)(tmp_path / f"coil-20-proc.{form}", good | {escape: b"x"})
    message = check_fails("coil20", "leaves the archive", tmp_path)
    assert "evil" in message or "x.png" in message


@pytest.mark.parametrize("keep", [10, 200, 0.5, 0.9, -30])
@pytest.mark.parametrize("form", ["zip", "tgz"])
def test_truncated_archive(keep, form, good, make, tmp_path):
    file = getattr(make, form)(tmp_path / f"coil-20-proc.{form}", good)
    content = file.read_bytes()
    file.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    check_fails("coil20", "truncated or damaged|cannot be read|bytes; get", tmp_path)


def test_empty_archive_file(tmp_path):
    (tmp_path / "coil-20-proc.zip").write_bytes(b"")
    check_fails("coil20", "coil-20-proc.zip", tmp_path)


def test_archive_without_images(make, tmp_path):
    make.zip(tmp_path / "coil-20-proc.zip", {"readme.txt": b"hello"})
    check_fails("coil20", "no image whose name is like", tmp_path)


def test_flipped_bytes_in_a_member(good, make, tmp_path):
    file = make.zip(tmp_path / "coil-20-proc.zip", good)
    with zipfile.ZipFile(file) as archive:
        info = archive.getinfo(OBJ.format(2, 0))
    content = bytearray(file.read_bytes())
    start = info.header_offset + 30 + len(info.filename)
    content[start : start + info.compress_size] = bytes(info.compress_size)
    file.write_bytes(content)
    check_fails("coil20", r"obj2__0\.png: cannot be read", tmp_path)


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n"])
def test_corrupt_image(content, good, make, tmp_path):
    make.zip(tmp_path / "coil-20-proc.zip", good | {OBJ.format(2, 1): content})
    check_fails("coil20", r"coil-20-proc\.zip: coil-20-proc/obj2__1\.png: not a", tmp_path)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "PPM", "JPEG", "BMP"])
def test_image_cut_in_the_middle(kind, good, make, tmp_path):
    whole = make.picture(3, kind, width=60, height=60)
    make.zip(tmp_path / "coil-20-proc.zip", {OBJ.format(1, 1): whole[: len(whole) // 2]})
    check_fails("coil20", r"obj1__1\.png: not a readable image", tmp_path)


def tiny_png_that_claims(width, height):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(100_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [5_000, 10_000, 60_000])
def test_image_bomb_is_refused_before_it_is_decoded(side, make, tmp_path):
    make.zip(tmp_path / "coil-20-proc.zip", {OBJ.format(1, 0): tiny_png_that_claims(side, side)})
    check_fails("coil20", r"obj1__0\.png: .*pixels", tmp_path)


def test_sixteen_bits_are_refused(make, tmp_path):
    stream = io.BytesIO()
    Image.fromarray(np.full((4, 4), 1000, dtype=np.uint16)).save(stream, format="PNG")
    make.zip(tmp_path / "coil-20-proc.zip", {OBJ.format(1, 0): stream.getvalue()})
    check_fails("coil20", "more than 8 bits", tmp_path)


@pytest.mark.parametrize("form", ["zip", "tgz"])
def test_archive_bomb_in_a_wanted_member(form, good, make, tmp_path):
    getattr(make, form)(
        tmp_path / f"coil-20-proc.{form}", good | {OBJ.format(3, 1): bytes(limits.MEMBER_BYTES + 1)}
    )
    check_fails("coil20", r"obj3__1\.png: .*more than", tmp_path)


@pytest.mark.parametrize("limit", ["MEMBERS", "MEMBER_BYTES", "ARCHIVE_BYTES"])
@pytest.mark.parametrize("form", ["zip", "tgz", "folder"])
def test_members_that_are_not_wanted_may_be_many_and_large(form, limit, good, make, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, limit, len(good) if limit == "MEMBERS" else sum(map(len, good.values())))
    members = good | {f"coil-20-proc/video{i}.mp4": bytes(10_000) for i in range(9)}
    getattr(make, form)(tmp_path / ("" if form == "folder" else f"coil-20-proc.{form}"), members)
    assert len(load("coil20", data_dir=tmp_path)) == len(good)


@pytest.mark.parametrize("limit", ["MEMBERS", "ARCHIVE_BYTES"])
def test_too_many_members_or_bytes(limit, good, make, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, limit, 5)
    make.zip(tmp_path / "coil-20-proc.zip", good)
    check_fails("coil20", "more than", tmp_path)


def test_list_of_members_is_not_read_when_it_is_too_long(good, make, tmp_path, monkeypatch):
    make.zip(tmp_path / "coil-20-proc.zip", good)
    assert len(load("coil20", data_dir=tmp_path)) == len(good)
    monkeypatch.setattr(limits, "DIRECTORY_BYTES", 100)
    os.utime(tmp_path / "coil-20-proc.zip", (1, 1))
    check_fails("coil20", "a list of members of .* bytes, more than 100", tmp_path)


def test_files_of_a_folder_are_counted(good, make, tmp_path, monkeypatch):
    make.folder(tmp_path, good)
    monkeypatch.setattr(limits, "ENTRIES", len(good) - 1)
    check_fails("coil20", "coil-20-proc: more than 5 files in it and below", tmp_path)


def test_pixels_of_a_known_set_are_counted(good, make, tmp_path, monkeypatch):
    make.zip(tmp_path / "coil-20-proc.zip", good)
    monkeypatch.setattr(limits, "PIXEL_BYTES", 6 * 8 * (len(good) - 1))
    check_fails("coil20", r"obj3__1\.png: more than 240 bytes of pixels up to here", tmp_path)


@pytest.mark.parametrize("number", ["9" * 10, "9" * 400])
def test_numbers_in_names_are_short(number, good, make, tmp_path):
    make.zip(tmp_path / "coil-20-proc.zip", good | {OBJ.format(1, number): make.picture(5)})
    check_fails("coil20", "a number of more than 9 digits", tmp_path)
    make.zip(tmp_path / "coil-20-proc.zip", good | {OBJ.format("9" * 9, 1): make.picture(5)})
    check_fails("coil20", "class 4 of 999999999 is missing", tmp_path)


def test_link_in_a_tar_archive(tmp_path):
    with tarfile.open(tmp_path / "coil-20-proc.tgz", "w:gz") as archive:
        info = tarfile.TarInfo(OBJ.format(1, 0))
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    check_fails("coil20", r"obj1__0\.png: a link", tmp_path)


def test_link_that_leaves_an_unpacked_folder(good, make, tmp_path):
    make.folder(tmp_path, good)
    (tmp_path / "outside.png").write_bytes(good[OBJ.format(1, 0)])
    (tmp_path / OBJ.format(3, 1)).unlink()
    (tmp_path / OBJ.format(3, 1)).symlink_to(tmp_path / "outside.png")
    check_fails("coil20", r"obj3__1\.png: a link that leaves", tmp_path)


def test_mixed_sizes(good, make, tmp_path):
    make.zip(tmp_path / "coil-20-proc.zip", good | {OBJ.format(2, 1): make.picture(5, width=7)})
    check_fails("coil20", r"obj2__1\.png: 7×8 pixels, but .*obj1__0\.png has 6×8", tmp_path)


def test_grey_among_colour_becomes_colour(make, tmp_path):
    grey, colour = make.pixels(1), make.pixels(2, channels=3)
    members = {OBJ.format(1, 0): make.encode(grey, "PNG"), OBJ.format(1, 1): make.encode(colour, "PNG")}
    make.zip(tmp_path / "coil-20-proc.zip", members)
    data = load("coil20", data_dir=tmp_path)
    assert data.image_shape == (8, 6, 3)
    np.testing.assert_array_equal(data.X[0].reshape(8, 6, 3), np.repeat(grey[..., None], 3, axis=2) / 255)


def test_labels_with_gaps_in_names(good, make, tmp_path):
    del good[OBJ.format(2, 0)], good[OBJ.format(2, 1)]
    make.zip(tmp_path / "coil-20-proc.zip", good)
    check_fails("coil20", "class 2 of 3 is missing", tmp_path)


def test_the_same_image_twice(good, make, tmp_path):
    make.zip(tmp_path / "coil-20-proc.zip", good | {"copy/obj1__0.png": make.picture(1)})
    check_fails("coil20", r"copy/obj1__0\.png: the same image as", tmp_path)


def test_class_with_too_few_images(good, make, tmp_path):
    del good[OBJ.format(2, 1)]
    make.zip(tmp_path / "coil-20-proc.zip", good)
    with pytest.raises(DataError, match="class obj2 has 1 samples"):
        load("coil20", data_dir=tmp_path, per_class=2)


IMAGES = np.random.default_rng(0).integers(0, 256, (4, 1024), dtype=np.uint8)
LABELS = np.array([[1], [1], [2], [2]], dtype=np.uint8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"fea": IMAGES}, "gnd: no such variable; it has fea"),
        ({"gnd": LABELS}, "fea: no such variable"),
        ({}, "no such variable; it has none"),
        ({"fea": IMAGES[:, :1000], "gnd": LABELS}, "fea: 4×1000 instead of n×1024"),
        ({"fea": IMAGES, "gnd": LABELS[:3]}, "gnd: 3 labels for 4 images"),
        ({"fea": IMAGES, "gnd": LABELS.T}, "gnd: 1×4 instead of n×1"),
        ({"fea": IMAGES, "gnd": LABELS * 2}, "gnd: labels with gaps, 1 is missing"),
        ({"fea": IMAGES, "gnd": LABELS + (LABELS == 2)}, "gnd: labels with gaps, 2 is missing"),
        ({"fea": IMAGES, "gnd": LABELS - 1.0}, "gnd: labels with gaps"),
        ({"fea": IMAGES, "gnd": LABELS + 0.5}, "whole numbers"),
        ({"fea": IMAGES.astype(float) * 2, "gnd": LABELS}, "neither in 0..1 nor"),
        ({"fea": -IMAGES.astype(float), "gnd": LABELS}, "neither in 0..1 nor"),
        ({"fea": np.where(IMAGES > 3, IMAGES, np.nan), "gnd": LABELS}, "fea: NaN"),
        ({"fea": IMAGES * 1j, "gnd": LABELS}, "fea: a complex array"),
        ({"fea": scipy.sparse.csc_array(IMAGES.astype(float)), "gnd": LABELS}, "fea: a sparse array"),
        ({"fea": np.array([[IMAGES]], dtype=object), "gnd": LABELS}, "fea: a cell array"),
        ({"fea": {"a": IMAGES}, "gnd": LABELS}, "fea: a struct array"),
        ({"fea": "text", "gnd": LABELS}, "fea: a char array"),
        ({"fea": IMAGES[:0], "gnd": LABELS[:0]}, "fea: empty"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mat_file_with_wrong_content(content, message, tmp_path):
    scipy.io.savemat(tmp_path / "UMIST.mat", content)
    check_fails("umist", rf"UMIST\.mat: .*{message}", tmp_path)


@pytest.mark.parametrize("keep", [0, 50, 127, 130, 140, 0.5, 0.99])
def test_truncated_mat_file(keep, tmp_path):
    file = tmp_path / "UMIST.mat"
    scipy.io.savemat(file, {"X": IMAGES, "Y": LABELS}, do_compression=True)
    content = file.read_bytes()
    file.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    check_fails("umist", r"UMIST\.mat: ", tmp_path)


def test_mat_file_of_noise_and_of_version_73(tmp_path):
    file = tmp_path / "UMIST.mat"
    file.write_bytes(np.random.default_rng(0).bytes(5000))
    check_fails("umist", r"UMIST\.mat: ", tmp_path)
    file.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(600))
    check_fails("umist", r"UMIST\.mat: ", tmp_path)


def test_mat_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    scipy.io.savemat(
        tmp_path / "UMIST.mat", {"X": np.zeros((2000, 1024)), "Y": np.ones((2000, 1))}, do_compression=True
    )
    monkeypatch.setattr(limits, "MAT_BYTES", 1 << 20)
    check_fails("umist", "unpacks to more than", tmp_path)


def test_mat_file_that_declares_more_values_than_it_has(tmp_path):
    file = tmp_path / "UMIST.mat"
    scipy.io.savemat(file, {"X": IMAGES, "Y": LABELS})
    declared, larger = struct.pack("<ii", 4, 1024), struct.pack("<ii", 2**30, 1024)
    assert file.read_bytes().count(declared) == 1
    file.write_bytes(file.read_bytes().replace(declared, larger))
    check_fails("umist", r"UMIST\.mat: X: 4096 values for a shape of 1073741824×1024", tmp_path)


@pytest.mark.parametrize(
    "content", [{"Input": {"a": "text"}}, {"Input": {"X": np.zeros((5, 4))}}, {"Other": np.zeros((5, 4))}]
)
def test_colour_teapots_with_wrong_content(content, tmp_path):
    scipy.io.savemat(tmp_path / "teapots.mat", content)
    check_fails("teapot", r"teapots\.mat: (Input|teapotImages)", tmp_path, variant="color400")


def test_missing_data_is_one_line_with_name_places_address_and_a_built_in_set(tmp_path, monkeypatch):
    monkeypatch.setenv("MOOS_DATA", str(tmp_path / "environment"))
    message = check_fails("coil20", r"^coil20 \(png\): not found in ", tmp_path)
    for part in (
        tmp_path / "environment",
        "datasets",
        tmp_path / "cache",
        "https://www.cs.columbia.edu",
        "turntable",
    ):
        assert str(part) in message
    assert "given out on request" in check_fails("pf01", "http://imlab.postech.ac.kr.* digits", tmp_path)
