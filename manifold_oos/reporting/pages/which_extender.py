"""Run configs/grid and write what follows from it: ``make grid``, or ``make grid-quick`` with fewer splits.

What the store has is not computed again, so a stopped run resumes. The numbers go to results/grid (``cells.csv``
and ``pictures.json``); docs/which_extender.md with its figures and the interactive page docs/grid.html are written
from these two files alone, so that ``--pages`` needs no store.
"""

import json
from pathlib import Path

import pandas as pd

from manifold_oos.atomic import atomic, write_text
from manifold_oos.metrics import METRICS, label_of
from manifold_oos.reporting.figures.pareto import pareto_figure
from manifold_oos.reporting.figures.ranks import rank_figure
from manifold_oos.reporting.pages.common import DOCS, parser_of, run_and_collect, start
from manifold_oos.reporting.pages.grid_data import experiments, gather, pictures, read_data, write_data
from manifold_oos.reporting.pages.grid_page import grid_page
from manifold_oos.reporting.pages.grid_tables import (
    ALONE,
    ERROR,
    NOVELTY,
    R2,
    RNX,
    GridCells,
    advice,
    costs,
    failures,
    judge,
    matrix,
    milliseconds,
    named,
    number,
    tuning,
)
from manifold_oos.reporting.render import markdown_table
from manifold_oos.results.statistics import rank_arms

#: What the question is answered by; the last three are times and promises.
LOOKED_AT = {
    RNX: "area under R_NX",
    "trustworthiness": "trustworthiness",
    "continuity": "continuity",
    "shepard_correlation": "Shepard",
    ERROR: "error of nearest neighbours (%)",
    NOVELTY: "AUC of novelty",
    "shift": "moves when it comes alone",
    ALONE: "alone (ms)",
}


def answer(grid: GridCells) -> list[str]:
    """The question of a first reader, answered from the rows after UMAP."""
    after = grid.arms("looking", tuned=False, embedding="umap") & ~grid.cells["together"]
    judged = {m: judge(grid.table("looking", m, after), "higher") for m in list(LOOKED_AT)[:4]}
    found = judged[RNX]
    best = next(str(arm) for arm in found.ranks.index if " + " in str(arm))
    extender, like = best.split(" + ")[1], [arm for arm in found.alike if arm != best]
    low, high = (int(f(grid.cells.loc[grid.cells["config"] == "looking", "known"])) for f in (min, max))
    first = [arm for arm in found.ranks.index if arm != "umap"][:5]
    rows = [
        [f"`{arm}`", *(number(grid.number("looking", arm, m), m) for m in list(LOOKED_AT)[:-1]),
         milliseconds(grid.number("looking", arm, ALONE))]
        for arm in [*first, "umap"]
    ]  # fmt: skip
    others = "; ".join(
        f"by {LOOKED_AT[m]} the first is `{one.best}` ({one.ranks[one.best]:.1f}), `{best}` has"
        f" {one.ranks[best]:.1f}"
        for m, one in judged.items()
        if m != RNX
    )
    by_features = number(grid.number("looking", "nn", NOVELTY), NOVELTY)
    by_map = number(float(grid.table("looking", NOVELTY, after).median().max()), NOVELTY)
    return [
        "## I have 500 unlabelled images and UMAP coordinates; how do I place tomorrow's?",
        "",
        f"With `{extender}`. Over {len(found.values)} sets of {low} to {high} known points, without labels or tuned"
        f" parameters, it has the best average rank of the maps that take points one by one by the area under R_NX"
        f" ({found.rank_text(best)}; not told apart: {named(like, found)}); UMAP's own `transform` has"
        f" {found.ranks['umap']:.1f}. Of the other label-free measures, {others}. The best five and UMAP's own,"
        " medians"
        " over the sets:",
        "",
        markdown_table(["", *LOOKED_AT.values()], rows),
        "",
        "```python",
        "from sklearn.datasets import load_digits",
        "from sklearn.manifold import Isomap",
        "",
        "from manifold_oos import OutOfSample",
        "",
        "images = load_digits().data",
        "coordinates = Isomap(n_components=2).fit_transform(images[:500])  # stands for your UMAP coordinates",
        f'model = OutOfSample(coordinates, "{extender}").fit(images[:500])',
        "print(model.transform(images[500:503]).shape, model.novelty(images[500:503]).shape)",
        "```",
        "",
        "```text",
        "(3, 2) (3,)",
        "```",
        "",
        "`novelty` looks at the images, because coordinates tell foreign points badly: the AUC of the distance"
        " to the"
        f" nearest known one is {by_features} in the features and at most {by_map} in these coordinates. To save"
        " the"
        " model and to use it from the command line: [Your own data](own_data.md); coordinates in a config:"
        " [Any embedding](any_embedding.md).",
    ]


