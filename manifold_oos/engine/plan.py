"""What an experiment has to compute: a line for each arm, split and protocol, and the trials that share work."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from manifold_oos import datasets, registry
from manifold_oos.config.model import Arm, Data, Experiment, Method, Protocol
from manifold_oos.config.values import has_grid
from manifold_oos.engine.arm_run import Request, Settled
from manifold_oos.engine.feasible import check
from manifold_oos.engine.fits import method_key
from manifold_oos.engine.keys import _digest, arm_part, facts_key, score_metric, split_part
from manifold_oos.engine.splits import DataFacts, DataRef, SplitRef
from manifold_oos.errors import ConfigError, MoosError
from manifold_oos.metrics import METRICS


@dataclass(frozen=True)
class Line:
    """One arm on one split under one protocol: the unit of resuming. ``selection`` is ``fixed`` without grids."""

    key: str
    arm: str
    dataset: str
    size: float
    repetition: int
    selection: str

    @property
    def kind(self) -> tuple[str, str, float, str]:
        """The same for all repetitions."""
        return self.arm, self.dataset, self.size, self.selection

    @property
    def place(self) -> dict[str, Any]:
        """What its rows have in common, by column."""
        return {name: getattr(self, name) for name in PLACE}


#: The columns that say which line a row is of.
PLACE = ("arm", "dataset", "size", "repetition", "selection")


@dataclass(frozen=True)
class Trial:
    """Lines that share a split and an embedding: the unit of work."""

    split: SplitRef
    lines: tuple[Line, ...]


@dataclass
class Plan:
    """All lines and trials of an experiment.

    ``absent`` has a message for each data set whose data could not be had; nothing of it is in the lines.
    """

    experiment: Experiment
    lines: list[Line]
    trials: list[Trial]
    refs: dict[str, DataRef]
    facts: dict[str, DataFacts]
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is computed for every line; times are measured anyway."""
        return tuple(name for name in self.experiment.metrics if METRICS[name].needs != "time")

    def request(
        self, line: Line, metrics: Iterable[str], choice: Mapping[str, Any] | None = None, keep: Iterable[str] = ()
    ) -> Request:
        """The work of a line for a worker."""
        arm, protocol = self.experiment.arms[line.arm], self.protocol(line)
        cv = self.experiment.cv_of(protocol, arm)
        score = score_metric(self.experiment, arm, protocol)
        return Request(arm, protocol, cv, score, tuple(metrics), line.key, choice, frozenset(keep))

    def protocol(self, line: Line) -> Protocol | None:
        """The protocol of a line, None for a fixed one."""
        return next((p for p in self.experiment.selection if p.name == line.selection), None)

    def settled(self, line: Line, split: SplitRef) -> Settled:
        """The arm of a line with what the split decides decided."""
        return Settled(self.experiment.arms[line.arm], split.size_facts(self.facts[line.dataset]))

    def batches(self, trial: Trial) -> dict[str, Method]:
        """The batch embeddings of the whole data set that a trial compares with, by key."""
        if trial.split.drawn:
            return {}
        wanted = any(METRICS[name].needs == "batch" for name in self.metrics)
        found: dict[str, Method] = {}
        for line in trial.lines:
            arm = self.experiment.arms[line.arm]
            if arm.embedding is not None and (wanted or arm.batch):
                methods = self.settled(line, trial.split).embeddings()
                found |= {method_key("embedding", method): method for method in methods}
        return found


def make_plan(
    experiment: Experiment,
    *,
    data_dir: str | None = None,
    offline: bool | None = None,
    skip_missing: bool = False,
    known: Mapping[str, DataFacts] | None = None,
) -> Plan:
    """Plan an experiment."""
    refs, facts, absent = {}, {}, {}
    for data in experiment.datasets:
        loader = datasets.find(data.name)
        own = issubclass(loader, registry.Opaque)
        options = _stored_options(data, known or {}) if own else loader.check(data.options)
        ref = DataRef(data.label, data.name, options, data_dir, offline if known is None else True)
        refs[data.label] = ref
        fact = (known or {}).get(facts_key(ref))
        try:
            facts[data.label] = fact or DataFacts.of(ref.load())
        except MoosError as error:
            if isinstance(error, ConfigError) or not (skip_missing or own or known is not None):
                raise type(error)(experiment.mistakes([(experiment.place_of(data), str(error))])) from error
            absent[data.label] = str(error)
    impossible = check(experiment, facts)
    if impossible:
        raise ConfigError(experiment.mistakes(impossible))
    plan = Plan(experiment, [], [], refs, facts, absent)
    columns = {
        data.label: [
            (name, protocol.name if protocol else "fixed", _group(arm), arm_part(experiment, arm, protocol, data))
            for name, arm in experiment.arms_of(data).items()
            for protocol in _protocols(experiment, arm, data)
        ]
        for data in experiment.datasets
        if data.label in facts
    }
    for split, data in _splits(experiment, refs, facts):
        where = split_part(split, facts[data.label])
        groups: dict[str, list[Line]] = {}
        for name, selection, group, part in columns[data.label]:
            line = Line(_digest([part, where]), name, data.label, split.size, split.repetition, selection)
            plan.lines.append(line)
            groups.setdefault(group, []).append(line)
        plan.trials += [Trial(split, tuple(lines)) for lines in groups.values()]
    return plan


def _splits(
    experiment: Experiment, refs: Mapping[str, DataRef], facts: Mapping[str, DataFacts]
) -> Iterator[tuple[SplitRef, Data]]:
    present = [(data, experiment.split_of(data)) for data in experiment.datasets if data.label in facts]
    for repetition in range(max((split.rounds for _, split in present), default=0)):
        for data, split in present:
            if repetition < split.rounds:
                for size in split.sizes:
                    yield SplitRef(refs[data.label], split, size, repetition), data


def _stored_options(data: Data, known: Mapping[str, DataFacts]) -> dict[str, Any]:
    """The options of a data set whose loader is not imported, with the defaults that a run wrote to the store."""
    for key in known:
        name, options = json.loads(key)
        if name == data.name and options | data.options == options:
            return dict(options)
    return dict(data.options)


def _protocols(experiment: Experiment, arm: Arm, data: Data) -> list[Protocol | None]:
    if not any(has_grid(method.parameters, data.label) for method in arm.methods().values()):
        return [None]
    printed = {block.selection for block in experiment.published}
    if None in printed or not (arm.reading or data.reading):
        return list(experiment.selection)
    return [protocol for protocol in experiment.selection if protocol.name in printed]  # all that a reading serves


def _group(arm: Arm) -> str:
    """The same for arms that can share a fit: of a nested embedding all dimensions are one."""
    if arm.embedding is None:
        return json.dumps(["ambient", arm.model_dump(exclude={"datasets", "note"})], sort_keys=True, default=str)
    rest = {key: value for key, value in arm.embedding.parameters.items() if key != "n_components"}
    return json.dumps([arm.batch, arm.embedding.name, rest], sort_keys=True, default=str)
