"""A person's own images: folders and archives, good and bad."""

import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from manifold_oos.datasets import limits, load
from manifold_oos.datasets.images import resize
from manifold_oos.errors import ConfigError, DataError


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MOOS_CACHE", str(tmp_path_factory.mktemp("cache")))


def picture(number, width=6, height=5, mode="L"):
    """An image whose pixels depend on a number."""
    shape = (height, width) if mode == "L" else (height, width, 3)
    return np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8)


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def pets(tmp_path):
    """Two classes: three cats (numbered so that text order is wrong) and two dogs."""
    for i in (1, 2, 10):
        save(tmp_path / "pets" / "cat" / f"{i}.png", picture(i))
    for i in (1, 2):
        save(tmp_path / "pets" / "dog" / f"{i}.bmp", picture(20 + i))
    return tmp_path / "pets"


def refused(error_type, name, **options):
    """The one line with which a load is refused."""
    with pytest.raises(error_type) as error:
        load(name, **options)
    message = str(error.value)
    assert "\n" not in message
    return message


def zipped(folder, file, prefix=""):
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, prefix + str(path.relative_to(folder)))
    return file


def test_one_folder_per_class(pets):
    data = load("folder", path=pets)
    assert data.names == ("cat/1.png", "cat/2.png", "cat/10.png", "dog/1.bmp", "dog/2.bmp")
    assert data.class_names == ("cat", "dog")
    assert data.y.tolist() == [0, 0, 0, 1, 1]
    assert data.image_shape == (5, 6)
    expected = np.stack([picture(i) for i in (1, 2, 10, 21, 22)]).reshape(5, -1) / 255
    np.testing.assert_array_equal(data.X, expected)


def test_common_options_apply(pets):
    data = load("folder", path=str(pets), classes=["dog"], size=(3, 4), resample="box", normalize="unit")
    assert data.image_shape == (4, 3)
    assert data.class_names == ("dog",)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1)
    expected = resize(picture(21)[None], (3, 4), "box").ravel().astype(float)
    np.testing.assert_allclose(data.X[0], expected / np.linalg.norm(expected))


def test_archive_and_folder_are_the_same(pets, tmp_path):
    folder = load("folder", path=pets)
    with tarfile.open(tmp_path / "pets.tgz", "w:gz") as archive:
        archive.add(pets, arcname="download/pets")
    copies = [
        zipped(pets, tmp_path / "plain.zip"),
        zipped(pets, tmp_path / "wrapped.zip", "outer/pets/"),
        tmp_path / "pets.tgz",
    ]
    for copy in copies:
        data = load("folder", path=copy)
        assert data.fingerprint == folder.fingerprint
        assert data.class_names == ("cat", "dog")
        np.testing.assert_array_equal(data.X, folder.X)


def test_a_changed_folder_is_read_again(pets):
    before = load("folder", path=pets)
    save(pets / "dog" / "3.png", picture(99))
    after = load("folder", path=pets)
    assert len(after) == len(before) + 1


def test_pattern_finds_the_label(tmp_path):
    for i, name in enumerate(("s1_happy.png", "s1_sad.png", "s2_happy.png", "s10_happy.png")):
        save(tmp_path / "faces" / name, picture(i))
    data = load("folder", path=tmp_path / "faces", pattern=r"^s(?P<label>\d+)_")
    assert data.class_names == ("1", "2", "10")
    assert data.y.tolist() == [0, 0, 1, 2]
    by_mood = load("folder", path=tmp_path / "faces", pattern=r"_(?P<label>\w+)\.png")
    assert by_mood.class_names == ("happy", "sad")


def test_new_images_need_no_labels_and_keep_their_names(pets, tmp_path):
    save(tmp_path / "new" / "a.png", picture(5, 60, 50))
    save(tmp_path / "new" / "deep" / "b.png", picture(6, 30, 30))
    data = load("folder", path=tmp_path / "new", labelled=False, size=(6, 5))
    assert data.y is None
    assert data.names == ("a.png", "deep/b.png")
    assert data.X.shape[1] == load("folder", path=pets, size=(6, 5)).X.shape[1]
    np.testing.assert_array_equal(data.X[0], resize(picture(5, 60, 50)[None], (6, 5)).ravel() / 255)


