"""The recipe s3bert from start to end: targets, frozen layers, one model per seed, its evaluation and its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.common.progress import Progress
from assay.exceptions import UnavailableError
from assay.metrics.aspects.layout import Layout, embedding_size, even_layout, write_layout
from assay.metrics.aspects.reference import write_reference
from assay.metrics.models import locate
from assay.training.data import Examples
from assay.training.folder import RESULTS, Render, Results, make_models, open_work_folder
from assay.training.job import Card, PairsJob, prepare_device, write_model
from assay.training.loop import Schedule
from assay.training.models import load_bi_encoder
from assay.training.ranks import process_count
from assay.training.s3bert.evaluation import (
    Embedded,
    agreement_with_people,
    aspect_correlations,
    comparable_scores,
    cosines_over,
    records_over_seeds,
)
from assay.training.s3bert.frozen import FrozenTexts, freeze_texts, split_encoder
from assay.training.s3bert.settings import S3BertSettings
from assay.training.s3bert.targets import TARGETS, AmrScorer, AspectScorer, ScoredPairs, score_pairs, write_targets
from assay.training.s3bert.trainer import embed_texts, train_aspects
from assay.training.sets import load_sets

__all__ = ["RESULTS", "Results", "describe_model", "train_s3bert"]


_LIMITS = (
    "The aspects are what AMR metrics measure on graphs that a parser wrote; what the parser gets wrong, they learn.",
    "An aspect's score is a cosine, not a probability: read it beside what is usual for such pairs (assay explain).",
    "It was trained and tested on sentences of the datasets named above; other texts and languages are untested.",
    "Held-out pairs are not trained on; single texts of them may be, in other pairs: the counts above say how many.",
    "Dropout is off in training, and models of several seeds differ in the order of the pairs alone.",
    "Intervals and p values over the test pairs treat pairs that share a sentence as independent.",
)


def describe_model(facts: Mapping[str, Any]) -> Card:
    """Return the card of a model, from the content of its ``training.json``."""
    settings = facts["settings"]
    losses = [name for name in ("decomposition", "consistency") if settings[name]]
    description = (
        f"Sentence embeddings in which {settings['width']} dimensions each measure one of {len(facts['scales'])} "
        "aspects of meaning (Opitz and Frank 2022, SBERT studies Meaning Representations); the last "
        f"{settings['layers']} layers were trained with {' and '.join(losses)}. "
        "`s3bert.json` says which dimensions are whose."
    )
    return Card(
        title="S3BERT",
        about=description,
        seeds=f"{facts['seed']} for the order of the pairs, {settings['seed']} for what is held out and the negatives",
        best=f"development loss {facts['best_dev_loss']:.6f}",
        use=(
            "assay run --dataset bamboo-sts --metric s3bert:FOLDER",
            'assay explain "TEXT" "TEXT" --metric s3bert:FOLDER',
        ),
        limits=(*_LIMITS, _batches_text(settings)),
        made_with={"targets made from": facts["targets"]["made_from"]},
    )


def _batches_text(settings: Mapping[str, Any]) -> str:
    """Return a line on the batches for a card: they have fewer distinct texts than pairs."""
    distinct = settings["batch_size"] // (1 + settings["negatives"])
    return (
        f"A batch of {settings['batch_size']} has pairs and their negatives together, so that the consistency is over "
        f"about {distinct} x {distinct} different pairs of texts a step."
    )


@dataclass(frozen=True, eq=False)
class S3BertJob(PairsJob):
    """What all seeds of a training of S3BERT share.

    Attributes:
        settings: the settings of the training.
        layout: the dimensions of the embedding that belong to each aspect.
        metrics: the signature of the metrics that give the targets.
    """

    settings: S3BertSettings
    layout: Layout
    metrics: str


@dataclass(frozen=True, eq=False)
class _TrainingData:
    """The data that the models of all seeds learn from.

    Attributes:
        scored: the sets with their negatives and targets.
        targets_digest: the digest of the targets.
        frozen: the output of the frozen layers for all texts.
        numbers: the index of each text in *frozen*.
    """

    scored: Mapping[str, ScoredPairs]
    targets_digest: str
    frozen: FrozenTexts
    numbers: Mapping[str, int]


def train_s3bert(
    settings: S3BertSettings,
    *,
    render: Render,
    progress: Progress,
    scorer: AspectScorer | None = None,
) -> Results:
    """Train one model, or one per seed, and write the folder once it is complete; interrupted trainings resume.

    Args:
        settings: the settings; for several seeds, the output folder has a folder ``seed-N`` for each and a summary.
        render: returns results as Markdown.
        progress: receives every step.
        scorer: the metrics that give the targets, closed after the last pair; None for the AMR metrics.

    Returns:
        ``aspects`` and ``people``: records as in :mod:`~assay.training.s3bert.evaluation`; ``seeds``: the seeds;
        ``scores``, for a single model: see :func:`~assay.training.s3bert.evaluation.comparable_scores`.

    Raises:
        InputError: a setting, a dataset or the output folder cannot be used, or the disk is full.
        UnavailableError: the model, a dataset or the metrics are unavailable, the model cannot be split into frozen and
            trained layers, no partition of it into aspects is found, or several processes were started to train
            together.
    """
    if process_count() > 1:
        raise UnavailableError("s3bert trains in one process", "start it without torchrun")
    base = locate(settings.base)
    scorer = scorer or AmrScorer(settings.vectors)
    layout = even_layout(scorer.names, settings.width, embedding_size(base.folder))
    device, threads = prepare_device(settings.runtime)
    sets, counts = load_sets(
        settings.pairs, settings.dev, settings.test,
        seed=settings.seed, limit=settings.limit, say=progress.say, graphs=True, columns=settings.columns_spec,
    )  # fmt: skip
    job = S3BertJob(settings, base, device, threads, progress, sets, counts, layout, scorer.signature)
    with open_work_folder(settings.out, job.plain_request(metrics=job.metrics)) as work:
        data = _prepare_training_data(job, scorer, work.folder)
        make = partial(_make_embeddings, job, data, render)
        results = make_models(work, settings, make, _summarise_seeds, render)
        (work.folder / TARGETS).rename(work.result_folder / TARGETS)
        return results


def _prepare_training_data(job: S3BertJob, scorer: AspectScorer, folder: Path) -> _TrainingData:
    """Score the aspects of all pairs, write these targets to a folder, and return what all models learn from.

    The texts are put through the frozen layers of the base model once; progress is shown for both steps.

    Raises:
        InputError: the model has too few layers, or the disk is full.
        UnavailableError: a score is not a finite number, or the model cannot be loaded or split.
    """
    scored_sets = _score_sets(job.settings, job.sets, scorer, job.progress)
    targets_digest = write_targets(scored_sets, scorer.names, scorer.signature, folder)
    texts = sorted({text for pairs in scored_sets.values() for text in (*pairs.references, *pairs.candidates)})
    job.progress.begin("frozen layers", len(texts))
    halves = split_encoder(load_bi_encoder(job.base.folder, job.device), job.settings.layers, job.settings.base)
    frozen = freeze_texts(halves, texts, job.device, advance=job.progress.advance)
    return _TrainingData(scored_sets, targets_digest, frozen, {text: number for number, text in enumerate(texts)})


def _score_sets(
    settings: S3BertSettings, sets: Mapping[str, Examples], scorer: AspectScorer, progress: Progress
) -> dict[str, ScoredPairs]:
    """Return the pairs of each set with their negatives and targets, by set, and close the scorer, also if it fails."""
    used_keys = {key for examples in sets.values() for key in examples.keys}
    scored_sets: dict[str, ScoredPairs] = {}
    try:
        for name, examples in sets.items():
            scored_sets[name] = score_pairs(
                name,
                examples,
                negatives=settings.negatives,
                seed=settings.seed,
                scorer=scorer,
                progress=progress,
                excluded_keys=used_keys,
            )
    finally:
        scorer.close()
    return scored_sets


def _summarise_seeds(seed_results: list[Results]) -> Results:
    """Return the combined ``aspects`` and ``people`` of the models of several seeds."""
    return {
        "aspects": records_over_seeds([results["aspects"] for results in seed_results], "aspect"),
        "people": records_over_seeds([results["people"] for results in seed_results], "dataset"),
    }


def _make_embeddings(
    job: S3BertJob, data: _TrainingData, render: Render, seed: int, checkpoints: Path, model_folder: Path
) -> None:
    """Train the model of one seed, evaluate it, and write it to a folder.

    Beside the model, the folder gets the layout of the dimensions, the reference scores, the results and the card.

    Args:
        job: the training.
        data: what the models of all seeds learn from.
        render: returns results as Markdown.
        seed: the seed of this model.
        checkpoints: the folder of checkpoints, from which an interrupted training continues.
        model_folder: the folder to write to.

    Raises:
        InputError: the checkpoint of the best model is damaged at the end of the training.
        UnavailableError: no partition of the base into aspects is found.
    """
    settings, scored = job.settings, data.scored
    halves = split_encoder(load_bi_encoder(job.base.folder, job.device), settings.layers, settings.base)
    schedule = Schedule(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        warmup=settings.warmup,
        eval_steps=settings.eval_steps,
        seed=seed,
    )
    trained = train_aspects(
        halves=halves,
        frozen=data.frozen,
        numbers=data.numbers,
        sets=(scored["train"], scored["dev"]),
        aspects=job.layout.names,
        settings=settings,
        schedule=schedule,
        folder=checkpoints,
        device=job.device,
        progress=job.progress,
    )
    job.progress.begin("evaluation", 0)
    dev, test = scored["dev"], scored["test"]
    evaluated_texts = {*dev.references, *dev.candidates, *test.references, *test.candidates}
    evaluated_numbers = sorted(data.numbers[text] for text in evaluated_texts)
    trained_embeddings = embed_texts(halves, data.frozen, evaluated_numbers)
    embedded = Embedded(data.numbers, data.frozen.teacher.cpu().numpy(), trained_embeddings)
    aspects = aspect_correlations(dev, test, embedded, job.layout, seed)
    people = agreement_with_people(job.sets["test"], embedded, seed)
    scores = comparable_scores(aspects, people)
    results: Results = {"aspects": aspects, "people": people, "scores": scores, "seeds": [seed]}
    write_layout(job.layout, model_folder)
    _write_reference(job.layout, dev, embedded, model_folder)
    facts = job.facts(
        seed,
        counts=dict(job.counts) | {f"{name}_pairs_with_negatives": len(pairs) for name, pairs in scored.items()},
        targets={"made_from": data.targets_digest, "metrics": job.metrics.splitlines()},
        steps=trained.steps,
        best_step=trained.best_step,
        best_dev_loss=trained.best_value,
        scales=trained.scales,
        results=results,
    )
    write_model(model_folder, halves.whole, trained.history, facts, describe_model(facts), job.sources, render)


def _write_reference(layout: Layout, dev: ScoredPairs, embedded: Embedded, folder: Path) -> None:
    """Write the scores of the development pairs and their negatives, the reference by which a score is called usual.

    The scores of a pair are the cosines of the trained embeddings over all dimensions and over each part of the layout.
    """
    left, right = embedded.sides(dev.references, dev.candidates)
    first, second = embedded.trained[left], embedded.trained[right]
    ranges = [slice(None), *(slice(*layout.range_of(part)) for part in layout.parts)]
    scores = np.stack([cosines_over(first, second, part) for part in ranges], axis=1).astype(np.float32)
    write_reference(folder, ("overall", *layout.parts), scores, layout=layout)
