"""Downloads from a real HTTP server on loopback: good, redirected, broken off, wrong; nothing half-written."""

import hashlib
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from manifold_oos.cli import main
from manifold_oos.datasets import fetch, limits, load
from manifold_oos.datasets import specs as specs_module
from manifold_oos.datasets.coil20 import Coil20
from manifold_oos.datasets.files import download_dir
from manifold_oos.datasets.specs import Copy, Spec, Variant
from manifold_oos.errors import DataError


class Server(ThreadingHTTPServer):
    """Serves one archive and can misbehave a number of times."""

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.break_off = 0
        self.silent = False
        self.requests = []

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path == "/moved.zip":
            self.send_response(302)
            self.send_header("Location", "/coil-20-proc.zip")
            self.end_headers()
        elif self.path == "/coil-20-proc.zip":
            content = self.server.content
            self.send_response(200)
            if not self.server.silent:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.server.break_off > 0:
                self.server.break_off -= 1
                self.wfile.write(content[: len(content) // 2])
                self.wfile.flush()
                self.connection.close()
            else:
                self.wfile.write(content)
        else:
            self.send_error(404)

    def log_message(self, *args):
        pass


@pytest.fixture
def online(alone, monkeypatch):
    monkeypatch.delenv("MOOS_OFFLINE")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    return alone


@pytest.fixture
def server(make, online):
    members = {f"coil-20-proc/obj{o}__{v}.png": make.picture(10 * o + v) for o in (1, 2) for v in (0, 1)}
    archive = make.zip(online / "served" / "coil-20-proc.zip", members)
    server = Server(archive.read_bytes())
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def describe(monkeypatch, server):
    """Let coil20 come from the server."""

    def set_copy(path="/coil-20-proc.zip", **facts):
        copy = Copy(files=("coil-20-proc.zip",), folders=("coil-20-proc",), urls=(server.url(path),), **facts)
        spec = Spec(
            title="tiny",
            page="http://127.0.0.1:1/page",
            licence="none",
            reference="none",
            meanwhile="turntable",
            variants={"png": Variant(samples=4, classes=2, copies=(copy,))},
        )
        monkeypatch.setattr(Coil20, "spec", classmethod(lambda cls: spec))
        return copy

    return set_copy


def in_downloads():
    return sorted(path.name for path in download_dir().rglob("*")) if download_dir().exists() else []


@pytest.mark.parametrize("path", ["/coil-20-proc.zip", "/moved.zip"])
def test_good_download_and_redirect(path, server, describe):
    describe(path, sha256=(hashlib.sha256(server.content).hexdigest(),))
    data = load("coil20")
    assert len(data) == 4
    assert in_downloads() == ["coil-20-proc.zip"]
    assert (download_dir() / "coil-20-proc.zip").read_bytes() == server.content
    count = len(server.requests)
    load("coil20", size=(3, 3))
    assert len(server.requests) == count


def test_broken_connection_is_tried_again(server, describe):
    describe(sha256=(hashlib.sha256(server.content).hexdigest(),))
    server.break_off = 2
    assert len(load("coil20")) == 4
    assert len(server.requests) == 3


@pytest.mark.parametrize("known", [True, False])
def test_connection_that_always_breaks(known, server, describe):
    describe(sha256=(hashlib.sha256(server.content).hexdigest(),) if known else ())
    server.break_off = 100
    with pytest.raises(DataError, match=r"download failed: .*broke off") as error:
        load("coil20")
    assert "\n" not in str(error.value)
    assert "built-in turntable" in str(error.value)
    assert "moos data get" not in str(error.value)
    assert len(server.requests) == 1 + fetch.RETRIES
    assert in_downloads() == []


def test_a_host_that_was_not_reached_is_not_asked_again_at_once(server, describe, monkeypatch):
    tries = []
    describe()

    def unreachable(*arguments, **options):
        tries.append(1)
        raise requests.exceptions.ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(requests.Session, "get", unreachable)
        for _ in range(3):
            with pytest.raises(DataError, match=r"download failed: .*no connection to 127"):
                load("coil20")
    assert len(tries) == 1 + fetch.RETRIES
    monkeypatch.setattr(fetch, "AGAIN_SECONDS", 0.0)
    assert len(load("coil20")) == 4


def test_download_of_more_than_the_size_that_is_stated(server, describe):
    describe(bytes=(len(server.content) - 1,))
    with pytest.raises(DataError, match=rf"download failed: .*{len(server.content)} bytes, where at most"):
        load("coil20")
    assert in_downloads() == []
    assert len(server.requests) == 1
    describe(bytes=(len(server.content),))
    assert len(load("coil20")) == 4


def test_download_that_does_not_say_its_size_has_an_end(server, describe, monkeypatch):
    server.silent = True
    describe()
    monkeypatch.setattr(limits, "DOWNLOAD_BYTES", len(server.content) - 1)
    with pytest.raises(DataError, match=rf"download failed: .*more than {len(server.content) - 1} bytes"):
        load("coil20")
    assert in_downloads() == []
    monkeypatch.setattr(limits, "DOWNLOAD_BYTES", len(server.content))
    assert len(load("coil20")) == 4


@pytest.mark.parametrize(
    ("start", "target", "followed"),
    [
        ("https://a.org/x", "https://b.org/y", True),
        ("https://a.org/x", "/y", True),
        ("https://a.org/x", "//b.org/y", True),
        ("http://127.0.0.1:1/x", "http://127.0.0.1:1/y", True),
        ("https://a.org/x", "http://a.org/x", False),
        ("https://a.org/x", "ftp://a.org/x", False),
    ],
)
def test_redirects_do_not_leave_https(start, target, followed):
    response = requests.Response()
    response.status_code, response.url = 302, start
    response.headers["location"] = target
    if followed:
        assert fetch._Session().get_redirect_target(response) == target
    else:
        with pytest.raises(fetch._Refused, match="which is not https"):
            fetch._Session().get_redirect_target(response)


def test_wrong_hash(server, describe):
    describe(sha256=("0" * 64,))
    with pytest.raises(DataError, match=r"download failed: .*another sha256"):
        load("coil20")
    assert in_downloads() == []


def test_wrong_content_where_only_the_fingerprint_is_known(server, describe):
    describe(fingerprint="0" * 64)
    with pytest.raises(DataError, match=r"download failed: .*other content"):
        load("coil20")
    assert in_downloads() == []


def test_what_a_killed_download_left_is_never_read_and_removed_after_a_day(server, describe):
    describe()
    left = download_dir() / ".part-killed"
    left.mkdir(parents=True)
    (left / "coil-20-proc.zip").write_bytes(server.content[:100])
    os.utime(left, (time.time() - 90_000,) * 2)
    assert len(load("coil20")) == 4
    assert in_downloads() == ["coil-20-proc.zip"]


def test_right_fingerprint(server, describe):
    describe()
    fingerprint = load("coil20").fingerprint
    (download_dir() / "coil-20-proc.zip").unlink()
    describe(fingerprint=fingerprint)
    assert load("coil20").fingerprint == fingerprint


def test_a_page_instead_of_the_archive(server, describe):
    server.content = b"<html>please log in</html>"
    describe()
    with pytest.raises(DataError, match=r"download failed: .*not usable"):
        load("coil20")
    assert in_downloads() == []


def test_file_not_found_on_the_server(server, describe):
    describe("/nothing.zip")
    with pytest.raises(DataError, match="the server says 404 Not Found"):
        load("coil20")
    assert in_downloads() == []


def test_no_server(server, describe):
    describe()
    server.shutdown()
    server.server_close()
    with pytest.raises(DataError, match="no connection to 127"):
        load("coil20")
    assert in_downloads() == []


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_offline_never_asks(how, server, describe, monkeypatch):
    describe()
    if how == "environment":
        monkeypatch.setenv("MOOS_OFFLINE", "1")
    with pytest.raises(DataError, match=r"^coil20 \(png\): not found in"):
        load("coil20", offline=True if how == "argument" else None)
    assert server.requests == []


def test_addresses_must_be_https():
    with pytest.raises(ValueError, match="urls"):
        Copy(files=("a.zip",), urls=("http://example.org/a.zip",))
    assert specs_module.spec("coil20").variants["png"].copies[0].urls[0].startswith("https://")


def test_get_command(server, describe, capsys):
    describe()
    with pytest.raises(SystemExit) as status:
        main(["data", "get", "coil20"])
    assert status.value.code == 0
    out = capsys.readouterr()
    assert str(download_dir() / "coil-20-proc.zip") in out.out
    assert "MB" in out.err
    with pytest.raises(SystemExit):
        main(["data", "get", "coil20"])
    assert "already here" in capsys.readouterr().out
    assert len(server.requests) == 1


def test_get_command_for_a_set_on_request(online, capsys):
    with pytest.raises(SystemExit) as status:
        main(["data", "get", "pf01"])
    assert status.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "given out on request" in message
    assert "http://imlab.postech.ac.kr" in message
