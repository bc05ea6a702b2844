"""A full SOSI run on COIL-20 (71 views, 32×32, 7 labelled, d = 25) beside Algorithm 1 word for word."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from manifold_oos.datasets import load
from manifold_oos.embeddings.supervised_laplacian import SupervisedLaplacian
from manifold_oos.extenders.sosi import SOSI

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from sosi_literal import sosi


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-class", type=int, default=7, help="labelled views of each object")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    data = load("coil20", size=(32, 32), normalize="unit", per_class=71)
    random = np.random.default_rng(options.seed)
    known = np.zeros(len(data.X), dtype=bool)
    for label in np.unique(data.y):
        known[random.choice(np.flatnonzero(data.y == label), options.per_class, replace=False)] = True
    X, y, X_new, truth = data.X[known], data.y[known], data.X[~known], data.y[~known]
    Y = SupervisedLaplacian(n_components=25).fit(X, y).embedding_

    seconds = []
    for _ in range(3):
        start = time.process_time()
        fitted = SOSI().fit(X, Y, y, X_new=X_new)
        seconds.append(time.process_time() - start)
    start = time.process_time()
    iterations, sigma = sosi(X, Y, y, X_new)
    literal = time.process_time() - start

    print("iteration  error %  literal %  labels that differ")
    for step, (labels, _) in zip(fitted.steps_, iterations, strict=True):
        errors = 100 * np.mean(step.labels != truth), 100 * np.mean(labels != truth)
        print(f"{step.number:9d}  {errors[0]:7.2f}  {errors[1]:9.2f}  {np.sum(step.labels != labels):18d}")
    print(f"largest relative difference of a scale: {np.max(np.abs(fitted.sigma_ / sigma - 1)):.1e}")
    ratio = literal / min(seconds)
    print(f"CPU seconds, one thread: SOSI {min(seconds):.2f}, literal {literal:.1f}: {ratio:.1f} times faster")


if __name__ == "__main__":
    main()
