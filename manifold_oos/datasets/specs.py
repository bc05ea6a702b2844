"""What ``datasets/*.yaml`` say of the data sets that live in files: where they come from and what to expect."""

from functools import cache
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field

from manifold_oos.resources import shipped

Address = Annotated[str, Field(pattern=r"^(https://|http://127\.0\.0\.1:)")]
"""https, or a server of this machine's own, which tests use."""
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Copy(_Strict):
    """One form in which a variant is found: a file (or all its parts), or the folder it unpacks to."""

    files: tuple[str, ...] = Field(min_length=1)
    """Names of the archive, or of all its parts."""
    folders: tuple[str, ...] = ()
    """Names of the folder after unpacking."""
    urls: tuple[Address, ...] = ()
    """An address per file, where it may be downloaded without more ado."""
    sha256: tuple[Digest, ...] = ()
    """A digest per file, where the official download is known byte by byte."""
    bytes: tuple[int, ...] = ()
    """Size of each file, where that is known; a download of more is broken off."""
    fingerprint: Digest | None = None
    """Of the decoded samples; None where nobody could compute it yet, so that only counts are verified."""
    size: tuple[int, int] | None = None
    """Width and height of the images; None where they are not fixed."""
    note: str = ""
    """A caveat that every table shows."""


class Variant(_Strict):
    """One variant of a data set."""

    samples: int
    classes: int
    per_class: tuple[int, int] | None = None
    """Fewest and most samples of a class."""
    copies: tuple[Copy, ...] = Field(min_length=1)
    """In the order of preference within one folder."""


class Spec(_Strict):
    """A data set that lives in files."""

    title: str
    page: str
    licence: str
    reference: str
    form: str = ""
    """What a person has to do by hand before there is a download; empty for free downloads."""
    meanwhile: str = "digits"
    """A built-in set to try while this one is missing."""
    variants: dict[str, Variant]


@cache
def spec(name: str) -> Spec:
    """The content of ``datasets/<name>.yaml``."""
    return Spec.model_validate(yaml.safe_load((shipped("datasets") / f"{name}.yaml").read_text(encoding="utf-8")))
