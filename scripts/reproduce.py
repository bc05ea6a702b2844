"""Run the papers' tables and figures and write docs/reproduction.md: ``make reproduce``, ``make reproduce-full``.

Each config under configs/<paper>/ (and coil20_sosi, SOSI's Fig. 7) is run through ``moos run``'s own functions into
results/, with fewer repetitions where REPETITIONS says so unless --full; what the store has is not computed again,
so a stopped run resumes. Then the page is written from the store: for each experiment its tables beside the printed
numbers, the verdict of each cell and claim, and what is missing.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from PIL import Image

from manifold_oos.atomic import atomic, write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.plan import make_plan
from manifold_oos.engine.progress import make_progress
from manifold_oos.engine.records import write_records
from manifold_oos.engine.runner import missing, run_experiment
from manifold_oos.engine.store import Store
from manifold_oos.errors import MoosError
from manifold_oos.metrics import is_time
from manifold_oos.reporting.render import markdown
from manifold_oos.reporting.write import readings_markdown, write_outputs
from manifold_oos.resources import shipped_configs
from manifold_oos.results.collect import Results, collect
from manifold_oos.results.explanations import EXPLAINED, OPEN, UNTESTED, deviations, explained_states
from manifold_oos.results.published import POINTS
from manifold_oos.results.tables import make_tables

ROOT = Path(__file__).parent.parent
PAPERS = {
    "sosi": "Vural & Guillemot 2016: SOSI",
    "sparse_coding": "Raducanu & Dornaika 2014: sparse coding",
    "nsse": "Örnek & Vural 2019: NSSE",
    "coordinate_propagation": "Xiang et al. 2007: GOM and CP",
    "lgrm": "Yang et al. 2010: LGRM",
}
#: Where ``make reproduce`` runs fewer repetitions than the config asks for; 0 leaves it to ``make reproduce-full``.
REPETITIONS: dict[str, int] = {
    "nsse/coil20": 10,
    "nsse/convergence": 3,
    "nsse/embeddings": 3,
    "nsse/fei": 5,
    "nsse/orl": 10,
    "nsse/spe": 3,
    "nsse/yaleb": 10,
    "sosi/progressive": 2,
    "sparse_coding/extended_yale": 4,
    "sparse_coding/pie": 0,
}


def configs(full: bool) -> Iterator[Experiment]:
    """The experiments of the papers, cut to what the plan allows."""
    for name in shipped_configs():
        experiment = load_config(f"configs/{name}")
        if experiment.paper in PAPERS:
            repetitions = None if full else REPETITIONS.get(experiment.name)
            if repetitions != 0:
                yield reduce_experiment(experiment, repetitions=repetitions)


def run(experiment: Experiment, out: Path, workers: int | None) -> None:
    """Run one experiment and write its tables and figures."""
    started = time.monotonic()
    print(f"== {experiment.name}: {experiment.title}", flush=True)
    progress = make_progress(experiment.metrics[0])
    summary = run_experiment(experiment, out, workers, skip_missing=True, offline=True, progress=progress)
    if summary.interrupted:
        sys.exit(130)
    with Store(out) as store:
        write_records(summary.plan, store, summary.folder)
        paths = write_outputs(experiment, store, summary.folder, plan=summary.plan)
    for path in paths:
        if path.suffix == ".png":
            shrink(path)
    for label, reason in summary.plan.absent.items():
        print(f"   {label}: data absent: {reason}")
    print(
        f"   {summary.computed} lines, {len(summary.failed)} failed, {time.monotonic() - started:.0f} s", flush=True
    )


def shrink(path: Path) -> None:
    """Give a picture a palette of 256 colours: a third of the size, for the repository."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
    with atomic(path) as file:
        small.save(file, format="png", optimize=True)


def page(experiments: list[Experiment], out: Path) -> str:
    """docs/reproduction.md from what the store has."""
    overview = [
        "| paper | experiment | splits | printed numbers: match, given by another reading, open"
        " | claims: hold, fail, undecided | state |",
        "|---|---|---|---|---|---|",
    ]
    sections, lacking, totals = [], [], Counter[str]()
    for paper, title in PAPERS.items():
        sections += [f"## {title}", ""]
        for experiment in [one for one in experiments if one.paper == paper]:
            with Store(out) as store:
                plan = make_plan(experiment, offline=True, skip_missing=True, known=store.facts())
                results = collect(experiment, store, plan=plan, folder=out / experiment.name)
                whole = not missing(store, plan)
            counts = count_cells(results)
            totals += counts
            done, of = splits_of(results)
            state = state_of(results, whole)
            cells = f"{counts['match']}, {counts[EXPLAINED]}, {counts[OPEN] + counts[UNTESTED]}" if counts else ""
            row = (paper, experiment.title, f"{done} of {of}", cells, claim_counts(results), state)
            overview.append(f"| {' | '.join(row)} |")
            lacking += what_lacks(results, done, of, state)
            sections += section(results, out)
    left = [name for name in REPETITIONS if name not in {experiment.name for experiment in experiments}]
    lacking += [f"- {load_config(f'configs/{name}').title}: left to `make reproduce-full`" for name in left]
    parts = [
        "# Reproduction",
        "",
        "Ours beside what the papers printed. This page is written by `make reproduce` from the store; nothing on"
        " it is typed. How verdicts and intervals are defined: [comparing numbers](comparing_numbers.md)."
        " Which extender to take follows from [the grid](which_extender.md).",
        "",
        *total_lines(totals),
        "",
    ]
    return "\n".join([*parts, *overview, "", "## What is missing", "", *lacking, "", *sections]).rstrip() + "\n"


