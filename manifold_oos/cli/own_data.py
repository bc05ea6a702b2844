"""``moos new`` and ``moos embed``: a config for a person's own data, and coordinates for their new points."""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from manifold_oos.cli import flags
from manifold_oos.registry import trust_in, trusting

if TYPE_CHECKING:
    from manifold_oos.datasets.base import Dataset

TEMPLATE = Path(__file__).with_name("own_data.yaml.j2")
#: The longer side of images in a new config, in pixels: enough for extenders to differ, quick to compute.
LONGER_SIDE = 32
#: Known and new points of a split in a new config are no more than these, so that a run takes minutes.
MOST_KNOWN = MOST_NEW = 1000
#: A class needs two known samples for the embedding and one that is new.
SMALLEST_CLASS = 3
#: Repetitions of each split in a new config.
REPETITIONS = 5
#: An arm that would take longer on one split, in seconds, is written as a comment.
PATIENCE = 30.0


@click.command()
@click.option("--data", required=True, metavar="folder:PATH|table:FILE", help="Your images or your features.")
@click.option("--label", help="Column of the labels in a table (its name or position).")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Column of a table to leave out; may be repeated.")
@click.option(
    "--impute",
    type=click.Choice(["mean", "median", "drop"]),
    help="Missing cells of a table: fill them in from their column, or drop their rows.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out images that cannot be read.")
@click.option("--out", type=click.Path(path_type=Path), default="my.yaml", show_default=True, help="File to write.")
def new(
    data: str, label: str | None, ignore: tuple[str, ...], impute: str | None, skip_bad: bool, out: Path
) -> None:
    """Write a commented config that compares the extenders on your own data.

    \b
    moos new --data folder:my_images --out my.yaml      a folder per class
    moos new --data table:features.csv --label species --ignore date --impute median
    """
    from manifold_oos.errors import ConfigError

    kind, _, path = data.partition(":")
    given = {"--label": label, "--ignore": ignore, "--impute": impute}
    faults = []
    if kind not in ("folder", "table") or not path:
        faults.append(f"--data {data}: write folder:PATH for images or table:FILE for features")
    elif kind == "folder" and any(given.values()):
        flags = ", ".join(flag for flag, value in given.items() if value)
        faults.append(f"{flags} goes with table:FILE; the label of an image is its folder")
    elif kind == "table" and skip_bad:
        faults.append("--skip-bad goes with folder:PATH; for a table there is --impute drop")
    if out.exists():
        faults.append(f"{out}: already exists and is not overwritten; give another --out")
    options: dict[str, Any] = {"path": path}
    if kind == "folder":
        options |= {"gray": True, "size": _image_size(Path(path)), "normalize": "unit"}
        options |= {"skip_bad": True} if skip_bad else {}
    else:
        wanted = {"label_column": _column(label), "ignore": [_column(name) for name in ignore], "impute": impute}
        options |= {key: value for key, value in wanted.items() if value not in (None, [])}
        options["normalize"] = "standard"
    found, small = _load(kind, options, faults)
    if faults or found is None:
        raise ConfigError("; ".join(faults))
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("x", encoding="utf-8") as file:
        file.write(config_text(kind, options, found))
    what = "images" if kind == "folder" else "rows"
    classes = f" of {found.n_classes} classes" if found.n_classes else " without labels"
    if small:
        few = "1 class" if len(small) == 1 else f"{len(small)} classes"
        click.echo(f"{out}: left out: {few} with fewer than {SMALLEST_CLASS} samples ({_some(small)})")
    if found.note:
        click.echo(f"{out}: {found.note}")
    click.echo(f"{out}: {len(found)} {what}{classes}. Next: moos run {out}")


def _load(kind: str, options: dict[str, Any], faults: list[str]) -> "tuple[Dataset | None, list[str]]":
    """The data without classes that are too small, and the names of these; what is wrong goes to the faults."""
    from manifold_oos import datasets
    from manifold_oos.errors import ContinuousLabelError, MoosError

    if kind not in ("folder", "table") or not options["path"]:
        return None, []
    try:
        try:
            found = datasets.load(kind, **options)
        except ContinuousLabelError as error:
            if not _agrees(f"{error}\nLeave it out and go on without labels?"):
                raise
            options.pop("label_column", None)
            options["ignore"] = [*options.get("ignore", []), error.column]
            found = datasets.load(kind, **options)
        small = small_classes(found)
        if small and found.n_classes - len(small) < 2:
            few = f"{len(small)} of {found.n_classes} classes have fewer than {SMALLEST_CLASS} samples"
            faults.append(f"{options['path']}: {few} ({_some(small)}); two classes with more are needed")
        elif small:
            options["classes"] = [name for name in found.class_names if name not in small]
            found = datasets.load(kind, **options)
    except MoosError as error:
        here = (
            "--label, --ignore, --impute" if kind == "table" else "--skip-bad" if "skip_bad" in str(error) else ""
        )
        hint = f" (here: {here})" if here and "no such file" not in str(error) else ""
        faults.append(f"{error}{hint}")
        return None, []
    return found, small


