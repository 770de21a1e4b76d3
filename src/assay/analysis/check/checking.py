"""A run compared with a baseline: the coefficients that are judged, and what else differs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from assay.analysis.check.baseline import Baseline, BaselineDataset, BaselineMetric
from assay.analysis.check.cells import Cell, Pairing, Verdict, judge_pairing
from assay.analysis.check.settings import CheckSettings
from assay.analysis.check.shifts import ScoreShift, shift_of
from assay.analysis.check.systems import MissingAnswers, SystemPairing, judge_system, pair_systems, pair_with_first
from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder
from assay.common.messages import Setting
from assay.exceptions import InputError, unknown_name
from assay.manifest import identity_of

#: A metric below this share of its old speed is reported. The share is low because machines differ, and because speeds
#: in a baseline are rounded to one digit, which changes them by up to a half.
SLOWER = 0.5


@dataclass(frozen=True)
class CheckFinding:
    """One difference between run and baseline other than a coefficient.

    Attributes:
        kind: the kind of difference.
        dataset: the name of the dataset; empty for the whole run.
        metric: the name of the metric; empty for a whole dataset or run.
        text: the difference in one line.
        fails: whether the difference fails the gate.
    """

    kind: Literal[
        "changed settings",
        "changed version",
        "changed data",
        "changed signature",
        "missing",
        "missing answers",
        "missing scores",
        "new",
        "other name",
        "slower",
    ]
    dataset: str
    metric: str
    text: str
    fails: bool = False


def _settings_in_signature(signature: str) -> dict[str, str]:
    """Return the settings in the signature of a run, by name.

    The version of assay is left out, and so are the settings of resampling, since the gate draws its own resamples, and
    those that only say which numbers a run has, since the gate judges what both have.
    """
    ignored = ("assay", "bootstrap", "resamples", "confidence", "seed", "buckets", "statistics", "controls")
    settings = {}
    for entry in signature.split("|"):
        name, _, value = entry.partition(":")
        if name not in ignored:
            settings[name] = value
    return settings


def _describe_changed_pairs(data: ScoredDataset, baseline: BaselineDataset) -> str:
    """Return in words how the pairs of a dataset differ from those of a baseline; empty if they are the same.

    Only the number of pairs and their digest are compared, so the datasets may have different names.
    """
    if baseline.n != len(data):
        return f"{baseline.n:,} -> {len(data):,} pairs"
    new_digest = data.facts.digest
    if baseline.digest != new_digest:
        digests = f"digest {baseline.digest[:8]} -> {new_digest[:8]}"
        return f"texts, labels, groups or order of the {baseline.n:,} pairs ({digests})"
    return ""


def _describe_changed_names(data: ScoredDataset, baseline: BaselineDataset) -> str:
    """Return how the version or the split of a dataset differs, in words; empty if neither does."""
    names = ("version", baseline.version, data.facts.version), ("split", baseline.split, data.facts.split)
    return "; ".join(f"{name} {before!r} -> {after!r}" for name, before, after in names if before != after)


def _reason_for_absence(data: ScoredDataset, metric_before: BaselineMetric) -> str:
    """Return in words why the run lacks a metric of the baseline.

    If the run has a metric that differs from it in its weights only, the text names that metric.
    """
    identity = identity_of(metric_before.signature, weights=False)
    for name, record in data.metrics.items():
        if identity_of(record.signature, weights=False) == identity:
            changes = _changed_signature_parts(metric_before.signature, record.signature)
            return (
                f"the run has {name}, the same but for its weights: {changes}; to judge new weights, give both runs one"
                " name for them: --metric NAME=METRIC"
            )
    return "the run was not asked for it"


def _missing_metric_finding(data: ScoredDataset, metric: str, metric_before: BaselineMetric) -> CheckFinding:
    """Return the finding that a metric of the baseline has no scores in the run, with the reason."""
    records = {record.metric: record for record in data.run.manifest.metrics if record.dataset == data.name}
    missing = metric in records and not records[metric].is_done
    reason = records[metric].missing_reason if missing else _reason_for_absence(data, metric_before)
    return CheckFinding("missing", data.name, metric, f"in the baseline, not in the run ({reason})", fails=True)


def _metric_findings(
    data: ScoredDataset, metric: str, metric_before: BaselineMetric, *, has_same_pairs: bool
) -> Iterator[CheckFinding]:
    """Yield findings on a metric that both have: a changed signature, missing scores, and lost speed.

    Args:
        data: the dataset of the run.
        metric: the name of the metric.
        metric_before: the metric in the baseline.
        has_same_pairs: whether the pairs are the same; only then scores are compared pair by pair.
    """
    record = data.metrics[metric]
    changes = _changed_signature_parts(metric_before.signature, record.signature)
    if changes:
        yield CheckFinding("changed signature", data.name, metric, changes)
    if has_same_pairs:
        lost = int((np.isfinite(metric_before.scores) & ~np.isfinite(data.scores[metric])).sum())
        if lost:
            text = f"{lost:,} of {len(data):,} pairs had a score and have none now"
            yield CheckFinding("missing scores", data.name, metric, text, fails=True)
    # None if not measured; 0 if the time was too short or too long for it
    speed_before, speed_now = metric_before.pairs_per_second, record.cost.pairs_per_second
    if speed_before and speed_now and speed_now / speed_before < SLOWER:
        text = (
            f"{speed_before / speed_now:.1f} times slower: {speed_now:,.0f} pairs per second, {speed_before:,.0f} in"
            " the baseline (a warning: machines differ)"
        )
        yield CheckFinding("slower", data.name, metric, text)


def _changed_signature_parts(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return the parts in which two signatures differ, such as ``seed 0 -> 1``; empty if they are equal."""
    # of two signatures with one identity, a changed subject is another path to the same thing
    is_same_metric = identity_of(before) == identity_of(now)
    changes = []
    for key in dict.fromkeys([*before, *now]):
        is_other_path = key == "subject" and is_same_metric
        if before.get(key) != now.get(key) and not is_other_path:
            changes.append(f"{key} {before.get(key, 'absent')} -> {now.get(key, 'absent')}")
    return "; ".join(changes)


