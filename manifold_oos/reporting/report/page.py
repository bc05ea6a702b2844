"""The page of one or many experiments: verdict, tables, claims, curves, ranks, times, viewer, how it was made."""

import base64
import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from manifold_oos import __version__
from manifold_oos.atomic import write_text
from manifold_oos.config.dump import config_text
from manifold_oos.config.model import Output
from manifold_oos.errors import ConfigError
from manifold_oos.metrics import is_time
from manifold_oos.reporting.figures.draw import figure_outputs, stem_of
from manifold_oos.reporting.numbers import half_text, mean_text, number_text, sign_text
from manifold_oos.reporting.render import latex
from manifold_oos.reporting.report.blocks import Blocks
from manifold_oos.reporting.report.charts import PALETTE, chart, curves, rank_diagram, rankings
from manifold_oos.reporting.report.html import render
from manifold_oos.reporting.report.viewer import first_look, how_to_keep, make_viewer
from manifold_oos.results.claims import SIGNS as CLAIM_SIGNS
from manifold_oos.results.collect import Located, Results
from manifold_oos.results.published import LEGEND, SIGNS
from manifold_oos.results.tables import TableEntry, TableView, make_tables, name_of
from manifold_oos.results.verdict import FOOTNOTE, make_verdicts
from manifold_oos.spreadsheet import guarded

#: Text of coordinates and thumbnails in a page, so that one of COIL-20 stays below 15 MB with Plotly's 4.8.
VIEWER_BYTES = 8_000_000
#: A drawn figure above this is left to its file.
PICTURE_BYTES = 700_000


def write_report(places: Sequence[Located], path: Path, *, data_dir: Path | None = None) -> Path:
    """Write the page of experiments."""
    return write_page([(place, place.collect(data_dir)) for place in places], path)


def write_page(found: Sequence[tuple[Located, Results]], path: Path, *, home: str = "") -> Path:
    """Write the page of experiments whose rows are at hand."""
    page = Page(Blocks(VIEWER_BYTES))
    sections = [page.section(place, results) for place, results in found]
    title = sections[0]["title"] if len(sections) == 1 else f"{len(sections)} experiments"
    text = render(
        "report.html",
        title=title,
        sections=sections,
        data={**page.data, "blocks": page.blocks.found, "palette": PALETTE},
        home=home,
        version=__version__,
        legend=LEGEND,
    )
    return write_text(path, text)


