"""Files appear whole or not at all."""

import os

import pytest

from manifold_oos.atomic import atomic, write_text


def test_a_file_is_replaced_as_a_whole_and_may_be_read_by_others(tmp_path):
    path = tmp_path / "deep" / "table.csv"
    before = os.umask(0o022)
    try:
        write_text(path, "old\n")
        assert write_text(path, "π\n").read_bytes() == "π\n".encode()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644
    assert [item.name for item in path.parent.iterdir()] == ["table.csv"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_text(tmp_path / "table.csv", "old")
    with pytest.raises(KeyboardInterrupt), atomic(path) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and [item.name for item in tmp_path.iterdir()] == ["table.csv"]
