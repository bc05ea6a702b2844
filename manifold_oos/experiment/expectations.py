"""What a config wants shown and what a paper led us to expect: outputs, published numbers, readings, claims."""

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from manifold_oos.experiment.fields import Names, Numbers, Strict, listed


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
