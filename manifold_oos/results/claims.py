"""What a paper says in words, tested on the rows: holds, fails or undecided, with the numbers."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from manifold_oos.config.model import Claim, Experiment
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import better_of, unit_of
from manifold_oos.results.best import final_rows, lead_of
from manifold_oos.results.curves import at_each_x, at_sizes, protocol_rows
from manifold_oos.results.statistics import Summary, summarize

#: Splits that hold no chance unless a part of the new points is drawn.
CERTAIN_KINDS = ("half_space", "alternate", "first")
HOLDS, FAILS, UNDECIDED, NO_DATA = "holds", "fails", "undecided", "no data"
#: Number of classes, known points and so on of a data set at a size, for values that a claim names.
NumbersOf = Callable[[str, float], Mapping[str, float]]


@dataclass(frozen=True)
class Finding:
    """One comparison behind a claim: where, what, the difference with its interval, and its own verdict."""

    where: str
    what: str
    difference: Summary
    verdict: str


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its verdict; ``numbers`` says in one line what it rests on."""

    claim: Claim
    verdict: str
    text: str
    numbers: str
    findings: list[Finding] = field(default_factory=list)


def judge_claims(
    rows: pd.DataFrame, experiment: Experiment, *, facts: NumbersOf | None = None
) -> list[ClaimResult]:
    """Test every claim of a config."""
    return [judge_claim(claim, rows, experiment, facts=facts) for claim in experiment.claims]


def judge_claim(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, *, facts: NumbersOf | None = None
) -> ClaimResult:
    """Test one claim.

    A comparison of arms holds in a cell (data set and size) where the 95 % interval of the paired difference over
    the shared splits lies on the claimed side of 0, fails where it lies on the other, and is undecided where it
    contains 0; a split without chance (half-space, alternate, first) has one value, which decides. ``over: every``
    needs all cells, ``most`` more than half; ``mean`` averages the difference over the cells first; ``share``
    counts single splits instead.
    """
    metric = claim.metric or experiment.metrics[0]
    if claim.form in ("left", "best"):
        rows = final_rows(rows, lead_of(experiment))
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
    if claim.over == "share":
        return _by_share(claim, text, findings)
    if claim.over == "mean":
        return ClaimResult(claim, _all(f.verdict for f in findings), text, _numbers(findings, metric), findings)
    verdicts = [_all(finding.verdict for finding in block) for block in blocks]
    verdict = _all(verdicts) if claim.over == "every" else _most(verdicts)
    return ClaimResult(claim, verdict, text, _numbers(findings, metric), findings)


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
    scope = [] if claim.over == "every" else [f"share {claim.share:g} of splits" if claim.share else claim.over]
    scope += [", ".join(claim.dataset)] if claim.dataset else []
    scope += ["at " + ", ".join(f"{size:g}" for size in claim.at)] if claim.at else []
    return text + (f" ({'; '.join(scope)})" if scope else "")


