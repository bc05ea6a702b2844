"""Figures of an experiment: curves, points, ranks, error against cost."""
