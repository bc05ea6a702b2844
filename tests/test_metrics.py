"""Metrics against SciPy, hand-made cases and the properties that their definitions promise."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import ortho_group
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, r2_score

from manifold_oos.engine.arm_run import compute
from manifold_oos.metrics import (
    METRICS,
    Outcome,
    alignment,
    embedding_error,
    is_time,
    parameter_r2,
    procrustes,
    true_columns,
)

rng = np.random.default_rng(0)
Y = rng.normal(size=(30, 3))
NOISY = Y + 0.3 * rng.normal(size=Y.shape)
TURN = ortho_group.rvs(3, random_state=1)


def test_metrics_are_known_by_their_names():
    words = [name for name in METRICS if not name.replace("_", "").isalnum() or name != name.lower()]
    assert not words and all(METRICS[name].name == name for name in METRICS)
    kinds = {f"parameter_r2{kind}{which}" for kind in ("", "_similarity") for which in ("", "_worst")}
    assert kinds <= set(METRICS)


def test_rates_against_scikit_learn():
    truth, labels = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
    outcome = Outcome(truth=truth, labels=labels)
    accuracy = 100 * accuracy_score(truth, labels)
    assert compute("recognition_rate", outcome) == pytest.approx(accuracy)
    assert compute("misclassification_rate", outcome) == pytest.approx(100 - accuracy)


def alignment_error(Y, batch):
    return alignment(Y, batch)[0]


def alignment_statistic(Y, batch):
    return alignment(Y, batch)[1]


def test_alignment_statistic_is_scipys_disparity():
    assert alignment_statistic(NOISY, Y) == pytest.approx(scipy_procrustes(Y, NOISY)[2], rel=1e-12)


def test_alignment_statistic_ignores_similarities():
    assert alignment_statistic(5 * Y @ TURN + 7, Y) == pytest.approx(0, abs=1e-12)
    assert 0 < alignment_statistic(NOISY, Y) < 1


def test_alignment_error_is_the_best_rotation_found_by_search():
    centred, target = NOISY - NOISY.mean(axis=0), Y - Y.mean(axis=0)

    def distance(angles):
        a, b, c = angles
        x = [[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]]
        y = [[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]]
        z = [[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]]
        return np.linalg.norm(centred @ np.array(x) @ np.array(y) @ np.array(z) - target)

    found = minimize(distance, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12}).fun
    assert alignment_error(NOISY, Y) == pytest.approx(found / np.linalg.norm(target), rel=1e-6)


def test_alignment_error_sees_scale_and_not_rotation():
    assert alignment_error(Y @ TURN + 2, Y) == pytest.approx(0, abs=1e-12)
    assert alignment_error(3 * Y, Y) == pytest.approx(2)


@pytest.mark.parametrize("shape", [(40, 3), (40, 39), (12, 30)])
@pytest.mark.parametrize("noise", [1e-7, 1e-2, 1.0])
def test_alignment_is_what_is_left_after_the_rotation_itself(shape, noise):
    rng = np.random.default_rng(5)
    target = rng.normal(size=shape)
    moved = 1.3 * target @ ortho_group.rvs(shape[1], random_state=2) + noise * rng.normal(size=shape)
    for Z in (moved, moved / 1.3, moved[:, :2]):
        by_hand = []
        for scale in (False, True):
            aligned, centred = procrustes(Z, target, scale=scale)
            by_hand.append(np.linalg.norm(aligned - centred) / np.linalg.norm(centred))
        assert alignment(Z, target) == pytest.approx((by_hand[0], by_hand[1] ** 2), rel=1e-10)


def test_embedding_error_by_hand():
    A, B = np.array([[1.0], [-1.0]]), np.array([[-3.0], [3.0]])
    assert embedding_error(A, B, "none") == pytest.approx(2.0)
    assert embedding_error(A, B, "signs") == pytest.approx(0, abs=1e-15)
    assert embedding_error(A, B, "procrustes") == pytest.approx(0, abs=1e-15)


def test_embedding_error_forms_are_ordered():
    flipped = NOISY * [1, -1, 1]
    plain, signs, turned = (embedding_error(flipped, Y, how) for how in ("none", "signs", "procrustes"))
    assert turned <= signs <= plain
    assert plain > 10 * signs
    assert signs == pytest.approx(embedding_error(100 * NOISY + 3, Y, "signs"))


def test_a_constant_coordinate_is_no_division_by_zero():
    constant = np.zeros((5, 2))
    assert embedding_error(constant, Y[:5, :2]) == pytest.approx(2 / 5)


def test_a_batch_in_one_point_cannot_be_aligned_with():
    assert np.isnan(alignment_error(Y, np.ones_like(Y))) and np.isnan(alignment_statistic(Y, np.ones_like(Y)))


def test_parameter_r2_is_that_of_linear_regression():
    parameters = {"arc_length": Y[:, 0] ** 2 + Y[:, 1], "width": Y[:, 2] + 1}
    truth = np.column_stack(list(parameters.values()))
    fit = LinearRegression().fit(NOISY, truth).predict(NOISY)
    each = r2_score(truth, fit, multioutput="raw_values")
    assert parameter_r2(NOISY, parameters, worst=True) == pytest.approx(each.min())
    assert parameter_r2(NOISY, parameters) == pytest.approx(r2_score(truth, fit, multioutput="variance_weighted"))


def test_similarity_does_not_fit_a_squashed_picture():
    flat = {"x": Y[:, 0], "y": Y[:, 1]}
    squashed = Y[:, :2] * [1, 0.2]
    assert parameter_r2(squashed, flat) == pytest.approx(1)
    assert parameter_r2(squashed, flat, "similarity") < 0.9
    assert parameter_r2(4 * Y[:, :2] @ TURN[:2, :2] / np.sqrt(abs(np.linalg.det(TURN[:2, :2]))), flat) > 0.99
    turn = ortho_group.rvs(2, random_state=3)
    assert parameter_r2(7 * Y[:, :2] @ turn - 2, flat, "similarity", worst=True) == pytest.approx(1)


def test_similarity_r2_is_one_minus_the_statistic():
    flat = {"x": Y[:, 0], "y": Y[:, 1]}
    assert parameter_r2(NOISY[:, :2], flat, "similarity") == pytest.approx(
        1 - alignment_statistic(NOISY[:, :2], Y[:, :2])
    )


def test_angles_are_cosine_and_sine():
    angle = np.linspace(0, 350, 36)
    circle = np.column_stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    assert np.allclose(true_columns({"angle": angle}), circle)
    assert parameter_r2(circle @ ortho_group.rvs(2, random_state=5), {"angle": angle}, worst=True) == pytest.approx(
        1
    )


def test_samples_without_a_parameter_and_constant_ones_are_left_out():
    width = Y[:, 0].copy()
    width[3] = np.nan
    assert parameter_r2(Y, {"width": width, "azimuth": np.full(30, 90.0)}) == pytest.approx(1)


def test_padding_of_the_narrower_configuration():
    aligned, target = procrustes(Y[:, :1], Y, scale=True)
    assert aligned.shape == target.shape == (30, 3)


def test_metrics_that_an_arm_cannot_have_give_nothing():
    for name in METRICS:
        assert compute(name, Outcome()) is None


def test_times_are_known_as_such():
    times = {name for name in METRICS if is_time(name)}
    milliseconds = {"milliseconds_per_sample", "milliseconds_alone"}
    assert times == {"fit_seconds", "select_seconds"} | milliseconds and not is_time("nothing")
    assert all(METRICS[name].name == name and METRICS[name].unit in ("s", "ms") for name in times)


def test_every_metric_has_a_line_of_description():
    for name, metric in METRICS.items():
        assert metric.name == name and len(metric.description) > 10 and "\n" not in metric.description


def test_fewer_points_than_dimensions_align_as_scipy_says() -> None:
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((12, 30)), rng.standard_normal((12, 30))
    assert alignment_statistic(A, B) == pytest.approx(scipy_procrustes(B, A)[2], rel=1e-12)
    aligned, target = procrustes(A, B, scale=False)
    assert aligned.shape == target.shape == (12, 30)
    assert np.linalg.norm(aligned) == pytest.approx(np.linalg.norm(A - A.mean(axis=0)), rel=1e-12)


def test_known_points_are_judged_apart_from_new_ones():
    outcome = Outcome(coordinates=NOISY, parameters={"x": Y[:, 0]}, known=Y, known_parameters={"x": Y[:, 0]})
    assert (
        compute("known_parameter_r2", outcome) == compute("known_parameter_r2_worst", outcome) == pytest.approx(1)
    )
    assert (
        compute("parameter_r2", outcome) == pytest.approx(parameter_r2(NOISY, {"x": Y[:, 0]})) != pytest.approx(1)
    )


def test_procrustes_survives_a_decomposition_that_does_not_converge(monkeypatch) -> None:
    expected = procrustes(NOISY, Y, scale=True)[0]

    def fail(*_args, **_kwargs):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fail)
    assert procrustes(NOISY, Y, scale=True)[0] == pytest.approx(expected, rel=1e-12)


def test_iterations_are_what_the_method_reports():
    from manifold_oos.engine.arm_run import compute

    assert compute("iterations", Outcome(scalars={"iterations": 7.0})) == 7.0
    assert compute("iterations", Outcome()) is None


def test_coordinates_that_all_coincide_explain_nothing():
    flat = {"height": np.arange(5.0)}
    assert parameter_r2(np.ones((5, 2)), flat, "similarity") == 0
    aligned, target = procrustes(np.ones((5, 2)), np.arange(10.0).reshape(5, 2), scale=True)
    assert not aligned.any() and target.any()
