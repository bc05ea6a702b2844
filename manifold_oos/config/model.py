"""What a YAML file may say: every key with its default, as validated models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue


def listed(value: Any) -> Any:
    """A single value is a list of one."""
    return value if isinstance(value, list) or value is None else [value]


Sizes = Annotated[list[Annotated[int, Field(ge=1)]], BeforeValidator(listed), Field(min_length=1)]
Shares = Annotated[list[Annotated[float, Field(gt=0, lt=1)]], BeforeValidator(listed), Field(min_length=1)]
Ratios = Annotated[list[Annotated[float, Field(gt=0)]], BeforeValidator(listed), Field(min_length=1)]
Numbers = Annotated[list[float], BeforeValidator(listed)]
Names = Annotated[list[str], BeforeValidator(listed)]


class Strict(BaseModel):
    """A model that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", validate_default=False)


class Output(Strict):
    """A table or a figure: a view of the rows."""

    table: int | str | None = None
    figure: int | str | None = None
    kind: Literal["curve", "trace", "embedding", "function", "gallery", "ranks", "pareto"] | None = None
    title: str = ""
    dataset: Names | None = None
    arms: Names | None = None
    metric: Names | None = None
    selection: str | None = None
    size: Numbers | None = None
    n_components: Annotated[list[int], BeforeValidator(listed)] | None = None
    repetition: int | None = None
    x: str | None = Field(default=None, description="size, n_components, step, or a parameter")
    second: str | None = Field(default=None, description="a metric for a second axis")
    rows: str | None = None
    columns: int | str | None = Field(
        default=None, description="of a table: size, dataset or a parameter; of panels of points: how many in a row"
    )
    values: list[Any] | None = None
    log: bool = False
    note: str = ""

    @model_validator(mode="after")
    def _table_or_figure(self) -> "Output":
        if (self.table is None) == (self.figure is None):
            raise ValueError("an output is either a table or a figure: give one of the two with its number or name")
        if self.figure is not None and self.kind is None:
            self.kind = "curve"
        return self


class Published(Strict):
    """Numbers printed in a paper: metric, data set label, arm, size."""

    source: str = ""
    selection: str | None = None
    splits: int | None = Field(
        default=None, ge=1, description="over how many splits the paper averaged; as the config"
    )
    values: dict[str, dict[str, dict[str, float | dict[float, float]]]]


class PublishedNumber(NamedTuple):
    """One printed number; ``size`` is None where the paper has one number for all sizes."""

    source: str
    metric: str
    dataset: str
    arm: str
    size: float | None
    value: float
    selection: str | None
    splits: int | None = None


def mapped(value: Any) -> Any:
    """A name, or a list of names, stands for each name mapped to itself."""
    return {name: name for name in listed(value)} if isinstance(value, str | list) else value


Mapped = Annotated[dict[str, str], BeforeValidator(mapped)]


class Reading(Strict):
    """Another reading of what a paper leaves open, measured to see whether it gives the printed numbers."""

    text: str
    arms: Mapped = Field(min_length=1, description="arm with a printed number: the arm measured in its place")
    datasets: Mapped | None = Field(default=None, description="data set: the one measured in its place")
    metric: str | None = None
    chosen: dict[str, Any] = Field(
        default={}, description="values of open parameters, such as n_components: n_train-1"
    )


class Claim(Strict):
    """What a paper says in words, as data: a comparison, a best arm, a trend, or the place of an optimum."""

    source: str
    text: str = ""
    metric: str | None = None
    dataset: Names | None = None
    selection: str | None = None
    arm: str | None = None
    at: Numbers | None = Field(default=None, description="only these sizes")
    over: Literal["every", "most", "mean", "share"] = "every"
    share: float | None = Field(default=None, gt=0, le=1)
    left: Names | None = None
    op: Literal["<", "<=", ">", ">="] | None = None
    right: Annotated[list[str | float], BeforeValidator(listed)] | None = None
    best: str | None = None
    among: Names | None = None
    monotone: Literal["falling", "rising"] | None = None
    along: str | None = Field(default=None, description="step, size, n_components, or a parameter")
    argbest: str | None = None
    value: float | str | None = None
    margin: float | None = Field(
        default=None, ge=0, description="what a difference on one deterministic split must exceed to decide"
    )
    by_construction: str = Field(default="", description="why it cannot fail, which makes it no claim")

    @model_validator(mode="after")
    def _one_form(self) -> "Claim":
        forms = [form for form in ("left", "best", "monotone", "argbest") if getattr(self, form) is not None]
        if len(forms) != 1:
            raise ValueError(
                "a claim has one of left (with op and right), best, monotone (along), argbest (op, value)"
            )
        needs = {"left": ("op", "right"), "best": (), "monotone": ("along",), "argbest": ("op", "value")}[forms[0]]
        missing = [key for key in needs if getattr(self, key) is None]
        if missing:
            raise ValueError(f"{forms[0]} needs {' and '.join(missing)}")
        if (self.over == "share") != (self.share is not None):
            raise ValueError("over: share and share: 0.8 belong together")
        return self

    @property
    def form(self) -> str:
        """``left``, ``best``, ``monotone`` or ``argbest``."""
        return next(form for form in ("left", "best", "monotone", "argbest") if getattr(self, form) is not None)


PROTOCOLS = ("train_only", "paper", "best")
#: The selection of an arm without a grid: it belongs to every protocol.
FIXED = "fixed"
STAGES = ("embedding", "extender", "classifier")
SPLIT_KINDS = ("train_per_class", "fraction", "ratio", "n_train", "half_space", "alternate", "first", "draws")


