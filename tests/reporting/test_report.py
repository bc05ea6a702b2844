"""The page from made-up rows: every word and number in it, worked by hand; arrays and thumbnails that survive."""

import base64
import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from reporting_fakes import fake_rows, make_experiment, swept_rows

from manifold_oos import datasets
from manifold_oos.engine.splits import DataFacts
from manifold_oos.reporting.report import blocks as block_module
from manifold_oos.reporting.report.blocks import MISSING, Blocks, quantize, sprite
from manifold_oos.reporting.report.charts import chart, curves, rank_diagram, rankings
from manifold_oos.reporting.report.html import render, script_json
from manifold_oos.reporting.report.page import CLAIM_SIGNS, Page, result_tables, table_csv, time_tables
from manifold_oos.results.collect import Located, Results
from manifold_oos.results.status import STATES, mentioned, states_of

HOSTILE = "</script><img src=x onerror=alert(1)>"
#: Of 4, 5, 4.5, 4.5: sd² = 1/6, and Student's t at 97.5 % with 3 degrees of freedom is 3.182446.
HALF = 3.182446 * (1 / 6) ** 0.5 / 2


class Tags(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))


def page_of(results: Results, folder: Path) -> tuple[str, dict[str, Any]]:
    page = Page(Blocks(10**6))
    section = page.section(Located(results.experiment, folder, folder), results)
    text = render(
        "report.html", title="t", sections=[section], data=page.data, home="", version="0", legend="the legend"
    )
    return text, section


def make_results(rows: pd.DataFrame, **config: Any) -> Results:
    return Results(make_experiment(**config), rows)


def test_script_json_cannot_close_its_element() -> None:
    value = {"a": HOSTILE, "b": [1.5, float("nan"), np.float64(2.0), True, None], "line": "\u2028"}
    text = str(script_json(value))
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == {"a": HOSTILE, "b": [1.5, None, 2.0, True, None], "line": "\u2028"}


def test_strings_of_configs_and_messages_reach_the_page_as_text(rows: pd.DataFrame, tmp_path: Path) -> None:
    rows = rows.assign(arm=rows["arm"].replace("A", HOSTILE))
    experiment = make_experiment(
        title=HOSTILE,
        note=HOSTILE,
        paper=HOSTILE,
        datasets=[{"name": "digits", "stand_in": HOSTILE, "split": {"train_per_class": [5, 10]}}],
        arms={HOSTILE: {"classifier": "nn"}, "B": {"classifier": "nn"}, "C": {"classifier": "nn"}},
        outputs=[{"table": HOSTILE}, {"figure": HOSTILE, "title": HOSTILE}],
        claims=[{"source": HOSTILE, "text": HOSTILE, "best": HOSTILE}],
    )
    failure = {
        "arm": HOSTILE,
        "dataset": HOSTILE,
        "size": 5.0,
        "repetition": 0,
        "selection": "",
        "message": HOSTILE,
    }
    (tmp_path / "environment.json").write_text(json.dumps({HOSTILE: HOSTILE}))
    results = Results(experiment, rows, absent={"digits": HOSTILE}, failures=pd.DataFrame([failure | {"file": ""}]))
    text, _ = page_of(results, tmp_path)
    assert "onerror=alert(1)&gt;" in text
    tags = Tags(text).found
    assert not [tag for tag, attributes in tags if tag == "img" or "onerror" in attributes]
    scripts = text.split("<script")[1:]
    assert len([tag for tag, _ in tags if tag == "script"]) == len(scripts) == 4


def test_every_verdict_has_a_sign_beside_its_colour(rows: pd.DataFrame, tmp_path: Path) -> None:
    published = {"digits": {"A": {5: 4.5, 10: 9.0}, "B": {5: 9.0, 10: 6.6}}}
    results = make_results(rows, published={"misclassification_rate": published}, outputs=[{"table": 2}])
    text, section = page_of(results, tmp_path)
    (table,) = section["tables"]
    cells = {line["arm"]: line["cells"] for line in table["lines"]}
    assert [(c["published"], c["verdict"], c["sign"]) for c in cells["A"]] == [
        ("4.50", "too noisy", "?6"),
        ("9.00", "better", "+"),
    ]
    assert (cells["B"][1]["verdict"], cells["B"][1]["sign"]) == ("match", "=")
    assert re.search(r'class="badge too-noisy"><span aria-hidden="true">[?]6</span> too noisy', text)
    assert (cells["B"][0]["verdict"], cells["B"][0]["sign"]) == ("worse", "−")
    assert cells["A"][0]["best"] and cells["A"][0]["splits"] == 4
    assert re.search(r'class="badge worse"><span aria-hidden="true">−</span> worse', text)
    assert cells["A"][1] | {"mean": "2.00", "half": "0.00"} == cells["A"][1]
    assert "mean of 4 splits" in text and "no parameter was searched (fixed)" in text and "the legend" in text


