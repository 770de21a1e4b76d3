"""The pytest plugin, as a project's own tests see it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from assay.analysis.check.baseline import continue_chain, read_baseline, take_baseline, to_text
from assay.exceptions import InputError
from assay.pytest_plugin import assert_agreement
from assay.statistics.paired_change import paired_changes

pytest_plugins = ["pytester"]

DATA = """
import random

def pairs(n, noise=0.6):
    draw = random.Random(0)
    rows = []
    for i in range(n):
        label = i % 3
        rows.append((f"{label + draw.gauss(0, noise)}", f"pair {i}", float(label)))
    return rows

def score(references, candidates):
    return [float(reference) for reference in references]

def blurred(references, candidates):
    draw = random.Random(1)
    return [float(reference) + draw.gauss(0, 2) for reference in references]
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Import what a run imports, since inner sessions forget their imports, and NumPy cannot be imported twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        rows = [("a b", "a b", 2), ("a b", "a c", 1), ("a b", "c d", 0)] * 5
        path = tmp_path_factory.mktemp("kept") / "kept.json"
        assert_agreement("f1", rows, at_least=0.5, against=path, update=True)
        assert_agreement("f1", rows, against=path)
        assert_agreement("f1", rows, against="chrf", margin=0.9)


@pytest.fixture
def project(pytester, monkeypatch, loaded):
    """Return a function that runs the body of a test of a project with the plugin, and no other plugin."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(mine=DATA)

    def run(body, *args):
        pytester.makepyfile(test_it=f"from mine import *\n\ndef test_it(assert_agreement):\n    {body}\n")
        quiet = "ignore::pytest.PytestAssertRewriteWarning"  # the plugin was imported above
        return pytester.runpytest_inprocess("-p", "assay.pytest_plugin", "-W", quiet, *args)

    return run


@pytest.mark.slow
def test_above_the_bar(project):
    done = project("assert_agreement(score, pairs(300), at_least=0.6)")
    done.assert_outcomes(passed=1, warnings=0)


def test_below_the_bar(project):
    done = project("assert_agreement(blurred, pairs(300), at_least=0.6)")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*AssertionError: recorded:blurred() on data, all: Spearman ρ .3* [[].2*, .4*] (n = 300) is below 0.6"]
    )
    assert "pytest_plugin.py" not in done.stdout.str()


def test_too_little_data_passes_with_a_warning(project):
    done = project("assert_agreement(blurred, pairs(20), at_least=0.6)")
    done.assert_outcomes(passed=1, warnings=1)
    done.stdout.fnmatch_lines(
        ["*AgreementWarning: too little data to tell: recorded:blurred()*may lie below or above*"]
    )
    # the warning stands at the line of the test
    done.stdout.fnmatch_lines(["*test_it.py:4: AgreementWarning*"])


@pytest.mark.slow
def test_strict_is_no_warning(project):
    done = project("assert_agreement(score, pairs(30), at_least=0.7, strict=True)")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*AssertionError: too little data to tell: *"])


@pytest.mark.slow
def test_an_update_keeps_the_first_baseline_of_a_chain(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=200)
    rows = [(f"r {number}", "c", label) for number, label in enumerate(labels)]
    path = tmp_path / "kept.json"

    def updated(scores):
        def mine(references, candidates):
            return scores

        assert_agreement(mine, rows, against=path, update=True)
        return read_baseline(path)

    first, second = updated(labels), updated(labels + rng.normal(size=200))
    assert second.origin is None, "no chain was begun"
    path.write_text(to_text(continue_chain(second, first)), encoding="utf-8")
    third = updated(labels + rng.normal(size=200))
    origin = third.origin.datasets["data"].metrics["recorded:mine()"]
    assert origin.scores == pytest.approx(labels, abs=1e-6)
    assert third.datasets["data"].metrics["recorded:mine()"].scores != pytest.approx(labels, abs=0.1)


def test_the_warning_can_be_made_an_error(project):
    error = "error::assay.pytest_plugin.AgreementWarning"
    project("assert_agreement(blurred, pairs(20), at_least=0.6)", "-W", error).assert_outcomes(failed=1)


def test_too_few_pairs_for_an_interval(project):
    done = project("assert_agreement(score, pairs(6), at_least=0.1)")
    done.assert_outcomes(passed=1, warnings=1)
    done.stdout.fnmatch_lines(["*has no interval to compare with 0.1: no interval below 10 pairs"])


def test_undefined_fails(project):
    done = project("assert_agreement(lambda r, c: [1.0] * len(r), pairs(30), at_least=0.1)")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*is undefined: constant score"])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("lambda r, c: [1.0]", "gave 1 scores for 30 pairs"),
        ("lambda r, c: [float('nan')] * len(r)", "gave nan, which is not a score"),
    ],
)
def test_a_function_that_is_none(project, function, said):
    done = project(f"assert_agreement({function}, pairs(30), at_least=0.1)")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"*AssertionError: <lambda>() {said}"])


def test_a_metric_by_name_a_bucket_and_another_statistic(project):
    body = """rows = [("x b", "x b", 2), ("x b", "x c", 1), ("x b", "c d", 0)] * 20
    assert_agreement("f1", rows, at_least=0.99, statistic="kendall")
    assert_agreement("f1", rows, at_least=0.99, statistic="auc", bucket="label>=1")"""
    project(body).assert_outcomes(passed=1)


def test_several_gold_answers_count_by_the_best(project):
    body = """rows = [{"reference": ["0", str(i % 3)], "candidate": "x", "label": i % 3} for i in range(30)]
    assert_agreement(score, rows, at_least=0.99)"""
    project(body).assert_outcomes(passed=1)


def test_a_file_with_columns_of_its_own(project, pytester):
    lines = "\n".join(f"{i % 3},x,{i % 3}" for i in range(60))
    pytester.path.joinpath("own.csv").write_text(f"gold,answer,human\n{lines}\n")
    columns = "reference=gold,candidate=answer,label=human"
    project(f"assert_agreement(score, 'own.csv', columns='{columns}', at_least=0.9)").assert_outcomes(passed=1)


@pytest.mark.slow
def test_against_another_metric(project):
    worse = project("assert_agreement(blurred, pairs(300), against=score)")
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(
        ["*Spearman ρ of recorded:blurred() minus that of recorded:score()*worse by more than 0.01"]
    )
    project("assert_agreement(score, pairs(300), against=blurred)").assert_outcomes(passed=1, warnings=0)
    few = project("assert_agreement(lambda r, c: [round(float(one)) for one in r], pairs(15), against=score)")
    few.assert_outcomes(passed=1, warnings=1)
    undefined = project("assert_agreement(score, pairs(300), against='f1')")
    undefined.assert_outcomes(failed=1)
    undefined.stdout.fnmatch_lines(["*Spearman ρ of recorded:score() minus that of f1 on data, all: – *: undefined"])


def test_the_interval_against_another_metric_is_that_of_the_gate():
    rows = [
        {"reference": f"r{i}", "candidate": f"c{i}", "label": i % 3, "good": i % 3 + i % 7 / 9, "bad": i % 11 / 3}
        for i in range(60)
    ]
    bad, good, labels = (np.array([row[name] for row in rows], dtype=float) for name in ("bad", "good", "label"))
    (change,) = paired_changes(bad, good, labels, statistics=("spearman",), confidence=0.95)
    with pytest.raises(AssertionError) as caught:
        assert_agreement("recorded:bad", rows, against="recorded:good", margin=0, resamples=200, seed=5)
    assert change.difference.text in str(caught.value)


@pytest.mark.slow
def test_against_a_baseline(project, pytester):
    body = "assert_agreement(score, pairs(300), against='kept.json')"
    first = project(body)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*there is no such baseline yet; write it with: pytest --assay-update"])
    project(body, "--assay-update").assert_outcomes(passed=1)
    text = pytester.path.joinpath("kept.json").read_text()
    project(body).assert_outcomes(passed=1)
    assert pytester.path.joinpath("kept.json").read_text() == text
    # the project's function gets worse
    pytester.makepyfile(mine=DATA.replace("def score", "def better").replace("def blurred", "def score"))
    sys.modules.pop("mine", None)
    worse = project(body)
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["*against kept.json FAILED: 1 worse"])
    pytester.path.joinpath("kept.json").write_text("{")
    project(body).stdout.fnmatch_lines(["*InputError: kept.json: is not valid JSON*"])


def test_scores_that_moved_too_far_fail_if_asked(tmp_path):
    rows = [(f"r {i}", f"c {i}", i % 3) for i in range(60)]
    path = tmp_path / "kept.json"

    def score(references, candidates):
        return [float(text.split()[1]) for text in references]

    assert_agreement(score, rows, against=path, update=True)
    scale = 100

    def scaled(references, candidates):
        return [scale * value for value in score(references, candidates)]

    scaled.__name__ = "score"
    assert_agreement(scaled, rows, against=path)
    with pytest.raises(AssertionError, match="1 moved too far"):
        assert_agreement(scaled, rows, against=path, max_shift=0.5)
    with pytest.raises(InputError, match="max_shift"):
        assert_agreement(scaled, rows, at_least=-1, max_shift=0.5)


CLASS = """
from dataclasses import dataclass
from assay.metrics import Declaration, PairMetric

