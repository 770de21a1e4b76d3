"""Numbers from the libraries called directly, from definitions and from by-hand counts."""

from __future__ import annotations

import math
import random
import re
import string

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import JaroWinkler, Levenshtein
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.chrf import CHRF

from assay.metrics import Batch, load_metric
from assay.metrics.text import words

PAIRS = [
    ("the cat sat on the mat", "the cat is on the mat"),
    ("Paris", "the city of Paris in France"),
    ("7 June 1944", "June 7, 1944"),
    ("He said: “no”.", "he says no"),
    ("Straßenbahn fährt nach Köln", "Die Straßenbahn nach Bonn"),
    ("a b c d e f g", "g f e d c b a"),
    ("U.S. army", "The US Army!"),
]
texts = st.text(alphabet="abcäÄß 東京'.,12\u0301", max_size=12)


def one(metric, reference, candidate):
    return load_metric(metric).score(Batch([reference], [candidate]))[0]


@pytest.mark.parametrize(("reference", "candidate"), PAIRS)
def test_libraries_called_directly(reference, candidate):
    bleu = sacrebleu.sentence_bleu(candidate, [reference]).score / 100
    assert one("bleu", reference, candidate) == pytest.approx(bleu, abs=1e-12)
    floor = sacrebleu.sentence_bleu(candidate, [reference], smooth_method="floor", lowercase=True).score / 100
    assert one("bleu,smoothing=floor,lowercase=true", reference, candidate) == pytest.approx(floor, abs=1e-12)
    chrf = sacrebleu.sentence_chrf(candidate, [reference]).score / 100
    assert one("chrf", reference, candidate) == pytest.approx(chrf, abs=1e-12)
    plus = sacrebleu.sentence_chrf(candidate, [reference], word_order=2).score / 100
    for name in ("chrf,word_order=2", "chrf:++"):
        assert one(name, reference, candidate) == pytest.approx(plus, abs=1e-12)
    ter = sacrebleu.sentence_ter(candidate, [reference]).score / 100
    assert one("ter", reference, candidate) == pytest.approx(ter, abs=1e-12)
    distance = Levenshtein.distance(reference, candidate)
    longest = max(len(reference), len(candidate))
    assert one("levenshtein", reference, candidate) == pytest.approx(1 - distance / longest)
    jaro = JaroWinkler.similarity(reference, candidate)
    assert one("jaro-winkler", reference, candidate) == pytest.approx(jaro)
    for stem in (False, True):
        for name, kind in (("rouge-l", "rougeL"), ("rouge-1", "rouge1"), ("rouge-2", "rouge2")):
            rouge = RougeScorer([kind], use_stemmer=stem).score(reference, candidate)[kind].fmeasure
            metric = f"{name},tokenizer=rouge,stemmer={str(stem).lower()}"
            assert one(metric, reference, candidate) == pytest.approx(rouge)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("chrf", {}),
        ("chrf:++", {"word_order": 2}),
        (
            "chrf,lowercase=true,whitespace=true,char_order=3,beta=1",
            {"char_order": 3, "beta": 1, "lowercase": True, "whitespace": True},
        ),
        ("chrf,eps_smoothing=true,word_order=1", {"word_order": 1, "eps_smoothing": True}),
        ("rouge-1,tokenizer=rouge", ("rouge1", False)),
        ("rouge-2,tokenizer=rouge,stemmer=true", ("rouge2", True)),
        ("rouge-l,tokenizer=rouge,stemmer=true", ("rougeL", True)),
    ],
)
@pytest.mark.parametrize("kept", [1, 40, 1 << 17])
def test_texts_that_recur_have_the_digits_of_the_library(metric, options, kept, monkeypatch):
    """What a metric keeps of each text, and dropping it when there is too much, changes no digit."""
    monkeypatch.setattr("assay.metrics.text._KEPT_CHARACTERS", kept)
    rng = random.Random(1)
    recurring = [text for pair in PAIRS for text in pair] + ["东京 2024", "a", "no word . !"]
    pairs = [(rng.choice(recurring), rng.choice(recurring)) for _ in range(150)]
    expected = []
    for reference, candidate in pairs:
        if isinstance(options, dict):
            score = min(CHRF(**options).sentence_score(candidate, [reference]).score / 100, 1.0)
        else:
            kind, stem = options
            score = RougeScorer([kind], use_stemmer=stem).score(reference, candidate)[kind].fmeasure
        expected.append(score)
    batch = Batch([reference for reference, _ in pairs], [candidate for _, candidate in pairs])
    assert load_metric(metric).score(batch).tolist() == expected


@given(texts, texts)
def test_the_published_lexical_overlap_is_its_formula(reference, candidate):
    """2 |A ∩ B| / (|A| + |B|) of the sets of unigrams (Abdalla, Vishnubhotla & Mohammad 2023, section 6)."""
    first, second = (set(re.findall(r"\w+", text.lower())) for text in (reference, candidate))
    if first or second:
        expected = 2 * len(first & second) / (len(first) + len(second))
        assert one("dice:paper", reference, candidate) == pytest.approx(expected)


