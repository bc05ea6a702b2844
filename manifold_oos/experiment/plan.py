"""What an experiment has to compute: a line for each arm, split and protocol, and the trials that share work."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from manifold_oos import datasets, registry
from manifold_oos.datasets.base import Dataset
from manifold_oos.errors import ConfigError, DataError
from manifold_oos.experiment.arms import DIMENSION, Request, as_json
from manifold_oos.experiment.checks import KINDS
from manifold_oos.experiment.config import Arm, Data, Experiment, Protocol, Split
from manifold_oos.experiment.grids import Facts, fill, grids_of, has_grid, is_by_dataset, product, settle
from manifold_oos.experiment.metrics import METRICS
from manifold_oos.experiment.sources import source_digest
from manifold_oos.experiment.splits import DataRef, SplitRef, count_known
from manifold_oos.experiment.workbench import Spec

#: Raise when the engine itself computes a number differently: stored rows are then computed again.
ENGINE = 1


@dataclass(frozen=True)
class DataFacts:
    """What a plan needs to know of a data set, kept in the store so that views work without the data."""

    name: str
    variant: str
    fingerprint: str
    n: int
    n_features: int
    n_classes: int
    note: str = ""
    class_names: tuple[str, ...] = ()
    class_counts: tuple[int, ...] = ()
    image_shape: tuple[int, ...] | None = None
    parameters: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Dataset) -> "DataFacts":
        """The facts of a loaded data set."""
        counts = () if data.y is None else tuple(np.bincount(data.y, minlength=data.n_classes).tolist())
        return cls(
            data.name,
            data.variant,
            data.fingerprint,
            len(data),
            data.X.shape[1],
            data.n_classes,
            data.note,
            data.class_names,
            counts,
            data.image_shape,
            tuple(data.parameters),
        )


@dataclass(frozen=True)
class Line:
    """One arm on one split under one protocol: the unit of resuming. ``selection`` is ``fixed`` without grids."""

    key: str
    arm: str
    dataset: str
    size: float
    repetition: int
    selection: str


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
    _requests: dict[tuple[str, str], Request] = field(default_factory=dict, repr=False)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is computed for every line; times are measured anyway."""
        return tuple(name for name in self.experiment.metrics if METRICS[name].needs != "time")

    def request(
        self, line: Line, metrics: Iterable[str], choice: Mapping[str, Any] | None = None, keep: Iterable[str] = ()
    ) -> Request:
        """The work of a line for a worker.

        Parameters
        ----------
        line : Line
            Of this plan.
        metrics : iterable of str
            What the store does not have of it.
        choice : mapping, optional
            Values that were chosen once for the experiment.
        keep : iterable of str
            ``predictions``, ``embedding``.

        Returns
        -------
        Request
            Plain values only.
        """
        kind = (line.arm, line.selection)
        if kind not in self._requests:
            arm, protocol = self.experiment.arms[line.arm], self.protocol(line)
            cv = self.experiment.cv_of(protocol) if protocol else self.experiment.cv
            stages = {stage: method.model_dump() for stage, method in arm.methods().items()}
            rules = protocol.rules if protocol else {}
            score = score_metric(self.experiment, arm, protocol)
            self._requests[kind] = Request("", stages, arm.batch, line.selection, rules, cv.model_dump(), score, ())
        blank = self._requests[kind]
        return replace(blank, key=line.key, metrics=tuple(metrics), choice=choice, keep=frozenset(keep))

    def protocol(self, line: Line) -> Protocol | None:
        """The protocol of a line, None for a fixed one."""
        return next((p for p in self.experiment.selection if p.name == line.selection), None)

    def batches(self, trial: Trial) -> dict[str, Spec]:
        """The batch embeddings of the whole data set that a trial compares with, by key."""
        split = trial.split
        if split.drawn:
            return {}
        wanted = any(METRICS[name].needs == "batch" for name in self.metrics)
        specs: dict[str, Spec] = {}
        for line in trial.lines:
            arm = self.experiment.arms[line.arm]
            if arm.embedding is not None and (wanted or arm.batch):
                specs |= {spec.key: spec for spec in self._embeddings(arm, split)}
        return specs

    def _embeddings(self, arm: Arm, split: SplitRef) -> Iterator[Spec]:
        """Every embedding that an arm may fit on a split."""
        assert arm.embedding is not None
        data = self.facts[split.data.label]
        n_train = count_known(
            split.split, split.size, data.n, np.array(data.class_counts) if data.class_counts else None
        )
        settled = settle(
            arm.embedding.parameters, Facts(split.data.label, n_train, data.n_classes, data.n_features)
        )
        grids = {path: grid.values for path, grid in grids_of(settled, "embedding").items()}
        dims = [d for d in grids.get(DIMENSION, [settled.get("n_components")]) if d is not None and d < n_train]
        for assignment in product(grids):
            spec = Spec("embedding", arm.embedding.name, fill(settled, assignment, "embedding"))
            if dims and spec.nested:
                yield spec.with_(n_components=max(dims))
            elif spec.parameters.get("n_components", 0) < n_train:
                yield spec


def make_plan(
    experiment: Experiment,
    *,
    data_dir: str | None = None,
    offline: bool | None = None,
    skip_missing: bool = False,
    known: Mapping[str, DataFacts] | None = None,
) -> Plan:
    """Plan an experiment.

    Parameters
    ----------
    experiment : Experiment
        The config.
    data_dir : path, optional
        Folder of the data sets to look in first.
    offline : bool, optional
        Never download.
    skip_missing : bool, default=False
        Go on without data sets that cannot be had; the plan says which.
    known : mapping of str to DataFacts, optional
        Facts by data set, as :meth:`Store.facts` has them: such sets are not loaded, and others not downloaded. For
        views of stored rows.

    Returns
    -------
    Plan
        Trials in the order of repetitions, so that an unfinished run has whole repetitions.
    """
    refs, facts, absent = {}, {}, {}
    for data in experiment.datasets:
        options = datasets.find(data.name).check(data.options)
        ref = DataRef(data.label, data.name, options, data_dir, offline if known is None else True)
        refs[data.label] = ref
        fact = (known or {}).get(facts_key(ref))
        try:
            facts[data.label] = fact or DataFacts.of(ref.load())
        except DataError as error:
            if not skip_missing and known is None:
                raise
            absent[data.label] = str(error)
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


def facts_key(ref: DataRef) -> str:
    """What a data set is remembered by: its name and options, not its label or folder."""
    return as_json([ref.name, ref.options])


def arm_part(experiment: Experiment, arm: Arm, protocol: Protocol | None, data: Data) -> str:
    """The part of a line's key that the arm determines: its stages, their source, and how grids are decided.

    Parameters
    ----------
    experiment : Experiment
        For its cross-validation and metrics.
    arm : Arm
        What is run.
    protocol : Protocol or None
        How grids are decided; None without grids.
    data : Data
        On which data set, as values may differ by data set.

    Returns
    -------
    str
        Hexadecimal.
    """
    selection: Any = "fixed"
    if protocol is not None:
        cv = experiment.cv_of(protocol).model_dump() if protocol.name != "best" else None
        score = score_metric(experiment, arm, protocol) if protocol.name != "best" else None
        selection = [protocol.name, protocol.rules, cv, score]
    stages = {
        stage: [method.name, _for_dataset(method.parameters, data.label), _sources(stage, method.model_dump())]
        for stage, method in arm.methods().items()
    }
    return _digest([ENGINE, stages, arm.batch, selection])