def helper(reference, candidate):
    return {sign}float(candidate)

@dataclass(frozen=True)
class Mine(PairMetric):
    "The same in both files."
    declaration = Declaration("mine", "reads the candidate", low=-100, high=100)

    def scorer(self):
        return helper

def test_it(assert_agreement):
    rows = [(f"r{{i}}", f"{{i}}", {sign}float(i)) for i in range(60)]
    assert_agreement({scored}, rows, {asked})
"""


@pytest.fixture
def two_files(pytester, monkeypatch, loaded):
    """Return a function that runs two test files with the same name in two folders, each with its own metric."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(scored, asked, *args):
        for folder, sign in (("first", ""), ("second", "-")):
            path = pytester.path / folder / "test_it.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(CLASS.format(sign=sign, scored=scored, asked=asked))
        quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
        return pytester.runpytest_inprocess("-p", "assay.pytest_plugin", "--import-mode=importlib", *quiet, *args)

    return run


@pytest.mark.slow
def test_metrics_of_two_test_files_of_one_name_stay_apart(two_files):
    two_files("Mine()", "at_least=0.9").assert_outcomes(passed=2)


@pytest.mark.slow
def test_what_a_metric_of_the_tests_calls_may_change(pytester, two_files):
    two_files("Mine()", "at_least=0.9").assert_outcomes(passed=2)
    path = pytester.path / "first" / "test_it.py"
    path.write_text(path.read_text().replace("return float(candidate)", "return -float(candidate)"))
    done = pytester.runpytest_inprocess("-p", "assay.pytest_plugin", "--import-mode=importlib", "first")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*AssertionError: mine on data, all: Spearman ρ -1.000*is below 0.9"])


