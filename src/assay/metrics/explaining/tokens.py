"""Explanations of BERTScore: each token with the most similar token of the other text."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast

from assay.metrics.base import Batch, Metric
from assay.metrics.bertscore import BertScore
from assay.metrics.explaining.explanation import Explanation, notes_of, score_together

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.embeddings import TextEmbeddings
    from assay.metrics.neural.views import View


@dataclass(frozen=True)
class TokenMatch:
    """One token that counts, and its best partner.

    Attributes:
        side: whose token it is.
        position: its index among the tokens of its text, from 0, special ones counted.
        token: as the model's tokenizer writes it.
        partner: the most similar token of the other text; special ones may be matched.
        partner_position: the partner's index.
        similarity: their cosine, in [-1, 1].
        weight: its inverse document frequency, 1 without weights.
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
    recorder = _Recorder(metric)
    scores = score_together([metric, cast(Metric, recorder)], batch)
    model = metric.located()
    tokenizer = load_tokenizer(str(model.folder), model.digest)
    explanations = []
    for row, (first, second) in enumerate(batch.pairs()):
        reference, candidate = recorder.pairs[row]
        similarity = reference.unit @ candidate.unit.T
        reference_words = [_readable(tokenizer, token) for token in reference.ids]
        candidate_words = [_readable(tokenizer, token) for token in candidate.ids]
        matches = _matches("reference", reference.weights, similarity, reference_words, candidate_words)
        matches += _matches("candidate", candidate.weights, similarity.T, candidate_words, reference_words)
        explanation = TokenExplanation(
            str(metric),
            first,
            second,
            float(scores.values[row, 0]),
            notes_of(scores.flags[row, 0]),
            precision=_weighted_mean(candidate.weights, similarity.T),
            recall=_weighted_mean(reference.weights, similarity),
            tokens=tuple(matches),
        )
        explanations.append(explanation)
    return explanations


class _TextTokens(NamedTuple):
    """The n tokens of one text.

    Attributes:
        unit: embeddings of length 1, shape (n, d); zero where a token has none.
        ids: their numbers, n of them.
        weights: what they count, shape (n,).
    """

    unit: NDArray[np.float64]
    ids: list[int]
    weights: NDArray[np.float64]


class _Recorder:
    """Takes part in a pass like a metric, and keeps the tokens of each pair; its own scores are 0."""

    def __init__(self, metric: BertScore) -> None:
        self._metric = metric
        self.declaration = metric.declaration
        self.pairs: list[tuple[_TextTokens, _TextTokens]] = []

    def view(self) -> View:
        return self._metric.view()

    def compare(
        self, embeddings: TextEmbeddings, left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Keep the tokens of each pair; see :class:`~assay.metrics.neural.metric.EncoderBased`."""
        import numpy as np

        for left_text, right_text in zip(left, right, strict=True):
            reference = self._tokens_of(embeddings, int(left_text))
            candidate = self._tokens_of(embeddings, int(right_text))
            self.pairs.append((reference, candidate))
        return np.zeros(len(left))

    def _tokens_of(self, embeddings: TextEmbeddings, text: int) -> _TextTokens:
        """Return the tokens of the text of this number."""
        import numpy as np

        assert embeddings.starts is not None  # noqa: S101 - embeddings of tokens have starts
        ids = list(embeddings.ids[text])
        start = int(embeddings.starts[text])
        values = embeddings.values[start : start + len(ids)].cpu().double().numpy()
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        unit = np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)
        return _TextTokens(unit, ids, self._metric.weights()(np.asarray(ids, dtype=np.int64)))


def _matches(
    side: Literal["reference", "candidate"],
    weights: NDArray[np.float64],
    similarity: NDArray[np.float64],
    words: list[str],
    partners: list[str],
) -> list[TokenMatch]:
    """Return the tokens of a side that count, each with the most similar token of the other side.

    Args:
        side: whose tokens they are.
        weights: of its n tokens, shape (n,).
        similarity: cosines with the m tokens of the other side, shape (n, m).
        words: its tokens.
        partners: the tokens of the other side.
    """
    matches = []
    for index, weight in enumerate(weights):
        if weight:
            best = int(similarity[index].argmax())
            cosine = float(similarity[index, best])
            matches.append(TokenMatch(side, index, words[index], partners[best], best, cosine, float(weight)))
    return matches


def _weighted_mean(weights: NDArray[np.float64], similarity: NDArray[np.float64]) -> float:
    """Return the mean of the tokens' best similarities by their weights, 0 where no token has a weight."""
    import numpy as np

    counted = np.flatnonzero(weights)
    best = similarity.max(axis=1)[counted]
    total = float(weights.sum())
    return float((weights[counted] * best).sum() / total) if total > 0 else 0.0


def _readable(tokenizer: Any, token: int) -> str:
    """Return a token decoded, or by its name where the decoded text is blank."""
    text: str = tokenizer.decode([token]).strip()
    return text or str(tokenizer.convert_ids_to_tokens(token))
