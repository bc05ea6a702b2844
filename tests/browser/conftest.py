"""A real browser, a real small run, and the pages built from it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

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