def _agrees(question: str) -> bool:
    """Whether a person at the terminal says yes; without one nobody does."""
    return sys.stdin.isatty() and click.confirm(question, err=True)


def _column(text: str | None) -> str | int | None:
    """A column by name, or by its position where that is a number."""
    return int(text) if text is not None and text.lstrip("-").isdigit() else text


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def small_classes(found: "Dataset") -> list[str]:
    """Names of the classes that have too few samples to know some and to find others."""
    if found.y is None:
        return []
    counts = [int((found.y == label).sum()) for label in range(found.n_classes)]
    return [name for name, count in zip(found.class_names, counts, strict=True) if count < SMALLEST_CLASS]


def _image_size(path: Path) -> list[int]:
    """Width and height that keep the shape of the first image and are small enough to be quick."""
    from PIL import Image

    from manifold_oos.datasets.folder import SUFFIXES

    files = sorted(path.expanduser().rglob("*")) if path.expanduser().is_dir() else []
    for file in files:
        if file.suffix.lower() in SUFFIXES and not file.name.startswith("."):
            with Image.open(file) as image:
                width, height = image.size
            scale = min(1.0, LONGER_SIDE / max(width, height))
            return [max(1, round(width * scale)), max(1, round(height * scale))]
    return [LONGER_SIDE, LONGER_SIDE]


def config_text(kind: str, options: Mapping[str, Any], found: "Dataset") -> str:
    """The commented config for a data set."""
    from jinja2 import Environment, StrictUndefined

    labelled = found.n_classes > 1
    blocks: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    template = Environment(undefined=StrictUndefined, **blocks).from_string(TEMPLATE.read_text(encoding="utf-8"))
    known = {"most_known": MOST_KNOWN, "most_new": MOST_NEW, "repetitions": REPETITIONS, "slow": {}, "n_test": ""}
    known |= _labelled(found) if labelled else _unlabelled(found)
    json_text = partial(json.dumps, ensure_ascii=False)  # JSON is YAML
    return template.render(kind=kind, options=options, labelled=labelled, json=json_text, **known)


