"""BLEU, chrF and ROUGE against a plain loop of their libraries on real words: same values, CPU time, taking turns.

``ASSAY_TEST_PAIRS`` is the number of pairs. Each round begins with empty caches, as in a new process.
"""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Callable

import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from assay.metrics import Batch, load_metric
from tests.performance.ratio import medians

PAIRS = int(os.environ.get("ASSAY_TEST_PAIRS", "100000"))


def forget_tokens() -> None:
    """Empty the caches of sacrebleu's tokenizer and of the metrics."""
    from assay.metrics import bleu, rouge

    bleu._sacrebleu_functions.cache_clear()
    rouge._tokenizer.cache_clear()
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


@pytest.fixture(scope="module")
def texts(shared_data):
    """Texts of 3 to 15 words, as often as in the sentences of the STS Benchmark: references that recur, and others."""
    with (shared_data / "stsbenchmark" / "sts-train.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    words = [word for row in rows for text in row[5:7] for word in text.split()]
    rng = random.Random(0)

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(3, 15)))

    recurring = [text() for _ in range(PAIRS // 100)]
    return {
        "recurring": [recurring[i // 100 % len(recurring)] for i in range(PAIRS)],
        "distinct": [text() for _ in range(PAIRS)],
        "candidates": [text() for _ in range(PAIRS)],
    }


def plain_bleu() -> Callable[[str, str], float]:
    library = BLEU(effective_order=True)
    return lambda reference, candidate: min(library.sentence_score(candidate, [reference]).score / 100, 1.0)


def plain_chrf() -> Callable[[str, str], float]:
    library = CHRF()
    return lambda reference, candidate: min(max(library.sentence_score(candidate, [reference]).score / 100, 0.0), 1.0)


def plain_rouge(kind: str) -> Callable[[str, str], float]:
    library = RougeScorer([kind])
    return lambda reference, candidate: library.score(reference, candidate)[kind].fmeasure


PLAIN: dict[str, Callable[[], Callable[[str, str], float]]] = {
    "bleu": plain_bleu,
    "chrf": plain_chrf,
    "rouge-1,tokenizer=rouge": lambda: plain_rouge("rouge1"),
    "rouge-2,tokenizer=rouge": lambda: plain_rouge("rouge2"),
    "rouge-l,tokenizer=rouge": lambda: plain_rouge("rougeL"),
}


@pytest.mark.parametrize("kind", ["recurring", "distinct"])
@pytest.mark.parametrize("name", PLAIN)
def test_against_the_plain_loop(name, kind, texts, benchmark):
    metric = load_metric(name)
    references, candidates = texts[kind], texts["candidates"]

    def plain():
        forget_tokens()
        return list(map(PLAIN[name](), references, candidates))

    def ours():
        forget_tokens()
        return metric.score(Batch(references, candidates)).tolist()

    assert plain() == ours()
    times = medians({"plain": plain, "ours": ours}, rounds=3)
    ratio = times["plain"] / times["ours"]
    benchmark.extra_info["ratio"] = ratio
    benchmark.pedantic(ours, rounds=1)
    print(f"\n{name}, {len(candidates):,} pairs, {kind} references: {ratio:.2f} times as fast as the plain loop")
    assert ratio >= {"recurring": 2.0, "distinct": 1.5}[kind]
