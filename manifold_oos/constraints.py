"""scikit-learn's declarative parameter constraints, which are private there: only this module knows where."""

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

__all__ = ["HasMethods", "Interval", "InvalidParameterError", "StrOptions", "validate_parameter_constraints"]
