"""The whole training of a bi-encoder or cross-encoder: data, one model a seed, evaluation, and what is left behind."""

from __future__ import annotations

from pathlib import Path

from assay.datasets.annotation_graph import describe_graph
from assay.metrics.neural.runtime import Runtime
from assay.training.folder import Workplace, open_workplace
from assay.training.job import write_model
from assay.training.pairwise.describe import describe
from assay.training.pairwise.evaluation import agreement_before_and_after, over_seeds, plain_scores
from assay.training.pairwise.job import Job, fit, prepare, start
from assay.training.pairwise.settings import PairSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.progress import Progress
from assay.training.ranks import follows
from assay.training.seeded import Render, Results, make_models

__all__ = ["make_all", "train_on_pairs"]


def train_on_pairs(
    settings: PairSettings, out: Path, *, runtime: Runtime, render: Render, progress: Progress
) -> Results:
    """Train a model, or one a seed, and write *out* in one step; a killed training continues where it was.

    Args:
        settings: the request.
        out: the folder of the model; with several seeds, a folder ``seed-N`` for each and a summary.
        runtime: device and threads.
        render: gives results as Markdown.
        progress: told of every step.

    Returns:
        ``agreement``: records as in :mod:`~assay.training.pairwise.evaluation`; ``scores``: the trained model's, as a
        comparison over seeds reads them; ``seeds``: theirs.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had here.
    """
    job = prepare(settings, runtime, progress)
    with open_workplace(out, job.plain_request()) as place:
        return make_all(job, place, out, render)


def make_all(job: Job, place: Workplace, out: Path, render: Render) -> Results:
    """Train and evaluate what is not made yet, a model or one a seed, and lay out the folder that is left.

    Args:
        job: the training.
        place: where it works.
        out: the folder of the model, as it was asked for.
        render: gives results as Markdown.

    Returns:
        See :func:`train_on_pairs`.
    """
    settings = job.settings

    def make(seed: int, new: Path) -> None:
        _make(job, place.checkpoints(seed), out, render, seed, new)

    return make_models(place, settings.seed, settings.seeds, make, _summary, render)


def _summary(found: list[Results]) -> Results:
    """Return the results of several models as one; the scores are those of a model alone."""
    whole = found[0] | {"agreement": over_seeds([one["agreement"] for one in found])}
    return {name: value for name, value in whole.items() if name != "scores"}


def _make(job: Job, checkpoints: Path, out: Path, render: Render, seed: int, new: Path) -> None:
    """Train and evaluate one model into a new folder."""
    before = job.before
    loss = start(job, seed)
    test = job.sets["test"]
    trained = fit(job, loss, seed, checkpoints)
    if follows():
        return
    job.progress.begin("evaluation", 0)
    after = score_rows(loss, job.rows["test"])[0]
    records = agreement_before_and_after(test, job.labels[job.rows["test"]], before, after, seed)
    results: Results = {"agreement": records, "scores": plain_scores(records), "seeds": [seed]}
    if machine := [one.full_name for one in test.sources if one.kind == "machine"]:
        results["machine_labels"] = machine
    facts = job.facts(
        seed,
        out,
        model=job.settings.recipe,
        counts=dict(job.counts) | {"inputs_cut_off": loss.inputs.table.cut},
        annotation_graph=describe_graph(job.graph),
        loss=job.settings.chosen_loss,
        classes=job.classes,
        **trained.facts,
        results=results,
    )
    write_model(new, loss.whole, trained.history, facts, describe(facts), job.sources, render)