@pytest.mark.slow
def test_two_tests_do_not_write_one_baseline(two_files, pytester):
    function = "lambda r, c: [helper(*pair) for pair in zip(r, c)]"
    done = two_files(function, "against='kept.json'", "--assay-update")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        ["*InputError: kept.json: holds the baseline of first/test_it.py::test_it; give second/test_it.py::test_it*"]
    )
    two_files(function, "against=f'{__file__}.json'", "--assay-update").assert_outcomes(passed=2)
    two_files(function, "against=f'{__file__}.json'").assert_outcomes(passed=2)


@pytest.fixture
def other_speed_every_time(monkeypatch):
    """Give each baseline other speeds, as if the store had had the scores of the first only."""
    speeds = iter(range(10, 90, 10))

    def take_with_other_speeds(run, *systems):
        baseline = take_baseline(run, *systems)
        datasets = {}
        for name, dataset in baseline.datasets.items():
            metrics = {
                metric: replace(kept, pairs_per_second=float(next(speeds))) for metric, kept in dataset.metrics.items()
            }
            datasets[name] = replace(dataset, metrics=metrics)
        return replace(baseline, datasets=datasets)

    monkeypatch.setattr("assay.analysis.check.baseline.take_baseline", take_with_other_speeds)


@pytest.mark.slow
def test_tests_that_differ_by_margin_alone_share_a_baseline(project, pytester, other_speed_every_time):
    first, second = (
        f"assert_agreement(score, pairs(60), against='kept.json', margin={margin})" for margin in (0.1, 0.2)
    )
    project(f"{first}\n\ndef test_too(assert_agreement):\n    {second}", "--assay-update").assert_outcomes(passed=2)
    assert '"pairs_per_second": 10.0' in pytester.path.joinpath("kept.json").read_text()
    third = second.replace("0.2", "0.2, seed=1")
    done = project(f"{first}\n\ndef test_too(assert_agreement):\n    {third}", "--assay-update")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*InputError: kept.json: holds the baseline of test_it.py::test_it; give *::test_too*"])


