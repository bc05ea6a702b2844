"""What a config shows and compares with: tables and figures, printed numbers, readings, claims."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator


def listed(value: Any) -> Any:
    """A single value is a list of one."""
    return value if isinstance(value, list) or value is None else [value]


def _counted(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"must be a number, not {str(value).lower()}")
    return value


def _distinct(values: list[Any]) -> list[Any]:
    twice = [value for i, value in enumerate(values) if value in values[:i]]
    if twice:
        raise ValueError(f"{twice[0]!r} stands twice; remove one")
    return values


Whole = Annotated[int, BeforeValidator(_counted)]
Real = Annotated[float, BeforeValidator(_counted), Field(allow_inf_nan=False)]
LIST = (BeforeValidator(listed), AfterValidator(_distinct), Field(min_length=1))
Numbers = Annotated[list[Real], *LIST]
Names = Annotated[list[str], *LIST]


class Strict(BaseModel):
    """A model that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", validate_default=False)


#: The kinds of figures that draw points of one split, and those that draw numbers over something.
POINTS, LINES = ("embedding", "gallery", "function"), ("curve", "trace")


def _of(*kinds: str, text: str | None = None) -> Any:
    """A key that only some kinds of outputs have."""
    return Field(default=None, description=text, json_schema_extra={"kinds": list(kinds)})


class Output(Strict):
    """A table or a figure: a view of the rows. A key that does nothing for its kind is refused."""

    table: int | str | None = None
    figure: int | str | None = None
    kind: Literal["curve", "trace", "embedding", "function", "gallery", "ranks", "pareto"] | None = None
    title: str = ""
    dataset: Names | None = None
    arms: Names | None = None
    metric: Names | None = _of("table", *LINES, "ranks", "pareto")
    selection: str | None = None
    size: Numbers | None = None
    n_components: Annotated[list[Whole], *LIST] | None = _of(*LINES, "embedding", "gallery")
    repetition: Annotated[Whole, Field(ge=0)] | None = _of(*POINTS)
    x: str | None = _of(
        "curve",
        "function",
        "pareto",
        text="of a `curve` size, n_components, n_train or a parameter; of a `function` the parameter; "
        "of a `pareto` the cost",
    )
    second: str | None = _of(*LINES, text="a metric for a second axis (`curve`, `trace`)")
    rows: Literal["known", "new", "both"] | None = _of("gallery")
    columns: int | str | None = _of(
        "table",
        "embedding",
        text="of a table: size, dataset or a parameter; of an `embedding`: how many panels in a row",
    )
    values: list[Any] | None = _of("function")
    log: bool | None = _of(*LINES)
    note: str = ""

    @model_validator(mode="after")
    def _table_or_figure(self) -> "Output":
        if (self.table is None) == (self.figure is None):
            raise ValueError("an output is either a table or a figure: give one of the two with its number or name")
        if self.figure is not None and self.kind is None:
            self.kind = "curve"
        if self.table is not None and self.kind is not None:
            raise ValueError("kind is of a figure: a table has none")
        return self


#: The keys of an output that only some kinds have.
KINDS_OF_KEY: dict[str, list[str]] = {
    key: field.json_schema_extra["kinds"]  # type: ignore[misc]
    for key, field in Output.model_fields.items()
    if isinstance(field.json_schema_extra, dict)
}


class Published(Strict):
    """Numbers printed in a paper: metric, data set label, arm, size."""

    source: str = ""
    selection: str | None = None
    splits: Annotated[Whole, Field(ge=1)] | None = Field(
        default=None, description="over how many splits the paper averaged; as the config"
    )
    values: dict[str, dict[str, dict[str, Real | dict[Real, Real]]]]


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
    names = listed(value)
    return {name: name for name in names} if names and all(isinstance(name, str) for name in names) else value


Mapped = Annotated[dict[str, str], BeforeValidator(mapped)]


class Reading(Strict):
    """Another reading of what a paper leaves open, measured to see whether it gives the printed numbers."""

    text: str
    arms: Mapped = Field(
        min_length=1, description="arm with a printed number: the arm measured in its place, or patched by `set`"
    )
    set: dict[str, Any] = Field(
        default={},
        description="what is changed: embedding.graph: l1 (null takes a stage away), "
        "dataset.size: [17, 20], or cv.per: experiment",
    )
    datasets: Mapped | None = Field(default=None, description="data set: the one measured in its place")
    metric: str | None = None

    _written: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def written(self) -> dict[str, Any]:
        """Arms and data sets as the config has them, before patches gave them names of their own."""
        return {"arms": self.arms, "datasets": self.datasets} | self._written

    def measure(self, key: str, names: dict[str, str]) -> None:
        """Take the names of patched arms or data sets."""
        self._written[key] = getattr(self, key)
        setattr(self, key, names)


