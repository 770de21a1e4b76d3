"""The whole mid-tuning: forms, one model a seed, evaluation, and what is left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from assay.metrics.neural.loading import quiet
from assay.metrics.neural.runtime import Runtime
from assay.training.curves import write_curves
from assay.training.folder import open_workplace, write_json
from assay.training.midtuning.describe import describe
from assay.training.midtuning.encoder import embed, name_prompt
from assay.training.midtuning.job import Job, Started, fit, prepare, start
from assay.training.midtuning.neighbours import FILE, nearest
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.packages import versions
from assay.training.pairwise.evaluation import agreement_before_and_after, over_seeds, plain_scores
from assay.training.pairwise.trainer import Trained, score_rows
from assay.training.progress import Progress
from assay.training.ranks import follows
from assay.training.seeded import Results, make_models, write_results

__all__ = ["Rendering", "train_mid_tuning"]


@dataclass(frozen=True)
class Rendering:
    """How results become Markdown.

    Attributes:
        results: all of them.
        neighbours: the records of the neighbours alone.
    """

    results: Callable[[Results], str]
    neighbours: Callable[[Sequence[Mapping[str, Any]]], str]


def train_mid_tuning(
    settings: MidTuningSettings, out: Path, *, runtime: Runtime, render: Rendering, progress: Progress
) -> Results:
    """Train a model, or one a seed, and write *out* in one step; a killed training continues where it was.

    Args:
        settings: the request.
        out: the folder of the model; with several seeds, a folder ``seed-N`` for each and a summary.
        runtime: device and threads.
        render: gives results as Markdown.
        progress: told of every step.

    Returns:
        ``agreement``: records as in :mod:`~assay.training.pairwise.evaluation`, of the test pairs; ``scores``: the
        trained model's, as a comparison over seeds reads them; ``alignment``: loss and accuracy on the development set
        before and after; ``neighbours``: see :func:`~assay.training.midtuning.neighbours.nearest`; ``seeds``. Of
        several seeds ``agreement``, the means of ``alignment``, and ``seeds``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had here.
    """
    job = prepare(settings, runtime, progress)
    digests = {name: [source.digest for source in sources] for name, sources in job.sources.items()}
    request = {"recipe": settings.recipe, "settings": settings.plain(), "base": job.base.digest, "data": digests}
    request["queries"] = list(job.queries)
    with open_workplace(out, request) as place:

        def make(seed: int, new: Path) -> None:
            _make(job, place.checkpoints(seed), out, render, seed, new)

        seeds, found = make_models(place, settings.seed, settings.seeds, make)
        results = found[0]
        if len(found) > 1:
            alignment = _mean_alignment([one["alignment"] for one in found])
            agreement = over_seeds([one["agreement"] for one in found])
            results = {"agreement": agreement, "alignment": alignment, "seeds": seeds}
        if settings.seeds is not None:
            write_results(results, place.made, render.results)
        return results


def _make(job: Job, checkpoints: Path, out: Path, render: Rendering, seed: int, new: Path) -> None:
    """Train and evaluate one model into a new folder."""
    before = job.before
    started = start(job, seed)
    dev = started.rows["dev"]
    alignment = {"before": _alignment(started, dev) if job.settings.objective == "triplet" else None}
    trained = fit(job, started, seed, checkpoints)
    if follows():
        return
    alignment["after"] = _alignment(started, dev)
    whole = started.loss.whole
    name_prompt(whole)
    job.progress.begin("evaluation", 0)
    embedded = {"base": before, "trained": embed(whole, job.shown, job.device)}
    tables = {name: one.numpy() for name, one in embedded.items()}
    records = _agreement(job, embedded, seed)
    results: Results = {
        "agreement": records,
        "scores": plain_scores(records),
        "alignment": alignment,
        "neighbours": nearest(job.queries, job.shown, len(job.searched), tables),
        "seeds": [seed],
    }
    with quiet():
        whole.save_pretrained(str(new), create_model_card=False)
    write_curves(trained.history, new)
    (new / FILE).write_text(render.neighbours(results["neighbours"]), encoding="utf-8")
    facts = _facts(job, started, trained, results, seed, out)
    write_json(new / "training.json", facts)
    describe(facts, job.sources, render.results(results), new)
    write_results(results, new, render.results)


def _alignment(started: Started, rows: NDArray[np.int64]) -> dict[str, float]:
    """Return how well forms are told apart on the development set: the mean loss, and the share that is right."""
    scores, losses = score_rows(started.loss, rows)
    labels = started.loss.inputs.labels[torch.from_numpy(rows)].numpy()
    return {"loss": float(losses.mean()), "accuracy": float((scores == labels).mean())}


def _mean_alignment(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the means over several seeds."""
    return {
        when: found[0][when] and {name: float(np.mean([one[when][name] for one in found])) for name in found[0][when]}
        for when in ("before", "after")
    }


def _agreement(job: Job, embedded: Mapping[str, torch.Tensor], seed: int) -> list[dict[str, Any]]:
    """Return the agreement of cosines with people before and after; nothing where there are no test pairs."""
    if job.test is None:
        return []
    places = {text: place for place, text in enumerate(job.shown)}
    first, second = ([places[text] for text in side] for side in (job.test.references, job.test.candidates))
    before, after = (
        functional.cosine_similarity(embedded[name][first], embedded[name][second]).double().numpy()
        for name in ("base", "trained")
    )
    return agreement_before_and_after(job.test, job.labels, before, after, seed)


def _facts(job: Job, started: Started, trained: Trained, results: Results, seed: int, out: Path) -> dict[str, Any]:
    """Return what ``training.json`` holds."""
    cut = {"inputs_cut_off": started.loss.inputs.table.cut}
    return {
        "recipe": job.settings.recipe,
        "settings": job.settings.plain(),
        "seed": seed,
        "command": job.settings.command(str(out)),
        "base": {"name": str(job.base.reference), "digest": job.base.digest, "revision": job.base.revision},
        "data": {name: [asdict(source) for source in sources] for name, sources in job.sources.items()},
        "counts": job.counts | cut,
        "wrong_forms": dict(started.kinds),
        "device": job.device,
        "threads": job.threads,
        "versions": versions(),
        "steps": trained.steps,
        "best_step": trained.best_step,
        "best": {f"dev_{trained.best}": trained.best_value},
        "results": results,
    }
