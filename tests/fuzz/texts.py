"""String metrics and the rules of error categories over hostile texts."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import making
from tests.fuzz.target import Check, Target, text_for

STRING_METRICS = (
    *("bleu", "bleu:paper", "chrf", "contains", "dice", "em", "f1", "jaccard", "jaro-winkler", "levenshtein", "meteor"),
    *(
        "rouge-1",
        "rouge-2",
        "rouge-l",
        "ter",
        "ter,normalized=true",
        "token-recall",
        "length",
        "chrf:++",
        "cosine",
        "cosine:sts",
    ),
)
LONG = (
    "a" * 100_000,
    "a b " * 5_000,
    "́" * 20_000,
    "👩🏽‍🔬" * 3_000,
    "\0" * 20_000,
    "'s" * 5_000,
    "ש" * 50_000,
    "9." * 10_000,
)


def make_pair(random: Random) -> bytes:
    """Return two texts as JSON, now and then equal, one in a hundred very long."""
    one = making.text(random, lone=True)
    other = one if random.random() < 0.2 else making.text(random, lone=True)
    if random.random() < 0.01:
        one = random.choice(LONG) + one
    return json.dumps([one, other]).encode()


def score_with(name: str) -> Check:
    """Return a check that a metric gives a score within its range, and what it promises of equal texts."""

    def check(content: bytes, folder: Path) -> None:
        metric = _metric(name)
        reference, candidate = json.loads(content)
        (score,) = metric.score([reference], [candidate])
        declared = metric.declaration
        assert declared.low - 1e-9 <= score <= declared.high + 1e-9, score
        if declared.symmetric:
            (swapped,) = metric.score([candidate], [reference])
            assert abs(swapped - score) <= declared.tolerance, (score, swapped)
        if declared.perfect is not None and reference == candidate and reference.strip():
            assert abs(score - declared.perfect) <= declared.tolerance, score

    return check


@functools.cache
def _metric(name: str) -> Any:
    from assay.metrics import load_metric

    return load_metric(name)


#: What rules read: dates, times, numbers, units, places, persons, damaged encodings.
READ = (
    *("1990", "12 May 1990", "May", "the 1990s", "19th century", "3:30 pm", "12/5/90", "1,000.5", "five hundred"),
    *("5 km", "5kg", "€", "%", "½", "²", "Paris", "U.S.", "New York", "he", "Mr. Smith", "John Smith", "NASA", "who"),
    *("when", "where", "&amp;", "&#x110000;", "\\ud800", "\\ud83d\\ude00", "\\u0000", "Ã©", "â€™", "not", "n't"),
    *("and", ",", "-", ".", "'s", " "),
)
LANGUAGES = ("en", "de", "fr", "xx")


def make_question(random: Random) -> bytes:
    """Return a language, two answers and a question as JSON, of what rules read and hostile texts."""
    parts = [text_for(random, READ) for _ in range(3)]
    if random.random() < 0.01:
        parts[0] = random.choice(READ) * 5_000
    return json.dumps([random.choice(LANGUAGES), *parts]).encode()


def tag(content: bytes, folder: Path) -> None:
    """Say why two answers differ."""
    from assay.analysis.categories import CATEGORIES

    language, *answers = json.loads(content)
    for found in _tagger(language).tag(*answers, label=0, scale=(0, 1), score=0.5):
        assert found.category in CATEGORIES and found.reason


@functools.cache
def _tagger(language: str) -> Any:
    from assay.analysis.categories import Tagger

    return Tagger(language)


TARGETS = {
    "categories": Target(make_question, tag),
    **{f"score {name}": Target(make_pair, score_with(name)) for name in STRING_METRICS},
}