def split_part(split: SplitRef, facts: DataFacts) -> str:
    """The part of a line's key that the points determine: the data, their options and the split.

    Parameters
    ----------
    split : SplitRef
        On which points.
    facts : DataFacts
        With the fingerprint of the data.

    Returns
    -------
    str
        Hexadecimal.
    """
    kind = split.split.kind
    rules = {"kind": kind, "size": float(split.size), "repetition": split.repetition, "seed": split.split.seed}
    rules |= {key: getattr(split.split, key) for key in ("stratified", "n_test", "redraw")}
    if kind == "half_space" and split.split.half_space:
        rules["half_space"] = split.split.half_space.model_dump(exclude={"quantile"})
    if kind == "draws" and split.split.draws:
        rules["test"] = split.split.draws.test
    drawn_by = source_digest(datasets.find(split.data.name).__module__) if split.drawn else None
    return _digest([split.data.name, split.data.options, facts.fingerprint, drawn_by, rules])


def _digest(content: Any) -> str:
    return hashlib.sha256(as_json(content).encode()).hexdigest()[:32]


def score_metric(experiment: Experiment, arm: Arm, protocol: Protocol | None) -> str:
    """What cross-validation looks at: its own metric, or the first of the experiment's that the arm has."""
    own = (experiment.cv_of(protocol) if protocol else experiment.cv).metric
    if own is not None:
        if own not in METRICS:
            raise ConfigError(f"cv.metric: no metric {own} (moos list metrics)")
        return own
    possible = {"batch", "parameters"} if arm.embedding else set()
    possible |= {"labels"} if arm.classifier or arm.extender else set()
    return next((name for name in experiment.metrics if METRICS[name].needs in possible), "misclassification_rate")


def _splits(
    experiment: Experiment, refs: Mapping[str, DataRef], facts: Mapping[str, DataFacts]
) -> Iterator[tuple[SplitRef, Data]]:
    present = [(data, experiment.split_of(data)) for data in experiment.datasets if data.label in facts]
    for data, split in present:
        _check_drawn(split, refs[data.label])
    for repetition in range(max((split.rounds for _, split in present), default=0)):
        for data, split in present:
            if repetition < split.rounds:
                for size in split.sizes:
                    yield SplitRef(refs[data.label], split, size, repetition), data


def _check_drawn(split: Split, ref: DataRef) -> None:
    needed = {"seed", "n_samples"} if split.kind == "draws" else {"seed"} if split.redraw else set()
    missing = needed - set(datasets.find(ref.name).defaults())
    if missing:
        word = "draws" if split.kind == "draws" else "redraw"
        raise ConfigError(f"datasets.{ref.label}.split.{word}: {ref.name} is not a generated set; use fraction")


def _protocols(experiment: Experiment, arm: Arm, data: Data) -> list[Protocol | None]:
    grids = any(has_grid(method.parameters, data.label) for method in arm.methods().values())
    return list(experiment.selection) if grids else [None]


def _group(arm: Arm) -> str:
    if arm.embedding is None:
        return json.dumps(["ambient", arm.model_dump(exclude={"datasets", "note"})], sort_keys=True, default=str)
    return json.dumps([arm.batch, arm.embedding.model_dump()], sort_keys=True, default=str)


def _for_dataset(value: Any, label: str) -> Any:
    """A value of the config with what is said of other data sets left out."""
    if is_by_dataset(value):
        options = value["by_dataset"]
        return _for_dataset(options.get(label, options.get("default")), label)
    if isinstance(value, Mapping):
        return {key: _for_dataset(item, label) for key, item in value.items()}
    return value


def _sources(stage: str, method: Mapping[str, Any]) -> list[str]:
    """Digests of the module of a method and of the methods that it is given by name."""
    digests = [source_digest(registry.find(KINDS[stage], method["name"]).__module__)]
    for inner, value in method.get("parameters", {}).items():
        if inner in KINDS and isinstance(value, str | Mapping):
            name = value["name"] if isinstance(value, Mapping) else value
            digests += _sources(inner, {"name": name})
    return digests


def facts_json(facts: DataFacts) -> str:
    """Facts as JSON, for the store."""
    return as_json(asdict(facts))


def facts_from(text: str) -> DataFacts:
    """Facts from the store."""
    fields = json.loads(text)
    for key in ("class_names", "class_counts", "image_shape", "parameters"):
        fields[key] = tuple(fields[key]) if fields[key] is not None else None
    return DataFacts(**fields)
