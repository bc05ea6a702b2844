"""What a YAML file may say: every key with its default, as validated models."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, GetJsonSchemaHandler, PrivateAttr, ValidationError, model_validator
from pydantic.json_schema import JsonSchemaValue

from manifold_oos.config import limits
from manifold_oos.config.pairs import Pairs, pair_arms
from manifold_oos.config.places import all_lines
from manifold_oos.config.split import Repeats
from manifold_oos.config.split import Split as Split
from manifold_oos.config.views import Claim as Claim
from manifold_oos.config.views import Names, Published, Strict, Whole, changes_of, listed, patched
from manifold_oos.config.views import Output as Output
from manifold_oos.config.views import PublishedNumber as PublishedNumber
from manifold_oos.config.views import Reading as Reading
from manifold_oos.config.yaml_tree import Key, Tree

PROTOCOLS = ("train_only", "paper", "best")
#: The selection of an arm without a grid: it belongs to every protocol.
FIXED = "fixed"
STAGES = ("embedding", "extender", "classifier")


class _Open(Strict):
    """A model whose unknown keys are gathered in one field, and which a bare name stands for."""

    rest: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if not isinstance(value, Mapping) or cls.rest in value:
            return value
        rest = {key: item for key, item in value.items() if key not in cls.model_fields}
        return {key: item for key, item in value.items() if key in cls.model_fields} | {cls.rest: rest}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core_schema))
        properties = {key: item for key, item in schema["properties"].items() if key != cls.rest}
        whole = {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": True}
        return {"description": schema.get("description", ""), "anyOf": [{"type": "string"}, whole]}


class Method(_Open):
    """A method by name with its parameters: ``sosi`` or ``{name: sosi, sigma: {median: 2}}``."""

    rest = "parameters"
    name: str
    parameters: dict[str, Any] = {}

    def with_(self, **changes: Any) -> "Method":
        """The same method with parameters changed."""
        return Method(name=self.name, parameters={**self.parameters, **changes})


class Data(_Open):
    """A data set by name with its loader's options; ``label`` names it in tables, ``stand_in`` what it replaces."""

    rest = "options"
    name: str
    label: str = ""
    split: Split | None = None
    stand_in: str | None = None
    options: dict[str, Any] = {}

    _reading: str = PrivateAttr(default="")

    @property
    def reading(self) -> str:
        """The reading that the data set is derived for, "" for one of the config itself."""
        return self._reading

    @model_validator(mode="after")
    def _labelled(self) -> "Data":
        self.label = self.label or self.name
        return self


class Arm(Strict):
    """One line of a table: an embedding with an extender or a joint embedding, a classifier, or both."""

    embedding: Method | None = None
    extender: Method | None = None
    classifier: Method | None = None
    batch: bool = Field(default=False, description="embed known and new points together, without an extender")
    datasets: Names | None = Field(default=None, description="labels of the only data sets that the arm is run on")
    note: str = ""

    _reading: str = PrivateAttr(default="")
    _cv: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def reading(self) -> str:
        """The reading that the arm is measured for, "" for an arm of the config itself."""
        return self._reading

    @property
    def own_cv(self) -> dict[str, Any]:
        """What a reading changes in the cross-validation of the experiment."""
        return self._cv

    @model_validator(mode="after")
    def _something(self) -> "Arm":
        if self.extender is not None and self.embedding is None:
            raise ValueError("an extender needs the embedding that it extends")
        if self.embedding is None and self.classifier is None:
            raise ValueError("an arm needs an embedding, a classifier, or both")
        if self.batch and (self.embedding is None or self.extender is not None):
            raise ValueError("batch: true goes with an embedding and without an extender")
        return self

    def methods(self) -> dict[str, Method]:
        """The stages that the arm has, in order."""
        return {stage: method for stage in STAGES if (method := getattr(self, stage)) is not None}

    def under(self, reading: str, changes: Mapping[str, Any], only: Collection[str] | None) -> "Arm":
        """The arm as a reading has it, on some data sets only."""
        plain: dict[str, Any] = {
            stage: {"name": method.name, **method.parameters} for stage, method in self.methods().items()
        }
        plain |= {"batch": self.batch, "datasets": self.datasets if only is None else sorted(only)}
        arm = Arm.model_validate(patched(plain, changes_of("arm", changes)))
        arm._reading, arm._cv = reading, changes_of("cv", changes)
        return arm

    def covers(self, other: "Arm") -> bool:
        """Whether another arm is this one, on some of its data sets."""
        same = self.methods() == other.methods() and self.batch == other.batch and self.own_cv == other.own_cv
        return same and (self.datasets is None or set(other.datasets or [""]) <= set(self.datasets))