def nystrom(grid: GridCells) -> str:
    """Why Nyström's default is near chance after an embedding without a kernel of its own."""
    means = grid.table("classes", ERROR).mean()
    return (
        "**Nyström** has a formula for the embeddings with a kernel of their own: there its error is"
        f" {means['isomap + nystrom']:.1f} % (isomap) and {means['laplacian_eigenmaps + nystrom']:.1f} %"
        " (laplacian_eigenmaps). After any other it is a mean of known coordinates with Gaussian weights whose"
        " default width,"
        " the median distance, is so wide that all points land near the centre:"
        f" {means['suplap + nystrom']:.1f} % after suplap. That is the formula at that width, not a fault of the"
        " code: with a"
        f" width chosen on the known points it is {means['suplap + nystrom, tuned']:.1f} %, that of the nearest"
        " neighbour in"
        f" the features being {means['nn']:.1f} %."
    )


def figures(grid: GridCells, docs: Path) -> list[str]:
    """Critical differences and fronts, and the lines that show them."""
    shown = {
        "grid_ranks_classes": ("The extenders after suplap, by error, d = classes − 1", "classes", ERROR, "suplap"),
        "grid_ranks_umap": ("The extenders after UMAP, by the area under R_NX, d = 2", "looking", RNX, "umap"),
        "grid_ranks_isomap": (
            "The extenders after Isomap, by the area under R_NX, d = 2",
            "looking",
            RNX,
            "isomap",
        ),
    }
    lines = []
    for stem, (title, config, metric, embedding) in shown.items():
        table = grid.table(config, metric, grid.arms(config, tuned=False, embedding=embedding))
        table.columns = [str(arm).split(" + ")[-1] if " + " in str(arm) else "its own map" for arm in table]
        lines += _draw(docs, stem, title, rank_figure(rank_arms(table, better=METRICS[metric].better), title=title))
    table = grid.table("looking", RNX, grid.arms("looking", tuned=False, supervised=False))
    points = pd.DataFrame({"arm": table.columns, "y": table.mean().to_numpy()})
    points["x"] = [grid.number("looking", arm, ALONE) for arm in points["arm"]]
    title = "Label-free quality against the time for a point alone, d = 2"
    front = pareto_figure(
        points.dropna(), x_label=label_of(ALONE), y_label="area under R_NX, mean", better="higher", title=title
    )
    return lines + _draw(docs, "grid_front", title, front)


def _draw(docs: Path, stem: str, title: str, figure: object) -> list[str]:
    with atomic(docs / "images" / f"{stem}.png") as file:
        figure.savefig(file, format="png", dpi=120)  # type: ignore[attr-defined]
    return [f"![{title}](images/{stem}.png)", ""]


def made_of(grid: GridCells) -> list[str]:
    """The sets with their sizes, and how many splits there are."""
    rows = []
    for config in ("classes", "truth", "costs"):
        for label, block in grid.cells[grid.cells["config"] == config].groupby("dataset", sort=False):
            rows.append([config, str(label), str(int(block["known"].max())), str(int(block["new"].max()))])
    lines = [f"{name} {low if low == high else f'{low} to {high}'}" for name in grid.cells["config"].unique()
             for low, high in [grid.splits(name)]]  # fmt: skip
    arms = [arm for one in experiments().values() for name, arm in one.arms.items() if ", tuned" not in name]
    given = [arm.extender for arm in arms if arm.extender and arm.extender.parameters]
    chosen = sorted({f"`{method.name}` {json.dumps(method.parameters)}" for method in given})
    count = grid.cells.groupby("config", sort=False)["arm"].nunique()
    counts = ", ".join(f"{name} {n}" for name, n in count.items())
    return [
        f"Splits: {', '.join(lines)}. Arms: {counts}. Extenders of the untuned arms that are not at their"
        f" defaults: {'; '.join(chosen)}. A set with more than 200 new points gives 200 at random;"
        " images have 16×16"
        " pixels (digits 8×8, the moving face 29×26). Times are the fastest of the splits, whatever else the"
        " machine did."
        " Tuned arms choose one parameter among three or four on halves of the known points: by error in"
        " *classes*, by the area under R_NX, without labels, in *looking* and *truth*. *every pair* has each"
        " embedding with each"
        " extender in five dimensions on two sets.",
        "",
        markdown_table(["grid", "set", "known", "new"], rows),
    ]


