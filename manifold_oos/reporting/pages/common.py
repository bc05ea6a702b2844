"""What the pages share: run an experiment or read what is there of it, and put text between markers."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from manifold_oos.config.model import Experiment
from manifold_oos.engine.progress import make_progress
from manifold_oos.engine.runner import RunSummary, run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import ConfigError, MoosError
from manifold_oos.results.collect import Located, Results, collect

DOCS = Path("docs")


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every page has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="results root")
    parser.add_argument("--workers", type=int, help="processes; the default is the number of cores")
    return parser


def run_and_collect(
    experiment: Experiment, out: Path, workers: int | None, *, skip_missing: bool = False, **more: Any
) -> tuple[RunSummary, Results]:
    """Compute what the store lacks, and everything that it then has; ``more`` is for :func:`run_experiment`."""
    progress = make_progress(experiment.metrics[0])
    offline = True if skip_missing else None
    summary = run_experiment(
        experiment, out, workers, skip_missing=skip_missing, offline=offline, progress=progress, **more
    )
    if summary.interrupted:
        raise KeyboardInterrupt
    with Store(out) as store:
        return summary, collect(experiment, store, plan=summary.plan, folder=summary.folder)


def stored(experiment: Experiment, out: Path) -> Results | None:
    """What the store has of an experiment, or its committed files where they have more; None without either."""
    place = Located(experiment, out, out / experiment.name)
    try:
        results = place.collect()
    except ConfigError:
        return None
    told = None if results.committed else place.read_committed()
    return told if told is not None and told.values > results.values else results


def between(text: str, begin: str, end: str, inside: str) -> str:
    """The text with what stands between two marked lines replaced."""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(end) < text.index(begin):
        raise ConfigError(f"the file needs the lines {begin} and {end}, once each")
    before, rest = text.split(begin)
    return before + begin + inside + end + rest.split(end)[1]


def start(main: Callable[[list[str]], int]) -> None:
    """Run the main function of a page as a program."""
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except MoosError as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        sys.exit(2)
