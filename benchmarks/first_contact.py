"""What a first user gets: 5-NN accuracy of new points by every extender's defaults, beside other libraries.

``python benchmarks/first_contact.py`` prints, for each data set, d = 2 and d = classes − 1 after the supervised and
the plain Laplacian embedding, and d = 2 after Isomap; then how far each extender is behind the best. Other studies:
``--widths``, the normalised extender over its grid of widths and what leave-one-out chose; ``--peers``, umap-learn,
openTSNE and PaCMAP where installed; ``--novelty``, how well points of unknown classes and spoiled images are told
from others; ``--confidence``, whether labels are as often right as they are said to be.
``--write docs/first_contact.md`` makes the page of all of them but the widths. The rules were made looking at
seed 0; what is reported comes from other seeds.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from manifold_oos import datasets
from manifold_oos.datasets.base import Dataset
from manifold_oos.errors import ConfigError, DataError
from manifold_oos.extenders.normalized_rbf import FACTORS, NormalizedRBF
from manifold_oos.novelty import NOVEL
from manifold_oos.pipeline import OutOfSample
from manifold_oos.registry import available, find

#: Options of each set, known points, new points.
SETS: dict[str, tuple[dict, int, int]] = {
    "digits": ({"normalize": "unit"}, 1200, 400),
    "usps": ({"normalize": "unit"}, 1200, 400),
    "coil20": ({"size": [32, 32], "normalize": "unit"}, 720, 400),
    "orl": ({"size": [32, 32], "normalize": "unit"}, 200, 200),
}
EMBEDDINGS = ("suplap", "laplacian_eigenmaps")
PAGE = """# First contact

What a first user gets, with every method's defaults; written by
`python benchmarks/first_contact.py --write docs/first_contact.md`. Rows have unit length; *suplap 2* is the
supervised Laplacian embedding in two dimensions, *laplac* the plain one, M the number of classes. A dash: the
defaults do not allow so many dimensions, or the extender (`landmark`) serves Isomap alone. The rules behind the
defaults were made looking at seed 0. Times are the processor's.

Whatever is more than 5 points behind the best in the first table says why in its docstring (`moos describe NAME`).
`progressive` fits the embedding anew with the new points in it, so that the known ones move.

*Without labels*, ours is the default model after `laplacian_eigenmaps`; *our new points* are placed by
`normalized_rbf` among a library's coordinates of the known points, with a width chosen by the labels of those.
"""
Rows = dict[str, list[float]]
#: The tables of this run, as Markdown.
WRITTEN: list[str] = []


def sets(names: list[str]) -> Iterator[tuple[str, Dataset, int, int]]:
    for name in names:
        options, known, new = SETS[name]
        try:
            yield name, datasets.load(name, offline=True, **options), known, new
        except (ConfigError, DataError) as error:
            print(f"{name}: left out ({error})", flush=True)


def split(data: Dataset, known: int, new: int, seed: int) -> tuple[np.ndarray, ...]:
    """Known points, labels, new points, labels; every class has its share of the known ones."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(data))
    rank = np.empty(len(data), dtype=int)
    for label in range(data.n_classes):
        members = order[data.y[order] == label]
        rank[members] = np.arange(len(members)) * len(data) // len(members)
    order = order[np.argsort(rank[order], kind="stable")]
    first, second = order[:known], random.permutation(order[known:])[:new]
    return data.X[first], data.y[first], data.X[second], data.y[second]


def accuracy(Y: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray) -> float:
    return 100 * float(KNeighborsClassifier(5).fit(Y, y).score(Z, z))


def arms(data: Dataset, parts: tuple[np.ndarray, ...]) -> Iterator[tuple[str, int, object, np.ndarray]]:
    """Embedding, dimension, the fitted embedding of that dimension, its coordinates."""
    X, y, _, _ = parts
    for name, d in [*((name, d) for name in EMBEDDINGS for d in (2, data.n_classes - 1)), ("isomap", 2)]:
        embedding = find("embeddings", name)(n_components=d).fit(X, y)
        yield name, d, embedding, embedding.embedding_