def changes_of(part: str, changes: Mapping[Any, Any]) -> dict[str, Any]:
    """What a reading changes of the ``dataset``, of ``cv`` or of an ``arm``, by key within it."""
    found = {}
    for key, value in changes.items():
        first, dot, rest = str(key).partition(".")
        if not dot or first not in ("dataset", "cv"):
            first, rest = "arm", str(key)
        if first == part:
            found[rest] = value
    return found


def patched(arm: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """An arm as a config writes it, with the values at dotted paths changed; null takes a stage away.

    Examples
    --------
    >>> patched({"embedding": "suplap", "extender": "rbf"}, {"extender.sigma": 2, "embedding": {"name": "lda"}})
    {'embedding': {'name': 'lda'}, 'extender': {'name': 'rbf', 'sigma': 2}}
    """
    result = dict(arm)
    for path, value in changes.items():
        *parents, last = str(path).split(".")
        here = result
        for key in parents:
            inner = here.get(key)
            here[key] = (
                {"name": inner} if isinstance(inner, str) else dict(inner) if isinstance(inner, Mapping) else {}
            )
            here = here[key]
        if value is None and not parents:
            result.pop(last, None)
        else:
            here[last] = value
    return result


#: The forms of a claim, with the keys that each needs besides.
FORMS: dict[str, tuple[str, ...]] = {
    "left": ("op", "right"),
    "best": (),
    "monotone": ("along",),
    "argbest": ("op", "value"),
    "alike": ("along",),
}


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
    share: Real | None = Field(default=None, gt=0, le=1)
    left: Names | None = None
    op: Literal["<", "<=", ">", ">=", "~"] | None = Field(
        default=None, description="~ of a comparison: no farther apart than `margin`"
    )
    right: Annotated[list[str | Real], *LIST] | None = None
    best: str | None = None
    among: Names | None = None
    monotone: Literal["falling", "rising", "levelling"] | None = Field(
        default=None, description="levelling: it changes less over the second half of `along` than over the first"
    )
    minus: Names | None = Field(default=None, description="of a trend: of what it has above each of these arms")
    ends: Annotated[Numbers, Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="of a trend: only from the one of these values to the other"
    )
    by: Annotated[Real, Field(gt=0, lt=1)] | None = Field(
        default=None, description="of a trend: the share of its larger end by which it changes at least"
    )
    alike: str | None = Field(default=None, description="another metric that varies as this one does `along`")
    along: str | None = Field(
        default=None,
        description="step, size, n_components, n_features (from set to set), or a parameter;"
        " of a comparison: at each value that the arms share",
    )
    beyond: Real | None = Field(default=None, description="of a comparison `along`: only from this value on")
    excess: bool = Field(
        default=False, description="of a comparison `along`: what an arm has above its own best value there"
    )
    argbest: str | None = None
    value: Real | str | None = None
    margin: Annotated[Real, Field(ge=0)] | None = Field(
        default=None,
        description="what a difference on one deterministic split must exceed to decide; with op ~ may not exceed",
    )
    by_construction: str = Field(default="", description="why it cannot fail, which makes it no claim")

    @model_validator(mode="after")
    def _one_form(self) -> "Claim":
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            raise ValueError(
                "a claim has one of left (with op and right), best, monotone (along), argbest (op, value),"
                " alike (along)"
            )
        needs = FORMS[forms[0]]
        missing = [key for key in needs if getattr(self, key) is None]
        if missing:
            raise ValueError(f"{forms[0]} needs {' and '.join(missing)}")
        if (self.beyond is not None or self.excess) and (self.along is None or forms[0] not in ("left", "best")):
            raise ValueError("beyond and excess belong to a comparison (left, best) along something")
        if forms[0] != "monotone" and (self.minus or self.ends or self.by):
            raise ValueError("minus, ends and by belong to a trend (monotone)")
        if self.by and self.monotone == "levelling":
            raise ValueError("by belongs to monotone: falling or rising")
        if self.op == "~" and (forms[0] != "left" or self.margin is None or self.over == "share"):
            raise ValueError("op ~ is of a comparison (left, right), needs a margin and does not count shares")
        if (self.over == "share") != (self.share is not None):
            raise ValueError("over: share and share: 0.8 belong together")
        return self

    @property
    def form(self) -> str:
        """What it says: a key of FORMS."""
        return next(form for form in FORMS if getattr(self, form) is not None)
