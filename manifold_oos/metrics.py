"""What is measured on a split: labels against the truth, coordinates against a batch or true parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manifold_oos.arrays import Array
from manifold_oos.placement import MOST_ALONE, PLACEMENT, evenly, novelty_auc, shift

#: A squared distance below this share of the squares that it is the difference of is not taken from them.
CANCELLED = 1e-5
#: Parameters of a data set that are angles in degrees: judged by their cosine and sine.
ANGLES = frozenset({"angle", "azimuth", "elevation"})


@dataclass(frozen=True)
class Metric:
    """A number that a table can show, by the word of configs and ``moos list metrics``.

    ``needs`` says what it is computed from: predicted labels, a batch embedding, true parameters of the new or of
    the known points, a scalar that the method reports, the clock, points with their coordinates (``inputs``),
    new points placed one by one (``alone``), points of another kind (``foreign``), or what a fitted model takes
    (``size``); ``per_step`` whether also for each iteration of a method that reports them; ``label`` and ``unit``
    name it on axes and in captions.
    """

    name: str
    description: str
    better: Literal["lower", "higher"]
    needs: Literal["labels", "batch", "parameters", "known", "scalar", "time", "inputs", "alone", "foreign", "size"]
    compute: Callable[["Outcome"], float] | None = field(default=None, repr=False)
    per_step: bool = False
    label: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Outcome:
    """What an arm said of the n_new new points (labels, coordinates, scalars), and the truth.

    ``batch`` are their coordinates when all points are embedded together, ``parameters`` their true parameters;
    ``known`` and ``known_parameters`` are those of the known points. ``X_known`` and ``X_new`` are the points
    themselves; ``alone`` the coordinates of ``evenly(n_new, MOST_ALONE)`` new points, each placed by itself;
    ``foreign`` those of the points that ``chimeras`` makes. Without an embedding the coordinates are the features.
    ``once`` gives what a function makes, and may keep it by a name for other metrics of the same coordinates.
    """

    truth: NDArray | None = None
    labels: NDArray | None = None
    coordinates: Array | None = None
    batch: Array | None = None
    parameters: Mapping[str, Array] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    known: Array | None = None
    known_parameters: Mapping[str, Array] = field(default_factory=dict)
    X_known: Array | None = None
    X_new: Array | None = None
    alone: Array | None = None
    foreign: Array | None = None
    once: Callable[[str, Callable[[], Any]], Any] = lambda name, make: make()


def misclassification_rate(truth: ArrayLike, labels: ArrayLike) -> float:
    """Percentage of wrong labels.

    Parameters
    ----------
    truth, labels : array-like of shape (n,)
        True and predicted labels.

    Returns
    -------
    float
        In percent.

    Examples
    --------
    >>> misclassification_rate([0, 1, 1, 2], [0, 1, 2, 2])
    25.0
    """
    return float(100 * np.mean(np.asarray(truth) != np.asarray(labels)))


def procrustes(Y: Array, target: Array, *, scale: bool) -> tuple[Array, Array]:
    """Centre two configurations and turn (and scale) the first onto the second.

    Minimises ‖s Y R − T‖_F over orthogonal R and, if asked, s ≥ 0, for centred Y and T: with Yᵀ T = U Σ Vᵀ,
    R = U Vᵀ and s = tr Σ / ‖Y‖². The narrower of the two is padded with zeros.

    Parameters
    ----------
    Y, target : ndarray of shape (n, d), (n, e)
        Configurations of the same points.
    scale : bool
        Whether a common factor is fitted too.

    Returns
    -------
    aligned, centred : ndarray of shape (n, max(d, e))
        The first configuration after alignment, the second after centring.
    """
    width = max(Y.shape[1], target.shape[1])
    Y, target = (Z - Z.mean(axis=0) for Z in (Y, target))
    Y, target = (Z if Z.shape[1] == width else np.pad(Z, ((0, 0), (0, width - Z.shape[1]))) for Z in (Y, target))
    # With fewer points than dimensions YᵀT is singular; in the span of the rows the problem is small and regular.
    (_, A), (Q, B) = (np.linalg.qr(Z.T) if len(Z) < width else (None, Z.T) for Z in (Y, target))
    try:
        U, sigma, Vt = np.linalg.svd(A @ B.T)
    except np.linalg.LinAlgError:  # divide and conquer may not converge where singular values coincide
        from scipy.linalg import svd

        U, sigma, Vt = svd(A @ B.T, lapack_driver="gesvd")
    turned = A.T @ (U @ Vt) if Q is None else A.T @ (U @ Vt) @ Q.T
    norm = float(np.sum(Y**2))
    factor = float(sigma.sum()) / norm if scale and norm > 0 else 1.0
    return factor * turned, target


def alignment(Y: Array, batch: Array) -> tuple[float, float]:
    """The two distances to the batch coordinates after Procrustes alignment, from one decomposition.

    With both centred and ν = tr Σ, the nuclear norm of Yᵀ Ŷ: min_R ‖Y R − Ŷ‖² = ‖Y‖² − 2 ν + ‖Ŷ‖², and with a
    common scale min ‖s Y R − Ŷ‖² = ‖Ŷ‖² − ν² / ‖Y‖². Next to nothing left over is measured on the aligned points
    instead, where no digits are lost.

    Parameters
    ----------
    Y, batch : ndarray of shape (n, d)
        Extended and batch coordinates of the same points.

    Returns
    -------
    error : float
        min_R ‖Y R − Ŷ‖_F / ‖Ŷ‖_F: translation and rotation (with reflection) are removed, scale is not, as the
        sparse-coding paper words it (§4.3).
    statistic : float
        min ‖s Y R − Ŷ‖² / ‖Ŷ‖², in [0, 1]; its size matches Table 3 of that paper, which the wording does not.
    """
    from scipy.linalg import qr, svdvals  # here: configs are checked against METRICS, and compute nothing

    Y, target = Y - Y.mean(axis=0), batch - batch.mean(axis=0)
    size, norm = float(np.sum(target**2)), float(np.sum(Y**2))
    if size == 0:
        return float("nan"), float("nan")
    # With fewer points than dimensions triangular factors have all of the singular values.
    A, B = (qr(Z.T, mode="r")[0][: len(Z)] if len(Z) < Z.shape[1] else Z.T for Z in (Y, target))
    nuclear = float(svdvals(A @ B.T).sum())
    left = [(norm - 2 * nuclear + size) / size, 1 - nuclear**2 / norm / size if norm > 0 else 1.0]
    if min(left) < CANCELLED:
        for i, scale in enumerate((False, True)):
            aligned, centred = procrustes(Y, target, scale=scale)
            left[i] = float(np.sum((aligned - centred) ** 2)) / size
    return float(np.sqrt(left[0])), left[1]


def embedding_error(Y: Array, batch: Array, align: Literal["none", "signs", "procrustes"] = "signs") -> float:
    """LGRM's embedding error ‖Y − Y'‖²_F / n, each coordinate centred and of unit norm.

    Parameters
    ----------
    Y, batch : ndarray of shape (n, d)
        Extended and batch coordinates of the same points.
    align : {"none", "signs", "procrustes"}
        Whether coordinates are compared as they are, each with its better sign, or after the best rotation.

    Returns
    -------
    float
        0 for equal coordinates.
    """
    Y, batch = _unit_columns(Y), _unit_columns(batch)
    if align == "signs":
        Y = Y * np.where(np.sum(Y * batch, axis=0) < 0, -1.0, 1.0)
    elif align == "procrustes":
        Y, batch = procrustes(Y, batch, scale=False)
    return float(np.sum((Y - batch) ** 2) / len(Y))


def true_columns(parameters: Mapping[str, Array]) -> Array:
    """True parameters as columns, angles (in degrees) as cosine and sine.

    Parameters
    ----------
    parameters : mapping of str to ndarray of shape (n,)
        As a data set has them.

    Returns
    -------
    ndarray of shape (n, q)
        Columns that do not vary are left out.
    """
    columns = []
    for name, values in parameters.items():
        if name in ANGLES:
            columns += [np.cos(np.radians(values)), np.sin(np.radians(values))]
        else:
            columns.append(np.asarray(values, dtype=float))
    table = np.column_stack(columns) if columns else np.empty((0, 0))
    return table[:, np.ptp(table, axis=0) > 1e-9] if table.size else table


def parameter_fit(Y: Array, columns: Array, how: Literal["affine", "similarity"]) -> Array:
    """The true parameters as predicted from coordinates by the best affine map, or the best similarity.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Coordinates.
    columns : ndarray of shape (n, q)
        True parameters.
    how : {"affine", "similarity"}
        A similarity has one scale for all coordinates, so a squashed picture does not fit.

    Returns
    -------
    ndarray of shape (n, q)
        The fit.
    """
    if how == "similarity":
        aligned, _ = procrustes(Y, columns, scale=True)
        return aligned[:, : columns.shape[1]] + columns.mean(axis=0)
    design = np.column_stack([np.ones(len(Y)), Y])
    fit: Array = design @ np.linalg.lstsq(design, columns, rcond=None)[0]
    return fit


def parameter_r2(
    Y: Array, parameters: Mapping[str, Array], how: Literal["affine", "similarity"] = "affine", worst: bool = False
) -> float:
    """How much of the true parameters the coordinates explain: R² of the best affine or similarity fit.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        Coordinates.
    parameters : mapping of str to ndarray of shape (n,)
        True parameters; samples without one (NaN) are left out.
    how : {"affine", "similarity"}
        The kind of fit.
    worst : bool, default=False
        The least explained column instead of all together: pooling hides a collapsed coordinate.

    Returns
    -------
    float
        1 for a perfect fit.
    """
    return _explained(*_variance(Y, parameters, how), worst)


def _variance(
    Y: Array, parameters: Mapping[str, Array], how: Literal["affine", "similarity"]
) -> tuple[Array, Array]:
    """What a fit leaves of each true column, and what there was."""
    known = np.all([np.isfinite(values) for values in parameters.values()], axis=0)
    columns = true_columns({name: np.asarray(values)[known] for name, values in parameters.items()})
    residual = np.sum((columns - parameter_fit(Y[known], columns, how)) ** 2, axis=0)
    return residual, np.sum((columns - columns.mean(axis=0)) ** 2, axis=0)


def _explained(residual: Array, total: Array, worst: bool) -> float:
    return float(np.min(1 - residual / total) if worst else 1 - residual.sum() / total.sum())


def _unit_columns(Y: Array) -> Array:
    centred = Y - Y.mean(axis=0)
    norms = np.linalg.norm(centred, axis=0)
    unit: Array = centred / np.where(norms > 0, norms, 1)
    return unit


def _labels(outcome: Outcome) -> float:
    assert outcome.truth is not None and outcome.labels is not None
    return misclassification_rate(outcome.truth, outcome.labels)


def _batch(measure: Callable[[Array, Array], float]) -> Callable[[Outcome], float]:
    def compute(outcome: Outcome) -> float:
        assert outcome.coordinates is not None and outcome.batch is not None
        return measure(outcome.coordinates, outcome.batch)

    return compute


def _aligned(outcome: Outcome) -> tuple[float, float]:
    Y, batch = outcome.coordinates, outcome.batch
    assert Y is not None and batch is not None
    distances: tuple[float, float] = outcome.once("alignment", lambda: alignment(Y, batch))
    return distances


def _parameters(how: Literal["affine", "similarity"], worst: bool) -> Callable[[Outcome], float]:
    def compute(outcome: Outcome) -> float:
        Y = outcome.coordinates
        assert Y is not None
        residual, total = outcome.once(f"variance: {how}", lambda: _variance(Y, outcome.parameters, how))
        return _explained(residual, total, worst)

    return compute


def _known(worst: bool) -> Callable[[Outcome], float]:
    def compute(outcome: Outcome) -> float:
        assert outcome.known is not None
        return parameter_r2(outcome.known, outcome.known_parameters, "affine", worst)

    return compute


def _together(outcome: Outcome) -> float:
    """The fit of known and new points in one picture, as a paper's figure shows them."""
    assert outcome.known is not None and outcome.coordinates is not None
    Y = np.vstack([outcome.known, outcome.coordinates])
    both = {
        name: np.concatenate([values, outcome.parameters[name]])
        for name, values in outcome.known_parameters.items()
    }
    return parameter_r2(Y, both, "similarity", False)


