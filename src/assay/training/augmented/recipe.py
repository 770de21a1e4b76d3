"""The whole augmented training: pairs made and labelled, then a bi-encoder trained on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from assay.metrics.models import locate
from assay.metrics.neural.runtime import Runtime
from assay.metrics.provenance import version_of
from assay.training.augmented.entities import MOST_ALIASES, read_entities
from assay.training.augmented.labelling import Labeller, label_pairs
from assay.training.augmented.numbers import number_pairs
from assay.training.augmented.pairing import Pair, pair_entities
from assay.training.augmented.sets import as_sets, write_pairs
from assay.training.augmented.settings import AugmentedSettings
from assay.training.folder import open_workplace
from assay.training.pairwise.job import job_of
from assay.training.pairwise.recipe import make_all
from assay.training.progress import Progress
from assay.training.ranks import follows
from assay.training.seeded import Render, Results

__all__ = ["train_augmented"]


def train_augmented(
    settings: AugmentedSettings, out: Path, *, runtime: Runtime, render: Render, progress: Progress
) -> Results:
    """Make pairs, label them, train a bi-encoder, and write *out* in one step; a killed training continues.

    Args:
        settings: the request.
        out: the folder of the model; the pairs stand in it as ``pairs.parquet``.
        runtime: device and threads.
        render: gives results as Markdown.
        progress: told of every step.

    Returns:
        As :func:`~assay.training.pairwise.recipe.train_on_pairs`. The labels that it was measured by are not of people.

    Raises:
        InputError: something that was asked for cannot be used.
        UnavailableError: a model cannot be had here.
        MissingExtraError: a library is not installed.
    """
    base = locate(settings.base)
    labeller = None if settings.labeller is None else Labeller(settings.labeller)
    pairs, made_from, made = _pairs(settings, labeller is not None, progress)
    labels = label_pairs(pairs, labeller, progress)
    if labeller is not None:
        made_from["labeller"] = labeller.signature
    sets, counts = as_sets(pairs, labels, progress.say)
    job = replace(job_of(settings.training(), base, sets, made | counts, runtime, progress), asked=settings)
    with open_workplace(out, job.plain_request(made_from=made_from)) as place:
        results = make_all(job, place, out, render)
        if not follows():
            write_pairs(pairs, labels, made_from, place.made)
        return results


def _pairs(
    settings: AugmentedSettings, random: bool, progress: Progress
) -> tuple[list[Pair], dict[str, str], dict[str, int]]:
    """Return pairs, what they were made from, and counts for the card."""
    pairs: list[Pair] = []
    made_from: dict[str, str] = {}
    counts: dict[str, int] = {}
    if settings.entities is not None:
        entities = read_entities(settings.entities)
        made_from["entities"] = entities.digest
        counts |= {
            "entities": len(entities),
            "entities_with_too_many_aliases": entities.with_too_many,
            "aliases_left_out": entities.aliases_dropped,
        }
        if entities.with_too_many:
            progress.say(
                f"{entities.with_too_many:,} entities have more than {MOST_ALIASES} aliases; these "
                f"{entities.aliases_dropped:,} are left out"
            )
        found, passed = pair_entities(entities.all, settings.random_pairs if random else 0, settings.seed)
        pairs += found
        if passed:
            counts["random_pairs_passed_over"] = passed
            progress.say(f"{passed:,} random pairs are passed over: their entities share a name, or they repeat one")
    if languages := settings.languages():
        pairs += number_pairs(languages, *settings.bounds(), settings.seed)
        made_from["num2words"] = version_of("num2words")
    sizes = Counter(pair.origin for pair in pairs)
    told = ", ".join(f"{sizes[origin]:,} {origin}" for origin in ("random", "alias", "number") if sizes[origin])
    progress.say(f"pairs made: {told or 'none'}")
    return pairs, made_from, counts | {f"{origin}_pairs": size for origin, size in sizes.items()}
