"""What a paper says in words, tested on the rows: holds, fails or undecided, with the numbers."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from manifold_oos.config.model import Claim, Experiment
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import better_of, unit_of
from manifold_oos.results.best import final_rows, lead_of
from manifold_oos.results.cells import certain_sets
from manifold_oos.results.curves import at_each_x, at_sizes, protocol_rows
from manifold_oos.results.statistics import ALPHA, Summary, exact, holm, summarize, t_test

HOLDS, FAILS, UNDECIDED, NO_DATA = "holds", "fails", "undecided", "no data"
#: What cannot fail, and what was judged before by splits that are not at hand.
NO_CLAIM, NOT_JUDGED = "no claim", "not judged"
SIGNS = {HOLDS: "✓", FAILS: "✗", UNDECIDED: "?", NO_DATA: "–", NO_CLAIM: "∅", NOT_JUDGED: "·"}
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


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its verdict; ``numbers`` says in one line what it rests on, ``p`` how likely by chance.

    ``part_of`` has the words of another claim that contains this one, which is then not counted.
    """

    claim: Claim
    verdict: str
    text: str
    numbers: str
    findings: list[Finding] = field(default_factory=list)
    p: float = math.nan
    adjusted: float = math.nan
    part_of: str = ""

    @property
    def counted(self) -> bool:
        """Whether it is one of the claims that counts are about."""
        return not self.part_of and self.verdict in (HOLDS, FAILS, UNDECIDED)


def judge_claims(
    rows: pd.DataFrame,
    experiment: Experiment,
    *,
    facts: NumbersOf | None = None,
    final: pd.DataFrame | None = None,
    told: Mapping[int, ClaimResult] = MappingProxyType({}),
) -> list[ClaimResult]:
    """Test every claim of a config, each by itself: :func:`correct` takes into account that they are many.

    ``told`` has the results of claims, by their place, that these rows do not suffice for.
    """
    final = final_rows(rows, lead_of(experiment)) if final is None else final
    results = [
        told.get(place) or judge_claim(claim, rows, experiment, facts=facts, final=final)
        for place, claim in enumerate(experiment.claims)
    ]
    return [replace(result, part_of=_whole_of(result, results, experiment.metrics[0])) for result in results]


