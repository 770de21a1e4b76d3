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

from assay.common.packages import version_of
from assay.common.progress import Progress
from assay.exceptions import InputError
from assay.metrics import Batch, Metric, load_metric
from assay.metrics.models import locate
from assay.metrics.work import open_session, release_sessions
from assay.training.augmented.pairs import MAX_FORMS, SPLITS, Pair, number_pairs, pair_entities, read_entities
from assay.training.augmented.settings import AugmentedSettings
from assay.training.data import Examples, Source
from assay.training.folder import PAIRS_PER_CHUNK, Render, Results, cached_scores, open_work_folder
from assay.training.pairwise.job import job_of
from assay.training.pairwise.recipe import make_all_models
from assay.training.sets import separate_sets

# Labels of random pairs: the scores of a cross-encoder, computed once and kept.


class Labeller:
    """A cross-encoder that says how similar two texts are.

    Args:
        model: the model as it is named after ``cross-encoder:``, with its options.

    Attributes:
        signature: the identity of the metric, which changes whenever the labels may change.

    Raises:
        InputError, UnavailableError, MissingExtraError: the model does not exist or is unavailable.
    """

    def __init__(self, model: str) -> None:
        self._name = f"cross-encoder:{model}"
        self._metric: Metric = load_metric(self._name)
        self._metric.check_available()
        self.signature = self._metric.long_signature()

    def labels(self, pairs: Sequence[Pair], progress: Progress) -> NDArray[np.float64]:
        """Return the scores of n pairs as labels in [0, 1], shape (n,).

        Scores that were computed earlier come from the cache, and new ones are written to it. Afterwards, also after an
        error, all sessions of metrics in this process are closed.

        Args:
            pairs: the n pairs.
            progress: receives the number of pairs after each chunk.

        Raises:
            InputError: a score is not between 0 and 1, so that it is not a label; or the disk is full.
            AssayError: the model cannot be loaded.
        """
        progress.begin("labelling of random pairs", len(pairs))
        scores_of_chunks = [np.empty(0)]  # np.concatenate needs an array even if there are no pairs
        try:
            for start in range(0, len(pairs), PAIRS_PER_CHUNK):
                chunk = pairs[start : start + PAIRS_PER_CHUNK]
                batch = Batch([pair.reference for pair in chunk], [pair.candidate for pair in chunk])
                texts = (*batch.references, *batch.candidates)
                scores_of_chunks.append(cached_scores(self.signature, texts, partial(self._score, batch)))
                progress.advance(len(chunk))
        finally:
            release_sessions()
        return np.concatenate(scores_of_chunks)

    def _score(self, batch: Batch) -> NDArray[np.float64]:
        """Return the scores of a batch of n pairs, shape (n,); raises InputError if one is not between 0 and 1."""
        scores: NDArray[np.float64] = open_session(self._metric.needs()).score([self._metric], batch).values[:, 0]
        is_label = (scores >= 0) & (scores <= 1)  # False for NaN
        if not is_label.all():
            row = int(np.argmin(is_label))
            raise InputError(
                f"{self._name} gives {scores[row]:.4g} for {batch.references[row]!r} and "
                f"{batch.candidates[row]!r}; labels lie between 0 and 1: add ,activation=sigmoid to its name, or use "
                "a model that was trained on similarity",
                setting="labeller",
            )
        return scores


def label_pairs(pairs: Sequence[Pair], labeller: Labeller | None, progress: Progress) -> NDArray[np.float64]:
    """Return the labels of n pairs: their own, and the labeller's for those that have none.

    Args:
        pairs: the n pairs.
        labeller: the cross-encoder; None if every pair has a label.
        progress: receives the number of pairs after each chunk that is labelled.

    Returns:
        Labels in [0, 1], shape (n,).

    Raises:
        InputError: the cross-encoder gives a score that is not between 0 and 1, or the disk is full.
        AssayError: the cross-encoder cannot be loaded.
    """
    labels = np.array([np.nan if pair.label is None else pair.label for pair in pairs])
    rows = np.flatnonzero(np.isnan(labels))
    if labeller is not None and len(rows):
        labels[rows] = labeller.labels([pairs[row] for row in rows.tolist()], progress)
    return labels