def test_cells_that_failed_say_so(rows: pd.DataFrame, tmp_path: Path) -> None:
    lost = rows[(rows["arm"] != "B") | (rows["size"] != 5)]
    failure = {"arm": "B", "dataset": "digits", "size": 5.0, "repetition": 0, "selection": "fixed"}
    failures = pd.DataFrame([failure | {"message": "LinAlgError: singular", "file": "x"}])
    results = Results(make_experiment(), lost, failures=failures)
    text, section = page_of(results, tmp_path)
    states = {line["arm"]: [cell["state"] for cell in line["cells"]] for line in section["tables"][0]["lines"]}
    assert states["B"] == ["failed", "–"]
    assert "LinAlgError: singular" in text and "1 failed" in text


def test_absent_data_and_stand_ins_are_labelled(rows: pd.DataFrame, tmp_path: Path) -> None:
    experiment = make_experiment(
        datasets=[
            {"name": "digits", "stand_in": "MNIST", "split": {"train_per_class": [5, 10]}},
            {"name": "coil20", "split": {"train_per_class": 7}},
        ]
    )
    text, section = page_of(Results(experiment, rows, absent={"coil20": "not found in /data"}), tmp_path)
    assert "stand-in</span> for MNIST, not a reproduction" in text
    assert "data absent</span> not found in /data" in text
    assert section["summary"]["absent"] == ["coil20"]


def test_csv_of_a_table_has_the_numbers_of_its_cells(rows: pd.DataFrame) -> None:
    results = make_results(rows, published={"misclassification_rate": {"digits": {"A": {5: 4.5}}}})
    (table,) = result_tables(results)
    lines = list(csv.DictReader(io.StringIO(table_csv(table))))
    first = lines[0]
    assert (first["arm"], first["5"], first["5 splits"], first["5 published"]) == ("A", "4.5", "4", "4.5")
    assert first["5 verdict"] == "too noisy" and first["10 published"] == ""
    assert float(first["5 half interval"]) == pytest.approx(HALF, abs=1e-6)


def test_times_stand_in_their_own_tables(rows: pd.DataFrame) -> None:
    times = fake_rows({("A", "digits", 5): [0.5, 1.5]}, metric="fit_seconds")
    (table,) = time_tables(make_results(pd.concat([rows, times], ignore_index=True)))
    assert table.metric == "fit_seconds" and table.lines[0].entries[0].mean == 1.0
    assert time_tables(make_results(rows)) == []


def test_chosen_values_are_counted(tmp_path: Path) -> None:
    parts = [
        swept_rows("A", "digits", 5, {1: [5.0, 6.0]}, "extender.sigma", selection="train_only", candidate="{}"),
        swept_rows("A", "digits", 5, {2: [7.0]}, "extender.sigma", selection="train_only", candidate="{}").assign(
            repetition=2
        ),
    ]
    _, section = page_of(make_results(pd.concat(parts, ignore_index=True)), tmp_path)
    (row,) = section["chosen"]
    assert row["values"] == [
        {"text": "extender.sigma = 1", "splits": 2},
        {"text": "extender.sigma = 2", "splits": 1},
    ]


def test_curves_have_the_means_and_intervals_of_the_cells(rows: pd.DataFrame) -> None:
    ((output, curve),) = curves(make_results(rows))
    assert output.kind == "curve"
    spec = chart(curve)
    assert spec["arms"] == ["A", "B", "C"] and [panel["title"] for panel in spec["panels"]] == ["digits"]
    first = spec["panels"][0]["series"][0]
    assert first["x"] == [5.0, 10.0] and first["mean"] == [4.5, 2.0] and first["n"] == [4, 4]
    assert first["high"][0] - first["mean"][0] == pytest.approx(HALF, abs=1e-6)