def correct(results: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Holm's correction over the claims of a paper: a verdict that does not survive it is undecided."""
    family = [result for result in results if result.counted and math.isfinite(result.p)]
    adjusted = dict(zip(map(id, family), holm([result.p for result in family]), strict=True))
    out = []
    for result in results:
        # a part of another claim is no test of its own; counted splits and deterministic ones have no p (NaN)
        p = adjusted.get(id(result), result.p * max(1, len(family)))
        lost = result.verdict in (HOLDS, FAILS) and p >= ALPHA
        out.append(replace(result, adjusted=p, verdict=UNDECIDED if lost else result.verdict))
    return out


def judge_claim(
    claim: Claim,
    rows: pd.DataFrame,
    experiment: Experiment,
    *,
    facts: NumbersOf | None = None,
    final: pd.DataFrame | None = None,
) -> ClaimResult:
    """Test one claim.

    A comparison of arms holds in a cell (data set and size) where the corrected 95 % interval of the paired
    difference over the shared splits lies on the claimed side of 0, fails where it lies on the other, and is
    undecided where it contains 0; the one value of a split without chance (half-space, alternate, first) decides
    where it exceeds the claim's margin. ``over: every`` needs all cells, ``most`` more than half; ``mean`` averages
    the difference over the cells first; ``share`` counts single splits instead.
    """
    metric = claim.metric or experiment.metrics[0]
    if claim.form in ("left", "best") and claim.along is None:
        rows = final_rows(rows, lead_of(experiment)) if final is None else final
    mine = rows[rows["metric"] == metric]
    named = mine["dataset"].isin(experiment.beside if claim.dataset is None else claim.dataset)
    mine = mine[named == (claim.dataset is not None)]
    if claim.at is not None:
        mine = at_sizes(mine, claim.at)
    judges = {"left": _pairs, "best": _best, "monotone": _monotone, "argbest": _argbest}
    blocks = judges[claim.form](claim, mine, experiment, metric, facts)
    text = claim.text or describe(claim, metric)
    findings = [finding for block in blocks for finding in block]
    if not findings:
        return ClaimResult(claim, NO_DATA, text, "no rows for it")
    numbers = _numbers(findings, metric)
    blocks = [block for block in blocks if any(finding.verdict != NO_CLAIM for finding in block)]
    if claim.by_construction or not blocks:
        why = claim.by_construction or "nothing was measured that could speak against it"
        return ClaimResult(claim, NO_CLAIM, text, f"{why}; {numbers}", findings)
    if claim.over == "share":
        return _by_share(claim, text, findings)
    if claim.over == "mean":
        blocks = [findings]
    verdicts = [_all(finding.verdict for finding in block) for block in blocks]
    verdict = _most(verdicts) if claim.over == "most" else _all(verdicts)
    return ClaimResult(claim, verdict, text, numbers, findings, _chance(blocks, verdict, claim.over))


def _chance(blocks: Sequence[Sequence[Finding]], verdict: str, over: str) -> float:
    """The p of a verdict from those of its findings.

    k of m cells must speak for it: the partial conjunction (m − k + 1) p₍ₖ₎, which is the largest p where all m
    must and Bonferroni's where one does. A cell holds where all of its pairs do, and fails where one of them does.
    """
    if verdict == UNDECIDED or any(math.isnan(finding.p) for block in blocks for finding in block):
        return math.nan
    values = []
    for block in blocks:
        own = [finding.p if finding.verdict == verdict else 1.0 for finding in block]
        values.append(max(own) if verdict == HOLDS else min(1.0, len(own) * min(own)))
    m = len(values)
    most = m // 2 + 1 if verdict == HOLDS else (m + 1) // 2
    k = most if over == "most" else m if verdict == HOLDS else 1
    return min(1.0, (m - k + 1) * sorted(values)[k - 1])


def _whole_of(result: ClaimResult, others: Sequence[ClaimResult], metric: str) -> str:
    """The words of another claim that says this one and more; of two equal ones the first is the whole."""

    def said(one: ClaimResult) -> tuple[Any, ...]:
        claim, name = one.claim, one.claim.metric or metric
        side = claim.op or claim.monotone or ("<" if better_of(name) == "lower" else ">")
        return name, claim.selection, claim.over, claim.share, side, claim.excess

    before = True
    own = {(finding.where, finding.what) for finding in result.findings}
    for other in others:
        if other is result:
            before = False
        elif own and result.claim.over in ("every", "share") and said(other) == said(result):
            theirs = {(finding.where, finding.what) for finding in other.findings}
            if own < theirs or (before and own == theirs):
                return other.text
    return ""


def describe(claim: Claim, metric: str) -> str:
    """A claim in words, for one that has no text of its own."""
    name = metric.replace("_", " ")
    if claim.form == "left":
        left, right = ", ".join(claim.left or []), ", ".join(map(str, claim.right or []))
        text = f"{name}: {left} {claim.op} {right}"
    elif claim.form == "best":
        text = f"{name}: {claim.best} is best" + (f" among {', '.join(claim.among)}" if claim.among else "")
    elif claim.form == "monotone":
        text = f"{name} of {claim.arm or 'every arm'} is {claim.monotone} along {claim.along}"
    else:
        text = f"{name} of {claim.arm or 'every arm'} is best at {claim.argbest} {claim.op} {claim.value}"
    if claim.along and claim.form in ("left", "best"):
        text += f" at each {claim.along}" + (f" from {claim.beyond:g} on" if claim.beyond is not None else "")
        text += ", above its own best" if claim.excess else ""
    scope = [] if claim.over == "every" else [f"share {claim.share:g} of splits" if claim.share else claim.over]
    scope += [", ".join(claim.dataset)] if claim.dataset else []
    scope += ["at " + ", ".join(f"{size:g}" for size in claim.at)] if claim.at else []
    return text + (f" ({'; '.join(scope)})" if scope else "")


def _pairs(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """Compare left with right, in each cell or on the average of the cells."""
    assert claim.op is not None
    final = _compared(claim, rows, experiment)
    blocks = []
    for left in claim.left or []:
        for right in claim.right or []:
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
    if chance.certain and len(values) == 1:
        summary, margin = exact(values[0]), chance.margin
        near = margin is None or (margin > 0 and abs(summary.mean) <= margin)
        return Finding(where, what, summary, UNDECIDED if near else _side(summary, op), math.nan, values)
    summary = summarize(difference, chance.overlap)
    p = t_test(summary, 1 / summary.n + chance.overlap) if summary.n > 1 else math.nan
    verdict = _side(summary, op)
    if summary.sd == 0 and summary.mean == 0:
        p = 0.0  # equal on every split
    return Finding(where, what, summary, verdict, p, values)


def _side(difference: Summary, op: str) -> str:
    """Verdict of "difference op 0" from the interval; equality on every split meets ≤ and ≥."""
    if not math.isfinite(difference.low):
        return UNDECIDED
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
    op = "<=" if claim.monotone == "falling" else ">="
    blocks = []
    chance = _Chance.of(claim, rows, experiment)
    by = ["arm", "dataset"] if claim.along == "size" else ["arm", "dataset", "size"]
    for where, curve in _curves(claim, rows, experiment, claim.along, by):
        if curve.shape[1] < 2:
            continue
        steps = curve.diff(axis=1).iloc[:, 1:]
        scale = curve.abs().to_numpy()[np.isfinite(curve.to_numpy())].max(initial=0.0)
        steps = steps.where(steps.abs() > 1e-9 * scale, steps * 0.0)
        first, last = curve.columns[0], curve.columns[-1]
        # splits may end at different iterations: each goes from the first value to its own last one
        whole = curve.ffill(axis=1).iloc[:, -1] - curve.iloc[:, 0]
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
        blocks.append([overall] if worst.verdict != FAILS else [overall, worst])
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
    for where, curve in _curves(claim, rows, experiment, claim.argbest, ["arm", "dataset", "size"]):
        limit = _limit(claim, where, curve, facts)
        scores = sign * curve.mean()
        best = scores.idxmin()
        agrees = pd.Series([_holds(float(x), claim.op, limit) for x in curve.columns], index=curve.columns)
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


def _curves(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, along: str, by: Sequence[str]
) -> list[tuple[str, pd.DataFrame]]:
    """For each arm and cell the values by repetition (rows) and x (columns, ascending)."""
    if claim.arm is not None:
        rows = rows[rows["arm"] == claim.arm]
    placed = at_each_x(rows, experiment, along, selection=claim.selection)
    placed = placed[placed["x"].notna()]
    out = []
    for keys, block in placed.groupby(list(by), sort=False):
        where = " ".join(f"{key:g}" if isinstance(key, float) else str(key) for key in keys)
        out.append((where, block.pivot_table(index="repetition", columns="x", values="value").sort_index(axis=1)))
    return out


def _limit(claim: Claim, where: str, curve: pd.DataFrame, facts: NumbersOf | None) -> float:
    if not isinstance(claim.value, str):
        return float(claim.value)  # type: ignore[arg-type]
    arm = claim.arm or where.split(" ")[0]  # names may have spaces
    dataset, size = where.removeprefix(f"{arm} ").rsplit(" ", 1)
    known = {} if facts is None else facts(dataset, float(size))
    if claim.value not in known:
        raise ConfigError(f"claims: {claim.value} is not known; there are {', '.join(known) or 'numbers only'}")
    return float(known[claim.value])


def _holds(x: float, op: str, limit: float) -> bool:
    return {"<": x < limit, "<=": x <= limit, ">": x > limit, ">=": x >= limit}[op]


def _transpose(columns: Sequence[dict[str, Finding]]) -> list[list[Finding]]:
    """From findings per pair to findings per cell."""
    places = list(dict.fromkeys(where for column in columns for where in column))
    return [[column[where] for column in columns if where in column] for where in places]


def _all(verdicts: Any) -> str:
    """Holds where all hold, fails where one fails."""
    seen = set(verdicts)
    return FAILS if FAILS in seen else UNDECIDED if UNDECIDED in seen else HOLDS


def _most(verdicts: Sequence[str]) -> str:
    """Holds where more than half hold, fails where that can no longer be."""
    if verdicts.count(HOLDS) > len(verdicts) / 2:
        return HOLDS
    return FAILS if verdicts.count(FAILS) >= len(verdicts) / 2 else UNDECIDED


def _by_share(claim: Claim, text: str, findings: list[Finding]) -> ClaimResult:
    """Count the splits on which the claim is true."""
    op = {"falling": "<=", "rising": ">="}.get(claim.monotone or "", claim.op or "<")
    counts = []
    for finding in findings:
        if finding.values:
            counts.append((sum(_holds(value, op, 0.0) for value in finding.values), len(finding.values)))
    good, total = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    assert claim.share is not None
    if not total:
        return ClaimResult(claim, NO_DATA, text, "no split to count", findings)
    verdict = HOLDS if good >= claim.share * total - 1e-9 else FAILS
    return ClaimResult(claim, verdict, text, f"true on {good} of {total} splits", findings)


def _numbers(findings: Sequence[Finding], metric: str, limit: int = 6) -> str:
    """The findings in one line, the ones that speak against the claim first."""
    order = [FAILS, UNDECIDED, HOLDS, NO_CLAIM]
    shown = sorted(findings, key=lambda finding: order.index(finding.verdict))[:limit]
    unit = " points" if unit_of(metric) == "%" else ""
    parts = []
    for finding in shown:
        d = finding.difference
        interval = f" [{d.low:.3g}, {d.high:.3g}]" if math.isfinite(d.low) else " (one split)"
        parts.append(f"{finding.where}: {finding.what} = {d.mean:.3g}{interval}{unit}")
    rest = len(findings) - len(shown)
    return "; ".join(parts) + (f"; {rest} more" if rest else "")


def _nan_low(value: float) -> float:
    return -math.inf if math.isnan(value) else value
