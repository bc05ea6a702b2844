"""Every limit on what is read from outside; each is checked before the memory or the time it saves is spent."""

MEMBERS = 200_000
"""Wanted members of an archive or folder: far more than any known set has."""
ENTRIES = 500_000
"""Members of any kind: the list alone takes seconds and hundreds of megabytes."""
MEMBER_BYTES = 1 << 26
"""One unpacked member: the largest photograph of any known set has 1 MB."""
ARCHIVE_BYTES = 1 << 33
"""All wanted members unpacked: several times the largest known set."""
EXPANSION = (200, 1 << 30)
"""A gzipped tar may unpack to so many times its size, or to so many bytes if that is more: beyond it is a bomb."""
DIRECTORY_BYTES = 1 << 24
"""The list of members in a zip, which is read at once: 64 bytes and more for each of MEMBERS."""
NAME_LENGTH = 1024
"""Characters of a member's path: more than any file system takes, and short enough for every pattern."""
EXTENDED_HEADER_BYTES = 1 << 16
"""A tar header for a long name, which is read at once: a name takes NAME_LENGTH."""
DIGITS = 9
"""Digits of a number in a file's name: views, angles and classes have four."""

PIXELS = 20_000_000
"""One image, before it is decoded: the largest of any known set has 0.3 million."""
VALUES = 1 << 28
"""Numbers of a data set in the end: 2 GiB as float64, and methods need several copies."""
PIXEL_BYTES = 1 << 32
"""Decoded images of an official set before its options shrink them: twice the largest."""
PROJECTION = 1 << 16
"""Directions of a random projection: more would blow the points up instead of projecting them."""

NPY_HEADER_BYTES = 10_000
"""Header of an array, which is read at once: that of a plain array has 100 bytes (the bound is NumPy's own)."""
MAT_BYTES = 1 << 28
"""A MATLAB file, packed and unpacked: three times the largest known, and reading takes several copies."""
LINE_LENGTH = 1 << 24
"""Characters of a line of a table, which is read at once: a million columns."""
TABLE_BYTES = 1 << 32
"""A CSV file: VALUES numbers of 16 characters."""
SHOWN = 10
"""Faults that one message lists; the others are counted."""

DOWNLOAD_BYTES = 1 << 32
"""A download whose size ``datasets/*.yaml`` does not state: several times the largest."""
PATTERN_LENGTH = 1000
"""Characters of a regular expression in a config: compiling a longer one can take minutes."""
PATTERN_SECONDS = 5.0
"""Time to search every name with it: usual patterns take milliseconds, nested repeats take years."""
