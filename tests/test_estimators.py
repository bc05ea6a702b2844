"""scikit-learn's own checks over every estimator of the registry."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifold_oos.extenders.base import Extender
from manifold_oos.registry import KINDS, available

UNSEEN = "predicts or transforms points that fit never saw, which a transductive method refuses by contract"
MINUS_ONE = "uses −1 as a class, which semi-supervised methods read as unlabelled"
#: Check → why it makes no sense, by estimator name.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "gom": {"check_fit_idempotent": UNSEEN},
    "cp": {"check_fit_idempotent": UNSEEN},
    "gaussian_fields": {
        "check_fit_idempotent": UNSEEN,
        "check_classifiers_one_label": UNSEEN,
        "check_classifiers_classes": MINUS_ONE,
    },
    "mreg": {"check_classifiers_classes": MINUS_ONE},
}


def estimator(cls):
    """An instance; where class labels are needed beside coordinates, one that takes them from the coordinates."""
    if not (issubclass(cls, Extender) and cls.supervised):
        return cls()

    def fit(self, X, Y, y=None, *, X_new=None, embedding=None):
        if Y is not None and y is None:
            values = np.asarray(Y)
            y = values.reshape(len(values), -1)[:, 0] > 0
        return cls.fit(self, X, Y, y, X_new=X_new, embedding=embedding)

    labelled = type(f"Labelled{cls.__name__}", (cls,), {"fit": fit, "__module__": __name__})
    globals()[labelled.__name__] = labelled  # where pickle finds it
    return labelled()


def expected_failures(estimator):
    """The checks that cannot hold for an estimator, with the reason."""
    return EXPECTED_FAILURES.get(estimator.name, {})


@parametrize_with_checks(
    [estimator(cls) for kind in KINDS for cls in available(kind).values()], expected_failed_checks=expected_failures
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(estimator, check):
    check(estimator)
    assert estimator.__sklearn_tags__() is not None
