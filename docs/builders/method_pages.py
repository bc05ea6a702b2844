"""Write the generated pages of docs/: methods, their list, the Python reference, data sets, the keys of a config.

Docstrings, class attributes, datasets/*.yaml and the models of a config are the source; docs/methods/advice.yaml
adds cost and advice. `python docs/builders/method_pages.py` writes, `--check` says what would change (exit code 1).
"""

import argparse
import importlib
import inspect
import pkgutil
import re
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

import manifold_oos
from manifold_oos import OutOfSample, datasets, load, numerics
from manifold_oos.classifiers.base import Classifier
from manifold_oos.config import model as config
from manifold_oos.config import pairs, split
from manifold_oos.config.model import listed
from manifold_oos.datasets.base import Dataset, Loader
from manifold_oos.datasets.files import FileLoader
from manifold_oos.datasets.table import match_columns
from manifold_oos.docstrings import parse, summary
from manifold_oos.embeddings.base import Embedding
from manifold_oos.extenders.base import Extender
from manifold_oos.registry import KINDS, available

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTE = (
    "<!-- Written by docs/builders/method_pages.py: change the docstring or docs/methods/advice.yaml instead. -->"
)
WORDS = {"embeddings": "embedding", "extenders": "extender", "classifiers": "classifier"}
#: What the reference lists beside the numerics.
API: dict[str, list[Any]] = {
    "The estimator": [OutOfSample, load],
    "Data": [datasets.load, datasets.available, Dataset, match_columns],
    "Base classes": [Embedding, Extender, Classifier, Loader],
}
MENU = re.compile(r"(?<=\(docs/builders/method_pages.py\)\n).*?(?=      # methods: end)", re.DOTALL)
KEYS = re.compile(r"(<!-- keys: (\w+) -->\n).*?(<!-- keys: end -->)", re.DOTALL)


def from_rst(text: str) -> str:
    """Markdown from the reStructuredText of docstrings: formulas, roles, literals, references."""

    def display(match: re.Match[str]) -> str:
        formula = " ".join(line.strip() for line in match["body"].splitlines())
        return f"\n$$\n{formula.strip()}\n$$\n"

    text = re.sub(r"^\.\. math::(?P<body>.*(?:\n[ \t]+\S.*)*)\n?", display, text, flags=re.MULTILINE)
    text = re.sub(r":math:`([^`]+)`", lambda match: f"${' '.join(match[1].split())}$", text)
    text = re.sub(r":(?:class|func|meth|mod|attr):`~?([\w.]+)`", lambda match: f"`{match[1].split('.')[-1]}`", text)
    text = re.sub(r"``([^`]+)``", lambda match: f"`{' '.join(match[1].split())}`", text)
    return re.sub(r"\[(\d+)\]_", r"[\1]", text).strip()


def references(text: str) -> str:
    """The numbered list of a References section."""
    entries = re.findall(r"\.\. \[(\d+)\] (.*?)(?=\n\.\. \[|\Z)", text, re.DOTALL)
    return "\n".join(f"[{number}] {' '.join(entry.split())}  " for number, entry in entries)


def cell(text: str) -> str:
    """Text for one cell of a table."""
    return " ".join(from_rst(text).split()).replace("|", "\\|")


def facts(kind: str, cls: Any) -> list[str]:
    """What the class attributes say, in words."""
    lines = []
    if kind == "embeddings":
        lines.append("needs class labels" if cls.supervised else "needs no labels")
        lines.append("maps new points itself" if hasattr(cls, "transform") else "needs an extender for new points")
        if cls.nested is True:
            lines.append("fewer coordinates are the first of more, so that a sweep over the dimension is one fit")
    elif issubclass(cls, Extender):
        lines.append("needs class labels" if cls.supervised else "needs no labels unless a parameter says so")
        lines.append("is given the new points at fit" if cls.transductive else "places any new point, one by one")
        if cls.interpolates is True:
            lines.append("training points keep their coordinates")
        every = available("embeddings")
        names = [name for name, embedding in every.items() if cls.supports(embedding)]
        lines.append("extends " + ("every embedding" if len(names) == len(every) else ", ".join(names)))
    else:
        lines.append("labels the points of fit alone" if cls.transductive else "labels any point")
    return lines


def memory(cls: Any) -> str:
    """The largest work arrays of a fit with the usual parameters, where the method states them."""
    formula = getattr(cls, "memory", "")
    formula = cls().memory if isinstance(formula, property) else formula
    return f"**Memory of a fit:** `{formula}` floats. Too much? Take {cls.instead}." if formula else ""


