"""scikit-learn's own checks over every estimator of the registry."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifold_oos.registry import KINDS, available

#: Check → why it makes no sense, by estimator name ("*" for all).
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


def expected_failures(estimator):
    """The checks that cannot hold for an estimator, with the reason."""
    return EXPECTED_FAILURES.get("*", {}) | EXPECTED_FAILURES.get(estimator.name, {})


@parametrize_with_checks(
    [cls() for kind in KINDS for cls in available(kind).values()], expected_failed_checks=expected_failures
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(estimator, check):
    check(estimator)
    assert estimator.name in available(type(estimator).__module__.split(".")[1])
