"""A real browser, a real small run, and the pages built from it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report_run import small_run

from manifold_oos.reporting.report import write_index, write_report

ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of a run with coordinates, one of a run without, one of both, and the front page."""
    kept = tmp_path_factory.mktemp("kept")
    place = small_run(kept)
    bare = small_run(tmp_path_factory.mktemp("bare"), keep=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOOS_DATA", str(kept / "no data here"))
        written = write_index(kept / "results")
        return {
            "index": written.index,
            "report": written.pages[0],
            "bare": write_report([bare], bare.folder / "report.html"),
            "both": write_report([bare, place], kept / "both.html"),
        }


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium of the system; tests are skipped where there is none, or fail when MOOS_REQUIRE_BROWSER=1."""
    path = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    sync_api = pytest.importorskip("playwright.sync_api") if path else None
    if path is None or sync_api is None:
        message = "no Chromium on this machine (Debian: apt-get install chromium): the pages were not looked at"
        if os.environ.get("MOOS_REQUIRE_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page; at the end no error was logged, no request left, and no string of the data became code."""
    opened = []

    def open_(path: Path, *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(20_000)
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: _allowed(request.url, errors))
        page.goto(path.as_uri())
        opened.append((context, page, errors))
        return page

    yield open_
    for context, page, errors in opened:
        assert errors == []
        assert page.evaluate("window.hacked") is None
        context.close()


def _allowed(url: str, errors: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        errors.append(f"request to {url}")
