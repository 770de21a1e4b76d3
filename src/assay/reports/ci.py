"""The files that run a gate in continuous integration: a workflow, an entry for pre-commit, and a file of tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.analysis.check.settings import BaselineSettings, SystemsOfBaseline
from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder
from assay.analysis.recommend.decision import kept_decision
from assay.common.addresses import command_line, is_address
from assay.exceptions import InputError
from assay.manifest import DatasetRecord, RequestRecord
from assay.settings import RequestSettings
from assay.statistics.coefficients import deciding_statistic

WORKFLOW = Path(".github/workflows/assay.yml")
HOOKS = Path(".pre-commit-config.yaml")
TESTS = Path("tests/test_assay.py")
#: Kinds of metrics that a plain installation computes; what a function of the user needs, only the user knows.
_PLAIN_KINDS = frozenset({"", "lexical", "function", "recorded"})
#: The options of a run by which a file is read, each with the entry of the manifest.
_READING = ("columns", "separator", "labels", "missing", "annotator", "encoding", "member")


@dataclass(frozen=True)
class CiFile:
    """A file to write, or to add to one that exists.

    Attributes:
        path: the path below the folder of the project.
        text: the contents.
    """

    path: Path
    text: str


@dataclass(frozen=True)
class CiFiles:
    """The files for a run and its baseline.

    Attributes:
        files: the files.
        notes: what the user has to know or to do, one line each.
    """

    files: tuple[CiFile, ...]
    notes: tuple[str, ...]


def ci_files(run: RunFolder, baseline: Path, settings: BaselineSettings) -> CiFiles:
    """Return the files with which GitHub, pre-commit and pytest compare new runs with a baseline.

    Args:
        run: the run that the baseline is made of.
        baseline: the path of the baseline.
        settings: the settings of the baseline, for its systems.

    Raises:
        InputError: the run cannot be repeated by a command, or a file of it is not below the current folder.
    """
    project = Path.cwd().resolve()
    datasets = read_datasets(run)
    metrics = _metrics_to_judge(run)
    words = _run_words(run, datasets, metrics, project)
    kept = _path_in_project(baseline, project, "the baseline")
    notes = []
    check = SystemsOfBaseline(system=settings.system, item=settings.item).words()
    if len(metrics) < len(run.manifest.request.metrics):
        # the baseline has the others, too
        check += [word for metric in metrics for word in ("--metric", _name_of(metric))]
        reason = "the others have no scores" if kept_decision(run) is None else "the metric of the decision"
        notes.append(f"judged: {', '.join(metrics)}; {reason}")
    judged = {_name_of(metric) for metric in metrics}
    kinds = {metric.declared.kind for metric in run.manifest.metrics if metric.metric in judged}
    install = "assay"
    if kinds - _PLAIN_KINDS:
        extras = {"judge": "judge", "amr": "amr"}
        install = f"assay[{','.join(sorted({extras.get(kind, 'neural') for kind in kinds - _PLAIN_KINDS}))}]"
        notes.append("metrics with models: the job needs the models (or the keys of their servers) and their licences")
    command = command_line("baseline", run.title, "--out", kept, *settings.words())
    files = [
        CiFile(WORKFLOW, _workflow(command, words, kept, check, install)),
        CiFile(HOOKS, _hooks(run, kept, check, project)),
    ]
    tests, reasons = _tests(command, run, datasets, metrics, kept, settings, project)
    if tests:
        files.append(CiFile(TESTS, tests))
    notes += reasons
    return CiFiles(tuple(files), tuple(notes))


def _path_in_project(path: Path, project: Path, what: str) -> str:
    """Return a path relative to the current folder, with slashes.

    Raises:
        InputError: it is not below that folder, so that a checkout of the project lacks it.
    """
    resolved = path.resolve()
    if not resolved.is_relative_to(project):
        raise InputError(
            f"{path}: {what} is not below {project}, so that a checkout lacks it; copy it there, run again, and give "
            "this command in the folder of the project",
            setting="ci",
        )
    return resolved.relative_to(project).as_posix()


def _dataset_words(record: DatasetRecord, project: Path) -> str:
    """Return a dataset as it is given to a run: a name, or a file below the current folder.

    Raises:
        InputError: the data was in memory, or its file is elsewhere.
    """
    path = Path(record.source)
    if record.kind != "own" and record.version:
        split = f":{record.split}" if record.split else ""
        return f"{record.name}@{record.version}{split}"
    if is_address(record.source):
        return record.source
    if not path.is_file():
        raise InputError(
            f"{record.name}: its data ({record.source}) is no file here, so that no job can read it; give "
            "this command in the folder that the file was named from, or run on a file",
            setting="ci",
        )
    relative = _path_in_project(path, project, f"the data of {record.name}")
    split = f":{record.split}" if record.split else ""
    return f"{relative}{split}" if path.stem == record.name else f"{record.name}={relative}{split}"


def _reading_words(record: DatasetRecord) -> list[str]:
    words = []
    for name in _READING:
        value = getattr(record, name)
        # columns under usual names were not named
        if value not in (None, ""):
            words += [f"--{name}", str(value)]
    return [*words, *(["--drop-unlabelled"] if record.drop_unlabelled else [])]


def _name_of(metric: str) -> str:
    """Return the name of a metric in a run, which an alias ``NAME=METRIC`` gives it."""
    alias, is_alias, _ = metric.partition("=")
    # an option has an equals sign as well
    return alias if is_alias and not set(alias) & set(":,") else metric


def _metrics_to_judge(run: RunFolder) -> list[str]:
    """Return the metrics as they were typed: the one that the run decides by, else all that have scores.

    Raises:
        InputError: no metric has scores.
    """
    done = {metric.metric for metric in run.manifest.metrics if metric.is_done}
    decision = kept_decision(run)
    if decision is not None:
        done &= {decision.metric}
    metrics = [metric for metric in run.manifest.request.metrics if _name_of(metric) in done]
    if not metrics:
        raise InputError(f"{run.title}: no metric has scores that a command can repeat", setting="ci")
    return metrics


def _run_words(run: RunFolder, datasets: Sequence[ScoredDataset], metrics: Sequence[str], project: Path) -> list[str]:
    """Return the words after ``assay run`` that repeat a run with some metrics.

    Args:
        run: the run.
        datasets: its datasets.
        metrics: the names of the metrics.
        project: the folder in which the command runs, from which files are named.

    Raises:
        InputError: the run has scores or graphs from other files, or its files were read by different settings.
    """
    request = run.manifest.request
    if request.recorded_files or request.graphs:
        raise InputError(
            f"{run.title}: has scores or graphs from other files, which these files cannot repeat", setting="ci"
        )
    words, readings = [], []
    for data in datasets:
        words += ["--dataset", _dataset_words(data.facts, project)]
        reading = _reading_words(data.facts)
        if data.facts.language and not data.facts.version:
            reading = [*reading, "--language", data.facts.language]
        readings.append(reading)
    if any(reading != readings[0] for reading in readings):
        raise InputError(
            f"{run.title}: its files were read by different settings; make a baseline of each", setting="ci"
        )
    words += readings[0] if readings else []
    for metric in metrics:
        words += ["--metric", metric]
    settings = RequestSettings(**request.values_of(RequestSettings))
    # the manifest has what a run without the option comes to
    return [*words, *settings.words(leave_out=() if settings.drop_duplicates else ("drop_duplicates",))]


def _quoted(text: str) -> str:
    """Return text as a YAML scalar in double quotes, in which GitHub evaluates no expression."""
    return json.dumps(text.replace("${{", "${{ '${{' }}"), ensure_ascii=False)


def _shell_words(words: Sequence[str]) -> str:
    """Return words quoted for a shell, as the action reads them."""
    return command_line(*words).removeprefix("assay ").removeprefix("assay")


def _workflow(command: str, words: Sequence[str], baseline: str, check: Sequence[str], install: str) -> str:
    return f"""\
