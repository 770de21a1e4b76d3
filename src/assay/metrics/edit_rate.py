"""Translation edit rate as sacrebleu computes it, with all shifts of a round tried at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: A distance beyond that of any two texts, for cells outside of the beam.
_UNREACHED = 1 << 29
#: Most cells of a row of the table of distances, for all shifts that are tried at once.
_CELLS = 1 << 20


class _Shift(NamedTuple):
    """A shift of words of the candidate: where they start, their number, and the index before which they are put."""

    start: int
    length: int
    target: int


def count_edits(candidate: Sequence[str], reference: Sequence[str]) -> int:
    """Return the number of edits of ``sacrebleu.metrics.lib_ter.translation_edit_rate``: shifts and edits of words.

    sacrebleu computes an edit distance for each shift that it tries, up to a thousand in a pair. Here, NumPy computes
    those of a round together, and none for the round in which that limit is reached, since sacrebleu discards it.

    Args:
        candidate: its tokens.
        reference: its tokens.
    """
    from sacrebleu.metrics import lib_ter

    words, right = list(candidate), list(reference)
    if not right:
        return len(words)
    # sacrebleu's distance also has the alignment; it keeps the rows of beginnings that recur
    distance_to = lib_ter.BeamEditDistance(right)
    numbers = {word: number for number, word in enumerate(dict.fromkeys([*words, *right]))}
    tried = shifts = 0
    distance: int
    while True:
        distance, trace = distance_to(words)
        candidates = []
        for shift in _shifts(words, right, lib_ter.trace_to_alignment(lib_ter._flip_trace(trace))):
            candidates += shift
            if tried + len(candidates) >= lib_ter._MAX_SHIFT_CANDIDATES:
                return shifts + distance
        if not candidates:
            return shifts + distance
        tried += len(candidates)
        shifted = [lib_ter._perform_shift(words, *shift) for shift in candidates]
        distances = _distances([[numbers[word] for word in row] for row in shifted], [numbers[word] for word in right])
        # the largest gain, then the longest shift, then the earliest words, then the earliest target
        ranks = [
            (distance - distances[i], shift.length, -shift.start, -shift.target) for i, shift in enumerate(candidates)
        ]
        best = max(range(len(ranks)), key=ranks.__getitem__)
        if ranks[best][0] <= 0:
            return shifts + distance
        shifts += 1
        words = shifted[best]


def _shifts(
    words: list[str], reference: list[str], alignment: tuple[dict[int, int], list[int], list[int]]
) -> Iterator[list[_Shift]]:
    """Yield the shifts to try in sacrebleu's order, those of some words to a place of the reference at once.

    Args:
        words: the tokens of the candidate.
        reference: those of the reference.
        alignment: of :func:`sacrebleu.metrics.lib_ter.trace_to_alignment`: the index in the candidate of each index in
            the reference; whether each word of the reference is an error; and each word of the candidate.
    """
    aligned, reference_errors, errors = alignment
    for start, reference_start, length in _common_runs(words, reference):
        end, reference_end = start + length, reference_start + length
        is_right = not any(errors[start:end]) or not any(reference_errors[reference_start:reference_end])
        # a run is not shifted into itself
        if is_right or start <= aligned[reference_start] < end:
            continue
        # behind the word before the run in the reference, then behind each word of the run
        targets: list[int] = []
        for index in range(reference_start - 1, reference_end):
            if index != -1 and index not in aligned:
                break
            target = 0 if index == -1 else aligned[index] + 1
            if targets[-1:] != [target]:
                targets.append(target)
        yield [_Shift(start, length, target) for target in targets]


def _common_runs(words: list[str], reference: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield where the same words begin in both texts, and how many: each run, and each beginning of it."""
    from sacrebleu.metrics.lib_ter import _MAX_SHIFT_DIST, _MAX_SHIFT_SIZE

    positions_of_word = defaultdict(list)
    for position, word in enumerate(reference):
        positions_of_word[word].append(position)
    for start, word in enumerate(words):
        for position in positions_of_word.get(word, ()):
            if abs(position - start) > _MAX_SHIFT_DIST:
                continue
            longest = min(_MAX_SHIFT_SIZE, len(words) - start, len(reference) - position)
            for length in range(longest):
                if words[start + length] != reference[position + length]:
                    break
                yield start, position, length + 1


def _distances(rows: list[list[int]], reference: list[int]) -> list[int]:
    """Return the edit distance of each row to the reference within sacrebleu's beam.

    Args:
        rows: the numbers of the words of texts that are equally long, at least one each.
        reference: the numbers of its words.
    """
    import numpy as np

    size = max(1, _CELLS // (len(reference) + 1))
    right = np.array(reference, dtype=np.int32)
    parts = [_beam(np.array(rows[i : i + size], dtype=np.int32), right) for i in range(0, len(rows), size)]
    distances: list[int] = np.concatenate(parts).tolist()
    return distances


def _beam(rows: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the edit distance of each row, shape (texts, words), to the reference, shape (words,): shape (texts,)."""
    import numpy as np
    from sacrebleu.metrics.lib_ter import _BEAM_WIDTH

    (n_texts, n_words), n_reference = rows.shape, len(reference)
    ratio = n_reference / n_words
    width = math.ceil(ratio / 2 + _BEAM_WIDTH) if ratio / 2 > _BEAM_WIDTH else _BEAM_WIDTH
    columns = np.arange(n_reference + 1, dtype=np.int32)
    # cells outside of the beam stay unreached
    above = np.tile(columns, (n_texts, 1))
    current = np.full_like(above, _UNREACHED)
    filled, previous = slice(0, 0), slice(0, n_reference + 1)
    for i in range(1, n_words + 1):
        diagonal = math.floor(i * ratio)
        low = max(0, diagonal - width)
        high = n_reference + 1 if i == n_words else min(n_reference + 1, diagonal + width)
        current[:, filled] = _UNREACHED
        # a word is left out, or takes the place of another, or stays
        cells = above[:, low:high] + 1
        first = max(low, 1)
        other = (rows[:, i - 1 : i] != reference[first - 1 : high - 1]).astype(np.int32)
        np.minimum(cells[:, first - low :], above[:, first - 1 : high - 1] + other, out=cells[:, first - low :])
        # or words of the reference are inserted: the least of all cells before, one more for each column
        span = columns[low:high]
        current[:, low:high] = np.minimum.accumulate(cells - span, axis=1) + span
        above, current = current, above
        filled = previous
        previous = slice(low, high)
    return above[:, -1]
