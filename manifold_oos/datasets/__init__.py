"""Data sets: official files in, arrays out; see ``moos data list``."""
