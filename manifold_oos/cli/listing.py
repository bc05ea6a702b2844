"""``moos list`` and ``moos describe``: what there is, in the words of its docstrings."""

import json
import traceback
from difflib import get_close_matches

import click

from manifold_oos.errors import ConfigError

LISTS = ("datasets", "embeddings", "extenders", "classifiers", "metrics", "configs")


@click.command("list")
@click.argument("kind", type=click.Choice(LISTS))
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
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
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
@click.option(
    "--check",
    is_flag=True,
    help="Put the method through the contract tests of its kind (NAME may be package.module:Class).",
)
def describe(name: str, as_json: bool, check: bool) -> None:
    """Explain a data set, method or metric: parameters, defaults, reference.

    \b
    moos describe sosi
    moos describe extenders/lle                    where a bare name is ambiguous
    moos describe --check mypackage.module:Class   does my own method keep the contract?
    """
    from manifold_oos.docstrings import parse

    kind, cls = resolve(name)
    if check:
        run_checks(name, cls)
        return
    documentation = parse(cls)
    if as_json:
        parameters = [vars(parameter) for parameter in documentation.parameters]
        entry = {"kind": kind, "name": name, "summary": documentation.summary, "prose": documentation.prose}
        click.echo(json.dumps(entry | {"parameters": parameters, "references": documentation.references}, indent=2))
        return
    click.echo(f"{name} ({kind}): {documentation.summary}\n")
    if documentation.prose:
        click.echo(documentation.prose + "\n")
    if documentation.parameters:
        click.echo("Parameters")
        for parameter in documentation.parameters:
            default = f" = {parameter.default}" if parameter.default else ""
            click.echo(f"  {parameter.name}{default}  ({parameter.type})")
            click.echo(
                click.wrap_text(parameter.text, width=96, initial_indent="      ", subsequent_indent="      ")
            )
    extra = notes(kind, cls)
    if extra:
        click.echo("\n" + extra)
    if documentation.references:
        click.echo("\nReferences\n" + documentation.references)


def catalogue(kind: str) -> dict[str, str]:
    """Name and one line of everything of a kind.

    Parameters
    ----------
    kind : str
        One of LISTS.

    Returns
    -------
    dict of str to str
        Description by name.
    """
    from manifold_oos import registry
    from manifold_oos.docstrings import summary

    if kind == "datasets":
        from manifold_oos import datasets

        return {name: summary(loader) for name, loader in datasets.available().items()}
    if kind == "metrics":
        from manifold_oos.experiment.metrics import METRICS

        return {name: metric.description for name, metric in METRICS.items()}
    if kind == "configs":
        from manifold_oos.resources import shipped_configs

        return shipped_configs()
    return {name: summary(cls) for name, cls in registry.available(kind).items()}


def resolve(name: str) -> tuple[str, type]:
    """The kind and class behind ``name``, ``kind/name`` or ``package.module:Class``.

    Parameters
    ----------
    name : str
        What the person typed.

    Returns
    -------
    kind : str
        Its kind.
    cls : type
        The class.
    """
    from manifold_oos import datasets, registry

    if ":" in name:
        cls = registry.import_class(name)
        return "method", cls
    everything: dict[str, dict[str, type]] = {kind: registry.available(kind) for kind in registry.KINDS}
    everything["datasets"] = dict(datasets.available())
    wanted_kind, _, bare = name.rpartition("/")
    hits = [
        (kind, classes[bare])
        for kind, classes in everything.items()
        if bare in classes and wanted_kind in ("", kind)
    ]
    if len(hits) == 1:
        return hits[0]
    if hits:
        choices = " or ".join(f"{kind}/{bare}" for kind, _ in hits)
        raise ConfigError(f"{name}: several things have this name; say {choices}")
    names = [other for classes in everything.values() for other in classes]
    if bare in names:
        homes = " or ".join(f"{kind}/{bare}" for kind, classes in everything.items() if bare in classes)
        raise ConfigError(f"{name}: no such kind; did you mean {homes}?")
    near = get_close_matches(bare, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "see moos list --help"
    raise ConfigError(f"{name}: nothing has this name; {hint}")


def notes(kind: str, cls: type) -> str:
    """Facts that the class attributes tell: what an extender supports, which variants a data set has.

    Parameters
    ----------
    kind : str
        The kind of the class.
    cls : type
        The class.

    Returns
    -------
    str
        Lines, or nothing.
    """
    from manifold_oos import registry
    from manifold_oos.extenders.base import Extender

    lines = []
    if issubclass(cls, Extender):
        embeddings = registry.available("embeddings")
        supported = [name for name, embedding in embeddings.items() if cls.supports(embedding)]
        lines.append(
            "Extends: " + ("every embedding" if len(supported) == len(embeddings) else ", ".join(supported))
        )
    for variant, text in getattr(cls, "variants", {}).items():
        lines.append(f"Variant {variant}: {text}")
    return "\n".join(lines)


def run_checks(name: str, cls: type) -> None:
    """Run the contract checks of a class and say which hold; exit code 1 when one does not.

    Parameters
    ----------
    name : str
        What the person typed.
    cls : type
        The class.
    """
    from manifold_oos.contracts import checks_for
    from manifold_oos.docstrings import summary
    from manifold_oos.embeddings.base import Embedding

    try:
        checks = checks_for(cls)
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