@dataclass(frozen=True)
class GateReport:
    """The result of a check.

    Attributes:
        cells: the coefficients, judged or only shown, in the order of the run.
        findings: what else differs.
        settings: the settings of the check.
        family: the number of judged cells whose scores changed, which the level of the intervals is corrected for.
        titles: the name of each dataset in tables.
        shifts: how far the scores moved of the metrics whose scores changed on the same pairs.
    """

    cells: tuple[Cell, ...]
    findings: tuple[CheckFinding, ...]
    settings: CheckSettings
    family: int
    titles: dict[str, str] = field(default_factory=dict)
    shifts: tuple[ScoreShift, ...] = ()

    @property
    def judged(self) -> list[Cell]:
        """The cells that count for the gate."""
        return [cell for cell in self.cells if cell.judged]

    @property
    def passed(self) -> bool:
        """Whether no cell, no finding and no shift of scores fails."""
        results: list[Cell | CheckFinding | ScoreShift] = [*self.cells, *self.findings, *self.shifts]
        return not any(result.fails for result in results)


def check_run(
    run: RunFolder, baseline: Baseline, settings: CheckSettings, advance: Callable[[int], None] | None = None
) -> GateReport:
    """Return the comparison of a run with a baseline.

    Coefficients of unchanged scores are unchanged without a test; the level of the intervals is corrected for all other
    judged coefficients.

    Args:
        run: the run to judge.
        baseline: the baseline to compare it with.
        settings: the coefficients to judge, and how strictly.
        advance: a progress callback that is called with 1 after each metric on each dataset, and again after its
            comparison with the first baseline of a chain; None for no progress.

    Raises:
        InputError: the run folder is broken, neither run nor baseline has a name in the settings, the pairs differ and
            the settings do not allow it, systems cannot be compared (see
            :func:`~assay.analysis.check.systems.pair_systems`), or nothing is judged that is defined in either.
    """
    datasets = {data.name: data for data in read_datasets(run)}
    _check_names(datasets.values(), baseline, settings)
    pairings, findings = _pair_datasets(run, datasets, baseline, settings)
    systems, answer_findings = _pair_systems(datasets, baseline, settings)
    findings += answer_findings
    family = sum(not system.has_same_values for system in systems)
    for pairing in pairings:
        if not pairing.has_same_scores:
            judged_buckets = [bucket for bucket in settings.buckets if bucket in pairing.data.buckets]
            family += len(judged_buckets) * len(pairing.statistics)
    cells = [judge_system(system, settings, family) for system in systems]
    shifts = []
    for pairing in pairings:
        if not pairing.changed and not pairing.first:
            cause = _changed_signature_parts(pairing.old.signature, pairing.data.metrics[pairing.metric].signature)
            shifts.append(shift_of(pairing, cause, settings.max_shift))
        cells += judge_pairing(pairing, settings, family)
        if advance:
            advance(1)
    titles = {name: data.title for name, data in datasets.items()}
    report = GateReport(
        cells=tuple(cells),
        findings=tuple(findings),
        settings=settings,
        family=family,
        titles=titles,
        shifts=tuple(shift for shift in shifts if shift is not None),
    )
    # a missing dataset or metric fails the gate, which is result enough
    if report.passed and all(cell.verdict is Verdict.undefined for cell in report.judged):
        raise InputError(f"{run.title}: {_reasons_for_no_judgement(report)}, so that there is nothing to pass or fail")
    return report


