"""Tables: what stands in them, in Markdown, LaTeX and on the terminal."""

import io
import math
import re
import shutil
import subprocess

import pandas as pd
import pytest
from reporting_fakes import fake_rows, make_experiment, swept_rows
from rich.console import Console

from manifold_oos.errors import ConfigError
from manifold_oos.reporting.render import latex, markdown, rich_table
from manifold_oos.reporting.report.blocks import Blocks
from manifold_oos.reporting.report.page import Page
from manifold_oos.results.collect import Results
from manifold_oos.results.sheets import csv_text, read_csv
from manifold_oos.results.tables import TableView, make_tables, protocol_text

NUMBERS = {"A": {5: 4.0, 10: 9.0}, "B": {5: 10.0, 10: 5.0}, "C": 9.3}
PUBLISHED = [
    {
        "source": "Table 2",
        "values": {"misclassification_rate": {"digits": NUMBERS}},
    }
]


def one_table(rows, **config) -> TableView:
    (table,) = make_tables(Results(make_experiment(**config), rows))
    return table


def text_of(table: TableView, width: int = 200) -> str:
    console = Console(width=width, record=True, force_terminal=False, file=io.StringIO())
    console.print(rich_table(table))
    return console.export_text()


def test_arms_by_sizes_in_the_order_of_the_config(rows):
    table = one_table(rows)
    assert table.headers == ["5", "10"] and [line.arm for line in table.lines] == ["A", "B", "C"]
    assert [entry.mean for entry in table.lines[1].entries] == [10.5, 6.5]


def test_every_table_names_protocol_splits_and_data(rows):
    table = one_table(
        rows, datasets=[{"name": "digits", "stand_in": "MNIST", "split": {"train_per_class": [5, 10]}}]
    )
    text = markdown([table])
    assert "no parameter was searched (fixed)" in text
    assert "mean of 4 splits" in text
    assert "digits is a stand-in for MNIST: not a reproduction" in text
    for other in (latex([table]), text_of(table)):
        assert "stand-in for MNIST" in other and "mean of 4 splits" in other and "(fixed)" in other


def test_notes_of_the_config_and_of_arms_stand_under_the_table(rows):
    arms = {"A": {"classifier": "nn", "note": "pseudo-inverse"}, "B": {"classifier": "nn"}}
    table = one_table(rows[rows["arm"] != "C"], arms=arms, note="rendered, not photographed")
    assert table.notes[-2:] == ["A: pseudo-inverse", "rendered, not photographed"]


def test_the_rules_of_the_paper_are_spelled_out():
    experiment = make_experiment(selection=[{"paper": {"n_components": "best", "*": "train_only"}}])
    text = protocol_text(experiment, "paper")
    assert text == "parameters chosen as the paper did (paper; n_components: best; others: train_only)"
    assert "optimistic" in protocol_text(experiment, "best")


def test_ours_with_interval_published_and_verdict(rows):
    table = one_table(rows, published=PUBLISHED)
    md = markdown([table])
    assert "| A | fixed | **4.50 ± 0.65** | 4.00 ?7 | **2.00 ± 0.00** | 9.00 + |" in md
    assert "| B | fixed | 10.50 ± 0.65 | 10.00 = | 6.50 ± 0.65 | 5.00 ?6 |" in md
    assert "| C | fixed | 10.50 ± 0.92 | 9.30 − | 6.50 ± 0.92 | 9.30 + |" in md
    assert "a tenth of the value" in md and "n splits would decide" in md
    shown = text_of(table)
    assert "10.00 match" in shown and "9.00 better" in shown and "9.30 worse" in shown
    assert "4.00 too noisy ?7" in shown and "n splits would decide" in " ".join(shown.split())
    assert "10.00 =" in latex([table]) and r"$\surd$" in latex([table])


def test_without_published_numbers_there_is_no_column_for_them(rows):
    assert "published" not in markdown([one_table(rows)])


