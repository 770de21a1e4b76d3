"""Edits of the translation edit rate: the number of sacrebleu, for short texts and for a thousand words."""

from __future__ import annotations

import csv
import random

import pytest
from sacrebleu.metrics import TER
from sacrebleu.metrics.lib_ter import translation_edit_rate

from assay.metrics import Batch, load_metric
from assay.metrics.edit_rate import count_edits


def moved(rng: random.Random, words: list[str], vocabulary: list[str]) -> list[str]:
    """Return the words with some runs of them moved or left out, and some new ones."""
    words = words.copy()
    for _ in range(rng.randint(0, 5)):
        start = rng.randint(0, len(words))
        run = words[start : start + rng.randint(1, 8)]
        del words[start : start + len(run)]
        target = rng.randint(0, len(words))
        words[target:target] = run if rng.random() < 0.8 else [rng.choice(vocabulary)]
    return words


@pytest.mark.parametrize("size", [2, 5, 30])
def test_the_edits_are_those_of_sacrebleu(size):
    rng = random.Random(size)
    vocabulary = [f"w{i}" for i in range(size)]
    for _ in range(40):
        reference = rng.choices(vocabulary, k=rng.randint(0, 25))
        for candidate in (moved(rng, reference, vocabulary), rng.choices(vocabulary, k=rng.randint(0, 40))):
            edits, _ = translation_edit_rate(candidate, reference)
            assert count_edits(candidate, reference) == edits, (candidate, reference)


@pytest.mark.parametrize("options", [{}, {"normalized": True, "no_punct": True, "case_sensitive": True}])
def test_the_scores_of_real_pairs_are_those_of_sacrebleu(shared_data, options):
    with (shared_data / "stsbenchmark" / "sts-test.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))[::3]
    pairs = [(row[5], row[6]) for row in rows if row[5] != row[6]]
    library = TER(**options)
    name = ",".join(["ter", *(f"{option}=true" for option in options)])
    scores = load_metric(name).score(Batch(*map(list, zip(*pairs, strict=True))))
    assert scores.tolist() == [
        library.sentence_score(candidate, [reference]).score / 100 for reference, candidate in pairs
    ]


def test_a_longer_text_than_the_beam_is_wide():
    vocabulary = [f"w{i}" for i in range(60)]
    rng = random.Random(0)
    short, long = rng.choices(vocabulary, k=3), rng.choices(vocabulary, k=200)
    for candidate, reference in ((short, long), (long, short), (long, moved(rng, long, vocabulary))):
        assert count_edits(candidate, reference) == translation_edit_rate(candidate, reference)[0]


def test_a_thousand_words():
    # sacrebleu's number, which takes it a minute of CPU time
    rng = random.Random(3)
    vocabulary = [f"w{int(rng.paretovariate(0.9))}" for _ in range(5000)]
    reference = [rng.choice(vocabulary) for _ in range(1000)]
    candidate = [rng.choice(vocabulary) for _ in range(1000)]
    assert count_edits(candidate, reference) == 603
    score = load_metric("ter").score(Batch([" ".join(reference)], [" ".join(candidate)]))
    assert score.tolist() == [0.603]
