"""The interactive page of the grid in Chromium: filters, cells, pictures, failures; nothing of its data runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from manifold_oos.reporting.pages.grid_data import FACTS, as_bytes, picture_box, read_data
from manifold_oos.reporting.pages.grid_page import grid_page

ROOT = Path(__file__).parents[2]
HOSTILE = "umap + <img src=x onerror=window.hacked=1>"
Open = Callable[..., Any]


def made_up() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Two sets, three arms: one fails on a set, one has a name that would like to be code."""
    arms = {"nn": ("", "", False), HOSTILE: ("umap", "<img src=x onerror=window.hacked=1>", False),
            "umap": ("umap", "own", False), "umap, tuned": ("umap", "own", True)}  # fmt: skip
    rows: list[dict[str, Any]] = []
    for s, label in enumerate(["orl", "yale"]):
        for a, (arm, (embedding, extender, tuned)) in enumerate(arms.items()):
            row: dict[str, Any] = dict.fromkeys(FACTS, 0) | {"config": "looking", "dataset": label, "arm": arm}
            row |= {"embedding": embedding, "extender": extender, "tuned": tuned, "known": 90, "splits": 5}
            row |= {"misclassification_rate": 10.0 * a + s, "misclassification_rate ±": 1.5, "failed": ""}
            row |= {"area_under_rnx": 0.1 * a, "area_under_rnx ±": 0.01}
            rows.append(row)
    rows[1] |= {
        "misclassification_rate": np.nan,
        "area_under_rnx": np.nan,
        "splits": 0,
        "failed": "</script> no luck",
    }
    Y = np.random.default_rng(0).normal(size=(30, 2))
    low, high = picture_box(Y)
    points = as_bytes(Y, low, high)
    colors = as_bytes(np.zeros((15, 2)), np.zeros(2), np.ones(2))
    shown = {"known": [points], "arms": {"umap": [0, points]}, "colors": [colors, colors], "labelled": True}
    return pd.DataFrame(rows), {"looking": {"yale": shown}}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grid") / "grid.html"
    path.write_text(grid_page(*made_up()), encoding="utf-8")
    return path


def cell(page: Any, label: str) -> Any:
    return page.locator(f"[data-part=grid] button[title='{label}']")


def choose(page: Any, **wanted: str) -> None:
    for control, value in wanted.items():
        page.locator(f"[data-control={control}]").select_option(value=value)


def test_filters_change_what_the_cells_say(small: Path, open_page: Open) -> None:
    page = open_page(small)
    assert cell(page, "umap").inner_text() == "20.5"
    assert cell(page, "nn").inner_text() == "0.5"
    choose(page, set="yale")
    assert cell(page, "umap").inner_text() == "21"
    assert "yale, 90 known points, 5 splits" in page.locator("[data-part=about]").inner_text()
    choose(page, metric="area_under_rnx")
    assert cell(page, "umap").inner_text() == "0.2"
    choose(page, tuned="yes")
    assert cell(page, "umap, tuned").inner_text() == "0.3" and cell(page, "umap").count() == 0


def test_a_cell_tells_its_numbers_and_shows_its_picture(small: Path, open_page: Open) -> None:
    page = open_page(small)
    cell(page, "umap").click()
    told = page.locator("[data-part=cell]")
    assert "21" in told.inner_text() and "1.5" in told.inner_text()
    assert (
        told.locator("canvas").get_attribute("aria-label")
        == "umap on yale: 30 known points as rings, 30 new points as dots"
    )
    inked = page.evaluate(
        """() => {
          const canvas = document.querySelector('[data-part=cell] canvas');
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          return data.filter((value, i) => i % 4 === 3 && value > 0).length;
        }"""
    )
    assert inked > 1000
    told.locator("button", has_text="orl").click()
    assert page.locator("[data-control=set]").input_value() == "orl"
    assert "No picture" in told.inner_text()


def test_a_failure_is_a_cell_with_its_reason(small: Path, open_page: Open) -> None:
    page = open_page(small)
    choose(page, set="orl")
    broken = page.locator("[data-part=grid] button", has_text="✕")
    broken.click()
    assert "Failed: </script> no luck" in page.locator("[data-part=cell]").inner_text()
    choose(page, set="yale")
    assert page.locator("[data-part=grid] button", has_text="✕").count() == 0


def test_what_was_chosen_is_in_the_address(small: Path, open_page: Open) -> None:
    page = open_page(small)
    choose(page, set="yale", metric="area_under_rnx")
    cell(page, "umap").click()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert page.locator("[data-control=set]").input_value() == "yale"
    assert cell(page, "umap").get_attribute("aria-pressed") == "true"
    assert page.locator("[data-part=cell] canvas").count() == 1


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_committed_page_has_the_committed_numbers(open_page: Open, width: int, scheme: str) -> None:
    page = open_page(ROOT / "docs" / "grid.html", width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cells, pictures = read_data(ROOT / "results")
    choose(page, view="looking", set="digits", metric="area_under_rnx")
    lines = cells[(cells["config"] == "looking") & (cells["dataset"] == "digits") & ~cells["tuned"]]
    for arm, value in lines.set_index("arm")["area_under_rnx"].dropna().items():
        assert float(cell(page, str(arm)).inner_text()) == pytest.approx(value, rel=5e-3, abs=1e-9), arm
    cell(page, "umap + lle").click()
    assert page.locator("[data-part=cell] canvas").count() == 1 and "digits" in pictures["looking"]
    choose(page, view="truth", set="swiss_roll", metric="parameter_r2")
    value = cells[
        (cells["config"] == "truth") & (cells["dataset"] == "swiss_roll") & (cells["arm"] == "ltsa + gom")
    ]
    assert float(cell(page, "ltsa + gom").inner_text()) == pytest.approx(
        float(value["parameter_r2"].iloc[0]), rel=5e-3
    )
    data = json.loads(page.locator("#moos-data").text_content())
    assert {view["key"] for view in data["views"]} == set(cells["config"])