def _check_names(datasets: Collection[ScoredDataset], baseline: Baseline, settings: CheckSettings) -> None:
    """Raise InputError if the settings name a metric, bucket or dataset that is not there.

    Metrics and datasets may be in the run or in the baseline; buckets have to be in the run.
    """
    metrics: list[str] = []
    for dataset in baseline.datasets.values():
        metrics += dataset.metrics
    buckets: list[str] = []
    for data in datasets:
        metrics += data.scores
        buckets += data.buckets
    _check_known("metrics", settings.metrics, metrics)
    _check_known("buckets", settings.buckets, buckets)
    _check_known("datasets", settings.datasets, [*(data.name for data in datasets), *baseline.datasets])


def _check_known(setting: str, named: Sequence[str], known: Iterable[str]) -> None:
    """Raise InputError for the first name of a setting that is not known."""
    names = dict.fromkeys(known)
    for name in named:
        if name not in names:
            raise InputError(unknown_name("neither run nor baseline has", name, names), setting=setting)


def _pair_datasets(
    run: RunFolder, datasets: Mapping[str, ScoredDataset], baseline: Baseline, settings: CheckSettings
) -> tuple[list[Pairing], list[CheckFinding]]:
    """Return the metrics that run and baseline share, and the findings, both dataset by dataset.

    Raises:
        InputError: the pairs of a dataset differ, and the settings do not allow it.
    """
    pairings: list[Pairing] = []
    findings: list[CheckFinding] = []
    # assay's version is compared in the signature of each metric
    changed = _changed_signature_parts(
        _settings_in_signature(baseline.run), _settings_in_signature(run.manifest.signature)
    )
    if changed:
        findings.append(CheckFinding("changed settings", "", "", changed))
    for name in settings.datasets or dict.fromkeys([*datasets, *baseline.datasets]):
        if name not in datasets:
            reason = run.manifest.request.unavailable.get(name) or _hint_to_rename(name, datasets, baseline)
            findings.append(
                CheckFinding("missing", name, "", f"in the baseline, not in the run ({reason})", fails=True)
            )
        elif name not in baseline.datasets:
            findings.append(CheckFinding("new", name, "", "not in the baseline"))
        else:
            paired, differing = _pair_dataset(datasets[name], baseline, settings)
            pairings += paired
            findings += differing
    return pairings, findings


def _pair_systems(
    datasets: Mapping[str, ScoredDataset], baseline: Baseline, settings: CheckSettings
) -> tuple[list[SystemPairing], list[CheckFinding]]:
    """Return the systems that run and baseline share, and the findings on answers, both dataset by dataset.

    Raises:
        InputError: systems cannot be compared, see :func:`~assay.analysis.check.systems.pair_systems`.
    """
    pairings, findings = [], []
    for name in settings.datasets or datasets:
        if name not in datasets or name not in baseline.datasets:
            continue
        shared_systems, lacking, new_names = pair_systems(datasets[name], baseline.datasets[name], settings)
        pairings += shared_systems
        if baseline.origin is not None and name in baseline.origin.datasets:
            pairings += pair_with_first(datasets[name], baseline.origin.datasets[name], settings)
        findings += missing_findings(name, lacking)
        findings += [CheckFinding("new", name, system, "not in the baseline") for system in new_names]
    return pairings, findings


def missing_findings(dataset: str, missing: Sequence[MissingAnswers]) -> list[CheckFinding]:
    """Return a finding for each system that lacks answers of the baseline."""
    findings = []
    for lacking in missing:
        text = f"{lacking.items:,} of the {lacking.answered:,} items that {lacking.system} answered have no answer now"
        findings.append(CheckFinding("missing answers", dataset, lacking.system, text, fails=True))
    return findings


def _hint_to_rename(name: str, datasets: Mapping[str, ScoredDataset], baseline: Baseline) -> str:
    """Return in words why a dataset of the baseline is not in the run, with the option that gives it the expected name.

    If a dataset of the run has the same pairs under another name, the text says so.
    """
    for data in datasets.values():
        if data.name not in baseline.datasets and not _describe_changed_pairs(data, baseline.datasets[name]):
            option = Setting("dataset", f"{name}={data.facts.source}").with_flag({})
            return f"{data.name} has the same pairs: give the run {option}"
    option = Setting("dataset", f"{name}=FILE").with_flag({})
    return f"the run was not asked for it; a file of another name is run as {option}"


