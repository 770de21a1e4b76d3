"""Features of related words: cosines by hand on words that are tagged by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.metrics.words.features import PARTS, Word, word_kind_features
from assay.metrics.words.vectors import open_vectors

VECTORS = {"dog": (1, 0), "cat": (1, 1), "barks": (0, 2), "the": (3, 4), "she": (-1, 0), "nil": (0, 0), "paris": (0, 1)}


@pytest.fixture
def vectors(tmp_path):
    lines = [f"{word} {' '.join(map(str, numbers))}" for word, numbers in VECTORS.items()]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    return open_vectors(tmp_path / "vectors.txt")


def sentence(text):
    """``dog/NOUN/nsubj barks/VERB`` as words."""
    return [Word(*token.split("/")) for token in text.split()]


def features(vectors, *pairs, roles=True):
    first, second = ([sentence(texts[side]) for texts in pairs] for side in (0, 1))
    return {one.name: one for one in word_kind_features(first, second, vectors, roles=roles)}


def test_cosines_by_hand(vectors):
    found = features(
        vectors,
        ("the/DET dog/NOUN/nsubj barks/VERB", "the/DET the/DET cat/NOUN/nsubj barks/VERB"),
        ("dog/NOUN cat/NOUN", "barks/NOUN"),
        ("dog/NOUN", "she/PRON"),
    )
    # (1, 0) and (1, 1); the mean (1, 1/2) and (0, 2); nothing against a pronoun
    expected = [1 / 2**0.5, 0.5 / (1.25**0.5), np.nan]
    assert found["NOUN"].scores == pytest.approx(expected, nan_ok=True)
    assert found["NOUN"].present.tolist() == [True, True, False]
    assert found["DET"].scores[0] == 1.0
    assert found["VERB"].scores == pytest.approx([1, np.nan, np.nan], nan_ok=True)
    # of the group: a noun against a pronoun, (1, 0) and (-1, 0)
    assert found["noun group"].scores == pytest.approx([*expected[:2], -1])
    assert found["noun group"].present.all()
    assert found["subject"].scores == pytest.approx([1 / 2**0.5, np.nan, np.nan], nan_ok=True)
    assert [found[name].question for name in ("NOUN", "noun group", "subject")] == ["Q3a", "Q3b", "Q4"]


def test_the_same_words_in_other_numbers_are_a_tie(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(200)]
    lines = [f"{word} {' '.join(f'{value:.6f}' for value in rng.normal(size=50))}" for word in words]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    pairs = [(f"{word}/DET", " ".join([f"{word}/DET"] * (i % 7 + 1))) for i, word in enumerate(words)]
    found = features(open_vectors(tmp_path / "vectors.txt"), *pairs)["DET"]
    assert (found.scores == 1.0).all()


def test_words_without_a_vector_do_not_count(vectors):
    found = features(
        vectors,
        ("dog/NOUN zyx/NOUN", "dog/NOUN"),
        ("zyx/NOUN", "dog/NOUN"),
        ("nil/NOUN", "dog/NOUN"),
        ("Dog/NOUN", "DOG/NOUN"),
    )["NOUN"]
    assert found.scores == pytest.approx([1, np.nan, np.nan, 1], nan_ok=True)
    assert found.present.all()


def test_groups_are_those_of_the_paper(vectors):
    found = features(
        vectors,
        ("dog/PROPN", "dog/PRON"), ("dog/AUX", "dog/VERB"), ("dog/ADP", "dog/ADV"), ("dog/DET", "dog/ADJ"),
    )  # fmt: skip
    assert found["noun group"].present.tolist() == [True, False, False, False]
    assert found["verb group"].present.tolist() == [False, True, False, False]
    assert found["adjective group"].present.tolist() == [False, False, True, False]


def test_objects_are_direct_and_indirect_and_no_prepositions(vectors):
    found = features(
        vectors,
        ("dog/NOUN/dobj", "dog/NOUN/dative"), ("the/ADP/dative", "dog/NOUN/dobj"), ("dog/NOUN/pobj", "dog/NOUN/dobj"),
        ("dog/NOUN/nsubjpass", "dog/NOUN/dobj"),
    )  # fmt: skip
    assert found["object"].present.tolist() == [True, False, False, False]
    assert not found["subject"].present.any()


def test_punctuation_is_no_word_and_roles_need_a_parser(vectors):
    found = features(vectors, ("./PUNCT", "./PUNCT"), roles=False)
    assert list(found) == [*PARTS, "noun group", "verb group", "adjective group"]
    assert not any(one.present.any() for one in found.values())


def test_empty_sentences(vectors):
    found = features(vectors, ("", ""), ("dog/NOUN", ""))
    assert not any(one.present.any() or np.isfinite(one.scores).any() for one in found.values())