def _placed(measure: Callable[[Array, Array, Array, Array], float]) -> Callable[[Outcome], float]:
    def compute(outcome: Outcome) -> float:
        assert outcome.X_known is not None and outcome.X_new is not None
        assert outcome.known is not None and outcome.coordinates is not None
        return measure(outcome.X_known, outcome.X_new, outcome.known, outcome.coordinates)

    return compute


def _shift(outcome: Outcome) -> float:
    assert outcome.alone is not None and outcome.coordinates is not None and outcome.known is not None
    rows = evenly(len(outcome.coordinates), MOST_ALONE)
    return shift(outcome.alone, outcome.coordinates[rows], outcome.known)


def _novelty(outcome: Outcome) -> float:
    known = outcome.X_known if outcome.known is None else outcome.known
    new = outcome.X_new if outcome.coordinates is None else outcome.coordinates
    assert known is not None and new is not None and outcome.foreign is not None
    return novelty_auc(known, new, outcome.foreign)


def _list() -> list[Metric]:
    def error(align: Literal["none", "procrustes"]) -> Callable[[Array, Array], float]:
        return lambda Y, batch: embedding_error(Y, batch, align)

    def r2(name: str, fit: str, label: str, needs: Any, compute: Callable[[Outcome], float]) -> Metric:
        text = f"R² of the true parameters under the best {fit}"
        return Metric(name, text, "higher", needs, compute, needs == "parameters", f"R² of the {label}")

    def rate(name: str, which: str, better: Any, compute: Callable[[Outcome], float]) -> Metric:
        text = f"percentage of new points with {which} label"
        return Metric(name, text, better, "labels", compute, True, unit="%")

    def clock(name: str, text: str, label: str, unit: str) -> Metric:
        return Metric(name, text, "lower", "time", label=label, unit=unit)

    worst, known = "least explained parameter", "of the known points"
    affine, similar = _parameters("affine", False), _parameters("similarity", False)
    affine_worst, similar_worst = _parameters("affine", True), _parameters("similarity", True)
    lgrm = "LGRM's distance to the batch embedding per new point, unit coordinates,"
    norm = "Procrustes distance to the batch embedding over its norm (sparse coding §4.3, as worded)"
    squared = "centred, scaled, squared Procrustes distance to the batch embedding (sparse coding Table 3 by size)"
    objective = "value of the method's objective, also at each iteration"
    width = "kernel width, also at each iteration"
    alone = f"the same for a point that comes alone, the fastest of {MOST_ALONE}; measured where shift is"
    foreign = "chance that a point made of halves of two others lies farther from the known ones than a new point"
    peak = "what the process grows by at most while it fits and places (Linux)"
    regular = "R̂ = Ĝ − λD̂ of the interpolator (SOSI eq. 8), summed over coordinates"
    return [
        rate("misclassification_rate", "a wrong", "lower", _labels),
        rate("recognition_rate", "the right", "higher", lambda o: 100 - _labels(o)),
        Metric("alignment_error", norm, "lower", "batch", lambda o: _aligned(o)[0]),
        Metric("alignment_statistic", squared, "lower", "batch", lambda o: _aligned(o)[1]),
        Metric("embedding_error", f"{lgrm} signs fixed", "lower", "batch", _batch(embedding_error)),
        Metric("embedding_error_plain", f"{lgrm} signs as they come", "lower", "batch", _batch(error("none"))),
        Metric("embedding_error_procrustes", f"{lgrm} rotated", "lower", "batch", _batch(error("procrustes"))),
        r2("parameter_r2", "affine fit", "true parameters", "parameters", affine),
        r2("parameter_r2_worst", f"affine fit, {worst}", "worse true parameter", "parameters", affine_worst),
        r2("parameter_r2_similarity", "similarity", "true parameters, similarity", "parameters", similar),
        r2(
            "parameter_r2_similarity_worst",
            f"similarity, {worst}",
            "worse true parameter, similarity",
            "parameters",
            similar_worst,
        ),
        r2("known_parameter_r2", f"affine fit, {known}", "true parameters of known points", "known", _known(False)),
        r2(
            "known_parameter_r2_worst",
            f"affine fit, {known}, {worst}",
            "worse true parameter of known points",
            "known",
            _known(True),
        ),
        r2(
            "all_parameter_r2_similarity",
            "similarity, known and new points together",
            "true parameters of all points, similarity",
            "known",
            _together,
        ),
        Metric("objective", objective, "lower", "scalar", None, True),
        Metric("sigma", width, "lower", "scalar", None, True, "σ"),
        Metric("iterations", "iterations that the method made before it settled", "lower", "scalar"),
        Metric("regularity", regular, "lower", "scalar", label="regularity R̂"),
        Metric("gradient", "Ĝ, the interpolator's mean squared gradient (SOSI eq. 9)", "lower", "scalar"),
        Metric("separation", "D̂, its slope across class boundaries (SOSI eq. 10)", "higher", "scalar"),
        clock("fit_seconds", "time to fit embedding, extender and classifier", "time to fit", "s"),
        clock(
            "milliseconds_per_sample",
            "time to give one new point coordinates, or a label",
            "time per new point",
            "ms",
        ),
        clock("select_seconds", "time to choose parameters on the training set", "time to choose parameters", "s"),
        *(Metric(name, text, "higher", "inputs", _placed(measure)) for name, (text, measure) in PLACEMENT.items()),
        Metric(
            "shift",
            f"how far {MOST_ALONE} new points move between being placed alone and together, over the spread",
            "lower",
            "alone",
            _shift,
        ),
        clock("milliseconds_alone", alone, "time per point alone", "ms"),
        Metric("novelty_auc", foreign, "higher", "foreign", _novelty, label="AUC of novelty"),
        Metric("model_kilobytes", "size of what places points, pickled", "lower", "size", label="model", unit="kB"),
        Metric("peak_megabytes", peak, "lower", "size", label="peak memory", unit="MiB"),
    ]


#: Every metric by name.
METRICS: dict[str, Metric] = {metric.name: metric for metric in _list()}


def better_of(metric: str) -> str:
    """Which way a metric is better: "lower" or "higher"."""
    return METRICS[metric].better if metric in METRICS else "lower"


def is_time(metric: str) -> bool:
    """Whether a metric is a measured time, which differs from run to run."""
    return metric in METRICS and METRICS[metric].needs == "time"


def unit_of(metric: str) -> str:
    """The unit of a metric, such as "%"; empty where it has none."""
    return METRICS[metric].unit if metric in METRICS else ""


def label_of(metric: str) -> str:
    """A metric in words with its unit, for axes and captions.

    Examples
    --------
    >>> label_of("misclassification_rate")
    'misclassification rate (%)'
    """
    words = METRICS[metric].label if metric in METRICS else ""
    return (words or metric.replace("_", " ")) + (f" ({unit_of(metric)})" if unit_of(metric) else "")