KEEPS = (
    "Measured by `benchmarks/contracts_table.py` on a small sample: mean distances over the spread of the known"
    " points, ✓ below 1e-6; a dash: the question does not arise."
)


def page(grid: GridCells, docs: Path, contracts: str) -> str:
    """The text of the page."""
    parts = [
        "# Which extender?",
        "",
        "Computed from `configs/grid` by `make grid`; every number and every choice on this page is. The whole"
        " grid, cell by"
        " cell with pictures: [the interactive page](grid.html).",
        "",
        *answer(grid),
        "",
        "## The recommendation",
        "",
        advice(grid),
        "",
        "Defaults, but for what [the end of the page](#how-it-was-made) names; ranks are averages over the sets"
        " with their 95 % intervals. *Not told apart*: p ≥"
        " 0.05 against the"
        " one to take, by Wilcoxon's test over the sets with Holm's correction, or Nemenyi's test of the ranks"
        " where the"
        " sets are too few. With labels the choice is among classifiers, maps that use labels and every extender"
        " after"
        " `suplap`; without, among own maps and the best extender of each embedding. The area under R_NX rewards"
        " a point that"
        " is put upon its nearest known one; the AUC of novelty, .5 for such a map, shows it.",
        "",
        *figures(grid, docs),
        "## Tuned and untuned",
        "",
        tuning(grid),
        "",
        "## Every embedding with its extenders",
        "",
        "Error (%), one dimension less than classes, mean over ten sets:",
        "",
        matrix(grid, "classes", ERROR),
        "",
        "Area under R_NX, two dimensions, mean over ten sets:",
        "",
        matrix(grid, "looking", RNX),
        "",
        "R² of the true parameters, mean over the sets of *truth*:",
        "",
        matrix(grid, "truth", R2),
        "",
        "AUC of novelty, two dimensions:",
        "",
        matrix(grid, "looking", NOVELTY),
        "",
        "Error (%), every pair, five dimensions (t-SNE two), two sets:",
        "",
        matrix(grid, "every_pair", ERROR),
        "",
        "Best of a row in bold; a dash: the two do not go together, were not run, or a set failed.",
        "",
        "## What it costs",
        "",
        "USPS, 1,000 known points, two dimensions. ◆: none is better in both error and time alone.",
        "",
        costs(grid),
        "",
        "A transductive method is fitted again for a point alone; *model* is the pickle of what places points,"
        " *peak* what the"
        " process grows by while it fits and places.",
        "",
        *(["## What a map keeps", "", KEEPS, "", contracts.rstrip(), ""] if contracts else []),
        "## What failed, and what looks as if",
        "",
        *failures(grid),
        "",
        "**spline** with pictures that nearly coincide, as some of UMIST do, has local bending energies that"
        " differ by"
        " more orders of magnitude than a number has digits: no eigenvector can be told from another, and the"
        " solver"
        " says so.",
        "",
        nystrom(grid),
        "",
        "## How it was made",
        "",
        *made_of(grid),
    ]
    return "\n".join(parts).rstrip() + "\n"


def main(arguments: list[str]) -> int:
    """Run the grid, unless only pages are wanted, and write everything."""
    parser = parser_of(__doc__)
    parser.add_argument("--splits", type=int, help="at most so many splits of each set")
    parser.add_argument("--pages", action="store_true", help="only write the pages, from results/grid")
    parser.add_argument("--scheduler", help="a Dask scheduler (tcp://host:port), or local")
    parser.add_argument("--docs", type=Path, default=DOCS, help="where the pages go")
    options = parser.parse_args(arguments)
    if not options.pages:
        found = {}
        for name, experiment in experiments().items():
            if options.splits:
                experiment.split.repetitions = min(options.splits, experiment.split.repetitions)
            keep = "one" if name in ("looking", "truth") else None
            _, found[name] = run_and_collect(
                experiment,
                options.out,
                options.workers,
                skip_missing=True,
                scheduler=options.scheduler,
                keep_embeddings=keep,
            )
        drawn = {name: pictures(results) for name, results in found.items() if results.kept}
        print(*write_data([gather(name, results) for name, results in found.items()], drawn, options.out), sep="\n")
    cells, shown = read_data(options.out)
    contracts = options.out / "grid" / "contracts.md"
    told = contracts.read_text(encoding="utf-8") if contracts.is_file() else ""
    (options.docs / "images").mkdir(parents=True, exist_ok=True)
    print(write_text(options.docs / "which_extender.md", page(GridCells(cells), options.docs, told)))
    print(write_text(options.docs / "grid.html", grid_page(cells, shown)))
    return 0


if __name__ == "__main__":
    start(main)
