"""Arms that a config does not write one by one: every embedding of a block with every extender of it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from manifold_oos.config.views import Names, Strict, listed

#: In a list of extenders: the map that the embedding itself has.
OWN = "own"
Methods = Annotated[list[str | dict[str, Any]], BeforeValidator(listed), Field(min_length=1)]


class Block(Strict):
    """Embeddings and extenders that are all combined; ``suffix`` ends the names of these arms."""

    embeddings: Methods
    extenders: Methods = [OWN]
    suffix: str = ""
    datasets: Names | None = None


class Pairs(Strict):
    """Arms by blocks, and what they share: parameters of every embedding, and a classifier."""

    embedding: dict[str, Any] = {}
    classifier: str | dict[str, Any] | None = None
    blocks: dict[str, Block | None] = {}


def pair_arms(pairs: Any) -> dict[str, dict[str, Any]]:
    """The arms of all blocks by name; what is not well formed is left to the models to refuse.

    Examples
    --------
    >>> block = {"embeddings": ["umap", {"name": "lle", "n_neighbors": 9}], "extenders": ["own", "rbf"]}
    >>> arms = pair_arms({"embedding": {"n_components": 2}, "blocks": {"all": block}})
    >>> list(arms), arms["lle + rbf"]["embedding"]
    (['umap', 'umap + rbf', 'lle', 'lle + rbf'], {'name': 'lle', 'n_components': 2, 'n_neighbors': 9})
    """
    if not isinstance(pairs, Mapping) or not isinstance(pairs.get("blocks"), Mapping):
        return {}
    shared = pairs.get("embedding")
    common = {"classifier": pairs["classifier"]} if pairs.get("classifier") else {}
    arms = {}
    for block in pairs["blocks"].values():
        if isinstance(block, Mapping):
            own = common | ({"datasets": block["datasets"]} if block.get("datasets") else {})
            for embedding in _methods(block.get("embeddings")):
                given = {"name": embedding["name"]} | dict(shared or {}) | embedding
                for extender in _methods(block.get("extenders", OWN)):
                    mapped = extender["name"] == OWN
                    name = str(given["name"]) + ("" if mapped else f" + {extender['name']}")
                    stages = {"embedding": given} | ({} if mapped else {"extender": extender})
                    arms[name + str(block.get("suffix") or "")] = stages | own
    return arms


def block_of(pairs: Any, arm: str) -> str:
    """The block that an arm is of, "" where it is of none."""
    blocks = pairs.get("blocks") if isinstance(pairs, Mapping) else None
    for name, block in blocks.items() if isinstance(blocks, Mapping) else ():
        if arm in pair_arms({**pairs, "blocks": {name: block}}):
            return str(name)
    return ""


def _methods(value: Any) -> Iterator[dict[str, Any]]:
    for item in listed(value) or []:
        whole = dict(item) if isinstance(item, Mapping) else {"name": item}
        if isinstance(whole.get("name"), str):
            yield whole