# The pairs of an augmented training as sets to learn from, and as a file.

#: The file with the pairs, in a model's folder.
PAIRS_FILE = "pairs.parquet"
LICENCE = "made by rule; the licence of the entities applies, if there are any"


def sets_of_pairs(
    pairs: Sequence[Pair], labels: NDArray[np.float64], say: Callable[[str], None]
) -> tuple[dict[str, Examples], dict[str, int]]:
    """Return the sets ``train``, ``dev`` and ``test`` by name, and counts for the model's card by name.

    A pair of ``train`` that repeats a pair of the other two sets is left out, as is a pair of ``dev`` that repeats one
    of ``test``. The counts are of the pairs of each set, those that were left out or occur more than once, and the
    texts of ``dev`` and ``test`` that occur in ``train``.

    Args:
        pairs: the n pairs.
        labels: the labels in [0, 1], shape (n,).
        say: receives a line on each kind of pairs that is left out, on repeated pairs, and on texts that sets share.

    Raises:
        InputError: a split has fewer than two pairs, or fewer than two are left.
    """
    examples_of_split = {}
    for name in SPLITS:
        rows = [row for row, pair in enumerate(pairs) if pair.split == name]
        if len(rows) < 2:
            raise InputError(
                f"{len(rows)} {name} pairs can be made, and 2 are needed; give more entities or numbers: a tenth of "
                "them is held out for dev and for test each"
            )
        examples_of_split[name] = _examples_of_pairs(name, [pairs[row] for row in rows], labels[rows])
    test = examples_of_split["test"]
    train, dev, counts = separate_sets(examples_of_split["train"], examples_of_split["dev"], test, say)
    sets = {"train": train, "dev": dev, "test": test}
    return sets, {f"{name}_pairs": len(examples) for name, examples in sets.items()} | counts


def _examples_of_pairs(split: str, pairs: Sequence[Pair], labels: NDArray[np.float64]) -> Examples:
    """Return the pairs of a split as one dataset that was labelled by machine; each pair is its own group."""
    references = tuple(pair.reference for pair in pairs)
    candidates = tuple(pair.candidate for pair in pairs)
    digest = hashlib.sha256(labels.tobytes())
    for text in (*references, *candidates):
        digest.update(hashlib.sha256(text.encode()).digest())
    source = Source(
        spec=f"{PAIRS_FILE}:{split}",
        name="augmented",
        version="",
        split=split,
        language=None,
        licence=LICENCE,
        digest=digest.hexdigest(),
        scale=(0.0, 1.0),
        kind="machine",
    )
    rows = np.arange(len(pairs), dtype=np.int64)
    return Examples(
        references=references,
        candidates=candidates,
        labels=labels,
        reference_graphs=(),
        candidate_graphs=(),
        origins=np.zeros(len(pairs), dtype=np.int64),
        groups=rows,
        sources=(source,),
        rows=rows + 1,
    )


def write_pairs(pairs: Sequence[Pair], labels: NDArray[np.float64], made_from: Mapping[str, str], folder: Path) -> None:
    """Write pairs to ``pairs.parquet``, with the columns ``reference, candidate, label, split, origin``.

    Args:
        pairs: the n pairs.
        labels: their labels, shape (n,).
        made_from: digests, versions and signatures by name, kept in the file's metadata as ``assay.NAME``.
        folder: the folder of the file.
    """
    columns = {
        "reference": [pair.reference for pair in pairs],
        "candidate": [pair.candidate for pair in pairs],
        "label": labels,
        "split": [pair.split for pair in pairs],
        "origin": [pair.origin for pair in pairs],
    }
    table = pa.table(columns).replace_schema_metadata({f"assay.{name}": value for name, value in made_from.items()})
    pq.write_table(table, folder / PAIRS_FILE)