# made by: {command}
name: assay
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  similarity:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - uses: assay-bench/assay@main
        with:
          install: {_quoted(install)}
          run: {_quoted(_shell_words(words))}
          baseline: {_quoted(baseline)}
          check: {_quoted(_shell_words(check))}
"""


def _hooks(run: RunFolder, baseline: str, check: Sequence[str], project: Path) -> str:
    folder = run.title
    if run.path is not None and run.path.resolve().is_relative_to(project):
        folder = run.path.resolve().relative_to(project).as_posix()
    arguments = ", ".join(json.dumps(word, ensure_ascii=False) for word in (folder, "--against", baseline, *check))
    return f"""\
# compares the run folder that was written last with the baseline
repos:
  - repo: https://github.com/assay-bench/assay
    rev: main
    hooks:
      - id: assay-check
        args: [{arguments}]
"""


def _tests(
    command: str,
    run: RunFolder,
    datasets: Sequence[ScoredDataset],
    metrics: Sequence[str],
    baseline: str,
    settings: BaselineSettings,
    project: Path,
) -> tuple[str, list[str]]:
    """Return the file of tests, empty if there is none to write, and why metrics or all of it are left out.

    Args:
        command: the command that writes the files.
        run: the run that the baseline is made of.
        datasets, metrics: its datasets, and the names of the metrics.
        baseline: the path of the baseline in the project.
        settings: the settings of the baseline.
        project: the folder of the project.
    """
    request = run.manifest.request
    other = request.values_of(RequestSettings)
    unknown = [name for name in ("limit", "sample", "drop_duplicates") if other[name]]
    unknown += ["references"] if other["references"] != RequestSettings().references else []
    if unknown:
        return "", [f"no file of tests: assert_agreement does not know {', '.join(unknown)}"]
    plain = [metric for metric in metrics if _name_of(metric) == metric]
    notes = []
    if len(plain) < len(metrics):
        renamed = ", ".join(metric for metric in metrics if metric not in plain)
        notes.append(f"not in the file of tests, since they have names of their own: {renamed}")
    if not plain:
        return "", notes
    tests = "\n\n\n".join(_test(data, number, request, settings, project) for number, data in enumerate(datasets, 1))
    return (
        f'''"""Metrics{" and systems" if settings.system else ""} are no worse than in the baseline; made by:

