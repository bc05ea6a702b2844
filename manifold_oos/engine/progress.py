"""Shows how far a run is: a live bar on a terminal, plain lines elsewhere."""

import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import TextIO

from manifold_oos.engine.plan import Line
from manifold_oos.engine.trial import LineResult
from manifold_oos.metrics import METRICS

#: Seconds between two plain lines.
PLAIN_EVERY = 10.0
#: After so many seconds without a line a plain display says what is being fitted.
QUIET_SECONDS = 30.0
#: Time left is told after so many trials.
TRIALS_TO_JUDGE = 2
#: So many arms fit into a line.
SHOWN_ARMS = 8
#: Extenders with compiled parts.
COMPILED = {"sparse", "sosi"}
Clock = Callable[[], float]
Kind = tuple[tuple[str, str, float, str], ...]


def duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> duration(7.4), duration(135), duration(7320)
    ('7 s', '2 min 15 s', '2 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Standing:
    """The mean of each arm so far, with the grid value that is best so far."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self._values: dict[str, dict[tuple[object, ...], list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, line: Line, result: LineResult) -> None:
        """Take in the rows of a line."""
        for row in result.rows:
            if row["metric"] == self.metric and row["step"] is None:
                self._values[line.arm][line.selection, row["candidate"]].append(row["value"])

    def text(self) -> str:
        """Such as ``SOSI 2.3 · RBF 8.5``, best first; of many arms the best and how many more there are."""
        higher = METRICS[self.metric].better == "higher"
        pick = max if higher else min
        means = {
            arm: pick(sum(values) / len(values) for values in groups.values())
            for arm, groups in self._values.items()
        }
        ordered = sorted(means.items(), key=lambda item: item[1], reverse=higher)
        told = [f"{arm} {value:.3g}" for arm, value in ordered[:SHOWN_ARMS]]
        return " · ".join(told + [f"{len(ordered) - SHOWN_ARMS} more"] * (len(ordered) > SHOWN_ARMS))


def guess_seconds(method: str, known: int, new: int, d: int, n_features: int) -> float:
    """What a method takes on one split, roughly, by its leading terms with constants measured on one core.

    ``method`` is an extender, or a classifier in the space of the data; any other counts as an embedding that maps
    new points by a kernel.

    Examples
    --------
    >>> [round(guess_seconds(name, 1000, 1000, 9, 64), 1) for name in ("normalized_rbf", "lle", "sosi", "svm")]
    [1.2, 0.2, 11.0, 0.1]
    """
    embedding = 1.5e-10 * known**2 * (known + n_features)
    return {
        "normalized_rbf": embedding + 7e-10 * min(known, 1000) ** 3 + 3e-10 * known**3,
        "lle": embedding + 2e-5 * new,
        "sparse": embedding + 1.5e-8 * new * known * n_features,
        "sosi": embedding + 1.5e-10 * d * (known + new) ** 3,
        "nn": 1e-10 * known * new * n_features,
        "svm": 2e-9 * known**2 * n_features,
    }.get(method, embedding + 1e-10 * known**3 + 1e-10 * known * new * n_features)


def compiles(methods: Iterable[str]) -> bool:
    """Whether code of methods is compiled when they are first used, and has never been here."""
    folder = Path(__file__).parents[1] / "numerics" / "compiled"
    kept = not os.access(folder, os.W_OK) or any((folder / "__pycache__").glob("*.nbi"))
    return not kept and not COMPILED.isdisjoint(methods)


@dataclass(frozen=True)
class Expected:
    """A trial to come: what it may take by its size, and the seconds of each line that earlier runs told."""

    lines: tuple[Line, ...]
    guess: float
    costs: tuple[float | None, ...] = (None,)

    @property
    def told(self) -> float | None:
        """Its seconds by earlier runs, None where they do not know every line."""
        return None if None in self.costs else sum(cost or 0.0 for cost in self.costs)


def kind_of(lines: Iterable[Line]) -> Kind:
    """What trials have in common that take equally long."""
    return tuple(line.kind for line in lines)


class TimeLeft:
    """The time of the trials to come: the median of their kind, what earlier runs told, or a guess put to scale."""

    def __init__(self, trials: Sequence[Expected], workers: int) -> None:
        self.workers = workers
        self.waiting = Counter(kind_of(trial.lines) for trial in trials)
        self.trials = {kind_of(trial.lines): trial for trial in trials}
        self.seen: dict[Kind, list[float]] = defaultdict(list)

    def finish(self, lines: Iterable[Line], seconds: float) -> None:
        """A trial is done."""
        kind = kind_of(lines)
        self.waiting[kind] -= 1
        self.seen[kind].append(seconds)

    @property
    def judged(self) -> bool:
        """Whether enough trials are done for the estimate to be near."""
        return sum(map(len, self.seen.values())) >= TRIALS_TO_JUDGE

    @property
    def known(self) -> bool:
        """Whether earlier runs told the time of every kind."""
        return all(trial.told is not None for trial in self.trials.values())

    @property
    def seconds(self) -> float:
        """What is left."""
        guessed = sum(self.trials[kind].guess for kind, times in self.seen.items() if times)
        scale = sum(median_low(times) for times in self.seen.values() if times) / guessed if guessed else 1.0
        return sum(n * self._one(kind, scale) for kind, n in self.waiting.items()) / self.workers

    def _one(self, kind: Kind, scale: float) -> float:
        trial, times = self.trials[kind], self.seen.get(kind)
        if times:
            return median_low(times)  # the first may have compiled
        return trial.told if trial.told is not None else scale * trial.guess


class Underway:
    """What the workers are fitting: each writes the key of its line to a file of its trial, in a common folder."""

    def __init__(self, folder: Path, lines: Iterable[Line]) -> None:
        self.folder, self.lines = folder, {line.key: line for line in lines}

    def place(self, lines: Sequence[Line]) -> str:
        """The file of a trial."""
        return str(self.folder / lines[0].key)

    def finish(self, lines: Sequence[Line]) -> None:
        """A trial is done."""
        Path(self.place(lines)).unlink(missing_ok=True)

    def now(self) -> list[tuple[Line, float]]:
        """Each line that is being fitted, with the seconds since it began."""
        found = []
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else []:
            with suppress(OSError, KeyError):  # a trial that ends now
                found.append((self.lines[path.read_text(encoding="utf-8")], time.time() - path.stat().st_mtime))
        return found


def still_text(underway: Iterable[tuple[Line, float]]) -> str:
    """Such as ``SOSI, digits, size 300 (40 s)``."""
    return "; ".join(f"{one.arm}, {one.dataset}, size {one.size:g} ({duration(age)})" for one, age in underway)


class Progress:
    """Silent: the base of the two that show something."""

    def __init__(self, metric: str, clock: Clock = time.monotonic) -> None:
        self.standing = Standing(metric)
        self.clock = clock
        self.total = self.done = self.failed = 0
        self.started = clock()
        self.left = TimeLeft((), 1)
        self.underway: Callable[[], list[tuple[Line, float]]] = list
        self._closed = threading.Event()

    def start(self, trials: Sequence[Expected], reused: int, workers: int) -> None:
        """Say how much there is to do; ``reused`` lines are in the store."""
        self.total, self.started, self.left = len(trials), self.clock(), TimeLeft(trials, workers)

    def say(self, text: str) -> None:
        """A line about what goes on."""

    def advance(self, lines: Sequence[Line], results: list[LineResult]) -> None:
        """A trial is done."""
        self.done += 1
        self.left.finish(lines, sum(result.seconds for result in results))
        by_key = {result.key: result for result in results}
        for line in lines:
            result = by_key.get(line.key)
            if result is not None:
                self.failed += bool(result.error)
                self.standing.add(line, result)
        self.show()

    def show(self) -> None:
        """Bring the display up to date."""

    def breathe(self) -> None:
        """Show that it is alive; called every second."""

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._closed.set()

    def _watch(self) -> None:
        def watch() -> None:
            while not self._closed.wait(1.0):
                self.breathe()

        threading.Thread(target=watch, daemon=True).start()

    @property
    def rate(self) -> str:
        """Trials per second or minute."""
        rate = self.done / max(self.clock() - self.started, 1e-9)
        return f"{rate:.1f}/s" if rate >= 0.1 else f"{60 * rate:.1f}/min"


class PlainProgress(Progress):
    """A line now and then, for logs."""

    def __init__(self, metric: str, stream: TextIO | None = None, clock: Clock = time.monotonic) -> None:
        super().__init__(metric, clock)
        self.stream = stream or sys.stderr
        self._shown = -PLAIN_EVERY
        self._said = clock()

    def start(self, trials: Sequence[Expected], reused: int, workers: int) -> None:
        """Say how much there is to do and what it may take."""
        super().start(trials, reused, workers)
        self._shown = self.clock() - PLAIN_EVERY
        by = "from earlier runs" if self.left.known else "a guess by size"
        time_ = f"; about {duration(self.left.seconds)} ({by})" if trials else ""
        self.say(f"{len(trials)} trials to run, {reused} lines are in the store{time_}")
        self._watch()

    def say(self, text: str) -> None:
        """Print it."""
        self._said = self.clock()
        print(text, file=self.stream, flush=True)

    def breathe(self) -> None:
        """Say what is being fitted where nothing was said for long."""
        if self.clock() - self._said >= QUIET_SECONDS:
            self.say(f"still on: {still_text(self.underway()) or f'{self.total - self.done} trials'}")

    def show(self) -> None:
        """Print a line when enough time has passed, and at the end."""
        if self.clock() - self._shown < PLAIN_EVERY and self.done < self.total:
            return
        self._shown = self.clock()
        told = self.left.judged and self.done < self.total
        left = f", {duration(self.left.seconds)} left" if told else ""
        failed = f", {self.failed} failed" if self.failed else ""
        standing = self.standing.text()
        shown = f"  {self.standing.metric}: {standing}" if standing else ""
        self.say(f"{self.done}/{self.total} trials, {self.rate}{left}{failed}{shown}")


class LiveProgress(Progress):
    """A bar with time left and, below it, what is being fitted and the running means."""

    def __init__(self, metric: str) -> None:
        super().__init__(metric)
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
        from rich.text import Text

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        times = (TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        self._bar = Bar(*columns, *times)
        self._task = self._bar.add_task("trials", total=None, rate="", left="")
        self._on, self._below = Text(""), Text("")
        self._live = Live(
            Group(self._bar, self._on, self._below),
            console=Console(stderr=True),
            refresh_per_second=4,
            transient=True,
        )

    def start(self, trials: Sequence[Expected], reused: int, workers: int) -> None:
        """Show the bar."""
        super().start(trials, reused, workers)
        self._bar.update(self._task, total=len(trials), left=f"about {duration(self.left.seconds)}")
        self._live.start()
        self._watch()

    def say(self, text: str) -> None:
        """Print above the bar."""
        self._live.console.print(text, highlight=False, markup=False)

    def breathe(self) -> None:
        """Tell what is being fitted."""
        now = still_text(self.underway())
        self._on.plain = f"on: {now}" if now else ""

    def show(self) -> None:
        """Bring the bar up to date."""
        rate = self.rate + (f", {self.failed} failed" if self.failed else "")
        left = f"{duration(self.left.seconds)} left" if self.left.judged else ""
        self._bar.update(self._task, completed=self.done, rate=rate, left=left)
        text = self.standing.text()
        self._below.plain = f"{self.standing.metric} so far: {text}" if text else ""

    def close(self) -> None:
        """Take the bar away."""
        super().close()
        self._live.stop()


def make_progress(metric: str, quiet: bool = False) -> Progress:
    """The display for where standard error goes."""
    if quiet:
        return Progress(metric)
    return LiveProgress(metric) if sys.stderr.isatty() else PlainProgress(metric)
