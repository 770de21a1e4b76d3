"""Keys of texts and pairs: what counts as the same in scripts other than plain Latin, and without words."""

from __future__ import annotations

import unicodedata
from itertools import combinations

import pytest

from assay.language.texts import pair_key, text_key

FORMS = ("NFC", "NFD")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("The cat, sleeping.", "the cat sleeping"),
        ("  don't -- STOP\t!", "don t stop"),
        ("snake_case 3.14", "snake_case 3 14"),
        ("Schön, Müller!", "schön müller"),
        ("STRASSE Straße", "strasse strasse"),
        ("ΌΣΟΣ όσος", "όσοσ όσοσ"),  # the final sigma folds to the other one
        ("दिन और रात।", "दिन और रात"),
        ("สวัสดี", "สวัสดี"),
        ("नमस्ते", "नमस्ते"),
        ("한국어", "한국어"),
        ("x² ½", "x² ½"),
        ("I ❤️ you", "i you"),  # the variation selector behind the heart is a combining mark, yet no word
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_the_words_of_a_text(text, key, form):
    assert text_key(unicodedata.normalize(form, text)) == unicodedata.normalize("NFC", key)


@pytest.mark.parametrize("text", ["Müller", "schön", "Ångström", "Việt Nam", "ά", "ᾼ", "が", "각", "≠"])
def test_canonically_equivalent_texts_have_one_key(text):
    composed, decomposed = (unicodedata.normalize(form, text) for form in FORMS)
    assert composed != decomposed
    assert text_key(composed) == text_key(decomposed)
    assert pair_key(composed, "x") == pair_key("X", decomposed)


def test_case_folds_whatever_the_order_of_marks():
    # U+0345 folds to a letter, so that NFC of the text alone would part it from its capital (D145 takes NFD first)
    alpha = ["\u03b1\u0345\u0323", "\u03b1\u0323\u0345", "\u1fb3\u0323", "\u1fbc\u0323", "\u0391\u0323\u0399"]
    assert {text_key(one) for one in alpha} == {unicodedata.normalize("NFC", "\u03b1\u0323\u03b9")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("दिन", "दान"),
        ("रात", "रीत"),
        ("m²", "m2"),
        ("½", "1 2"),
        ("schon", "schön"),
        ("กิน", "กัน"),  # Thai vowels above the consonant are combining marks
        ("מָה", "מֶה"),
        ("❤️", "☺️"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_texts_that_differ_have_two_keys(one, other, form):
    one, other = (unicodedata.normalize(form, text) for text in (one, other))
    assert text_key(one) != text_key(other)


def test_texts_without_words_are_told_apart():
    texts = ["😀", "👍", "?", "!", "? !", "❤️", "☺️", "+", "−", ""]
    assert len({text_key(text) for text in texts}) == len(texts)
    assert all(pair_key(*one) != pair_key(*other) for one, other in combinations(combinations(texts, 2), 2))
    assert text_key(" ?\n ! ") == text_key("? !")
    assert text_key(" \t") == ""


def test_a_text_without_words_equals_no_text_with_some():
    assert text_key("?") not in {text_key("what?"), text_key("")}
    assert pair_key("?", "yes") != pair_key("", "yes")


def test_the_order_of_a_pair_does_not_count():
    assert pair_key("B!", "a") == pair_key("A", "b") == ("a", "b")