class CrossValidation(Strict):
    """How parameters are chosen on the training set: its validation part plays the new points."""

    scheme: Literal["halves", "kfold"] = "halves"
    repeats: Repeats = 5
    folds: Whole = Field(default=5, ge=2, le=limits.REPETITIONS)
    per: Literal["split", "experiment"] = "split"
    order: Literal["sequential", "joint"] = "sequential"
    metric: str | None = None


class Protocol(Strict):
    """A way to choose the values of grids; ``rules`` says for ``paper`` which parameter was chosen how."""

    name: Literal["train_only", "paper", "best"]
    rules: dict[str, Literal["train_only", "best", "default"]] = {}
    cv: CrossValidation | None = None

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in PROTOCOLS:
            name, rules = next(iter(value.items()))
            return {"name": name, "rules": rules} if name == "paper" else {"name": name, "cv": rules}
        return value

    @model_validator(mode="after")
    def _rules_of_paper(self) -> "Protocol":
        if self.name == "paper" and not self.rules:
            raise ValueError('say what the paper did, such as {paper: {n_components: best, "*": train_only}}')
        if self.name != "paper" and self.rules:
            raise ValueError("only paper takes rules")
        return self

    def rule(self, parameter: str) -> str:
        """How a parameter (``embedding.mu1``, or its last part) is chosen."""
        if self.name != "paper":
            return self.name
        for key in (parameter, parameter.split(".", 1)[-1], parameter.rsplit(".", 1)[-1], "*"):
            if key in self.rules:
                return self.rules[key]
        return "train_only"


class Experiment(Strict):
    """One experiment: data sets × splits × arms, how parameters are chosen, what is measured and shown."""

    title: str = ""
    paper: str = ""
    note: str = ""
    datasets: list[Data] = Field(min_length=1)
    split: Split = Split()
    arms: dict[str, Arm] = Field(min_length=1)
    pairs: Pairs | None = None
    selection: list[Protocol] = [Protocol(name="train_only")]
    cv: CrossValidation = CrossValidation()
    metrics: Names = []
    outputs: list[Output] = []
    published: list[Published] = []
    readings: dict[str, Reading] = {}
    claims: list[Claim] = []

    _name: str = PrivateAttr(default="experiment")
    _path: Path | None = PrivateAttr(default=None)
    _tree: Tree | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        return expand(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _consistent(self) -> "Experiment":
        labels = [data.label for data in self.datasets]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"datasets: {', '.join(twice)} more than once: give each its own label")
        if not self.metrics:
            labelled = any(arm.classifier for arm in self.arms.values())
            self.metrics = ["misclassification_rate" if labelled else "embedding_error"]
        for name, reading in self.readings.items():
            unknown = [arm for arm in reading.arms.values() if arm not in self.arms]
            if unknown:
                raise ValueError(f"readings.{name}: no arm {unknown[0]}")
            of_data = changes_of("dataset", reading.set)
            if of_data:
                pairs = reading.datasets or {label: label for label in labels}
                reading.measure("datasets", {here: self._derive_data(name, there) for here, there in pairs.items()})
            if len(reading.set) > len(of_data):
                arms = {arm: self._derive(name, base) for arm, base in reading.arms.items()}
                reading.measure("arms", arms)
        return self

    def _derive_data(self, reading: str, label: str) -> str:
        """The label of a data set under a reading, which runs the arms of such readings alone."""
        base = next((data for data in self.datasets if data.label == label), None)
        if base is None:
            raise ValueError(f"readings.{reading}: no data set {label}")
        plain: dict[str, Any] = {"name": base.name, "stand_in": base.stand_in, **base.options}
        plain["split"] = base.split.model_dump(exclude_unset=True) if base.split else None
        changed = patched(plain, changes_of("dataset", self.readings[reading].set))
        changed["label"] = f"{label} [{reading}]"
        try:
            data = Data.model_validate(changed)
        except ValidationError as error:
            raise ValueError(f"readings.{reading}: {label}: {error.errors()[0]['msg']}") from error
        data._reading = reading
        self.datasets.append(data)
        return data.label

    def _derive(self, reading: str, base: str) -> str:
        """The name of an arm under a reading: that of an arm which is the same, or of a new one."""
        changed = self.readings[reading]
        only = None if changed.datasets is None else changed.datasets.values()
        try:
            arm = self.arms[base].under(reading, changed.set, only)
        except ValidationError as error:
            raise ValueError(f"readings.{reading}: {base}: {error.errors()[0]['msg']}") from error
        same = next((name for name, other in self.arms.items() if other.covers(arm)), None)
        if same is None:
            same = f"{base} [{reading}]"
            self.arms[same] = arm
        return same

    def place_of(self, data: Data) -> Key:
        """The path of what a data set was made from."""
        return ("readings", data.reading, "set") if data.reading else ("datasets", self.datasets.index(data))

    @property
    def name(self) -> str:
        """Name of the results folder: the file's path below ``configs``, without suffix."""
        return self._name

    @property
    def path(self) -> Path | None:
        """Where the config was read from."""
        return self._path

    def named(self, name: str, path: Path | None = None, tree: Tree | None = None) -> "Experiment":
        """The experiment under a name, read from a file; ``tree`` knows the line of each value."""
        self._name, self._path, self._tree = name, path, tree or self._tree
        return self

    def mistakes(self, found: Iterable[tuple[Key, str]]) -> str:
        """A line for each mistake, with the file and line of its key where the config was read from a file."""
        return all_lines(self._tree, found)

    def split_of(self, data: Data) -> Split:
        """The split of a data set: its own, over that of the experiment."""
        return data.split.over(self.split) if data.split else self.split

    def arms_of(self, data: Data) -> dict[str, Arm]:
        """The arms that are run on a data set."""
        if data.reading:
            pairs = [(reading.datasets or {}, reading.arms) for reading in self.readings.values()]
            wanted = {arm for sets, arms in pairs if data.label in sets.values() for arm in arms.values()}
            return {name: arm for name, arm in self.arms.items() if name in wanted}
        arms = {name: arm for name, arm in self.arms.items() if arm.datasets is None or data.label in arm.datasets}
        asked = {
            reading.arms.get(number.arm)
            for number in self.published_numbers()
            for reading in self.readings.values()
            if (reading.datasets or {}).get(number.dataset, number.dataset) == data.label
        }
        return {name: arm for name, arm in arms.items() if not arm.reading or name in asked}  # nothing to explain

    @property
    def shown(self) -> dict[str, Arm]:
        """The arms of tables, figures and claims: all but those measured for readings."""
        return {name: arm for name, arm in self.arms.items() if not arm.reading}

    @property
    def written_datasets(self) -> list[Data]:
        """The data sets of the config itself, without those that readings derive."""
        return [data for data in self.datasets if not data.reading]

    @property
    def beside(self) -> set[str]:
        """Labels of the data sets that serve only readings: measured in the place of another."""
        pairs = [pair for reading in self.readings.values() for pair in (reading.datasets or {}).items()]
        return {there for here, there in pairs if here != there} - {here for here, _ in pairs}

    def views_of(self, wanted: Collection[str] | None = None) -> list[Data]:
        """The data sets that an output is about: those that it names, else all that do not serve readings alone."""
        hidden = self.beside
        return [d for d in self.datasets if (d.label not in hidden if wanted is None else d.label in wanted)]

    def cv_of(self, protocol: Protocol | None, arm: Arm) -> CrossValidation:
        """The cross-validation of a protocol, or of the experiment, with what a reading changes in it."""
        base = (protocol.cv if protocol else None) or self.cv
        return base.model_copy(update=arm.own_cv) if arm.own_cv else base

    def published_numbers(self) -> list[PublishedNumber]:
        """Every printed number, one by one, in the order of the config."""
        return [
            PublishedNumber(block.source, metric, dataset, arm, size, value, block.selection, block.splits)
            for block in self.published
            for metric, by_dataset in block.values.items()
            for dataset, by_arm in by_dataset.items()
            for arm, numbers in by_arm.items()
            for size, value in (numbers.items() if isinstance(numbers, dict) else [(None, numbers)])
        ]


