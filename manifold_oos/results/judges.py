"""One judge per form of a claim: from rows to findings, each a difference with its interval."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from manifold_oos.config.model import Claim, Experiment
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import better_of
from manifold_oos.results.cells import certain_sets
from manifold_oos.results.curves import at_each_x, protocol_rows
from manifold_oos.results.statistics import Summary, exact, summarize, t_test

HOLDS, FAILS, UNDECIDED, NO_DATA = "holds", "fails", "undecided", "no data"
#: What cannot fail, and what was judged before by splits that are not at hand.
NO_CLAIM, NOT_JUDGED = "no claim", "not judged"
#: Number of classes, known points and so on of a data set at a size, for values that a claim names.
NumbersOf = Callable[[str, float], Mapping[str, float]]


@dataclass(frozen=True)
class Finding:
    """One comparison behind a claim: where, what, the difference with its interval, and its own verdict."""

    where: str
    what: str
    difference: Summary
    verdict: str
    p: float = math.nan
    values: tuple[float, ...] = ()


def _pairs(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """Compare left with right, in each cell or on the average of the cells."""
    assert claim.op is not None
    final = _compared(claim, rows, experiment)
    blocks = []
    for left, right in product(claim.left or [], claim.right or []):
        blocks.append(_compare(claim, final, experiment, left, right, claim.op))
    # the cells of all pairs side by side: a cell holds where every pair does
    return [[f for f in group if f is not None] for group in _transpose(blocks)]


def _best(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """The named arm against each of the others."""
    assert claim.best is not None
    final = _compared(claim, rows, experiment)
    others = [arm for arm in claim.among or experiment.shown if arm != claim.best and arm in set(final["arm"])]
    op = "<" if better_of(metric) == "lower" else ">"
    return _transpose([_compare(claim, final, experiment, claim.best, other, op) for other in others])


def _compared(claim: Claim, rows: pd.DataFrame, experiment: Experiment) -> pd.DataFrame:
    """The rows of a comparison: one value of a split for each arm, or with ``along`` one at each x.

    With ``excess`` values are those above the arm's own best x of a cell (by the mean): how much a bad x costs.
    """
    if claim.along is None:
        return protocol_rows(rows, experiment, claim.selection).assign(x=math.nan)
    placed = at_each_x(rows, experiment, claim.along, selection=claim.selection)
    alone = placed["x"].isna()  # an arm without such a parameter stands beside every x
    every = placed.loc[~alone, ["dataset", "size", "x"]].drop_duplicates()
    placed = pd.concat([placed[~alone], placed[alone].drop(columns="x").merge(every, on=["dataset", "size"])])
    if claim.beyond is not None:
        placed = placed[placed["x"] >= claim.beyond]
    if not claim.excess or placed.empty:
        return placed
    parts = []
    by = ["arm", "dataset"] if claim.along == "size" else ["arm", "dataset", "size"]
    for _, block in placed.groupby(by, sort=False):
        curve = block.pivot_table(index="repetition", columns="x", values="value")
        best = curve.mean().idxmin() if better_of(block["metric"].iloc[0]) == "lower" else curve.mean().idxmax()
        parts.append(block.assign(value=block["value"] - block["repetition"].map(curve[best])))
    return pd.concat(parts)


def _compare(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, left: str, right: str | float, op: str
) -> dict[str, Finding]:
    """Findings by cell for one pair (one finding for all cells under ``mean``)."""
    columns, chances = {}, []
    mine = rows[rows["arm"].isin([left, right])]
    for (label, size, x), block in mine.groupby(["dataset", "size", "x"], sort=False, dropna=False):
        values = {arm: mine.set_index("repetition")["value"] for arm, mine in block.groupby("arm", sort=False)}
        if left not in values or (isinstance(right, str) and right not in values):
            continue
        other = values[right] if isinstance(right, str) else float(right)
        place = "" if claim.along is None else f" {claim.along} {x:g}"
        columns[f"{label} {size:g}{place}"] = (values[left] - other).dropna()
        chances.append(_Chance.of(claim, block, experiment))
    what = f"{left} − {right}"
    if claim.over == "mean" and columns:
        if claim.along is not None and len(columns) > 2:
            ends = list(columns)
            where = f"mean of {len(ends)}, {ends[0]} to {ends[-1]}"
            together = pd.DataFrame(columns).mean(axis=1)
            return {where: _finding(where, what, together.to_numpy(), op, _Chance.most(chances))}
        together = pd.DataFrame(columns).dropna().mean(axis=1)
        columns, chances = {"mean of " + ", ".join(columns): together}, [_Chance.most(chances)]
    return {
        where: _finding(where, what, values.to_numpy(), op, chance)
        for (where, values), chance in zip(columns.items(), chances, strict=True)
    }


@dataclass(frozen=True)
class _Chance:
    """What the splits of a comparison leave to chance: none, or how far they overlap, n_test / n_train."""

    certain: bool
    overlap: float
    margin: float | None

    @classmethod
    def of(cls, claim: Claim, rows: pd.DataFrame, experiment: Experiment) -> "_Chance":
        """The chance in some rows: the largest overlap; fresh draws of a generated set do not overlap."""
        labels = set(rows["dataset"])
        splits = {data.label: experiment.split_of(data) for data in experiment.datasets if data.label in labels}
        projected = {data.label for data in experiment.datasets if data.options.get("random_projection")}
        # a projection that is drawn anew leaves the points as they were: those splits overlap
        fresh = {label for label, split in splits.items() if split.redraw and label not in projected}
        drawn = fresh | {label for label, split in splits.items() if split.kind == "draws"}
        ratios = (rows["n_test"] / rows["n_train"]).where(~rows["dataset"].isin(drawn), 0.0)
        stated = claim.form == "left" and not any(isinstance(right, str) for right in claim.right or ())
        # a number that a claim names is the margin already
        margin = 0.0 if claim.margin is None and stated else claim.margin
        return cls(labels <= certain_sets(experiment), float(ratios.max()) if len(rows) else 0.0, margin)

    @staticmethod
    def most(chances: Sequence["_Chance"]) -> "_Chance":
        """The chance in an average of several."""
        certain = all(chance.certain for chance in chances)
        return _Chance(certain, max(chance.overlap for chance in chances), chances[0].margin)


def _finding(where: str, what: str, difference: np.ndarray, op: str, chance: _Chance) -> Finding:
    values = tuple(difference.tolist())
    margin = chance.margin
    if chance.certain and len(values) == 1:
        summary = exact(values[0])
        near = margin is None or (margin > 0 and abs(summary.mean) <= margin)
        verdict = UNDECIDED if near and op != "~" else _side(summary, op, margin)
        return Finding(where, what, summary, verdict, math.nan, values)
    summary = summarize(difference, chance.overlap)
    tested = replace(summary, mean=abs(summary.mean) - (margin or 0.0)) if op == "~" else summary
    p = t_test(tested, 1 / summary.n + chance.overlap) if summary.n > 1 else math.nan
    verdict = _side(summary, op, margin)
    if summary.sd == 0 and summary.mean == 0:
        p = 0.0  # equal on every split
    return Finding(where, what, summary, verdict, p, values)


def _side(difference: Summary, op: str, margin: float | None = None) -> str:
    """Verdict of "difference op 0" from the interval; equality on every split meets ≤ and ≥.

    "~" holds where the interval lies within the margin on both sides of 0, and fails where it lies beyond.
    """
    if not math.isfinite(difference.low):
        return UNDECIDED
    if op == "~":
        m = margin or 0.0
        inside, outside = max(-difference.low, difference.high) <= m, max(difference.low, -difference.high) > m
        return HOLDS if inside else FAILS if outside else UNDECIDED
    low, high = (difference.low, difference.high) if op.startswith("<") else (-difference.high, -difference.low)
    if high < 0 or (high == 0 and op.endswith("=")):
        return HOLDS
    if low > 0 or (low == high == 0 and not op.endswith("=")):
        return FAILS
    return UNDECIDED


def _monotone(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """Successive differences along an axis, and the whole way from first to last."""
    assert claim.along is not None
    op = ">=" if claim.monotone == "rising" else "<="
    blocks = []
    chance = _Chance.of(claim, rows, experiment)
    for where, curve in _curves(claim, rows, experiment, claim.along, facts):
        if claim.monotone == "levelling":
            curve = _changes(curve)
        if curve.shape[1] < 2:
            continue
        steps = curve.diff(axis=1).iloc[:, 1:]
        scale = curve.abs().to_numpy()[np.isfinite(curve.to_numpy())].max(initial=0.0)
        steps = steps.where(steps.abs() > 1e-9 * scale, steps * 0.0)
        first, last = curve.columns[0], curve.columns[-1]
        # splits may end at different iterations: each goes from the first value to its own last one
        begun, ended = curve.iloc[:, 0], curve.ffill(axis=1).iloc[:, -1]
        if claim.by is not None:  # the smaller end is at most 1 − by of the larger
            begun, ended = (begun, (1 - claim.by) * ended) if op == ">=" else ((1 - claim.by) * begun, ended)
        whole = ended - begun
        overall = _finding(where, f"{claim.along} {first:g} to {last:g}", whole.dropna().to_numpy(), op[0], chance)
        sign = 1 if op == "<=" else -1
        against = {
            x: _finding(where, f"{claim.along} to {x:g}", steps[x].dropna().to_numpy(), op, chance) for x in steps
        }
        worst = max(against.values(), key=lambda finding: _nan_low(sign * finding.difference.mean))
        own = (sign * steps.fillna(0.0) <= 0).all(axis=1) & (sign * whole <= 0)
        if any(finding.verdict == FAILS for finding in against.values()):
            verdict = FAILS
        elif overall.verdict == HOLDS and sign * worst.difference.mean > 0:
            verdict = UNDECIDED
        else:
            verdict = overall.verdict
        marks = np.where(own, -sign, sign).astype(float)  # the share of splits counts whole curves
        overall = replace(
            overall, verdict=verdict, p=_step_p(overall, against.values(), verdict), values=tuple(marks)
        )
        turns = (
            sign * worst.difference.mean > 0
        )  # the step that speaks against it is told; curves are what is counted
        blocks.append([overall, replace(worst, values=())] if turns else [overall])
    return blocks


def _step_p(overall: Finding, steps: Collection[Finding], verdict: str) -> float:
    """Of a curve that fails by one of its steps, Bonferroni's p of that step; else that of the whole way."""
    failed = [finding.p for finding in steps if finding.verdict == FAILS]
    return min(1.0, len(steps) * min(failed)) if verdict == FAILS and failed else overall.p


