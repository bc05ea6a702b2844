"""Figures: what is drawn, and that the same rows give the same bytes."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from PIL import Image
from reporting_fakes import fake_rows, make_experiment, swept_rows

import manifold_oos.reporting.figures.draw as figures
from manifold_oos.config.model import Output
from manifold_oos.engine.splits import DataFacts
from manifold_oos.errors import ConfigError, DataError
from manifold_oos.reporting.figures.curves import Axis
from manifold_oos.reporting.figures.draw import draw_output, figure_outputs, stem_of
from manifold_oos.reporting.figures.pareto import pareto_front
from manifold_oos.reporting.figures.scatter import Cloud, cloud_figure, function_figure
from manifold_oos.reporting.figures.style import COLORS, look, save
from manifold_oos.reporting.write import write_figures
from manifold_oos.results.collect import Results


def draw(output: dict, rows: pd.DataFrame, **config):
    results = Results(make_experiment(**config), rows)
    return dict(draw_output(Output(**output), results))


def test_curve_has_a_line_and_a_band_per_arm(rows):
    (figure,) = draw({"figure": 7, "x": "size"}, rows).values()
    ax = figure.axes[0]
    assert len(ax.lines) == 3 and len(ax.collections) == 3
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [10.5, 6.5])
    np.testing.assert_allclose(ax.lines[1].get_xdata(), [5, 10])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(2.0) and band.max() == pytest.approx(4.5 + 0.6496, abs=1e-3)
    assert ax.get_xlabel() == "known points per class" and ax.get_ylabel() == "misclassification rate (%)"
    assert "4 splits" in figure._supxlabel.get_text() and "fixed" in figure._supxlabel.get_text()


def test_curve_over_dimension_takes_the_open_candidates_and_levels_the_rest():
    rows = pd.concat(
        [
            swept_rows("A", "digits", 5, {2: [9.0, 9.5], 5: [4.0, 4.4], 9: [6.0, 6.6]}, "embedding.n_components"),
            fake_rows({("A", "digits", 5): [4.0, 4.4]}, selection="train_only", n_components=5),
            fake_rows({("B", "digits", 5): [7.0, 7.5]}),
        ]
    )
    (figure,) = draw({"figure": 6, "x": "n_components"}, rows, selection=["train_only", "best"]).values()
    ax = figure.axes[0]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [2, 5, 9])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [9.25, 4.2, 6.3])
    assert list(ax.lines[1].get_ydata()) == [7.25, 7.25]  # no dimension: a level line
    assert "every value of n_components as it is" in figure._supxlabel.get_text()


def test_sweep_of_a_parameter_with_a_second_axis():
    grid = {0.1: [9.0, 9.5], 1.0: [4.0, 4.4], 10.0: [6.0, 6.6]}
    objective = {0.1: [1.0, 1.0], 1.0: [0.5, 0.5], 10.0: [-2.0, -2.0]}
    rows = pd.concat(
        [
            swept_rows("A", "digits", 5, grid, "extender.sigma"),
            swept_rows("A", "digits", 5, objective, "extender.sigma", metric="regularity"),
        ]
    )
    output = {"figure": 9, "x": "sigma", "second": "regularity", "metric": "misclassification_rate"}
    (figure,) = draw(output, rows, selection="best").values()
    left, right = figure.axes
    assert left.get_xscale() == "log" and right.get_ylabel() == "regularity R̂"
    np.testing.assert_allclose(right.lines[0].get_ydata(), [1.0, 0.5, -2.0])


def test_at_each_x_other_open_parameters_take_their_best():
    rows = pd.concat(
        [
            fake_rows({("A", "digits", 5): v}, selection="best", candidate=c, chosen=c, n_components=d)
            for d, c, v in [
                (2, '{"embedding.n_components": 2, "extender.sigma": 1}', [9.0, 9.0]),
                (2, '{"embedding.n_components": 2, "extender.sigma": 3}', [8.0, 8.0]),
                (5, '{"embedding.n_components": 5, "extender.sigma": 1}', [4.0, 4.0]),
                (5, '{"embedding.n_components": 5, "extender.sigma": 3}', [6.0, 6.0]),
            ]
        ]
    )
    (figure,) = draw({"figure": 6, "x": "n_components"}, rows, selection="best").values()
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [8.0, 4.0])
    assert "(best)" in figure._supxlabel.get_text()


def test_bands_of_a_percentage_stay_between_0_and_100():
    rows = fake_rows({("A", "digits", 5): [1.0, 9.0], ("A", "digits", 10): [92.0, 99.0]})
    (figure,) = draw({"figure": 5}, rows).values()
    band = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == 0 and band.max() == 100


def test_trace_runs_over_iterations_only():
    steps = [fake_rows({("A", "digits", 5): [9.0 - s, 8.0 - s]}, step=s) for s in (1, 2, 3)]
    rows = pd.concat([fake_rows({("A", "digits", 5): [1.0, 1.0]}), *steps])
    (figure,) = draw({"figure": 8, "kind": "trace"}, rows).values()
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [7.5, 6.5, 5.5])
    assert figure.axes[0].get_xlabel() == "iteration"


def test_a_panel_per_data_set_and_a_file_per_metric(rows):
    other = rows.assign(dataset="other")
    both = pd.concat([rows, other, rows.assign(metric="recognition_rate")])
    data = [
        {"name": "digits", "split": {"train_per_class": [5, 10]}},
        {"name": "digits", "label": "other", "stand_in": "MNIST", "split": {"train_per_class": [5, 10]}},
    ]
    metrics = ["misclassification_rate", "recognition_rate"]
    figures = draw({"figure": 5}, both, datasets=data, metrics=metrics)
    assert list(figures) == ["figure_5_misclassification_rate", "figure_5_recognition_rate"]
    titles = [ax.get_title(loc="left") for ax in figures["figure_5_misclassification_rate"].axes]
    assert titles == ["digits", "other"]
    assert "stand-in for MNIST" in figures["figure_5_misclassification_rate"]._supxlabel.get_text()


def test_curves_along_something_else_have_a_panel_for_each_size():
    rows = pd.concat(
        [
            swept_rows("A", "digits", size, {2: [9.0, 9.5], 5: [4.0, 4.4]}, "embedding.n_components")
            for size in (5, 10)
        ]
    )
    rows["chosen"] = [text[:-1] + ', "extender.sigma": 1}' for text in rows["chosen"]]  # chosen by validation
    (figure,) = draw({"figure": 6, "x": "n_components"}, rows, selection="best").values()
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["digits, 5 per class", "digits, 10 per class"]
    assert "nothing chosen" not in figure._supxlabel.get_text()


def test_ranks_over_data_sets():
    values = {}
    for i in range(4):
        for arm, level in (("A", 5.0), ("B", 8.0), ("C", 9.0)):
            values[arm, f"set {i}", 5] = [level + i, level + i + 0.5]
    data = [{"name": "digits", "label": f"set {i}", "split": {"train_per_class": 5}} for i in range(4)]
    (figure,) = draw({"figure": "ranks", "kind": "ranks"}, fake_rows(values), datasets=data).values()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert "A  1.00" in words and "B  2.00" in words and "3.00  C" in words
    assert "Nemenyi" in figure._supxlabel.get_text() and "4 data sets" in figure._supxlabel.get_text()


def test_ranks_need_two_arms():
    with pytest.raises(ConfigError, match="two arms"):
        draw({"figure": "ranks", "kind": "ranks"}, fake_rows({("A", "digits", 5): [1.0, 2.0]}))


def test_pareto_front_of_error_and_cost():
    errors = fake_rows(
        {("A", "digits", 5): [9.0, 9.0], ("B", "digits", 5): [4.0, 4.0], ("C", "digits", 5): [6.0, 6.0]}
    )
    cost = {"A": 0.1, "B": 2.0, "C": 3.0}
    times = errors.assign(metric="milliseconds_per_sample", value=errors["arm"].map(cost))
    (figure,) = draw({"figure": "cost", "kind": "pareto"}, pd.concat([errors, times])).values()
    ax = figure.axes[0]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.1, 2.0])  # C is slower and worse than B
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [9.0, 4.0])
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "time per new point (ms)"
    assert [text.get_text() for text in ax.texts] == ["A", "B", "C"]
    assert pareto_front([1, 1, 2], [5, 4, 4]) == [1]


def test_cost_is_that_of_the_chosen_candidate():
    rows = pd.concat(
        [
            swept_rows("A", "digits", 5, {1: [9.0, 9.0], 2: [4.0, 4.0]}, "extender.sigma"),
            swept_rows("A", "digits", 5, {1: [0.1, 0.1], 2: [5.0, 5.0]}, "extender.sigma", metric="fit_seconds"),
            fake_rows({("B", "digits", 5): [6.0, 6.0]}),
            fake_rows({("B", "digits", 5): [1.0, 1.0]}, metric="fit_seconds"),
        ]
    )
    (figure,) = draw({"figure": "c", "kind": "pareto", "x": "fit_seconds"}, rows, selection="best").values()
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xdata(), [1.0, 5.0])
    (figure,) = draw({"figure": 1, "metric": "fit_seconds", "arms": "A"}, rows, selection="best").values()
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [5.0])


def test_cost_over_features_joins_data_sets():
    rows = fake_rows({("A", "d50", 5): [1.0, 1.2], ("A", "d200", 5): [3.0, 3.2]}, metric="milliseconds_per_sample")
    data = [{"name": "digits", "label": f"d{d}", "split": {"train_per_class": 5}} for d in (50, 200)]
    facts = {f"d{d}": DataFacts("digits", "", "", 100, d, 10) for d in (50, 200)}
    results = Results(make_experiment(datasets=data), rows, facts=facts)
    output = Output(figure=13, x="n_features", metric=["milliseconds_per_sample"])
    ((_, figure),) = draw_output(output, results)
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xdata(), [50, 200])
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [1.1, 3.1])


def test_many_values_on_a_logarithmic_axis_have_few_plain_ticks():
    grid = {value: [1.0, 2.0] for value in (0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.2, 3.3, 5.0, 8.0)}
    rows = swept_rows("A", "digits", 5, grid, "extender.sigma")
    (figure,) = draw({"figure": 9, "x": "sigma", "log": True}, rows, selection=["best"]).values()
    figure.draw_without_rendering()
    axis = figure.axes[0].xaxis
    low, high = axis.get_view_interval()
    shown = [tick.label1.get_text() for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert shown == ["0.2", "0.5", "1", "2", "5"]
    assert not any(t.get_text() for t in axis.get_ticklabels(minor=True))


def test_ticks_stand_at_the_values_only_where_their_numbers_find_room():
    wide, crowded = (pd.Series(values) for values in ([5, 20, 40, 60], [5, 20, 310, 1241]))
    assert Axis(wide, log=False).apart
    assert not Axis(crowded, log=False).apart
    assert Axis(crowded, log=True).apart


def test_cost_over_new_points_joins_data_sets():
    parts = [fake_rows({("A", f"n{n}", 5): [n / 10, n / 10]}, n_test=n) for n in (300, 600)]
    data = [{"name": "digits", "label": f"n{n}", "split": {"train_per_class": 5}} for n in (300, 600)]
    (figure,) = draw({"figure": "growth", "x": "n_test"}, pd.concat(parts), datasets=data).values()
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xdata(), [300, 600])
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [30, 60])


def test_absent_data_take_no_panels_beside_present_ones():
    arms = {"A": {"embedding": {"name": "ltsa", "n_components": 2}, "batch": True}}
    split = {"split": {"alternate": 2}}
    data = [{"name": "teapot"} | split, {"name": "s_surface", "n_samples": 60} | split]
    experiment = make_experiment(datasets=data, arms=arms)
    for labels, panels in (({"teapot"}, ["A"]), ({"teapot", "s_surface"}, ["teapot: A", "s_surface: A"])):
        results = Results(experiment, fake_rows({}), absent=dict.fromkeys(labels, "not found"))
        ((_, figure),) = draw_output(Output(figure=6, kind="embedding"), results)
        assert [ax.get_title() or ax.get_title("left") for ax in figure.axes] == panels
        assert "teapot: data absent" in figure._supxlabel.get_text()


def test_panels_of_points_wrap_and_have_equal_units():
    arms = {name: {"embedding": {"name": "ltsa", "n_components": 2}, "batch": True} for name in "ABCDE"}
    data = [{"name": "s_surface", "n_samples": 60, "split": {"alternate": 2}}]
    output = {"figure": 4, "kind": "embedding", "columns": 2}
    (figure,) = draw(output, fake_rows({}), datasets=data, arms=arms).values()
    assert [ax.get_subplotspec().colspan.start for ax in figure.axes] == [0, 1, 0, 1, 0]
    assert all(ax.get_aspect() == 1 for ax in figure.axes)


def test_pictures_whose_data_are_gone_stay_as_they_were(rows, tmp_path, monkeypatch):
    def gone(*_):
        raise DataError("not found in some folder")

    monkeypatch.setattr(figures, "gallery_output", gone)
    results = Results(make_experiment(outputs=[{"figure": "map", "kind": "embedding"}]), rows)
    told: list[str] = []
    assert len(write_figures(results, tmp_path, say=told.append)) == 2 and "data absent" in told[0]
    (tmp_path / "map.png").write_bytes(b"old")
    assert write_figures(results, tmp_path, say=told.append) == [] and (tmp_path / "map.png").read_bytes() == b"old"


def test_figures_without_outputs_in_the_config(rows):
    assert [output.kind for output in figure_outputs(Results(make_experiment(), rows))] == ["curve"]
    one = make_experiment(datasets=[{"name": "digits", "split": {"train_per_class": 5}}])
    assert figure_outputs(Results(one, rows)) == []


def test_png_and_pdf_have_the_same_bytes_twice_and_no_date(rows, tmp_path):
    results = Results(make_experiment(), rows)
    first = [path.read_bytes() for path in write_figures(results, tmp_path / "a")]
    paths = write_figures(Results(make_experiment(), rows), tmp_path / "b")
    assert [path.name for path in paths] == ["curve.png", "curve.pdf"]
    assert [path.read_bytes() for path in paths] == first
    assert Image.open(paths[0]).info.get("Software") is None
    assert b"CreationDate" not in first[1]
    assert not list((tmp_path / "b").glob(".part*"))


def test_only_the_figures_that_are_asked_for(rows, tmp_path):
    outputs = [{"figure": 5, "x": "size"}, {"figure": "extra", "x": "size"}]
    results = Results(make_experiment(outputs=outputs), rows)
    assert {path.stem for path in write_figures(results, tmp_path, only=["5"])} == {"figure_5"}
    assert {path.stem for path in write_figures(results, tmp_path)} == {"figure_5", "extra"}


def test_names_of_files():
    assert stem_of(Output(figure="10 b")) == "figure_10_b" and stem_of(Output(figure="embedding")) == "embedding"


def test_curves_differ_in_colour_and_marker():
    looks = [look(index) for index in range(14)]
    assert len({(str(item["color"]), item["marker"], str(item["linestyle"])) for item in looks}) == 14
    assert len({item["color"] for item in looks[:7]}) == 7


def cloud(n: int = 30, d: int = 2, **changes) -> Cloud:
    rng = np.random.default_rng(0)
    labels = np.array(["cat", "dog", "owl"])[np.arange(n) % 3]
    fields = {"train_color": labels, "new_color": labels, "wrong": np.arange(n) == 3} | changes
    return Cloud("SOSI", rng.normal(size=(n, d)), rng.normal(size=(n, d)), **fields)


def test_known_points_are_filled_new_ones_hollow_and_wrong_ones_crossed():
    figure = cloud_figure([[cloud()]])
    collections = figure.axes[0].collections
    filled = [c for c in collections if len(c.get_facecolor()) and c.get_facecolor()[0][3] > 0]
    hollow = [c for c in collections if not len(c.get_facecolor())]
    assert sum(len(c.get_offsets()) for c in hollow) == 30
    assert sum(len(c.get_offsets()) for c in filled) >= 30
    assert to_hex(filled[0].get_facecolor()[0]) == COLORS[0].lower()
    assert len(collections[-1].get_offsets()) == 1
    words = [text.get_text() for text in figure.legends[0].texts]
    assert words == ["known", "new", "wrong label", "cat", "dog", "owl"]


def test_three_dimensions_one_dimension_and_failed_panels():
    three = cloud_figure([[cloud(d=3), cloud(message="failed: singular")]], dimensions=3)
    assert three.axes[0].name == "3d" and three.axes[1].texts[0].get_text() == "failed: singular"
    assert cloud_figure([[cloud(d=1)]]).axes[0].collections


def test_a_class_looks_the_same_in_every_panel():
    some = cloud(train_color=np.array(["owl"] * 30), new_color=np.array(["owl"] * 30), wrong=None)
    figure = cloud_figure([[cloud(), some]])
    assert to_hex(figure.axes[1].collections[0].get_facecolor()[0]) == COLORS[2].lower()


def test_function_image_shows_every_value_and_the_points(tmp_path):
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    up, across = np.mgrid[-1:2:20j, -1:2:20j]
    panels = [(f"σ = {s}", (across - up) * s) for s in (0.5, 2, 6)]
    figure = function_figure(panels, extent=(-1, 2, -1, 2), points=points, classes=np.array([0, 1]), limit=1.0)
    assert [ax.get_title(loc="left") for ax in figure.axes[:4]] == ["training points", "σ = 0.5", "σ = 2", "σ = 6"]
    assert [len(ax.images) for ax in figure.axes[:4]] == [0, 1, 1, 1]
    assert figure.axes[1].images[0].get_clim() == (-1.0, 1.0)
    assert [path.suffix for path in save(figure, tmp_path / "f")] == [".png", ".pdf"]


def test_novel_points_are_marked_and_named_in_the_legend():
    novel = np.zeros(30, dtype=bool)
    novel[[3, 7]] = True
    plain, marked = cloud_figure([[cloud()]]), cloud_figure([[cloud(novel=novel)]])
    assert len(marked.axes[0].collections) == len(plain.axes[0].collections) + 1
    ring = marked.axes[0].collections[-1]
    np.testing.assert_array_equal(ring.get_offsets(), cloud().new[novel])
    assert "novel" in [text.get_text() for text in marked.legends[0].get_texts()]
