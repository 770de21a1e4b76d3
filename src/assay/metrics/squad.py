"""Exact match and token F1 of the SQuAD v2 evaluation, and metrics for long answers that share its normalisation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from assay.language.answer_tokens import answer_tokens
from assay.metrics.base import Declaration, PairMetric, option
from assay.metrics.text import PreparedPairMetric


@dataclass(frozen=True)
class ExactMatch(PairMetric):
    """1 if the two normalised answers are equal, else 0; two empty answers are equal."""

    declaration: ClassVar[Declaration] = Declaration(
        name="em",
        kind="lexical",
        summary="exact match after the SQuAD v2 normalisation",
        formula="[norm(reference) = norm(candidate)]",
        symmetric=True,
        perfect=1.0,
        citation="Rajpurkar, Jia and Liang 2018, Know What You Don't Know (SQuAD 2.0), evaluate-v2.0.py",
    )

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> 1 if the normalised answers are equal, else 0."""
        return _exact_match


def _exact_match(reference: str, candidate: str) -> float:
    return float(answer_tokens(reference) == answer_tokens(candidate))


@dataclass(frozen=True)
class TokenF1(PreparedPairMetric):
    """F1 of two multisets of answer tokens, from 0 to 1.

    If neither answer has a token (two empty answers, or two bare articles) it is 1, if only one has none it is 0, as in
    the evaluation script.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="f1",
        kind="lexical",
        summary="token F1 with the SQuAD v2 normalisation",
        formula="2PR / (P + R), P = common tokens / tokens of the candidate, R = common / those of the reference",
        symmetric=True,
        perfect=1.0,
        citation="Rajpurkar, Jia and Liang 2018, Know What You Don't Know (SQuAD 2.0), evaluate-v2.0.py",
        option_sets={"paper": {"swap": True, "blank": "nan"}},
    )

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> token F1."""
        return _token_f1


def _token_f1(reference: str, candidate: str) -> float:
    """Return the F1 of the common tokens, from 0 to 1.

    If a text has no token, it is 1 if the other has none either, else 0.
    """
    gold, answer = answer_tokens(reference), answer_tokens(candidate)
    if not gold or not answer:
        return float(gold == answer)
    common = (Counter(gold) & Counter(answer)).total()
    return 2 * common / (len(gold) + len(answer))


@dataclass(frozen=True)
class Contains(PairMetric):
    """1 if the normalised gold answer occurs in the normalised candidate, else 0.

    It is the usual measure for language models, which answer in sentences while gold answers have a word or two. One of
    several gold answers is enough. As published it compares characters, so that ``us`` occurs in ``focus``; with
    ``words`` the gold answer must occur as whole words. A gold answer without tokens occurs only in a candidate without
    tokens.
    """

    words: bool = option(False, "the gold answer as whole words")

    declaration: ClassVar[Declaration] = Declaration(
        name="contains",
        kind="lexical",
        summary="whether the gold answer occurs in the candidate, after the SQuAD v2 normalisation",
        formula="[norm(reference) occurs in norm(candidate)]",
        perfect=1.0,
        citation="Wang et al. 2023, Evaluating Open-QA Evaluation, lexical_match.py",
    )

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> 1 if the gold answer occurs in the candidate, else 0."""
        # spaces at both ends make a match begin and end at the boundary of a word
        edge = " " if self.words else ""

        def score(reference: str, candidate: str) -> float:
            gold, answer = answer_tokens(reference), answer_tokens(candidate)
            if not gold:
                return float(not answer)
            gold_text = edge + " ".join(gold) + edge
            answer_text = edge + " ".join(answer) + edge
            return float(gold_text in answer_text)

        return score


@dataclass(frozen=True)
class TokenRecall(PairMetric):
    """Share of the gold answer's tokens that the candidate has, from 0 to 1; repeated tokens count repeatedly.

    Unlike F1 it does not penalise a long answer. If the gold answer has no token, it is 1 for a candidate without
    tokens, else 0.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="token-recall",
        kind="lexical",
        summary="share of the gold answer's tokens in the candidate, SQuAD v2 normalisation",
        formula="common tokens / tokens of the reference",
        perfect=1.0,
        citation="Adlakha et al. 2024, Evaluating Correctness and Faithfulness of Instruction-Following Models for QA",
    )

    def scorer(self) -> Callable[[str, str], float]:
        """Return the function (reference, candidate) -> share of the reference's tokens that the candidate has."""
        return _token_recall


def _token_recall(reference: str, candidate: str) -> float:
    """Return the share of the reference's tokens that the candidate has, from 0 to 1.

    If the reference has no token, it is 1 for a candidate without tokens, else 0.
    """
    gold, answer = answer_tokens(reference), answer_tokens(candidate)
    if not gold:
        return float(not answer)
    return (Counter(gold) & Counter(answer)).total() / len(gold)
