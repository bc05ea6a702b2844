"""Arithmetic on the numbers that the papers printed, and what became of their claims, for docs/findings.md.

``python benchmarks/forensics.py`` prints every block, ``--write`` puts them between the marks of the page. The
printed numbers come from the configs, ours from the committed tables; nothing is computed anew.
"""

import argparse
import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import pandas as pd

from manifold_oos.config.load import load_config
from manifold_oos.config.model import Experiment, PublishedNumber
from manifold_oos.reporting.pages.reproduction import configs, counted, gather
from manifold_oos.results.claims import ClaimResult
from manifold_oos.results.collect import Located, Results
from manifold_oos.results.judges import FAILS, HOLDS, NO_CLAIM, NO_DATA, NOT_JUDGED, UNDECIDED

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "findings.md"
#: Names of the sets of sparse coding as the paper has them, by config.
SPARSE = {
    "yale": "Yale",
    "orl": "ORL",
    "umist": "UMIST",
    "extended_yale": "Ext. Yale",
    "pf01": "PF01",
    "pie": "PIE",
}
PAPERS = {
    "sosi": "SOSI",
    "sparse_coding": "Sparse coding",
    "nsse": "NSSE",
    "coordinate_propagation": "Coordinate propagation",
    "lgrm": "LGRM",
}


def config(name: str) -> Experiment:
    return load_config(ROOT / "configs" / f"{name}.yaml")


def printed(name: str, source: str) -> list[PublishedNumber]:
    return [number for number in config(name).published_numbers() if number.source == source]


def is_mean(value: float, parts: int, decimals: int = 2) -> bool:
    """Whether a printed value can be k / parts in percent for a whole k, rounded or cut off after some decimals.

    Examples
    --------
    >>> is_mean(83.28, 700), is_mean(83.28, 1000)
    (True, False)
    """
    unit = 10**decimals
    shown = round(value * unit)
    about = Fraction(shown * parts, 100 * unit)
    for k in range(math.floor(about) - 1, math.ceil(about) + 2):
        exact = Fraction(100 * unit * k, parts)
        if shown in (math.floor(exact), math.floor(exact + Fraction(1, 2))):
            return True
    return False


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def sevenths() -> str:
    """How many values of Table 2 can be means of n whole percentages."""
    values = {
        title: [number.value for number in printed(f"sparse_coding/{name}", "Table 2")]
        for name, title in SPARSE.items()
    }
    groups = {"Yale, ORL, UMIST": ["Yale", "ORL", "UMIST"], "Ext. Yale, PF01, PIE": ["Ext. Yale", "PF01", "PIE"]}
    rows = []
    for n in range(2, 13):
        row: list[object] = [n]
        for titles in groups.values():
            mine = [value for title in titles for value in values[title]]
            row.append(f"{sum(is_mean(value, 100 * n) for value in mine)} of {len(mine)}")
        rows.append(row)
    return table(["mean of n whole percentages", *groups], rows)


def test_sizes(name: str, low: int, high: int, size: float, splits: int = 10) -> list[tuple[int, int, int]]:
    """Numbers of test images with how many of the printed values of Table 1 they can give, most first."""
    mine = [number.value for number in printed(f"sparse_coding/{name}", "Table 1") if number.size == size]
    found = [(sum(is_mean(value, splits * m) for value in mine), m, len(mine)) for m in range(low, high + 1)]
    best = max(count for count, _, _ in found)
    return [(m, count, total) for count, m, total in found if count == best]


def sizes() -> str:
    """Which numbers of test images the printed values of Table 1 allow, with ten splits."""
    rows = []
    for name, n, images in (("yale", 165, "165"), ("umist", 575, "575"), ("orl", 400, "400")):
        for size in (0.3, 0.5, 0.7):
            share = n * (1 - size)
            found = test_sizes(name, math.floor(share) - 3, math.ceil(share) + 3, size)
            fits = ", ".join(str(m) for m, _, _ in found)
            rows.append(
                [SPARSE[name], images, f"{size:.0%}", f"{share:g}", fits, f"{found[0][1]} of {found[0][2]}"]
            )
    return table(
        ["set", "images", "known", "test images by share", "test images that fit most values", "values that fit"],
        rows,
    )


