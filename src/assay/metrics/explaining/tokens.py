"""BERTScore: each token and the most similar token of the other text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from assay.metrics.base import Batch, Metric
from assay.metrics.bertscore import BertScore
from assay.metrics.explaining.explanation import Explanation, notes_of, score_together

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.embeddings import TextEmbeddings, View

__all__ = ["TokenExplanation", "TokenMatch", "explain_tokens"]


@dataclass(frozen=True)
class TokenMatch:
    """One token that counts, and its best partner.

    Attributes:
        side: whose token it is.
        position: its place among the tokens of its text, from 0, special ones counted.
        token: as the model's tokenizer writes it.
        partner: the most similar token of the other text; special ones may be matched.
        partner_position: its place.
        similarity: their cosine, in [-1, 1].
        weight: what it counts (inverse document frequency), 1 without weights.
    """

    side: Literal["reference", "candidate"]
    position: int
    token: str
    partner: str
    partner_position: int
    similarity: float
    weight: float


@dataclass(frozen=True)
class TokenExplanation(Explanation):
    """The matches of a pair: recall is their weighted mean over the reference, precision over the candidate.

    Attributes:
        precision, recall: before rescaling; 0 where a text has no weight.
        tokens: the reference's, then the candidate's, in the order of the texts.
    """

    kind: ClassVar[str] = "tokens"

    precision: float
    recall: float
    tokens: tuple[TokenMatch, ...]


def explain_tokens(metric: BertScore, batch: Batch) -> list[TokenExplanation]:
    """Explain pairs under BERTScore; ``engine=bert-score`` is explained by assay's own, which gives its values."""
    from assay.metrics.neural.loading import load_tokenizer

    metric = dataclasses.replace(metric, engine="assay")
    reader = _Reader(metric)
    scores = score_together([metric, cast(Metric, reader)], batch)
    found = metric.located()
    tokenizer = load_tokenizer(str(found.folder), found.digest)
    explained = []
    for row, (first, second) in enumerate(batch.pairs()):
        matches, means = _matches(*reader.found[row], lambda ids: [_written(tokenizer, one) for one in ids])
        notes = notes_of(scores.flags[row, 0])
        score = float(scores.values[row, 0])
        explained.append(
            TokenExplanation(str(metric), first, second, score, notes, means["candidate"], means["reference"], matches)
        )
    return explained


class _Side:
    """The tokens of one text: unit embeddings (n, d), numbers and weights (n,)."""

    def __init__(self, unit: NDArray[np.float64], ids: list[int], weights: NDArray[np.float64]) -> None:
        self.unit = unit
        self.ids = ids
        self.weights = weights


class _Reader:
    """Stands beside the metric in a pass and keeps what the pass gave; its own scores are 0."""

    def __init__(self, metric: BertScore) -> None:
        self._metric = metric
        self.found: list[tuple[_Side, _Side]] = []

    def view(self) -> View:
        return self._metric.view()

    def compare(self, rows: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]) -> NDArray[np.float64]:
        import numpy as np

        for one, two in zip(left, right, strict=True):
            self.found.append((self._side(rows, int(one)), self._side(rows, int(two))))
        return np.zeros(len(left))

    def _side(self, rows: TextEmbeddings, text: int) -> _Side:
        import numpy as np

        assert rows.starts is not None  # noqa: S101 - what has tokens has starts
        ids = list(rows.ids[text])
        values = rows.values[int(rows.starts[text]) : int(rows.starts[text]) + len(ids)].cpu().double().numpy()
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        unit = np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)
        return _Side(unit, ids, self._metric.weights()(np.asarray(ids, dtype=np.int64)))


def _matches(
    reference: _Side, candidate: _Side, write: Callable[[list[int]], list[str]]
) -> tuple[tuple[TokenMatch, ...], dict[str, float]]:
    """Return the matches of both sides, and the weighted mean of each."""
    import numpy as np

    similar = reference.unit @ candidate.unit.T
    found: list[TokenMatch] = []
    means: dict[str, float] = {}
    sides: tuple[tuple[Literal["reference", "candidate"], _Side, _Side, NDArray[np.float64]], ...] = (
        ("reference", reference, candidate, similar),
        ("candidate", candidate, reference, similar.T),
    )
    for side, own, other, table in sides:
        words, partners = write(own.ids), write(other.ids)
        best = table.argmax(axis=1)
        counted = np.flatnonzero(own.weights)
        values = table[counted, best[counted]]
        total = float(own.weights.sum())
        means[side] = float((own.weights[counted] * values).sum() / total) if total > 0 else 0.0
        found += [
            TokenMatch(
                side, int(i), words[i], partners[best[i]], int(best[i]), float(table[i, best[i]]), float(own.weights[i])
            )
            for i in counted
        ]
    return tuple(found), means


def _written(tokenizer: Any, token: int) -> str:
    """Return a token as a reader knows it: decoded, or its name where nothing can be seen of it."""
    text: str = tokenizer.decode([token]).strip()
    return text or str(tokenizer.convert_ids_to_tokens(token))
