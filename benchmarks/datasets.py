"""Time the first and the second load of a data set: python benchmarks/datasets.py [NAME] [DATA_DIR].

The first load decodes and fills an empty cache, the second reads it; the second shall take under 5 % of the first.
"""

import os
import sys
import tempfile
import time

from manifold_oos.datasets import load

FORMS = {"as it is": {}, "25×25, unit": {"size": (25, 25), "normalize": "unit"}}


def seconds(name, data_dir, options):
    start = time.perf_counter()
    load(name, data_dir=data_dir, offline=True, **options).X.sum()  # a cached X is mapped: touch all of it
    return time.perf_counter() - start


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "yaleb"
    data_dir = sys.argv[2] if len(sys.argv) > 2 else None
    load("digits")
    for label, options in FORMS.items():
        with tempfile.TemporaryDirectory() as cache:
            os.environ["MOOS_CACHE"] = cache
            first = seconds(name, data_dir, options)
            second = min(seconds(name, data_dir, options) for _ in range(3))
        print(f"{name}, {label}: first {first:.3f} s, second {second:.4f} s, {100 * second / first:.2f} %")


if __name__ == "__main__":
    main()
