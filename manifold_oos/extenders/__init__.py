"""Extenders: how new points join an embedding. One file per method; see ``moos list extenders``."""
