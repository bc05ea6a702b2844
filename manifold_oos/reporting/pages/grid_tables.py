"""What follows from the grid: arms ranked over the data sets, situation by situation, and tables of all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from manifold_oos.metrics import METRICS
from manifold_oos.reporting.figures.pareto import pareto_front
from manifold_oos.reporting.pages.grid_data import experiments
from manifold_oos.reporting.render import markdown_table
from manifold_oos.results.statistics import ALPHA, WILCOXON_PAIRS, holm, rank_arms, summarize, wilcoxon

ERROR, RNX, R2, NOVELTY = "misclassification_rate", "area_under_rnx", "parameter_r2", "novelty_auc"
TIME, ALONE, MODEL, PEAK = "milliseconds_per_sample", "milliseconds_alone", "model_kilobytes", "peak_megabytes"
#: Up to so many known points of a class are few.
FEW = 7
#: Milliseconds that a point alone may take.
BUDGETS = (0.1, 1.0)
GIVEN = {
    "umap": "UMAP",
    "opentsne": "t-SNE",
    "pacmap": "PaCMAP",
    "isomap": "Isomap",
    "laplacian_eigenmaps": "Laplacian eigenmaps",
}
#: Arms that are named among those not told apart.
NAMED = 6
SHORT = {ERROR: "error %", RNX: "R_NX", R2: "R²", NOVELTY: "AUC"}


@dataclass(frozen=True)
class Judged:
    """Arms by average rank over the data sets, with the half interval of each, and those like the first."""

    values: pd.DataFrame
    ranks: pd.Series
    halves: pd.Series
    alike: list[str]
    test: str

    @property
    def best(self) -> str:
        """The arm of the best average rank."""
        return str(self.ranks.index[0])

    def rank_text(self, arm: str) -> str:
        """The rank of an arm with its interval, and among how many."""
        return f"{self.ranks[arm]:.1f} ± {self.halves[arm]:.1f} of {len(self.ranks)}"


def judge(values: pd.DataFrame, better: str) -> Judged:
    """Rank arms (columns) over data sets (rows), and compare each with the first.

    The test is Wilcoxon's over the data sets with Holm's correction for the arms; where there are so few sets that
    it could not tell any arm from the first, Nemenyi's test of the ranks.
    """
    by_set = values.rank(axis=1, ascending=better == "lower")
    ranks = by_set.mean().sort_values(kind="stable")
    halves = pd.Series({arm: summarize(by_set[arm]).half_width for arm in ranks.index})
    best, others, n = ranks.index[0], list(ranks.index[1:]), len(values)
    if n >= WILCOXON_PAIRS and 2.0 ** (1 - n) * len(others) <= ALPHA:
        p = dict(zip(others, holm([wilcoxon(values[best] - values[arm]) for arm in others]), strict=True))
        test = "Wilcoxon"
    else:
        told = rank_arms(values, better=better).p
        p, test = {arm: float(told.loc[best, arm]) for arm in others}, "Nemenyi"
    return Judged(values, ranks, halves, [arm for arm in others if not p[arm] < ALPHA], test)


class GridCells:
    """The lines of ``cells.csv``, and tables cut from them."""

    def __init__(self, cells: pd.DataFrame) -> None:
        self.cells = cells

    def table(self, config: str, metric: str, arms: pd.Series | None = None) -> pd.DataFrame:
        """A metric with a row for each data set and a column for each arm that has it on all of them."""
        lines = self.cells[self.cells["config"] == config]
        lines = lines if arms is None else lines[arms.reindex(lines.index, fill_value=False)]
        table = lines.pivot_table(index="dataset", columns="arm", values=metric, sort=False)
        return table.dropna(axis=1)

    def arms(self, config: str, **wanted: object) -> pd.Series:
        """Which lines are of a config and have some facts; a tuple means any of its values."""
        kept = self.cells["config"] == config
        for fact, value in wanted.items():
            kept &= self.cells[fact].isin(value) if isinstance(value, tuple) else self.cells[fact] == value
        return kept

    def number(self, config: str, arm: str, metric: str) -> float:
        """The median over the data sets of a config."""
        mine = (self.cells["config"] == config) & (self.cells["arm"] == arm)
        return float(self.cells.loc[mine, metric].median()) if metric in self.cells else float("nan")

    def splits(self, config: str) -> tuple[int, int]:
        """The least and the largest number of splits of a line that did not fail."""
        counts = self.cells.loc[(self.cells["config"] == config) & (self.cells["splits"] > 0), "splits"]
        return int(counts.min()), int(counts.max())

    def budget(self, config: str, milliseconds: float) -> pd.Series:
        """Lines of arms that place a point alone in so many milliseconds, as measured in two dimensions."""
        known = self.cells[self.cells["config"].isin(("looking", "truth"))].groupby("arm")[ALONE].median()
        return (self.cells["config"] == config) & self.cells["arm"].map(known).le(milliseconds)


def number(value: float, metric: str) -> str:
    """A number of a metric, with as many digits as say something."""
    if value != value:
        return "–"
    return (
        f"{value:.1f}"
        if metric == ERROR
        else f"{value:.3f}".replace("0.", ".", 1)
        if abs(value) < 1
        else f"{value:.2f}"
    )


def milliseconds(value: float) -> str:
    """A time, in two digits."""
    return "–" if value != value else f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def label_pool(grid: GridCells, config: str) -> pd.Series:
    """With labels: maps that use them, every extender after suplap, and classifiers where no picture is wanted."""
    own = grid.arms(config, tuned=False, supervised=True, extender=("", "own") if config == "classes" else "own")
    return own | grid.arms(config, tuned=False, embedding="suplap")


def leaders(grid: GridCells, config: str, metric: str, pool: pd.Series) -> pd.Series:
    """Own maps, and of each embedding the extender of the best rank: so many that a test can tell them apart."""
    kept = pool & (grid.cells["extender"] == "own")
    for embedding in grid.cells.loc[pool, "embedding"].unique():
        table = grid.table(
            config, metric, pool & (grid.cells["embedding"] == embedding) & (grid.cells["extender"] != "own")
        )
        if table.size:
            kept |= pool & (grid.cells["arm"] == judge(table, METRICS[metric].better).best)
    return kept


def situations(grid: GridCells) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Each situation with its config, its metric, and what is left to choose from."""
    for config, words in (("classes", "labels, to classify"), ("looking", "labels, to look at")):
        pool = label_pool(grid, config)
        alone = pool & ~grid.cells["together"]
        yield f"{words}; new points together", config, ERROR, grid.table(config, ERROR, pool)
        yield f"{words}; one by one", config, ERROR, grid.table(config, ERROR, alone)
        for budget in BUDGETS:
            table = grid.table(config, ERROR, alone & grid.budget(config, budget))
            yield f"{words}; one by one, at most {budget:g} ms", config, ERROR, table
        known = grid.cells[grid.cells["config"] == config].drop_duplicates("dataset").set_index("dataset")
        if config == "classes":
            few = per_class(known)
            table = grid.table(config, ERROR, pool)
            yield f"{words}; up to {FEW} known of a class", config, ERROR, table[few.reindex(table.index) <= FEW]
            yield f"{words}; more than {FEW} known of a class", config, ERROR, table[few.reindex(table.index) > FEW]
    blind = grid.arms("looking", tuned=False, supervised=False)
    alone = blind & ~grid.cells["together"]
    yield "no labels, to look at", "looking", RNX, grid.table("looking", RNX, leaders(grid, "looking", RNX, alone))
    for name, words in GIVEN.items():
        mine = alone & (grid.cells["embedding"] == name)
        yield f"no labels, coordinates of {words} given", "looking", RNX, grid.table("looking", RNX, mine)
    free = grid.arms("truth", tuned=False)
    yield "the true parameters matter", "truth", R2, grid.table("truth", R2, leaders(grid, "truth", R2, free))
    for name in ("isomap", "ltsa"):
        table = grid.table("truth", R2, free & (grid.cells["embedding"] == name))
        yield f"the true parameters matter, {name} given", "truth", R2, table
    table = grid.table("looking", NOVELTY, leaders(grid, "looking", NOVELTY, blind))
    yield "points of another kind shall lie apart", "looking", NOVELTY, table


