"""Runs: the same bits for any workers, for Dask, and after a kill; failures, locks, archives, interrupts."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from manifold_oos.engine.plan import make_plan
from manifold_oos.engine.runner import estimate, run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import ConfigError, DataError, MoosError


@pytest.fixture
def rich(small):
    """Grids, iterations, random methods and batch metrics: everything whose order could matter."""
    small["arms"] |= {
        "T": {
            "embedding": {"name": "fake_methods:Slice", "n_components": {"grid": [1, 2, 4]}},
            "extender": {"name": "fake_methods:Shift", "amount": {"grid": [0.0, 1.0]}},
            "classifier": "fake_methods:NN",
        },
        "J": {"embedding": "fake_methods:Joint", "classifier": "fake_methods:NN"},
        "D": {"embedding": "fake_methods:Deadly", "extender": "fake_methods:Shift", "classifier": "nn"},
        "K": {
            "embedding": "fake_methods:Slice",
            "extender": "fake_methods:Knowing",
            "classifier": "fake_methods:NN",
        },
        "SOSI": {
            "embedding": {"name": "suplap", "n_components": 3},
            "extender": {"name": "sosi", "n_iterations": 3},
            "classifier": "fake_methods:NN",
        },
    }
    small["datasets"].append({"name": "digits", "per_class": 12, "classes": 4})
    small["selection"] = ["train_only", "best"]
    small["cv"] = {"repeats": 2}
    small["metrics"] = ["misclassification_rate", "alignment_statistic", "sigma"]
    return small


def bits(frame):
    """Every value of every column, floats by their bits."""
    return frame.assign(value=[value.hex() for value in frame["value"]]).astype(str).to_csv()


def test_same_bits_for_any_number_of_workers_and_for_dask_with_a_lost_one(bench, rich):
    pytest.importorskip("distributed")
    found = {}
    for name, options in {
        "one": {"workers": 1},
        "two": {"workers": 2},
        "four": {"workers": 4},
        "dask": {"workers": 2, "scheduler": "local"},
    }.items():
        if name == "dask":
            (bench.folder / "deadly").touch()  # the arm D kills the first worker that meets it
        summary = bench.run(rich, out=name, **options)
        assert not summary.failed
        found[name] = bits(bench.rows(summary, out=name))
    assert not (bench.folder / "deadly").exists()
    assert found["one"].count("\n") > 300
    assert found["one"] == found["two"] == found["four"] == found["dask"]


def test_killed_and_resumed(bench, rich, monkeypatch):
    whole = bits(bench.rows(bench.run(rich, out="whole"), out="whole"))
    bench.write(rich)
    monkeypatch.setenv("MOOS_SLOW", "0")
    code = (
        "from manifold_oos.config.load import load_config\n"
        "from manifold_oos.engine.runner import run_experiment\n"
        "run_experiment(load_config('mine.yaml'), 'killed', 1)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    done = 0
    while process.poll() is None and done < 5:
        time.sleep(0.02)
        if (bench.folder / "killed" / "store.sqlite").exists():
            with Store("killed") as store:
                done = store.connection.execute("select count(distinct line) from done").fetchone()[0]
    process.send_signal(signal.SIGKILL)
    process.wait()
    bench.forget()
    summary = bench.run(rich, out="killed")
    assert summary.reused >= 5 and summary.computed >= 1
    assert bits(bench.rows(summary, out="killed")) == whole


def test_a_second_start_does_nothing(bench, small):
    assert bench.run(small).computed == 18
    bench.forget()
    again = bench.run(small, workers=2)
    assert (again.trials, again.computed, again.reused) == (0, 0, 18)
    assert not bench.fits


def test_fresh_archives_and_never_deletes(bench, small):
    first = bench.run(small)
    rows = bench.rows(first)
    (first.folder / "table.md").write_text("old table")
    other = run_experiment(bench.load(dict(small, split={"train_per_class": 2, "repetitions": 2}), name="b.yaml"))
    bench.forget()
    summary = bench.run(small, fresh=True)
    assert summary.computed == 18 and bench.count("embedding") == 6
    assert summary.archived is not None and summary.archived.parent.name == "archive"
    assert (summary.archived / "table.md").read_text() == "old table"
    assert not (summary.folder / "table.md").exists()
    with Store(summary.archived) as store:
        plan = make_plan(bench.load(small), known=store.facts())
        assert store.rows(plan).equals(rows)
    assert bench.rows(summary).equals(rows)
    assert len(bench.rows(other)) == 6
    assert bench.run(small, fresh=True).archived != summary.archived


def test_a_failing_line_is_recorded_and_retried(bench, small):
    small["arms"]["bad"] = {
        "embedding": small["arms"]["A"]["embedding"],
        "extender": "fake_methods:Failing",
        "classifier": "fake_methods:NN",
    }
    (bench.folder / "broken").touch()
    summary = bench.run(small)
    assert len(summary.failed) == 6 and summary.computed == 18
    assert {line.arm for line, _ in summary.failed} == {"bad"}
    with Store("results") as store:
        failures = store.failures(summary.plan)
    assert set(failures["arm"]) == {"bad"}
    assert failures["message"].iloc[0] == "ArithmeticError: the file broken exists"
    text = (bench.folder / failures["file"].iloc[0]).read_text()
    assert "Traceback" in text and "fake_methods.py" in text
    (bench.folder / "broken").unlink()
    again = bench.run(small)
    assert (again.computed, again.reused, again.failed) == (6, 18, [])
    with Store("results") as store:
        assert store.failures(again.plan).empty


def test_fail_fast_stops(bench, small):
    small["arms"] = {"bad": small["arms"]["A"] | {"extender": "fake_methods:Failing"}}
    (bench.folder / "broken").touch()
    assert len(bench.run(small, fail_fast=True).failed) == 1


def test_a_lost_worker_is_replaced(bench, small):
    small["arms"]["A"]["embedding"] = {"name": "fake_methods:Deadly", "n_components": 3}
    (bench.folder / "deadly").touch()
    summary = bench.run(small, workers=2)
    assert not (bench.folder / "deadly").exists()
    assert not summary.failed and summary.computed == 18


def test_the_same_experiment_twice_at_once(bench, small):
    small["arms"]["A"]["embedding"] = {"name": "fake_methods:Slow", "n_components": 3}
    bench.write(small)
    environment = os.environ | {"MOOS_SLOW": "30"}
    command = [
        sys.executable,
        "-c",
        "from manifold_oos.cli import main; main()",
        "run",
        "mine.yaml",
        "--workers",
        "1",
    ]
    process = subprocess.Popen([*command, "--workers", "1"], env=environment, stderr=subprocess.DEVNULL)
    lock = bench.folder / "results" / "mine" / ".lock"
    while not (lock.exists() and lock.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    with pytest.raises(MoosError, match=f"mine is already running \\(process {process.pid} on"):
        bench.run(small)
    process.kill()
    process.wait()
    assert lock.read_text()
    assert bench.run(small).computed == 18


def slow_run(bench, small):
    """A run with two workers that would take hours, in a group of its own."""
    small["arms"]["A"]["embedding"] = {"name": "fake_methods:Slow", "n_components": 3}
    bench.write(small)
    command = [sys.executable, "-c", "from manifold_oos.cli import main; main()"]
    command += ["run", "mine.yaml", "--workers", "2"]
    environment = os.environ | {"MOOS_SLOW": "7200"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)


def test_ctrl_c_stops_cleanly_and_says_how_to_resume(bench, small):
    process = slow_run(bench, small)
    while not bench.fits:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=1800)  # it does not wait for its trials
    assert process.returncode == 130
    assert "To resume: moos run mine.yaml" in errors and "Traceback" not in errors
    assert bench.run(small).reused >= 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_workers_are_deaf_to_ctrl_c_from_their_first_moment_on(bench, small):
    """While they import they could only answer it with a traceback."""

    def deaf(worker):
        lines = dict(line.split(":", 1) for line in Path(f"/proc/{worker}/status").read_text().splitlines())
        return any(int(lines[name], 16) & 1 << signal.SIGINT - 1 for name in ("SigBlk", "SigIgn"))

    process = slow_run(bench, small)
    seen = {}
    while not bench.fits:
        assert process.poll() is None
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            for worker in (task / "children").read_text().split():
                with suppress(OSError):
                    seen.setdefault(worker, []).append(deaf(worker))
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=1800)[1]
    assert process.returncode == 130 and "Traceback" not in errors
    assert len(seen) >= 2 and all(all(heard) for heard in seen.values())


def test_estimate_learns_from_the_store(bench, small):
    experiment = bench.load(small)
    with Store("results") as store:
        found = estimate(store, make_plan(experiment), 2)
    assert (found.trials, found.lines, found.rows, found.reused) == (12, 18, 18, 0)
    assert found.seconds is None and found.unknown == 18
    bench.run(small)
    more = bench.load(small, "split.repetitions=5", "metrics=[misclassification_rate, parameter_r2]")
    with Store("results") as store:
        found = estimate(store, make_plan(more), 1)
    assert (found.lines, found.unknown) == (30, 0)
    assert found.rows == 12 * 2 + 18
    assert 0 < found.seconds < 5


def test_estimate_counts_grid_points(bench, small):
    small["arms"] = {"A": small["arms"]["A"]}
    small["arms"]["A"]["extender"] = {"name": "fake_methods:Shift", "amount": {"grid": [0.0, 1.0, 2.0]}}
    with Store("results") as store:
        best = estimate(store, make_plan(bench.load(small, "selection=[best, train_only]")), 1)
    assert best.rows == 6 * 3 + 6
    summary = bench.run(small, "selection=[best, train_only]")
    assert len(bench.rows(summary)) == best.rows


def test_missing_data_stop_the_run_unless_skipped(bench, small):
    small["datasets"].append({"name": "pf01"})
    with pytest.raises(DataError, match="pf01"):
        bench.run(small, offline=True)
    assert not (bench.folder / "results").exists()
    summary = bench.run(small, offline=True, skip_missing=True)
    assert summary.computed == 18 and "pf01" in summary.plan.absent


def test_wrong_numbers_of_workers_and_schedulers(bench, small, monkeypatch):
    monkeypatch.setattr("manifold_oos.engine.executors.CONNECT_SECONDS", 0.5)
    with pytest.raises(ConfigError, match="--workers 0"):
        bench.run(small, workers=0)
    with pytest.raises(ConfigError, match="no Dask scheduler answers"):
        bench.run(small, scheduler="tcp://127.0.0.1:1")


def test_arms_for_some_data_sets_only(bench, small):
    small["datasets"].append({"name": "fake_methods:Blobs", "label": "wide", "spread": 3.0})
    small["arms"]["A"]["datasets"] = ["wide"]
    rows = bench.rows(bench.run(small))
    assert set(rows[rows["arm"] == "A"]["dataset"]) == {"wide"}
    assert set(rows[rows["arm"] == "B"]["dataset"]) == {"blobs", "wide"}


def test_plain_progress_tells_trials_rate_time_left_and_means(bench, small, capsys):
    from manifold_oos.engine.progress import PlainProgress

    bench.run(small, progress=PlainProgress("misclassification_rate"))
    text = capsys.readouterr().err
    first, second, *_ = text.splitlines()
    assert re.fullmatch(r"12 trials to run, 0 lines are in the store; about .* \(a guess by size\)", first)
    assert second.startswith("1/12 trials, ") and "misclassification_rate: " in second and " left" not in second
    assert "12/12 trials" in text and "A " in text.splitlines()[-1]


def test_live_progress_shows_a_bar(bench, small, capsys):
    from manifold_oos.engine.progress import LiveProgress

    progress = LiveProgress("misclassification_rate")
    progress._live.console.file = sys.stderr
    bench.run(small, progress=progress)
    assert progress._bar.tasks[0].completed == 12
    assert progress._below.plain.startswith("misclassification_rate so far: ")