def method_page(kind: str, name: str, cls: Any, advice: Mapping[str, str]) -> str:
    """The page of one method."""
    documentation = parse(cls)
    module = cls.__module__
    parts = [
        NOTE,
        f"# {name}",
        f"{from_rst(documentation.summary)}",
        f"`{WORDS[kind]}: {name}` in a config, `from {module} import {cls.__name__}` in Python.",
        from_rst(documentation.prose),
        f"![{name} on a small example](../images/methods/{kind}_{name}.png)",
        "This method " + "; ".join(facts(kind, cls)) + ".",
        "## When to use it",
        f"**Use it:** {advice['use']}",
        f"**Leave it:** {advice['avoid']}",
        f"**Cost:** {advice['cost']}",
        memory(cls),
    ]
    if documentation.parameters:
        rows = ["| name | default | |", "|---|---|---|"]
        for parameter in documentation.parameters:
            default = f"`{parameter.default}`" if parameter.default else ""
            rows.append(f"| `{parameter.name}` | {default} | {cell(parameter.type)}. {cell(parameter.text)} |")
        parts += ["## Parameters", "\n".join(rows)]
    grids = {key: list(values) for key, values in cls.grids.items()}
    if grids:
        lines = "\n".join(
            f"- `{key}`: {', '.join(f'`{value}`' for value in values)}" for key, values in grids.items()
        )
        parts += ["Without values of your own `moos sweep --param NAME` takes these:", lines]
    if documentation.references:
        parts += ["## References", references(documentation.references)]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def line(thing: object) -> str:
    """The first sentence of a docstring, without marks of references."""
    return re.sub(r" \[\d\]", "", cell(summary(thing)))


def methods_index() -> str:
    """The list of all methods."""
    parts = [NOTE, "# Methods", "The same lists as `moos list`; the pages say what `moos describe` says, and more."]
    for kind in KINDS.values():
        lines = [f"- [{name}]({kind}_{name}.md): {line(cls)}" for name, cls in available(kind).items()]
        parts += [f"## {kind.capitalize()}", "\n".join(lines)]
    picture = "![Every embedding on three surfaces](../images/gallery.png)"
    parts += ["## All embeddings at once", f"{picture}\n\nDrawn by `docs/builders/gallery.py`."]
    return "\n\n".join(parts) + "\n"


def menu() -> str:
    """The methods' part of the site's menu."""
    lines = []
    for kind in KINDS.values():
        lines.append(f"      - {kind.capitalize()}:")
        lines += [f"          - {name}: methods/{kind}_{name}.md" for name in available(kind)]
    return "".join(f"{line}\n" for line in lines)


def datasets_table() -> str:
    """Every data set with its licence and where it comes from."""
    files, built_in = [], []
    for name, loader in datasets.available().items():
        text = line(loader)
        note = f"; *{loader.note}*" if loader.note else ""
        if not issubclass(loader, FileLoader):
            built_in.append(f"| `{name}` | {text}{note} |")
            continue
        spec = loader.spec()
        variants = []
        for word, variant in spec.variants.items():
            classes = f" in {variant.classes} classes" if variant.classes else ""
            notes = "; ".join(copy.note for copy in variant.copies if copy.note)
            variants.append(f"`{word}`: {variant.samples} samples{classes}" + (f" ({notes})" if notes else ""))
        free = any(copy.urls for variant in spec.variants.values() for copy in variant.copies)
        how = "`moos data get`" if free and not spec.form else cell(spec.form) or "by hand from its page"
        files.append(
            f"| [`{name}`]({spec.page}) | {text}{note}<br>{'; '.join(variants)} | {spec.licence} | {how} |"
        )
    built = ["| name | |", "|---|---|", *built_in]
    stored = ["| name | | licence | how to get it |", "|---|---|---|---|", *files]
    return "\n".join(["### Built in, or your own", "", *built, "", "### In files", "", *stored])


def type_words(annotation: Any) -> str:
    """An annotation of a config's model as a person would say it."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        words = type_words(arguments[0])
        single = any(getattr(extra, "func", None) is listed for extra in arguments[1:])
        return f"{words.removeprefix('list of ')} or a list of them" if single else words
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_words(argument) for argument in arguments if argument is not type(None))
    if origin is list:
        return f"list of {type_words(arguments[0])}"
    if origin is dict:
        return f"by name: {type_words(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    words = {int: "whole number", float: "number", str: "text", bool: "true or false", Any: "anything"}
    return words.get(annotation, str(annotation))


def keys_table(name: str) -> str:
    """The keys of one model of a config."""
    model: type[BaseModel] = next(getattr(home, name) for home in (config, pairs, split) if hasattr(home, name))
    hints = typing.get_type_hints(model, include_extras=True)
    texts = yaml.safe_load((DOCS / "config_keys.yaml").read_text(encoding="utf-8"))[name]
    rows = ["| key | default | type | |", "|---|---|---|---|"]
    for key, field in model.model_fields.items():
        if key in ("parameters", "options"):
            rows.append(f"| *any other* | | | {key} of the {'method' if key == 'parameters' else 'data set'} |")
            continue
        text = field.description or texts.get(key)
        if not text:
            raise SystemExit(f"docs/config_keys.yaml: {name}.{key} is missing")
        default = "required" if field.is_required() else shown(field.default)
        rows.append(f"| `{key}` | {default} | {type_words(hints[key])} | {text} |")
    return f"{inspect.getdoc(model)}\n\n".replace("``", "`") + "\n".join(rows)


def shown(default: Any) -> str:
    """A default in YAML; nothing where it is empty or made of other tables' defaults."""
    if isinstance(default, list):
        default = ", ".join(item.name if isinstance(item, config.Protocol) else str(item) for item in default)
    if default in (None, "", {}) or isinstance(default, BaseModel):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def api_page() -> str:
    """The reference of what Python code calls: the estimator, loading, the base classes, the numerics."""
    head = "What to import and call; the methods have [pages of their own](methods/index.md)."
    parts = [NOTE, "# Python reference", head]
    for title, things in API.items():
        parts += [f"## {title}", *(text for thing in things for text in reference(thing, "###"))]
    parts += ["## Numerics", "What the methods are made of, by module."]
    for module in numerics_modules():
        found = [thing for thing in vars(module).values() if _is_own(thing, module)]
        if found:
            short = module.__name__.removeprefix("manifold_oos.")
            parts += [f"### {short}", f"{from_rst(inspect.getdoc(module) or '')}"]
            parts += [text for thing in found for text in reference(thing, "####")]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def numerics_modules() -> list[types.ModuleType]:
    """The modules of numerics in order."""
    names = sorted(module.name for module in pkgutil.iter_modules(numerics.__path__) if not module.ispkg)
    return [importlib.import_module(f"manifold_oos.numerics.{name}") for name in names]