def _reasons_for_no_judgement(report: GateReport) -> str:
    """Return in words why no judged coefficient is defined, as the start of a message."""
    settings, judged = report.settings, report.judged
    if judged:
        reasons = dict.fromkeys(cell.difference.note for cell in judged if cell.difference.notes)
        reason = f" ({'; '.join(reasons)})" if reasons else ""
        statistics = dict.fromkeys(cell.statistic for cell in judged)
        return f"{', '.join(statistics)} in {', '.join(settings.buckets)} is defined for no metric{reason}"
    clauses = [f"run and baseline share no number in {', '.join(settings.buckets)}"]
    for finding in report.findings:
        if finding.kind == "new":
            clauses.append(f"{finding.metric or finding.dataset} is {finding.text}")
    return "; ".join(clauses)


def _pair_dataset(
    data: ScoredDataset, baseline: Baseline, settings: CheckSettings
) -> tuple[list[Pairing], list[CheckFinding]]:
    """Return the metrics that run and baseline share on one dataset, and the findings on it.

    A metric whose scores in the baseline differ from those in the first one of its chain is paired with these, too. A
    metric of the run that has another name and the same signature in the baseline gets that name.

    Args:
        data: the dataset in the run; the baseline has it, too.
        baseline: the baseline.
        settings: the metrics and coefficients to judge, and whether pairs may differ.

    Raises:
        InputError: the pairs differ, and the settings do not allow it.
    """
    baseline_dataset = baseline.datasets[data.name]
    changed_pairs = _describe_changed_pairs(data, baseline_dataset)
    changed_names = _describe_changed_names(data, baseline_dataset)
    # other answers of the systems are other pairs
    may_differ = settings.allow_changed_data or settings.system is not None
    if changed_pairs and not may_differ:
        differences = "; ".join(filter(None, (changed_names, changed_pairs)))
        raise InputError(
            f"{data.run.title}: {data.name} has other pairs than the baseline ({differences}), so that no paired test "
            "is possible; write a new baseline with: assay baseline RUN --out FILE, or give ",
            Setting("allow_changed_data"),
        )
    statistics = tuple(settings.statistics) or _default_statistics(data, baseline_dataset)
    run_names = list(data.scores)
    data = data.with_metric_names_from(
        {name: dict(metric.signature) for name, metric in baseline_dataset.metrics.items()}
    )
    findings = []
    for run_name, name in zip(run_names, data.scores, strict=True):
        if run_name != name:
            text = f"called {run_name} in the run: the same signature"
            findings.append(CheckFinding("other name", data.name, name, text))
    findings += _changed_data_findings(data.name, changed_names, changed_pairs)
    pairings = []
    for metric in dict.fromkeys([*data.scores, *baseline_dataset.metrics]):
        if settings.metrics and metric not in settings.metrics:
            continue
        if metric not in data.scores:
            findings.append(_missing_metric_finding(data, metric, baseline_dataset.metrics[metric]))
        elif metric not in baseline_dataset.metrics:
            findings.append(CheckFinding("new", data.name, metric, "not in the baseline"))
        else:
            before = baseline_dataset.metrics[metric]
            findings += _metric_findings(data, metric, before, has_same_pairs=not changed_pairs)
            pairing = Pairing(data, metric, before, changed_pairs, baseline.confidence, statistics)
            pairings.append(pairing)
            first = _first_of_chain(data, metric, baseline)
            if first is not None:
                pairings.append(replace(pairing, old=first, changed="", first=True))
    return pairings, findings


def _changed_data_findings(dataset: str, changed_names: str, changed_pairs: str) -> Iterator[CheckFinding]:
    """Yield findings on a dataset whose version, split or pairs differ, each in words; empty if they are the same."""
    if changed_names:
        text = changed_names if changed_pairs else f"{changed_names}; the pairs are the same"
        yield CheckFinding("changed version", dataset, "", text)
    if changed_pairs:
        yield CheckFinding("changed data", dataset, "", f"{changed_pairs}; compared by independent intervals")


def _default_statistics(data: ScoredDataset, baseline: BaselineDataset) -> tuple[str, ...]:
    """Return the coefficient to judge by default: an AUC if the labels are yes and no, else Spearman's.

    Baselines of older versions lack the AUC; with them it is Spearman's as well.
    """
    baseline_statistics: set[str] = set()
    for metric in baseline.metrics.values():
        for by_statistic in metric.agreement.values():
            baseline_statistics.update(by_statistic)
    statistic = data.vote_statistic
    return (statistic,) if statistic is not None and statistic in baseline_statistics else ("spearman",)


def _first_of_chain(data: ScoredDataset, metric: str, baseline: Baseline) -> BaselineMetric | None:
    """Return a metric in the first baseline of the chain.

    It is None if there is no chain, if the pairs differ, if the first baseline lacks the metric, or if the metric has
    the same scores in both baselines.
    """
    if baseline.origin is None or data.name not in baseline.origin.datasets:
        return None
    origin = baseline.origin.datasets[data.name]
    return None if _describe_changed_pairs(data, origin) else origin.metrics.get(metric)
