"""``moos list`` and ``moos describe``: what there is, in the words of its docstrings."""

import json
import traceback
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from manifold_oos.cli import flags
from manifold_oos.errors import ConfigError, nearest

if TYPE_CHECKING:
    from manifold_oos.datasets.base import Loader
    from manifold_oos.docstrings import Documentation

LISTS = ("datasets", "embeddings", "extenders", "classifiers", "metrics", "configs")


@click.command("list")
@click.argument("kind", type=click.Choice(LISTS))
@flags.as_json
def list_(kind: str, as_json: bool) -> None:
    """List what can be named in a config, one line each."""
    entries = catalogue(kind)
    if as_json:
        click.echo(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    width = max(map(len, entries), default=0)
    for name, text in entries.items():
        click.echo(f"{name:{width}}  {text}")


@click.command()
@click.argument("name")
@flags.as_json
@click.option(
    "--check",
    is_flag=True,
    help="Put the method through the contract tests of its kind (NAME may be package.module:Class).",
)
@click.option("--cost", metavar="N=…", help="Memory of a fit of so many points: N=100000,D=50,d=2,Q=1000.")
def describe(name: str, as_json: bool, check: bool, cost: str | None) -> None:
    """Explain a data set, method or metric: parameters, defaults, reference.

    \b
    moos describe sosi
    moos describe extenders/lle                    where a bare name is ambiguous
    moos describe isomap --cost N=100000,D=50      what would a fit take, and is it there?
    moos describe --check mypackage.module:Class   does my own method keep the contract?
    """
    kind, bare = resolve(name)
    if check:
        run_checks(name, find(kind, bare))
        return
    if cost is not None:
        click.echo(costs_of(name, kind, find(kind, bare), sizes_of(cost)))
        return
    documentation = document(kind, bare)
    if as_json:
        entry: dict[str, Any] = {"kind": kind, "name": name}
        entry |= {"summary": documentation.summary, "prose": documentation.prose}
        entry |= {"parameters": [vars(parameter) for parameter in documentation.parameters]}
        entry |= {"references": documentation.references}
        entry |= {"variants": variants(find(kind, bare))} if kind == "datasets" else {}
        click.echo(json.dumps(entry, indent=2, ensure_ascii=False))
        return
    click.echo(f"{name} ({kind}): {documentation.summary}\n")
    if documentation.prose:
        click.echo(documentation.prose + "\n")
    if documentation.parameters:
        click.echo("Options" if kind == "datasets" else "Parameters")
        for parameter in documentation.parameters:
            default = f" = {parameter.default}" if parameter.default not in ("", "''") else ""
            click.echo(f"  {parameter.name}{default}  ({parameter.type})")
            click.echo(
                click.wrap_text(parameter.text, width=96, initial_indent="      ", subsequent_indent="      ")
            )
    extra = notes(kind, bare)
    if extra:
        click.echo("\n" + extra)
    if documentation.references:
        click.echo("\nReferences\n" + documentation.references)


def catalogue(kind: str) -> dict[str, str]:
    """Name and one line of everything of a kind."""
    from manifold_oos import registry
    from manifold_oos.docstrings import summary

    if kind == "metrics":
        from manifold_oos.metrics import METRICS

        return {name: metric.description for name, metric in METRICS.items()}
    if kind == "configs":
        from manifold_oos.resources import shipped_configs

        return shipped_configs()
    return {name: summary(listing.doc) for name, listing in registry.index(kind).items()}


def find(kind: str, name: str) -> Any:
    """The class or metric behind what :func:`resolve` found."""
    from manifold_oos import registry
    from manifold_oos.metrics import METRICS

    if kind == "metrics":
        return METRICS[name]
    return registry.import_class(name) if ":" in name else registry.find(kind, name)


def document(kind: str, name: str) -> "Documentation":
    """What the docstrings say of a data set, method or metric; a method of the package is not imported."""
    from manifold_oos import docstrings, registry
    from manifold_oos.outlines import outline

    if kind in registry.KINDS.values() and ":" not in name:
        return docstrings.read(registry.index(kind)[name].doc, outline(kind, name).parameters or {})
    thing = find(kind, name)
    if kind == "metrics":
        return docstrings.Documentation(thing.description, f"The {thing.better} the better. Needs: {thing.needs}.")
    found = docstrings.parse(thing)
    return replace(found, parameters=docstrings.options(thing)) if kind == "datasets" else found


def variants(loader: "type[Loader]") -> dict[str, dict[str, Any]]:
    """What is known of each variant of a data set."""
    instance = loader(offline=True)
    return {
        variant: {"description": text, **asdict(instance.listed(variant))}
        for variant, text in loader.variants.items()
    }


def resolve(name: str) -> tuple[str, str]:
    """The kind and bare name of ``name``, ``kind/name`` or ``package.module:Class``."""
    from manifold_oos import registry
    from manifold_oos.metrics import METRICS

    if ":" in name:
        return kind_of(registry.import_class(name)), name
    everything: dict[str, Mapping[str, Any]] = {
        kind: registry.index(kind) for kind in (*registry.KINDS.values(), "datasets")
    }
    everything["metrics"] = METRICS
    wanted_kind, _, bare = name.rpartition("/")
    hits = [kind for kind, names in everything.items() if bare in names and wanted_kind in ("", kind)]
    if len(hits) == 1:
        return hits[0], bare
    if hits:
        choices = " or ".join(f"{kind}/{bare}" for kind in hits)
        raise ConfigError(f"{name}: several things have this name; say {choices}")
    names = [other for classes in everything.values() for other in classes]
    if bare in names:
        homes = " or ".join(f"{kind}/{bare}" for kind, classes in everything.items() if bare in classes)
        raise ConfigError(f"{name}: no such kind; did you mean {homes}?")
    raise ConfigError(f"{name}: nothing has this name; {nearest(bare, names)}")


def kind_of(cls: type) -> str:
    """The kind of a class of one's own, told by its base."""
    from manifold_oos.classifiers.base import Classifier
    from manifold_oos.datasets.base import Loader
    from manifold_oos.embeddings.base import Embedding
    from manifold_oos.extenders.base import Extender

    bases = {"embeddings": Embedding, "extenders": Extender, "classifiers": Classifier, "datasets": Loader}
    return next((kind for kind, base in bases.items() if issubclass(cls, base)), "class")


def notes(kind: str, name: str) -> str:
    """Facts that docstrings do not tell: what an extender supports, a data set's variants, licence and source."""
    from manifold_oos import registry
    from manifold_oos.outlines import extends

    lines = []
    if kind == "extenders":
        embeddings = registry.index("embeddings")
        supported = [embedding for embedding in embeddings if extends(name, embedding)]
        lines.append(
            "Extends: " + ("every embedding" if len(supported) == len(embeddings) else ", ".join(supported))
        )
    if kind == "datasets":
        from manifold_oos.datasets.files import FileLoader

        thing = find(kind, name)
        known = variants(thing)
        for variant, facts in known.items():
            numbers = [f"{facts[key]} {key}" for key in ("samples", "classes") if facts[key]]
            if numbers:
                numbers += [facts[key] for key in ("size", "found") if facts[key]]
                lines.append(f"Variant {variant}: {facts['description']} ({', '.join(numbers)})")
        licences = dict.fromkeys(facts["licence"] for facts in known.values() if facts["licence"])
        lines += [f"Licence: {licence}" for licence in licences]
        if issubclass(thing, FileLoader):
            lines.append(f"Page: {thing.spec().page}" + (f" ({thing.spec().form})" if thing.spec().form else ""))
    return "\n".join(lines)


def sizes_of(text: str) -> dict[str, float]:
    """The numbers of ``N=100000,D=50``, which name N at least.

    Examples
    --------
    >>> sizes_of("N=1e5,d=3")
    {'N': 100000.0, 'D': 50.0, 'd': 3.0, 'Q': 0.0}
    """
    sizes = {"N": 0.0, "D": 50.0, "d": 2.0, "Q": 0.0}
    for part in text.split(","):
        key, _, number = part.partition("=")
        try:
            sizes[key.strip()] = float(number) if key.strip() in sizes else float("nan")
        except ValueError:
            sizes[key] = float("nan")
    if not sizes["N"] >= 1 or not all(0 <= value < float("inf") for value in sizes.values()):
        raise ConfigError(f"--cost {text}: write N=100000, or N=100000,D=50,d=2,Q=1000")
    return sizes


def costs_of(name: str, kind: str, cls: Any, sizes: dict[str, float]) -> str:
    """What a fit with the usual parameters takes: memory, beside what there is of it, and the order of time."""
    import yaml

    from manifold_oos.costs import available_memory, needed, readable
    from manifold_oos.resources import shipped

    if kind not in ("embeddings", "extenders"):
        raise ConfigError(f"--cost {name}: told of embeddings and extenders")
    method = cls()
    size = needed(method, **sizes)
    at = ", ".join(f"{key} = {value:,.0f}" for key, value in sizes.items() if value)
    lines = [f"{name} ({kind}) for {at}"]
    if size is None:
        lines.append("Memory: not stated")
    else:
        lines.append(f"Memory: {readable(size)}, {method.memory} floats; there are {readable(available_memory())}")
        lines += [f"Instead: {method.instead}"] if size > available_memory() else []
    advice = yaml.safe_load(shipped("docs").joinpath("methods", "advice.yaml").read_text(encoding="utf-8"))
    if getattr(cls, "name", None) in advice[kind]:
        lines.append(f"Cost: {advice[kind][cls.name]['cost']}")
    return "\n".join(lines)


def run_checks(name: str, cls: Any) -> None:
    """Run the contract checks of a class and say which hold; exit code 1 when one does not."""
    from manifold_oos.contracts import checks_for, scikit_learn
    from manifold_oos.docstrings import summary
    from manifold_oos.embeddings.base import Embedding

    try:
        checks = (*checks_for(cls), scikit_learn)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error
    failed = 0
    for check in checks:
        try:
            check(cls(n_components=2) if issubclass(cls, Embedding) else cls())
        except Exception as error:
            failed += 1
            place = traceback.extract_tb(error.__traceback__)[-1]
            click.echo(f"✗ {summary(check)}\n    {type(error).__name__}: {error} ({place.filename}:{place.lineno})")
        else:
            click.echo(f"✓ {summary(check)}")
    click.echo(f"{len(checks) - failed} of {len(checks)} promises kept")
    if failed:
        raise click.exceptions.Exit(1)
