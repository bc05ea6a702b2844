"""How time and memory grow with N, Q, D and d for every method, beside the papers: python benchmarks/growth.py.

Processor time of one thread (the least of some repeats) and the peak that tracemalloc sees, on a drawn Swiss roll
with four classes. Exponents are the slopes of least squares in logarithms. The embedding or extender of a paper
that grows faster than its formula allows, by more than a tolerance for noise, is listed at the end (exit code 1).
Memory is also set against the formula that the method states (manifold_oos/costs.py). Other libraries' embeddings
are left out.
"""

import argparse
import multiprocessing
import resource
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from manifold_oos.contracts import needs_embedding, partner
from manifold_oos.costs import needed
from manifold_oos.embeddings.base import Embedding
from manifold_oos.registry import available

REVIEW = "van der Maaten, Postma & van den Herik 2009, Table 1"
OWN = "from its equations: the largest dense step"
#: Name → exponent of N in the time of a fit, the formula, and who says so.
FITS: dict[str, tuple[float, str, str]] = {
    "diffusion_maps": (3, "N³", REVIEW),
    "isomap": (3, "N³", REVIEW),
    "kpca": (3, "N³", REVIEW),
    "laplacian_eigenmaps": (2, "p N²", REVIEW),
    "ltsa": (2, "p N²", REVIEW),
    "lle": (2, "D N² + D N k³ + d N²", "Saul & Roweis 2003"),
    "landmark_isomap": (2, "k m N log N + m² N, neighbours D N²", "de Silva & Tenenbaum 2003"),
    "spline": (2, "p N²", OWN),
    "suplap": (2, "D N², sparse eigenproblem", OWN),
    "lpp": (2, "D N² + N D min(N, D)", OWN),
    "spectral_regression": (2, "D N², sparse eigenproblem", OWN),
    "lda": (1, "N D min(N, D)", OWN),
    "lde": (2, "D N²", OWN),
    "lfda": (2, "D N²", OWN),
    "fisher": (3, "N³", OWN),
    "iso_krr": (3, "N³", OWN),
    "kernel_spectral_regression": (3, "N³/3", OWN),
    "klpp": (3, "N³", OWN),
    "lgrm": (3, "N³", OWN),
    "nsse": (3, "N³ per step of σ", OWN),
}
EXTENDER_FITS: dict[str, tuple[float, str, str]] = {
    "cp": (2, "D (N + Q)², sparse", OWN),
    "gom": (2, "D (N + Q)², sparse", OWN),
    "geometric_harmonics": (3, "N³", OWN),
    "kernel_map": (3, "N³", OWN),
    "krr": (3, "N³/3", OWN),
    "landmark": (3, "pseudo-inverse of N × d, geodesics N²", OWN),
    "laplacian_pyramids": (2, "N² per level", OWN),
    "linear": (1, "N D min(N, D)", OWN),
    "lle": (1, "N D", OWN),
    "lvm": (1, "N D", OWN),
    "mlp": (1, "N D h per step", OWN),
    "normalized_rbf": (3, "N³/3", OWN),
    "nystrom": (2, "D N² for the median", OWN),
    "progressive": (3, "(N + Q)³", OWN),
    "random_features": (2, "N² M up to 2 M points, then N M²", OWN),
    "rbf": (3, "N³/3", OWN),
    "sosi": (3, "(N + Q)³/3", OWN),
    "sparse": (1.1, "N log N, sorting", OWN),
}
NEIGHBOR_GRAPHS = (
    "laplacian_eigenmaps",
    "landmark_isomap",
    "lle",
    "lpp",
    "ltsa",
    "spectral_regression",
    "spline",
    "suplap",
)
#: Methods of a kernel matrix, and their form for many points.
CENTERS: dict[str, dict[str, object]] = {
    "kpca": {"n_centers": 1000},
    "krr": {"n_centers": 1000},
    "lgrm": {"n_centers": 1000},
    "nsse": {"n_centers": 1000, "n_neighbors": 10},
    "rbf": {"n_centers": 1000},
}
#: Exponents of a transform in N, Q, D, d; sparse coding in N and D from the times of Tables 5 and 6 of its paper.
TRANSFORM = {"N": 1.0, "Q": 1.0, "D": 1.0, "d": 1.0}
SPARSE = {"N": 1.93, "Q": 1.0, "D": 1.0, "d": 1.0}
#: Exponent of D in the time of a fit where it is not 1: N D min(N, D), or an eigenproblem of D × D.
IN_FEATURES = {"lda": 2, "lpp": 2, "spectral_regression": 2, "linear": 2, "lde": 3, "lfda": 3}
#: Sizes, seconds and MiB by kind and method.
Curves = dict[str, dict[str, tuple[Sequence[float], Sequence[float], Sequence[float]]]]
#: How far a fitted exponent may lie above: sizes are small and the machine is not quiet.
TOLERANCE = 0.3
#: A method with at most so many bytes at the largest of the large sizes is measured at those.
SMALL = 100e6


