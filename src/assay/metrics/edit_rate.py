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

    Round by round, the shift that lowers the edit distance most is made, until none lowers it. sacrebleu computes a
    distance for each shift that it tries, up to a thousand in a pair. Here, NumPy computes those of a round together,
    and none for the round in which that limit is reached, since sacrebleu discards it.

    Args:
        candidate: the tokens of the candidate.
        reference: the tokens of the reference; if there are none, each token of the candidate is an edit.
    """
    from sacrebleu.metrics import lib_ter

    words, reference_words = list(candidate), list(reference)
    if not reference_words:
        return len(words)
    # sacrebleu's distance also has the alignment; it keeps the rows of beginnings that recur
    distance_to = lib_ter.BeamEditDistance(reference_words)
    shifts_tried = shifts_made = 0
    distance: int
    while True:
        distance, trace = distance_to(words)
        shifts: list[_Shift] = []
        for shifts_to_place in _shifts(words, reference_words, lib_ter.trace_to_alignment(lib_ter._flip_trace(trace))):
            shifts += shifts_to_place
            if shifts_tried + len(shifts) >= lib_ter._MAX_SHIFT_CANDIDATES:
                return shifts_made + distance
        if not shifts:
            return shifts_made + distance
        shifts_tried += len(shifts)
        lowest_distance, shifted_words = _best_shift(shifts, words, reference_words)
        if lowest_distance >= distance:
            return shifts_made + distance
        shifts_made += 1
        words = shifted_words


def _best_shift(shifts: list[_Shift], words: list[str], reference: list[str]) -> tuple[int, list[str]]:
    """Return the lowest edit distance to the reference after one of some shifts, and the words after that shift.

    Of shifts with equal distances, the longest counts, then that of the earliest words, then the earliest target.

    Args:
        shifts: the shifts, at least one.
        words: the tokens of the candidate.
        reference: those of the reference.
    """
    from sacrebleu.metrics import lib_ter

    numbers = {word: number for number, word in enumerate(dict.fromkeys([*words, *reference]))}
    shifted_words = [lib_ter._perform_shift(words, *shift) for shift in shifts]
    shifted_rows = [[numbers[word] for word in row] for row in shifted_words]
    distances = _distances(shifted_rows, [numbers[word] for word in reference])

    def rank(index: int) -> tuple[int, int, int, int]:
        shift = shifts[index]
        return distances[index], -shift.length, shift.start, shift.target

    best = min(range(len(shifts)), key=rank)
    return distances[best], shifted_words[best]


def _shifts(
    words: list[str], reference: list[str], alignment: tuple[dict[int, int], list[int], list[int]]
) -> Iterator[list[_Shift]]:
    """Yield the shifts to try in sacrebleu's order, in lists: each has those of one run of words to one place.

    Args:
        words: the tokens of the candidate.
        reference: those of the reference.
        alignment: of :func:`sacrebleu.metrics.lib_ter.trace_to_alignment`: the index in the candidate of each index in
            the reference; whether each word of the reference is an error; and each word of the candidate.
    """
    aligned, reference_errors, errors = alignment
    for start, reference_start, length in _common_runs(words, reference):
        end, reference_end = start + length, reference_start + length
        is_in_place = not any(errors[start:end]) or not any(reference_errors[reference_start:reference_end])
        # a run is not shifted into itself
        if is_in_place or start <= aligned[reference_start] < end:
            continue
        # behind the word before the run in the reference, then behind each word of the run
        targets: list[int] = []
        for index in range(reference_start - 1, reference_end):
            if index == -1:
                # before the first word of the reference is the beginning of the candidate
                targets.append(0)
                continue
            if index not in aligned:
                break
            target = aligned[index] + 1
            if not targets or targets[-1] != target:
                targets.append(target)
        yield [_Shift(start, length, target) for target in targets]


def _common_runs(words: list[str], reference: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of words that both texts have: the index in each text where a run begins, and its number of words.

    Each beginning of a run is yielded before the whole of it. Runs that are too long or too far apart for sacrebleu to
    shift are left out.
    """
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
    """Return the edit distance of each row to the reference within sacrebleu's beam, computed in blocks of rows.

    Args:
        rows: the texts as numbers, equal for equal words: at least one text, all equally long, with at least one word.
        reference: the words of the reference as such numbers.
    """
    import numpy as np

    rows_at_once = max(1, _CELLS // (len(reference) + 1))
    reference_row = np.array(reference, dtype=np.int32)
    distances_of_blocks = [
        _beam(np.array(rows[i : i + rows_at_once], dtype=np.int32), reference_row)
        for i in range(0, len(rows), rows_at_once)
    ]
    distances: list[int] = np.concatenate(distances_of_blocks).tolist()
    return distances


def _beam(rows: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the edit distance of each of t texts to the reference, int32, shape (t,), by the beam of sacrebleu.

    The table of distances has a row for each word of a text and a column for each word of the reference, and before
    these a row and a column for no words. Only cells near the diagonal are computed, so that a distance may be too
    large.

    Args:
        rows: the n words of each text as numbers, shape (t, n).
        reference: the m words of the reference as numbers, shape (m,).
    """
    import numpy as np
    from sacrebleu.metrics.lib_ter import _BEAM_WIDTH

    n_texts, n_words = rows.shape
    n_reference = len(reference)
    ratio = n_reference / n_words
    # as in sacrebleu, wide enough that the parts of neighbouring rows overlap
    width = math.ceil(ratio / 2 + _BEAM_WIDTH) if ratio / 2 > _BEAM_WIDTH else _BEAM_WIDTH
    columns = np.arange(n_reference + 1, dtype=np.int32)
    # two rows take turns; cells outside of the beam stay unreached
    above = np.tile(columns, (n_texts, 1))
    current = np.full_like(above, _UNREACHED)
    # the columns within the beam of what `current` still holds, the row before last, and of `above`
    filled_in_current, filled_in_above = slice(0, 0), slice(0, n_reference + 1)
    for i in range(1, n_words + 1):
        diagonal = math.floor(i * ratio)
        low = max(0, diagonal - width)
        high = n_reference + 1 if i == n_words else min(n_reference + 1, diagonal + width)
        current[:, filled_in_current] = _UNREACHED
        # a word is left out, or takes the place of another, or stays
        cells = above[:, low:high] + 1
        first = max(low, 1)
        substitution = (rows[:, i - 1 : i] != reference[first - 1 : high - 1]).astype(np.int32)
        np.minimum(cells[:, first - low :], above[:, first - 1 : high - 1] + substitution, out=cells[:, first - low :])
        # or words of the reference are inserted: the least of all cells before, one more for each column
        span = columns[low:high]
        current[:, low:high] = np.minimum.accumulate(cells - span, axis=1) + span
        above, current = current, above
        filled_in_current, filled_in_above = filled_in_above, slice(low, high)
    return above[:, -1]
