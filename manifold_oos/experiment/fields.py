"""The building blocks of config models: strictness, and lists that one value may stand for."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


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
