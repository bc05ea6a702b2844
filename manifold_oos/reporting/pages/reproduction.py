"""Run the papers' tables and figures, every repetition, and write docs/reproduction.md: ``make reproduce``.

Each config under configs/<paper>/ (and coil20_sosi, SOSI's Fig. 7) is run through ``moos run``'s own functions
into results/, the shortest first, and has its tables as soon as it is whole. What the store has is not computed
again, so a stopped run resumes; what fails does not stop the others. Then a front page and a page for each
experiment are written from the store, or from the committed splits and tables where it has no rows: ours beside
the printed numbers, and every verdict.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from PIL import Image

from manifold_oos.atomic import atomic, write_text
from manifold_oos.config.load import load_config
from manifold_oos.config.model import Arm, Experiment
from manifold_oos.config.subset import reduce_experiment
from manifold_oos.engine.plan import make_plan
from manifold_oos.engine.progress import duration
from manifold_oos.engine.runner import RunSummary, estimate
from manifold_oos.engine.store import Store, make_frame
from manifold_oos.errors import MoosError
from manifold_oos.reporting.pages.common import DOCS, between, parser_of, run_and_collect, start, stored
from manifold_oos.reporting.pages.confirmation import cells_of_columns, confirmation, picked, write_seed
from manifold_oos.reporting.records import write_records
from manifold_oos.reporting.render import markdown, markdown_table, md
from manifold_oos.reporting.write import (
    claims_markdown,
    fewer_rows,
    readings_markdown,
    write_figures,
    write_tables,
)
from manifold_oos.resources import shipped_configs
from manifold_oos.results.claims import ClaimResult, correct
from manifold_oos.results.collect import EARLIER, Results
from manifold_oos.results.explanations import (
    EXPLAINED,
    OPEN,
    UNTESTED,
    Chance,
    PrintedColumn,
    chance_rates,
    printed_columns,
    states,
)
from manifold_oos.results.judges import FAILS, HOLDS, NO_CLAIM, NOT_JUDGED, UNDECIDED
from manifold_oos.results.published import COMPATIBLE, LEGEND, MATCH, NOISY, SIGNS, tolerance
from manifold_oos.results.tables import make_tables

PAPERS = {
    "sosi": "Vural & Guillemot 2016: SOSI",
    "sparse_coding": "Raducanu & Dornaika 2014: sparse coding",
    "nsse": "Örnek & Vural 2019: NSSE",
    "coordinate_propagation": "Xiang et al. 2007: GOM and CP",
    "lgrm": "Yang et al. 2010: LGRM",
}
#: The methods that a paper proposes.
OWN = {
    "sosi": {"sosi"},
    "sparse_coding": {"sparse"},
    "nsse": {"nsse"},
    "coordinate_propagation": {"gom", "cp"},
    "lgrm": {"lgrm"},
}
GROUPS = (
    "the papers' own methods",
    "comparison methods without free parameters (NN)",
    "comparison methods whose parameters the paper leaves open",
)
NAV = "      # experiments: begin (manifold_oos.reporting.pages.reproduction)\n", "      # experiments: end"


@dataclass
class Reproduced:
    """One experiment of the pages: its results, printed columns and claims, judged among those of its paper."""

    results: Results
    of: int
    claims: list[ClaimResult] = field(default_factory=list)

    def __post_init__(self) -> None:
        stand_ins = {data.label for data in self.experiment.datasets if data.stand_in}
        self.columns: list[PrintedColumn] = [
            column for column in printed_columns(self.results) if column.dataset not in stand_ins
        ]

    @property
    def experiment(self) -> Experiment:
        """What was run."""
        return self.results.experiment

    @property
    def done(self) -> int:
        """How many repetitions the finished cells have at most."""
        cells = self.results.cells
        return int(cells["splits"].max()) if len(cells) else 0

    @property
    def address(self) -> str:
        """The page of the experiment, below docs/."""
        return f"reproduction/{self.experiment.name.replace('/', '_')}.md"

    @property
    def state(self) -> str:
        """Whether it was run."""
        if len(self.results.cells):
            whole = "run" if self.done >= self.of else f"{self.done} of {self.of} splits"
            return f"{whole}, earlier config" if self.results.earlier else whole
        return "data absent" if self.results.absent else "not run"

    @property
    def verdicts(self) -> Counter[str]:
        """Printed numbers by how ours stand to them; neither stand-ins nor times, which are of another machine."""
        return Counter(cell.verdict for column in self.columns for cell in column.cells)


def configs(seed: int | None = None) -> Iterator[Experiment]:
    """The experiments of the papers, with another seed where one is given."""
    for name in shipped_configs():
        if name.startswith("grid/"):  # of no paper, and in want of packages that the papers do not need
            continue
        experiment = load_config(f"configs/{name}")
        if seed is not None:
            experiment = load_config(f"configs/{name}", [f"split.seed={seed}"])
        if experiment.paper in PAPERS:
            yield experiment


def shortest_first(experiments: Sequence[Experiment], out: Path) -> list[Experiment]:
    """Experiments by what they would take, so that most are whole early."""
    out.mkdir(parents=True, exist_ok=True)
    with Store(out) as store:
        known = store.facts()
        plans = [make_plan(one, offline=True, skip_missing=True, known=known) for one in experiments]
        guesses = {plan.experiment.name: estimate(store, plan, 1).guess for plan in plans}
    return sorted(experiments, key=lambda one: guesses[one.name])


def run(experiment: Experiment, out: Path, workers: int | None, force: bool, tables: bool = True) -> bool:
    """Run one experiment and write its tables and figures; whether nothing failed."""
    started = time.monotonic()
    print(f"== {experiment.name}: {experiment.title}", flush=True)
    try:
        summary, results = run_and_collect(experiment, out, workers, skip_missing=True)
    except MoosError as error:  # the others are run all the same
        print(f"   failed: {error}", flush=True)
        return False
    if tables:
        write_all(summary, results, out, force)
    for label, reason in summary.plan.absent.items():
        print(f"   {label}: data absent: {reason}")
    took = duration(time.monotonic() - started)
    print(f"   {summary.computed} lines, {len(summary.failed)} failed, {took}", flush=True)
    return not summary.failed


def write_all(summary: RunSummary, results: Results, out: Path, force: bool) -> None:
    """Write records, tables and figures of one experiment, unless those that are there rest on more numbers."""
    with Store(out) as store:
        write_records(summary.plan, store, summary.folder)
    if (kept := fewer_rows(results, summary.folder)) and not force:
        print(f"   {kept}")
        return
    for path in [*write_tables(results, summary.folder), *write_figures(results, summary.folder)]:
        if path.suffix == ".png":
            shrink(path)


def shrink(path: Path) -> None:
    """Give a picture a palette of 256 colours: a third of the size, for the repository."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256)
    with atomic(path) as file:
        small.save(file, format="png", optimize=True)


