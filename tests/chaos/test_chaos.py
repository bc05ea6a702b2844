"""Kills, full disks and lost files: the same bytes afterwards, nothing doubled, no process or folder left behind.

``MOOS_CHAOS=100`` (``make chaos``) kills a hundred times; CI does it a few times.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from manifold_oos.cli import main
from manifold_oos.engine import executors, runner
from manifold_oos.engine.progress import Progress
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import MoosError

KILLS = int(os.environ.get("MOOS_CHAOS", "10"))
RUN = [sys.executable, "-m", "manifold_oos", "run", "mine.yaml", "--workers", "2", "--out"]
TIMES = "('fit_seconds', 'select_seconds', 'milliseconds_per_sample')"
SEMAPHORES = Path("/dev/shm")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture
def slow(small):
    """Trials of some 50 ms, so that a kill meets one."""
    small["arms"]["slow"] = {
        "embedding": "fake_methods:Slow",
        "extender": "fake_methods:Shift",
        "classifier": "fake_methods:NN",
    }
    return small


def rows(root):
    """Every stored number in a fixed order, without times."""
    with sqlite3.connect(Path(root) / "store.sqlite") as connection:
        query = f"select line, n_components, step, candidate, metric, value from rows where metric not in {TIMES}"
        return sorted(connection.execute(query).fetchall(), key=repr)


def progress(root):
    """How many rows a running campaign has stored."""
    try:
        with closing(sqlite3.connect(f"file:{Path(root) / 'store.sqlite'}?mode=ro", uri=True)) as connection:
            return connection.execute(f"select count(*) from rows where metric not in {TIMES}").fetchone()[0]
    except sqlite3.Error:
        return 0


def children(process):
    """All processes below one, by /proc; empty where there is none."""
    found, waiting = [], [process]
    while waiting:
        task = Path(f"/proc/{waiting.pop()}/task")
        for file in task.glob("*/children") if task.exists() else ():
            below = [int(number) for number in file.read_text().split()]
            found += below
            waiting += below
    return found


def works(process):
    """Whether it is a worker, not loky's own bookkeeper of semaphores, which says when it was killed."""
    try:
        return b"popen_loky" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def alive(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def code_of(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return stop.value.code or 0


def gone(processes, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(map(alive, processes)):
        time.sleep(0.05)
    return not any(map(alive, processes))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes through /proc")
def test_kills_of_driver_worker_and_group(bench, slow, monkeypatch):
    temporary = bench.folder / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    slow["split"]["repetitions"] = 15
    bench.write(slow)
    assert subprocess.run([*RUN, "whole"], check=False, capture_output=True).returncode == 0
    whole = rows("whole")
    chance = random.Random(7)
    hits, drivers = Counter(), []
    while hits.total() < KILLS:
        shutil.rmtree("killed", ignore_errors=True)
        code = None
        while code != 0:
            for part in Path("killed").rglob(".part-*"):
                os.utime(part, (0, 0))  # such files are swept after a day
            starting = chance.random() < 0.25
            moment = 0 if starting else chance.randint(progress("killed"), len(whole))
            process = subprocess.Popen(
                [*RUN, "killed"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                text=True,
            )
            drivers.append(process.pid)
            who = ("driver", "worker", "group", "term")[hits.total() % 4]
            killing = hits.total() < KILLS
            below, workers = [], []
            while killing and process.poll() is None:
                below = children(process.pid)
                workers = [number for number in below if works(number)]
                if progress("killed") >= moment and (workers or who != "worker"):
                    time.sleep(chance.uniform(0, 1.5 if starting else 0.3))
                    below += children(process.pid)
                    break
                time.sleep(0.02)
            if killing and process.poll() is None and (who != "worker" or workers):
                if who == "driver":
                    process.kill()
                elif who == "group":
                    os.killpg(process.pid, signal.SIGKILL)
                elif who == "term":
                    process.terminate()
                else:
                    with suppress(ProcessLookupError):  # it has just ended
                        os.kill(chance.choice(workers), signal.SIGKILL)
                count = progress("killed")
                when = "between" if 0 < count < len(whole) else "after the last" if count else "before the first"
                hits[who, when] += 1
            _, errors = process.communicate(timeout=1800)
            code = process.returncode
            assert gone(below), f"{who}: processes left behind"
            assert "Traceback" not in errors, errors
            if who == "term" and code not in (0, 143):
                assert code == -signal.SIGTERM  # it came before the run began
            if code == 143:
                assert "To resume" in errors or "moos: interrupted" in errors  # before its first trial
        assert rows("killed") == whole
        with Store("killed") as store:
            assert store.connection.execute("pragma integrity_check").fetchone()[0] == "ok"
        # What killed drivers leave is swept by the next one that starts.
        assert not list(temporary.iterdir())
        assert not [name for pid in drivers for name in SEMAPHORES.glob(f"sem.loky-{pid}-*")]
        assert not list(Path("killed").rglob(".part-*"))
    for (who, when), count in sorted(hits.items()):
        print(f"{count} kills of {who} {when} of {len(whole)} rows")
    assert {who for who, _ in hits} == {"driver", "worker", "group", "term"}
    assert "between" in {when for _, when in hits}


@pytest.mark.parametrize("how", ["removed", "moved with its folder"])
def test_store_lost_during_a_run(bench, slow, how):
    bench.write(slow)
    process = subprocess.Popen([*RUN, "out"], stderr=subprocess.PIPE, text=True)
    store = Path("out/store.sqlite")
    while process.poll() is None:
        time.sleep(0.05)
        if store.exists():
            with sqlite3.connect(store) as connection:
                done = connection.execute("select count(*) from sqlite_master where name = 'done'").fetchone()[0]
                if done and connection.execute("select count(*) from done").fetchone()[0] > 3:
                    store.unlink() if how == "removed" else Path("out").rename("elsewhere")
                    break
    _, errors = process.communicate(timeout=1800)
    assert process.returncode == 2 and "removed or replaced during the run" in errors and "Traceback" not in errors
    (rescue,) = Path("out").glob("rescue-*.sqlite")
    with sqlite3.connect(rescue) as connection:
        assert connection.execute("select count(*) from done").fetchone()[0] > 3
    rescue.rename(store)
    again = subprocess.run([*RUN, "out"], check=False, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr


def test_store_lost_at_the_end_of_a_run(bench, small, monkeypatch, capsys):
    class Loses(Progress):
        def close(self):
            super().close()
            Path("results/store.sqlite").unlink()

    with pytest.raises(MoosError, match="removed or replaced during the run"):
        bench.run(small, progress=Loses("misclassification_rate"))
    (rescue,) = Path("results").glob("rescue-*.sqlite")
    rescue.rename("results/store.sqlite")
    assert bench.run(small).computed == 0

    def loses(*arguments, **options):
        summary = run_experiment(*arguments, **options)
        Path("results/store.sqlite").unlink()
        return summary

    monkeypatch.setattr(runner, "run_experiment", loses)
    assert code_of("run", "mine.yaml", "--workers", "1", "--quiet") == 2
    assert "removed at the end of the run" in capsys.readouterr().err and not Path("results/store.sqlite").exists()


def test_a_store_that_was_put_in_the_place_of_another_stays_as_it_is(tmp_path):
    """The write-ahead log of the lost file lies beside it, and SQLite would take it for its own."""
    with Store(tmp_path / "other") as store:
        store.put_choice("theirs", "1")
        store.compact()
    with Store(tmp_path / "here") as store:
        for number in range(100):
            store.put_choice(f"ours {number}", "x" * 100)
        shutil.copy(tmp_path / "other" / "store.sqlite", tmp_path / "copy")
        (tmp_path / "copy").replace(store.path)
        with pytest.raises(MoosError, match="removed or replaced during the run"):
            store.check_present()
    with Store(tmp_path / "here") as store:
        assert store.choice("theirs") == "1" and store.choice("ours 0") is None
    (rescue,) = (tmp_path / "here").glob("rescue-*.sqlite")
    with sqlite3.connect(rescue) as connection:
        assert connection.execute("select count(*) from choices").fetchone() == (100,)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("size", ["64k", "160k"])
def test_full_disk(bench, slow, size):
    bench.write(slow)
    disk = bench.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=False).returncode:
        pytest.skip("no tmpfs here")
    try:
        result = subprocess.run([*RUN, str(disk / "out")], check=False, capture_output=True, text=True)
        assert result.returncode == 2 and "Traceback" not in result.stderr, result.stderr
        assert "disk is full" in result.stderr or "No space left" in result.stderr, result.stderr
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        result = subprocess.run([*RUN, str(disk / "out")], check=False, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")
def test_results_on_a_disk_that_cannot_be_written_are_shown(bench, slow, capsys):
    bench.write(slow)
    disk = bench.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=False).returncode:
        pytest.skip("no tmpfs here")
    try:
        assert subprocess.run([*RUN, str(disk / "out")], check=False, capture_output=True).returncode == 0
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with Store(disk / "out") as store:
            assert store.connection.execute("select count(*) from rows").fetchone()[0] > 10
            with pytest.raises(MoosError, match="cannot be written"):
                store.put_choice("a", "b")
        result = subprocess.run([*RUN, str(disk / "out"), "--fresh"], check=False, capture_output=True, text=True)
        assert result.returncode == 2 and "Traceback" not in result.stderr, result.stderr
        assert code_of("table", "mine.yaml", "--out", str(disk / "out")) == 0
        said = capsys.readouterr()
        assert "ambient" in said.out and "cannot be written: its tables are shown only" in said.err
        assert code_of("plot", "mine.yaml", "--out", str(disk / "out")) == 2
        assert code_of("report", str(disk / "out" / "mine"), "--out", "page.html") == 0
        assert "ambient" in Path("page.html").read_text(encoding="utf-8")
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.fixture
def stored(bench, small):
    bench.run(small)
    return bench.folder / "results" / "store.sqlite"


def test_a_damaged_store_is_told_and_repaired(stored, bench, small):
    with sqlite3.connect(stored) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    before = rows("results")
    data = bytearray(stored.read_bytes())
    page = 4096
    for number in range(len(data) // page - 2, len(data) // page):
        data[number * page : (number + 1) * page] = os.urandom(page)
    stored.write_bytes(data)
    command = [sys.executable, "-m", "manifold_oos", "store"]
    checked = subprocess.run([*command, "check"], check=False, capture_output=True, text=True)
    assert checked.returncode == 2 and "moos store repair" in checked.stderr and "Traceback" not in checked.stderr
    mended = subprocess.run([*command, "repair"], check=False, capture_output=True, text=True)
    assert mended.returncode == 0, mended.stderr
    assert subprocess.run([*command, "check"], check=False, capture_output=True).returncode == 0
    assert list(stored.parent.glob("store.sqlite.damaged-*"))
    bench.run(small)
    assert rows("results") == before


@pytest.mark.parametrize("seed", range(12))
def test_a_store_damaged_anywhere_is_shown_right_or_refused_in_one_line(stored, capsys, seed):
    with sqlite3.connect(stored) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    commands = [
        ("table", "mine.yaml"),
        ("report", "mine.yaml"),
        ("store", "check"),
        ("run", "mine.yaml", "--quiet"),
    ]

    def told(*arguments):
        return code_of(*arguments), capsys.readouterr()

    right = told("table", "mine.yaml")[1].out
    chance, data = random.Random(seed), bytearray(stored.read_bytes())
    kind = ("flip", "zero", "cut", "page")[seed % 4]
    if kind == "cut":
        del data[chance.randrange(100, len(data)) :]
    for _ in range(3):
        at = chance.randrange(0, len(data) - 1)
        if kind == "flip":
            data[at] ^= 1 << chance.randrange(8)
        elif kind == "zero":
            data[at : at + 64] = bytes(len(data[at : at + 64]))
        elif kind == "page":
            start = at // 4096 * 4096
            data[start : start + 4096] = chance.randbytes(len(data[start : start + 4096]))
    for command in commands:
        stored.write_bytes(data)
        for ending in ("-wal", "-shm"):
            stored.with_name(stored.name + ending).unlink(missing_ok=True)
        code, said = told(*command)
        assert code in (0, 2) and "Traceback" not in said.err, said.err
        assert code == 0 or len(said.err.strip().splitlines()) == 1, said.err
        if code == 0 and command[0] == "table" and kind in ("cut", "page"):  # a bit of a number may flip unseen
            assert said.out == right


def test_a_newer_store_and_a_foreign_one(stored, bench, small):
    with sqlite3.connect(stored) as connection:
        connection.execute("pragma user_version = 99")
    with pytest.raises(MoosError, match="newer version"):
        bench.run(small)
    with sqlite3.connect(stored) as connection:
        connection.execute("pragma user_version = 2")
        connection.execute("alter table rows rename column value to worth")
    with pytest.raises(MoosError, match="tables are not those of version"), Store("results") as store:
        store.rows(bench.run(small).plan)


def test_an_older_store_is_brought_up(stored, bench, small):
    with sqlite3.connect(stored) as connection:
        connection.execute("pragma user_version = 0")
    assert bench.run(small).computed == 0
    with sqlite3.connect(stored) as connection:
        assert connection.execute("pragma user_version").fetchone()[0] == 2


def test_compact(stored):
    with sqlite3.connect(stored) as connection:
        connection.executemany("insert into choices values (?, ?)", [(str(i), "x" * 1000) for i in range(2000)])
        connection.execute("delete from choices")
    with Store("results") as store:
        before, after = store.compact()
    assert after < before / 2 and rows("results")


def test_what_killed_drivers_left_is_swept_and_nothing_of_the_living(bench, small, tmp_path_factory, monkeypatch):
    temporary = tmp_path_factory.mktemp("tmp")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    kept, swept = [temporary / f"moos-{os.getpid()}-a", temporary / "moos-other"], []
    for folder in (*kept, temporary / f"moos-{process.pid}-a"):
        folder.mkdir()
        (folder / "1.npy").touch()
    swept.append(temporary / f"moos-{process.pid}-a")
    if SEMAPHORES.is_dir():
        (SEMAPHORES / f"sem.loky-{process.pid}-a").touch()
        swept.append(SEMAPHORES / f"sem.loky-{process.pid}-a")
    for place in (bench.folder / "results" / "mine", bench.folder / "results" / "mine" / "failures"):
        place.mkdir(parents=True)
        kept.append(place / ".part-new")
        swept.append(place / ".part-old")
        kept[-1].touch()
        swept[-1].touch()
        os.utime(swept[-1], (0, 0))
    bench.run(small)
    assert all(path.exists() for path in kept) and not any(path.exists() for path in swept)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks at processes through /proc")
def test_workers_without_work_end_and_others_take_their_place(monkeypatch):
    monkeypatch.setattr(executors, "IDLE_SECONDS", 1)
    executor = executors.LocalProcesses(2)
    calls = [(os.getpid, ())] * 4
    workers = {process for _, process in executor.map(calls)}
    assert gone(workers)
    again = {process for _, process in executor.map(calls)}
    assert again and not again & workers
    executor.close()
    assert gone(again)
