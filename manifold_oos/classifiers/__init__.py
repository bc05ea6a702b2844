"""Classifiers: what label a point gets; see ``moos list classifiers``."""