def per_class(known: pd.DataFrame) -> pd.Series:
    """Known points of a class by data set."""
    sizes = {
        data.label: experiments()["classes"].split_of(data).sizes[0] for data in experiments()["classes"].datasets
    }
    return pd.Series({label: sizes[label] for label in known.index})


def named(arms: Sequence[str], judged: Judged) -> str:
    """Arms with their ranks, the first few by name."""
    first = ", ".join(f"{arm} {judged.ranks[arm]:.1f}" for arm in arms[:NAMED])
    return (first + (f" and {len(arms) - NAMED} more" if len(arms) > NAMED else "")) or "–"


def advice(grid: GridCells) -> str:
    """The recommendation, a line for each situation."""
    rows = []
    for words, config, metric, table in situations(grid):
        if len(table) < 2 or table.shape[1] < 2:
            continue
        found = judge(table, METRICS[metric].better)
        value = number(float(table[found.best].mean()), metric)
        cost = milliseconds(grid.number("looking" if config == "classes" else config, found.best, ALONE))
        rows.append(
            [words, f"**{found.best}**", found.rank_text(found.best), f"{value} ({SHORT[metric]})", cost,
             str(len(table)), named(found.alike, found) + (" (Nemenyi)" if found.test == "Nemenyi" else "")]
        )  # fmt: skip
    head = [
        "situation",
        "take",
        "average rank",
        "mean over the sets",
        "alone (ms)",
        "sets",
        "not told apart (rank)",
    ]
    return markdown_table(head, rows)


