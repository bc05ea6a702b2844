"""Write the README's table of ours beside the published numbers, from stored rows; what is missing is computed.

python -m manifold_oos.reporting.pages.readme_table configs/nsse/coil20.yaml --arms NN SVM --sizes 7 10
"""

import shlex
from pathlib import Path
from typing import Any

import pandas as pd

from manifold_oos.atomic import write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import label_of
from manifold_oos.reporting.numbers import number_text, ours_text, sign_text
from manifold_oos.reporting.pages.common import between, parser_of, run_and_collect, start
from manifold_oos.reporting.render import markdown_table
from manifold_oos.results.published import SIGNS
from manifold_oos.results.tables import TableEntry

BEGIN, END = "<!-- table: begin (manifold_oos.reporting.pages.readme_table) -->", "<!-- table: end -->"


def table_text(cells: pd.DataFrame, experiment: Experiment, command: str) -> str:
    """A Markdown table of the cells that have a printed number, with how it came about and how to do it again."""
    judged = cells[cells["verdict"] != ""]
    if judged.empty:
        raise ConfigError(f"{experiment.name}: no cell has both a result and a published number")
    metric, dataset = str(judged["metric"].iloc[0]), str(judged["dataset"].iloc[0])
    judged = judged[(judged["metric"] == metric) & (judged["dataset"] == dataset)]
    sizes = sorted(judged["size"].unique())
    rows = []
    for arm in judged["arm"].unique():
        row: dict[Any, Any] = {cell.size: cell for cell in judged[judged["arm"] == arm].itertuples()}
        rows.append([arm, *(_entry(row[size]) if size in row else "" for size in sizes)])
    table = markdown_table(["", *(f"{size:g} known per class" for size in sizes)], rows)
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
    )
    return "\n".join([table, "", caption, "", "Made by", "", "<!-- test: long -->", "```bash", command, "```"])


def _entry(cell: Any) -> str:
    entry = TableEntry(cell.mean, (cell.high - cell.low) / 2, cell.splits)
    printed = f"({number_text(cell.published, cell.metric)}) {sign_text(cell.verdict, cell.needed)}"
    return f"{ours_text(entry, cell.metric)} {printed}"


def main(arguments: list[str]) -> int:
    """Compute what is missing and write the table."""
    parser = parser_of(__doc__)
    parser.add_argument("config", help="config with published numbers")
    parser.add_argument("--arms", nargs="+", help="arms to show")
    parser.add_argument("--sizes", nargs="+", type=float, help="sizes to show")
    parser.add_argument("--repetitions", type=int, help="at most so many splits")
    parser.add_argument("--selection", default="paper", help="protocol to show")
    parser.add_argument("--readme", type=Path, default=Path("README.md"), help="file with the markers")
    options = parser.parse_args(arguments)
    experiment = load_config(options.config)
    part = reduce_experiment(experiment, arms=options.arms, sizes=options.sizes, repetitions=options.repetitions)
    chosen = [protocol for protocol in part.selection if protocol.name == options.selection]
    if not chosen:
        raise ConfigError(f"{part.name}: no protocol {options.selection}")
    part = part.model_copy(update={"selection": chosen}).named(part.name, part.path)
    summary, results = run_and_collect(part, options.out, options.workers)
    if summary.failed:
        raise ConfigError(f"{part.name}: {len(summary.failed)} lines failed; no table written")
    skip = {"--workers", "--out", "--readme"}
    shown = [
        word for i, word in enumerate(arguments) if word not in skip and (i == 0 or arguments[i - 1] not in skip)
    ]
    command = shlex.join(["python", "-m", "manifold_oos.reporting.pages.readme_table", *shown])
    table = table_text(results.cells, experiment, command)
    text = options.readme.read_text(encoding="utf-8")
    write_text(options.readme, between(text, BEGIN, END, f"\n\n{table}\n\n"))
    print(f"{options.readme}: {summary.computed} lines computed, {summary.reused} from the store")
    return 0


if __name__ == "__main__":
    start(main)