# The whole augmented training: pairs made and labelled, then a bi-encoder trained on them.


def train_augmented(settings: AugmentedSettings, *, render: Render, progress: Progress) -> Results:
    """Make pairs, label them, train a bi-encoder on them, and write its folder; an interrupted training resumes.

    Args:
        settings: the settings; the folder of the model also gets the pairs, as ``pairs.parquet``.
        render: returns results as Markdown.
        progress: receives every step.

    Returns:
        The results as :func:`~assay.training.pairwise.recipe.train_on_pairs` returns them. The test labels were made
        by machine, so they are not agreement with people.

    Raises:
        InputError: a setting, the entities or the output folder cannot be used, the training diverged, or the disk is
            full.
        UnavailableError: a model, or the address of the entities, is unavailable.
        MissingExtraError: a library is not installed.
        SystemExit: of several processes that train together, this one follows the leader, which has the results.
    """
    base = locate(settings.base)
    labeller = None if settings.labeller is None else Labeller(settings.labeller)
    pairs, made_from, pair_counts = _make_pairs(settings, labeller is not None, progress)
    labels = label_pairs(pairs, labeller, progress)
    if labeller is not None:
        made_from["labeller"] = labeller.signature
    sets, counts = sets_of_pairs(pairs, labels, progress.say)
    job = job_of(settings.pair_settings(), base, sets, pair_counts | counts, settings.runtime, progress)
    job = replace(job, original_request=settings)
    with open_work_folder(settings.out, job.plain_request(made_from=made_from)) as work:
        results = make_all_models(job, work, render)
        write_pairs(pairs, labels, made_from, work.result_folder)
        return results


def _make_pairs(
    settings: AugmentedSettings, has_random_pairs: bool, progress: Progress
) -> tuple[list[Pair], dict[str, str], dict[str, int]]:
    """Return the pairs, the digests and versions of what they were made from, and counts for the card.

    Args:
        settings: the settings of the training.
        has_random_pairs: whether to make random pairs of entities, which need a labeller.
        progress: receives a line on what is left out, and one on the pairs that were made.

    Returns:
        The pairs; the digest of the entities and the version of num2words, as far as pairs were made from them, by
        name; and the numbers of entities and pairs, by name.

    Raises:
        InputError: the entities cannot be read, or a number cannot be written in words.
        OfflineError, UnavailableError: the entities are at an address from which nothing can be read.
        MissingExtraError: number pairs are wanted, and num2words is not installed.
    """
    pairs: list[Pair] = []
    made_from: dict[str, str] = {}
    counts: dict[str, int] = {}
    if settings.entities is not None:
        entities = read_entities(str(settings.entities))
        made_from["entities"] = entities.digest
        counts |= {
            "entities": len(entities),
            "entities_left_out": entities.left_out,
            "aliases_left_out": entities.aliases_left_out,
        }
        if entities.left_out:
            progress.say(
                f"{entities.left_out:,} entities have more than {MAX_FORMS} ways of writing and are left out, with "
                f"{entities.aliases_left_out:,} aliases"
            )
        times = settings.random_pairs if has_random_pairs else 0
        entity_pairs, skipped = pair_entities(entities.items, times, settings.seed)
        pairs += entity_pairs
        if skipped:
            counts["random_pairs_passed_over"] = skipped
            progress.say(f"{skipped:,} random pairs are passed over: their entities share a name, or they repeat one")
    if languages := settings.languages():
        pairs += number_pairs(languages, *settings.number_bounds(), settings.seed, settings.number_negatives)
        made_from["num2words"] = version_of("num2words")
    sizes = Counter(pair.origin for pair in pairs)
    size_texts = [f"{sizes[origin]:,} {origin}" for origin in ("random", "alias", "number") if sizes[origin]]
    progress.say(f"pairs made: {', '.join(size_texts) or 'none'}")
    return pairs, made_from, counts | {f"{origin}_pairs": size for origin, size in sizes.items()}
