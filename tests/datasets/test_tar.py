"""The own tar reader: the same members as Python's, and no more memory than a name takes."""

import gzip
import io
import tarfile

import pytest

from manifold_oos.datasets import limits, tar
from manifold_oos.datasets.sources import open_source
from manifold_oos.errors import DataError

NAMES = ["a.txt", "folder/b.txt", "x" * 99, "deep/" * 60 + "c.txt", "ü" * 120, "long" * 200]


def packed(members, **options):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", **options) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    return stream.getvalue()


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_same_members_as_python(kind):
    names = NAMES if kind != tarfile.USTAR_FORMAT else [*NAMES[:3], "deep/" * 20 + "c.txt"]
    members = {name: name.encode() * 100 for name in names}
    found = {}
    for entry in tar.entries(io.BytesIO(packed(members, format=kind)), 1 << 30):
        if entry.is_file:
            found[entry.name] = entry.content()
        else:
            assert (entry.name, entry.is_folder) == ("folder", True)
    assert found == members


def test_contents_that_are_not_asked_for_are_skipped():
    whole = packed({name: bytes(1000) for name in NAMES})
    assert [entry.name for entry in tar.entries(io.BytesIO(whole), 1 << 30) if entry.is_file] == NAMES


def header(kind, size, name="x"):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def pax(text):
    return header(tarfile.XHDTYPE, len(text)) + text.ljust(512, b"\0") + header(tarfile.REGTYPE, 0)


HOSTILE = {
    "long name": (header(tarfile.GNUTYPE_LONGNAME, 1 << 32) + bytes(9999), "a header of 4294967296 bytes"),
    "long link": (header(tarfile.GNUTYPE_LONGLINK, 1 << 32) + bytes(9999), "a header of 4294967296 bytes"),
    "pax": (header(tarfile.XHDTYPE, 1 << 32) + bytes(9999), "a header of 4294967296 bytes"),
    "global pax": (header(tarfile.XGLTYPE, 1 << 32) + bytes(9999), "a header of 4294967296 bytes"),
    "sparse": (header(tarfile.GNUTYPE_SPARSE, 10) + bytes(512), "a sparse file"),
    "pax sparse": (pax(b"22 GNU.sparse.major=1\n"), "a sparse file"),
    "pax of length 0": (pax(b"0 path=x\n"), "a damaged extended header"),
    "pax without a value": (pax(b"9 nothing\n"), "a damaged extended header"),
    "negative size": (pax(b"11 size=-5\n"), "negative size"),
    "no number": (pax(b"10 size=x\n"), "invalid literal"),
    "ends early": (header(tarfile.REGTYPE, 5000) + bytes(512), "unexpected end of data"),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("zipped", [False, True])
def test_hostile_headers_are_refused(case, zipped, tmp_path):
    content, message = HOSTILE[case]
    file = tmp_path / "bad.tar"
    file.write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(DataError, match=message) as error:
        list(open_source(file).read(lambda name: False))
    assert str(error.value).startswith(f"{file}: ")


def test_number_of_members_and_bytes_have_an_end(tmp_path, monkeypatch):
    file = tmp_path / "many.tgz"
    file.write_bytes(gzip.compress(packed({str(i): b"" for i in range(20)})))
    monkeypatch.setattr(limits, "ENTRIES", 10)
    with pytest.raises(DataError, match="more than 10 members"):
        list(open_source(file).read(lambda name: False))
    monkeypatch.undo()
    monkeypatch.setattr(limits, "EXPANSION", (2, 5000))
    with pytest.raises(DataError, match=r"many\.tgz: .*unpacks to more than 5000 bytes"):
        list(open_source(file).read(lambda name: False))