def count_cells(results: Results) -> Counter[str]:
    """Printed numbers by how ours stand to them; neither stand-ins nor times, which are of another machine."""
    stand_ins = {data.label for data in results.experiment.datasets if data.stand_in}

    def counted(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[~frame["dataset"].isin(stand_ins) & ~frame["metric"].map(is_time).astype(bool)]

    cells = counted(results.cells)
    matched = cells[cells["verdict"] == "matches"]
    counts = Counter(explained_states(counted(deviations(results))))
    if len(matched):
        counts["match"] = len(matched)
        near = (matched["mean"] - matched["published"]).abs() <= tolerance(matched["published"])
        counts["near"] = int(near.sum())
    return counts


def tolerance(published: pd.Series) -> pd.Series:
    """What a printed number may differ by where our interval is left out of account: 2 points or a tenth."""
    return (published.abs() / 10).clip(upper=POINTS)


def total_lines(totals: Counter[str]) -> list[str]:
    """The printed numbers of all papers in one sentence each."""
    cells = totals["match"] + totals[EXPLAINED] + totals[OPEN] + totals[UNTESTED]
    share = 100 / max(cells, 1)
    return [
        f"Of {cells} printed numbers whose data are at hand (stand-ins and times not counted):",
        "",
        f"- {totals['match']} ({totals['match'] * share:.0f} %) match: within the larger of our interval and"
        f" min(2 points, half the value). {totals['near']} ({totals['near'] * share:.0f} %) lie within"
        " min(2 points, a tenth of the value), whatever our interval.",
        f"- {totals[EXPLAINED]} ({totals[EXPLAINED] * share:.0f} %) do not, but another reading of the paper"
        " that was measured gives the printed number.",
        f"- {totals[OPEN]} ({totals[OPEN] * share:.0f} %) are given by none of the readings that were measured.",
        f"- {totals[UNTESTED]} ({totals[UNTESTED] * share:.0f} %) have no other reading.",
    ]


def splits_of(results: Results) -> tuple[int, int]:
    """How many repetitions every finished cell has at most, and how many the config asks for."""
    whole = load_config(f"configs/{results.experiment.name}")
    done = int(results.cells["splits"].max()) if len(results.cells) else 0
    return done, max(whole.split_of(data).rounds for data in whole.datasets)


def what_lacks(results: Results, done: int, of: int, state: str) -> list[str]:
    """What an experiment lacks: data, repetitions, or all."""
    title = results.experiment.title
    lacks = [f"{label}: data absent" for label in results.absent]
    if state in ("not run", "partly run"):
        lacks.append(state)
    elif done < of and state != "data absent":
        lacks.append(f"{done} of {of} repetitions; the rest by `make reproduce-full`")
    return [f"- {title}: {'; '.join(lacks)}"] if lacks else []


def claim_counts(results: Results) -> str:
    """How many claims hold, fail and stay undecided."""
    claims = Counter(claim.verdict for claim in results.claims)
    judged = any(claims[verdict] for verdict in ("holds", "fails", "undecided"))
    return ", ".join(str(claims[verdict]) for verdict in ("holds", "fails", "undecided")) if judged else ""


def state_of(results: Results, whole: bool) -> str:
    """Whether an experiment was run."""
    if len(results.absent) == len(results.experiment.datasets):
        return "data absent"
    if results.rows.empty:
        return "not run"
    return "run" if whole else "partly run"


def section(results: Results, out: Path) -> list[str]:
    """One experiment: its tables, figures and claims, or why there are none."""
    experiment = results.experiment
    lines = [f"### {experiment.title}", "", f"`moos run configs/{experiment.name}.yaml`", ""]
    for label in results.absent:
        lines += [f"{label}: data absent; the experiment runs where a person has the files (`moos data list`).", ""]
    if results.rows.empty:
        return [*lines, *(["Not run.", ""] if not results.absent else [])]
    lines += [markdown(make_tables(results)).replace("\n## ", "\n#### ").replace("## ", "#### ", 1), ""]
    if deviating := readings_markdown(results):
        lines += ["#### Printed numbers that ours do not match", "", deviating, ""]
    if pictures := sorted((out / experiment.name).glob("*.png")):
        lines += ["Figures: " + ", ".join(f"`results/{experiment.name}/{path.name}`" for path in pictures), ""]
    if results.claims:
        lines += ["| place | claim | verdict | numbers |", "|---|---|---|---|"]
        for claim in results.claims:
            cells = (claim.claim.source, claim.text, f"**{claim.verdict}**", claim.numbers)
            lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all repetitions, every experiment")
    parser.add_argument("--only", nargs="+", help="names of experiments, such as nsse/orl, or of papers")
    parser.add_argument("--repetitions", type=int, help="run at most so many now; more can follow")
    parser.add_argument("--page-only", action="store_true", help="write the page from the store, run nothing")
    parser.add_argument("--out", type=Path, default=ROOT / "results", help="results root")
    parser.add_argument("--workers", type=int, default=None, help="processes; the default is the number of cores")
    options = parser.parse_args()
    experiments = list(configs(options.full))
    for experiment in experiments:
        chosen = not options.only or experiment.name in options.only or experiment.paper in options.only
        if chosen and not options.page_only:
            run(reduce_experiment(experiment, repetitions=options.repetitions), options.out, options.workers)
    print(write_text(ROOT / "docs" / "reproduction.md", page(experiments, options.out)))


if __name__ == "__main__":
    try:
        main()
    except MoosError as error:
        print(f"reproduce: {error}", file=sys.stderr)
        sys.exit(2)
