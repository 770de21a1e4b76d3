"""The whole training of a bi-encoder or cross-encoder: data, one model a seed, evaluation, and what is left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.datasets.annotation_graph import describe_graph
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.runtime import Runtime
from assay.training.curves import write_curves
from assay.training.folder import Workplace, open_workplace, write_json
from assay.training.packages import versions
from assay.training.pairwise.describe import describe
from assay.training.pairwise.evaluation import agreement_before_and_after, over_seeds, plain_scores
from assay.training.pairwise.job import Job, fit, prepare, start
from assay.training.pairwise.settings import PairSettings
from assay.training.pairwise.trainer import Trained, score_rows
from assay.training.progress import Progress
from assay.training.ranks import follows
from assay.training.seeded import Results, make_models, write_results
from assay.training.tokens import TokenTable

__all__ = ["Render", "make_all", "train_on_pairs"]

#: Gives results as Markdown.
Render = Callable[[Results], str]


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
    request = {"recipe": settings.recipe, "settings": settings.plain(), "base": job.base.digest, "data": job.digests}
    with open_workplace(out, request) as place:
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

    seeds, found = make_models(place, settings.seed, settings.seeds, make)
    results = found[0]
    if len(found) > 1:
        results |= {"agreement": over_seeds([one["agreement"] for one in found]), "seeds": seeds}
        del results["scores"]  # of one seed alone
    if settings.seeds is not None:
        write_results(results, place.made, render)
    return results


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
    with quiet():
        loss.whole.save_pretrained(str(new), create_model_card=False)
    write_curves(trained.history, new)
    facts = _facts(job, trained, loss.inputs.table, results, seed, out)
    write_json(new / "training.json", facts)
    describe(facts, {name: one.sources for name, one in job.sets.items()}, render(results), new)
    write_results(results, new, render)


def _facts(job: Job, trained: Trained, table: TokenTable, results: Results, seed: int, out: Path) -> dict[str, Any]:
    """Return what ``training.json`` holds."""
    return {
        "recipe": job.request.recipe,
        "model": job.settings.recipe,
        "settings": job.request.plain(),
        "seed": seed,
        "command": job.request.command(str(out)),
        "base": {"name": str(job.base.reference), "digest": job.base.digest, "revision": job.base.revision},
        "data": {name: [asdict(source) for source in examples.sources] for name, examples in job.sets.items()},
        "counts": dict(job.counts) | {"inputs_cut_off": table.cut},
        "annotation_graph": describe_graph(job.graph),
        "loss": job.settings.chosen_loss,
        "classes": job.classes,
        "device": job.device,
        "threads": job.threads,
        "versions": versions(),
        "steps": trained.steps,
        "best_step": trained.best_step,
        "best": {f"dev_{trained.best}": trained.best_value},
        "results": results,
    }
