"""Codes of pairs that stay together in a split: those of one group or column value, and those with equal texts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from assay.analysis.data import ScoredDataset
from assay.common.batches import DIGEST, SLICE, digest_of_texts, distinct_rows
from assay.exceptions import InputError
from assay.language.texts import pair_key, text_key
from assay.statistics.crossvalidation import Rows, codes_of_groups


def cells_of(data: ScoredDataset, column: str) -> list[object]:
    """Return the n cells of a column, one per pair; a null is None.

    Raises:
        InputError: there is no such column in the run, or it holds lists.
    """
    cells: list[object] = data.table.column(data.find_column(column)).to_pylist()
    if any(isinstance(cell, list) for cell in cells):
        raise InputError(f"{data.run.title}: the column {column!r} of {data.name} holds lists, which name no groups")
    return cells


def group_codes(data: ScoredDataset, column: str | None) -> Rows | None:
    """Return the group code of each pair, shape (n,), for splits that keep groups together.

    Groups are the values of *column*, in which an empty cell is a group of its own. Without a column they are the
    groups of the run, or None if it has no groups.

    Raises:
        InputError: the run has no such column, the column holds lists, or an older folder lacks the run's groups.
    """
    if column is None:
        return data.groups
    return codes_of_groups(cells_of(data, column))


def group_names(data: ScoredDataset, column: str | None) -> set[str]:
    """Return the distinct names of the groups of :func:`group_codes`, as text; empty without groups.

    Raises:
        InputError: there is no such column in the run, or it holds lists.
    """
    if column is None:
        column = data.group_column
    if column is None:
        return set()
    return {str(cell) for cell in cells_of(data, column) if cell not in (None, "")}


def pair_keys(data: ScoredDataset) -> list[Hashable]:
    """Return one key per pair; pairs with equal keys have the same texts to a model, see :func:`keys_of_texts`."""
    references, candidates = (data.table.column(name).to_pylist() for name in ("reference", "candidate"))
    return keys_of_texts(references, candidates)


def keys_of_texts(references: Sequence[Sequence[str]], candidates: Sequence[str]) -> list[Hashable]:
    """Return one key per pair; equal keys mean that a model cannot tell the pairs apart (:mod:`assay.language.texts`).

    The order of several gold answers does not matter, but they are never exchanged with the candidate. If all
    references or all candidates are blank, as in a run on scores alone, the texts are unknown, and every pair has a
    unique key.

    Args:
        references: the gold answers of each pair.
        candidates: the candidate of each pair.
    """
    if not any(text.strip() for golds in references for text in golds) or not any(map(str.strip, candidates)):
        return [object() for _ in candidates]
    return list(_text_keys(references, candidates))


def _text_keys(
    references: Sequence[Sequence[str]], candidates: Sequence[str]
) -> Iterator[tuple[str | tuple[str, ...], str]]:
    """Yield the keys of the reference and of the candidate of each pair; several gold answers have a sorted tuple."""
    for golds, candidate in zip(references, candidates, strict=True):
        if len(golds) == 1:
            yield pair_key(golds[0], candidate)
        else:
            yield tuple(sorted(map(text_key, golds))), text_key(candidate)


def pair_codes(data: ScoredDataset) -> Rows:
    """Return one code per pair, shape (n,); pairs with the same texts to a model have equal codes (:func:`pair_keys`).

    Splits by these codes keep duplicate pairs on one side. The table is read in slices, and keys are hashed, so that
    memory stays small.
    """
    digests = np.empty(len(data), dtype=DIGEST)
    has_reference = has_candidate = False
    for start in range(0, len(data), SLICE):
        rows = data.table.slice(start, SLICE)
        references, candidates = (rows.column(name).to_pylist() for name in ("reference", "candidate"))
        has_reference |= any(text.strip() for golds in references for text in golds)
        has_candidate |= any(map(str.strip, candidates))
        for row, (golds, candidate) in enumerate(_text_keys(references, candidates), start):
            # a leading empty string marks the keys of pairs with several gold answers
            texts = [golds, candidate] if isinstance(golds, str) else ["", *golds, candidate]
            digests[row] = np.void(digest_of_texts(texts))
    if not has_reference or not has_candidate:
        # the texts are unknown, as in a run on scores alone
        return np.arange(len(data))
    return distinct_rows(digests.view("S16"))[1]
