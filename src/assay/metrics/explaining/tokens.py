"""Explanations of BERTScore: each token with the most similar token of the other text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, cast

from assay.metrics.base import Batch
from assay.metrics.explaining.explanation import Explanation
from assay.metrics.scores import phrases_of
from assay.metrics.work import open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.metrics.neural.bertscore import TokenWeighting
    from assay.metrics.neural.embeddings import TextEmbeddings
    from assay.metrics.neural.encoder import EncoderSession
    from assay.metrics.neural.readers import EncoderBased


@dataclass(frozen=True)
class TokenMatch:
    """A token with a weight above 0, and its most similar token in the other text.

    Attributes:
        side: the text that has the token.
        position: the token's index in its text, from 0, including special tokens.
        token: the decoded token.
        partner: the most similar token of the other text, which may be a special token.
        partner_position: the partner's index in its text.
        similarity: the cosine of the two embeddings, in [-1, 1].
        weight: the token's inverse document frequency; 1 without weights.
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
        precision, recall: the two means before rescaling; 0 if no token of the text has a weight, or the other text has
            no token.
        tokens: the tokens of the reference, then those of the candidate, in the order of the texts.
    """

    kind: ClassVar[str] = "tokens"

    precision: float
    recall: float
    tokens: tuple[TokenMatch, ...]


def explain_tokens(metric: EncoderBased, weigh: TokenWeighting, batch: Batch) -> list[TokenExplanation]:
    """Return the token matches of each pair under BERTScore in assay's own engine.

    Args:
        metric: the metric.
        weigh: the function from the token ids of texts to the weights of all their tokens.
        batch: the pairs.

    Raises:
        AssayError: the model cannot be loaded, or the scores cannot be computed.
    """
    from assay.metrics.neural.loading import load_tokenizer

    session = cast("EncoderSession", open_session(metric.needs()))
    # all texts are named as needed again, so that their embeddings stay in the session and are read below
    scores = session.score([metric], batch, {*batch.references, *batch.candidates})
    pairs: list[tuple[_TextTokens, _TextTokens]] = []
    for embeddings, left, right in session.embeddings_of(metric, batch):
        for indices in zip(left, right, strict=True):
            reference, candidate = (_tokens_of(embeddings, int(index), weigh) for index in indices)
            pairs.append((reference, candidate))
    model = metric.located()
    tokenizer = load_tokenizer(str(model.folder), model.digest)
    explanations = []
    for row, (first, second) in enumerate(batch.pairs()):
        reference, candidate = pairs[row]
        similarity = reference.unit_embeddings @ candidate.unit_embeddings.T
        reference_words = [_readable_token(tokenizer, token_id) for token_id in reference.ids]
        candidate_words = [_readable_token(tokenizer, token_id) for token_id in candidate.ids]
        matches = _token_matches("reference", reference.weights, similarity, reference_words, candidate_words)
        matches += _token_matches("candidate", candidate.weights, similarity.T, candidate_words, reference_words)
        explanation = TokenExplanation(
            metric=str(metric),
            reference=first,
            candidate=second,
            score=float(scores.values[row, 0]),
            notes=phrases_of(scores.flags[row, 0]),
            precision=_mean_best_similarity(candidate.weights, similarity.T),
            recall=_mean_best_similarity(reference.weights, similarity),
            tokens=tuple(matches),
        )
        explanations.append(explanation)
    return explanations


class _TextTokens(NamedTuple):
    """The n tokens of one text.

    Attributes:
        unit_embeddings: the embeddings scaled to length 1, shape (n, d); zero embeddings stay zero.
        ids: the n token ids.
        weights: the weights of the tokens, shape (n,).
    """

    unit_embeddings: NDArray[np.float64]
    ids: list[int]
    weights: NDArray[np.float64]


def _tokens_of(embeddings: TextEmbeddings, text_index: int, weigh: TokenWeighting) -> _TextTokens:
    """Return the tokens of one text.

    Args:
        embeddings: the token embeddings of texts.
        text_index: the index of the text in them.
        weigh: the function from the token ids of texts to the weights of all their tokens.
    """
    import numpy as np

    assert embeddings.starts is not None  # noqa: S101 - embeddings of tokens have starts
    ids = list(embeddings.ids[text_index])
    start = int(embeddings.starts[text_index])
    values = embeddings.values[start : start + len(ids)].cpu().double().numpy()
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    unit_embeddings = np.divide(values, norms, out=np.zeros_like(values), where=norms > 0)
    return _TextTokens(unit_embeddings, ids, weigh([ids]))


def _token_matches(
    side: Literal["reference", "candidate"],
    weights: NDArray[np.float64],
    similarity: NDArray[np.float64],
    words: list[str],
    partners: list[str],
) -> list[TokenMatch]:
    """Return the tokens of one side that have a weight, each with the most similar token of the other side.

    It is empty if the other side has no token, as an empty text has under a tokenizer without special tokens.

    Args:
        side: the text that has the tokens.
        weights: the weights of its n tokens, shape (n,).
        similarity: the cosines with the m tokens of the other side, shape (n, m).
        words: the n tokens in readable form.
        partners: the m tokens of the other side in readable form.
    """
    matches = []
    for index, weight in enumerate(weights):
        if weight and partners:
            best = int(similarity[index].argmax())
            cosine = float(similarity[index, best])
            matches.append(
                TokenMatch(
                    side=side,
                    position=index,
                    token=words[index],
                    partner=partners[best],
                    partner_position=best,
                    similarity=cosine,
                    weight=float(weight),
                )
            )
    return matches


def _mean_best_similarity(weights: NDArray[np.float64], similarity: NDArray[np.float64]) -> float:
    """Return the weighted mean of each token's best similarity; 0 if no token has a weight, or the other text no token.

    Args:
        weights: the weights of the n tokens of a text, shape (n,).
        similarity: the cosines with the m tokens of the other text, shape (n, m).
    """
    total = float(weights.sum())
    if not total > 0 or not similarity.shape[1]:
        return 0.0
    return float((weights * similarity.max(axis=1)).sum() / total)


def _readable_token(tokenizer: Any, token_id: int) -> str:
    """Return the decoded text of a token, or the token's name in the vocabulary if that text is blank."""
    text: str = tokenizer.decode([token_id]).strip()
    return text or str(tokenizer.convert_ids_to_tokens(token_id))
