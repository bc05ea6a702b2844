"""Compiled kernels, imported on first use: numba takes its time to load."""
