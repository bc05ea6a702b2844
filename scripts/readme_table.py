"""Write the README's table of ours beside the published numbers, from stored rows; what is missing is computed.

python scripts/readme_table.py configs/nsse/coil20.yaml --arms NN SVM SUPLAP NSSE --sizes 7 10 20 --repetitions 5
"""

import argparse
import shlex
import sys
from pathlib import Path

import pandas as pd

from manifold_oos.atomic import write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.progress import make_progress
from manifold_oos.engine.runner import run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import ConfigError, MoosError
from manifold_oos.metrics import label_of
from manifold_oos.results.collect import collect
from manifold_oos.results.published import SIGNS

BEGIN, END = "<!-- table: begin (scripts/readme_table.py) -->", "<!-- table: end -->"


def table_text(cells: pd.DataFrame, experiment: Experiment, command: str) -> str:
    """A Markdown table of the cells that have a printed number, with how it came about and how to do it again."""
    judged = cells[cells["verdict"] != ""]
    if judged.empty:
        raise ConfigError(f"{experiment.name}: no cell has both a result and a published number")
    metric, dataset = str(judged["metric"].iloc[0]), str(judged["dataset"].iloc[0])
    judged = judged[(judged["metric"] == metric) & (judged["dataset"] == dataset)]
    sizes = sorted(judged["size"].unique())
    lines = [
        "| | " + " | ".join(f"{size:g} known per class" for size in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for arm in judged["arm"].unique():
        row = judged[judged["arm"] == arm].set_index("size")
        entries = [_entry(row.loc[size]) if size in row.index else "" for size in sizes]
        lines.append(f"| {arm} | " + " | ".join(entries) + " |")
    splits = f"{judged['splits'].min():g}"
    said = experiment.split_of(experiment.datasets[0]).repetitions
    paper = "" if int(splits) == said else f" (the paper: {said})"
    source = ", ".join(source for source in judged["source"].unique() if source)
    shown = str(judged["protocol"].iloc[0])
    rules = next((protocol.rules for protocol in experiment.selection if protocol.name == shown), {})
    how = " (" + ", ".join(f"`{key}`: {rule}" for key, rule in rules.items()) + ")" if rules else ""
    caption = (
        f"{label_of(metric).capitalize()} on {dataset}: ours ± half the 95 % interval over {splits} random"
        f" splits{paper}, then {experiment.paper.upper()} {source} in brackets; "
        + ", ".join(f"{sign} {word}" for word, sign in SIGNS.items())
        + f". Protocol `{shown}`{how}: see [how numbers are compared](docs/comparing_numbers.md)."
        + (" Few splits make wide intervals, within which more matches." if paper else "")
    )
    return "\n".join([*lines, "", caption, "", "Made by", "", "<!-- test: long -->", "```bash", command, "```"])


def _entry(cell: pd.Series) -> str:
    half = "" if pd.isna(cell["high"]) else f" ± {(cell['high'] - cell['low']) / 2:.2f}"
    return f"{cell['mean']:.2f}{half} ({cell['published']:.2f}) {SIGNS[cell['verdict']]}"


def replace_table(text: str, table: str) -> str:
    """The text with the table between its two markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise ConfigError(f"the file needs the lines {BEGIN} and {END}, once each")
    before, rest = text.split(BEGIN)
    return before + f"{BEGIN}\n\n{table}\n\n{END}" + rest.split(END)[1]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="config with published numbers")
    parser.add_argument("--arms", nargs="+", help="arms to show")
    parser.add_argument("--sizes", nargs="+", type=float, help="sizes to show")
    parser.add_argument("--repetitions", type=int, help="at most so many splits")
    parser.add_argument("--selection", default="paper", help="protocol to show")
    parser.add_argument("--out", type=Path, default=Path("results"), help="results root")
    parser.add_argument("--readme", type=Path, default=Path("README.md"), help="file with the markers")
    parser.add_argument("--workers", type=int, help="processes; the default is the number of cores")
    options = parser.parse_args(arguments)
    experiment = load_config(options.config)
    part = reduce_experiment(experiment, arms=options.arms, sizes=options.sizes, repetitions=options.repetitions)
    chosen = [protocol for protocol in part.selection if protocol.name == options.selection]
    if not chosen:
        raise ConfigError(f"{part.name}: no protocol {options.selection}")
    part = part.model_copy(update={"selection": chosen}).named(part.name, part.path)
    progress = make_progress(part.metrics[0])
    summary = run_experiment(part, options.out, options.workers, progress=progress)
    if summary.failed or summary.interrupted:
        print(f"{part.name}: {len(summary.failed)} lines failed; no table written", file=sys.stderr)
        return 1
    with Store(options.out) as store:
        cells = collect(part, store, plan=summary.plan).cells
    words = sys.argv[1:] if arguments is None else arguments
    skip = {"--workers", "--out", "--readme"}
    shown = [word for i, word in enumerate(words) if word not in skip and (i == 0 or words[i - 1] not in skip)]
    command = shlex.join(["python", "scripts/readme_table.py", *shown])
    text = replace_table(options.readme.read_text(encoding="utf-8"), table_text(cells, experiment, command))
    write_text(options.readme, text)
    print(f"{options.readme}: {summary.computed} lines computed, {summary.reused} from the store")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MoosError as error:
        print(f"readme_table: {error}", file=sys.stderr)
        sys.exit(2)