{command}
"""

from pathlib import Path

import assay
import pytest

PROJECT = Path(__file__).resolve().parents[1]
BASELINE = PROJECT / {json.dumps(baseline)}
METRICS = {json.dumps(plain, ensure_ascii=False)}


{tests}
''',
        notes,
    )


def _test(data: ScoredDataset, number: int, request: RequestRecord, settings: BaselineSettings, project: Path) -> str:
    """Return the test of one dataset as the text of a function."""
    lines = "\n".join(f"        {name}={value!r}," for name, value in _test_settings(data, request, settings))
    reading = "".join(f", {name}={value!r}" for name, value in _load_settings(data.facts))
    return f"""@pytest.mark.parametrize("metric", METRICS)
def test_no_worse_{number}(assert_agreement, monkeypatch, metric):
    monkeypatch.chdir(PROJECT)
    pairs = assay.load_dataset({_dataset_words(data.facts, project)!r}{reading})
    assert_agreement(
        metric,
        pairs,
        against=BASELINE,
{lines}
    )"""


def _load_settings(record: DatasetRecord) -> Iterator[tuple[str, object]]:
    for name in _READING:
        if getattr(record, name) not in (None, ""):
            yield name, getattr(record, name)
    if record.drop_unlabelled:
        yield "drop_unlabelled", True
    if record.language and not record.version:
        yield "language", record.language


def _test_settings(
    data: ScoredDataset, request: RequestRecord, settings: BaselineSettings
) -> Iterator[tuple[str, object]]:
    judged = deciding_statistic([data.vote_statistic])
    yield "statistic", judged if judged in request.statistics else "spearman"
    if request.group_by is not None:
        yield "group_by", request.group_by
    for name in ("system", "item"):
        if getattr(settings, name) is not None:
            yield name, getattr(settings, name)