def test_an_arm_that_does_not_depend_on_x_is_a_level() -> None:
    swept = swept_rows("A", "digits", 5, {1.0: [5.0, 6.0], 2.0: [3.0, 4.0]}, "extender.sigma")
    flat = fake_rows({("B", "digits", 5): [9.0, 9.0]})
    rows = pd.concat([swept, flat], ignore_index=True)
    results = make_results(
        rows,
        selection=["best"],
        datasets=[{"name": "digits", "split": {"train_per_class": [5]}}],
        outputs=[{"figure": 1, "x": "extender.sigma"}],
    )
    ((_, curve),) = curves(results)
    series = {chart(curve)["arms"][s["arm"]]: s for s in chart(curve)["panels"][0]["series"]}
    assert series["B"]["level"] and series["B"]["mean"] == [9.0]
    assert not series["A"]["level"] and series["A"]["x"] == [1.0, 2.0]


def test_iterations_are_drawn_without_being_asked_for(rows: pd.DataFrame) -> None:
    steps = pd.concat(
        [fake_rows({("A", "digits", 5): [9.0 - step, 8.0 - step]}, step=step) for step in (1, 2)],
        ignore_index=True,
    )
    outputs = [output for output, _ in curves(make_results(pd.concat([rows, steps], ignore_index=True)))]
    assert [output.kind for output in outputs] == ["curve", "trace"]


def test_rank_diagram_places_arms_by_rank_and_joins_groups() -> None:
    labels = ["one", "two", "three"]
    values = {(arm, label, 5): [v, v] for label in labels for arm, v in (("A", 1.0), ("B", 2.0), ("C", 3.0))}
    results = make_results(
        fake_rows(values),
        datasets=[{"name": "digits", "label": label, "split": {"train_per_class": [5]}} for label in labels],
    )
    (ranks,) = rankings(results)
    diagram = rank_diagram(ranks)
    assert [label["text"] for label in diagram["labels"]] == ["A  1.00", "B  2.00", "3.00  C"]
    assert [label["x"] for label in diagram["labels"]] == [x for x, _ in diagram["ticks"]]
    assert len(diagram["bars"]) == len(ranks.ranking.groups) and "over 3 data sets" in diagram["notes"][0]
    assert list(rankings(make_results(fake_rows({("A", "digits", 5): [1.0]})))) == []


@pytest.mark.parametrize("seed", range(3))
def test_quantised_coordinates_are_right_to_a_hundred_thousandth_of_their_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = rng.normal(size=(4, 30, 3)) * [1.0, 1e6, 1e-6] + [0, 5, 0]
    array[0, 3, 1] = np.nan
    codes, low, high = quantize(array)
    assert codes.dtype == np.uint16 and codes[0, 3, 1] == MISSING
    back = np.array(low) + codes / 65534 * (np.array(high) - low)
    error = np.abs(back - array) / (np.array(high) - low)
    assert np.nanmax(error) < 1e-5
    assert quantize(np.full((2, 1), 7.0))[1:] == ([7.0], [7.0])


def test_equal_arrays_are_stored_once_and_the_limit_is_seen() -> None:
    blocks = Blocks(60)
    first = blocks.put(np.arange(6).reshape(2, 3))
    assert blocks.put(np.arange(6).reshape(2, 3)) == first != blocks.put(np.arange(6))
    found = blocks.found[first]
    decoded = np.frombuffer(base64.b64decode(found["data"]), dtype="<u2").reshape(found["shape"])
    assert decoded.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not blocks.full
    wide = blocks.found[blocks.put(np.array([3, 70_000]))]
    assert np.frombuffer(base64.b64decode(wide["data"]), dtype="<u4").tolist() == [3, 70_000]
    blocks.reserve("x" * 60)
    assert blocks.full


def test_thumbnails_are_the_pictures_of_their_samples() -> None:
    digits = datasets.load("digits", per_class=3)
    sheet = sprite(digits, [2, 5, 7])
    assert sheet is not None and (sheet["width"], sheet["height"], sheet["samples"]) == (8, 8, [2, 5, 7])
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(sheet["uri"].split(",")[1]))))
    for place, sample in enumerate(sheet["samples"]):
        top, left = place // sheet["columns"] * 8, place % sheet["columns"] * 8
        tile = image[top : top + 8, left : left + 8]
        assert np.abs(tile / 255 - digits.X[sample].reshape(8, 8)).max() <= 0.5 / 255 + 1e-9
    unit = datasets.load("digits", per_class=3, normalize="unit")
    again = sprite(unit, [2])
    assert again is not None
    spread = np.asarray(Image.open(io.BytesIO(base64.b64decode(again["uri"].split(",")[1]))))
    assert spread.max() == 255
    assert sprite(datasets.load("swiss_roll"), [1]) is None


