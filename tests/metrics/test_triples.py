"""Words of subjects and objects of complete triples: parses written by hand, and what the program itself found."""

from __future__ import annotations

import pytest

from assay.metrics.words.features import SpacyReader
from assay.metrics.words.triples import ParsedToken, find_triple_words


def words(parse):
    """The words of subjects and of objects of a text written as ``text/part/role/head``, heads numbered from 0."""
    tokens = [ParsedToken(*cells[:3], int(cells[3])) for cells in (token.split("/") for token in parse.split())]
    found = find_triple_words(tokens)
    return tuple(" ".join(tokens[i].text for i in sorted(side)) for side in (found.subjects, found.objects))


@pytest.mark.parametrize(
    ("parse", "subjects", "objects"),
    [
        # the phrase, not its head alone
        (
            "The/DET/det/1 boy/NOUN/nsubj/2 saw/VERB/ROOT/2 a/DET/det/5 red/ADJ/amod/5 car/NOUN/dobj/2",
            "The boy",
            "a red car",
        ),
        # a verb without an object makes no triple
        ("The/DET/det/1 boy/NOUN/nsubj/2 slept/VERB/ROOT/2", "", ""),
        # coordinated subjects
        (
            "He/PRON/nsubj/3 and/CCONJ/cc/0 dogs/NOUN/conj/0 shot/VERB/ROOT/3 me/PRON/dobj/3",
            "He dogs",
            "me",
        ),
        # passive: the agent is the subject
        (
            "Cars/NOUN/nsubjpass/2 were/AUX/auxpass/2 made/VERB/ROOT/2 by/ADP/agent/2 workers/NOUN/pobj/3",
            "workers",
            "Cars",
        ),
        # without another verb, an auxiliary is the verb
        ("He/PRON/nsubj/1 is/AUX/ROOT/1 a/DET/det/3 man/NOUN/attr/1", "He", "a man"),
        # the object of a complement
        (
            "I/PRON/nsubj/1 want/VERB/ROOT/1 to/PART/aux/3 see/VERB/xcomp/1 him/PRON/dobj/3",
            "I",
            "him",
        ),
        # "that" stands for the noun before it, and negations are no part of a phrase
        (
            "a/DET/det/1 hat/NOUN/ROOT/1 that/PRON/nsubj/3 had/VERB/relcl/1 no/DET/det/5 spots/NOUN/dobj/3",
            "a hat",
            "spots",
        ),
        # a verb without a subject belongs to the noun above it; "beat and hurt" share the objects of the second
        (
            "men/NOUN/ROOT/0 beating/VERB/acl/0 and/CCONJ/cc/1 hurting/VERB/conj/1 dogs/NOUN/dobj/3",
            "men",
            "dogs",
        ),
        ("", "", ""),
    ],
)
def test_by_hand(parse, subjects, objects):
    assert words(parse) == (subjects, objects)


@pytest.mark.parametrize(
    ("text", "subjects", "objects"),
    [
        # found by the program with en_core_web_md 3.8
        ("A girl is styling her hair.", "A girl", "her hair"),
        ("A group of men play soccer on the beach.", "A group of men", "soccer"),
        ("He and his brother shot me and my sister.", "He his brother", "me my sister"),
        ("The house was built by two workers.", "two workers", "The house"),
        ("A man is dancing.", "", ""),
    ],
)
def test_a_real_pipeline(real_models, text, subjects, objects):
    pytest.importorskip("spacy", reason="spaCy is not installed (the extra spacy)")
    (found,) = SpacyReader(real_models / "spacy-en").read([text])
    assert " ".join(word.text for word in found if word.in_subject) == subjects
    assert " ".join(word.text for word in found if word.in_object) == objects
