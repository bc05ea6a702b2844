"""Shows how far a run is: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections import defaultdict
from typing import TextIO

from manifold_oos.engine.plan import Line
from manifold_oos.engine.trial import LineResult
from manifold_oos.metrics import METRICS

#: Seconds between two plain lines.
PLAIN_EVERY = 10.0


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
        """Such as ``SOSI 2.3 · RBF 8.5``, best first."""
        higher = METRICS[self.metric].better == "higher"
        pick = max if higher else min
        means = {
            arm: pick(sum(values) / len(values) for values in groups.values())
            for arm, groups in self._values.items()
        }
        ordered = sorted(means.items(), key=lambda item: item[1], reverse=higher)
        return " · ".join(f"{arm} {value:.3g}" for arm, value in ordered)


class Progress:
    """Silent: the base of the two that show something."""

    def __init__(self, metric: str) -> None:
        self.standing = Standing(metric)
        self.total = self.done = self.failed = 0
        self.started = time.monotonic()

    def start(self, trials: int, reused: int) -> None:
        """Say how much there is to do; ``reused`` lines are in the store."""
        self.total, self.started = trials, time.monotonic()

    def say(self, text: str) -> None:
        """A line about what goes on."""

    def advance(self, lines: list[Line], results: list[LineResult]) -> None:
        """A trial is done."""
        self.done += 1
        by_key = {result.key: result for result in results}
        for line in lines:
            result = by_key.get(line.key)
            if result is not None:
                self.failed += bool(result.error)
                self.standing.add(line, result)
        self.show()

    def show(self) -> None:
        """Bring the display up to date."""

    def close(self) -> None:
        """Leave the terminal as it was."""

    @property
    def rate(self) -> float:
        """Trials per second."""
        return self.done / max(time.monotonic() - self.started, 1e-9)

    @property
    def left(self) -> float:
        """Seconds that the rest takes at this rate."""
        return (self.total - self.done) / self.rate if self.done else float("nan")


class PlainProgress(Progress):
    """A line now and then, for logs."""

    def __init__(self, metric: str, stream: TextIO | None = None) -> None:
        super().__init__(metric)
        self.stream = stream or sys.stderr
        self._last = 0.0

    def start(self, trials: int, reused: int) -> None:
        """Say how much there is to do."""
        super().start(trials, reused)
        self.say(f"{trials} trials to run, {reused} lines are in the store")

    def say(self, text: str) -> None:
        """Print it."""
        print(text, file=self.stream, flush=True)

    def show(self) -> None:
        """Print a line when enough time has passed, and at the end."""
        now = time.monotonic()
        if now - self._last < PLAIN_EVERY and self.done < self.total:
            return
        self._last = now
        left = "" if self.done == self.total else f", {duration(self.left)} left"
        failed = f", {self.failed} failed" if self.failed else ""
        standing = self.standing.text()
        shown = f"  {self.standing.metric}: {standing}" if standing else ""
        self.say(f"{self.done}/{self.total} trials, {self.rate:.1f}/s{left}{failed}{shown}")


class LiveProgress(Progress):
    """A bar with time left and the running means below it."""

    def __init__(self, metric: str) -> None:
        super().__init__(metric)
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
        from rich.text import Text

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        times = (TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        self._bar = Bar(*columns, *times)
        self._task = self._bar.add_task("trials", total=None, rate="")
        self._below = Text("")
        self._live = Live(
            Group(self._bar, self._below), console=Console(stderr=True), refresh_per_second=4, transient=True
        )

    def start(self, trials: int, reused: int) -> None:
        """Show the bar."""
        super().start(trials, reused)
        self._bar.update(self._task, total=trials)
        self._live.start()

    def say(self, text: str) -> None:
        """Print above the bar."""
        self._live.console.print(text, highlight=False, markup=False)

    def show(self) -> None:
        """Bring the bar up to date."""
        rate = f"{self.rate:.1f}/s" + (f", {self.failed} failed" if self.failed else "")
        self._bar.update(self._task, completed=self.done, rate=rate)
        text = self.standing.text()
        self._below.plain = f"{self.standing.metric} so far: {text}" if text else ""

    def close(self) -> None:
        """Take the bar away."""
        self._live.stop()


def make_progress(metric: str, quiet: bool = False) -> Progress:
    """The display for where standard error goes."""
    if quiet:
        return Progress(metric)
    return LiveProgress(metric) if sys.stderr.isatty() else PlainProgress(metric)
