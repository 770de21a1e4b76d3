"""``assay combine``: one score learned from several metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.analysis.combine.learning import learn_combination
from assay.analysis.combine.result import COMBINED, CombinationResult
from assay.analysis.combine.settings import CombineSettings
from assay.analysis.folder import RunFolder
from assay.analysis.settings import draws_signature
from assay.api.files import Run, open_runs
from assay.api.values import Report
from assay.benchmark.folder import check_writable
from assay.common.messages import Setting
from assay.common.output import unfinished_folder
from assay.common.progress import Silent
from assay.common.verbs import verb
from assay.common.visible import code_span
from assay.exceptions import InputError
from assay.manifest import MetricRecord
from assay.metrics.combination import FILE_NAME, CombinedFile, LinearStep, Member, TreesStep
from assay.metrics.combined import Combined
from assay.metrics.load import foreign_code_of, load_metric
from assay.metrics.provenance import own_version
from assay.paths import user_path
from assay.reports.combine import to_document
from assay.reports.formats import escape_markdown, format_document
from assay.reports.sheets import with_signatures
from assay.statistics.expectation import PRIOR_LABELS
from assay.statistics.learners import Step
from assay.statistics.trees import Trees

#: Name of the file in the folder that describes the combination for readers.
CARD_FILE = "README.md"


@verb(
    CombineSettings,
    "Learn one score from the metrics of a run, and tell whether it is better than the best of them.",
    "assay combine runs/judges --out models/mine",
    "assay run -d new.csv -m combined:models/mine",
    run="A run folder.",
)
def combine(run: Run, settings: CombineSettings) -> Report:
    """Learn one score from the metrics of a run, and report how much better it is than each of them.

    The combination is tested by nested cross-validation over whole groups of pairs: metrics, learner and calibration
    are chosen anew within each training part.

    Args:
        run: a run folder, or a result of :func:`assay.run`.
        out: the folder to write the combination to, absent or empty, for use as the metric ``combined:FOLDER``; None to
            write nothing.

    Returns:
        A report with one record per bucket and metric, including the combination.

    Raises:
        InputError: the run cannot be read or has too little to learn from, a setting does not fit it, the prior cannot
            be begun from, or *out* is not an empty folder or cannot be written.
        MissingExtraError: the settings name the trees, and LightGBM is not installed.
    """
    out = None if settings.out is None else user_path(settings.out)
    if out is not None:
        if out.is_file() or (out.is_dir() and any(out.iterdir())):
            raise InputError(f"{out}: is not an empty folder; give ", Setting("out"), " another name")
        check_writable(out)
    progress = settings.progress or Silent()
    with open_runs(run) as (opened,):
        prior = None if settings.prior is None else _prior_of_run(settings.prior, opened)
        result = learn_combination(opened, settings, progress.begin, progress.advance)
        draws = draws_signature(settings)
        document = with_signatures(
            to_document(result, settings), [result.data], result.inputs.speeds, draws, group_by=settings.group_by
        )
    if out is not None:
        _write_folder(out, combination_file(result, settings, prior), format_document(document, "md"))
    return Report(document)


def _prior_of_run(name: str, run: RunFolder) -> CombinedFile:
    """Return the file of the combination that a run has under this name, to begin from.

    Raises:
        InputError: it is no combination, gives no probability of two labels by a linear function, or is another one now
            than in the run.
    """
    metric = load_metric(name)
    if not isinstance(metric, Combined):
        raise InputError(
            "is not learned; begin from a metric such as combined:answer-judge", setting="prior", value=name
        )
    for record in run.manifest.metrics:
        if record.metric == name:
            metric = metric.version_with_digest(record.signature.get("combination", ""))
            if not metric.file.digest.startswith(record.signature.get("combination", "")):
                raise InputError(f"is another one now than in {run.title}; run it again", setting="prior", value=name)
    if len(metric.file.levels) != 2 or not isinstance(metric.file.steps[0], LinearStep):
        raise InputError("is not a linear function for two labels, such as yes and no", setting="prior", value=name)
    return metric.file


def _write_folder(out: Path, content: CombinedFile, card: str) -> None:
    """Write a combination to a folder, which appears complete or not at all; an empty folder is replaced.

    Args:
        out: the path of the folder; missing parent folders are made.
        content: the learned combination.
        card: the report as Markdown, which follows the heading of the card.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with unfinished_folder(out) as folder:
        unfinished = folder / "made"
        unfinished.mkdir()
        (unfinished / FILE_NAME).write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
        (unfinished / CARD_FILE).write_text(_card_heading(out, content) + card, encoding="utf-8")
        if out.is_dir():
            out.rmdir()
        unfinished.rename(out)