@given(texts, texts)
def test_contains_is_the_published_lexical_match_wherever_the_gold_answer_has_a_token(reference, candidate):
    """QA-Eval's lexical_match_score: the normalised gold answer is in the normalised answer (Wang et al. 2023)."""

    def normalised(text):
        unpunctuated = "".join(character for character in text.lower() if character not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", unpunctuated).split())

    if normalised(reference):
        assert one("contains", reference, candidate) == (normalised(reference) in normalised(candidate))


@pytest.mark.parametrize(
    ("metric", "reference", "candidate", "expected"),
    [
        ("f1", "a red car", "the car", 2 / 3),
        ("f1", "car car bus", "car car car", 2 / 3),
        ("f1", "U.S.", "us", 1.0),
        ("f1", "the", "an", 1.0),
        ("f1", "the", "car", 0.0),
        ("em", "The  Car!", "car", 1.0),
        ("em", "cars", "car", 0.0),
        ("em", "", "", 1.0),
        ("dice", "a a b", "a c", 0.5),
        ("dice,multiset=true", "a a b", "a c", 0.4),
        ("jaccard", "a a b", "a c", 1 / 3),
        ("jaccard:paper", "A b. b.", "a b.", 1 / 3),
        ("jaccard,multiset=true", "a a b", "a c", 1 / 4),
        ("dice", "Ä", "ä", 1.0),
        # words as lower-case runs of \\w, as in the lexical overlap published for STR-2022
        ("dice:paper", "I don't", "I do not", 2 * 1 / (3 + 3)),
        ("dice", "I don't", "I do not", 2 * 1 / (2 + 3)),
        ("dice:paper", "It isn't", "it isn t", 1.0),
        ("dice:paper", "3.14 km", "3.15 km", 2 * 2 / (3 + 3)),
        ("dice", "3.14 km", "3.15 km", 2 * 1 / (2 + 2)),
        ("dice:paper", "the U.S. army", "The US army", 2 * 2 / (4 + 3)),
        ("dice:paper", "a_b a b", "A_B", 2 * 1 / (3 + 1)),
        ("dice:paper", "Ein Ärgernis", "ein ärgernis!", 1.0),
        ("dice:paper", "a a b", "a c", 0.5),
        ("dice:paper,multiset=true", "a a b", "a c", 0.4),
        ("dice:paper,lowercase=false", "A b", "a b", 0.5),
        ("dice:paper", "...", "...", 1.0),
        ("dice:paper", "...", "!!!", 0.0),
        ("dice:paper", "", "a", 0.0),
        ("dice,lowercase=false", "Ä", "ä", 0.0),
        ("ter", "a b c d", "a b x d", 0.25),
        ("ter", "a", "b c d e", 4.0),
        ("levenshtein", "Müller", "Möller", 5 / 6),
        ("levenshtein", "A\u0308", "Ä", 1.0),
        ("levenshtein,lowercase=true", "ABC", "abc", 1.0),
        ("jaro-winkler", "martha", "marhta", 0.9611111111),
        ("jaro-winkler,prefix_weight=0", "martha", "marhta", 0.9444444444),
        ("rouge-l", "Müller", "Möller", 0.0),
        ("rouge-l,tokenizer=rouge", "Müller", "Möller", 1.0),
        ("rouge-l", "Ä", "Ä", 1.0),
        ("rouge-l,tokenizer=rouge", "Ä", "Ä", 0.0),
        ("rouge-l", "東京タワー", "東京", 4 / 7),
        ("rouge-l", "walking", "walked", 0.0),
        ("rouge-l,stemmer=true", "walking", "walked", 1.0),
        # words of three letters keep theirs, or "was" were Porter's "wa"
        ("rouge-l,stemmer=true", "was", "wa", 0.0),
        ("rouge-l,stemmer=true", "cars", "car", 1.0),
        ("rouge-l", "...", "...", 1.0),
        ("rouge-l", "...", "!!!", 0.0),
        # characters, as published; the SQuAD normalisation takes punctuation, articles and case away
        ("contains", "U.S.", "the focus", 1.0),
        ("contains,words=true", "U.S.", "the focus", 0.0),
        ("contains,words=true", "The Car!", "a red car.", 1.0),
        ("contains", "David Seville", "known as\u00a0David\u00a0 Seville.", 1.0),
        ("contains", "a red car", "car", 0.0),
        ("contains", "the", "car", 0.0),
        ("contains", "...", "", 1.0),
        ("token-recall", "car car bus", "a car on the bus with many words", 2 / 3),
        ("token-recall", "New York", "york in the new land", 1.0),
        ("token-recall", "the", "car", 0.0),
        ("token-recall", "the", "", 1.0),
        ("rouge-1", "Müller ist da", "Möller ist da", 2 / 3),
        ("rouge-2", "Müller ist da", "Möller ist da", 1 / 2),
        ("rouge-2", "Paris", "paris", 1.0),
        ("rouge-2", "Paris", "Lyon", 0.0),
        ("rouge-2", "Paris", "Paris in France", 0.0),
        ("rouge-2,tokenizer=rouge", "Paris", "Paris", 0.0),
        ("dice", "...", "!!!", 0.0),
        # two words of three and of four; signs are words, and so are letters with their vowel signs
        ("cosine", "a red car", "one red car here", 2 / 12**0.5),
        ("cosine", "No!", "no?", 1.0),
        ("cosine:sts", "No!", "no?", 0.5),
        ("cosine:sts", "كِتاب", "كتاب", 0.0),
        ("cosine:sts", "कि", "क", 0.0),
        ("cosine", "...", "!!!", 0.0),
        ("cosine", "a", "...", 0.0),
        # whatever the reference says
        ("length", "Paris", "It isn't 3.5 km.", 4.0),
        ("length", "", "東京タワー", 5.0),
        ("length", "Paris", "", 0.0),
        ("length,unit=characters", "Paris", " in Köln ", 7.0),
    ],
)
def test_known_values(metric, reference, candidate, expected):
    assert one(metric, reference, candidate) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "metric",
    [
        "em",
        "f1",
        "bleu",
        "rouge-l",
        "chrf",
        "dice",
        "jaccard",
        "levenshtein",
        "jaro-winkler",
        "bleu,effective_order=false",
    ],
)
def test_empty_texts(metric):
    scores = load_metric(metric).score(Batch(["", "", "answer"], ["", "answer", ""]))
    assert scores.tolist() == [1.0, 0.0, 0.0]