def test_latex_is_booktabs_with_bold_best_and_escaped_text(rows):
    arms = {"A": {"classifier": "nn"}, "R&D_50%": {"classifier": "nn"}}
    rows = rows.assign(arm=rows["arm"].replace({"B": "R&D_50%"}))
    tex = latex([one_table(rows[rows["arm"] != "C"], arms=arms)], title="σ_1 & more")
    assert r"\textbf{4.50 $\pm$ 0.65}" in tex and r"R\&D\_50\%" in tex
    for word in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption"):
        assert word in tex
    body = [line for line in tex.splitlines() if not line.startswith("%")]
    assert not re.search(r"(?<!\\)[%#_]", "\n".join(body))


def test_latex_compiles_where_latex_is_installed(rows, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex on this machine")
    tex = latex([one_table(rows, published=PUBLISHED)], title="50 % & more")
    source = tmp_path / "t.tex"
    source.write_text("\\documentclass{article}\\usepackage{booktabs}\\begin{document}" + tex + "\\end{document}")
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True)
    assert source.with_suffix(".pdf").stat().st_size > 0


def test_rows_and_columns_of_latex_agree(rows):
    tex = latex([one_table(rows, published=PUBLISHED)])
    columns = len(re.search(r"begin\{tabular\}\{(l+r+)\}", tex)[1])
    body = tex.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == 3 and all(line.count("&") == columns - 1 for line in body)


def test_each_protocol_has_its_own_table():
    rows = pd.concat(
        [
            fake_rows({("A", "digits", 5): [5.0, 5.5], ("A", "digits", 10): [5.0, 5.5]}),
            fake_rows({("B", "digits", 5): [6.0, 6.5]}, selection="train_only", tuned=False),
            fake_rows({("B", "digits", 5): [4.0, 4.5]}, selection="best"),
        ]
    )
    experiment = make_experiment(selection=["train_only", "best"])
    first, second = make_tables(Results(experiment, rows))
    assert (first.protocol, second.protocol) == ("train_only", "best")
    assert [line.selection for line in first.lines[:2]] == ["fixed", "train_only"]
    assert first.lines[0].entries[0].best and not second.lines[0].entries[0].best
    assert "6.25 ± 3.18 †" in markdown([first]) and any("not tuned" in note for note in first.notes)
    assert "†" not in markdown([second])


def test_outputs_choose_data_sets_arms_sizes_and_metrics(rows):
    outputs = [{"table": 2, "title": "errors", "arms": ["B", "A"], "size": 10, "note": "ours"}, {"figure": 3}]
    table = one_table(rows, outputs=outputs)
    assert table.headers == ["10"] and [line.arm for line in table.lines] == ["A", "B"]
    assert "## Table 2: errors" in markdown([table]) and table.notes[-1] == "ours"


def test_a_selection_that_has_no_rows_is_an_error():
    rows = fake_rows({("A", "digits", 5): [5.0, 5.5]}, selection="best")
    with pytest.raises(ConfigError, match="no rows"):
        one_table(rows, selection=["train_only", "best"], outputs=[{"table": 1, "selection": "train_only"}])


def test_several_data_sets_in_one_table():
    rows = fake_rows({("A", "digits", 5): [5.0, 5.5], ("A", "other", 2): [7.0, 8.0]})
    data = [
        {"name": "digits", "split": {"train_per_class": 5}},
        {"name": "digits", "label": "other", "split": {"train_per_class": 2}},
    ]
    table = one_table(rows, datasets=data, outputs=[{"table": 1, "columns": "dataset"}])
    assert table.headers == ["digits 5", "other 2"]
    assert [entry.mean for entry in table.lines[0].entries] == [5.25, 7.5]


