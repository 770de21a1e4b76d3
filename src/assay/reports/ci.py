"""The files that run a gate in continuous integration: a workflow, an entry for pre-commit, and a file of tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from assay.analysis.check.settings import BaselineSettings, SystemsOfBaseline
from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder
from assay.analysis.recommend.decision import kept_decision
from assay.common.addresses import command_line, is_address
from assay.exceptions import InputError
from assay.manifest import DatasetRecord, RequestRecord
from assay.settings import ChosenRows, GoldAnswers, Limited, RequestSettings
from assay.statistics.coefficients import deciding_statistic

WORKFLOW = Path(".github/workflows/assay.yml")
HOOKS = Path(".pre-commit-config.yaml")
TESTS = Path("tests/test_assay.py")
#: Kinds of metrics that a plain installation computes; what a function of the user needs, only the user knows.
_PLAIN_KINDS = frozenset({"", "lexical", "function", "recorded"})
#: Kind of metric -> the extra of assay that it needs; ``neural`` for other kinds that need one.
_EXTRAS = {"judge": "judge", "amr": "amr"}
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
        InputError: the run cannot be repeated by a command, its folder is incomplete or was changed by hand, or the
            baseline or a file of the data is not below the current folder.
    """
    project = Path.cwd().resolve()
    datasets = read_datasets(run)
    metrics = _metrics_to_judge(run)
    run_words = _run_words(run, datasets, metrics, project)
    baseline_path = _path_in_project(baseline, project, "the baseline")
    notes = []
    check_words = SystemsOfBaseline(system=settings.system, item=settings.item).words()
    if len(metrics) < len(run.manifest.request.metrics):
        # the baseline has the others, too
        for metric in metrics:
            check_words += ["--metric", _name_of(metric)]
        reason = "the others have no scores" if kept_decision(run) is None else "the metric of the decision"
        notes.append(f"judged: {', '.join(metrics)}; {reason}")
    judged_names = {_name_of(metric) for metric in metrics}
    kinds = {metric.declared.kind for metric in run.manifest.metrics if metric.metric in judged_names}
    extras = sorted({_EXTRAS.get(kind, "neural") for kind in kinds - _PLAIN_KINDS})
    if extras:
        notes.append("metrics with models: the job needs the models (or the keys of their servers) and their licences")
    requirement = f"assay[{','.join(extras)}]" if extras else "assay"
    command = command_line("baseline", run.title, "--out", baseline_path, *settings.words())
    files = [
        CiFile(WORKFLOW, _workflow(command, run_words, baseline_path, check_words, requirement)),
        CiFile(HOOKS, _hooks(run, baseline_path, check_words, project)),
    ]
    tests, reasons = _tests(command, run, datasets, metrics, baseline_path, settings, project)
    if tests:
        files.append(CiFile(TESTS, tests))
    notes += reasons
    return CiFiles(tuple(files), tuple(notes))


def _path_in_project(path: Path, project: Path, subject: str) -> str:
    """Return a path relative to the folder of the project, with slashes.

    Args:
        path: the path.
        project: the folder of the project, without links.
        subject: what the path is, for the message.

    Raises:
        InputError: it is not below that folder, so that a checkout of the project lacks it.
    """
    resolved = path.resolve()
    if not resolved.is_relative_to(project):
        raise InputError(
            f"{path}: {subject} is not below {project}, so that a checkout lacks it; copy it there, run again, and"
            " give this command in the folder of the project",
            setting="ci",
        )
    return resolved.relative_to(project).as_posix()


def _dataset_words(record: DatasetRecord, project: Path) -> str:
    """Return a dataset as it is given to a run: a name with version and split, an address, or a file of the project.

    Raises:
        InputError: the data was in memory, or its file is not found from the current folder or not below *project*.
    """
    path = Path(record.source)
    split = f":{record.split}" if record.split else ""
    if record.kind != "own" and record.version:
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
    return f"{relative}{split}" if path.stem == record.name else f"{record.name}={relative}{split}"