def test_what_is_no_baseline_stays(project, pytester):
    mine = pytester.path / "package.json"
    mine.write_text('{"name": "mine"}')
    done = project("assert_agreement(score, pairs(60), against='package.json')", "--assay-update")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*package.json: holds something else than a baseline; give `against` another name*"])
    assert mine.read_text() == '{"name": "mine"}'


def test_as_a_function(project):
    body = "from assay.pytest_plugin import assert_agreement as f; f(score, pairs(100), at_least=0.5)"
    project(body).assert_outcomes(passed=1)
    project("assert_agreement(score, pairs(100))").stdout.fnmatch_lines(
        ["*TypeError: assert_agreement needs at_least=*"]
    )


def test_it_is_an_entry_point_and_light():
    (point,) = [point for point in metadata.entry_points(group="pytest11") if point.name == "assay"]
    assert point.value == "assay.pytest_plugin"
    code = "import sys, assay.pytest_plugin; print({'numpy', 'pandas', 'pyarrow', 'typer'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("'f1', at_least=0.1, bucket='f1'", "InputError: bucket 'f1': names no single bucket; use one of all, f1=0*"),
        ("score, against=score, bucket='f1'", "InputError: bucket 'f1': names no single bucket; use one of all, f1=*"),
        ("score, against=Path('foo.txt')", "InputError: against='foo.txt': a baseline is a file that ends in .json"),
        ("'f1', against='f1'", "InputError: against='f1': is the metric itself"),
        ("lambda r, c: None, at_least=0.1", "AssertionError: <lambda>() must return a list of 60 numbers, not None*"),
        (
            "lambda r, c: 'x' * 60, at_least=0.1",
            "AssertionError: <lambda>() must return a list of 60 numbers, not str*",
        ),
    ],
)
def test_what_cannot_be_asked(project, call, said):
    first, rest = call.rsplit(", ", 1) if "bucket" not in call else call.split(", ", 1)
    done = project(f"from pathlib import Path; assert_agreement({first}, pairs(60), {rest})")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"*{said}"])


def test_two_functions_of_one_name(project):
    blurs = "lambda r, c: blurred(r, c), pairs(300), against=lambda r, c: score(r, c)"
    done = project(f"assert_agreement({blurs})")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*of recorded:<lambda>() minus that of recorded:against <lambda>() on data*worse by more*"]
    )


def test_against_a_baseline_of_several_metrics(project):
    body = """import assay
    rows = [("a b", "a b", 2), ("a b", "a c", 1), ("a b", "c d", 0)] * 5
    assay.run([assay.load_dataset(rows)], ["f1", "chrf"], resamples=0, statistics=["spearman"], out="run")
    assay.baseline("run", "both.json")
    assert_agreement("f1", rows, against="both.json")"""
    project(body).assert_outcomes(passed=1)


def test_every_argument_is_explained():
    arguments = set(inspect.signature(assert_agreement).parameters)
    explained = inspect.getdoc(assert_agreement).partition("Args:")[2].partition("Raises:")[0]
    assert set(re.findall(r"^    (\w+):", explained, flags=re.MULTILINE)) == arguments
    page = Path(__file__).parents[1] / "docs" / "gate.md"
    table = page.read_text(encoding="utf-8").partition("| argument | default |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    # pytest sets it
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == arguments - {"update"}