def test_thumbnails_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_module, "SHEET_BYTES", 64 * 5)
    sheet = sprite(datasets.load("digits", per_class=3), list(range(30)))
    assert sheet is not None and len(sheet["samples"]) == 5
    assert sheet["samples"][0] == 0 and sheet["samples"][-1] == 29


def test_big_colour_pictures_shrink() -> None:
    X = np.random.default_rng(0).uniform(size=(2, 90 * 60 * 3))
    sheet = sprite(SimpleNamespace(X=X, image_shape=(90, 60, 3)), [0, 1])  # type: ignore[arg-type]
    assert sheet is not None and (sheet["width"], sheet["height"]) == (21, 32)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("Fig. 7", {"Fig. 7"}),
        ("Figs. 5–8", {"Fig. 5", "Fig. 6", "Fig. 7", "Fig. 8"}),
        ("Tables 1-2 and Figure 7a", {"Table 1", "Table 2", "Fig. 7a"}),
        ("§4.3, Tables 1, 3 and 4", {"Table 1", "Table 3", "Table 4"}),
        ("§5.2", set()),
    ],
)
def test_sources_name_tables_and_figures(source: str, names: set[str]) -> None:
    assert mentioned(source) == names


def word_of(results: Results, name: str = "Table 1") -> str:
    return next(state.word for state in states_of(results) if state.name == name)


def test_states_of_a_table(rows: pd.DataFrame) -> None:
    outputs = [{"table": 1}]

    def published(**values: float) -> dict[str, Any]:
        return {"misclassification_rate": {"digits": {arm: {5: value} for arm, value in values.items()}}}

    assert word_of(make_results(rows, outputs=outputs)) == "shown"
    assert word_of(make_results(rows, outputs=outputs, published=published(C=10.5, B=10.5))) == "reproduced"
    assert word_of(make_results(rows, outputs=outputs, published=published(A=4.5, B=10.5))) == "undecided"
    assert word_of(make_results(rows, outputs=outputs, published=published(A=4.5, B=9.0))) == "differs"
    assert word_of(make_results(rows, outputs=outputs, published=published(A=4.5, B=40.0))) == "differs"
    part = rows[rows["size"] == 5]
    assert word_of(make_results(part, outputs=outputs, published=published(B=10.5))) == "partly run"
    assert word_of(make_results(rows.iloc[:0], outputs=outputs)) == "not run"
    absent = Results(make_experiment(outputs=outputs), rows.iloc[:0], absent={"digits": "not found"})
    assert word_of(absent) == "data absent"
    other = [{"name": "digits", "stand_in": "MNIST", "split": {"train_per_class": [5, 10]}}]
    assert word_of(make_results(rows, outputs=outputs, datasets=other)) == "stand-in"


def test_states_follow_the_claims_that_name_an_output(rows: pd.DataFrame) -> None:
    claims = [
        {"source": "Fig. 7a", "left": "A", "op": "<", "right": "B"},
        {"source": "Fig. 8", "left": "B", "op": "<", "right": "A"},
        {"source": "§5", "left": "B", "op": "<", "right": "C"},
    ]
    outputs = [{"figure": 7}, {"figure": 8}, {"figure": 9}]
    results = make_results(rows, outputs=outputs, claims=claims)
    words = {state.name: state.word for state in states_of(results)}
    assert words == {"Fig. 7": "reproduced", "Fig. 8": "differs", "Fig. 9": "shown", "Text": "undecided"}


def test_every_word_has_a_sign() -> None:
    assert len({sign for sign, _ in STATES.values()}) == len(STATES)
    assert len(set(CLAIM_SIGNS.values())) == len(CLAIM_SIGNS)


def test_data_sets_are_described(rows: pd.DataFrame, tmp_path: Path) -> None:
    facts = DataFacts("digits", "default", "ab" * 32, 1797, 64, 10, note="a caveat", class_names=("0",) * 10)
    _, section = page_of(Results(make_experiment(), rows, facts={"digits": facts}), tmp_path)
    (data,) = section["datasets"]
    assert data["size"] == "1797 samples, 64 features, 10 classes" and data["note"] == "a caveat"