def _reading_words(record: DatasetRecord) -> list[str]:
    """Return the options of ``assay run`` with which a dataset was read, with its language unless its card has it."""
    words = []
    for name in _READING:
        value = getattr(record, name)
        # columns under usual names were not named
        if value not in (None, ""):
            words += [f"--{name}", str(value)]
    if record.drop_unlabelled:
        words.append("--drop-unlabelled")
    if record.language and not record.version:
        words += ["--language", record.language]
    return words


def _name_of(metric: str) -> str:
    """Return the name of a metric in a run, which an alias ``NAME=METRIC`` gives it."""
    before, equals_sign, _ = metric.partition("=")
    # in "judge:model=x" the sign is that of an option, after a colon
    is_alias = equals_sign and ":" not in before and "," not in before
    return before if is_alias else metric


def _metrics_to_judge(run: RunFolder) -> list[str]:
    """Return the metrics as they were typed: the one that the run decides by, else all that have scores.

    Raises:
        InputError: no metric has scores, or the decision was changed by hand.
    """
    scored_names = {metric.metric for metric in run.manifest.metrics if metric.is_done}
    decision = kept_decision(run)
    if decision is not None:
        scored_names &= {decision.metric}
    metrics = [metric for metric in run.manifest.request.metrics if _name_of(metric) in scored_names]
    if not metrics:
        raise InputError(f"{run.title}: no metric has scores that a command can repeat", setting="ci")
    return metrics


def _run_words(run: RunFolder, datasets: Sequence[ScoredDataset], metrics: Sequence[str], project: Path) -> list[str]:
    """Return the words after ``assay run`` that repeat a run with some metrics.

    Args:
        run: the run.
        datasets: its datasets.
        metrics: the metrics as they were typed.
        project: the folder in which the command runs, from which files are named.

    Raises:
        InputError: the run has scores or graphs from other files, its files were read by different settings, or a
            dataset cannot be named, see :func:`_dataset_words`.
    """
    request = run.manifest.request
    if request.recorded_files or request.graphs:
        raise InputError(
            f"{run.title}: has scores or graphs from other files, which these files cannot repeat", setting="ci"
        )
    words = []
    for data in datasets:
        words += ["--dataset", _dataset_words(data.facts, project)]
    reading_words = [_reading_words(data.facts) for data in datasets]
    if any(words_of_dataset != reading_words[0] for words_of_dataset in reading_words):
        raise InputError(
            f"{run.title}: its files were read by different settings; make a baseline of each", setting="ci"
        )
    words += reading_words[0] if reading_words else []
    for metric in metrics:
        words += ["--metric", metric]
    settings = RequestSettings(**request.values_of(RequestSettings))
    # False is what a run without the option comes to, and differs from the default, None
    leave_out = () if settings.drop_duplicates else ("drop_duplicates",)
    return [*words, *settings.words(leave_out)]


def _yaml_text(text: str) -> str:
    """Return text as a YAML scalar in double quotes, in which GitHub evaluates no expression."""
    return json.dumps(text.replace("${{", "${{ '${{' }}"), ensure_ascii=False)


def _shell_words(words: Sequence[str]) -> str:
    """Return words quoted for a shell, as the action reads them."""
    return command_line(*words).removeprefix("assay ").removeprefix("assay")


def _workflow(
    command: str, run_words: Sequence[str], baseline: str, check_words: Sequence[str], requirement: str
) -> str:
    """Return a workflow of GitHub Actions that runs assay and compares the run with the baseline.

    Args:
        command: the command that made the file, for its first line.
        run_words: the words that follow ``assay run``.
        baseline: the path of the baseline in the project.
        check_words: further words of ``assay check``.
        requirement: what pip installs.
    """
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
          install: {_yaml_text(requirement)}
          run: {_yaml_text(_shell_words(run_words))}
          baseline: {_yaml_text(baseline)}
          check: {_yaml_text(_shell_words(check_words))}
