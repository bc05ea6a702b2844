"""Writes a config out as one would write it, with every default and include spelled out."""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from manifold_oos.config.model import Data, Experiment, Method


def plain_config(experiment: Experiment) -> dict[str, Any]:
    """A config as one would write it, every default and include spelled out."""
    plain: dict[str, Any] = _plain(experiment)
    plain["arms"] = _plain(experiment.shown)
    plain.pop("pairs", None)
    for name, reading in experiment.readings.items():
        plain["readings"][name] |= reading.written
        if reading.written["datasets"] is None:
            del plain["readings"][name]["datasets"]
    plain["datasets"] = [_plain(data) for data in experiment.written_datasets]
    for data, written in zip(experiment.written_datasets, plain["datasets"], strict=True):
        if data.split is not None:
            written["split"] = _plain(experiment.split_of(data))
    return plain


def config_text(experiment: Experiment) -> str:
    """The YAML of :func:`plain_config`."""
    text: str = yaml.safe_dump(plain_config(experiment), sort_keys=False, allow_unicode=True, width=116)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Method | Data):
        own = {name: item for name, item in value if name != value.rest and item not in (None, "")}
        if own.get("label") == own["name"]:
            del own["label"]
        return _plain(own) | _plain(getattr(value, value.rest))
    if isinstance(value, BaseModel):
        return {name: _plain(item) for name, item in value if item not in (None, "", [], {})}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