def _labelled(found: "Dataset") -> dict[str, Any]:
    """Splits and arms for data with classes."""
    smallest = min(Counter(() if found.y is None else found.y.tolist()).values())
    most = max(2, min(smallest // 2, MOST_KNOWN // found.n_classes))
    sizes = sorted({max(2, most // 2), most})
    known = sizes[-1] * found.n_classes
    new = min(len(found) - known, MOST_NEW)
    d = min(max(found.n_classes - 1, 2), sizes[0] * found.n_classes - 1)
    costs = arm_seconds(known, new, d, found.X.shape[1])
    slow = {name: _minutes(costs[name]) for name in ("SOSI", "sparse") if costs[name] > PATIENCE}
    costs["in 2-D"] = 0 if d == 2 else costs["normalized"]
    seconds = len(sizes) * REPETITIONS * sum(cost for name, cost in costs.items() if name not in slow)
    fewer = new < len(found) - known
    return {
        "smallest": smallest,
        "sizes": f"train_per_class: {sizes}",
        "n_test": f", n_test: {MOST_NEW}" if fewer else "",
        "d": d,
        "slow": slow,
        "time": _minutes(seconds),
        "capped": fewer or most < smallest // 2,
    }


def arm_seconds(known: int, new: int, d: int, n_features: int) -> dict[str, float]:
    """What each arm takes on one split, roughly; that with a grid is fitted seven times."""
    from manifold_oos.engine.progress import guess_seconds

    methods = {"normalized": "normalized_rbf", "RBF": "rbf", "LLE": "lle", "sparse": "sparse", "SOSI": "sosi"}
    methods |= {"NN": "nn", "SVM": "svm"}
    costs = {arm: guess_seconds(name, known, new, d, n_features) for arm, name in methods.items()}
    return costs | {"RBF": 7 * costs["RBF"]}


def _minutes(seconds: float) -> str:
    return "1 minute" if seconds < 90 else f"{round(seconds / 60)} minutes"


def _unlabelled(found: "Dataset") -> dict[str, Any]:
    """Splits and arms for data without classes."""
    sizes, known = "fraction: [0.5, 0.8]", round(0.8 * len(found))
    capped = len(found) > MOST_KNOWN + MOST_NEW
    if capped:
        sizes, known = f"n_train: [{MOST_KNOWN // 2}, {MOST_KNOWN}], n_test: {MOST_NEW}", MOST_KNOWN
    costs = arm_seconds(known, min(len(found) - known, MOST_NEW), 2, found.X.shape[1])
    seconds = 2 * REPETITIONS * (costs["normalized"] + 2 * costs["RBF"] / 7 + costs["LLE"])
    neighbors = max(2, min(10, len(found) // 10))
    return {"sizes": sizes, "time": _minutes(seconds), "capped": capped, "neighbors": neighbors}


@click.command()
@click.argument("config")
@click.option("--new", "path", type=click.Path(path_type=Path), help="Folder or file of new points.")
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write.")
@click.option("--save", type=click.Path(path_type=Path), help="File for the fitted model, for moos transform.")
@click.option("--arm", help="Arm of the config; without it the first with an embedding.")
@click.option("--dataset", help="Data set of the config whose samples are known; without it the first.")
@click.option("--set", "overrides", metavar="PATH=VALUE", multiple=True, help="Override a key of the config.")
@flags.data_dir
@flags.trust
@flags.as_json
@click.pass_context
def embed(
    ctx: click.Context,
    config: str,
    path: Path | None,
    out: Path | None,
    save: Path | None,
    arm: str | None,
    dataset: str | None,
    overrides: tuple[str, ...],
    data_dir: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Fit on all known data and give new points coordinates, label, confidence and novelty.

    \b
    moos embed my.yaml --new new_images --out coords.csv
    moos embed my.yaml --save my.model                  for moos transform
    """
    from manifold_oos.atomic import write_text
    from manifold_oos.config.load import find_config, load_config
    from manifold_oos.engine.embed import embed_new, pick_arm
    from manifold_oos.errors import ConfigError
    from manifold_oos.reporting.write import csv_text

    if path is None and save is None:
        raise ConfigError("give --new FILE or FOLDER of new points, or --save FILE for the model")
    if path is not None and out is None and save is None and not as_json:
        raise ConfigError("give --out FILE for the coordinates, or --json to print them")
    if path is None and (out is not None or as_json):
        raise ConfigError("--out and --json are for new points: give --new FILE or FOLDER")
    ctx.with_resource(trusting(trust_in(find_config(config), trust)))
    experiment = load_config(config, overrides)
    by_label = {data.label: data for data in experiment.datasets}
    if dataset is not None and dataset not in by_label:
        raise ConfigError(f"--dataset {dataset}: not in {config}; there are {', '.join(by_label)}")
    data = by_label[dataset] if dataset is not None else experiment.datasets[0]
    picked = pick_arm(experiment, data, arm)
    result = embed_new(experiment, data, picked, path, data_dir=data_dir)
    if save is not None:
        result.model.save(save, result.about)
    if out is not None:
        write_text(out, csv_text(result.table))
    if as_json:
        points = json.loads(result.table.to_json(orient="records"))
        click.echo(json.dumps({"arm": picked, "chosen": result.chosen, "points": points}, indent=2, default=str))
        return
    others = [name for name, spec in experiment.arms_of(data).items() if spec.embedding and name != picked]
    hint = f" (--arm for {', '.join(others)})" if others and arm is None else ""
    of_all = f" of {result.n_all:,} (in proportion to the classes)" if result.n_known < result.n_all else ""
    known = f"{result.n_known:,}{of_all} known"
    if out is not None:
        click.echo(f"{out}: {len(result.table)} new points by {picked}{hint}, {known}")
    if path is not None:
        click.echo(_novel_line(result.n_novel, len(result.table)))
    if save is not None:
        size = save.stat().st_size / 1e6
        click.echo(f"{save}: {picked}{hint}, {known}, {size:.1f} MB. Next: moos transform {save}")


def _novel_line(novel: int, total: int) -> str:
    """How many new points are unlike the known ones."""
    if not novel:
        return "none of them is novel (farther from the known points than 99 % of those are from each other)"
    return (
        f"{novel} of {total} novel (novelty > 99: farther from the known points than 99 % of those are from"
        " each other); do not trust their place"
    )
