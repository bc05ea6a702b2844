"""The arithmetic on printed numbers, and the page that quotes it."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def forensics():
    return runpy.run_path(str(ROOT / "benchmarks" / "forensics.py"))


@pytest.mark.parametrize(
    ("value", "parts", "possible"),
    [
        (83.28, 700, True),  # 583/7 = 83.2857, cut off
        (83.29, 700, True),  # rounded
        (83.27, 700, False),
        (46.38, 2000, False),  # multiples of 0.05
        (46.38, 1600, True),  # 742/1600 = 46.375, rounded
        (46.38, 1800, True),  # 835/1800 = 46.3889, cut off
        (72.36, 1140, True),
        (100.0, 7, True),
        (0.0, 7, True),
    ],
)
def test_what_can_be_a_mean(forensics, value, parts, possible):
    assert forensics["is_mean"](value, parts) is possible


def test_table_2_is_of_sevenths_and_tenths(forensics):
    rows = {line.split(" | ")[0].strip("| "): line for line in forensics["sevenths"]().splitlines()}
    assert rows["7"].endswith("| 54 of 54 |") and rows["10"] == "| 10 | 54 of 54 | 8 of 54 |"


def test_test_sizes_are_those_of_575_and_162_images(forensics):
    found = forensics["test_sizes"]
    shares = {0.3: 402, 0.5: 287, 0.7: 172}
    assert [found("umist", m - 3, m + 4, size) for size, m in shares.items()] == [
        [(403, 6, 6)],
        [(288, 6, 6)],
        [(173, 6, 6)],
    ]
    assert found("yale", 110, 120, 0.3) == [(114, 6, 6)]
    assert found("yale", 45, 53, 0.7) == [(49, 5, 6)]


def test_the_page_says_what_the_script_prints(forensics):
    text = forensics["PAGE"].read_text(encoding="utf-8")
    assert forensics["page"](text) == text, "run benchmarks/forensics.py --write"
