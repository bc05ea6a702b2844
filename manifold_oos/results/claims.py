"""What a paper says in words, tested on the rows: holds, fails or undecided, with the numbers."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from manifold_oos.config.model import Claim, Experiment
from manifold_oos.metrics import better_of, is_time, unit_of
from manifold_oos.results.best import final_rows, lead_of
from manifold_oos.results.curves import at_sizes
from manifold_oos.results.judges import (
    FAILS,
    HOLDS,
    JUDGES,
    NO_CLAIM,
    NO_DATA,
    NOT_JUDGED,
    UNDECIDED,
    Finding,
    NumbersOf,
    holds,
)
from manifold_oos.results.statistics import ALPHA, holm

SIGNS = {HOLDS: "✓", FAILS: "✗", UNDECIDED: "?", NO_DATA: "–", NO_CLAIM: "∅", NOT_JUDGED: "·"}


#: What files say behind the numbers of a claim that is not counted.
COUNTED_WITH, ON_STAND_IN = "; counted with: ", "; on a stand-in, not counted"


@dataclass(frozen=True)
class ClaimResult:
    """A claim with its verdict; ``numbers`` says in one line what it rests on, ``p`` how likely by chance.

    ``part_of`` has the words of another claim that contains this one; neither such a claim nor one that was judged
    on a ``stand_in`` alone is counted. ``timed`` is a claim on the clock, which no two runs read alike.
    """

    claim: Claim
    verdict: str
    text: str
    numbers: str
    findings: list[Finding] = field(default_factory=list)
    p: float = math.nan
    adjusted: float = math.nan
    part_of: str = ""
    stand_in: bool = False
    timed: bool = False

    @property
    def counted(self) -> bool:
        """Whether it is one of the claims that counts are about."""
        return not self.part_of and not self.stand_in and self.verdict in (HOLDS, FAILS, UNDECIDED)

    @property
    def numbers_text(self) -> str:
        """What it rests on, and why it is not counted."""
        aside = f"{COUNTED_WITH}{self.part_of}" if self.part_of else ""
        return self.numbers + aside + (ON_STAND_IN if self.stand_in else "")


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
    there = set(rows["dataset"])
    return [
        replace(
            result,
            part_of=_whole_of(result, results, experiment.metrics[0]) or result.part_of,
            stand_in=_on_stand_ins(result.claim, experiment, there) or result.stand_in,
            timed=is_time(result.claim.metric or experiment.metrics[0]),
        )
        for result in results
    ]


def correct(results: Sequence[ClaimResult]) -> list[ClaimResult]:
    """Holm's correction over the claims of a paper: a verdict that does not survive it is undecided.

    Claims on times are a family of their own: another run's clock must not change a verdict on accuracy.
    """
    families: dict[bool, list[ClaimResult]] = {False: [], True: []}
    for result in results:
        if result.counted and math.isfinite(result.p):
            families[result.timed].append(result)
    adjusted = {
        id(result): p
        for family in families.values()
        for result, p in zip(family, holm([result.p for result in family]), strict=True)
    }
    out = []
    for result in results:
        # what is not counted is no test of its own; counted splits and deterministic ones have no p (NaN)
        p = adjusted.get(id(result), result.p * max(1, len(families[result.timed])))
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
    mine = rows[rows["metric"].isin([metric, claim.alike])]
    named = mine["dataset"].isin(experiment.beside if claim.dataset is None else claim.dataset)
    mine = mine[named == (claim.dataset is not None)]
    if claim.at is not None:
        mine = at_sizes(mine, claim.at)
    blocks = JUDGES[claim.form](claim, mine, experiment, metric, facts)
    text = claim.text or describe(claim, metric)
    findings = [finding for block in blocks for finding in block]
    if not findings:
        return ClaimResult(claim, NO_DATA, text, "no rows for it")
    numbers = _numbers(findings, claim.form, metric)
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


def _on_stand_ins(claim: Claim, experiment: Experiment, there: Set[str]) -> bool:
    """Whether all data sets that speak of a claim stand in for others."""
    said = {data.label for data in experiment.datasets if data.label not in experiment.beside}
    named = there & (said if claim.dataset is None else set(claim.dataset))
    return bool(named) and all(data.stand_in for data in experiment.datasets if data.label in named)


def _whole_of(result: ClaimResult, others: Sequence[ClaimResult], metric: str) -> str:
    """The words of another claim that says this one and more; of two equal ones the first is the whole."""

    def said(one: ClaimResult) -> tuple[Any, ...]:
        claim, name = one.claim, one.claim.metric or metric
        side = claim.op or claim.monotone or ("<" if better_of(name) == "lower" else ">")
        return name, claim.selection, claim.over, claim.share, side, claim.excess, claim.by, claim.alike

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
    elif claim.form in ("monotone", "alike"):
        text = f"{name} of {claim.arm or 'every arm'}" + (f" minus {', '.join(claim.minus)}" if claim.minus else "")
        like = f"varies as {(claim.alike or '').replace('_', ' ')}" if claim.alike else f"is {claim.monotone}"
        text += f" {like} along {claim.along}" + (f" by {100 * claim.by:g} % at least" if claim.by else "")
    else:
        text = f"{name} of {claim.arm or 'every arm'} is best at {claim.argbest} {claim.op} {claim.value}"
    if claim.along and claim.form in ("left", "best"):
        text += f" at each {claim.along}" + (f" from {claim.beyond:g} on" if claim.beyond is not None else "")
        text += ", above its own best" if claim.excess else ""
    scope = [] if claim.over == "every" else [f"share {claim.share:g} of splits" if claim.share else claim.over]
    scope += [", ".join(claim.dataset)] if claim.dataset else []
    scope += ["at " + ", ".join(f"{size:g}" for size in claim.at)] if claim.at else []
    return text + (f" ({'; '.join(scope)})" if scope else "")


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
    op = {"falling": "<=", "levelling": "<=", "rising": ">="}.get(claim.monotone or "", claim.op or "<")
    counts = []
    for finding in findings:
        if finding.values:
            counts.append((sum(holds(value, op, 0.0) for value in finding.values), len(finding.values)))
    good, total = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    assert claim.share is not None
    if not total:
        return ClaimResult(claim, NO_DATA, text, "no split to count", findings)
    verdict = HOLDS if good >= claim.share * total - 1e-9 else FAILS
    return ClaimResult(claim, verdict, text, f"true on {good} of {total} splits", findings)


def _numbers(findings: Sequence[Finding], form: str, metric: str, limit: int = 6) -> str:
    """The findings in one line, the ones that speak against the claim first."""
    order = [FAILS, UNDECIDED, HOLDS, NO_CLAIM]
    shown = sorted(findings, key=lambda finding: order.index(finding.verdict))[:limit]
    unit = " points" if unit_of(metric) == "%" else ""
    parts = []
    for finding in shown:
        d = finding.difference
        interval = f" [{d.low:.3g}, {d.high:.3g}]" if math.isfinite(d.low) else " (one split)"
        same = sum(value * d.mean > 0 for value in finding.values)
        alike = f", so signed on {same} of {d.n} splits" if d.n > 1 and form in ("left", "best") else ""
        parts.append(f"{finding.where}: {finding.what} = {d.mean:.3g}{interval}{unit}{alike}")
    rest = len(findings) - len(shown)
    return "; ".join(parts) + (f"; {rest} more" if rest else "")
