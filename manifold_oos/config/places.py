"""From the path of a value to the line that a person reads: file, line, key and what is wrong."""

from collections.abc import Iterable, Mapping

from manifold_oos.config.pairs import block_of
from manifold_oos.config.yaml_tree import Key, Tree


def all_lines(tree: Tree | None, found: Iterable[tuple[Key, str]]) -> str:
    """A line for each mistake, in the order of the files."""
    lines = []
    for path, message in found:
        written = path if tree is None else _written(tree, path)
        place = None if tree is None else tree.place(written)
        dotted = ".".join(map(str, written))
        said = place is not None and str(place) == f"--set {dotted}"  # the place names the key already
        text = message if said or not dotted else f"{dotted}: {message}"
        order = (place.file, place.line) if place else ("", 0)
        lines.append((order, f"{place}: {text}" if place else text))
    return "\n".join(dict.fromkeys(text for _, text in sorted(lines, key=lambda line: line[0])))


def _written(tree: Tree, path: Key) -> Key:
    """The path as the person wrote it, where the config is in a short form."""
    values = tree.values
    if path[:2] == ("datasets", 0) and "datasets" not in values and "dataset" in values:
        return ("dataset", *path[2:])
    if path[:1] == ("arms",) and len(path) > 1 and (block := block_of(values.get("pairs"), str(path[1]))):
        return ("pairs", "blocks", block, *path[2:])
    if path[:1] == ("arms",) and len(path) > 1 and "arms" not in values:
        return path[2:]
    if path[:1] == ("published",) and isinstance(values.get("published"), Mapping):
        rest = path[2:]
        return (
            "published",
            *(rest[1:] if rest[:1] == ("values",) and "values" not in values["published"] else rest),
        )
    if path[:1] == ("selection",) and isinstance(values.get("selection"), Mapping | str):
        return ("selection",)
    return path
