"""scikit-learn's declarative parameter constraints, which are private there: only this module knows where."""

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    make_constraint,
)

__all__ = ["HasMethods", "Interval", "StrOptions", "make_constraint"]
