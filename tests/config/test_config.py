"""Configs: what is accepted, and every mistake at once with file, line, key and the nearest names."""

import pytest

from manifold_oos.config.load import load_config
from manifold_oos.errors import ConfigError

THREE_LINES = """\
dataset: digits
embedding: suplap
extender: rbf
"""


def mistakes(bench, text, *overrides):
    """The lines of the error; F stands for the module of the fake methods."""
    text = text.replace("F:", "fake_methods:") if isinstance(text, str) else text
    with pytest.raises(ConfigError) as caught:
        bench.load(text, *overrides)
    return str(caught.value).splitlines()


def test_three_lines_are_enough(bench):
    text = THREE_LINES.replace("suplap", "fake_methods:Slice").replace("rbf", "fake_methods:Shift")
    experiment = bench.load(text + "classifier: fake_methods:NN\n")
    assert list(experiment.arms) == ["fake_methods:Shift"]
    assert experiment.name == "mine"
    assert experiment.metrics == ["misclassification_rate"]
    split = experiment.split_of(experiment.datasets[0])
    assert (split.kind, split.sizes, split.rounds, split.seed) == ("fraction", [0.5], 5, 0)


def test_three_lines_get_the_nearest_neighbour_classifier(bench):
    from manifold_oos.config.model import expand

    arms = expand({"dataset": "digits", "embedding": {"name": "suplap", "mu": 1}, "extender": "rbf"})["arms"]
    assert arms == {"rbf": {"embedding": {"name": "suplap", "mu": 1}, "extender": "rbf", "classifier": "nn"}}


def test_misspelt_parameter_names_file_line_key_and_nearest(bench):
    text = """\
dataset: digits
arms:
  SOSI:
    embedding: fake_methods:Slice
    extender:
      name: fake_methods:Shift
      amont: 3
"""
    (line,) = mistakes(bench, text)
    assert line == (
        'mine.yaml:7: arms.SOSI.extender.amont: no such parameter of fake_methods:Shift; did you mean "amount"?'
        " (moos describe fake_methods:Shift)"
    )


def test_all_mistakes_at_once(bench):
    text = """\
dataset: digitz
titel: x
split: {train_per_clas: 3, repetitions: none}
arms:
  A: {embedding: {name: fake_methods:Slice, scale: -1.0, n_component: 3}, extender: fake_methods:Shift}
  B: {extender: fake_methods:Shift}
  C: {embedding: suplapp, extender: fake_methods:Shift}
metrics: [misclassification]
selection: tran_only
claims: [{source: "Fig. 1", left: A, op: "<", right: D}]
"""
    lines = mistakes(bench, text)
    expected = [
        (1, 'dataset.name: digitz: no such name among the datasets; did you mean "digits"'),
        (2, 'titel: no such key; did you mean "title"'),
        (3, 'split.train_per_clas: no such key; did you mean "train_per_class"'),
        (3, "split.repetitions: must be a valid integer"),
        (5, "arms.A.embedding.scale: must be a float in the range (0.0, inf)"),
        (5, 'arms.A.embedding.n_component: no such parameter of fake_methods:Slice; did you mean "n_components"'),
        (6, "arms.B: an extender needs the embedding"),
        (7, 'arms.C.embedding: suplapp: no such name among the embeddings; did you mean "suplap"'),
        (8, 'metrics: no metric misclassification; did you mean "misclassification_rate"'),
        (9, "selection: must be 'train_only', 'paper' or 'best'"),
        (10, "claims.0.right: no arm D; "),
    ]
    assert len(lines) == len(expected)
    for number, words in expected:
        assert any(line.startswith(f"mine.yaml:{number}: {words}") for line in lines), (words, lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset: digits\ndataset: orl\n", "mine.yaml:2: dataset: the key is given twice"),
        ("dataset: [digits\n", "mine.yaml:2: not valid YAML"),
        ("- a\n", "mine.yaml:1: a config is a mapping"),
        ("dataset: !!python/object/apply:os.system ['true']\n", "os.system: a config has plain values only"),
        ("dataset: digits\n", "arms: is missing"),
        ("dataset: {name: digits, sise: [3, 3]}\nclassifier: F:NN\n", 'dataset.sise: no such option of digits'),
        ("dataset: {name: digits, per_class: 0}\nclassifier: F:NN\n", "mine.yaml:1: dataset: "),
        ("dataset: digits\nclassifier: F:NN\nsplit: {first: 3, fraction: 0.5}\n", "split: give one of"),
        ("datasets: [digits, digits]\nclassifier: F:NN\n", "digits more than once: give each its own label"),
        ("dataset: digits\nembedding: F:Slice\n", "has no map for new points: add an extender"),
        ("dataset: digits\nembedding: F:Whole\nextender: F:Picky\n", "picky does not extend whole"),
        ("dataset: digits\nclassifier: F:NN\nselection: paper\n", "say what the paper did"),
        ("dataset: digits\nclassifier: F:Nothing\n", "fake_methods:Nothing: cannot be imported"),
        ("dataset: digits\nembedding: {name: F:Slice, mu: {grid: []}}\nextender: F:Shift\n",
         "mine.yaml:2: embedding.mu: a grid is a list of values with at least one"),
        ("dataset: digits\nembedding: {name: F:Slice, mu: {grid: {from: 1, to: 3}}}\n"
         "extender: F:Shift\n", "embedding.mu: a grid is a list, or {from: 1"),
        ("dataset: digits\nclassifier: F:NN\npublished: {misclassification_rate: {digits: {NNN: {7: 3}}}}\n",
         "mine.yaml:3: published.misclassification_rate.digits.NNN: no arm NNN"),
        ("dataset: digits\nclassifier: F:NN\noutputs: [{dataset: digits}]\n", "either a table or a figure"),
        ("dataset: digits\nclassifier: F:NN\nclaims: [{source: a, best: F:NN, monotone: falling}]\n",
         "a claim has one of"),
    ],
)  # fmt: skip
def test_mistakes(bench, text, words):
    assert words in "\n".join(mistakes(bench, text))


