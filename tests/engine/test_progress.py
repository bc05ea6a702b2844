"""Time left from finished trials, and a sign of life inside a long one, with a clock of our own."""

import io
import os
import time
from pathlib import Path

import pytest

from manifold_oos.engine import progress
from manifold_oos.engine.plan import Line
from manifold_oos.engine.progress import Expected, PlainProgress, TimeLeft, Underway, compiles, guess_seconds
from manifold_oos.engine.trial import LineResult


def line(arm: str, repetition: int = 0, size: float = 300) -> Line:
    return Line(f"{arm}{size:g}-{repetition}", arm, "digits", size, repetition, "fixed")


def trial(arm: str, repetition: int = 0, guess: float = 1.0, told: float | None = None) -> Expected:
    return Expected((line(arm, repetition),), guess, (told,))


@pytest.fixture(autouse=True)
def no_thread(monkeypatch):
    """Only a test itself lets time pass."""
    monkeypatch.setattr(PlainProgress, "_watch", lambda self: None)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def done(progress: PlainProgress, expected: Expected, seconds: float) -> None:
    (one,) = expected.lines
    row = {"metric": "misclassification_rate", "step": None, "candidate": "{}", "value": 4.0}
    progress.advance([one], [LineResult(one.key, rows=[row], seconds=seconds)])


def test_a_kind_that_was_seen_takes_its_own_time_and_others_a_guess_put_to_scale():
    slow, quick = [trial("SOSI", i, guess=10) for i in range(3)], [trial("NN", i, guess=1) for i in range(3)]
    left = TimeLeft([*slow, *quick], workers=1)
    left.finish(slow[0].lines, 40.0)  # four times as long as guessed
    assert left.seconds == pytest.approx(2 * 40 + 3 * 4) and not left.judged
    left.finish(quick[0].lines, 0.5)
    assert left.seconds == pytest.approx(2 * 40 + 2 * 0.5) and left.judged


def test_a_first_trial_that_compiled_does_not_count_for_the_others():
    kind, other = [trial("sparse", i, guess=1.0) for i in range(12)], [trial("LLE", i, guess=1.0) for i in range(5)]
    left = TimeLeft([*kind, *other], workers=1)
    left.finish(kind[0].lines, 130.0)
    left.finish(kind[1].lines, 2.0)
    assert left.seconds == 10 * 2 + 5 * 2


def test_what_earlier_runs_told_is_taken_and_workers_share_it():
    trials = [trial("SOSI", i, guess=1.0, told=30.0) for i in range(4)]
    left = TimeLeft(trials, workers=2)
    assert left.seconds == 60.0 and left.known


def test_no_estimate_before_two_trials_and_a_near_one_then():
    """A large trial first and many small ones after it: a mean over trials would say ten times too much."""
    clock, stream = Clock(), io.StringIO()
    progress = PlainProgress("misclassification_rate", stream, clock)
    big, small = trial("SOSI", guess=100.0), [trial("NN", i, guess=1.0) for i in range(20)]
    progress.start([big, *small], 0, workers=1)
    clock.now = 100.0
    done(progress, big, 100.0)
    assert "left" not in stream.getvalue().splitlines()[-1]
    clock.now = 111.0
    done(progress, small[0], 1.0)
    assert (
        stream.getvalue().splitlines()[-1].startswith("2/21 trials, 1.1/min, 19 s left  misclassification_rate: ")
    )
    progress.close()


def test_a_plain_line_every_thirty_seconds_says_what_is_being_fitted():
    clock, stream = Clock(), io.StringIO()
    progress = PlainProgress("misclassification_rate", stream, clock)
    progress.underway = lambda: [(line("SOSI"), clock.now)]
    progress.start([trial("SOSI")], 0, workers=1)
    for second in range(1, 71):
        clock.now = float(second)
        progress.breathe()
    progress.close()
    assert stream.getvalue().splitlines()[1:] == [
        "still on: SOSI, digits, size 300 (30 s)",
        "still on: SOSI, digits, size 300 (1 min 0 s)",
    ]


def test_a_line_tells_the_best_of_many_arms_and_counts_the_others():
    stream = io.StringIO()
    shown = PlainProgress("misclassification_rate", stream, Clock())
    trials = [trial(f"arm {i}") for i in range(11)]
    shown.start(trials, reused=0, workers=1)
    for i, expected in enumerate(trials):
        row = {"metric": "misclassification_rate", "step": None, "candidate": "{}", "value": 20.0 - i}
        shown.advance(expected.lines, [LineResult(expected.lines[0].key, rows=[row], seconds=1.0)])
    last = stream.getvalue().splitlines()[-1]
    assert "arm 10 10 · arm 9 11 · " in last and last.endswith("arm 3 17 · 3 more")


def test_workers_tell_by_a_file_which_line_they_fit(tmp_path):
    lines = [line("RBF"), line("SOSI")]
    underway = Underway(tmp_path, lines)
    place = Path(underway.place(lines))
    place.write_text("SOSI300-0")
    os.utime(place, (time.time() - 40,) * 2)
    ((found, age),) = underway.now()
    assert found.arm == "SOSI" and 39 < age < 45
    (tmp_path / "other").write_text("half wri")
    assert len(underway.now()) == 1
    underway.finish(lines)
    assert underway.now() == []


def test_a_run_leaves_a_word_of_every_line_and_no_folder(bench, small, monkeypatch):
    told = []
    monkeypatch.setattr("manifold_oos.engine.trial._tell", lambda place, key: told.append((place, key)))
    bench.run(small)
    assert len(told) == len(set(told)) > 1 and not any(Path(place).parent.exists() for place, _ in told)


def test_larger_trials_are_guessed_to_take_longer():
    for name in ("normalized_rbf", "rbf", "lle", "sparse", "sosi", "nn", "svm", ""):
        assert 0 < guess_seconds(name, 100, 100, 9, 64) < guess_seconds(name, 1000, 1000, 9, 64) < 600


def test_what_is_compiled_first_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "__file__", str(tmp_path / "engine" / "progress.py"))
    kept = tmp_path / "numerics" / "compiled" / "__pycache__"
    kept.mkdir(parents=True)
    assert compiles(["lle", "sparse"]) and not compiles(["lle"])
    (kept / "l1_simplex.pivot-267.py311.nbi").touch()
    assert not compiles(["lle", "sparse"])
