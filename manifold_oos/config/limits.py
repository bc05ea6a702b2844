"""How large a config may be: each limit is far above what a benchmark needs and far below what stops a machine."""

#: Bytes of one YAML file; the largest that ships has 30 kB, and a megabyte takes ten seconds to read.
FILE_BYTES = 400_000
#: Values of one file with its aliases written out; the largest that ships has 2,500.
NODES = 100_000
#: Lists and mappings inside each other; a config needs eight.
DEPTH = 40
#: Files that a config includes, directly or not.
INCLUDES = 20
#: Characters of a number; a double has 17 digits.
NUMBER_LENGTH = 60
#: Repetitions of a split, and of a cross-validation; papers have 5 to 50.
REPETITIONS = 10_000
#: Values of one grid, and combinations of the grids of an arm: each is a fit on every split.
GRID = 10_000
#: Points of a split that a config may ask for by number.
POINTS = 10_000_000
#: Lines of a plan (arm × split × protocol): a million rows are an hour of bookkeeping alone.
LINES = 1_000_000
#: Characters of the name of a config, of an arm and of a label: they become folder names and columns.
NAME = 120