def table(title: str, rows: Rows, columns: list[str], digits: int = 1) -> None:
    print(f"\n{title}")
    width, wide = max(map(len, rows)) + 2, max(map(len, columns)) + 2
    print(" " * width + "".join(f"{column:>{wide}}" for column in columns))
    lines = [f"## {title}", "", f"| | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    for name, values in rows.items():
        texts = ["–" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
        print(f"{name:<{width}}" + "".join(f"{text:>{wide}}" for text in texts), flush=True)
        lines.append(f"| {name} | {' | '.join(texts)} |")
    WRITTEN.append("\n".join(lines) + "\n")


def defaults(data: Dataset, known: int, new: int, seeds: list[int], only: list[str]) -> Rows:
    """The table of all extenders, which it returns; mean over the seeds, best first in the first column."""
    found: dict[str, dict[str, list[float]]] = {}
    columns: list[str] = []
    for seed in seeds:
        parts = X, y, X_new, y_new = split(data, known, new, seed)
        for name, d, embedding, Y in arms(data, parts):
            column = f"{name[:6]} {d}"
            columns += [column] * (column not in columns)
            for extender, cls in available("extenders").items():
                if not cls.supports(embedding) or (only and extender not in only):
                    continue
                method = cls()
                try:
                    method.fit(X, Y, y, X_new=X_new if cls.transductive else None, embedding=embedding)
                except ValueError as error:
                    print(f"{data.name}, {column}, {extender}: left out ({error})", flush=True)
                    continue
                Z = method.transform(X_new)
                value = accuracy(getattr(method, "training_embedding_", Y), y, Z, y_new)
                found.setdefault(extender, {}).setdefault(column, []).append(value)
    rows = {
        name: [float(np.mean(by_column.get(column, [np.nan]))) for column in columns]
        for name, by_column in found.items()
    }
    rows = dict(sorted(rows.items(), key=lambda item: -np.nan_to_num(item[1][0])))
    seeds_text = ", ".join(map(str, seeds))
    table(f"{data.name}: {known} known, {new} new, 5-NN accuracy (%), mean of seeds {seeds_text}", rows, columns)
    return rows


def behind(tables: list[Rows]) -> None:
    """How many points each extender is behind the best, the most over the data sets: the page's first table."""
    gaps: dict[str, list[list[float]]] = {}
    for rows in tables:
        best = np.nanmax(list(rows.values()), axis=0)
        for name, values in rows.items():
            gaps.setdefault(name, []).append((best - values).tolist())
    worst = {name: np.nanmax(values, axis=0).tolist() for name, values in gaps.items()}
    order = sorted(worst, key=lambda name: np.nanmax(worst[name]))
    columns = ["suplap 2", "suplap M−1", "laplac 2", "laplac M−1", "isomap 2"]
    table("Points behind the best extender, the most over the data sets", {n: worst[n] for n in order}, columns)
    WRITTEN.insert(0, WRITTEN.pop())


def widths(data: Dataset, known: int, new: int, seeds: list[int]) -> None:
    """The normalised extender at given widths, and at the one that leave-one-out on the known points takes."""
    rows: Rows = {}
    for seed in seeds:
        parts = X, y, X_new, y_new = split(data, known, new, seed)
        for name, d, _, Y in arms(data, parts):
            row = [accuracy(Y, y, NormalizedRBF(f).fit(X, Y).transform(X_new), y_new) for f in FACTORS]
            for labels in (y, None):
                chosen = NormalizedRBF().fit(X, Y, labels)
                row += [chosen.factor_, accuracy(Y, y, chosen.transform(X_new), y_new)]
            rows[f"seed {seed} {name[:6]} {d}"] = row
    heads = [*map(str, FACTORS), "by labels", "→", "by coordinates", "→"]
    table(f"{data.name}: accuracy (%) by factor of the width, and as leave-one-out chooses it", rows, heads)


def novelty(data: Dataset, known: int, new: int, seeds: list[int]) -> None:
    """ROC AUC of novelty, points that are unlike the known ones against usual new ones, and the shares above 99."""
    scores: dict[str, list[list[float]]] = {}
    for seed in seeds:
        random = np.random.default_rng(seed)
        for left_out in range(min(data.n_classes, 10)):
            rest = random.permutation(np.flatnonzero(data.y != left_out))
            size = min(known, len(rest) * 3 // 4)
            first, second = rest[:size], rest[size : size + new]
            model = OutOfSample(np.zeros((size, 1)), "lvm").fit(data.X[first])
            X = data.X[second]
            noise = X.std() * random.standard_normal(X.shape)
            odd = {
                "a class that is not known": data.X[data.y == left_out],
                "× 10": 10 * X,
                "× 2": 2 * X,
                "× 1.2": 1.2 * X,
                "noise, half of the spread": X + 0.5 * noise,
                "noise, a quarter": X + 0.25 * noise,
            }
            usual = model.novelty(X)
            for name, Z in odd.items():
                found = model.novelty(Z)
                truth = np.r_[np.zeros(len(usual)), np.ones(len(found))]
                auc = roc_auc_score(truth, np.r_[usual, found])
                shares = [100 * float((part > NOVEL).mean()) for part in (found, usual)]
                scores.setdefault(name, []).append([100 * auc, *shares])
    rows = {name: np.mean(values, axis=0).tolist() for name, values in scores.items()}
    table(f"{data.name}: novelty against usual new points", rows, ["ROC AUC (%)", "above 99 (%)", "usual ones (%)"])


def confidence(data: Dataset, known: int, new: int, seeds: list[int]) -> None:
    """Mean confidence of labels beside their accuracy: equal where probabilities are calibrated."""
    rows: Rows = {}
    for seed in seeds:
        X, y, X_new, y_new = split(data, known, new, seed)
        for name in EMBEDDINGS:
            for d in (2, data.n_classes - 1):
                model = OutOfSample({"name": name, "n_components": d}).fit(X, y)
                p = model.predict_proba(X_new)
                right = model.classes_[p.argmax(axis=1)] == y_new
                surest = p.max(axis=1)
                half = surest >= np.median(surest)
                values = [
                    surest.mean(),
                    right.mean(),
                    right[half].mean(),
                    right[~half].mean() if (~half).any() else 1,
                ]
                rows[f"seed {seed} {name[:6]} {d}"] = [100 * float(value) for value in values]
    heads = ["confidence", "accuracy", "surer half", "other half"]
    table(f"{data.name}: confidence of the default model (%)", rows, heads)


Placing = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]


def ours(X: np.ndarray, d: int) -> Placing:
    model = OutOfSample({"name": "laplacian_eigenmaps", "n_components": d}).fit(X)
    return model.embedding_, model.transform


def umap(X: np.ndarray, d: int) -> Placing:
    from umap import UMAP

    model = UMAP(n_components=d, random_state=0).fit(X)
    return model.embedding_, model.transform


def opentsne(X: np.ndarray, d: int) -> Placing:
    from openTSNE import TSNE

    model = TSNE(n_components=d, random_state=0).fit(X)
    return np.asarray(model), lambda Z: np.asarray(model.transform(Z))


def pacmap(X: np.ndarray, d: int) -> Placing:
    from pacmap import PaCMAP

    model = PaCMAP(n_components=d, random_state=0, save_tree=True)
    return model.fit_transform(X), lambda Z: model.transform(Z, basis=X)


PEERS = {
    "manifold_oos": ("manifold_oos", ours),
    "umap-learn": ("umap", umap),
    "openTSNE": ("openTSNE", opentsne),
    "PaCMAP": ("pacmap", pacmap),
}


def peers(data: Dataset, known: int, new: int, seeds: list[int]) -> None:
    """Without labels at d = 2: other libraries' defaults, and an extender of ours in their coordinates."""
    rows: Rows = {}
    for name, (module, run) in PEERS.items():
        if find_spec(module) is None:
            print(f"{name}: not installed, left out")
            continue
        values = []
        for seed in seeds:
            X, y, X_new, y_new = split(data, known, new, seed)
            started = time.process_time()
            Y, transform = run(X, 2)
            fitted = time.process_time()
            Z = transform(X_new)
            batch = time.process_time()
            one = transform(X_new[:1])
            single = time.process_time()
            moved = np.linalg.norm(one[0] - Z[0]) / np.linalg.norm(Y - Y.mean(axis=0), axis=1).max()
            by_us = NormalizedRBF().fit(X, Y, y).transform(X_new)
            values.append(
                [
                    accuracy(Y, y, Z, y_new),
                    accuracy(Y, y, by_us, y_new),
                    fitted - started,
                    1e3 * (batch - fitted) / len(X_new),
                    1e3 * (single - batch),
                    moved,
                ]
            )
        rows[name] = np.mean(values, axis=0).tolist()
    heads = ["accuracy", "our new points", "fit (s)", "point (ms)", "one alone (ms)", "one ≠ batch"]
    if rows:
        table(f"{data.name}: without labels at d = 2, other libraries", rows, heads, digits=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[2, 3])
    parser.add_argument("--extenders", nargs="*", default=[], help="only these")
    parser.add_argument("--widths", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--novelty", action="store_true")
    parser.add_argument("--confidence", action="store_true")
    parser.add_argument("--write", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    studies = {"peers": peers, "novelty": novelty, "confidence": confidence, "widths": widths}
    asked = [study for name, study in studies.items() if getattr(arguments, name)]
    if arguments.write:
        asked = [peers, novelty, confidence]
    tables = []
    with threadpool_limits(1):
        for _, data, known, new in sets(arguments.sets):
            if not asked or arguments.write:
                tables.append(defaults(data, known, new, arguments.seeds, arguments.extenders))
            for study in asked:
                study(data, known, new, arguments.seeds)
    if tables:
        behind(tables)
    if arguments.write:
        arguments.write.write_text("\n".join([PAGE, *WRITTEN]), encoding="utf-8")


if __name__ == "__main__":
    main()
