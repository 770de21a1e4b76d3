"""One score learned from several metrics, and the folder that makes it a metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay import __version__
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.errors import InputError
from assay.metrics import load_metric
from assay.metrics.combination import FILE, CombinedFile, LinearStep, Member, TreesStep
from assay.output import unfinished_folder
from assay.paths import user_path
from assay.progress import Silent
from assay.reports.combine import COMBINED, CombineSettings, Combining, combining, to_document
from assay.reports.data import draws_of, signed
from assay.reports.formats import write
from assay.settings import takes_settings
from assay.statistics.learners import Step
from assay.statistics.trees import Trees

#: The file of a folder that tells a reader what was learned.
CARD = "README.md"


@takes_settings(CombineSettings)
def combine(run: Run, settings: CombineSettings) -> Report:
    """Learn one score from the metrics of a run, and tell how far it is better than each of them.

    What is learned is tested by a nested cross-validation over whole groups of pairs: metrics, learner and calibration
    are chosen anew within each part that is learned from.

    Args:
        run: a run folder, or a result of :func:`assay.run`.
        out: where to write the combination; absent or an empty folder. It is a metric then, ``combined:FOLDER``.

    Raises:
        InputError: the run cannot be read or learned from, or *out* is taken.
    """
    out = None if settings.out is None else user_path(settings.out)
    if out is not None and (out.is_file() or (out.is_dir() and any(out.iterdir()))):
        raise InputError(f"{out}: is not an empty folder; give `out` another name")
    progress = settings.progress or Silent()
    with open_runs(run) as (opened,):
        found = combining(opened, settings, progress.begin, progress.advance)
        draws = draws_of(resamples=settings.resamples, confidence=settings.confidence, seed=settings.seed)
        document = signed(
            to_document(found, settings), [found.data], found.inputs.speeds, draws, group_by=settings.group_by
        )
    if out is not None:
        _write(out, found, settings, write(document, "md"))
    return Report(document)


def _write(out: Path, found: Combining, settings: CombineSettings, card: str) -> None:
    """Write a combination as a folder, whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    content = file_of(found, settings)
    with unfinished_folder(out) as folder:
        made = folder / "made"
        made.mkdir()
        (made / FILE).write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
        (made / CARD).write_text(_head(out, content) + card, encoding="utf-8")
        if out.is_dir():
            out.rmdir()
        made.rename(out)


def file_of(found: Combining, settings: CombineSettings) -> CombinedFile:
    """Return what a folder holds of a combination."""
    combination = found.study.combination
    inputs = found.inputs
    members = [inputs.names.index(name) for name in combination.members]
    used = [*members, *(inputs.properties if combination.learner.endswith("properties") else [])]
    records = [found.data.metrics[name] for name in combination.members]
    comparison = found.buckets[0]
    learned = combination.learned
    content = CombinedFile(
        format=1,
        members=tuple(
            Member(
                metric=record.metric,
                higher_is_better=record.declared.higher_is_better,
                signature=record.signature,
                pairs_per_second=record.cost.pairs_per_second,
            )
            for record in records
        ),
        properties=tuple(inputs.names[column] for column in used[len(members) :]),
        means=tuple(inputs.values[:, used].mean(axis=0).tolist()),
        levels=learned.levels,
        low=learned.low,
        high=learned.high,
        steps=tuple(_plain(step, used) for step in learned.steps),
        learned_from={
            "data": found.data.title,
            "digest": found.data.facts.digest,
            "pairs": len(found.data),
            "learner": combination.learner,
            "by": found.by,
            "value": comparison.value(COMBINED),
            "best_single": found.best_single,
            "value_of_best_single": comparison.value(found.best_single),
            "is_better": found.is_better,
            "accuracy": found.accuracy,
            "calibration_error": None if found.calibration is None else found.calibration.error,
            "curve": [[point.pairs, point.value] for point in found.study.curve],
            "seed": settings.seed,
            "assay": __version__,
        },
    )
    return content.model_copy(update={"digest": content.own_digest()})


def _plain(step: Step, used: list[int]) -> LinearStep | TreesStep:
    """Return a step of all inputs as one of those that are used."""
    calibration: dict[str, Any] = {"offset": step.offset, "slope": step.slope}
    if isinstance(step.function, Trees):
        return TreesStep(kind="trees", trees=step.function.text, **calibration)
    weights = tuple(step.function.weights[column] for column in used)
    return LinearStep(kind="linear", intercept=step.function.intercept, weights=weights, **calibration)


def _head(out: Path, content: CombinedFile) -> str:
    trust = ",trust=true" if any(load_metric(member.metric).foreign_code() for member in content.members) else ""
    return (
        f"# {out.name}\n\nOne score learned from metrics by assay {__version__}. "
        f"Use it as the metric `combined:{out.name}{trust}`.\n\n"
    )