def test_numbers_with_exponents_are_numbers(bench):
    text = """\
dataset: digits
embedding: {name: fake_methods:Slice, scale: 1e-3, mu: '1e-3'}
extender: fake_methods:Shift
classifier: fake_methods:NN
"""
    parameters = bench.load(text).arms["fake_methods:Shift"].embedding.parameters
    assert parameters == {"scale": 0.001, "mu": "1e-3"}


def test_overrides(bench, small):
    experiment = bench.load(
        small, "split.repetitions=7", "arms.A.extender.amount=1e-2", "datasets.0.per_class=8", "title=New title"
    )
    assert experiment.split.repetitions == 7
    assert experiment.arms["A"].extender.name == "fake_methods:Shift"
    assert experiment.arms["A"].extender.parameters == {"amount": 0.01}
    assert experiment.datasets[0].options == {"per_class": 8}
    assert experiment.title == "New title"


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("split.repetition=7", '--set split.repetition: no such key; did you mean "repetitions"'),
        ("nothing", "write PATH=VALUE"),
        ("datasets.4.label=x", "4 is not an entry of a list of 1"),
        ("metrics=[", "not a YAML value"),
    ],
)
def test_wrong_overrides(bench, small, override, words):
    assert words in "\n".join(mistakes(bench, small, override))


def test_include_is_put_beneath(bench):
    bench.write("split: {repetitions: 9, seed: 4}\nmetrics: [recognition_rate]\n", "common/base.yaml")
    text = "include: common/base.yaml\ndataset: digits\nclassifier: fake_methods:NN\nsplit: {seed: 5}\n"
    experiment = bench.load(text)
    assert (experiment.split.repetitions, experiment.split.seed) == (9, 5)
    assert experiment.metrics == ["recognition_rate"]


def test_later_includes_win_and_the_file_wins_over_all(bench):
    bench.write("split: {repetitions: 7, seed: 1}\n", "common/base.yaml")
    bench.write("split: {repetitions: 8}\n", "common/more.yaml")
    text = "include: [common/base.yaml, common/more.yaml]\ndataset: digits\nclassifier: fake_methods:NN\n"
    split = bench.load(text).split
    assert (split.repetitions, split.seed) == (8, 1)


def test_claims_are_appended_to_those_of_an_include(bench):
    bench.write("metrics: [recognition_rate]\nclaims:\n  - {source: base, best: NN}\n", "common/base.yaml")
    text = """\
include: common/base.yaml
dataset: digits
arms: {NN: {classifier: fake_methods:NN}}
metrics: [misclassification_rate]
claims:
  - {source: mine, best: NN}
  - {source: mine, best: %s}
"""
    experiment = bench.load(text % "NN")
    assert [claim.source for claim in experiment.claims] == ["base", "mine", "mine"]
    assert experiment.metrics == ["misclassification_rate"]
    (line,) = mistakes(bench, text % "nobody")
    assert line.startswith("mine.yaml:7: claims.2.best: no arm nobody")


