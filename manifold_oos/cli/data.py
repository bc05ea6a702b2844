"""``moos data``: what data sets there are, how to get them, whether they are right, and what they look like."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from manifold_oos import datasets
from manifold_oos.cli import flags
from manifold_oos.config.yaml_tree import read_value
from manifold_oos.datasets.base import Raw
from manifold_oos.datasets.contact_sheet import contact_sheet
from manifold_oos.datasets.fetch import download, missing
from manifold_oos.datasets.files import FileLoader, Found
from manifold_oos.datasets.specs import Variant
from manifold_oos.errors import ConfigError, DataError

COLUMNS = ("name", "variant", "samples", "classes", "size", "licence", "found")
variant_option = click.option("--variant", help="Which variant; the default is the first of moos describe NAME.")


@click.group()
def data() -> None:
    """List, get, verify and show the data sets."""


@data.command("list")
@flags.data_dir
@flags.as_json
def list_(data_dir: Path | None, as_json: bool) -> None:
    """List the data sets: how many samples and classes, the licence, and where they were found."""
    rows = [
        {"name": name, "variant": variant, **asdict(loader(data_dir=data_dir, offline=True).listed(variant))}
        for name, loader in datasets.available().items()
        for variant in loader.variants
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table(*COLUMNS, box=None, header_style="bold")
    for row in rows:
        table.add_row(*("" if row[column] is None else str(row[column]) for column in COLUMNS))
    _console().print(table)


@data.command()
@click.argument("name")
@variant_option
@flags.data_dir
def get(name: str, variant: str | None, data_dir: Path | None) -> None:
    """Download a data set that is free to download into the user's cache."""
    loader = _file_loader(name)
    variant = loader.check({} if variant is None else {"variant": variant})["variant"]
    found = loader(data_dir=data_dir, offline=True).locate(variant)
    if found is not None:
        click.echo(f"{name} ({variant}): already here, {found.source.path}")
        return
    for file in download(loader, variant, data_dir=data_dir):
        click.echo(f"{name} ({variant}): {file}")


@data.command()
@click.argument("name", required=False)
@flags.data_dir
def verify(name: str | None, data_dir: Path | None) -> None:
    """Decode what is there anew and compare counts and fingerprint with the record."""
    loaders = (
        [_file_loader(name)] if name else [c for c in datasets.available().values() if issubclass(c, FileLoader)]
    )
    wrong = found_any = 0
    for loader_class in loaders:
        for variant, expected in loader_class.spec().variants.items():
            loader = loader_class(data_dir=data_dir, offline=True)
            found = loader.locate(variant)
            label = f"{loader.name} ({variant})"
            if found is None:
                click.secho(f"absent   {label}", dim=True)
                continue
            found_any += 1
            try:
                verdict = _verdict(loader.read(variant), expected, found)
            except DataError as error:
                wrong += 1
                click.secho(f"wrong    {label}: {error}", fg="red")
                continue
            click.echo(f"{click.style('right', fg='green')}    {label}: {verdict}, {found.source.path}")
    if wrong:
        raise DataError(f"{wrong} of {found_any} data sets are not as recorded; get them again")
    if name and not found_any:
        raise DataError(missing(loaders[0], next(iter(loaders[0].variants)), data_dir=data_dir))


@data.command()
@click.argument("name")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The PNG; NAME.png by default.")
@variant_option
@click.option("--columns", type=click.IntRange(1, 100), default=12, show_default=True, help="Samples per class.")
@click.option("--rows", type=click.IntRange(1, 200), default=20, show_default=True, help="Classes.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="An option of the set, such as size=[25,25]."
)
@flags.data_dir
def show(
    name: str,
    out: Path | None,
    variant: str | None,
    columns: int,
    rows: int,
    settings: tuple[str, ...],
    data_dir: Path | None,
) -> None:
    """Draw a contact sheet: a row of samples per class."""
    options = _options(settings) | ({} if variant is None else {"variant": variant})
    loaded = datasets.load(name, data_dir=data_dir, **options)
    path = contact_sheet(loaded, out or Path(f"{loaded.name}.png"), columns=columns, rows=rows)
    click.echo(f"{loaded.name} ({loaded.variant}): {len(loaded)} samples, {loaded.n_classes} classes: {path}")


def _verdict(raw: Raw, expected: Variant, found: Found) -> str:
    """What was verified; a :class:`DataError` says what is not as recorded."""
    where = found.source.path
    if len(raw.values) != expected.samples or len(raw.class_names) != expected.classes:
        have = f"{len(raw.values)} samples of {len(raw.class_names)} classes"
        raise DataError(f"{where}: {have} instead of {expected.samples} of {expected.classes}")
    if expected.per_class is not None and raw.labels is not None:
        counts = np.bincount(np.asarray(raw.labels))
        if (counts.min(), counts.max()) != expected.per_class:
            raise DataError(f"{where}: {counts.min()} to {counts.max()} per class instead of {expected.per_class}")
    size = raw.values.shape[2:0:-1]
    if found.copy.size is not None and size != found.copy.size:
        raise DataError(f"{where}: {size[0]}×{size[1]} pixels instead of {found.copy.size[0]}×{found.copy.size[1]}")
    counts_right = f"{expected.samples} samples, {expected.classes} classes"
    if found.copy.fingerprint is None:
        return f"{counts_right}, no fingerprint on record"
    if raw.fingerprint() != found.copy.fingerprint:
        raise DataError(f"{where}: the counts are right but the decoded content is not that on record")
    return f"{counts_right}, fingerprint"


def _file_loader(name: str) -> type[FileLoader]:
    loader = datasets.find(name)
    if not issubclass(loader, FileLoader):
        raise ConfigError(f"{name}: generated or your own, so there is nothing to get or verify")
    return loader


def _options(settings: tuple[str, ...]) -> dict[str, Any]:
    options = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--set {setting}: write KEY=VALUE")
        options[key] = read_value(value, f"--set {key}")
    return options


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=1000)