def _is_own(thing: Any, module: types.ModuleType) -> bool:
    """Whether a class or function with documented parameters is public and from this module."""
    mine = (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__ == module.__name__
    return mine and not thing.__name__.startswith("_") and "\nParameters\n" in (inspect.getdoc(thing) or "")


def reference(thing: Any, level: str) -> list[str]:
    """The documentation of a class with its methods, or of a function."""
    parts = [f"{level} {thing.__name__}", f"`from {_home(thing)} import {thing.__name__}`", *described(thing)]
    if inspect.isclass(thing):
        for key, method in vars(thing).items():
            function = getattr(method, "__func__", method)
            if not key.startswith("_") and inspect.isfunction(function) and inspect.getdoc(function):
                parts += [f"**`.{key}{signature(function)}`**", *described(function)]
    return parts


def _home(thing: Any) -> str:
    return "manifold_oos" if getattr(manifold_oos, thing.__name__, None) is thing else thing.__module__


def described(thing: Any) -> list[str]:
    """Signature, prose, parameters, what is returned."""
    text = parse(thing)
    alone = inspect.isfunction(thing) and "." not in thing.__qualname__
    parts = [f"`{thing.__name__}{signature(thing)}`"] if alone else []
    parts += [from_rst(text.summary), from_rst(text.prose)]
    rows = [f"| `{one.name}` | {cell(one.type)} | {cell(one.text)} |" for one in text.parameters]
    if rows:
        parts.append("\n".join(["| parameter | type | |", "|---|---|---|", *rows]))
    if "Returns" in text.sections:
        kind, _, rest = text.sections["Returns"].partition("\n")
        parts.append(f"Returns {cell(kind)}: {cell(rest)}")
    return parts


def signature(function: Any) -> str:
    """Names and defaults, without annotations."""
    found = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    bare = [parameter for parameter in bare if parameter.name not in ("self", "cls")]
    return str(inspect.Signature(bare))


def pages() -> dict[Path, str]:
    """Path and text of every generated page."""
    advice = yaml.safe_load((DOCS / "methods" / "advice.yaml").read_text(encoding="utf-8"))
    for kind in KINDS.values():
        unknown = set(available(kind)) ^ set(advice[kind])
        if unknown:
            raise SystemExit(f"docs/methods/advice.yaml: {kind}: {', '.join(sorted(unknown))} missing or unknown")
    found = {DOCS / "methods" / "index.md": methods_index()}
    for kind in KINDS.values():
        for name, cls in available(kind).items():
            found[DOCS / "methods" / f"{kind}_{name}.md"] = method_page(kind, name, cls, advice[kind][name])
    for page, make in ((DOCS / "datasets.md", lambda _: datasets_table()), (DOCS / "config.md", keys_table)):
        text = page.read_text(encoding="utf-8")
        found[page] = KEYS.sub(lambda match, make=make: f"{match[1]}\n{make(match[2])}\n\n{match[3]}", text)
    found[DOCS / "api.md"] = api_page()
    site = ROOT / "mkdocs.yml"
    found[site] = MENU.sub(lambda _: menu(), site.read_text(encoding="utf-8"))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if something would change")
    check = parser.parse_args(arguments).check
    wanted = pages()
    old = [path for path in (DOCS / "methods").glob("*.md") if path not in wanted]
    changed = [
        path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in [*changed, *old]:
        print(path.relative_to(ROOT))
        if not check and path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
        elif not check:
            path.unlink()
    return 1 if check and (changed or old) else 0


if __name__ == "__main__":
    sys.exit(main())