def tuning(grid: GridCells) -> str:
    """What a small grid, chosen on known points alone, changes against the defaults."""
    rows = []
    for config, metric in (("classes", ERROR), ("looking", RNX), ("truth", R2)):
        table = grid.table(config, metric)
        for arm in table:
            tuned = f"{arm}, tuned"
            if tuned in table:
                difference = table[tuned] - table[str(arm)]
                summary, p = summarize(difference), wilcoxon(difference)
                sure = "" if p != p else f"{p:.2g}"
                plain, chosen = (number(float(table[name].mean()), metric) for name in (arm, tuned))
                change = f"{summary.mean:+.2g} ± {summary.half_width:.2g}"
                rows.append([config, str(arm), plain, chosen, change, sure])
    return markdown_table(["grid", "arm", "defaults", "tuned", "difference", "p (Wilcoxon)"], rows)


def matrix(grid: GridCells, config: str, metric: str) -> str:
    """The mean over the data sets of every embedding with every extender, at the defaults."""
    lines = grid.cells[grid.arms(config, tuned=False) & (grid.cells["embedding"] != "")]
    sets = lines["dataset"].nunique()
    groups = lines.groupby(["embedding", "extender"], sort=False)[metric]
    means = groups.mean().where(groups.count() == sets).unstack("extender", sort=False)
    columns = sorted(map(str, means.columns), key=lambda name: name != "own")
    rows = []
    for embedding, line in means[columns].iterrows():
        best = line.min() if METRICS[metric].better == "lower" else line.max()
        rows.append(
            [f"`{embedding}`", *(f"**{number(v, metric)}**" if v == best else number(v, metric) for v in line)]
        )
    return markdown_table(["", *columns], rows)


def costs(grid: GridCells) -> str:
    """What a map takes at the larger set, cheapest for a point alone first; ◆ on the front of error and time."""
    lines = grid.cells[grid.arms("costs")].sort_values(ALONE, na_position="last").set_index("arm")
    points = lines.dropna(subset=[ALONE])
    front = {points.index[i] for i in pareto_front(points[ALONE].tolist(), points[ERROR].tolist())}
    rows = []
    for arm, line in lines.iterrows():
        peak = "–" if line[PEAK] != line[PEAK] else f"{line[PEAK]:.0f}"
        times = [milliseconds(line[ALONE]), milliseconds(line[TIME]), milliseconds(line["fit_seconds"])]
        mark = " ◆" if arm in front else ""
        rows.append([f"{arm}{mark}", *times, f"{line[MODEL]:,.0f}", peak, number(line[ERROR], ERROR)])
    head = ["", "alone (ms)", "among 200 (ms)", "fit (s)", "model (kB)", "peak (MiB)", "error (%)"]
    return markdown_table(head, rows)


def failures(grid: GridCells) -> list[str]:
    """What failed, with its reason, or that nothing did."""
    if "failed" not in grid.cells or not (grid.cells["failed"] != "").any():
        return [f"None of the {len(grid.cells):,} lines (a config, a data set and an arm) failed on any split."]
    lines = grid.cells[grid.cells["failed"] != ""]
    rows = [[row.config, row.dataset, row.arm, str(row.splits), row.failed] for row in lines.itertuples()]
    return [markdown_table(["grid", "set", "arm", "splits that did not fail", "reason"], rows)]
