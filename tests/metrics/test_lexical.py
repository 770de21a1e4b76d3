"""Numbers from the libraries called directly, from definitions and from by-hand counts."""

from __future__ import annotations

import csv
import math
import random
import re
import string
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import JaroWinkler, Levenshtein
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from assay.metrics import Batch, bleu, load_metric, rouge
from assay.metrics.ngrams import count_ngrams
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


def _by_bleu(**options):
    library = BLEU(**({"effective_order": True} | options))
    return lambda reference, candidate: min(library.sentence_score(candidate, [reference]).score / 100, 1.0)


def _by_chrf(**options):
    library = CHRF(**options)
    return lambda reference, candidate: min(library.sentence_score(candidate, [reference]).score / 100, 1.0)


def _by_rouge(kind, stem=False, split=None):
    tokenizer = split and SimpleNamespace(tokenize=split)
    library = RougeScorer([kind], use_stemmer=stem, tokenizer=tokenizer)
    return lambda reference, candidate: library.score(reference, candidate)[kind].fmeasure


#: Each metric, and the function (reference, candidate) -> score of its library for texts that are not blank.
LIBRARIES = {
    "bleu": _by_bleu(),
    "bleu,lowercase=true,smoothing=floor": _by_bleu(lowercase=True, smooth_method="floor"),
    "bleu,smoothing=add-k,max_ngram_order=2": _by_bleu(smooth_method="add-k", max_ngram_order=2),
    "bleu,tokenize=none,smoothing=none,effective_order=false": _by_bleu(
        tokenize="none", smooth_method="none", effective_order=False
    ),
    "bleu,tokenize=intl": _by_bleu(tokenize="intl"),
    "bleu,tokenize=char": _by_bleu(tokenize="char"),
    "bleu,tokenize=zh": _by_bleu(tokenize="zh"),
    "chrf": _by_chrf(),
    "chrf:++": _by_chrf(word_order=2),
    "chrf,lowercase=true,whitespace=true,char_order=3,beta=1": _by_chrf(
        char_order=3, beta=1, lowercase=True, whitespace=True
    ),
    "chrf,eps_smoothing=true,word_order=1": _by_chrf(word_order=1, eps_smoothing=True),
    "rouge-1,tokenizer=rouge": _by_rouge("rouge1"),
    "rouge-2,tokenizer=rouge": _by_rouge("rouge2"),
    "rouge-2,tokenizer=rouge,stemmer=true": _by_rouge("rouge2", stem=True),
    "rouge-l,tokenizer=rouge": _by_rouge("rougeL"),
    "rouge-l,tokenizer=rouge,stemmer=true": _by_rouge("rougeL", stem=True),
    "rouge-1": _by_rouge("rouge1", split=words),
    "rouge-2": _by_rouge("rouge2", split=words),
    "rouge-l": _by_rouge("rougeL", split=words),
}


def assert_scores_of_library(metric, pairs):
    """Every digit is that of the library, which scores pair by pair; blank texts apart, whose score is assay's own."""
    references, candidates = map(list, zip(*pairs, strict=True))
    found = load_metric(metric).score(Batch(references, candidates)).tolist()
    by_library = LIBRARIES[metric]
    for pair, score in zip(pairs, found, strict=True):
        if not any(text.strip() for text in pair):
            assert score == float("tokenizer=rouge" not in metric), pair
        elif not all(text.strip() for text in pair):
            assert score == 0.0, pair
        else:
            expected = by_library(*pair)
            # assay's own words: texts that are too short for an overlap have 1 if they are equal
            if metric in ("rouge-1", "rouge-2", "rouge-l") and score == 1.0 and expected == 0.0:
                reference, candidate = map(words, pair)
                assert reference == candidate and (reference or pair[0].strip() == pair[1].strip()), pair
            else:
                assert score == expected, pair


