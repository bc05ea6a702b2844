"""Embed points that arrive after a manifold was learned: methods, data and the experiment runner ``moos``."""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import :class:`OutOfSample` when it is first asked for: the command starts without scikit-learn."""
    if name == "OutOfSample":
        from manifold_oos.pipeline import OutOfSample

        return OutOfSample
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