def roll(n: int, D: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    t, height = random.uniform(1.5 * np.pi, 4.5 * np.pi, n), random.uniform(0, 20, n)
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((D, 3)))[0]
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)]) @ basis.T
    return X + 0.01 * random.standard_normal((n, D)), (t // 3).astype(int)


def seconds(run: Callable[[], object]) -> float:
    """The least processor time of some runs."""
    times: list[float] = []
    while not times or (sum(times) < 0.3 and len(times) < 20):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def peak(run: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def fitting(cls: type, n: int, D: int, d: int, Q: int = 100) -> tuple[object, Callable[[], object], np.ndarray]:
    """A method, a fit of it on n points of D features, and new points."""
    X, y = roll(n + Q, D)
    if issubclass(cls, Embedding):
        method = cls(n_components=d)
        return method, lambda: method.fit(X[:n], y[:n]), X[n:]
    method = cls()
    embedding = partner(method).set_params(n_components=d).fit(X[:n], y[:n]) if needs_embedding(method) else None
    X_new = X[n:] if method.transductive else None
    coordinates = (
        X[:n] @ np.random.default_rng(1).standard_normal((D, d)) if embedding is None else embedding.embedding_
    )
    return method, lambda: method.fit(X[:n], coordinates, y[:n], X_new=X_new, embedding=embedding), X[n:]


def measure(cls: type, at: dict[str, int]) -> tuple[float, float]:
    """Seconds and MiB of a fit."""
    _, run, _ = fitting(cls, at["N"], at["D"], at["d"], at["Q"])
    return seconds(run), peak(run) / 2**20


def fits(kind: str, table: dict[str, tuple[float, str, str]], quick: bool, curves: Curves) -> list[str]:
    """Print a row for each method; give those that grow faster than their paper says."""
    faster = []
    print(f"\n### Fit of {kind}: seconds and MiB at the largest N, and exponents in each size\n")
    print("| method | N | seconds | N | D | d | Q | paper | MiB | N | D | d | Q | taken / stated | source |")
    print("|---" * 15 + "|")
    for name, cls in available(kind).items():
        if name not in table:
            continue
        method = cls()
        large = (500, 1000, 2000) if quick else (1000, 2000, 4000)
        small = (150, 300, 600) if quick else (300, 600, 1200)
        sizes = {"N": large if (needed(method, N=large[-1], D=20, d=2, Q=100) or 0) < SMALL else small}
        sizes |= {"D": (20, 40, 80), "d": (1, 2, 3)}
        if getattr(method, "transductive", False):
            sizes["Q"] = (100, 200, 400)
        base = {"N": sizes["N"][1], "D": 20, "d": 2, "Q": 100}
        fitting(cls, 60, 20, 2)[1]()
        paper, time_exponents, memory_exponents = table[name], dict.fromkeys("NDdQ", ""), dict.fromkeys("NDdQ", "")
        for key, values in sizes.items():
            times, peaks = zip(*(measure(cls, base | {key: value}) for value in values), strict=True)
            exponent = slope(values, times)
            time_exponents[key], memory_exponents[key] = f"{exponent:.1f}", f"{slope(values, peaks):.1f}"
            limit = paper[0] if key in "NQ" else IN_FEATURES.get(name, 1) if key == "D" else 1
            if exponent > limit + TOLERANCE:
                faster.append(f"{name}: fit ~ {key}^{exponent:.1f}, paper {paper[1]}")
            if key == "N":
                last = times[-1], peaks[-1]
                curves[kind][name] = values, times, peaks
        stated = needed(method, N=sizes["N"][-1], D=20, d=2, Q=100 if "Q" in sizes else 0) or np.nan
        print(
            f"| {name} | {sizes['N'][0]}–{sizes['N'][-1]} | {last[0]:.3g} | {' | '.join(time_exponents.values())} |"
            f" {paper[1]} | {last[1]:.1f} | {' | '.join(memory_exponents.values())} |"
            f" {last[1] * 2**20 / stated:.2f} | {paper[2]} |",
            flush=True,
        )
    return faster


def draw(curves: Curves, file: str) -> None:
    """Seconds and MiB of fits against N."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 9), layout="constrained")
    for row, (kind, methods) in zip(figure.subplots(2, 2), curves.items(), strict=True):
        for axes, unit, which in zip(row, ("CPU seconds", "MiB"), (1, 2), strict=True):
            for place, (name, values) in enumerate(methods.items()):
                line = ("-", "--", ":")[place // 10]
                axes.loglog(values[0], values[which], line + "o", markersize=3, label=name, color=f"C{place % 10}")
            axes.set(xlabel="N", ylabel=unit, title=f"fit of {kind}")
            axes.set_xticks([300, 600, 1200, 2000, 4000], ["300", "600", "1,200", "2,000", "4,000"])
            axes.set_xticks([], minor=True)
        row[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    figure.savefig(file, dpi=110)


def transforms(quick: bool) -> list[str]:
    """Print the exponents of transforms; give those that grow faster than linearly, or than the paper."""
    faster = []
    step = 1 if quick else 2
    base = {"N": 200 * step, "Q": 500 * step, "D": 20, "d": 2}
    print(f"\n### Transform of extenders (a level of pyramids): exponents, other sizes fixed at {base}\n")
    print("| extender | µs per point | N | Q | D | d |")
    print("|---|---|---|---|---|---|")
    for name, cls in available("extenders").items():
        if cls.transductive:
            continue
        limit = SPARSE if name == "sparse" else TRANSFORM
        exponents, start = {}, 0.0
        for key in base:
            sizes = [base[key] * factor for factor in (1, 2, 4)]
            times = []
            for size in sizes:
                at = base | {key: size}
                method, run, X_new = fitting(cls, at["N"], at["D"], at["d"], at["Q"])
                run()
                method.transform(X_new[:2])
                levels = int(np.max(getattr(method, "levels_", 1)))  # of Laplacian pyramids: more for denser points
                times.append(seconds(lambda m=method, X=X_new: m.transform(X)) / levels)
            exponents[key] = slope(sizes, times)
            start = times[0] / base["Q"]
            if exponents[key] > limit[key] + TOLERANCE:
                faster.append(f"{name}: transform ~ {key}^{exponents[key]:.1f}, at most {limit[key]:g} expected")
        print(
            f"| {name} | {1e6 * start:.3g} | " + " | ".join(f"{e:.1f}" for e in exponents.values()) + " |",
            flush=True,
        )
    return faster


def _child(name: str, n: int, D: int, parameters: dict[str, object], pipe: Connection) -> None:
    """Seconds, bytes taken and stated, and recall of a fit with two coordinates, after a small one for imports."""
    X, y = roll(n, D)
    cls = {**available("extenders"), **available("embeddings")}[name]
    own = issubclass(cls, Embedding)
    method = cls(n_components=2, **parameters) if own else cls(**parameters)
    Y = np.column_stack([y, X[:, 0]]).astype(float)

    def fit(some: int) -> None:
        method.fit(X[:some], y[:some]) if own else method.fit(X[:some], Y[:some], y[:some])

    fit(2000)
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    start = time.process_time()
    fit(n)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - resident
    recall = getattr(method, "neighbor_recall_", None)
    pipe.send((time.process_time() - start, taken, needed(method, N=n, D=D, d=2), recall))


def large(n: int, names: Sequence[str], minutes: float) -> None:
    """Methods that need no N × N matrix at many points, each in a process of its own, whose whole memory counts."""
    context = multiprocessing.get_context("fork")
    print("| method | N | D | form | recall | CPU seconds | MiB | stated MiB |")
    print("|---" * 8 + "|")
    for name in names:
        forms = [CENTERS.get(name, {})]
        if name in NEIGHBOR_GRAPHS and name != "suplap":
            forms.append({"neighbors": "approximate"})
        for D, form in [(3, forms[0]), *((50, form) for form in forms)]:
            receive, send = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(name, n, D, form, send))
            process.start()
            send.close()
            try:
                ended = receive.poll(60 * minutes)
                spent, taken, stated, recall = receive.recv() if ended else (0, 0, 0, None)
                share = "" if recall is None else f"{recall:.4f}"
                told = f"{share} | {spent:.1f} | {taken / 2**20:.0f} | {stated / 2**20:.0f}"
                told = told if ended else f" | not within {minutes:g} minutes | | "
            except EOFError:
                told = " | failed | | "
            process.kill()
            process.join()
            shown = ", ".join(f"{key}={value}" for key, value in form.items()) or "default"
            print(f"| {name} | {n:,} | {D} | {shown} | {told} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="half the sizes")
    parser.add_argument(
        "--large", type=int, metavar="N", help="only methods that need no N × N matrix, at N points"
    )
    many = (*NEIGHBOR_GRAPHS, *CENTERS)
    parser.add_argument("--methods", nargs="+", choices=many, default=many, help="of --large")
    parser.add_argument("--minutes", type=float, default=30, help="for one fit of --large")
    parser.add_argument("--figure", metavar="PNG", help="draw the fits")
    options = parser.parse_args()
    quick = options.quick
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    if options.large:
        available("embeddings")  # imports are no memory of a fit
        large(options.large, options.methods, options.minutes)
        return 0
    curves: Curves = {"embeddings": {}, "extenders": {}}
    faster = fits("embeddings", FITS, quick, curves) + fits("extenders", EXTENDER_FITS, quick, curves)
    faster += transforms(quick)
    if options.figure:
        draw(curves, options.figure)
    print("\nFaster-growing than the paper: " + ("; ".join(faster) or "none"))
    return int(bool(faster))


if __name__ == "__main__":
    raise SystemExit(main())
