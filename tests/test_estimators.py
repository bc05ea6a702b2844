"""scikit-learn's own checks over every estimator of the registry."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifold_oos.contracts import expected_failures, scikit_learn_instance
from manifold_oos.registry import KINDS, available


def own(cls):
    """Whether a method is this project's: what other libraries or files give is not held to these checks."""
    return not (getattr(cls, "package", None) or getattr(cls, "needs_index", False))


@parametrize_with_checks(
    [scikit_learn_instance(cls) for kind in KINDS.values() for cls in available(kind).values() if own(cls)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(estimator, check):
    check(estimator)  # raises where the estimator does not keep it