def _argbest(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """The best value of a parameter: the best one that agrees with the claim against the best one that does not."""
    assert claim.argbest is not None and claim.op is not None
    sign = 1 if better_of(metric) == "lower" else -1
    blocks = []
    for where, curve in _curves(claim, rows, experiment, claim.argbest, facts):
        limit = _limit(claim, where, curve, facts)
        scores = sign * curve.mean()
        best = scores.idxmin()
        agrees = pd.Series([holds(float(x), claim.op, limit) for x in curve.columns], index=curve.columns)
        what = f"best {claim.argbest} {best:g} (claimed {claim.op} {limit:g})"
        if agrees.all() or not agrees.any():
            side = NO_CLAIM if agrees.all() else FAILS  # where every value agrees nothing could have failed
            blocks.append([Finding(where, f"{what}, as every value is", summarize(curve[best]), side, 0.0)])
            continue
        inside, outside = scores[agrees].idxmin(), scores[~agrees].idxmin()
        difference = (sign * (curve[inside] - curve[outside])).dropna().to_numpy()
        chance = _Chance.of(claim, rows, experiment)
        blocks.append([_finding(where, f"{what}, {inside:g} − {outside:g}", difference, "<", chance)])
    return blocks


def _alike(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """Whether two metrics vary alike along x: their rank correlation on each split, against none."""
    assert claim.along is not None
    chance = _Chance.of(claim, rows, experiment)
    both = [
        dict(_curves(claim, rows[rows["metric"] == name], experiment, claim.along, facts))
        for name in (metric, claim.alike)
    ]
    blocks = []
    for where, curve in both[0].items():
        if where in both[1]:
            one, other = curve.align(both[1][where], join="inner")
            ranks = [pd.DataFrame(rankdata(side, axis=1), side.index) for side in (one, other)]
            like = ranks[0].corrwith(ranks[1], axis=1).dropna().to_numpy()  # Spearman's, split by split
            blocks.append([_finding(where, f"rank correlation along {claim.along}", like, ">", chance)])
    return blocks


def _changes(curve: pd.DataFrame) -> pd.DataFrame:
    """How much a curve changes over the first and over the second half of its values of x."""
    first, middle, last = (curve.iloc[:, at] for at in (0, (curve.shape[1] - 1) // 2, -1))
    return pd.DataFrame({1.0: (middle - first).abs(), 2.0: (last - middle).abs()})


def _curves(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, along: str, facts: NumbersOf | None
) -> list[tuple[str, pd.DataFrame]]:
    """For each arm and cell the values by repetition (rows) and x (columns, ascending).

    With ``minus`` there is one for each of its arms, of the difference.
    """
    apart = along == "n_features"  # a trend through data sets that differ in it
    placed = at_each_x(rows, experiment, "size" if apart else along, selection=claim.selection)
    if apart and len(placed):
        keys = zip(placed["dataset"], placed["size"], strict=True)
        placed["x"] = [(facts(*key) if facts else {}).get("n_features", math.nan) for key in keys]
    placed = placed[placed["x"].notna()]
    by = {"size": ["dataset"], "n_features": []}.get(along, ["dataset", "size"])
    found: dict[str, dict[tuple[str, ...], pd.DataFrame]] = {}
    for (arm, *keys), block in placed.groupby(["arm", *by], sort=False):
        where = tuple(f"{key:g}" if isinstance(key, float) else str(key) for key in keys)
        curve = block.pivot_table(index="repetition", columns="x", values="value").sort_index(axis=1)
        curve = curve if claim.ends is None else curve[[x for x in claim.ends if x in curve]]
        found.setdefault(str(arm), {})[where] = curve
    mine = {name: curves for name, curves in found.items() if claim.arm in (None, name)}
    if claim.minus is None:
        return [(" ".join([arm, *where]), curve) for arm in mine for where, curve in mine[arm].items()]
    return [
        (" ".join([f"{arm} − {other}", *where]), curve - found[other][where])
        for arm in mine
        for other in claim.minus
        for where, curve in mine[arm].items()
        if where in found.get(other, {})
    ]


def _limit(claim: Claim, where: str, curve: pd.DataFrame, facts: NumbersOf | None) -> float:
    if not isinstance(claim.value, str):
        return float(claim.value)  # type: ignore[arg-type]
    arm = claim.arm or where.split(" ")[0]  # names may have spaces
    dataset, size = where.removeprefix(f"{arm} ").rsplit(" ", 1)
    known = {} if facts is None else facts(dataset, float(size))
    if claim.value not in known:
        raise ConfigError(f"claims: {claim.value} is not known; there are {', '.join(known) or 'numbers only'}")
    return float(known[claim.value])


def holds(x: float, op: str, limit: float) -> bool:
    """Whether "x op limit" is true."""
    return {"<": x < limit, "<=": x <= limit, ">": x > limit, ">=": x >= limit}[op]


def _transpose(columns: Sequence[dict[str, Finding]]) -> list[list[Finding]]:
    """From findings per pair to findings per cell."""
    places = list(dict.fromkeys(where for column in columns for where in column))
    return [[column[where] for column in columns if where in column] for where in places]


def _nan_low(value: float) -> float:
    return -math.inf if math.isnan(value) else value


#: The judge of each form of a claim.
JUDGES = {"left": _pairs, "best": _best, "monotone": _monotone, "argbest": _argbest, "alike": _alike}
