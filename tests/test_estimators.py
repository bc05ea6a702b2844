"""scikit-learn's own checks over every estimator of the registry."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifold_oos.contracts import expected_failures, scikit_learn_instance
from manifold_oos.registry import KINDS, absent, available


def checked(cls):
    """Whether a method can be checked: its library is there, and its coordinates do not come from a file."""
    return not absent(cls) and not getattr(cls, "needs_index", False)


@parametrize_with_checks(
    [scikit_learn_instance(cls) for kind in KINDS.values() for cls in available(kind).values() if checked(cls)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(estimator, check):
    check(estimator)  # raises where the estimator does not keep it
