"""Which extender for this data, in words: by how much, not told apart from which, at what cost per point."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from manifold_oos.config.model import FIXED, Data, Experiment
from manifold_oos.metrics import METRICS, better_of, label_of, unit_of
from manifold_oos.results.best import FOLLOWERS, lead_of
from manifold_oos.results.cells import protocols
from manifold_oos.results.collect import Results
from manifold_oos.results.statistics import Summary, summarize
from manifold_oos.results.tables import size_text

COST = "milliseconds_per_sample"
FOOTNOTE = (
    "Differences are paired by split, with 95 % intervals corrected for splits that overlap (Nadeau & Bengio 2003)."
)
OPTIMISTIC = "Parameters were chosen by their test average: these numbers are optimistic."


@dataclass(frozen=True)
class Versus:
    """An arm beside the best embedding: ``by`` is how much better that one is, negative where it is worse."""

    arm: str
    by: Summary

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.by.low > 0 or self.by.high < 0


@dataclass(frozen=True)
class Advice:
    """What the splits of one data set say, at the largest size that has numbers.

    ``won`` counts the splits on which the best embedding is first, alone or with others. ``others`` are the further
    arms with an embedding, ``plain`` those without one, ``nn`` is plain NN among them; ``costs`` are milliseconds
    per new point, ``firsts`` the best embedding by each further metric.
    """

    dataset: str
    known: str
    metric: str
    splits: int
    best: str
    mean: float
    won: int
    others: Sequence[Versus] = ()
    plain: Sequence[Versus] = ()
    nn: str = ""
    costs: Mapping[str, float] = field(default_factory=dict)
    firsts: Mapping[str, str] = field(default_factory=dict)

    @property
    def tied(self) -> list[Versus]:
        """The arms that are not told apart from the best."""
        return [other for other in self.others if not other.decided]

    @property
    def head(self) -> str:
        """Where it holds."""
        splits = "1 split" if self.splits == 1 else f"{self.splits} splits"
        return f"{self.dataset}, {self.known}, {splits}"

    def sentences(self) -> Iterator[str]:
        """The verdict, most important first."""
        value = f"{label_of(self.metric)} {_number(self.mean, self.metric)}"
        won = f"first on {self.won} of {self.splits} splits"
        if self.splits == 1:
            yield f"One split decides nothing. On this one {self.best} is first among the embeddings: {value}."
        elif self.tied:
            yield f"{self.best} has the best mean, but others are not told apart from it: {value}, {won}."
        else:
            yield f"{self.best}: {value}, {won}."
        beaten = [other for other in self.others if other.decided or self.splits == 1]
        if beaten:
            yield f"Better than {', '.join(f'{other.arm} by {self._by(other)}' for other in beaten)}."
        if self.tied and self.splits > 1:
            yield f"Not told apart from {', '.join(f'{other.arm} ({self._by(other)})' for other in self.tied)}."
        yield from self._cost()
        yield from self._beside_plain()
        for metric, arm in self.firsts.items():
            if arm != self.best:
                yield f"By {label_of(metric)} the first is {arm}."

    def _cost(self) -> Iterator[str]:
        if self.best not in self.costs:
            return
        yield f"A new point costs {_milliseconds(self.costs[self.best])} with {self.best}" + self._quicker() + "."

    def _quicker(self) -> str:
        tied = [other.arm for other in self.tied if other.arm in self.costs] if self.splits > 1 else []
        quick = min(tied, key=lambda arm: self.costs[arm], default=self.best)
        if self.costs.get(quick, math.inf) >= self.costs[self.best]:
            return ""
        return f"; of those not told apart {quick} is the quickest with {_milliseconds(self.costs[quick])}"

    def _beside_plain(self) -> Iterator[str]:
        for other in self.plain:
            name = f"plain {other.arm} in the space of the data"
            by = self._by(other, flip=other.by.mean < 0)
            if self.splits == 1:
                yield f"{name[0].upper()}{name[1:]} is {'better' if other.by.mean < 0 else 'worse'} by {by}."
            elif not other.decided:
                yield f"Not told apart from {name} ({self._by(other)})."
            elif other.by.mean > 0:
                yield f"Better than {name} by {by}."
            elif other.arm == self.nn:
                yield f"Warning: every embedding loses to {name}, by {by} or more: it costs accuracy here."
            else:
                yield f"Worse than {name} by {by}."

    def _by(self, other: Versus, flip: bool = False) -> str:
        sign = -1 if flip else 1
        low, high = sorted((sign * other.by.low, sign * other.by.high))
        text = _number(sign * other.by.mean, self.metric)
        if math.isfinite(low):
            text += f" [{_number(low, self.metric)}, {_number(high, self.metric)}]"
        return text


def has_verdict(experiment: Experiment) -> bool:
    """Whether a config asks which arm to take: no paper, no sweep of a parameter, and more than one arm embeds."""
    swept = any(
        out.table is not None and out.columns not in (None, "size", "dataset") for out in experiment.outputs
    )
    paper = experiment.paper or experiment.published or experiment.claims
    return not paper and not swept and len(_embedding_arms(experiment)) > 1


def make_verdicts(results: Results) -> list[Advice]:
    """One verdict for each data set that has rows; none where a config compares with a paper."""
    experiment, final = results.experiment, results.shown_final
    if not has_verdict(experiment) or final.empty:
        return []
    protocol = protocols(final, experiment)[0]
    final = final[final["selection"].isin((protocol, FIXED))]
    found = (_of_data(final[final["dataset"] == data.label], experiment, data) for data in experiment.datasets)
    return [verdict for verdict in found if verdict is not None]


def verdict_markdown(results: Results) -> str:
    """The verdicts as a page; empty without any."""
    verdicts = make_verdicts(results)
    if not verdicts:
        return ""
    parts = ["# Verdict", ""]
    for verdict in verdicts:
        parts += [f"## {verdict.head}", "", *(f"- {sentence}" for sentence in verdict.sentences()), ""]
    return "\n".join([*parts, *_notes(results), ""])


def verdict_text(results: Results) -> str:
    """The verdicts for a terminal; empty without any."""
    lines = []
    for verdict in make_verdicts(results):
        lines += [f"Verdict for {verdict.head}:", *(f"  {sentence}" for sentence in verdict.sentences())]
    return "\n".join([*lines, *_notes(results)]) if lines else ""


def _notes(results: Results) -> list[str]:
    final = results.shown_final
    optimistic = protocols(final, results.experiment)[0] == "best"
    return [FOOTNOTE, *([OPTIMISTIC] if optimistic else [])]


def _of_data(rows: pd.DataFrame, experiment: Experiment, data: Data) -> Advice | None:
    lead = lead_of(experiment)
    judged = rows[rows["metric"] == lead]
    if lead is None or judged.empty:
        return None
    size = judged["size"].max()
    rows = rows[rows["size"] == size]
    values = {metric: _by_arm(rows, metric) for metric in experiment.metrics if _judges(metric)}
    embedding = _embedding_arms(experiment)
    best = _first(values[lead], embedding, lead)
    if best is None:
        return None
    first = judged[judged["size"] == size].iloc[0]
    ratio = float(first["n_test"] / first["n_train"])

    def beside(arms: Sequence[str]) -> list[Versus]:
        sign = 1 if better_of(lead) == "lower" else -1
        found = [Versus(arm, summarize(sign * (values[lead][arm] - values[lead][best]), ratio)) for arm in arms]
        return sorted((one for one in found if one.by.n), key=lambda one: one.by.mean)

    plain = [arm for arm in values[lead] if experiment.arms[arm].embedding is None]
    costs = {arm: float(times.mean()) for arm, times in _by_arm(rows, COST).items()}
    firsts = {metric: _first(arms, embedding, metric) for metric, arms in values.items() if metric != lead}
    return Advice(
        data.label,
        size_text(experiment.split_of(data).kind, size),
        lead,
        int(values[lead][best].count()),
        best,
        float(values[lead][best].mean()),
        _won(best, {arm: values[lead][arm] for arm in embedding if arm in values[lead]}, lead),
        beside([arm for arm in embedding if arm in values[lead] and arm != best]),
        beside(plain),
        next((arm for arm in plain if _is_nn(experiment.arms[arm])), ""),
        costs,
        {metric: arm for metric, arm in firsts.items() if arm},
    )


def _embedding_arms(experiment: Experiment) -> list[str]:
    return [arm for arm in experiment.shown if experiment.arms[arm].embedding and not experiment.arms[arm].batch]


def _is_nn(arm: Any) -> bool:
    return arm.classifier is not None and arm.classifier.name == "nn"


def _judges(metric: str) -> bool:
    return metric in METRICS and METRICS[metric].needs not in FOLLOWERS


def _by_arm(rows: pd.DataFrame, metric: str) -> dict[str, pd.Series]:
    """The values of each arm by repetition."""
    mine = rows[(rows["metric"] == metric) & rows["value"].notna()]
    return {str(arm): block.set_index("repetition")["value"] for arm, block in mine.groupby("arm", sort=False)}


def _first(values: Mapping[str, pd.Series], arms: Sequence[str], metric: str) -> str | None:
    """The arm with the best mean."""
    sign = 1 if better_of(metric) == "lower" else -1
    return min((arm for arm in arms if arm in values), key=lambda arm: sign * values[arm].mean(), default=None)


def _won(best: str, values: Mapping[str, pd.Series], metric: str) -> int:
    """On how many splits an arm is first, alone or with others."""
    table = pd.DataFrame(values)
    edge = table.min(axis=1) if better_of(metric) == "lower" else table.max(axis=1)
    return int((table[best] == edge).sum())


def _number(value: float, metric: str) -> str:
    text = f"{value:.2f}" if unit_of(metric) == "%" else f"{value:.3g}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def _milliseconds(value: float) -> str:
    return f"{value:.2g} ms" if value < 1000 else f"{value / 1000:.2g} s"
