"""The errors that a person caused and can mend: the command prints them as one line and exits with code 2."""


class MoosError(ValueError):
    """One line that says what is wrong, where, and what to do."""


class ConfigError(MoosError):
    """A config, an option or an argument is wrong."""


class DataError(MoosError):
    """A data file is missing, damaged or not what its loader expects."""
