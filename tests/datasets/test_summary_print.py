"""Why the printed numbers of ROUGE on REALSumm and SummEval are not those of a run: the rules of the print, from texts.

The print of REALSumm is that of its authors' notebook: the mean over the articles whose correlation has p ≤ .05.
SummEval is as UniEval prints it, with stems by Porter's original algorithm.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer
from scipy import stats

from assay.analysis.reproduce import load_table
from assay.datasets import Pairs, load_dataset


def by_article(pairs: Pairs, scores: list[float]) -> list[tuple[list[float], list[float]]]:
    """Return the scores and labels of each article."""
    articles: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for group, score, label in zip(pairs.column("group").to_pylist(), scores, pairs.labels.tolist(), strict=True):
        articles[group][0].append(score)
        articles[group][1].append(label)
    return list(articles.values())


@pytest.mark.slow
@pytest.mark.parametrize(("row", "kind"), [("ROUGE-1 recall", "rouge1"), ("ROUGE-2 recall", "rouge2")])
def test_realsumm_prints_the_mean_over_significant_articles(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, row: str, kind: str
) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    pairs = load_dataset("realsumm", offline=True)
    scorer = RougeScorer([kind])
    texts = zip(pairs.column("reference").to_pylist(), pairs.column("candidate").to_pylist(), strict=True)
    scores = [scorer.score_multi(references, candidate)[kind].recall for references, candidate in texts]
    taus = [stats.kendalltau(*article) for article in by_article(pairs, scores)]
    (printed,) = next(found.printed for found in load_table("realsumm-rouge").rows if found.title == row)
    significant = np.mean([tau.statistic for tau in taus if tau.pvalue <= 0.05])
    everywhere = np.nanmean([tau.statistic for tau in taus])
    # 24 of the 25 systems of the print are in the copy
    assert significant == pytest.approx(float(printed), abs=0.006)
    assert everywhere < float(printed) - 0.07


@pytest.mark.slow
def test_summeval_prints_stems_of_the_original_algorithm(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    stem = cache(PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM).stem)
    scorer = RougeScorer(["rouge1"], use_stemmer=True)
    scorer._tokenizer._stemmer.stem = stem
    pairs = load_dataset("summeval:coherence", offline=True)
    texts = zip(pairs.column("reference").to_pylist(), pairs.column("candidate").to_pylist(), strict=True)
    scores = []
    for references, candidate in texts:
        scores.append(float(np.mean([scorer.score(gold, candidate)["rouge1"].fmeasure for gold in references])))
    articles = by_article(pairs, scores)
    found = [np.mean([coefficient(*article).statistic for article in articles]) for coefficient in _COEFFICIENTS]
    row = next(row for row in load_table("summeval-rouge").rows if row.title == "ROUGE-1")
    assert [f"{value:.3f}" for value in found] == list(row.printed[:2])


_COEFFICIENTS = (stats.spearmanr, stats.kendalltau)