def expand(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Write the short forms of a config out: ``dataset``, ``embedding``…, a single selection, bare numbers.

    Examples
    --------
    >>> expand({"dataset": "coil20", "embedding": "suplap", "extender": "sosi"})["arms"]
    {'sosi': {'embedding': 'suplap', 'extender': 'sosi', 'classifier': 'nn'}}
    """
    tree = dict(tree)
    if "dataset" in tree and "datasets" not in tree:
        tree["datasets"] = [tree.pop("dataset")]
    if "datasets" in tree:
        tree["datasets"] = listed(tree["datasets"])
    stages = {stage: tree.pop(stage) for stage in STAGES if stage in tree and "arms" not in tree}
    if stages:
        named = stages.get("extender", stages.get("embedding", stages.get("classifier")))
        name = named.get("name") if isinstance(named, Mapping) else named
        tree["arms"] = {str(name): stages | {"classifier": stages.get("classifier", "nn")}}
    if "pairs" in tree and isinstance(tree.get("arms", {}), Mapping):
        tree["arms"] = {**tree.get("arms", {}), **pair_arms(tree["pairs"])}
    selection = tree.get("selection")
    if isinstance(selection, Mapping) and "name" not in selection:
        tree["selection"] = [{name: options} for name, options in selection.items()]
    elif selection is not None:
        tree["selection"] = listed(selection)
    published = tree.get("published")
    if isinstance(published, Mapping):
        tree["published"] = [published if "values" in published else {"values": published}]
    return tree
