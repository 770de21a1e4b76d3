"""The whole mid-tuning: forms, one model a seed, its evaluation, and the card that describes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from assay.progress import Progress
from assay.training.evaluation import agreement_before_and_after, agreement_over_seeds, comparable_scores
from assay.training.folder import Render, Results, make_models, open_work_folder
from assay.training.job import Card, best_line, layers_line, write_model
from assay.training.midtuning.job import (
    FILE,
    FORM,
    SENTENCE,
    MidTuningJob,
    Started,
    embed,
    fit,
    name_prompt,
    nearest,
    prepare,
    start,
)
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.ranks import follows

_LEARNED = {
    "triplet": "by a triplet loss over squared distances (margin {margin:g}) against a wrong form",
    "classification": "by telling right from wrong forms with a linear layer over both embeddings and their "
    "difference, which is not kept",
}
_LIMITS = (
    "Sentences of the test datasets are not trained on, in whatever case and with whatever marks.",
    "The forms are as good as who annotated or parsed them; a parser's errors are learned as well.",
    "Other texts and languages than those of the datasets above are untested.",
)


def describe(facts: Mapping[str, Any]) -> Card:
    """Return the card of a model, from what ``training.json`` holds."""
    settings = facts["settings"]
    learned = _LEARNED[settings["objective"]].format(**settings)
    about = (
        "A sentence encoder that was mid-tuned (Umair and Ferraro) to align sentences with their semantic forms: "
        f"predicates with roles and fillers. It was trained ({layers_line(settings)}) {learned}. One encoder read "
        f"both, with mean pooling, after the special tokens `{SENTENCE}` and `{FORM}`. By default, and in the results "
        f"below, it reads sentences without them; the prompt named `sentence` puts `{SENTENCE}` before a text."
    )
    return Card(
        title="Mid-tuned sentence encoder",
        about=about,
        seeds=f"{facts['seed']} for the wrong forms and the order, {settings['seed']} for what is held out",
        best=best_line(facts),
        use=[f"assay run --dataset DATASET --metric {metric}:FOLDER" for metric in ("bi-encoder", "pooled")],
        limits=_LIMITS,
        made_with={"wrong forms": ", ".join(f"{kind} {number:,}" for kind, number in facts["wrong_forms"].items())},
    )


#: Gives the records of the neighbours as Markdown.
RenderNeighbours = Callable[[Sequence[Mapping[str, Any]]], str]


def train_mid_tuning(
    settings: MidTuningSettings,
    *,
    render: Render,
    render_neighbours: RenderNeighbours,
    progress: Progress,
) -> Results:
    """Train a model, or one a seed, and write its folder in one step; an interrupted training resumes.

    Args:
        settings: of the training; with several seeds, its folder has a folder ``seed-N`` for each and a summary.
        render: gives results as Markdown.
        render_neighbours: gives their neighbours alone.
        progress: told of every step.

    Returns:
        ``agreement``: records as in :mod:`~assay.training.evaluation`, of the test pairs; ``scores``: the
        trained model's, as a comparison over seeds reads them; ``alignment``: loss and accuracy on the development set
        before and after; ``neighbours``: see :func:`~assay.training.midtuning.job.nearest`; ``seeds``. Of
        several seeds ``agreement``, the means of ``alignment``, and ``seeds``.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: the model cannot be had here.
    """
    job = prepare(settings, settings.runtime, progress)
    with open_work_folder(settings.out, job.plain_request(queries=list(job.queries))) as work:
        make = partial(_make_encoder, job, render, render_neighbours)
        return make_models(work, settings, make, _encoders_over_seeds, render)


def _encoders_over_seeds(of_seeds: list[Results]) -> Results:
    """Return the results of several models as one."""
    agreement = agreement_over_seeds([results["agreement"] for results in of_seeds])
    return {"agreement": agreement, "alignment": _mean_alignment([results["alignment"] for results in of_seeds])}


def _make_encoder(
    job: MidTuningJob,
    render: Render,
    render_neighbours: RenderNeighbours,
    seed: int,
    checkpoints: Path,
    new: Path,
) -> None:
    """Train and evaluate one model into a new folder."""
    before = job.before
    started = start(job, seed)
    dev = started.rows["dev"]
    alignment = {"before": _alignment(started, dev) if job.settings.objective == "triplet" else None}
    trained = fit(job, started, seed, checkpoints)
    if follows():
        return
    alignment["after"] = _alignment(started, dev)
    whole = started.loss.unwrapped_model
    name_prompt(whole)
    job.progress.begin("evaluation", 0)
    embedded = {"base": before, "trained": embed(whole, job.embedded_texts, job.device)}
    tables = {model: embeddings.numpy() for model, embeddings in embedded.items()}
    records = _agreement(job, embedded, seed)
    results: Results = {
        "agreement": records,
        "scores": comparable_scores(records),
        "alignment": alignment,
        "neighbours": nearest(job.queries, job.embedded_texts, len(job.searched), tables),
        "seeds": [seed],
    }
    (new / FILE).write_text(render_neighbours(results["neighbours"]), encoding="utf-8")
    facts = job.facts(
        seed,
        counts=job.counts | {"inputs_cut_off": started.loss.inputs.table.truncated},
        wrong_forms=dict(started.kinds),
        **trained.facts,
        results=results,
    )
    write_model(new, whole, trained.history, facts, describe(facts), job.sources, render)


def _alignment(started: Started, rows: NDArray[np.int64]) -> dict[str, float]:
    """Return how well forms are told apart on the development set: the mean loss, and the share that is right."""
    scores, losses = score_rows(started.loss, rows)
    labels = started.loss.inputs.labels[torch.from_numpy(rows)].numpy()
    return {"loss": float(losses.mean()), "accuracy": float((scores == labels).mean())}


def _mean_alignment(of_seeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the means over several seeds of loss and accuracy, before training and after it; None as in each seed."""
    means: dict[str, Any] = {}
    for when in ("before", "after"):
        records = [alignment[when] for alignment in of_seeds]
        if records[0] is None:
            means[when] = None
        else:
            means[when] = {name: float(np.mean([record[name] for record in records])) for name in records[0]}
    return means


def _agreement(job: MidTuningJob, embedded: Mapping[str, torch.Tensor], seed: int) -> list[dict[str, Any]]:
    """Return the agreement of cosines with people before and after; nothing where there are no test pairs."""
    if job.test is None:
        return []
    index = {text: number for number, text in enumerate(job.embedded_texts)}
    first = [index[text] for text in job.test.references]
    second = [index[text] for text in job.test.candidates]
    before, after = (
        functional.cosine_similarity(embedded[name][first], embedded[name][second]).double().numpy()
        for name in ("base", "trained")
    )
    return agreement_before_and_after(job.test, job.labels, before, after, seed)
