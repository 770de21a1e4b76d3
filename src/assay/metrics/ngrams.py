"""The n-grams that two texts share, for many pairs at once: the statistics of BLEU, chrF and ROUGE-N."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from assay.common.progress import track_progress
from assay.metrics.batch import Batch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Characters of the texts of a chunk, after which it ends: a character takes about 150 bytes while n-grams are counted.
_CHARACTERS: Final = 1 << 18
#: How many characters a pair counts as beyond those of its texts.
_CHARACTERS_PER_PAIR: Final = 16


class NgramCounts(NamedTuple):
    """How many n-grams the texts of each pair have; each int64, shape (pairs, longest n), column 0 for one token.

    Attributes:
        reference, candidate: the n-grams of each text.
        common: those that both texts have; an n-gram that recurs counts as often as it occurs in both.
    """

    reference: NDArray[np.int64]
    candidate: NDArray[np.int64]
    common: NDArray[np.int64]


def count_ngrams(references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]], longest: int) -> NgramCounts:
    """Return the numbers of n-grams of the texts of pairs, and of those that both texts of a pair have.

    Each n-gram of a pair has a number: the rank of the number of its first n - 1 tokens together with its last token.
    No two different n-grams have the same number, so that the counts are exact.

    Args:
        references, candidates: the texts of each pair, either all as lists of tokens, or all as strings, whose tokens
            are their characters.
        longest: the largest n, at least 1.
    """
    import numpy as np

    n_pairs = len(references)
    lengths = np.fromiter(map(len, chain(references, candidates)), np.int64, 2 * n_pairs)
    totals = np.maximum(lengths[:, np.newaxis] - np.arange(longest), 0)
    common = np.zeros((n_pairs, longest), np.int64)
    tokens = _number_tokens([*references, *candidates])
    # of each token of all texts: the number of its text, its pair, and the index at which its text ends
    texts = np.repeat(np.arange(2 * n_pairs), lengths)
    pairs = texts % max(n_pairs, 1)
    ends = np.cumsum(lengths)[texts]
    # the indices at which n-grams start that may be common, and the numbers of those n-grams
    starts, numbers = np.arange(len(tokens)), pairs
    n_tokens = int(tokens.max(initial=0)) + 1
    for last in range(longest):
        fits = starts + last < ends[starts]
        starts, numbers = starts[fits], numbers[fits]
        distinct, numbers = np.unique(numbers * n_tokens + tokens[starts + last], return_inverse=True)
        is_candidate = texts[starts] >= n_pairs
        # how often each n-gram occurs in the reference and in the candidate of its pair
        in_reference = np.bincount(numbers[~is_candidate], minlength=len(distinct))
        in_candidate = np.bincount(numbers[is_candidate], minlength=len(distinct))
        in_both = np.minimum(in_reference, in_candidate)
        pair_of_number = np.empty(len(distinct), np.int64)
        pair_of_number[numbers] = pairs[starts]
        common[:, last] = np.bincount(pair_of_number, weights=in_both, minlength=n_pairs)
        # an n-gram that only one text has cannot begin a longer one that both have
        is_common = in_both[numbers] > 0
        starts, numbers = starts[is_common], numbers[is_common]
    return NgramCounts(totals[:n_pairs], totals[n_pairs:], common)


def _number_tokens(texts: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return a number for each token of all texts, equal for equal tokens: int64, shape (all tokens,).

    Of strings, the tokens are the characters, and their numbers the code points.
    """
    import numpy as np

    if texts and isinstance(texts[0], str):
        characters = "".join(cast("Sequence[str]", texts)).encode("utf-32-le", "surrogatepass")
        return np.frombuffer(characters, np.dtype("<u4")).astype(np.int64)
    number_of: defaultdict[str, int] = defaultdict(count().__next__)
    return np.fromiter(map(number_of.__getitem__, chain.from_iterable(texts)), np.int64)


def score_chunks(batch: Batch, score: Callable[[list[str], list[str]], Sequence[float]]) -> NDArray[np.float64]:
    """Return the scores of a batch, computed in chunks, which bounds the memory: float64, shape ``(len(batch),)``.

    The progress is reported.

    Args:
        batch: the pairs.
        score: the function from the references and the candidates of a chunk to their scores.
    """
    import numpy as np

    chunks = _chunks(track_progress(batch.pairs(), len(batch)))
    scores_of_chunks = [np.array(score(*columns), np.float64) for columns in chunks]
    # a batch without pairs has no chunk
    return np.concatenate(scores_of_chunks) if scores_of_chunks else np.zeros(0)


def _chunks(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the references and the candidates of as many pairs as a chunk holds, in order."""
    references: list[str] = []
    candidates: list[str] = []
    room = _CHARACTERS
    for reference, candidate in pairs:
        references.append(reference)
        candidates.append(candidate)
        room -= len(reference) + len(candidate) + _CHARACTERS_PER_PAIR
        if room <= 0:
            yield references, candidates
            references, candidates, room = [], [], _CHARACTERS
    if references:
        yield references, candidates
