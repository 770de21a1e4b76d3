"""Words of answers: equal things have equal words, and frequent words weigh little."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from assay.language.answer_words import answer_words, folded, word_weight


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("the U.S. Army", "The US army"),
        ("twenty-five", "25"),
        ("the twenty first", "the 21st"),
        ("World War II", "world war two"),
        ("2.3 million", "2,300,000"),
        ("five hundred", "500"),
        ("sixty five thousand", "65000"),
        ("1990-12-25", "25 December 1990"),
        ("Dec. 25th, 1990", "december 25, 1990"),
        ("25.12.1990", "25 December 1990"),
        ("25/12/1990", "25 December 1990"),
        ("12/25/1990", "25 December 1990"),
        ("3,5 kg", "3.5 kilograms"),
        ("5 km", "5 kilometers"),
        ("6 feet", "6 ft"),
        ("Köln", "Koln"),
        ("Straße", "STRASSE"),
        ("O'Brien's cats", "OBrien cat"),
        ("it isn't", "it is not"),
        ("it isn\u2019t", "it is not"),
        ("salt & pepper", "salt and pepper"),
        ("ｆｕｌｌ １２", "full 12"),
        ("zwölf Monate", "12 Monate"),
    ],
)
def test_equal_things_have_equal_words(text, other):
    assert answer_words(text) == answer_words(other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("?!", []),
        ("No. 1", ["no", "1"]),
        ("the I and the V", ["the", "i", "and", "the", "v"]),
        ("1990-13-25", ["1990", "13", "25"]),
        ("twenty and five", ["20", "and", "5"]),
        ("seventy, then 5", ["70", "then", "5"]),
        ("bus", ["bus"]),
        ("news", ["new"]),
        ("日本語", ["日", "本", "語"]),
        ("3/4/1990", ["3", "4", "1990"]),
        ("25.13.1990", ["25.13", "1990"]),
        ("1,2,3", ["1", "2", "3"]),
        ("K1,2", ["k", "1", "2"]),
    ],
)
def test_words_of_a_text(text, words):
    assert answer_words(text) == words


def test_a_number_of_any_size_is_a_word():
    assert answer_words("9" * 400 + " million")[-1]
    assert answer_words("three trillion") == ["3000000000000"]


def test_frequent_words_weigh_little():
    weights = [word_weight(word) for word in ("the", "is", "city", "paris", "zanzibar")]
    assert weights == sorted(weights) and weights[0] < 0.05 and weights[-1] == 1
    assert word_weight("nicht") < 0.5 < word_weight("1945") < 1
    # a plural weighs what its singular does
    assert word_weight(*answer_words("cities")) == word_weight("city")


def test_folded_has_neither_case_nor_accents():
    assert folded("Ångström ﬁ") == "angstrom fi"


def test_the_frequent_words_are_the_first_ones_of_glove(real_models):
    text = (resources.files("assay.language") / "common_words.txt").read_text(encoding="utf-8")
    vocabulary = (real_models / "glove" / "words.txt").read_text(encoding="utf-8").split("\n")
    of_letters = [word for word in vocabulary if re.fullmatch(r"[^\W\d_]+", word)]
    assert text.split("\n")[:-1] == of_letters[:10_000]