class _Open(Strict):
    """A model whose unknown keys are gathered in one field, and which a bare name stands for."""

    @classmethod
    def _gather(cls, value: Any, field: str) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if not isinstance(value, Mapping) or field in value:
            return value
        rest = {key: item for key, item in value.items() if key not in cls.model_fields}
        return {key: item for key, item in value.items() if key in cls.model_fields} | {field: rest}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core_schema))
        properties = {
            key: item for key, item in schema["properties"].items() if key not in ("parameters", "options")
        }
        whole = {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": True}
        return {"description": schema.get("description", ""), "anyOf": [{"type": "string"}, whole]}


class Method(_Open):
    """A method by name with its parameters: ``sosi`` or ``{name: sosi, sigma: {median: 2}}``."""

    name: str
    parameters: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        return cls._gather(value, "parameters")


class HalfSpace(Strict):
    """Known are the points on one side of a quantile of a true parameter."""

    parameter: int | str = 0
    quantile: Annotated[list[Annotated[float, Field(gt=0, lt=1)]], BeforeValidator(listed)] = [0.5]
    known: Literal["below", "above"] = "below"


class Draws(Strict):
    """Known and new points are two independent draws of a generated set."""

    train: Sizes
    test: int = Field(ge=1)


class Split(Strict):
    """Which points are known and which are new; exactly one kind, the rest says how often and from which seed."""

    train_per_class: Sizes | None = None
    fraction: Shares | None = None
    ratio: Ratios | None = Field(
        default=None, description="labelled to unlabelled points, in each class when stratified"
    )
    n_train: Sizes | None = None
    half_space: HalfSpace | None = None
    alternate: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="every so-many-th point is known"
    )
    first: Sizes | None = Field(
        default=None, description="the first n points, in the order of the data set, are known"
    )
    draws: Draws | None = None
    stratified: bool = True
    n_test: int | None = Field(default=None, ge=1, description="take only so many of the new points, at random")
    repetitions: int = Field(default=5, ge=1)
    seed: int = Field(default=0, ge=0)
    redraw: bool = Field(default=False, description="a generated set is drawn anew for each repetition")

    @model_validator(mode="after")
    def _one_kind(self) -> "Split":
        given = [kind for kind in SPLIT_KINDS if getattr(self, kind) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of {', '.join(given)}: a split has one kind")
        return self

    @property
    def kind(self) -> str:
        """The kind of the split; by fraction where none is given."""
        return next((kind for kind in SPLIT_KINDS if getattr(self, kind) is not None), "fraction")

    @property
    def sizes(self) -> list[float]:
        """The values that the split is repeated for: what the column ``size`` of the rows holds."""
        value = getattr(self, self.kind)
        if self.kind == "half_space":
            return list(value.quantile)
        if self.kind == "draws":
            return list(value.train)
        if self.kind == "alternate":
            return [value]
        return list(value) if value is not None else [0.5]

    @property
    def rounds(self) -> int:
        """How many repetitions there are: one where nothing is random."""
        fixed = self.kind in ("half_space", "alternate", "first") and self.n_test is None and not self.redraw
        return 1 if fixed else self.repetitions

    def over(self, base: "Split") -> "Split":
        """What is said here, and the base where nothing is said."""
        said = {key: getattr(self, key) for key in self.model_fields_set}
        kept = {key: getattr(base, key) for key in base.model_fields_set}
        if any(key in SPLIT_KINDS for key in said):
            kept = {key: value for key, value in kept.items() if key not in SPLIT_KINDS}
        return Split.model_construct(_fields_set=set(kept | said), **(Split().model_dump() | kept | said))


class Data(_Open):
    """A data set by name with its loader's options; ``label`` names it in tables, ``stand_in`` what it replaces."""

    name: str
    label: str = ""
    split: Split | None = None
    stand_in: str | None = None
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        return cls._gather(value, "options")

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


class CrossValidation(Strict):
    """How parameters are chosen on the training set: its validation part plays the new points."""

    scheme: Literal["halves", "kfold"] = "halves"
    repeats: int = Field(default=5, ge=1)
    folds: int = Field(default=5, ge=2)
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
    selection: list[Protocol] = [Protocol(name="train_only")]
    cv: CrossValidation = CrossValidation()
    metrics: Names = Field(default=[], validate_default=True)
    outputs: list[Output] = []
    published: list[Published] = []
    readings: dict[str, Reading] = {}
    claims: list[Claim] = []

    _name: str = PrivateAttr(default="experiment")
    _path: Path | None = PrivateAttr(default=None)

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
        return self

    @property
    def name(self) -> str:
        """Name of the results folder: the file's path below ``configs``, without suffix."""
        return self._name

    @property
    def path(self) -> Path | None:
        """Where the config was read from."""
        return self._path

    def named(self, name: str, path: Path | None = None) -> "Experiment":
        """The experiment under a name, read from a file."""
        self._name, self._path = name, path
        return self

    def split_of(self, data: Data) -> Split:
        """The split of a data set: its own, over that of the experiment."""
        return data.split.over(self.split) if data.split else self.split

    def arms_of(self, data: Data) -> dict[str, Arm]:
        """The arms that are run on a data set."""
        return {name: arm for name, arm in self.arms.items() if arm.datasets is None or data.label in arm.datasets}

    def cv_of(self, protocol: Protocol) -> CrossValidation:
        """The cross-validation of a protocol: its own, or that of the experiment."""
        return protocol.cv or self.cv

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
    selection = tree.get("selection")
    if isinstance(selection, Mapping) and "name" not in selection:
        tree["selection"] = [{name: options} for name, options in selection.items()]
    elif selection is not None:
        tree["selection"] = listed(selection)
    published = tree.get("published")
    if isinstance(published, Mapping):
        tree["published"] = [published if "values" in published else {"values": published}]
    return tree
