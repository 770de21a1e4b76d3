"""The whole training of S3BERT: data, targets, frozen part, one model a seed, evaluation, and what is left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from assay.errors import UnavailableError
from assay.metrics.aspects.layout import Layout, even_layout, write_layout
from assay.metrics.aspects.reference import write_reference
from assay.metrics.aspects.size import embedding_size
from assay.metrics.models import LocatedModel, locate
from assay.metrics.neural.loading import quiet
from assay.metrics.neural.runtime import Runtime, device_of, set_threads
from assay.training.apart import load_sets
from assay.training.curves import write_curves
from assay.training.data import Examples
from assay.training.folder import Workplace, open_workplace, write_json
from assay.training.loop import Course
from assay.training.models import load_bi_encoder
from assay.training.packages import versions
from assay.training.progress import Progress
from assay.training.ranks import processes
from assay.training.s3bert.describe import describe
from assay.training.s3bert.evaluation import (
    Embedded,
    agreement_with_people,
    cosines,
    follow_aspects,
    over_seeds,
    plain_scores,
)
from assay.training.s3bert.frozen import FrozenTexts, freeze
from assay.training.s3bert.layers import split
from assay.training.s3bert.settings import Settings
from assay.training.s3bert.targets import TARGETS, AmrScorer, AspectScorer, ScoredPairs, score_pairs, write_targets
from assay.training.s3bert.trainer import Trained, embed_texts, train_one
from assay.training.seeded import RESULTS, Results, make_models, write_results

__all__ = ["RESULTS", "Results", "train_s3bert"]


@dataclass(frozen=True, eq=False)
class _Job:
    """What all seeds of a training share."""

    settings: Settings
    out: Path
    base: LocatedModel
    layout: Layout
    sets: Mapping[str, Examples]
    scored: Mapping[str, ScoredPairs]
    counts: Mapping[str, int]
    made_from: str
    metrics: str
    frozen: FrozenTexts
    numbers: Mapping[str, int]
    device: str
    threads: int
    render: Callable[[Results], str]
    progress: Progress


def train_s3bert(
    settings: Settings,
    out: Path,
    *,
    runtime: Runtime,
    render: Callable[[Results], str],
    progress: Progress,
    scorer: AspectScorer | None = None,
) -> Results:
    """Train a model, or one a seed, and write *out* in one step; a killed training continues where it was.

    Args:
        settings: the request.
        out: the folder of the model; with several seeds, a folder ``seed-N`` for each and a summary.
        runtime: device and threads.
        render: gives results as Markdown.
        progress: told of every step.
        scorer: gives the targets; by default the AMR metrics.

    Returns:
        ``aspects`` and ``people``: records as in :mod:`~assay.training.s3bert.evaluation`; ``seeds``: their seeds;
        of one model also ``scores``, see :func:`~assay.training.s3bert.evaluation.plain_scores`.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: model or metrics cannot be had here.
    """
    if processes() > 1:
        raise UnavailableError("s3bert trains in one process", "start it without torchrun")
    base = locate(settings.base)
    scorer = scorer or AmrScorer(settings.vectors)
    layout = even_layout(scorer.names, settings.width, embedding_size(base.folder))
    device, threads = device_of(runtime)[0], set_threads(runtime.threads)
    sets, counts = load_sets(
        settings.pairs, settings.dev, settings.test,
        seed=settings.seed, limit=settings.limit, say=progress.say, graphs=True, columns=settings.columns,
    )  # fmt: skip
    digests = {name: [source.digest for source in one.sources] for name, one in sets.items()}
    request = {"settings": settings.plain(), "base": base.digest, "data": digests, "metrics": scorer.signature}
    with open_workplace(out, request) as place:
        scored = _score(settings, sets, scorer, progress)
        made_from = write_targets(scored, scorer.names, scorer.signature, place.folder)
        texts = sorted({text for one in scored.values() for text in (*one.references, *one.candidates)})
        progress.begin("frozen layers", len(texts))
        halves = split(load_bi_encoder(base.folder, device), settings.layers, settings.base)
        frozen = freeze(halves, texts, device, advance=progress.advance)
        job = _Job(
            settings, out, base, layout, sets, scored, counts, made_from, scorer.signature, frozen,
            {text: number for number, text in enumerate(texts)}, device, threads, render, progress,
        )  # fmt: skip
        return _finish(job, place)


def _score(
    settings: Settings, sets: Mapping[str, Examples], scorer: AspectScorer, progress: Progress
) -> dict[str, ScoredPairs]:
    """Return the sets with their negatives and targets."""
    taken = {key for one in sets.values() for key in one.keys}
    try:
        return {
            name: score_pairs(
                name,
                one,
                negatives=settings.negatives,
                seed=settings.seed,
                scorer=scorer,
                progress=progress,
                taken=taken,
            )
            for name, one in sets.items()
        }
    finally:
        scorer.close()


def _finish(job: _Job, place: Workplace) -> Results:
    """Train what is not trained yet, and lay out the folder that is left."""
    settings = job.settings
    seeds, found = make_models(place, settings.seed, settings.seeds, lambda seed, new: _make(job, place, seed, new))
    results = found[0]
    if len(found) > 1:
        results = {key: over_seeds([one[key] for one in found], name) for key, name in _KEYS.items()} | {"seeds": seeds}
    if settings.seeds is not None:
        write_results(results, place.made, job.render)
    (place.folder / TARGETS).rename(place.made / TARGETS)
    return results


#: Results and what names a record of them.
_KEYS = {"aspects": "aspect", "people": "dataset"}


def _make(job: _Job, place: Workplace, seed: int, new: Path) -> None:
    """Train and evaluate one model into a new folder."""
    settings = job.settings
    halves = split(load_bi_encoder(job.base.folder, job.device), settings.layers, settings.base)
    pace = ("epochs", "batch_size", "learning_rate", "warmup", "eval_steps")
    course = Course(**{name: getattr(settings, name) for name in pace}, seed=seed)
    trained = train_one(
        halves, job.frozen, job.numbers, (job.scored["train"], job.scored["dev"]), job.layout.names, settings, course,
        place.checkpoints(seed), job.device, job.progress,
    )  # fmt: skip
    job.progress.begin("evaluation", 0)
    held_out = [job.scored[name] for name in ("dev", "test")]
    texts = {text for pairs in held_out for text in (*pairs.references, *pairs.candidates)}
    trained_ones = embed_texts(halves, job.frozen, sorted(job.numbers[text] for text in texts))
    embedded = Embedded(job.numbers, job.frozen.teacher.cpu().numpy(), trained_ones)
    aspects = follow_aspects(job.scored["dev"], job.scored["test"], embedded, job.layout, seed)
    people = agreement_with_people(job.sets["test"], embedded, seed)
    scores = plain_scores(aspects, people)
    results: Results = {"aspects": aspects, "people": people, "scores": scores, "seeds": [seed]}
    with quiet():
        halves.whole.save_pretrained(str(new), create_model_card=False)
    write_layout(job.layout, new)
    _write_reference(job, embedded, new)
    write_curves(trained.history, new)
    _describe(job, trained, results, seed, new)
    write_results(results, new, job.render)


def _write_reference(job: _Job, embedded: Embedded, folder: Path) -> None:
    """Write the scores of the held-out development pairs and their negatives, by which a score is called usual."""
    dev = job.scored["dev"]
    left, right = embedded.sides(dev.references, dev.candidates)
    first, second = embedded.trained[left], embedded.trained[right]
    ranges = [slice(None), *(slice(*job.layout.range_of(part)) for part in job.layout.parts)]
    scores = np.stack([cosines(first, second, one) for one in ranges], axis=1).astype(np.float32)
    write_reference(folder, ("overall", *job.layout.parts), scores, layout=job.layout)


def _describe(job: _Job, trained: Trained, results: Results, seed: int, folder: Path) -> None:
    """Write ``training.json`` and the card."""
    counts = dict(job.counts) | {f"{name}_pairs_with_negatives": len(pairs) for name, pairs in job.scored.items()}
    facts = {
        "recipe": "s3bert",
        "settings": job.settings.plain(),
        "seed": seed,
        "command": job.settings.command(str(job.out)),
        "base": {"name": str(job.base.reference), "digest": job.base.digest, "revision": job.base.revision},
        "data": {name: [asdict(source) for source in examples.sources] for name, examples in job.sets.items()},
        "counts": counts,
        "targets": {"made_from": job.made_from, "metrics": job.metrics.splitlines()},
        "device": job.device,
        "threads": job.threads,
        "versions": versions(),
        "steps": trained.steps,
        "best_step": trained.best_step,
        "best_dev_loss": trained.best_loss,
        "scales": trained.scales,
        "results": results,
    }
    write_json(folder / "training.json", facts)
    describe(facts, {name: one.sources for name, one in job.sets.items()}, job.render(results), folder)
