"""scikit-learn's own checks over every estimator of the registry."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifold_oos.contracts import expected_failures, scikit_learn_instance
from manifold_oos.registry import KINDS, available


@parametrize_with_checks(
    [scikit_learn_instance(cls) for kind in KINDS.values() for cls in available(kind).values()],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(estimator, check):
    check(estimator)  # raises where the estimator does not keep it