def _made_pairs():
    """Real pairs and others that break a count: blank, of one token, repetitions, all of Unicode."""
    rng = random.Random(1)
    recurring = [text for pair in PAIRS for text in pair] + [
        "\u6771\u4eac 2024",
        "a",
        "no word . !",
        "",
        " \n",
        "a a a a",
    ]
    pairs = [(rng.choice(recurring), rng.choice(recurring)) for _ in range(150)]
    spaces = [chr(code) for code in range(0x3001) if chr(code).isspace()]
    alphabets = [
        "ab .,",
        "aA1-.,'&;<> \n",
        "\u03a3\u03c3\u03c2 \u0130I\u0131.\u00ad\u200d\u2019",
        "e\u0301\u0308\u00e9 \u1100\u1161\u11a8\uac01",
        "\u6771\u4eac\U0001f600\ud800 x",
        ["a.", ".5", "5.", "1-", "-\n", "&quot;", "&amp;lt;", "<skipped>", *spaces],
    ]
    for alphabet in alphabets:
        texts = ["".join(rng.choices(alphabet, k=rng.randrange(24))) for _ in range(20)]
        pairs += [(rng.choice(texts), rng.choice(texts)) for _ in range(20)]
    any_character = [chr(rng.choice([rng.randrange(0x250), rng.randrange(0x110000)])) for _ in range(4000)]
    pairs += [("".join(any_character[i : i + 9]), "".join(any_character[i + 4 : i + 13])) for i in range(0, 3900, 100)]
    return pairs


@pytest.mark.parametrize("metric", LIBRARIES)
@pytest.mark.parametrize("size", [40, 1 << 18])
def test_every_digit_is_that_of_the_library(metric, size, monkeypatch):
    """Chunks of one pair and of all, and words that are dropped from the cache, change no digit."""
    monkeypatch.setattr("assay.metrics.ngrams._CHARACTERS", size)
    monkeypatch.setattr("assay.metrics.text._KEPT_CHARACTERS", size)
    monkeypatch.setattr("assay.metrics.bleu._sacrebleu_functions", bleu._sacrebleu_functions.__wrapped__)
    monkeypatch.setattr("assay.metrics.rouge._tokenizer", rouge._tokenizer.__wrapped__)
    assert_scores_of_library(metric, _made_pairs())


@pytest.mark.slow
@pytest.mark.parametrize("metric", LIBRARIES)
def test_every_digit_on_real_pairs(metric, shared_data):
    with (shared_data / "stsbenchmark" / "sts-test.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert_scores_of_library(metric, [(row[5], row[6]) for row in rows[::5]])


@given(st.lists(st.tuples(st.text("ab ", max_size=9), st.text("ab ", max_size=9)), max_size=4), st.integers(1, 5))
def test_ngrams_equal_a_plain_count(pairs, longest):
    def ngrams(tokens, n):
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))

    for split in (str, str.split):
        sides = [[split(pair[side]) for pair in pairs] for side in (0, 1)]
        counts = count_ngrams(*sides, longest)
        assert counts.common.shape == (len(pairs), longest)
        for i, (left, right) in enumerate(zip(*sides, strict=True)):
            for n in range(1, longest + 1):
                gold, answer = ngrams(left, n), ngrams(right, n)
                expected = (gold.total(), answer.total(), (gold & answer).total())
                assert tuple(int(column[i, n - 1]) for column in counts) == expected


@pytest.mark.parametrize("metric", ["bleu", "chrf:++", "rouge-2", "rouge-l"])
def test_no_pairs(metric):
    assert load_metric(metric).score(Batch([], [])).shape == (0,)


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
        # five of six common characters are in another order, which counts as two; a J up to .7 ignores the prefix
        ("jaro-winkler", "listen", "silent", (1 + 1 + 4 / 6) / 3),
        ("jaro-winkler", "abcdefgh", "abxyzuvw", (2 / 8 + 2 / 8 + 1) / 3),
        # no common pair, triple or quadruple of words
        ("bleu", "a b c d", "a x c y", (2 / 4 * 1 / (2 * 3) * 1 / (4 * 2) * 1 / (8 * 1)) ** (1 / 4)),
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
