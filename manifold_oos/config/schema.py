"""The JSON Schema of configs, from which editors complete keys and names; run as a module, it writes the file."""

import json
from pathlib import Path
from typing import Any

from manifold_oos import datasets, registry
from manifold_oos.atomic import write_text
from manifold_oos.config.model import PROTOCOLS, Experiment
from manifold_oos.config.views import KINDS_OF_KEY
from manifold_oos.metrics import METRICS
from manifold_oos.registry import KINDS
from manifold_oos.resources import shipped


def config_schema() -> dict[str, Any]:
    """The schema of what a config file may say, short forms included."""
    schema = Experiment.model_json_schema()
    models = schema["$defs"]
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "manifold_oos experiment"
    schema.pop("required", None)
    own = r"^[\w.]+:\w+$"
    for stage, kind in KINDS.items():
        models[stage.capitalize()] = _named(sorted(registry.available(kind)), own, models["Method"]["description"])
        models["Arm"]["properties"][stage] = {
            "anyOf": [{"$ref": f"#/$defs/{stage.capitalize()}"}, {"type": "null"}]
        }
    del models["Method"]
    fields = models["Data"]["anyOf"][1]["properties"]
    models["Data"] = _named(sorted(datasets.available()), own, models["Data"]["description"], fields)
    metrics = {"enum": list(METRICS)}
    properties = schema["properties"]
    properties["metrics"] = {"anyOf": [metrics, {"type": "array", "items": metrics}]}
    properties["datasets"] = {"type": "array", "items": {"$ref": "#/$defs/Data"}, "minItems": 1}
    properties["dataset"] = {"$ref": "#/$defs/Data"}
    properties |= {stage: {"$ref": f"#/$defs/{stage.capitalize()}"} for stage in KINDS}
    properties["include"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    words = {"enum": list(PROTOCOLS)}
    options = {"type": "object", "properties": {name: {"type": "object"} for name in PROTOCOLS}}
    properties["selection"] = {"anyOf": [words, options, {"type": "array", "items": {"anyOf": [words, options]}}]}
    models.pop("Protocol", None)
    models["Output"] = _by_kind(models["Output"])
    properties["published"] = {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}
    models.pop("Published", None)
    _widen(schema)
    return schema


def schema_text() -> str:
    """The file ``configs/schema.json``."""
    return json.dumps(config_schema(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _by_kind(output: dict[str, Any]) -> dict[str, Any]:
    """The union of the kinds of outputs: each with the keys that do something in it."""
    fields = output["properties"]
    known = fields["kind"]["anyOf"][0]["enum"]
    kinds = []
    for kind in ("table", *known):
        mine = {key: field for key, field in fields.items() if kind in KINDS_OF_KEY.get(key, [kind])}
        mine = {key: {**field} for key, field in mine.items() if key != ("figure" if kind == "table" else "table")}
        for field in mine.values():
            field.pop("kinds", None)
        mine["kind"] = {"const": kind}
        needed = ["table"] if kind == "table" else ["figure"] if kind == "curve" else ["figure", "kind"]
        if kind == "table":
            del mine["kind"]
        kinds.append({"type": "object", "properties": mine, "required": needed, "additionalProperties": False})
    return {"description": output["description"], "anyOf": kinds}


def _named(names: list[str], pattern: str, text: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
    name = {"anyOf": [{"enum": names}, {"type": "string", "pattern": pattern}]}
    properties = {**(fields or {}), "name": name}
    whole = {"type": "object", "properties": properties, "required": ["name"], "additionalProperties": True}
    return {"description": text, "anyOf": [*name["anyOf"], whole]}


def _widen(node: Any) -> None:
    """Let a list of simple values also be one value, as the models do."""
    if isinstance(node, dict):
        for child in node.values():
            _widen(child)
        items = node.get("items")
        simple = isinstance(items, dict) and ("type" in items or "anyOf" in items) and "properties" not in items
        if node.get("type") == "array" and simple:
            array = {key: node[key] for key in ("type", "items", "minItems") if key in node}
            for key in array:
                del node[key]
            node["anyOf"] = [items, array]
    elif isinstance(node, list):
        for child in node:
            _widen(child)


if __name__ == "__main__":
    write_text(Path(shipped("configs")) / "schema.json", schema_text())