def gather(
    experiments: Sequence[Experiment], out: Path, read: Callable[[Experiment, Path], Results | None] = stored
) -> list[Reproduced]:
    """What there is of each experiment; Holm's correction of claims goes over all of a paper."""
    found = []
    for experiment in experiments:
        results = read(experiment, out) or Results(experiment, make_frame([]))
        whole = load_config(f"configs/{experiment.name}.yaml")
        found.append(Reproduced(results, max(whole.split_of(data).rounds for data in whole.datasets)))
    for paper in PAPERS:
        mine = [one for one in found if one.experiment.paper == paper]
        claims = iter(correct([claim for one in mine for claim in one.results.claims_alone]))
        for one in mine:
            one.claims = [next(claims) for _ in one.results.claims_alone]
    return found


def group_of(arm: Arm, paper: str) -> str:
    """Which of the three kinds of methods an arm is."""
    methods = arm.methods()
    if {method.name for method in methods.values()} & OWN.get(paper, set()):
        return GROUPS[0]
    alone = set(methods) == {"classifier"} and methods["classifier"].name == "nn"
    return GROUPS[1] if alone else GROUPS[2]


def front_page(found: Sequence[Reproduced], out: Path) -> str:
    """The counts, a table for each paper, and what is missing."""
    lines = [
        "# Reproduction",
        "",
        "Ours beside what the papers printed. These pages are written by `make reproduce` from the store, or from"
        " the committed tables where it has no rows; nothing on them is typed. How verdicts and intervals are"
        " defined: [comparing numbers](comparing_numbers.md). Which extender to take follows from"
        " [the grid](which_extender.md).",
        "",
        *confirmation(all_cells(found), out, {one.experiment.split.seed for one in found if one.columns}),
        *picked(one.experiment for one in found),
        *count_lines(found),
        *earlier_line(found),
        "",
    ]
    for paper, title in PAPERS.items():
        mine = [one for one in found if one.experiment.paper == paper]
        head = ["experiment", "splits", "= ≈ ? + −", "given by a reading", "claims: hold, fail, undecided", "state"]
        lines += [f"## {title}", "", markdown_table(head, [_row(one) for one in mine]), ""]
    lacking = [f"- {md(one.experiment.title)}: {'; '.join(lacks)}" for one in found if (lacks := what_lacks(one))]
    return "\n".join([*lines, "## What is missing", "", *lacking]).rstrip() + "\n"


