"""The files for continuous integration: what they hold, that they run, and that nothing is replaced."""

from __future__ import annotations

import csv
import dataclasses
import json
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import assay
from assay.exceptions import InputError
from assay.reports.ci import HOOKS, TESTS, WORKFLOW
from assay.settings import ChosenRows, GoldAnswers, Limited
from tests.cli.calling import call
from tests.reports.page_run import edit
from tests.reports.test_gate_systems import answers, unsure

yaml = pytest.importorskip("yaml")


def write_answers(path, rows):
    names = {"question": "Question", "reference": "Gold", "candidate": "Answer", "label": "Right", "model": "Model"}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names.values())
        for row in rows:
            writer.writerow([{1.0: "yes", 0.0: "no"}.get(row[name], row[name]) for name in names])


#: How the file is read: a role for each column, and the words that stand for labels.
READING = {
    "columns": "reference=Gold,candidate=Answer,label=Right,question=Question",
    "labels": "yes=1,no=0",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project as the current folder, with a file of answers and a run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_answers(tmp_path / "data" / "my answers.csv", answers(questions=60))
    run_answers("runs/main")
    return tmp_path


def run_answers(out, metrics=("f1", "chrf"), **settings):
    return assay.run(
        ["data/my answers.csv"], list(metrics), buckets=["none"], resamples=200, out=out, **READING, **settings
    )


def test_the_three_files(project):
    assert assay.baseline("runs/main", "baseline.json", system="Model", ci="github") == Path("baseline.json")
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    steps = workflow["jobs"]["similarity"]["steps"]
    inputs = steps[-1]["with"]
    action = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text(encoding="utf-8"))
    assert inputs.keys() <= action["inputs"].keys()
    assert {name for name, one in action["inputs"].items() if one.get("required")} <= inputs.keys()
    assert inputs["baseline"] == "baseline.json" and inputs["check"] == "--system Model"
    assert shlex.split(inputs["run"])[:2] == ["--dataset", "data/my answers.csv"]
    # "on" is a truth value to YAML 1.1
    assert workflow[True] == {"push": {"branches": ["main"]}, "pull_request": None}
    (repository,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"]
    (hook,) = repository["hooks"]
    (known,) = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["id"] == known["id"]
    assert hook["args"] == ["runs/main", "--against", "baseline.json", "--system", "Model"]
    compile(TESTS.read_text(encoding="utf-8"), str(TESTS), "exec")


def test_columns_of_usual_names_are_not_named(project):
    with Path("usual.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, answers(questions=60)[0])
        writer.writeheader()
        writer.writerows(answers(questions=60))
    assay.run("usual.csv", ["f1"], buckets=["none"], resamples=200, out="runs/usual")
    assay.baseline("runs/usual", "baseline.json", ci="github")
    inputs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["similarity"]["steps"][-1]["with"]
    assert call("run", *shlex.split(inputs["run"]), "--out", "runs/new", "-q").code == 0
    assert "load_dataset('usual.csv')" in TESTS.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_commands_of_the_workflow_and_the_hook_run(project):
    assay.baseline("runs/main", "baseline.json", system="Model", ci="github")
    inputs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["similarity"]["steps"][-1]["with"]

    def gate():
        run = [*shlex.split(inputs["run"]), "--out", "runs/new", "-q"]
        check = ["runs/new", "--against", inputs["baseline"], *shlex.split(inputs["check"])]
        for words in (["run", *run], ["check", *check]):
            done = subprocess.run(
                [sys.executable, "-m", "assay", "--no-config", *words], capture_output=True, text=True, check=False
            )
        return done.returncode, done.stdout

    code, text = gate()
    assert code == 0 and "passed: 4 unchanged" in text
    write_answers(Path("data/my answers.csv"), unsure(answers(questions=60), "b", every=4))
    shutil.rmtree("runs/new")
    code, text = gate()
    assert code == 3 and "1 worse" in text
    hook = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"][0]["hooks"][0]
    done = subprocess.run(
        [sys.executable, "-m", "assay", "--no-config", "check", *hook["args"]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "passed: 4 unchanged" in done.stdout


@pytest.mark.slow
def test_the_file_of_tests_runs(project):
    assay.baseline("runs/main", "baseline.json", system="Model", ci="github")

    def tests(*words):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = tests()
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout
    write_answers(Path("data/my answers.csv"), unsure(answers(questions=60), "b", every=4))
    done = tests("-k", "f1")
    assert done.returncode == 1 and "1 worse" in done.stdout, done.stdout


def test_files_that_exist_are_shown_and_left(project):
    HOOKS.write_text("repos: []\n", encoding="utf-8")
    done = call("baseline", "runs/main", "--ci", "github")
    assert HOOKS.read_text(encoding="utf-8") == "repos: []\n"
    assert "--- .pre-commit-config.yaml exists and is left as it is; merge this into it:" in done.out
    assert "id: assay-check" in done.out and "--- .github/workflows/assay.yml is written:" in done.out
    assert WORKFLOW.read_text(encoding="utf-8") in done.out
    assert Path("baseline.json").is_file() and TESTS.is_file()
    assert "left as it is: .pre-commit-config.yaml" in done.err
    # a second time nothing is written but the baseline
    before = WORKFLOW.read_text(encoding="utf-8"), TESTS.read_text(encoding="utf-8")
    TESTS.write_text("mine = 1\n", encoding="utf-8")
    assert call("baseline", "runs/main", "--ci", "github").out.count("exists and is left") == 3
    assert (WORKFLOW.read_text(encoding="utf-8"), TESTS.read_text(encoding="utf-8")) == (before[0], "mine = 1\n")


def test_a_name_is_no_expression_of_github(project):
    name = "data/${{ secrets.KEY }} \"x\" 'y'.csv"
    shutil.copy("data/my answers.csv", name)
    assay.run([name], ["f1"], buckets=["none"], resamples=0, out="runs/odd", **READING)
    assay.baseline("runs/odd", "baseline.json", ci="github")
    inputs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["similarity"]["steps"][-1]["with"]
    assert "${{ secrets" not in inputs["run"]
    evaluated = inputs["run"].replace("${{ '${{' }}", "${{")
    assert shlex.split(evaluated)[1] == name
    compile(TESTS.read_text(encoding="utf-8"), str(TESTS), "exec")


def test_what_a_job_could_not_repeat_is_refused_and_nothing_written(project, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write_answers(elsewhere / "far.csv", answers(questions=30))
    assay.run([elsewhere / "far.csv"], ["f1"], buckets=["none"], resamples=0, out="runs/far", **READING)
    rows = [{"reference": "a b", "candidate": "a" * (i % 3), "label": i % 3} for i in range(30)]
    assay.run([rows], ["f1"], buckets=["none"], resamples=0, out="runs/memory")
    for run, message in (
        ("runs/far", "is not below .*, so that a checkout lacks it"),
        ("runs/memory", "is no file here"),
    ):
        with pytest.raises(InputError, match=message):
            assay.baseline(run, "baseline.json", ci="github")
    with pytest.raises(InputError, match="ci"):
        assay.baseline("runs/main", "baseline.json", ci="gitlab")
    assert not Path("baseline.json").exists() and not WORKFLOW.exists()


def test_settings_of_the_run_are_repeated(project):
    run_answers("runs/set", ["short=chrf,char_order=2"], group_by="Question", limit=50, seed=3)
    done = call("baseline", "runs/set", "--ci", "github")
    inputs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["similarity"]["steps"][-1]["with"]
    words = shlex.split(inputs["run"])
    for flag, value in (
        ("--metric", "short=chrf,char_order=2"),
        ("--group-by", "Question"),
        ("--limit", "50"),
        ("--seed", "3"),
        ("--labels", "yes=1,no=0"),
    ):
        assert words[words.index(flag) + 1] == value
    assert not TESTS.exists() and "no file of tests: assert_agreement does not know limit" in done.err


#: Settings of a run that choose pairs or scores otherwise than `assert_agreement` can.
UNKNOWN_TO_TESTS = {"limit": 50, "sample": 40, "drop_duplicates": True, "references": "mean"}


@pytest.mark.parametrize("name", UNKNOWN_TO_TESTS)
def test_no_tests_are_written_for_other_pairs_than_theirs(project, name):
    choosing = {field.name for settings in (ChosenRows, Limited, GoldAnswers) for field in dataclasses.fields(settings)}
    assert choosing - {"group_by"} == set(UNKNOWN_TO_TESTS), "a new setting needs a value here"
    run_answers("runs/set", ["chrf"], **{name: UNKNOWN_TO_TESTS[name]})
    done = call("baseline", "runs/set", "--ci", "github")
    assert not TESTS.exists() and f"no file of tests: assert_agreement does not know {name}" in done.err


@pytest.mark.parametrize(
    ("kind", "install"),
    [
        *(("lexical", "assay"), ("function", "assay"), ("recorded", "assay")),
        *(("embedding", "assay[neural]"), ("judge", "assay[judge]"), ("amr", "assay[amr]")),
    ],
)
def test_what_is_installed_follows_from_the_metrics(project, kind, install):
    edit(Path("runs/main"), "run.json", lambda manifest: manifest["metrics"][0]["declared"].update(kind=kind))
    done = call("baseline", "runs/main", "--ci", "github")
    inputs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["similarity"]["steps"][-1]["with"]
    assert inputs["install"] == install
    assert ("the job needs the models" in done.err) is (install != "assay")


def test_the_folder_of_a_recommendation_has_its_metric_judged(project):
    assay.recommend("data/my answers.csv", metrics=["f1", "chrf"], out="decision", resamples=200, **READING)
    metric = json.loads(Path("decision/decision.json").read_text(encoding="utf-8"))["decision"]["metric"]
    done = call("baseline", "decision", "--ci", "github")
    inputs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["similarity"]["steps"][-1]["with"]
    words = shlex.split(inputs["run"])
    assert [value for flag, value in pairwise(words) if flag == "--metric"] == [metric]
    assert inputs["check"] == f"--metric {metric}"
    assert f'METRICS = ["{metric}"]' in TESTS.read_text(encoding="utf-8")
    assert f"judged: {metric}; the metric of the decision" in done.err


def test_a_metric_without_scores_is_left_out(project):
    absent = {"status": "unavailable", "reason": "absent", "remedy": ""}
    edit(Path("runs/main"), "run.json", lambda manifest: manifest["metrics"][1].update(absent))
    call("baseline", "runs/main", "--ci", "github")
    inputs = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["similarity"]["steps"][-1]["with"]
    assert "chrf" not in inputs["run"] and inputs["check"] == "--metric f1"