class Page:
    """What the sections of a page share: blocks of arrays, and the data that its script reads."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.data: dict[str, dict[str, Any]] = {"texts": {}, "charts": {}, "viewers": {}}

    def section(self, place: Located, results: Results) -> dict[str, Any]:
        """Everything of one experiment, ready for the template."""
        experiment = results.experiment
        anchor = re.sub(r"[^A-Za-z0-9]+", "-", experiment.name).strip("-") or "experiment"
        broken = {(row["arm"], row["dataset"], row["size"]) for row in failures(results)}
        tables = [self._table(table, anchor, broken) for table in result_tables(results)]
        advice = [{"head": one.head, "sentences": list(one.sentences())} for one in make_verdicts(results)]
        drawn = pictures(results, place.folder)
        portrait = next((picture for picture in drawn if advice and picture["kind"] == "embedding"), None)
        viewer = make_viewer(results, self.blocks)
        crowded = viewer is not None and not viewer["views"]
        if viewer is not None and not crowded:
            self.data["viewers"][anchor] = viewer
        return {
            "id": anchor,
            "name": experiment.name,
            "title": experiment.title or experiment.name,
            "paper": experiment.paper,
            "note": experiment.note,
            "committed": results.origin,
            "summary": summary(results),
            "verdict": advice,
            "verdict_note": FOOTNOTE,
            "portrait": portrait,
            "datasets": data_sets(results),
            "tables": tables,
            "claims": [
                {
                    "source": claim.claim.source,
                    "text": claim.text,
                    "verdict": claim.verdict,
                    "sign": CLAIM_SIGNS[claim.verdict],
                    "numbers": claim.numbers_text,
                }
                for claim in results.claims
            ],
            "charts": self._charts(results, anchor),
            "pictures": [picture for picture in drawn if picture is not portrait],
            "ranks": [rank_diagram(ranks) for ranks in rankings(results)],
            "times": [self._table(table, anchor, broken) for table in time_tables(results)],
            "chosen": chosen(results),
            "failures": failures(results),
            "viewer": None if crowded else viewer,
            "crowded": crowded,
            "first": first_look(viewer, self.blocks) if viewer and not crowded else None,
            "keep": how_to_keep(experiment.name),
            "config": config_text(experiment),
            "environment": environment_of(place.folder),
        }

    def _table(self, table: TableView, anchor: str, broken: Collection[tuple[str, str, str]]) -> dict[str, Any]:
        name = f"{anchor}-t{len(self.data['texts'])}"
        self.data["texts"][name] = {"csv": table_csv(table), "tex": latex([table])}
        return {
            "id": name,
            "name": table.name,
            "title": table.title,
            "headers": table.headers,
            "protocol": table.protocol,
            "has_published": table.has_published,
            "notes": table.notes,
            "lines": [
                {
                    "arm": line.arm,
                    "selection": line.selection,
                    "cells": [
                        _cell(entry, table.metric, (line.arm, label, f"{size:g}") in broken)
                        for entry, (label, size) in zip(line.entries, table.columns, strict=True)
                    ],
                }
                for line in table.lines
            ],
        }

    def _charts(self, results: Results, anchor: str) -> list[dict[str, Any]]:
        found = []
        asked = results.experiment.outputs
        for output, curve in curves(results):
            words = f"{curve.y_label} by {curve.x_label}"
            name = f"{anchor}-c{len(self.data['charts'])}"
            self.data["charts"][name] = spec = chart(curve)
            self.data["texts"][name] = {"csv": spec.pop("csv")}
            found.append(
                {
                    "id": name,
                    "title": curve.title or (f"{output.figure}: " * (output in asked) + words),
                    "kind": output.kind,
                    "panels": len(spec["panels"]),
                    "arms": spec["arms"],
                    "notes": [note for note in curve.notes if note],
                }
            )
        return found


def _cell(entry: TableEntry, metric: str, broken: bool) -> dict[str, Any]:
    return {
        "mean": mean_text(entry, metric) if entry.splits else "",
        "half": half_text(entry, metric) if math.isfinite(entry.half_width) else "",
        "splits": entry.splits,
        "best": entry.best,
        "tuned": entry.tuned,
        "published": number_text(entry.published, metric) if math.isfinite(entry.published) else "",
        "verdict": entry.verdict,
        "sign": sign_text(entry.verdict, entry.needed),
        "state": "failed" if broken else entry.state or "–",
    }


def result_tables(results: Results) -> list[TableView]:
    """The tables of the config, or one per metric and data set; an output without rows is left out."""
    outputs = [output for output in results.experiment.outputs if output.table is not None] or [Output(table="")]
    tables: list[TableView] = []
    for output in outputs:
        try:
            tables += make_tables(results, [output])
        except ConfigError:
            continue
    return tables


def time_tables(results: Results) -> list[TableView]:
    """One table per measured time, all data sets side by side, under the first protocol that measured it."""
    metrics = [metric for metric in dict.fromkeys(results.cells["metric"]) if is_time(metric)]
    if not metrics:
        return []
    tables: dict[str, TableView] = {}
    for table in make_tables(results, [Output(table="", metric=metrics, columns="dataset")]):
        if any(entry.splits for line in table.lines for entry in line.entries):
            tables.setdefault(table.metric, table)
    return list(tables.values())


def table_csv(table: TableView) -> str:
    """A table as CSV: for each column mean, half interval, splits and, where there are, published and verdict."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = ["arm", "selection"]
    for header in table.headers:
        head += [header, f"{header} half interval", f"{header} splits"]
        head += [f"{header} published", f"{header} verdict"] if table.has_published else []
    writer.writerow(map(guarded, head))
    for line in table.lines:
        cells = [guarded(line.arm), line.selection]
        for entry in line.entries:
            cells += [_number(entry.mean), _number(entry.half_width), str(entry.splits)]
            cells += [_number(entry.published), entry.verdict or entry.state] if table.has_published else []
        writer.writerow(cells)
    return stream.getvalue()


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""