def combination_file(
    result: CombinationResult, settings: CombineSettings, prior: CombinedFile | None = None
) -> CombinedFile:
    """Return the contents of the file that describes a combination in its folder, with its digest.

    Args:
        result: the learned combination.
        settings: the settings with which it was learned.
        prior: the combination that it began from, whose inputs it reads itself; None if it began from none.
    """
    combination = result.study.combination
    inputs = result.inputs
    member_columns = [inputs.names.index(name) for name in combination.members]
    property_columns = inputs.properties if combination.learner.endswith("properties") else []
    input_columns = [*member_columns, *property_columns]
    comparison = result.buckets[0]
    learned = combination.learned
    content = CombinedFile(
        format=1,
        members=tuple(_member(result.data.metrics[name]) for name in combination.members),
        properties=tuple(inputs.names[column] for column in property_columns),
        means=tuple(inputs.values[:, input_columns].mean(axis=0).tolist()),
        levels=learned.levels,
        low=learned.low,
        high=learned.high,
        steps=tuple(_plain_step(step, input_columns) for step in learned.steps),
        learned_from={
            "data": result.data.title,
            "digest": result.data.facts.digest,
            "pairs": len(result.data),
            "learner": combination.learner,
            "by": result.by,
            "value": comparison.value(COMBINED),
            "best_single": result.best_metric,
            "value_of_best_single": comparison.value(result.best_metric),
            "is_better": result.is_better,
            "accuracy": result.accuracy,
            "calibration_error": None if result.calibration is None else result.calibration.error,
            "curve": [[point.pairs, point.value] for point in result.study.curve],
            "seed": settings.seed,
            "assay": own_version(),
        },
    )
    if prior is not None:
        content = _with_inputs_of_prior(content, str(settings.prior), prior)
    return content.model_copy(update={"digest": content.own_digest()})


def _member(record: MetricRecord) -> Member:
    """Return a metric of the run as the file of a combination describes it."""
    return Member(
        metric=record.metric,
        higher_is_better=record.declared.higher_is_better,
        signature=record.signature,
        pairs_per_second=record.cost.pairs_per_second,
    )


def _with_inputs_of_prior(content: CombinedFile, name: str, prior: CombinedFile) -> CombinedFile:
    """Return a combination that reads the inputs of its prior in place of the prior's log odds; the scores are equal.

    The prior's log odds are a linear function of its inputs, so that their weight can be divided among these.

    Args:
        content: a linear combination with the prior as a member.
        name: the name of the prior.
        prior: the prior, a linear function for two labels.

    Raises:
        TypeError: one of them is not linear.
    """
    (step,), (prior_step,) = content.steps, prior.steps
    if not isinstance(step, LinearStep) or not isinstance(prior_step, LinearStep):
        raise TypeError("a combination with a prior has linear steps")
    inputs = [*(member.metric for member in content.members), *content.properties]
    weights = dict(zip(inputs, step.weights, strict=True))
    means = dict(zip(inputs, content.means, strict=True))
    weight_of_prior = weights.pop(name)
    inputs_of_prior = [*(member.metric for member in prior.members), *prior.properties]
    for input_name, weight, mean in zip(inputs_of_prior, prior_step.weights, prior.means, strict=True):
        weights[input_name] = weights.get(input_name, 0.0) + weight_of_prior * prior_step.slope * weight
        means.setdefault(input_name, mean)
    intercept_of_prior = prior_step.offset + prior_step.slope * prior_step.intercept
    intercept = step.intercept + weight_of_prior * intercept_of_prior

    members = {member.metric: member for member in (*prior.members, *content.members) if member.metric != name}
    properties = dict.fromkeys([*content.properties, *prior.properties])
    names = [*members, *properties]
    new_weights = tuple(weights[input_name] for input_name in names)
    return content.model_copy(
        update={
            "members": tuple(members.values()),
            "properties": tuple(properties),
            "means": tuple(means[input_name] for input_name in names),
            "steps": (step.model_copy(update={"intercept": intercept, "weights": new_weights}),),
            "learned_from": content.learned_from
            | {"prior": name, "prior_digest": prior.digest, "prior_labels": PRIOR_LABELS},
        }
    )


def _plain_step(step: Step, input_columns: list[int]) -> LinearStep | TreesStep:
    """Return a learned step as it is written to the file: its trees, or its weights for these input columns only."""
    calibration: dict[str, Any] = {"offset": step.offset, "slope": step.slope}
    if isinstance(step.function, Trees):
        return TreesStep(kind="trees", trees=step.function.text, **calibration)
    weights = tuple(step.function.weights[column] for column in input_columns)
    return LinearStep(kind="linear", intercept=step.function.intercept, weights=weights, **calibration)


def _card_heading(out: Path, content: CombinedFile) -> str:
    """Return the heading of the card, with the name under which the combination is loaded as a metric."""
    trust = ",trust=true" if any(foreign_code_of(member.metric) for member in content.members) else ""
    return (
        f"# {escape_markdown(out.name)}\n\nOne score learned from metrics by assay {own_version()}. "
        f"Use it as the metric {code_span(f'combined:{out.name}{trust}')}.\n\n"
    )