def all_cells(found: Sequence[Reproduced]) -> pd.DataFrame:
    """The printed numbers of all experiments with ours."""
    columns = {one.experiment.name: one.columns for one in found}
    return cells_of_columns(columns, [one.experiment.name for one in found if one.results.earlier])


def earlier_line(found: Sequence[Reproduced]) -> list[str]:
    """How many tables another form of their config gave, where there are some."""
    earlier = sum(one.results.earlier and len(one.results.cells) > 0 for one in found)
    told = f"**{earlier} of {len(found)} experiments (state: earlier config) were {EARLIER}.**"
    return ["", f"{told} `make reproduce` runs them anew."] if earlier else []


def _row(one: Reproduced) -> list[str]:
    verdicts, explained = one.verdicts, states(one.columns)
    missed = sum(explained.values())
    return [
        f"[{one.experiment.title}]({one.address})",
        f"{one.done} of {one.of}",
        " ".join(str(verdicts[word]) for word in SIGNS) if verdicts else "",
        f"{explained[EXPLAINED]} of {missed}" if missed else "",
        claim_counts(one.claims),
        one.state,
    ]


def count_lines(found: Sequence[Reproduced]) -> list[str]:
    """The printed numbers and the claims of all papers."""
    totals, explained, claims, stand_ins = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    groups: dict[str, Counter[str]] = {name: Counter() for name in GROUPS}
    columns = [column for one in found for column in one.columns]
    swapped, shifted = Chance(), Chance()
    for one in found:
        totals += one.verdicts
        explained += states(one.columns)
        claims += counted(one.claims)
        stand_ins += Counter(claim.verdict for claim in one.claims if claim.stand_in and not claim.part_of)
        apart, moved = chance_rates(one.columns)
        swapped, shifted = swapped + apart, shifted + moved
        for column in one.columns:
            arm = one.experiment.arms[column.arm]
            groups[group_of(arm, one.experiment.paper)] += Counter(cell.verdict for cell in column.cells)
    rows = [[name, sum(counts.values()), *(counts[word] for word in SIGNS)] for name, counts in groups.items()]
    missed = [column for column in columns if column.deviates]
    given = sum(bool(column.explained_by) for column in missed)
    cells = [cell for column in columns for cell in column.cells]
    near = sum(abs(cell.mean - cell.published) <= tolerance(cell.metric, cell.published) + 1e-9 for cell in cells)
    total = max(1, sum(totals.values()))
    agree = totals[MATCH] + totals[COMPATIBLE] + explained[EXPLAINED]
    return [
        f"Of {sum(totals.values())} printed numbers whose data are at hand (stand-ins and times not counted)"
        f" {totals[MATCH]} ({100 * totals[MATCH] / total:.0f} %) match, {totals[COMPATIBLE]} are compatible,"
        f" {totals[NOISY]} are too noisy to say, {totals['better']} are better and {totals['worse']} worse than"
        f" printed. {near} ({100 * near / total:.0f} %) lie within δ, whatever our interval."
        f" {agree} ({100 * agree / total:.0f} %) match, are compatible, or stand in a column that a reading gives.",
        "",
        markdown_table(["cells", "all", *(f"{sign} {word}" for word, sign in SIGNS.items())], rows, numbers=6),
        "",
        f"- {md(LEGEND)}.",
        f"- Of {len(missed)} printed columns (an arm on a data set, all sizes) in which a number is better or"
        f" worse, another reading of the paper gives {given} ({100 * given / max(1, len(missed)):.0f} %) as a whole"
        f" ({explained[EXPLAINED]} numbers), none"
        f" gives {sum(column.state == OPEN for column in missed)} ({explained[OPEN]} numbers), and"
        f" {sum(column.state == UNTESTED for column in missed)} have no reading ({explained[UNTESTED]} numbers)."
        f" By chance: the same readings give {_share(swapped)} columns of other arms of the table and"
        f" {_share(shifted)} true columns shifted by ±5 or ±10 points.",
        f"- Claims, by the corrected interval and Holm's correction over those of a paper: {claims[HOLDS]} hold,"
        f" {claims[FAILS]} fail, {claims[UNDECIDED]} are undecided; {claims[NO_CLAIM]} could not have failed,"
        f" {claims[NOT_JUDGED]} are not judged, for want of the single splits. On stand-ins, not counted:"
        f" {stand_ins[HOLDS]}, {stand_ins[FAILS]} and {stand_ins[UNDECIDED]}.",
    ]


