"""Embed points that arrive after a manifold was learned: methods, data and the experiment runner ``moos``."""

__version__ = "0.1.0"
