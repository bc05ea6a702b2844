"""What more cores would do for the runs of a store: python benchmarks/cores.py results/store.sqlite.

From the seconds that each result took when it was computed, with one BLAS thread. On p cores a run takes at least
its whole divided by p, its longest result, and the driver's time for all of them (``benchmarks/engine.py --only
cost`` measures that); the largest of the three is printed, and how many cores it keeps busy. It is a bound from
below: several results make a trial, which runs on one core.
"""

import argparse
import sqlite3

CORES = (1, 2, 8, 64, 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", nargs="+")
    parser.add_argument("--overhead", type=float, default=1.0, help="milliseconds of the driver per result")
    parser.add_argument("--times", type=int, default=1, help="repetitions to come for each one that the store has")
    options = parser.parse_args()
    seconds = []
    for store in options.store:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            seconds += options.times * [row[0] for row in connection.execute("select seconds from costs")]
    whole, longest, driver = sum(seconds), max(seconds), options.overhead * len(seconds) / 1000
    print(
        f"{len(seconds):,} results, {whole:,.0f} s in all, the longest {longest:.1f} s, the driver {driver:.1f} s\n"
    )
    print("| cores | seconds | cores kept busy | bound by |\n|---|---|---|---|")
    for cores in CORES:
        bounds = {"the work": whole / cores, "the longest result": longest, "the driver": driver}
        bound = max(bounds, key=bounds.__getitem__)
        print(f"| {cores} | {bounds[bound]:,.1f} | {whole / bounds[bound]:.0f} | {bound} |")


if __name__ == "__main__":
    main()
