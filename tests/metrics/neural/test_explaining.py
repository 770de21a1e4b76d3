"""Explanations of neural metrics: they add up to the score, and say what is usual."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from assay.metrics.aspects.layout import even_layout, write_layout
from assay.metrics.aspects.reference import write_reference
from tests.metrics.models.tiny import make_bert
from tests.metrics.neural.texts import pairs

PAIR = Batch(["two dogs run on the street"], ["a dog runs near the white street"])
NAMES = ["overall", "negation", "quantifiers", "residual"]


@pytest.fixture
def model(tmp_path):
    """A tiny S3BERT: 32 dimensions, two aspects of 8, a residual of 16."""
    folder = make_bert(tmp_path / "tiny", layers=2, pooling="mean")
    write_layout(even_layout(["negation", "quantifiers"], 8, 32), folder)
    return folder


def explained(name: str, batch: Batch = PAIR):
    found = load_metric(name).explain(batch)
    for one in found:
        json.dumps(one.as_dict(), allow_nan=False)
    return found


def test_aspects_are_the_metric_s_scores(model):
    found = explained(f"s3bert:{model}")[0]
    parts = load_metric(f"s3bert:{model}").expand()
    assert found.score == parts[0].score(PAIR)[0]
    assert [(one.aspect, one.score) for one in found.aspects] == [
        (part.declaration.aspect, part.score(PAIR)[0]) for part in parts[1:]
    ]


def test_without_a_reference_set_nothing_is_called_usual(model):
    found = explained(f"s3bert:{model}")[0]
    assert found.compared is None
    assert {one.usual for one in found.aspects} == {None}
    assert "keeps no reference set" in found.notes[0]
    assert "assay train s3bert" in found.notes[0]


def test_aspects_are_held_against_pairs_of_that_overall_score(model):
    overall = load_metric(f"s3bert:{model}").score(PAIR)[0]
    # 400 pairs around the overall score, 200 of them near; there negation is never below .995, quantifiers anything
    spread = np.where(np.arange(400) < 200, overall, -overall)
    table = np.stack([spread, np.full(400, 0.999), np.linspace(-1, 1, 400), spread], axis=1)
    table[200:, 1] = -1
    write_reference(model, NAMES, table.astype(np.float32))
    found = explained(f"s3bert:{model}")[0]
    assert (found.compared.pairs, found.compared.total) == (200, 400)
    assert found.compared.low == pytest.approx(overall, abs=1e-6)
    negation, quantifiers, _ = found.aspects
    assert (negation.usual.unusual, negation.usual.lower) == ("low", 0.0)
    assert quantifiers.usual.median == pytest.approx(-0.5, abs=0.01)
    # in the other half every negation is -1: whatever is not lower is high
    far = np.where(np.arange(400) < 200, -overall, overall)
    table[:, 0] = far
    write_reference(model, NAMES, table.astype(np.float32))
    assert explained(f"s3bert:{model}")[0].aspects[0].usual.unusual == "high"


def test_a_pair_beyond_the_reference_set_says_so(model):
    table = np.full((150, 4), -1.0, dtype=np.float32)
    write_reference(model, NAMES, table)
    assert "what is usual is a guess" in explained(f"s3bert:{model}")[0].notes[-1]


def test_a_reference_set_that_does_not_fit_is_not_used(model, tmp_path):
    write_reference(model, NAMES, np.zeros((99, 4), np.float32))
    assert "99 pairs, not 100" in explained(f"s3bert:{model}")[0].notes[0]
    write_reference(model, NAMES, np.zeros((100, 4), np.float32))
    other = tmp_path / "other.json"
    other.write_text('{"schema": 1, "dimensions": 32, "aspects": {"negation": [0, 9], "quantifiers": [9, 16]}}')
    assert "belongs to another layout" in explained(f"s3bert:{model},layout={other}")[0].notes[0]
    write_reference(model, NAMES[:3], np.zeros((100, 3), np.float32))
    with pytest.raises(InputError, match="has not the aspects of"):
        explained(f"s3bert:{model}")


def test_a_reference_set_may_be_of_a_layout_beside_the_model(model, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"schema": 1, "dimensions": 32, "aspects": {"negation": [0, 9], "quantifiers": [9, 16]}}')
    named = f"s3bert:{model},layout={other}"
    write_reference(model, NAMES, np.zeros((100, 4), np.float32), load_metric(named).read_layout())
    assert explained(named)[0].compared.total == 100
    assert "belongs to another layout" in explained(f"s3bert:{model}")[0].notes[0]
    (model / "s3bert.json").unlink()
    assert explained(named)[0].compared.total == 100


def test_one_aspect_has_no_parts(model):
    with pytest.raises(InputError, match=f"explain the whole: s3bert:{model}"):
        explained(f"s3bert:{model}#negation")


@pytest.mark.parametrize("output", ["f", "precision", "recall"])
def test_token_matches_add_up_to_bertscore(encoder, output):
    name = f"bertscore:{encoder},output={output}"
    batch = pairs(12)
    scores = load_metric(name).score(batch)
    for one, score in zip(explained(name, batch), scores, strict=True):
        means = {
            side: np.average([match.similarity for match in matches], weights=[match.weight for match in matches])
            for side in ("reference", "candidate")
            for matches in [[match for match in one.tokens if match.side == side]]
        }
        recall, precision = means["reference"], means["candidate"]
        assert (one.precision, one.recall) == (pytest.approx(precision), pytest.approx(recall))
        by_hand = {"precision": precision, "recall": recall, "f": 2 * precision * recall / (precision + recall)}
        assert one.score == score
        assert score == pytest.approx(by_hand[output], abs=1e-6)


def test_tokens_are_written_and_weighted(encoder, tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("the street\nthe dog\n")
    found = explained(f"bertscore:{encoder},idf={corpus}")[0]
    reference = [match for match in found.tokens if match.side == "reference"]
    # "the" is in both texts of the corpus and weighs log(3/3) = 0: it counts nothing and is left out
    assert [match.token for match in reference] == ["two", "dog", "##s", "run", "on", "street"]
    # "street" is in one of two: log(3/2); the others in none: log(3)
    assert reference[-1].weight == pytest.approx(np.log(1.5))
    assert reference[0].weight == pytest.approx(np.log(3))
    same = explained(f"bertscore:{encoder}", Batch(["the dog"], ["the dog"]))[0]
    assert [(match.token, match.partner) for match in same.tokens] == [("the", "the"), ("dog", "dog")] * 2
    assert [match.similarity for match in same.tokens] == pytest.approx([1.0] * 4)


def test_empty_texts_have_no_tokens(encoder):
    found = explained(f"bertscore:{encoder}", Batch(["", "dog"], ["dog", "dog"]))[0]
    assert (found.score, found.recall) == (0.0, 0.0)
    assert "reference without a token that counts" in found.notes


def test_an_empty_text_without_special_tokens_matches_nothing(tmp_path):
    """Decoders put no special tokens around a text, so that an empty one has none at all."""
    folder = make_bert(tmp_path / "tiny", layers=2)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer | {"post_processor": None}))
    for batch in (Batch(["dog"], [""]), Batch([""], ["dog"]), Batch([""], [""])):
        found = explained(f"bertscore:{folder}", batch)[0]
        assert (found.score, found.precision, found.recall, found.tokens) == (0.0, 0.0, 0.0, ())


@pytest.mark.parametrize("order", ["reference-first", "mean"])
def test_changes_are_scores_without_the_word(scorer, order):
    metric = load_metric(f"cross-encoder:{scorer},order={order}")
    (found,) = metric.explain(Batch(["big red dog"], ["red cat"]))

    def score(reference: str, candidate: str) -> float:
        return float(metric.score(Batch([reference], [candidate]))[0])

    whole = score("big red dog", "red cat")
    assert found.score == pytest.approx(whole, abs=1e-5)
    assert [(one.side, one.word) for one in found.words] == [
        *(("reference", word) for word in ("big", "red", "dog")),
        *(("candidate", word) for word in ("red", "cat")),
    ]
    assert found.words[1].change == pytest.approx(whole - score("big dog", "red cat"), abs=1e-5)
    assert found.words[4].change == pytest.approx(whole - score("big red dog", "red"), abs=1e-5)
    left = ["red dog", "big dog", "big red"]
    right = ["cat", "red"]
    table = np.array(
        [[whole - score(a, "red cat") - score("big red dog", b) + score(a, b) for b in right] for a in left]
    )
    for number, word in enumerate(found.words[:3]):
        best = int(table[number].argmax())
        if table[number, best] > 0:
            assert word.partner_position == best
            assert word.together == pytest.approx(table[number, best], abs=1e-4)
        else:
            assert word.partner is None


def test_long_texts_have_no_partners(scorer):
    long = " ".join(["dog"] * 31)
    found = explained(f"cross-encoder:{scorer}", Batch([long], [long]))[0]
    assert len(found.words) == 62
    assert {one.partner for one in found.words} == {None}
    assert "31 by 31 words are more than 900 pairs of words" in found.notes[-1]


def test_a_text_without_words_can_be_explained(scorer):
    found = explained(f"cross-encoder:{scorer}", Batch([""], ["dog"]))[0]
    assert [(one.side, one.word, one.partner) for one in found.words] == [("candidate", "dog", None)]