def summary(results: Results) -> dict[str, Any]:
    """Counts for the head of a section: splits, verdicts on cells and claims, failures."""
    cells = results.cells
    numbers = cells[~cells["metric"].map(is_time).astype(bool)]
    return {
        "splits": int(numbers["splits"].max()) if len(numbers) else 0,
        "cells": len(numbers),
        "verdicts": {word: int((numbers["verdict"] == word).sum()) for word in SIGNS},
        "signs": SIGNS,
        "claims": dict(Counter(claim.verdict for claim in results.claims if not claim.part_of)),
        "failed": 0 if results.failures is None else len(results.failures),
        "absent": list(results.absent),
    }


def data_sets(results: Results) -> list[dict[str, Any]]:
    """What is to be known of each data set: size, caveats, whether it stands in for another, why it is absent."""
    found = []
    for data in results.experiment.datasets:
        facts = results.facts.get(data.label)
        words = [] if facts is None else [f"{facts.n} samples", f"{facts.n_features} features"]
        if facts is not None and facts.n_classes:
            words.append(f"{facts.n_classes} classes")
        found.append(
            {
                "label": data.label,
                "name": data.name if facts is None else f"{facts.name} ({facts.variant})",
                "size": ", ".join(words),
                "fingerprint": "" if facts is None else facts.fingerprint[:12],
                "stand_in": data.stand_in or "",
                "note": "" if facts is None else facts.note,
                "absent": results.absent.get(data.label, ""),
            }
        )
    return found


def chosen(results: Results) -> list[dict[str, Any]]:
    """The grid values behind the cells of the first metric, with the number of splits that took each."""
    rows = results.final
    rows = rows[(rows["metric"] == results.experiment.metrics[0]) & (rows["chosen"] != "{}")]
    found = []
    for keys, block in rows.groupby(["arm", "dataset", "size", "selection"], sort=False):
        arm, label, size, selection = keys
        counts = Counter(block["chosen"])
        values = [
            {"text": ", ".join(f"{path} = {json.dumps(v)}" for path, v in json.loads(text).items()), "splits": n}
            for text, n in counts.most_common()
        ]
        found.append({"arm": arm, "dataset": label, "size": f"{size:g}", "selection": selection, "values": values})
    return found


def failures(results: Results) -> list[dict[str, Any]]:
    """Lines that failed, with their message."""
    if results.failures is None:
        return []
    frame = results.failures.assign(size=results.failures["size"].map("{:g}".format))
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def pictures(results: Results, folder: Path) -> list[dict[str, Any]]:
    """Figures of points and functions that a run drew, as they are."""
    found = []
    for output in figure_outputs(results):
        path = folder / f"{stem_of(output)}.png"
        drawn = output.kind in ("embedding", "gallery", "function") or results.rows.empty
        if not drawn or not path.is_file():
            continue
        content = path.read_bytes()
        if len(content) <= PICTURE_BYTES:
            width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
            uri = "data:image/png;base64," + base64.b64encode(content).decode()
            alt = ": ".join(part for part in (name_of(output), output.title) if part)
            found.append({"uri": uri, "width": width, "height": height, "alt": alt, "kind": output.kind})
    return found


def environment_of(folder: Path) -> list[tuple[str, str]]:
    """Versions and machine type of the last run, as it wrote them."""
    path = folder / "environment.json"
    if not path.is_file():
        return []
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    nested = {**found.pop("packages", {}), **found.pop("libraries", {})}
    return [(name, str(value)) for name, value in {**found, **nested}.items()]