def test_a_column_for_each_value_of_a_swept_parameter():
    rows = pd.concat(
        [
            swept_rows("A", "digits", 5, {0.5: [9.0, 9.5], 2.0: [4.0, 4.4]}, "extender.sigma"),
            fake_rows({("B", "digits", 5): [5.0, 5.5]}),
        ]
    )
    table = one_table(rows, selection="best", outputs=[{"table": "sweep", "columns": "sigma"}])
    assert table.headers == ["0.5", "2"] and "by sigma" in table.title
    assert table.notes[0] == "every value of sigma as it is, nothing chosen"
    assert [entry.mean for entry in table.lines[0].entries] == [9.25, 4.2]
    assert [entry.best for entry in table.lines[0].entries] == [False, True]
    assert [entry.mean for entry in table.lines[1].entries] == [5.25, 5.25]


def test_absent_data_show_the_printed_number_and_never_a_substitute(rows):
    data = [{"name": "digits", "split": {"train_per_class": [5, 10]}}]
    experiment = make_experiment(datasets=data, published=PUBLISHED)
    (table,) = make_tables(Results(experiment, rows.head(0), {"digits": "no such file"}))
    entry = table.lines[0].entries[0]
    assert (entry.state, entry.published, entry.verdict) == ("data absent", 4.0, "")
    assert math.isnan(entry.mean) and "| data absent | 4.00 |" in markdown([table])


def test_what_was_not_run_says_so(rows):
    table = one_table(rows[rows["size"] == 5])
    assert "not run" in markdown([table])


def test_every_value_has_the_digits_that_its_interval_warrants(rows):
    small = rows.assign(metric="embedding_error", value=rows["value"] / 1000)
    assert "0.01050 ± 0.00065" in markdown([one_table(small, metrics=["embedding_error"])])
    large = one_table(rows.assign(metric="fit_seconds", value=rows["value"] * 1000), metrics=["fit_seconds"])
    assert "| 10500 ± 650 |" in markdown([large])
    quick = one_table(rows.assign(metric="fit_seconds", value=rows["value"] ** 4), metrics=["fit_seconds"])
    assert "| **16.0 ± 0.0** |" in markdown([quick]) and "| 1848 ± 1015 |" in markdown([quick])


def test_one_outlier_does_not_set_the_digits_of_a_table():
    rows = fake_rows(
        {("A", "digits", 5): [1.01, 1.05, 1.03], ("B", "digits", 5): [1.0, 650.0, 40.0]}, metric="objective"
    )
    text = markdown([one_table(rows, metrics=["objective"])])
    assert "| **1.030 ± 0.050** |" in text and "| 230 ± 904 |" in text


def test_times_are_the_same_in_every_format(rows, tmp_path):
    small = rows.assign(metric="fit_seconds", value=rows["value"] / 10_000)
    table = one_table(small, metrics=["fit_seconds"])
    cell = Page(Blocks(1000))._table(table, "x", set())["lines"][1]["cells"][0]
    assert (cell["mean"], cell["half"]) == ("0.001050", "0.000065")
    for text in (markdown([table]), text_of(table)):
        assert "0.001050 ± 0.000065" in text
    assert r"0.001050 $\pm$ 0.000065" in latex([table])


def test_markup_in_names_is_no_markup(rows):
    arms = {"<b>A|</b>": {"classifier": "nn"}, "B": {"classifier": "nn"}}
    named = rows[rows["arm"] != "C"].replace({"arm": {"A": "<b>A|</b>"}})
    assert "| &lt;b&gt;A\\|&lt;/b&gt; | fixed |" in markdown([one_table(named, arms=arms)])


def test_names_that_a_spreadsheet_would_run_are_quoted_and_read_back(tmp_path):
    frame = pd.DataFrame({"arm": ["=1+1", "-x", "@a", "'+b", "NN"], "value": [-1.5, 2.0, 3.0, 4.0, 5.0]})
    text = csv_text(frame)
    assert text.splitlines()[1:] == ["'=1+1,-1.5", "'-x,2", "'@a,3", "''+b,4", "NN,5"]
    (tmp_path / "a.csv").write_text(text)
    pd.testing.assert_frame_equal(read_csv(tmp_path / "a.csv", "splits", ("arm",)), frame)