def orl_half() -> str:
    """ORL at 50 %: for each number of splits of 200 test images the values that cannot be."""
    mine = [number for number in printed("sparse_coding/orl", "Table 1") if number.size == 0.5]
    rows = []
    for splits in range(7, 13):
        out = [f"{number.arm} {number.value:.2f}" for number in mine if not is_mean(number.value, splits * 200)]
        rows.append([splits, ", ".join(out) or "none"])
    return table(["splits of 200", "values that cannot be"], rows)


def poorest() -> str:
    """Where Table 1 itself has Linearization above another method."""
    rows = []
    for name, title in SPARSE.items():
        mine = printed(f"sparse_coding/{name}", "Table 1")
        for size in (0.3, 0.5, 0.7):
            at = {number.arm: number.value for number in mine if number.size == size}
            below = [f"{arm} {value:.2f}" for arm, value in at.items() if value < at["Linearization"]]
            if below:
                rows.append([title, f"{size:.0%}", f"{at['Linearization']:.2f}", ", ".join(below)])
    head = ["set", "known", "Linearization", "printed below it"]
    return f"In {len(rows)} of {3 * len(SPARSE)} cells Linearization is not the poorest:\n\n" + table(head, rows)


def best_of_table_1() -> str:
    """Where Table 1 itself does not have Sparse best."""
    found = []
    for name, title in SPARSE.items():
        for size in (0.3, 0.5, 0.7):
            at = {n.arm: n.value for n in printed(f"sparse_coding/{name}", "Table 1") if n.size == size}
            found += [
                f"{title} {size:.0%}: {arm} {value:.2f}, Sparse {at['Sparse']:.2f}"
                for arm, value in at.items()
                if value > at["Sparse"]
            ]
    return "\n".join(f"- {line}" for line in found)


def nearest_neighbours() -> str:
    """How often the column SPE of NSSE's tables is the column NN."""
    nn = {}
    for name in ("yaleb", "coil20", "orl", "fei", "robotics_csie", "mit_cbcl"):
        nn |= {(n.dataset, n.size): n.value for n in config(f"nsse/{name}").published_numbers() if n.arm == "NN"}
    gaps = [abs(n.value - nn[n.dataset, n.size]) for n in config("nsse/spe").published_numbers()]
    equal, near = sum(gap < 0.005 for gap in gaps), sum(0.005 <= gap <= 0.4 + 1e-9 for gap in gaps)
    cells = f"Of {len(gaps)} printed cells of SPE"
    return f"{cells} {equal} equal NN to two decimals and {near} more are within 0.4 points of it."


def times() -> str:
    """The reductions that §4.4 names, from its own tables and, where times are committed, from ours."""
    found = pd.read_csv(ROOT / "results" / "sparse_coding" / "timing" / "table.csv")
    found = found[(found["metric"] == "milliseconds_per_sample") & (found["arm"] == "Sparse")]
    ours = dict(zip(zip(found["dataset"], found["size"], strict=True), found["mean"], strict=True))
    numbers = [n for n in config("sparse_coding/timing").published_numbers() if n.arm == "Sparse"]
    theirs = {(n.dataset, 1241.0 if n.size is None else float(n.size)): n.value for n in numbers}

    def fall(of: dict[tuple[str, float], float], small: tuple[str, float], large: tuple[str, float]) -> str:
        return f"{100 * (1 - of[small] / of[large]):.1f} %" if {small, large} <= set(of) else "not committed"

    pairs = {
        "half of the features (D 200 to 100)": ("23 %", ("D=100", 1241.0), ("D=200", 1241.0)),
        "half of the known points (N 1200 to 600)": ("73.8 %", ("by N", 600.0), ("by N", 1200.0)),
    }
    rows = [[what, said, *(fall(of, *ends) for of in (theirs, ours))] for what, (said, *ends) in pairs.items()]
    return table(["less time with", "§4.4", "its tables", "ours"], rows)


