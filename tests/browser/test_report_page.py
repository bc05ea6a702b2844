"""The pages in Chromium: what a person sees and does, and that nothing leaves the page or runs from its data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from report_run import CLOSING, HOSTILE, KNOWN, NEW

Open = Callable[..., Any]


def show_viewer(page: Any) -> Any:
    viewer = page.locator("[data-viewer]")
    viewer.scroll_into_view_if_needed()
    page.wait_for_selector("[data-viewer][data-drawn=yes] .scatterlayer")
    return viewer


def traces(page: Any) -> dict[str, int]:
    """How many points each role has."""
    data = "document.querySelector('[data-part=plot]').data"
    counts: dict[str, int] = page.evaluate(f"Object.fromEntries({data}.map((t) => [t.name, t.x ? t.x.length : 0]))")
    return counts


def first_coordinates(page: Any) -> NDArray[np.floating]:
    """The first coordinate of every new point as it is drawn, in the order of the split."""
    roles = "document.querySelector('[data-part=plot]').data.slice(0, 2)"
    pairs = page.evaluate(f"{roles}.flatMap((t) => t.customdata.map((point, i) => [point, t.x[i]]))")
    return np.array([x for _, x in sorted(pairs)])


def choose(viewer: Any, **wanted: str) -> None:
    for control, label in wanted.items():
        viewer.locator(f"[data-control={control}]").select_option(label=label)


def test_viewer_shows_every_point_and_the_slider_takes_them_in(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    viewer = show_viewer(page)
    choose(viewer, dataset="turntable", arm="SOSI")
    counts = traces(page)
    assert counts["training"] == KNOWN
    assert counts["new"] + counts["new, not taken in yet"] == NEW
    drawn = page.evaluate("document.querySelectorAll('[data-part=plot] .scatterlayer .point').length")
    assert drawn == sum(counts.values())
    slider = viewer.locator("[data-control=step]")
    assert slider.get_attribute("max") == "4"
    slider.focus()
    page.keyboard.press("Home")
    first = traces(page)
    assert first["new, not taken in yet"] == NEW
    (path,) = (pages["report"].parent / "embeddings").glob("turntable-SOSI-*.npz")
    with np.load(path) as kept:
        wanted = kept["step_coordinates"][:, :, 0]
    taken, tolerance = [], 1e-3 * np.ptp(wanted)
    for step in range(5):
        taken.append(traces(page)["new"])
        assert np.abs(first_coordinates(page) - wanted[step]).max() < tolerance
        page.keyboard.press("ArrowRight")
    assert np.abs(wanted[1:] - wanted[:-1]).max(axis=1).min() > tolerance
    assert taken == sorted(taken) and taken[0] == 0 and taken[-1] == NEW
    assert "84 of 84 new points taken in" in viewer.locator("[data-part=step-text]").inner_text()


def test_coordinate_propagation_has_a_slider_and_other_arms_say_that_they_have_none(
    pages: dict[str, Path], open_page: Open
) -> None:
    page = open_page(pages["report"])
    viewer = show_viewer(page)
    choose(viewer, dataset="turntable", arm="CP")
    assert int(viewer.locator("[data-control=step]").get_attribute("max")) > 1
    assert viewer.locator("[data-control=dims][value='3']").is_disabled()
    choose(viewer, arm="RBF <b onmouseover=window.hacked=1>")
    assert viewer.locator("[data-control=step]").is_disabled()
    assert "no iterations" in viewer.locator("[data-part=step-text]").inner_text()
    viewer.locator("[data-control=dims][value='3']").check()
    page.wait_for_function("document.querySelector('[data-part=plot]').data[0].type === 'scatter3d'")
    assert traces(page)["training"] == KNOWN


def test_hover_shows_the_image_of_the_point(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    viewer = show_viewer(page)
    choose(viewer, dataset="turntable", arm="SOSI")
    thumb = viewer.locator("[data-part=thumb]")
    assert "data:image/png" not in thumb.evaluate("e => e.style.backgroundImage")
    viewer.locator(".scatterlayer .trace").nth(1).locator(".point").first.hover(force=True)
    page.wait_for_function(
        "document.querySelector('[data-part=thumb]').style.backgroundImage.includes('data:image/png')"
    )
    point = page.evaluate("document.querySelector('[data-part=plot]').data[1].text[0]")
    facts = viewer.locator("[data-part=facts]").inner_text()
    assert "Label given" in facts and "new" in facts
    assert thumb.get_attribute("aria-label").startswith("Picture of ")
    assert point.split("/")[0] in {"teapot", "coffee_pot", "mug", "striped_mug", "teacup", "jug"}
    # the part of the sheet in the thumbnail is a picture, not an empty area
    levels = page.evaluate(
        """async () => {
          const style = document.querySelector('[data-part=thumb]').style;
          const image = new Image();
          image.src = style.backgroundImage.slice(5, -2);
          await image.decode();
          const scale = parseFloat(style.backgroundSize) / image.width;
          const [x, y] = style.backgroundPosition.split(' ').map((part) => -parseFloat(part) / scale);
          const canvas = document.createElement('canvas');
          canvas.getContext('2d').drawImage(image, -x, -y);
          return [...new Set(canvas.getContext('2d').getImageData(0, 0, 16, 16).data)].length;
        }"""
    )
    assert levels > 20


def test_wrong_labels_are_marked_and_reached_by_keyboard(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    viewer = show_viewer(page)
    choose(viewer, dataset="turntable", arm="CP")
    marked = traces(page)["wrong label"]
    assert f"{marked} of {NEW} new points have a wrong label" in viewer.locator("[data-part=status]").inner_text()
    assert marked > 0
    viewer.locator("[data-control=next]").focus()
    page.keyboard.press("Enter")
    assert "(wrong)" in viewer.locator("[data-part=facts]").inner_text()
    viewer.locator("[data-control=wrong]").uncheck()
    assert traces(page)["wrong label"] == 0


def test_a_class_can_be_hidden(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    viewer = show_viewer(page)
    choose(viewer, dataset="turntable", arm="SOSI")
    button = viewer.locator("[data-part=legend] button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert traces(page)["training"] == KNOWN - 4


def test_names_from_files_are_text(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    assert page.title() == CLOSING
    assert page.locator("h1").inner_text() == CLOSING
    viewer = show_viewer(page)
    choose(viewer, dataset=f"own {HOSTILE}", arm="SOSI")
    assert HOSTILE in viewer.locator("[data-part=legend]").inner_text()
    viewer.locator(".scatterlayer .trace").nth(1).locator(".point").first.hover(force=True)
    page.wait_for_function(
        "document.querySelector('[data-part=thumb]').style.backgroundImage.includes('data:image/png')"
    )
    assert "<svg onload" in viewer.locator("[data-part=facts]").inner_text()
    assert page.locator("main img, main script, main [onerror], main [onload], main [onmouseover]").count() == 0


def test_tables_are_copied_as_csv_and_latex(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    page.locator("[data-format=csv]").first.click()
    page.wait_for_function("document.querySelector('[data-format=csv]').textContent === 'Copied'")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.splitlines()[0].startswith("arm,selection,4,4 half interval,4 splits,4 published,4 verdict")
    page.locator("[data-format=tex]").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('[data-format=tex]').textContent === 'Copied'")
    assert r"\toprule" in page.evaluate("navigator.clipboard.readText()")


def test_curves_are_drawn_and_arms_can_be_hidden(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    figure = page.locator("[data-chart]").first
    figure.scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart][data-drawn=yes]")
    count = "document.querySelector('[data-chart] .panel').data.length"
    before = page.evaluate(count)
    figure.locator("[data-part=legend] button").nth(2).click()
    assert page.evaluate(count) < before
    assert page.locator(".modebar-btn").count() > 0
    assert page.locator(".modebar-btn[data-title*=hare]").count() == 0


@pytest.mark.parametrize("name", ["report", "bare", "both", "index"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(
    pages: dict[str, Path], open_page: Open, name: str, scheme: str
) -> None:
    page = open_page(pages[name], width=390, color_scheme=scheme)
    for step in range(8):
        page.evaluate(f"scrollTo(0, {step} * innerHeight)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_papers_of_the_front_page_fit(pages: dict[str, Path], open_page: Open, width: int) -> None:
    page = open_page(pages["index"], width=width)
    wide = (
        "[...document.querySelectorAll('.matrix, .matrix dd')].filter((e) => e.scrollWidth > e.clientWidth).length"
    )
    assert page.locator(".matrix dt").count() > 1 and page.evaluate(wide) == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_the_page_draws_itself(pages: dict[str, Path], open_page: Open, width: int) -> None:
    bare = open_page(pages["report"], width=width, java_script_enabled=False)
    page = open_page(pages["report"], width=width)
    show_viewer(page)
    for step in range(12):
        page.evaluate(f"scrollTo(0, {step} * 700)")
        page.wait_for_timeout(60)
    page.wait_for_function("[...document.querySelectorAll('[data-chart]')].every((e) => e.dataset.drawn)")
    before = bare.locator("h3, figure, details").evaluate_all("found => found.map((e) => e.offsetTop)")
    after = page.locator("h3, figure, details").evaluate_all("found => found.map((e) => e.offsetTop)")
    assert np.abs(np.array(after) - before).max() <= 2


def test_controls_have_names_and_take_the_focus(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"])
    show_viewer(page)
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, select, input, [role=region]')].filter((e) => !(
          e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')
          || (e.tagName === 'BUTTON' && e.textContent.trim())
          || (e.labels && [...e.labels].some((label) => label.textContent.trim()))
        )).length"""
    )
    assert nameless == 0
    page.evaluate("document.body.focus()")
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate("document.activeElement.dataset.control || document.activeElement.dataset.copy || ''")
        )
    assert {"dataset", "arm", "dims", "axis0", "known", "step", "play"} <= seen


def test_a_page_without_coordinates_says_how_to_get_them(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["bare"])
    assert page.locator("[data-viewer]").count() == 0
    assert "--keep-embeddings" in page.locator(".empty").inner_text()


def test_the_front_page_leads_to_the_report_and_back(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["index"])
    assert (
        page.locator(".matrix a", has_text="✗").first.get_attribute("aria-label").startswith("sosi, Text: differs")
    )
    cell = page.locator(".matrix a[aria-label*='Table 1']").first
    assert "undecided" in cell.get_attribute("aria-label") and "?" in cell.inner_text()
    cell.click()
    page.wait_for_load_state()
    assert page.title() == CLOSING
    page.get_by_text("All experiments").click()
    page.wait_for_load_state()
    assert page.title() == "Experiments"


def test_paper_gets_every_figure_in_ink(pages: dict[str, Path], open_page: Open) -> None:
    page = open_page(pages["report"], color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_function("[...document.querySelectorAll('[data-chart]')].every((e) => e.dataset.drawn)")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".controls").is_hidden()
    assert page.evaluate("[...document.querySelectorAll('details')].every((e) => e.open)")
    assert page.evaluate("document.querySelector('[data-chart] .panel').layout.font.color") == "#000000"
