"""Fixtures of the reporting tests."""

import sys
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from reporting_fakes import fake_rows, make_experiment

from manifold_oos.experiment.config import Experiment


@pytest.fixture
def rows() -> pd.DataFrame:
    """Three arms at two sizes, four splits: A is clearly best, B and C differ by noise."""
    return fake_rows(
        {
            ("A", "digits", 5): [4.0, 5.0, 4.5, 4.5],
            ("B", "digits", 5): [10.0, 11.0, 10.5, 10.5],
            ("C", "digits", 5): [11.0, 10.0, 10.0, 11.0],
            ("A", "digits", 10): [2.0, 2.0, 2.0, 2.0],
            ("B", "digits", 10): [6.0, 7.0, 6.5, 6.5],
            ("C", "digits", 10): [7.0, 6.0, 6.0, 7.0],
        }
    )


@pytest.fixture
def experiment() -> Experiment:
    return make_experiment()
