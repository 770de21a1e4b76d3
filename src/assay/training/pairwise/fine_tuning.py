"""Encoders that are fine-tuned to tell classes apart: a copy for each seed, trained as a cross-encoder with classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.common.progress import Progress
from assay.datasets import Pairs
from assay.metrics.neural.runtime import Runtime
from assay.training.data import Examples, Source
from assay.training.pairwise.crossvalidation import FoldTrainer, parse_recipe


def fine_tuned_decisions(
    base: str,
    texts: tuple[Sequence[str], Sequence[str] | None],
    classes: Sequence[str],
    train_rows: int,
    parts: Sequence[Pairs],
    learning: Mapping[str, float],
    seeds: int,
    groups: Sequence[int] | NDArray[np.intp] | None,
    runtime: Runtime,
    progress: Progress,
) -> NDArray[np.int64]:
    """Return the class numbers that fine-tuned copies of an encoder decide on, shape (s, m).

    They are indices into the sorted names of the classes. Decisions are cached, and checkpoints kept, as in
    cross-validation.

    Args:
        base: the encoder.
        texts: the first and the second texts of n pairs; None in place of the second ones for single texts, which are
            paired with empty ones.
        classes: the class of each row, length n; those of the first rows are to train on.
        train_rows: the number of rows to train on; the others are the m to test.
        parts: the datasets that the rows come from; messages name the first one.
        learning: the settings of how it learns, by name, of those that :func:`parse_recipe` knows.
        seeds: the number s of seeds, from 0 on.
        groups: the codes of groups of the n rows, which the choice of a step does not divide; None for single rows.
        runtime: the device and the number of threads.
        progress: receives every step.

    Raises:
        InputError: a setting is invalid, the classes cannot be learned, the training diverged, or the disk is full.
        UnavailableError: the base model cannot be loaded or trained.
    """
    first, second = texts
    n = len(first)
    numbers = np.arange(n, dtype=np.int64)
    examples = Examples(
        references=tuple(first),
        candidates=("",) * n if second is None else tuple(second),
        labels=np.zeros(n),
        reference_graphs=(),
        candidate_graphs=(),
        origins=np.zeros(n, dtype=np.int64),
        groups=numbers if groups is None else np.asarray(groups, dtype=np.int64),
        sources=(_source_of(parts[0]),),
        rows=numbers + 1,
        classes=tuple(classes),
    )
    train, test = numbers[:train_rows].astype(np.intp), numbers[train_rows:].astype(np.intp)
    decided = []
    for seed in range(seeds):
        options = ",".join(f"{name}={value}" for name, value in {**learning, "seed": seed}.items())
        trainer = FoldTrainer(
            parse_recipe(f"cross-encoder:{base},{options}", classes="class"), examples, runtime, progress
        )
        decided.append(trainer(train, test).astype(np.int64))
    return np.stack(decided)


def _source_of(pairs: Pairs) -> Source:
    """Return the source of pairs in memory, for the record of a training."""
    return Source(
        spec=pairs.name,
        name=pairs.name,
        version=pairs.version,
        split=pairs.split,
        language=pairs.language,
        licence="",
        digest=pairs.digest,
        scale=pairs.scale,
    )