"""


def _hooks(run: RunFolder, baseline: str, check_words: Sequence[str], project: Path) -> str:
    """Return a configuration of pre-commit that compares the run folder with the baseline.

    Args:
        run: the run; its folder is named as the user gave it, unless the folder is below *project*.
        baseline: the path of the baseline in the project.
        check_words: further words of ``assay check``.
        project: the folder of the project.
    """
    folder = run.title
    if run.path is not None and run.path.resolve().is_relative_to(project):
        folder = run.path.resolve().relative_to(project).as_posix()
    words = (folder, "--against", baseline, *check_words)
    arguments = ", ".join(json.dumps(word, ensure_ascii=False) for word in words)
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

    A metric with an alias is left out, since ``assert_agreement`` takes none. So is the whole file if the run chose its
    pairs, or treated gold answers, by a setting that ``assert_agreement`` lacks.

    Args:
        command: the command that writes the files.
        run: the run that the baseline is made of.
        datasets, metrics: its datasets, and the metrics as they were typed.
        baseline: the path of the baseline in the project.
        settings: the settings of the baseline.
        project: the folder of the project.

    Raises:
        InputError: a dataset cannot be named, see :func:`_dataset_words`.
    """
    request = run.manifest.request
    values, defaults = request.values_of(RequestSettings), RequestSettings()
    names = [field.name for classes in (Limited, ChosenRows, GoldAnswers) for field in fields(classes)]
    # False is what a run without --drop-duplicates comes to
    unknown = [name for name in names if name != "group_by" and values[name] not in (getattr(defaults, name), False)]
    if unknown:
        return "", [f"no file of tests: assert_agreement does not know {', '.join(unknown)}"]
    metrics_without_alias = [metric for metric in metrics if _name_of(metric) == metric]
    notes = []
    if len(metrics_without_alias) < len(metrics):
        renamed = ", ".join(metric for metric in metrics if metric not in metrics_without_alias)
        notes.append(f"not in the file of tests, since they have names of their own: {renamed}")
    if not metrics_without_alias:
        return "", notes
    tests = "\n\n\n".join(
        _test_of_dataset(data, number, request, settings, project) for number, data in enumerate(datasets, 1)
    )
    return (
        f'''"""Metrics{" and systems" if settings.system else ""} are no worse than in the baseline; made by:

{command}
"""

from pathlib import Path

import assay
import pytest

PROJECT = Path(__file__).resolve().parents[1]
BASELINE = PROJECT / {json.dumps(baseline)}
METRICS = {json.dumps(metrics_without_alias, ensure_ascii=False)}


{tests}
''',
        notes,
    )


def _test_of_dataset(
    data: ScoredDataset, number: int, request: RequestRecord, settings: BaselineSettings, project: Path
) -> str:
    """Return the test of one dataset as the text of a function.

    Args:
        data: the dataset.
        number: the number of the dataset, which is part of the name of the function.
        request: what the run was asked for.
        settings: the settings of the baseline.
        project: the folder in which the test runs; the data is below it.

    Raises:
        InputError: the dataset cannot be named, see :func:`_dataset_words`.
    """
    setting_lines = "\n".join(f"        {name}={value!r}," for name, value in _test_settings(data, request, settings))
    reading_arguments = "".join(f", {name}={value!r}" for name, value in _load_settings(data.facts))
    return f"""@pytest.mark.parametrize("metric", METRICS)
def test_no_worse_{number}(assert_agreement, monkeypatch, metric):
    monkeypatch.chdir(PROJECT)
    pairs = assay.load_dataset({_dataset_words(data.facts, project)!r}{reading_arguments})
    assert_agreement(
        metric,
        pairs,
        against=BASELINE,
{setting_lines}
    )"""


def _load_settings(record: DatasetRecord) -> Iterator[tuple[str, object]]:
    """Yield the name and the value of each argument of :func:`assay.load_dataset` with which a dataset was read."""
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
    """Yield the name and the value of each setting of a test of a dataset: its statistic, and others if not default.

    Args:
        data: the dataset.
        request: what the run was asked for.
        settings: the settings of the baseline.
    """
    judged = deciding_statistic([data.vote_statistic])
    yield "statistic", judged if judged in request.statistics else "spearman"
    if request.group_by is not None:
        yield "group_by", request.group_by
    for name in ("system", "item"):
        if getattr(settings, name) is not None:
            yield name, getattr(settings, name)