def test_empty_texts_of_ter():
    assert load_metric("ter").score(Batch(["", "", "answer"], ["", "answer", ""])).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("metric", "symmetric", "perfect"),
    [
        ("em", True, 1.0),
        ("f1", True, 1.0),
        ("dice", True, 1.0),
        ("jaccard", True, 1.0),
        ("levenshtein", True, 1.0),
        ("jaro-winkler", True, 1.0),
        ("rouge-l", True, 1.0),
        ("rouge-l,tokenizer=rouge", True, None),
        ("bleu", False, 1.0),
        ("bleu,effective_order=false", False, None),
        ("chrf", False, 1.0),
        ("ter", False, 0.0),
        ("meteor", False, None),
        ("length", False, None),
        ("cosine", True, 1.0),
    ],
)
def test_what_is_promised(metric, symmetric, perfect):
    """What is not promised is not checked: a promise taken back would go unseen."""
    declaration = load_metric(metric).declaration
    assert (declaration.symmetric, declaration.perfect) == (symmetric, perfect)


def test_ter_says_that_low_is_good():
    declaration = load_metric("ter").declaration
    assert (declaration.higher_is_better, declaration.low, declaration.high) == (False, 0.0, math.inf)


@pytest.mark.slow
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_bounds_symmetry_and_identity(pairs):
    batch = Batch(*zip(*pairs, strict=True))
    for name in ["em", "f1", "rouge-l", "dice", "dice,multiset=true", "jaccard", "levenshtein", "jaro-winkler"]:
        metric = load_metric(name)
        scores = metric.score(batch)
        assert ((scores >= 0) & (scores <= 1)).all()
        np.testing.assert_allclose(scores, metric.score(batch.swapped()), atol=1e-12)
        assert (metric.score(Batch(batch.references, batch.references)) == 1).all()


def test_f1_equals_a_naive_count():
    random.seed(3)
    vocabulary = ["red", "the", "Car,", "a", "bus.", "Bus"]
    for _ in range(300):
        left, right = ([random.choice(vocabulary) for _ in range(random.randint(0, 6))] for _ in range(2))
        clean = [[w.strip(",.").lower() for w in text if w not in ("the", "a")] for text in (left, right)]
        rest, common = list(clean[1]), 0
        for word in clean[0]:
            if word in rest:
                rest.remove(word)
                common += 1
        if not clean[0] or not clean[1]:
            expected = float(clean[0] == clean[1])
        elif not common:
            expected = 0.0
        else:
            precision, recall = common / len(clean[1]), common / len(clean[0])
            expected = 2 * precision * recall / (precision + recall)
        assert one("f1", " ".join(left), " ".join(right)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don\u2019t stop, rock'n'roll 'quoted'", ["don't", "stop", "rock'n'roll", "quoted"]),
        ("3.14 1,000th U.S. x_y co-op 12.", ["3.14", "1,000th", "u", "s", "x", "y", "co", "op", "12"]),
        ("東京タワー 한국어", ["東", "京", "タ", "ワ", "ー", "한국어"]),
        ("E\u0301te\u0301", ["été"]),
        ("naï\u00advety", ["naïvety"]),
        ("", []),
        ("–!?", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.slow
@given(st.text(max_size=30))
def test_words_keep_every_letter_and_digit(text):
    kept = "".join(words(text, lowercase=False))
    for character in text:
        if character.isascii() and character.isalnum():
            assert character in kept


@pytest.mark.parametrize("options", ["", ",normalized=true", ",normalized=true,asian_support=true", ",no_punct=true"])
def test_ter_of_identical_texts(options):
    texts = ["a's,(", "&),,1", "'s's\x85'", "", "x"]
    assert load_metric(f"ter{options}").score(Batch(texts, texts)).tolist() == [0.0] * len(texts)