def test_a_single_class_and_deeper_folders(tmp_path):
    save(tmp_path / "one" / "cat" / "1.png", picture(1))
    assert load("folder", path=tmp_path / "one").class_names == ("cat",)
    for session in ("mon", "tue"):
        for who in ("ann", "bob"):
            save(tmp_path / "deep" / who / session / "1.png", picture(2))
    assert load("folder", path=tmp_path / "deep").class_names == ("ann", "bob")


def test_hidden_files_and_other_files_are_passed_over(pets):
    (pets / "cat" / ".DS_Store").write_bytes(b"junk")
    (pets / "cat" / "._1.png").write_bytes(b"junk")
    (pets / "__MACOSX").mkdir()
    (pets / "__MACOSX" / "1.png").write_bytes(b"junk")
    (pets / "readme.txt").write_text("about the pets")
    assert len(load("folder", path=pets)) == 5


def test_grey_among_coloured(pets):
    save(pets / "dog" / "3.png", picture(30, mode="RGB"))
    data = load("folder", path=pets)
    assert data.image_shape == (5, 6, 3)
    np.testing.assert_array_equal(data.X[0].reshape(5, 6, 3), np.repeat(picture(1)[..., None] / 255, 3, axis=2))
    np.testing.assert_array_equal(data.X[-1].reshape(5, 6, 3), picture(30, mode="RGB") / 255)
    assert load("folder", path=pets, gray=True).image_shape == (5, 6)


def test_mixed_sizes_need_size(pets):
    save(pets / "dog" / "3.png", picture(30, 9, 8))
    message = refused(DataError, "folder", path=pets)
    assert "dog/3.png: 9×8 pixels, but cat/1.png has 6×5; give size" in message
    assert load("folder", path=pets, size=(4, 4)).X.shape == (6, 16)


