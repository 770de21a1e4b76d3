"""A run held against a baseline: which numbers are judged, and what else differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from assay.errors import InputError, unknown
from assay.reports.data import ScoredDataset, read_datasets
from assay.reports.folder import RunFolder
from assay.reports.gate.baseline import Baseline
from assay.reports.gate.cells import Cell, Verdict
from assay.reports.gate.findings import Finding, about_metric, about_run, changed_data, changed_names, missing_metric
from assay.reports.gate.pairing import Pairing, cells_of
from assay.reports.gate.settings import Settings

__all__ = ["GateReport", "check"]


@dataclass(frozen=True)
class GateReport:
    """What the gate found.

    Attributes:
        cells: judged ones and others, in the order of the run.
        findings: what else differs.
        settings: what was asked.
        family: judged cells whose scores changed: the number of tests that the level is corrected for.
        titles: how tables name each dataset.
    """

    cells: tuple[Cell, ...]
    findings: tuple[Finding, ...]
    settings: Settings
    family: int
    titles: dict[str, str] = field(default_factory=dict)

    @property
    def judged(self) -> list[Cell]:
        """The cells that count."""
        return [cell for cell in self.cells if cell.judged]

    @property
    def passed(self) -> bool:
        """Whether nothing fails."""
        return not (any(cell.fails for cell in self.cells) or any(one.fails for one in self.findings))


def check(
    run: RunFolder, baseline: Baseline, settings: Settings, advance: Callable[[int], None] | None = None
) -> GateReport:
    """Hold a run against a baseline.

    A number that comes from the same scores is unchanged and no test; the level is corrected for the others.

    Args:
        run: what is judged.
        baseline: what it is held against.
        settings: what is judged, and how strictly.
        advance: called with the number of metrics compared.

    Raises:
        InputError: a broken run folder, a name that neither has, pairs that differ from those of the baseline, or no
            judged number that is defined in either.
    """
    datasets = {one.name: one for one in read_datasets(run)}
    old_metrics = [metric for one in baseline.datasets.values() for metric in one.metrics]
    _check_known("metric", settings.metrics, [*old_metrics, *(m for one in datasets.values() for m in one.scores)])
    _check_known("bucket", settings.buckets, [bucket for one in datasets.values() for bucket in one.buckets])
    names = list(dict.fromkeys([*datasets, *baseline.datasets]))
    _check_known("dataset", settings.datasets, names)
    findings = list(about_run(run.manifest["signature"], baseline))
    pairings: list[Pairing] = []
    for name in settings.datasets or names:
        if name not in datasets:
            why = run.manifest["request"].get("unavailable", {}).get(name, "the run was not asked for it")
            findings.append(Finding("missing", name, "", f"in the baseline, not in the run ({why})", fails=True))
        elif name not in baseline.datasets:
            findings.append(Finding("new", name, "", "not in the baseline"))
        else:
            found, said = _pair(datasets[name], baseline, settings)
            pairings += found
            findings += said
    family = len(settings.statistics) * sum(
        bucket in one.data.buckets for one in pairings if not one.same_scores for bucket in settings.buckets
    )
    cells: list[Cell] = []
    for one in pairings:
        cells += cells_of(one, settings, family)
        if advance:
            advance(1)
    report = GateReport(
        tuple(cells), tuple(findings), settings, family, {name: one.title for name, one in datasets.items()}
    )
    # what is missing fails by itself
    if report.passed and all(cell.verdict is Verdict.undefined for cell in report.judged):
        raise InputError(f"{run.title}: {_nothing_judged(report)}, so that there is nothing to pass or fail")
    return report


def _nothing_judged(report: GateReport) -> str:
    settings, judged = report.settings, report.judged
    if judged:
        reasons = dict.fromkeys(cell.note for cell in judged if cell.note)
        why = f" ({'; '.join(reasons)})" if reasons else ""
        return f"{', '.join(settings.statistics)} in {', '.join(settings.buckets)} is defined for no metric{why}"
    new = [f"{one.metric or one.dataset} is {one.text}" for one in report.findings if one.kind == "new"]
    return f"run and baseline share no number in {', '.join(settings.buckets)}{''.join(f'; {one}' for one in new)}"


def _check_known(what: str, wanted: Sequence[str], known: Iterable[str]) -> None:
    names = dict.fromkeys(known)
    for name in wanted:
        if name not in names:
            raise InputError(unknown(f"--{what}: neither run nor baseline has", name, names))


def _pair(data: ScoredDataset, baseline: Baseline, settings: Settings) -> tuple[list[Pairing], list[Finding]]:
    """Return what both have of a dataset, and what only one of them has.

    Raises:
        InputError: the pairs differ, and that was not allowed.
    """
    old = baseline.datasets[data.name]
    changed, names = changed_data(data, old), changed_names(data, old)
    if changed and not settings.allow_changed_data:
        what = "; ".join(filter(None, (names, changed)))
        raise InputError(
            f"{data.run.title}: {data.name} has other pairs than the baseline ({what}), so that no paired test is "
            "possible; write a new baseline with: assay baseline RUN --out FILE, or give --allow-changed-data"
        )
    found, said = [], []
    if names:
        said.append(Finding("changed version", data.name, "", names if changed else f"{names}; the pairs are the same"))
    if changed:
        said.append(Finding("changed data", data.name, "", f"{changed}; compared by independent intervals"))
    for metric in dict.fromkeys([*data.scores, *old.metrics]):
        if settings.metrics and metric not in settings.metrics:
            continue
        if metric not in data.scores:
            said.append(missing_metric(data, metric))
        elif metric not in old.metrics:
            said.append(Finding("new", data.name, metric, "not in the baseline"))
        else:
            held = old.metrics[metric]
            said += about_metric(data, metric, held, same_data=not changed)
            found.append(Pairing(data, metric, held, changed, baseline.confidence))
    return found, said