def singular() -> str:
    """Printed errors of the linear methods beside the largest rank of the scatter within classes."""
    rows = []
    for name, title, classes in (("yaleb", "Yale B", 38), ("coil20", "COIL-20", 20)):
        errors: dict[float, dict[str, float]] = {}
        for number in config(f"nsse/{name}").published_numbers():
            if number.size is not None:
                errors.setdefault(number.size, {})[number.arm] = number.value
        for size, at in errors.items():
            rows.append(
                [title, f"{size:g}", int(classes * (size - 1)), *(f"{at[arm]:.2f}" for arm in ("LFDA", "LDE"))]
            )
    return table(["set", "per class", "C (n − 1)", "LFDA", "LDE"], rows)


def ridge() -> str:
    """NSSE beside linear methods with a ridge, by the paper's protocol, from the committed tables."""
    rows = []
    for name, title in (("yaleb", "Yale B"), ("coil20", "COIL-20"), ("orl", "ORL"), ("fei", "FEI (stand-in)")):
        found = pd.read_csv(ROOT / "results" / "nsse" / name / "table.csv")
        found = found[(found["protocol"] == "paper") & (found["dataset"] == name)]
        for size, block in found.groupby("size"):
            at = block.set_index("arm")
            linear = at.loc[[arm for arm in ("LDA ridge", "LFDA ridge", "LDE ridge") if arm in at.index], "mean"]
            if linear.empty or "NSSE" not in at.index:
                continue
            shown = at.loc["NSSE", "published"]
            rows.append(
                [
                    title,
                    f"{size:g}",
                    f"{shown:.2f}",
                    f"{at.loc['NSSE', 'mean']:.2f}",
                    f"{linear.idxmin()} {linear.min():.2f}",
                    int(at.loc["NSSE", "splits"]),
                ]
            )
    below = sum(float(str(row[4]).rsplit(" ", 1)[1]) < float(str(row[3])) for row in rows)
    head = ["set", "per class", "NSSE printed", "NSSE ours", "best linear method with a ridge", "splits"]
    return f"In {below} of {len(rows)} cells a linear method with a ridge is below our NSSE:\n\n" + table(
        head, rows
    )


def claims() -> str:
    """Every claim of the configs with the verdict of the committed results, corrected over its paper."""
    parts, counts = [], []
    found = gather(list(configs()), ROOT / "results", committed_alone)
    for key, title in PAPERS.items():
        mine = [
            (one.experiment.name, claim) for one in found if one.experiment.paper == key for claim in one.claims
        ]
        rows = [[claim.claim.source, f"{claim.text} ({name})", _verdict(claim)] for name, claim in mine]
        seen = counted([claim for _, claim in mine])
        absent = sum(seen[word] for word in (NO_DATA, NOT_JUDGED))
        stand_ins = sum(claim.stand_in for _, claim in mine)
        counts.append([title, seen[HOLDS], seen[FAILS], seen[UNDECIDED], seen[NO_CLAIM], stand_ins, absent])
        parts.append(f"### {title}\n\n" + table(["where", "claim", "verdict"], rows))
    head = ["paper", "hold", "fail", "undecided", "could not fail", "on stand-ins", "not computed"]
    return "\n\n".join([table(head, counts), *parts])


def committed_alone(experiment: Experiment, out: Path) -> Results | None:
    """What is committed of an experiment, whatever a store beside it has."""
    return Located(experiment, out, out / experiment.name).read_committed()


def _verdict(claim: ClaimResult) -> str:
    word = "not computed" if claim.verdict in (NO_DATA, NOT_JUDGED) else claim.verdict
    return word + (", stand-in" if claim.stand_in else ", counted with another" if claim.part_of else "")


BLOCKS: dict[str, Callable[[], str]] = {
    "sevenths": sevenths,
    "orl_half": orl_half,
    "sizes": sizes,
    "poorest": poorest,
    "best_of_table_1": best_of_table_1,
    "nearest_neighbours": nearest_neighbours,
    "times": times,
    "singular": singular,
    "ridge": ridge,
    "claims": claims,
}


def page(text: str) -> str:
    """The page with what every block says now between its marks."""
    for name, block in BLOCKS.items():
        marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
        if not marks.search(text):
            raise SystemExit(f"{PAGE}: no marks of {name}")
        said = block()
        text = marks.sub(lambda match, said=said: f"{match[1]}\n{said}\n\n{match[2]}", text)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/findings.md anew")
    if parser.parse_args().write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    for name, block in BLOCKS.items():
        print(f"## {name}\n\n{block()}\n")


if __name__ == "__main__":
    main()
