"""Character-based similarity, computed by rapidfuzz: Levenshtein and Jaro-Winkler."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from assay.metrics.base import Batch, Declaration, PairMetric, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: The number of characters of a text that are compared, since time grows with the product of both lengths.
MAX_CHARACTERS = 100_000


@dataclass(frozen=True)
class _Edit(PairMetric):
    """Base of metrics that compare characters after NFC normalisation, so that a composed and a decomposed Ä are equal.

    Two empty texts score 1, one empty text 0. Of a text only the first :data:`MAX_CHARACTERS` count; :meth:`flags`
    reports which texts are cut.
    """

    lowercase: bool = option(False, "compare in lower case")

    def data_signature(self) -> dict[str, str]:
        """Return the version of the Unicode tables, by which texts are normalised."""
        return {"unicode": unicodedata.unidata_version}

    def flags(self, batch: Batch) -> NDArray[np.uint8]:
        """Return :class:`~assay.metrics.scores.Flag` bits for texts that are cut: uint8, shape ``(len(batch),)``."""
        import numpy as np

        from assay.metrics.scores import Flag

        def is_cut(text: str) -> bool:
            # normalisation makes at most three characters of one, so that short texts need none
            return 3 * len(text) > MAX_CHARACTERS and len(self._normalised(text)) > MAX_CHARACTERS

        flags = np.zeros(len(batch), dtype=np.uint8)
        for row, (reference, candidate) in enumerate(batch.pairs()):
            if is_cut(reference):
                flags[row] |= Flag.REFERENCE_CUT
            if is_cut(candidate):
                flags[row] |= Flag.CANDIDATE_CUT
        return flags

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> similarity of the characters, from 0 to 1."""
        similarity = self._similarity_function()

        def score(reference: str, candidate: str) -> float:
            left, right = (self._normalised(text)[:MAX_CHARACTERS] for text in (reference, candidate))
            if not left or not right:
                return float(left == right)
            return similarity(left, right)

        return score

    def _normalised(self, text: str) -> str:
        return unicodedata.normalize("NFC", text.lower() if self.lowercase else text)

    def _similarity_function(self) -> Callable[[str, str], float]:
        """Return the function from two texts that are not empty to their similarity, from 0 to 1."""
        raise NotImplementedError


@dataclass(frozen=True)
class Levenshtein(_Edit):
    """1 - distance / length of the longer text, in characters: from 0 to 1."""

    declaration: ClassVar[Declaration] = Declaration(
        name="levenshtein",
        kind="lexical",
        summary="normalised Levenshtein similarity of characters",
        formula="1 − d(a, b) / max(|a|, |b|)",
        symmetric=True,
        perfect=1.0,
        citation="Levenshtein 1966, Binary Codes Capable of Correcting Deletions, Insertions, and Reversals",
        provider=("rapidfuzz",),
    )

    def _similarity_function(self) -> Callable[[str, str], float]:
        from rapidfuzz.distance import Levenshtein as Distance

        return Distance.normalized_similarity


@dataclass(frozen=True)
class JaroWinkler(_Edit):
    """Jaro similarity, if above 0.7 increased for a common prefix of up to four characters: from 0 to 1."""

    prefix_weight: float = option(0.1, "what one character of common prefix adds", minimum=0, maximum=0.25)

    declaration: ClassVar[Declaration] = Declaration(
        name="jaro-winkler",
        kind="lexical",
        summary="Jaro-Winkler similarity of characters",
        formula="J, if above .7 J + l p (1 − J), J = (m/|a| + m/|b| + (m − ⌊t/2⌋)/m) / 3, l ≤ 4, p = .1",
        symmetric=True,
        perfect=1.0,
        citation="Winkler 1990, String Comparator Metrics and Enhanced Decision Rules",
        provider=("rapidfuzz",),
    )

    def _similarity_function(self) -> Callable[[str, str], float]:
        from rapidfuzz.distance import JaroWinkler as Distance

        weight = self.prefix_weight
        return lambda left, right: Distance.normalized_similarity(left, right, prefix_weight=weight)
