"""What a spreadsheet would run when it opens a CSV file."""

import re
from typing import Any

#: What a spreadsheet takes for a formula.
FORMULA = re.compile(r"^'*[=+\-@]")


def guarded(cell: Any) -> Any:
    """Words that a spreadsheet would run get an apostrophe; numbers are not touched.

    Examples
    --------
    >>> guarded("=1+1"), guarded("NSSE"), guarded(-3.5)
    ("'=1+1", 'NSSE', -3.5)
    """
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell
