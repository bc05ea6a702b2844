"""Which extender for this data, in words, on made-up rows."""

import numpy as np
import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment

from manifold_oos.results.collect import Results
from manifold_oos.results.statistics import summarize
from manifold_oos.results.verdict import FOOTNOTE, OPTIMISTIC, make_verdicts, verdict_markdown, verdict_text

EMBEDDED = {"embedding": "suplap", "classifier": "nn"}
ARMS = {
    "near": EMBEDDED | {"extender": "lle"},
    "far": EMBEDDED | {"extender": "rbf"},
    "NN": {"classifier": "nn"},
    "SVM": {"classifier": "svm"},
}


def results(values, costs=None, metric="misclassification_rate", **config) -> Results:
    rows = [fake_rows({(arm, "digits", 10): v for arm, v in values.items()}, metric=metric, n_train=100, n_test=50)]
    if costs:
        times = {(arm, "digits", 10): [cost] for arm, cost in costs.items()}
        rows.append(fake_rows(times, metric="milliseconds_per_sample"))
    base = {"arms": ARMS, "metrics": [metric], "datasets": [{"name": "digits", "split": {"train_per_class": 10}}]}
    return Results(make_experiment(**(base | config)), pd.concat(rows, ignore_index=True))


def sentences(found: Results) -> list[str]:
    (verdict,) = make_verdicts(found)
    return list(verdict.sentences())


def test_a_clear_winner_is_named_with_its_lead_interval_and_cost():
    near, far = np.array([5.0, 5.2, 4.8, 5.1]), np.array([9.0, 9.4, 8.7, 9.0])
    found = results({"near": near, "far": far, "NN": near + 10}, {"near": 0.25, "far": 0.1})
    (verdict,) = make_verdicts(found)
    (other,) = verdict.others
    wanted = summarize(far - near, 50 / 100)  # the interval of Nadeau and Bengio
    assert (other.by.mean, other.by.low, other.by.high) == (wanted.mean, wanted.low, wanted.high)
    assert verdict.head == "digits, 10 per class, 4 splits" and not verdict.tied
    first, lead, cost, plain = verdict.sentences()
    assert first == "near: misclassification rate (%) 5.03, first on 4 of 4 splits."
    assert lead == f"Better than far by {wanted.mean:.2f} [{wanted.low:.2f}, {wanted.high:.2f}]."
    assert cost == "A new point costs 0.25 ms with near."
    assert plain == "Better than plain NN in the space of the data by 10.00 [10.00, 10.00]."


def test_a_tie_names_the_others_and_the_quickest():
    found = results({"near": [5.0, 6.0, 4.0], "far": [5.5, 5.0, 5.0]}, {"near": 0.5, "far": 0.1})
    first, tie, cost = sentences(found)
    assert (
        first.startswith("near has the best mean, but others are not told apart")
        and "first on 2 of 3" in first
        and tie.startswith("Not told apart from far (0.17 [−")
    )
    assert cost.endswith("; of those not told apart far is the quickest with 0.1 ms.")
    assert not any("Better" in sentence for sentence in sentences(found))


def test_nothing_has_no_sign():
    found = results({"near": [5.0, 6.0, 4.0], "far": [5.0 - 3e-15, 5.5, 4.5]})
    assert "Not told apart from" in sentences(found)[1] and " (0.00 [−" in sentences(found)[1]


def test_a_lead_that_the_naive_interval_would_grant_is_a_tie():
    near = np.array([5.0, 5.0, 5.0, 5.0])
    difference = np.array([0.9, 0.4, 0.8, 0.3])
    assert summarize(difference).low > 0 > summarize(difference, 0.5).low
    assert "Not told apart from far" in sentences(results({"near": near, "far": near + difference}))[1]


def test_a_warning_where_every_embedding_loses_to_plain_nn():
    near = np.array([5.0, 6.0, 4.0])
    found = results({"near": near, "far": near + 3, "NN": near - 2, "SVM": near - 3})
    assert "Worse than plain SVM in the space of the data by 3.00 [3.00, 3.00]." in sentences(found)
    warning = next(sentence for sentence in sentences(found) if sentence.startswith("Warning"))
    assert "every embedding loses to plain NN" in warning and "by 2.00 [2.00, 2.00]" in warning
    nearly = results({"near": near, "far": near + 3, "NN": near + np.array([0.5, -2, 1])})
    assert not any("Warning" in sentence for sentence in sentences(nearly))


def test_one_split_decides_nothing():
    said = sentences(results({"near": [5.0], "far": [50.0], "NN": [1.0]}))
    assert said[0].startswith("One split decides nothing") and "near is first" in said[0]
    assert said[1] == "Better than far by 45.00."
    assert said[2] == "Plain NN in the space of the data is better by 4.00."
    assert not any("Warning" in sentence or "told apart" in sentence for sentence in said)


def test_without_labels_the_first_metric_decides_and_higher_is_better():
    metric, other = "trustworthiness", "continuity"
    found = results({"near": [0.8, 0.81, 0.8], "far": [0.9, 0.91, 0.9]}, metric=metric)
    more = fake_rows({("near", "digits", 10): [0.9] * 3, ("far", "digits", 10): [0.8] * 3}, metric=other)
    experiment = found.experiment.model_copy(update={"metrics": [metric, other]})
    both = Results(experiment, pd.concat([found.rows, more], ignore_index=True))
    assert sentences(both) == [
        "far: trustworthiness 0.903, first on 3 of 3 splits.",
        "Better than near by 0.1 [0.1, 0.1].",
        "By continuity the first is near.",
    ]


@pytest.mark.parametrize("key", ["paper", "published"])
def test_configs_of_papers_have_none(key):
    values = {"misclassification_rate": {"digits": {"near": {10: 4.0}}}}
    config = {"paper": "x"} if key == "paper" else {"published": {"source": "Table 1", "values": values}}
    found = results({"near": [5.0, 5.1], "far": [9.0, 9.1]}, **config)
    assert make_verdicts(found) == [] and verdict_text(found) == verdict_markdown(found) == ""


def test_a_sweep_asks_something_else():
    outputs = [{"table": "sweep", "columns": "sigma"}]
    assert make_verdicts(results({"near": [5.0, 5.1], "far": [9.0, 9.1]}, outputs=outputs)) == []


def test_an_arm_that_failed_on_every_split_is_left_out():
    found = results({"near": [np.nan, np.nan], "far": [9.0, 9.1]})
    assert sentences(found) == ["far: misclassification rate (%) 9.05, first on 2 of 2 splits."]
    assert make_verdicts(results({"near": [np.nan], "far": [np.nan], "NN": [1.0]})) == []


def test_the_texts_say_how_and_what_is_optimistic():
    found = results({"near": [5.0, 5.1], "far": [9.0, 9.2]})
    assert verdict_markdown(found).startswith("# Verdict\n\n## digits, 10 per class, 2 splits\n\n- near: ")
    assert verdict_text(found).splitlines()[0] == "Verdict for digits, 10 per class, 2 splits:"
    assert verdict_text(found).endswith(FOOTNOTE)
    best = Results(make_experiment(arms=ARMS, selection=["best"]), found.rows.assign(selection="best"))
    assert verdict_text(best).endswith(OPTIMISTIC)