def _pairs(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """Compare left with right, in each cell or on the average of the cells."""
    assert claim.op is not None
    final = protocol_rows(rows, experiment, claim.selection)
    blocks = []
    for left in claim.left or []:
        for right in claim.right or []:
            blocks.append(_compare(final, experiment, left, right, claim.op, claim.over))
    # the cells of all pairs side by side: a cell holds where every pair does
    return [[f for f in group if f is not None] for group in _transpose(blocks)]


def _best(
    claim: Claim, rows: pd.DataFrame, experiment: Experiment, metric: str, facts: NumbersOf | None
) -> list[list[Finding]]:
    """The named arm against each of the others."""
    assert claim.best is not None
    final = protocol_rows(rows, experiment, claim.selection)
    others = [arm for arm in claim.among or experiment.shown if arm != claim.best and arm in set(final["arm"])]
    op = "<" if better_of(metric) == "lower" else ">"
    return _transpose([_compare(final, experiment, claim.best, other, op, claim.over) for other in others])


def _compare(
    rows: pd.DataFrame, experiment: Experiment, left: str, right: str | float, op: str, over: str
) -> dict[str, Finding]:
    """Findings by cell for one pair (one finding for all cells under ``mean``)."""
    columns = {}
    certain = _certain(experiment, rows["dataset"])
    for where, block in rows.groupby(["dataset", "size"], sort=False):
        values = block.pivot_table(index="repetition", columns="arm", values="value", sort=False)
        if left not in values or (isinstance(right, str) and right not in values):
            continue
        other = values[right] if isinstance(right, str) else float(right)
        columns[f"{where[0]} {where[1]:g}"] = (values[left] - other).dropna()
    what = f"{left} − {right}"
    if over == "mean" and columns:
        together = pd.DataFrame(columns).dropna().mean(axis=1)
        columns = {"mean of " + ", ".join(columns): together}
    return {where: _finding(where, what, values.to_numpy(), op, certain) for where, values in columns.items()}


def _certain(experiment: Experiment, labels: Iterable[str]) -> bool:
    """Whether the splits of all these data sets are drawn without chance."""
    seen = set(labels)
    splits = [experiment.split_of(data) for data in experiment.datasets if data.label in seen]
    return bool(splits) and all(split.rounds == 1 and split.kind in CERTAIN_KINDS for split in splits)


def _finding(where: str, what: str, difference: np.ndarray, op: str, certain: bool = False) -> Finding:
    summary = summarize(difference)
    if certain and summary.n == 1:
        summary = Summary(1, summary.mean, 0.0, summary.mean, summary.mean)
    return Finding(where, what, _with_values(summary, difference), _side(summary, op))


@dataclass(frozen=True)
class _Summary(Summary):
    """A summary that remembers its values, for claims on the share of splits."""

    values: tuple[float, ...] = ()


def _with_values(summary: Summary, values: np.ndarray) -> Summary:
    return _Summary(summary.n, summary.mean, summary.sd, summary.low, summary.high, tuple(values.tolist()))


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
    certain = _certain(experiment, rows["dataset"])
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
        overall = _finding(where, f"{claim.along} {first:g} to {last:g}", whole.dropna().to_numpy(), op[0], certain)
        sign = 1 if op == "<=" else -1
        against = {
            x: _finding(where, f"{claim.along} to {x:g}", steps[x].dropna().to_numpy(), op, certain) for x in steps
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
        overall = Finding(where, overall.what, _with_values(overall.difference, marks), verdict)
        blocks.append([overall] if worst.verdict != FAILS else [overall, worst])
    return blocks


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
            summary = summarize(curve[best])
            blocks.append([Finding(where, what, summary, HOLDS if agrees.all() else FAILS)])
            continue
        inside, outside = scores[agrees].idxmin(), scores[~agrees].idxmin()
        difference = (sign * (curve[inside] - curve[outside])).dropna().to_numpy()
        finding = _finding(
            where, f"{what}, {inside:g} − {outside:g}", difference, "<", _certain(experiment, rows["dataset"])
        )
        blocks.append([finding])
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
    _, *dataset, size = where.split(" ")
    known = {} if facts is None else facts(" ".join(dataset), float(size))
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
        values = getattr(finding.difference, "values", ())
        if values:
            counts.append((sum(_holds(value, op, 0.0) for value in values), len(values)))
    good, total = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    assert claim.share is not None
    if not total:
        return ClaimResult(claim, NO_DATA, text, "no split to count", findings)
    verdict = HOLDS if good >= claim.share * total - 1e-9 else FAILS
    return ClaimResult(claim, verdict, text, f"true on {good} of {total} splits", findings)


def _numbers(findings: Sequence[Finding], metric: str, limit: int = 6) -> str:
    """The findings in one line, the ones that speak against the claim first."""
    order = [FAILS, UNDECIDED, HOLDS]
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