def _share(chance: Chance) -> str:
    return f"{chance.explained} of {chance.tried} ({100 * chance.explained / max(1, chance.tried):.0f} %)"


def what_lacks(one: Reproduced) -> list[str]:
    """What an experiment lacks: data, repetitions, or all."""
    lacks = [f"{label}: data absent" for label in one.results.absent]
    if one.state == "not run":
        lacks.append("not run")
    elif 0 < one.done < one.of:
        lacks.append(f"{one.done} of {one.of} repetitions; the rest by `make reproduce`")
    return lacks


def counted(claims: Sequence[ClaimResult]) -> Counter[str]:
    """The verdicts of claims that are no part of others, and not judged on stand-ins alone."""
    return Counter(claim.verdict for claim in claims if not claim.part_of and not claim.stand_in)


def claim_counts(claims: Sequence[ClaimResult]) -> str:
    """How many claims hold, fail and stay undecided; those that were not judged apart."""
    said = counted(claims)
    judged = [str(said[verdict]) for verdict in (HOLDS, FAILS, UNDECIDED)]
    unjudged = [f"{said[NOT_JUDGED]} not judged"] if said[NOT_JUDGED] else []
    return "; ".join(([", ".join(judged)] if any(map(int, judged)) else []) + unjudged)


def experiment_page(one: Reproduced, out: Path) -> str:
    """One experiment: its tables, figures and claims, or why there are none."""
    experiment, results = one.experiment, one.results
    lines = [f"# {md(experiment.title)}", "", f"`moos run configs/{experiment.name}.yaml`", ""]
    lines += [f"{md(results.origin)}.", ""] if results.earlier else []
    for label in results.absent:
        lines += [f"{label}: data absent; the experiment runs where a person has the files (`moos data list`).", ""]
    if results.cells.empty:
        return "\n".join([*lines, *(["Not run.", ""] if not results.absent else [])])
    lines += [markdown(make_tables(results)), ""]
    if deviating := readings_markdown(results):
        swapped, shifted = chance_rates(one.columns)
        lines += ["## Printed columns that ours miss", "", deviating]
        lines += [f"By chance: {_share(swapped)} columns of other arms, {_share(shifted)} shifted ones.", ""]
    if pictures := sorted((out / experiment.name).glob("*.png")):
        lines += ["Figures: " + ", ".join(f"`results/{experiment.name}/{path.name}`" for path in pictures), ""]
    if one.claims:
        lines += ["## Claims", "", claims_markdown(one.claims), ""]
    return "\n".join(lines).rstrip() + "\n"


def write_pages(found: Sequence[Reproduced], out: Path, site: Path) -> list[Path]:
    """Write the front page, a page per experiment, and their places in the site's navigation."""
    paths = [write_text(DOCS / "reproduction.md", front_page(found, out))]
    paths += [write_text(DOCS / one.address, experiment_page(one, out)) for one in found]
    for stray in set((DOCS / "reproduction").glob("*.md")) - set(paths):
        stray.unlink()
    entries = "".join(f'      - "{one.experiment.title}": {one.address}\n' for one in found)
    text = between(site.read_text(encoding="utf-8"), *NAV, entries)
    return [*paths, write_text(site, text)]


def main(arguments: list[str]) -> int:
    """Run what is asked for and write the pages."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", help="names of experiments, such as nsse/orl, or of papers")
    parser.add_argument("--repetitions", type=int, help="run at most so many now; more can follow")
    parser.add_argument("--page-only", action="store_true", help="write the pages from what is there, run nothing")
    parser.add_argument("--seed", type=int, help="run with this seed, and keep its cells in seed_N.csv; no pages")
    parser.add_argument("--force", action="store_true", help="replace tables that rest on more numbers")
    options = parser.parse_args(arguments)
    experiments = list(configs(options.seed))
    asked = set(options.only or ())
    chosen = [one for one in experiments if not asked or {one.name, one.paper} & asked]
    parts = [reduce_experiment(one, repetitions=options.repetitions) for one in chosen]
    started = time.monotonic()
    failed = [
        part.name
        for part in ([] if options.page_only else shortest_first(parts, options.out))
        if not run(part, options.out, options.workers, options.force, tables=options.seed is None)
    ]
    if options.seed is None:
        paths = write_pages(gather(experiments, options.out), options.out, Path("mkdocs.yml"))
    else:
        paths = [write_seed(all_cells(gather(experiments, options.out)), options.out, options.seed)]
    print(*paths, sep="\n")
    print(f"{duration(time.monotonic() - started)}, {duration(sum(os.times()[:4]))} of processors")
    if failed:
        print(f"some lines failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    start(main)
