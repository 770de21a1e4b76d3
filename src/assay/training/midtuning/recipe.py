"""The recipe mid-tuning from start to end: forms, one model per seed, its evaluation and its card."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from assay.common.addresses import command_line
from assay.common.progress import Progress
from assay.training.evaluation import agreement_before_and_after, agreement_over_seeds, comparable_scores
from assay.training.folder import Render, Results, make_models, open_work_folder
from assay.training.job import Card, best_line, layers_line, write_model
from assay.training.midtuning.job import (
    FORM_TOKENS,
    NEIGHBOURS_FILE,
    SENTENCE_TOKEN,
    MidTuningJob,
    StartedModel,
    add_sentence_prompt,
    embed,
    fit_model,
    nearest_neighbours,
    prepare_job,
    start_model,
)
from assay.training.midtuning.settings import MidTuningSettings
from assay.training.pairwise.trainer import score_rows
from assay.training.ranks import is_follower

_LEARNED = {
    "triplet": "by a triplet loss over squared distances (margin {margin:g}) against a wrong form",
    "classification": "by telling right from wrong forms with a linear layer over both embeddings and their "
    "difference, which is not kept",
}
_READ_BY = {
    1: "One encoder read both",
    2: "This encoder read sentences, and another one, which started alike and is not kept, their forms",
}
_LIMITS = (
    "Sentences of the test datasets are not trained on, in whatever case and with whatever marks.",
    "The forms are as good as who annotated or parsed them; a parser's errors are learned as well.",
    "Other texts and languages than those of the datasets above are untested.",
)


def describe_model(facts: Mapping[str, Any]) -> Card:
    """Return the card of a model, from the content of its ``training.json``."""
    settings = facts["settings"]
    learned = _LEARNED[settings["objective"]].format(**settings)
    description = (
        "A sentence encoder that was mid-tuned (Umair and Ferraro) to align sentences with their semantic forms: "
        f"predicates with roles and fillers. It was trained ({layers_line(settings)}) {learned}. "
        f"{_READ_BY[settings.get('encoders', 1)]}, with mean pooling, after the special tokens `{SENTENCE_TOKEN}` and "
        f"`{FORM_TOKENS[settings['formalism']]}`. "
        "By default, and in the results below, it reads sentences without them; the prompt named `sentence` puts "
        f"`{SENTENCE_TOKEN}` before a text."
    )
    if settings["pooling"] == "cls":
        description += " The results below are by the embedding of the first token: `pooled:FOLDER,pooling=cls`."
    return Card(
        title="Mid-tuned sentence encoder",
        about=description,
        seeds=f"{facts['seed']} for the wrong forms and the order, {settings['seed']} for what is held out",
        best=best_line(facts),
        use=[
            command_line("run", "--dataset", "DATASET", "--metric", f"{metric}:FOLDER")
            for metric in ("bi-encoder", "pooled")
        ],
        limits=_LIMITS,
        made_with={"wrong forms": ", ".join(f"{kind} {number:,}" for kind, number in facts["wrong_forms"].items())},
    )


#: Returns the records of the neighbours as Markdown.
RenderNeighbours = Callable[[Sequence[Mapping[str, Any]]], str]


def train_mid_tuning(
    settings: MidTuningSettings,
    *,
    render: Render,
    render_neighbours: RenderNeighbours,
    progress: Progress,
) -> Results:
    """Train one model, or one per seed, and write the output folder once all is complete; interrupted trainings resume.

    Args:
        settings: the settings; for several seeds, the output folder has a folder ``seed-N`` for each and a summary.
        render: returns results as Markdown.
        render_neighbours: returns the neighbours alone as Markdown.
        progress: receives every step.

    Returns:
        ``agreement``: records as in :mod:`~assay.training.evaluation`, for the test pairs; ``scores``: the trained
        model's records for a comparison over seeds; ``alignment``: loss and accuracy on the development set ``before``
        (None for a classification) and ``after`` training; ``neighbours``: one record per query, as from
        :func:`~assay.training.midtuning.job.nearest_neighbours`; ``seeds``: the seeds. For several seeds, the
        results are ``agreement`` and ``alignment`` over all models, and ``seeds``.

    Raises:
        InputError: a setting, a dataset or the output folder cannot be used, training diverged, or the disk is full.
        UnavailableError: the base model or a dataset is unavailable.
        SystemExit: of several processes that train together, this one follows the leader, which has the results.
    """
    job = prepare_job(settings, settings.runtime, progress)
    with open_work_folder(
        settings.out, job.plain_request(queries=list(job.queries), corpus=_digest_of(job.corpus))
    ) as work:
        make = partial(_make_encoder, job, render, render_neighbours)
        return make_models(work, settings, make, _summarise_seeds, render)


def _digest_of(sentences: Sequence[str]) -> str:
    """Return a digest of the corpus of neighbours, so that a resumed training has the same one; empty without one."""
    return hashlib.sha256("\n".join(sentences).encode()).hexdigest() if sentences else ""


def _summarise_seeds(seed_results: list[Results]) -> Results:
    """Return the combined ``agreement`` and the mean ``alignment`` of the models of several seeds."""
    agreement = agreement_over_seeds([results["agreement"] for results in seed_results])
    return {"agreement": agreement, "alignment": _mean_alignment([results["alignment"] for results in seed_results])}


def _make_encoder(
    job: MidTuningJob,
    render: Render,
    render_neighbours: RenderNeighbours,
    seed: int,
    checkpoints: Path,
    model_folder: Path,
) -> None:
    """Train the model of one seed, evaluate it, and write it to a folder with its card, results and neighbours.

    Of several processes that train together, the leader alone evaluates and writes.

    Args:
        job: the training.
        render: returns results as Markdown.
        render_neighbours: returns the neighbours alone as Markdown.
        seed: the seed of this model.
        checkpoints: the folder of checkpoints, from which an interrupted training continues.
        model_folder: the folder to write to.

    Raises:
        InputError: the model has too few layers, no wrong form can be made of a form, or the training diverged.
        UnavailableError: the base model cannot be loaded or trained.
    """
    base_embeddings = job.base_embeddings
    started = start_model(job, seed)
    dev = started.rows["dev"]
    alignment = {"before": _alignment_of_forms(started, dev) if job.settings.objective == "triplet" else None}
    trained = fit_model(job, started, seed, checkpoints)
    if is_follower():
        return
    alignment["after"] = _alignment_of_forms(started, dev)
    model = started.loss.unwrapped_model
    add_sentence_prompt(model)
    job.progress.begin("evaluation", 0)
    embeddings = {
        "base": base_embeddings,
        "trained": embed(model, job.embedded_texts, job.device, job.settings.pooling),
    }
    tables = {name: table.numpy() for name, table in embeddings.items()}
    records = _agreement_records(job, embeddings, seed)
    results: Results = {
        "agreement": records,
        "scores": comparable_scores(records),
        "alignment": alignment,
        "neighbours": nearest_neighbours(job.queries, job.embedded_texts, len(job.searched_sentences), tables),
        "seeds": [seed],
    }
    (model_folder / NEIGHBOURS_FILE).write_text(render_neighbours(results["neighbours"]), encoding="utf-8")
    facts = job.facts(
        seed,
        counts=job.counts | {"inputs_cut_off": started.loss.inputs.table.truncated},
        wrong_forms=dict(started.kinds),
        **trained.facts,
        results=results,
    )
    write_model(model_folder, model, trained.history, facts, describe_model(facts), job.sources, render)


def _alignment_of_forms(started: StartedModel, rows: NDArray[np.int64]) -> dict[str, float]:
    """Return how well a model tells right from wrong forms: the mean ``loss`` and the ``accuracy`` over n rows.

    Args:
        started: the model in its current state, and the inputs.
        rows: the row numbers, shape (n,).
    """
    scores, losses = score_rows(started.loss, rows)
    labels = started.loss.inputs.labels[torch.from_numpy(rows)].numpy()
    return {"loss": float(losses.mean()), "accuracy": float((scores == labels).mean())}


def _mean_alignment(alignments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean over seeds of how well embeddings give the linear layer's answer, before and after training.

    Args:
        alignments: for each seed, loss and accuracy by name, ``before`` and ``after``; at least one seed. ``before`` is
            None for a classification, whose linear layer knows nothing before training.

    Returns:
        The means in the same form.
    """
    means: dict[str, Any] = {}
    for stage in ("before", "after"):
        records = [alignment[stage] for alignment in alignments]
        if records[0] is None:
            means[stage] = None
            continue
        means[stage] = {}
        for name in records[0]:
            values = [record[name] for record in records]
            means[stage][name] = float(np.mean(values))
    return means


def _agreement_records(job: MidTuningJob, embeddings: Mapping[str, torch.Tensor], seed: int) -> list[dict[str, Any]]:
    """Return the agreement of cosines with people before and after training; no records without test pairs.

    Args:
        job: the training, with the test pairs.
        embeddings: the embeddings of the job's embedded texts by ``base`` and ``trained``, shape (n, dimensions) each.
        seed: the seed of the resamples.
    """
    if job.test is None:
        return []
    text_numbers = {text: number for number, text in enumerate(job.embedded_texts)}
    first = [text_numbers[text] for text in job.test.references]
    second = [text_numbers[text] for text in job.test.candidates]
    cosines = {}
    for name in ("base", "trained"):
        left, right = embeddings[name][first], embeddings[name][second]
        cosines[name] = functional.cosine_similarity(left, right).double().numpy()
    return agreement_before_and_after(job.test, job.labels, cosines["base"], cosines["trained"], seed)
