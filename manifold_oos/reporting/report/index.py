"""The front page of all experiments: papers by tables and figures, each with its state and a link to its page."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from manifold_oos import __version__, datasets
from manifold_oos.atomic import write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.datasets.files import FileLoader
from manifold_oos.errors import ConfigError
from manifold_oos.reporting.report.html import render
from manifold_oos.reporting.report.page import write_page
from manifold_oos.resources import shipped, shipped_configs
from manifold_oos.results.collect import experiments, locate
from manifold_oos.results.status import STATES, TEXT, State, pending, states_of
from manifold_oos.results.tables import name_of


@dataclass(frozen=True)
class Listed:
    """An experiment on the front page; ``page`` is empty where it was not run."""

    experiment: Experiment
    states: list[State]
    page: str = ""


@dataclass(frozen=True)
class Written:
    """What was written, and the folders that could not be read with the reason."""

    index: Path
    pages: list[Path]
    skipped: list[str]


def write_index(
    root: Path, *, data_dir: Path | None = None, done: Callable[[Path], None] = lambda page: None
) -> Written:
    """Write the page of every experiment of a results root, each told as it is done, and the front page of them."""
    if not root.is_dir():
        raise ConfigError(f"{root}: no such folder; give the results root, such as results/")
    entries, pages, skipped = [], [], []
    for folder in experiments(root):
        try:
            place = locate(folder)
        except ConfigError as error:
            skipped.append(str(error))
            continue
        try:
            results = place.collect(data_dir)
        except ConfigError:
            entries.append(Listed(place.experiment, _pending(place.experiment, data_dir)))
            continue
        path = folder / "report.html"
        home = Path(os.path.relpath(root / "index.html", folder)).as_posix()
        pages.append(write_page([(place, results)], path, home=home))
        done(path)
        address = quote(path.relative_to(root).as_posix())
        entries.append(Listed(results.experiment, states_of(results), address))
    known = {entry.experiment.name for entry in entries}
    for relative in shipped_configs():
        if relative.removesuffix(".yaml") not in known:
            try:
                experiment = load_config(shipped("configs") / relative)
            except ConfigError as error:  # a package that only the grid wants is not installed
                skipped.append(str(error).splitlines()[0])
                continue
            entries.append(Listed(experiment, _pending(experiment, data_dir)))
    text = render("index.html", papers=matrix(entries), key=STATES, version=__version__)
    return Written(write_text(root / "index.html", text), pages, skipped)


def matrix(entries: list[Listed]) -> list[dict[str, Any]]:
    """Papers with their experiments, and the columns that each paper's tables and figures stand in."""
    grouped: dict[str, list[Listed]] = {}
    for entry in sorted(entries, key=lambda entry: (not entry.experiment.paper, entry.experiment.paper)):
        grouped.setdefault(entry.experiment.paper, []).append(entry)
    numbers = {s.name for entry in entries if entry.experiment.paper for s in entry.states if _is_numbered(s.name)}
    columns = [*sorted(numbers, key=_place), TEXT]
    papers = []
    for paper, mine in grouped.items():
        cells: dict[str, list[dict[str, Any]]] = {column: [] for column in columns}
        for entry in mine:
            for state in entry.states:
                if state.name in cells:
                    cells[state.name].append({"page": entry.page, "state": state, "experiment": _title(entry)})
        listed = [{"title": _title(entry), "name": entry.experiment.name, **vars(entry)} for entry in mine]
        papers.append({"name": paper, "columns": columns, "cells": cells, "experiments": listed})
    return papers


def _title(entry: Listed) -> str:
    return entry.experiment.title or entry.experiment.name


def _pending(experiment: Experiment, data_dir: Path | None) -> list[State]:
    absent = [data.label for data in experiment.datasets if not _at_hand(data.name, data.options, data_dir)]
    outputs = {name_of(output): output.title for output in experiment.outputs}
    return pending(outputs.items(), absent if len(absent) == len(experiment.datasets) else [])


def _at_hand(name: str, options: dict[str, Any], data_dir: Path | None) -> bool:
    """Whether a data set could be loaded without a download; generated ones always can."""
    loader = datasets.find(name)
    if not issubclass(loader, FileLoader):
        return True
    return loader(data_dir=data_dir, offline=True).locate(loader.check(options)["variant"]) is not None


def _is_numbered(name: str) -> bool:
    return re.fullmatch(r"(Table|Fig\.) \d+[a-z]?", name) is not None


def _place(name: str) -> tuple[bool, int, str]:
    kind, number = name.split(" ")
    digits = re.match(r"\d+", number)
    return kind != "Table", int(digits[0]) if digits else 0, number
