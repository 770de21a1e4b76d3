"""The whole augmented training: pairs made, labelled by a cross-encoder, and a bi-encoder trained on them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assay.errors import InputError
from assay.metrics import Batch, Metric, load_metric
from assay.metrics.models import locate
from assay.metrics.provenance import version_of
from assay.metrics.work import open_session, release_sessions
from assay.progress import Progress
from assay.training.augmented.pairs import MAX_ALIASES, SPLITS, Pair, number_pairs, pair_entities, read_entities
from assay.training.augmented.settings import AugmentedSettings
from assay.training.data import Examples, Source, separate_sets
from assay.training.folder import PAIRS_PER_CHUNK, Render, Results, cached_scores, open_work_folder
from assay.training.pairwise.job import job_of
from assay.training.pairwise.recipe import make_all_models
from assay.training.ranks import is_follower

# Labels of random pairs: the scores of a cross-encoder, computed once and kept.


class Labeller:
    """A cross-encoder that says how similar two texts are.

    Args:
        model: what may stand after ``cross-encoder:``, options included.

    Raises:
        InputError, UnavailableError, MissingExtraError: the model does not exist or is unavailable.
    """

    def __init__(self, model: str) -> None:
        self._name = f"cross-encoder:{model}"
        self._metric: Metric = load_metric(self._name)
        self._metric.check_available()
        self.signature = self._metric.long_signature()

    def labels(self, pairs: Sequence[Pair], progress: Progress) -> NDArray[np.float64]:
        """Return the scores of n pairs, shape (n,); what was scored before comes from the cache.

        Raises:
            InputError: a score is not between 0 and 1, so that it is no label.
        """
        progress.begin("labelling of random pairs", len(pairs))
        parts = [np.empty(0)]
        try:
            for start in range(0, len(pairs), PAIRS_PER_CHUNK):
                chunk = pairs[start : start + PAIRS_PER_CHUNK]
                batch = Batch([one.reference for one in chunk], [one.candidate for one in chunk])
                texts = (*batch.references, *batch.candidates)
                parts.append(cached_scores(self.signature, texts, partial(self._score, batch)))
                progress.advance(len(chunk))
        finally:
            release_sessions()
        return np.concatenate(parts)

    def _score(self, batch: Batch) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = open_session(self._metric.needs()).score([self._metric], batch).values[:, 0]
        for row in np.flatnonzero(~((scores >= 0) & (scores <= 1)))[:1]:
            raise InputError(
                f"`labeller`: {self._name} gives {scores[row]:.4g} for {batch.references[row]!r} and "
                f"{batch.candidates[row]!r}; labels lie between 0 and 1: add ,activation=sigmoid to its name, or take "
                "a model that was trained on similarity"
            )
        return scores


def label_pairs(pairs: Sequence[Pair], labeller: Labeller | None, progress: Progress) -> NDArray[np.float64]:
    """Return the labels of n pairs: their own, and the labeller's for those that have none.

    Args:
        pairs: the n pairs.
        labeller: a cross-encoder; None where every pair has a label.
        progress: receives each chunk.

    Returns:
        Labels in [0, 1], shape (n,).
    """
    labels = np.array([np.nan if one.label is None else one.label for one in pairs])
    rows = np.flatnonzero(np.isnan(labels))
    if labeller is not None and len(rows):
        labels[rows] = labeller.labels([pairs[row] for row in rows.tolist()], progress)
    return labels


# The pairs of an augmented training as sets to learn from, and as a file.

#: The file in a model's folder.
PAIRS = "pairs.parquet"
LICENCE = "made by rule; the licence of the entities holds, where there are any"


def sets_of_pairs(
    pairs: Sequence[Pair], labels: NDArray[np.float64], say: Callable[[str], None]
) -> tuple[dict[str, Examples], dict[str, int]]:
    """Return the sets ``train``, ``dev`` and ``test``, and counts for the model's card.

    Args:
        pairs: the n pairs.
        labels: in [0, 1], shape (n,).
        say: gets a line for everything that is left out.

    Raises:
        InputError: a split has no pairs.
    """
    found = {}
    for name in SPLITS:
        rows = [row for row, pair in enumerate(pairs) if pair.split == name]
        if len(rows) < 2:
            raise InputError(
                f"{len(rows)} {name} pairs can be made, and 2 are needed; give more entities or numbers: a tenth of "
                "them is held out for dev and for test each"
            )
        found[name] = _examples_of_pairs(name, [pairs[row] for row in rows], labels[rows])
    train, dev, counts = separate_sets(found["train"], found["dev"], found["test"], say)
    sets = {"train": train, "dev": dev, "test": found["test"]}
    return sets, {f"{name}_pairs": len(one) for name, one in sets.items()} | counts


def _examples_of_pairs(name: str, pairs: Sequence[Pair], labels: NDArray[np.float64]) -> Examples:
    texts = tuple(one.reference for one in pairs), tuple(one.candidate for one in pairs)
    digest = hashlib.sha256(labels.tobytes())
    for text in (*texts[0], *texts[1]):
        digest.update(hashlib.sha256(text.encode()).digest())
    rows = np.arange(len(pairs), dtype=np.int64)
    source = Source(f"{PAIRS}:{name}", "augmented", "", name, None, LICENCE, digest.hexdigest(), (0.0, 1.0), "machine")
    origins = np.zeros(len(pairs), dtype=np.int64)
    return Examples(*texts, labels, (), (), origins, rows, (source,), rows + 1)


def write_pairs(pairs: Sequence[Pair], labels: NDArray[np.float64], made_from: Mapping[str, str], folder: Path) -> None:
    """Write ``pairs.parquet``: columns ``reference, candidate, label, split, origin``.

    Args:
        pairs: the n pairs.
        labels: theirs, shape (n,).
        made_from: digests and signatures, kept in the file's metadata.
        folder: where.
    """
    columns = {
        "reference": [one.reference for one in pairs],
        "candidate": [one.candidate for one in pairs],
        "label": labels,
        "split": [one.split for one in pairs],
        "origin": [one.origin for one in pairs],
    }
    table = pa.table(columns).replace_schema_metadata({f"assay.{name}": value for name, value in made_from.items()})
    pq.write_table(table, folder / PAIRS)


# The whole augmented training: pairs made and labelled, then a bi-encoder trained on them.


def train_augmented(settings: AugmentedSettings, *, render: Render, progress: Progress) -> Results:
    """Make pairs, label them, train a bi-encoder, and write its folder in one step; an interrupted training resumes.

    Args:
        settings: of the training; the folder has the pairs as ``pairs.parquet``.
        render: returns results as Markdown.
        progress: receives every step.

    Returns:
        As :func:`~assay.training.pairwise.recipe.train_on_pairs`. The labels that it was measured by are not of people.

    Raises:
        InputError: a setting or a dataset cannot be used.
        UnavailableError: a model is unavailable.
        MissingExtraError: a library is not installed.
    """
    base = locate(settings.base)
    labeller = None if settings.labeller is None else Labeller(settings.labeller)
    pairs, made_from, made = _load_pairs(settings, labeller is not None, progress)
    labels = label_pairs(pairs, labeller, progress)
    if labeller is not None:
        made_from["labeller"] = labeller.signature
    sets, counts = sets_of_pairs(pairs, labels, progress.say)
    job = replace(
        job_of(settings.training(), base, sets, made | counts, settings.runtime, progress), original_request=settings
    )
    with open_work_folder(settings.out, job.plain_request(made_from=made_from)) as work:
        results = make_all_models(job, work, render)
        if not is_follower():
            write_pairs(pairs, labels, made_from, work.made)
        return results


def _load_pairs(
    settings: AugmentedSettings, random: bool, progress: Progress
) -> tuple[list[Pair], dict[str, str], dict[str, int]]:
    """Return pairs, what they were made from, and counts for the card."""
    pairs: list[Pair] = []
    made_from: dict[str, str] = {}
    counts: dict[str, int] = {}
    if settings.entities is not None:
        entities = read_entities(str(settings.entities))
        made_from["entities"] = entities.digest
        counts |= {
            "entities": len(entities),
            "entities_with_too_many_aliases": entities.with_too_many,
            "aliases_left_out": entities.aliases_dropped,
        }
        if entities.with_too_many:
            progress.say(
                f"{entities.with_too_many:,} entities have more than {MAX_ALIASES} aliases; these "
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