def test_many_keys_are_read_in_linear_time(bench):
    """Each key looked at all others once: lines run grow as the keys do, not as their square."""
    import sys

    from manifold_oos.config.yaml_tree import read_tree

    def lines_run(n):
        path = bench.write("arms:\n" + "".join(f"  a{i}: {{classifier: nn}}\n" for i in range(n)))
        count = 0

        def trace(frame, event, _):
            nonlocal count
            count += event == "line"
            return trace if "manifold_oos" in frame.f_code.co_filename else None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            tree = read_tree(path)
        finally:
            sys.settrace(before)
        assert len(tree.values["arms"]) == n and tree.place(("arms", f"a{n - 1}", "classifier")).line == n + 1
        return count

    assert lines_run(1600) < 5 * lines_run(400)


@pytest.mark.parametrize(
    "name, expected",
    [("mine.yaml", "mine"), ("a b/configs/x y/z:1.yaml", "x_y/z_1"), ("configs/nsse/coil20.yaml", "nsse/coil20")],
)
def test_names_of_results(tmp_path, name, expected):
    from manifold_oos.config.load import config_name

    assert config_name(tmp_path / name) == expected


def test_every_shipped_config_has_the_schema_line():
    from manifold_oos.resources import shipped

    root = shipped("configs")
    for path in root.rglob("*.yaml"):
        to_root = "../" * (len(path.relative_to(root).parts) - 1)
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first == f"# yaml-language-server: $schema={to_root}schema.json", path


def test_errors_of_an_included_file_name_that_file(bench):
    bench.write("\nsplit: {repetition: 9}\n", "common/base.yaml")
    (line,) = mistakes(bench, "include: [common/base.yaml]\ndataset: digits\nclassifier: F:NN\n")
    assert line.startswith("common/base.yaml:2: split.repetition: no such key")


def test_include_of_itself_and_of_nothing(bench):
    assert mistakes(bench, "include: mine.yaml\n") == ["mine.yaml:1: include: mine.yaml includes itself"]
    assert "no such file" in mistakes(bench, "include: no.yaml\n")[0]


def test_merge_keys_and_anchors(bench):
    text = """\
dataset: digits
arms:
  A: &a {embedding: {name: fake_methods:Slice}, extender: fake_methods:Shift, note: first}
  B: {<<: *a, note: second}
"""
    experiment = bench.load(text)
    assert experiment.arms["B"].extender.name == "fake_methods:Shift"
    assert (experiment.arms["A"].note, experiment.arms["B"].note) == ("first", "second")


def test_alias_bomb_is_refused(bench):
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "more than 100000 values" in mistakes(bench, "\n".join(lines))[0]


def test_unknown_config_lists_the_nearest(bench):
    with pytest.raises(ConfigError, match=r"no such config; did you mean \"configs/quickstart.yaml\""):
        load_config("configs/quikstart.yaml")


def test_shipped_config_is_found_from_anywhere(bench):
    assert load_config("configs/quickstart.yaml").name == "quickstart"


def test_resolved_config_loads_to_the_same_experiment(bench, small):
    from manifold_oos.config.dump import config_text

    small["datasets"][0] |= {"per_class": 9, "split": {"fraction": 0.3}}
    small["arms"]["A"]["embedding"]["mu"] = {"grid": [1, 2], "default": 1}
    small["selection"] = ["train_only", {"paper": {"mu": "best"}}]
    small["published"] = {"misclassification_rate": {"blobs": {"A": {3: 13.9, 5: 4}}}}
    small["claims"] = [{"source": "§1", "left": "A", "op": "<", "right": ["B", 3.0]}]
    small["outputs"] = [{"table": 2, "dataset": "blobs"}, {"figure": "6a", "x": "n_components"}]
    experiment = bench.load(small)
    again = bench.load(config_text(experiment), name="again.yaml")
    assert again.model_dump(exclude={"datasets"}) == experiment.model_dump(exclude={"datasets"})
    assert again.datasets[0].options == experiment.datasets[0].options
    assert again.split_of(again.datasets[0]) == experiment.split_of(experiment.datasets[0])


def test_schema_is_current():
    from manifold_oos.config.schema import schema_text
    from manifold_oos.resources import shipped

    committed = (shipped("configs") / "schema.json").read_text(encoding="utf-8")
    assert committed == schema_text(), "run python -m manifold_oos.config.schema"


def test_every_shipped_config_is_valid_and_in_the_schema():
    from manifold_oos.config.schema import config_schema
    from manifold_oos.config.yaml_tree import read_tree
    from manifold_oos.resources import shipped, shipped_configs

    known = set(config_schema()["properties"])
    for name in shipped_configs():
        load_config(shipped("configs") / name)
        assert set(read_tree(shipped("configs") / name).values) <= known, name
