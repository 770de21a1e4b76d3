"""Translation edit rate by sacrebleu."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from assay.metrics.base import Declaration, PairMetric, option


@dataclass(frozen=True)
class Ter(PairMetric):
    """Number of edits that turn the candidate into the reference, per word of the reference: 0 if equal, unbounded.

    Lower is better. Two blank texts have 0; any other text has 1 against a blank reference, as in sacrebleu. Identical
    texts have 0 here; in sacrebleu some have edits with ``normalized``, such as ``a's,(`` (.5), since it normalises the
    reference twice.
    """

    normalized: bool = option(False, "tokenise and normalise first")
    no_punct: bool = option(False, "remove punctuation")
    asian_support: bool = option(False, "split Asian characters when normalising")
    case_sensitive: bool = option(False, "distinguish upper and lower case")

    declaration: ClassVar[Declaration] = Declaration(
        name="ter",
        kind="lexical",
        summary="translation edit rate (lower is better)",
        formula="(insertions + deletions + substitutions + shifts) / words of the reference",
        high=math.inf,
        higher_is_better=False,
        perfect=0.0,
        citation="Snover et al. 2006, A Study of Translation Edit Rate with Targeted Human Annotation",
        provider=("sacrebleu",),
    )

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> edits per word of the reference, 0 for equal texts."""
        from sacrebleu.metrics.ter import TER

        from assay.metrics.edit_rate import count_edits

        ter = TER(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )

        def score(reference: str, candidate: str) -> float:
            """Return the edits of a pair per word of the reference."""
            # sacrebleu may find edits between equal texts, since it normalises the reference twice
            if reference == candidate:
                return 0.0
            # as in sacrebleu, the reference is prepared twice
            prepared = ter._preprocess_segment(ter._preprocess_segment(reference)).split()
            edits = count_edits(ter._preprocess_segment(candidate).split(), prepared)
            value: float = ter._compute_score_from_stats([edits, len(prepared)]).score
            return value / 100

        return score