def test_corrupt_image_is_named(pets, tmp_path):
    whole = (pets / "cat" / "2.png").read_bytes()
    for content in (b"not an image", whole[: len(whole) // 2], b""):
        (pets / "cat" / "2.png").write_bytes(content)
        message = refused(DataError, "folder", path=pets)
        assert str(pets) in message
        assert "cat/2.png" in message
    archive = zipped(pets, tmp_path / "pets.zip")
    message = refused(DataError, "folder", path=archive)
    assert "pets.zip: cat/2.png" in message


def test_all_bad_images_are_listed_and_can_be_skipped(pets):
    for i in range(20, 35):
        (pets / "dog" / f"{i}.png").write_bytes(b"not an image")
    (pets / "cat" / "0.webp").write_bytes(b"RIFF")
    message = refused(DataError, "folder", path=pets)
    assert message.startswith(
        f"{pets}: cat/0.webp: images of this format are not read; convert them to PNG; dog/20"
    )
    assert "dog/28.png: not an image of a known format; and 6 more (16 bad images;" in message
    assert "dog/29.png" not in message
    data = load("folder", path=pets, skip_bad=True)
    assert len(data) == 5
    assert data.note == "16 files that are no readable images were left out"
    for file in (*pets.glob("*/*.png"), *pets.glob("*/*.bmp")):
        file.write_bytes(b"not an image")
    assert "not an image" in refused(DataError, "folder", path=pets, skip_bad=True)


@pytest.mark.parametrize("kind", ["png", "tif", "pgm"])
def test_sixteen_bits_are_read_in_full_depth(kind, tmp_path):
    deep = np.random.default_rng(0).integers(0, 65536, (5, 6)).astype(np.uint16)
    dark = (deep // 300).astype(np.uint16)  # fits into 8 bits, but means nearly black
    for i, pixels in enumerate((deep, dark)):
        (tmp_path / "own" / "a").mkdir(parents=True, exist_ok=True)
        if kind == "pgm":
            head = b"P5 6 5 65535\n"
            (tmp_path / "own" / "a" / f"{i}.pgm").write_bytes(head + pixels.astype(">u2").tobytes())
        else:
            Image.fromarray(pixels).save(tmp_path / "own" / "a" / f"{i}.{kind}")
    save(tmp_path / "own" / "b" / "1.png", picture(1))
    data = load("folder", path=tmp_path / "own")
    np.testing.assert_allclose(data.X[0], deep.ravel() / 65535, rtol=1e-12)
    np.testing.assert_allclose(data.X[1], dark.ravel() / 65535, rtol=1e-12)
    np.testing.assert_allclose(data.X[2], picture(1).ravel() / 255, rtol=1e-12)
    assert data.image_shape == (5, 6)
    small = load("folder", path=tmp_path / "own", size=(3, 5), resample="box").X[0].reshape(5, 3)
    np.testing.assert_allclose(small, deep.reshape(5, 3, 2).mean(2) / 65535, atol=1e-6)


def test_images_are_counted_at_their_final_size(pets, monkeypatch):
    monkeypatch.setattr(limits, "VALUES", 100)
    assert "more than 100 pixels up to here; give size" in refused(DataError, "folder", path=pets)
    assert load("folder", path=pets, size=(4, 4)).X.shape == (5, 16)
    assert "pixels up to here" in refused(DataError, "folder", path=pets, size=(5, 5))


def test_format_that_is_not_read_is_named_not_dropped(pets):
    (pets / "cat" / "3.webp").write_bytes(b"RIFF")
    assert "cat/3.webp: images of this format are not read" in refused(DataError, "folder", path=pets)


def test_image_beside_the_class_folders_is_named(pets):
    save(pets / "stray.png", picture(1))
    message = refused(DataError, "folder", path=pets)
    assert "stray.png: lies in no class folder" in message
    assert len(load("folder", path=pets, labelled=False)) == 6


def test_flat_folder_is_no_single_class(tmp_path):
    save(tmp_path / "flat" / "1.png", picture(1))
    assert "1.png: lies in no class folder" in refused(DataError, "folder", path=tmp_path / "flat")


def test_links_that_leave_the_folder_are_not_followed(pets, tmp_path):
    save(tmp_path / "elsewhere" / "secret.png", picture(1))
    link = pets / "cat" / "3.png"
    link.symlink_to(tmp_path / "elsewhere" / "secret.png")
    assert "cat/3.png: a link that leaves the folder" in refused(DataError, "folder", path=pets)
    link.unlink()
    (pets / "bird").symlink_to(tmp_path / "elsewhere")
    assert load("folder", path=pets).class_names == ("cat", "dog")


def test_truncated_archive_and_escaping_member(pets, tmp_path):
    whole = zipped(pets, tmp_path / "pets.zip").read_bytes()
    (tmp_path / "half.zip").write_bytes(whole[: len(whole) // 2])
    assert "half.zip" in refused(DataError, "folder", path=tmp_path / "half.zip")
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.write(pets / "cat" / "1.png", "../cat/1.png")
    message = refused(DataError, "folder", path=tmp_path / "evil.zip")
    assert "evil.zip: ../cat/1.png" in message


def test_pattern_that_does_not_fit(pets):
    message = refused(DataError, "folder", path=pets, pattern=r"cat/(?P<label>\d+)")
    assert "dog/1.bmp: folder.pattern" in message
    assert "no group (?P<label>" in refused(ConfigError, "folder", path=pets, pattern=r"cat/(\d+)")
    assert "no regular expression" in refused(ConfigError, "folder", path=pets, pattern="(")


def test_no_path_no_folder_no_images(tmp_path):
    assert "folder.path" in refused(ConfigError, "folder")
    assert "nowhere: no such folder" in refused(DataError, "folder", path=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("nothing")
    assert "empty: no images in it" in refused(DataError, "folder", path=tmp_path / "empty")
    (tmp_path / "notes.txt").write_text("no archive")
    assert "notes.txt" in refused(DataError, "folder", path=tmp_path / "notes.txt")
