"""What a config may say of the known and the new points: the kinds of splits, how often, from which seed."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from manifold_oos.config import limits
from manifold_oos.config.views import LIST, Real, Strict, Whole

Sizes = Annotated[list[Annotated[Whole, Field(ge=1, le=limits.POINTS)]], *LIST]
Shares = Annotated[list[Annotated[Real, Field(gt=0, lt=1)]], *LIST]
Ratios = Annotated[list[Annotated[Real, Field(gt=0)]], *LIST]
Repeats = Annotated[Whole, Field(ge=1, le=limits.REPETITIONS)]

SPLIT_KINDS = ("train_per_class", "fraction", "ratio", "n_train", "half_space", "alternate", "first", "draws")


class HalfSpace(Strict):
    """Known are the points on one side of a quantile of a true parameter."""

    parameter: Whole | str = 0
    quantile: Shares = [0.5]
    known: Literal["below", "above"] = "below"


class Draws(Strict):
    """Known and new points are two independent draws of a generated set."""

    train: Sizes
    test: Annotated[Whole, Field(ge=1, le=limits.POINTS)]


class Split(Strict):
    """Which points are known and which are new; exactly one kind, the rest says how often and from which seed."""

    train_per_class: Sizes | None = None
    fraction: Shares | None = None
    ratio: Ratios | None = Field(
        default=None, description="labelled to unlabelled points, in each class when stratified"
    )
    n_train: Sizes | None = None
    half_space: HalfSpace | None = None
    alternate: Annotated[Whole, Field(ge=2)] | None = Field(
        default=None, description="every so-many-th point is known"
    )
    first: Sizes | None = Field(
        default=None, description="the first n points, in the order of the data set, are known"
    )
    draws: Draws | None = None
    stratified: bool = True
    n_test: Whole | None = Field(
        default=None, ge=1, le=limits.POINTS, description="take only so many of the new points, at random"
    )
    repetitions: Repeats = 5
    seed: Whole = Field(default=0, ge=0, lt=2**63)
    redraw: bool = Field(
        default=False,
        description="a generated set, or the random projection of any other, is drawn anew for each split",
    )

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
