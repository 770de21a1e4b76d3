"""Parts of speech for the rules: what they change, what they leave alone, and a pipeline that cannot be had."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from importlib.resources import files

import pandas as pd
import pytest

import assay
from assay import evaluate_categories
from assay.analysis.categories import PartsOfSpeech, Tagger, from_people
from assay.analysis.categories import tagger as speech
from assay.analysis.errors.evaluation import evaluate_tags
from assay.cli import app
from assay.exceptions import InputError, MissingExtraError, install_command
from assay.language.wordnet import find_wordnet

needs_wordnet = pytest.mark.skipif(find_wordnet() is None, reason="WordNet is not on this machine")

#: Reference, candidate, question, tags without parts of speech, categories with them. The tags without are those from
#: before the rules knew parts of speech, word for word.
CHANGED = [
    (
        "Rubik's Brand Ltd.", "Ideal Toy Corp.", "who owns the rights to rubik's cube",
        [("co-reference", "\"Rubik's Brand Ltd.\" describes what 'Ideal Toy Corp.' names")], [],
    ),
    (
        "slows down", "reduces speed", "What does a careful driver do before a sharp bend?",
        [("negation", "'slows' is the opposite of 'speed'")], [],
    ),
    (
        "technological changes and globalization", "decline of organized labor", "",
        [("different levels of precision", "'decline' is a kind of 'changes'")], [],
    ),
    (
        "bronchi", "deliver oxygen", "what are the largest respiratory branches of the trachea called",
        [("medical term", "'bronchi' in one text and 'trachea' in the question are words of the field"),
         ("incomplete answer", "the question asks for several things, and the texts give different ones")],
        ["medical term"],
    ),
    (
        "both ends of Earth's axis", "the coldest places", "Which parts of the Earth have polar nights?",
        [], ["incomplete answer"],
    ),
    (
        "\"Highway of Tears\"", "the end", "in grimm what episode does nick get his powers back",
        [("medical term", "'tears' in one text and 'back' in the question are words of the field")], [],
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def english(real_models):
    pytest.importorskip("spacy", reason="spaCy is not installed (the extra spacy)")
    return PartsOfSpeech(real_models / "spacy-en")


@pytest.fixture
def by_hand(tmp_path):
    """Write a pipeline that knows a few words and calls every other one X."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (the extra spacy)")
    pipeline = spacy.blank("en", meta={"name": "by_hand", "version": "1.2"})
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add([[{}]], {"POS": "X"})
    for part, words in (("NOUN", "flag flags"), ("PROPN", "France Lloyd Jones"), ("PART", "'s"), ("PUNCT", "- , ( )")):
        for word in words.split():
            ruler.add([[{"ORTH": word}]], {"POS": part} | ({"MORPH": "Number=Plur"} if word == "flags" else {}))
    pipeline.to_disk(tmp_path / "by-hand")
    return tmp_path / "by-hand"


@needs_wordnet
@pytest.mark.parametrize(("reference", "candidate", "question", "before", "after"), CHANGED)
def test_without_a_pipeline_tags_are_what_they_were(reference, candidate, question, before, after):
    found = Tagger("en").tag(reference, candidate, question)
    assert [(tag.category, tag.reason) for tag in found] == before


@needs_wordnet
@pytest.mark.parametrize(("reference", "candidate", "question", "before", "after"), CHANGED)
def test_parts_of_speech_decide(english, reference, candidate, question, before, after):
    assert [tag.category for tag in Tagger("en", english).tag(reference, candidate, question)] == after


@needs_wordnet
def test_reasons_tell_the_part_of_speech(english):
    tagger = Tagger("en", english)
    (tag,) = tagger.tag("to purchase a house", "to buy a flat")
    assert tag.reason.startswith("'purchase' and 'buy' have a meaning in common (as verbs): ")
    (tag,) = tagger.tag("the axis line", "a green parrot", "Which parts of the Earth have polar nights?")
    assert "('parts' is a plural)" in tag.reason


@needs_wordnet
def test_wordnet_corrects_the_tagger_and_a_lone_word_is_not_judged(english):
    # the pipeline takes bicarbonate for a verb, which WordNet does not know
    assert english.read("sodium bicarbonate").parts_of("bicarbonate") == {"VERB"}
    found = Tagger("en", english).tag("sodium bicarbonate", "sodium carbonate")
    assert {"chemical term", "different levels of precision"} <= {tag.category for tag in found}
    assert english.read("mute").parts and english.read("mute").parts_of("mute") == frozenset()


def test_words_take_the_part_of_their_last_token_that_is_a_word(by_hand):
    text = PartsOfSpeech(by_hand).read("France's flags (Lloyd-Jones), a flag")
    assert text.words == ("France's", "flags", "Lloyd-Jones", "a", "flag")
    assert text.parts == ("PROPN", "NOUN", "PROPN", "X", "NOUN")
    assert text.plural == (False, True, False, False, False)
    assert text.parts_of("france's flags") == {"NOUN"}


@pytest.mark.parametrize(
    "raw", ["", " ", "\x00", "((((", "\n\n", "Zo&euml; ", "עברית", "７７", "a" * 5000, "U.S. e.g. b. r."]
)
def test_odd_texts_keep_a_part_for_every_word(by_hand, raw):
    text = PartsOfSpeech(by_hand).read(raw)
    assert len(text.parts) == len(text.plural) == len(text.words)


def test_a_pipeline_for_another_language_is_left_unused(by_hand):
    tagger = Tagger("de", by_hand)
    assert tagger.tag("siebzehn", "17", "Wie viele?") == Tagger("de").tag("siebzehn", "17", "Wie viele?")
    assert any("en_by_hand 1.2" in line and "not used for texts of 'de'" in line for line in tagger.missing())
    assert not any("not used" in line for line in Tagger("en", by_hand).missing())


def test_reading_ahead_gives_what_reading_one_by_one_gives(english):
    with (files("assay.datasets") / "probe" / "probe.tsv").open(encoding="utf-8", newline="") as file:
        texts = [row["reference"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:150]
    alone = [english.read(text) for text in texts]
    english.read_ahead(texts)
    assert [english.read(text) for text in texts] == alone
    english.read_ahead(())


def judge(rows, pipeline):
    people, found, tagger = [], [], Tagger("en", pipeline)
    for row in rows:
        texts = row["reference"], row["candidate"], row["question"]
        people.append(from_people(row["category"]))
        found.append([tag.category for tag in tagger.tag(*texts, label=float(row["label"]), scale=(0, 2))])
    result = evaluate_tags(people, found)
    return result, {one.category: one.kappa for one in result.categories}


@needs_wordnet
def test_parts_of_speech_agree_no_less_with_people(english, shared_data):
    probe = (files("assay.datasets") / "probe" / "probe.tsv").read_text(encoding="utf-8").splitlines()
    sets = {
        "annotated": csv.DictReader(
            (shared_data / "sas" / "annotated" / "nq_open_low_scores.csv").open(encoding="utf-8")
        ),
        "probe": csv.DictReader(probe, delimiter="\t", quoting=csv.QUOTE_NONE),
    }
    gains = {"annotated": ["co-reference"], "probe": ["negation", "medical term", "incomplete answer"]}
    for name, rows in sets.items():
        kept = [row for row in rows if row.get("language", "en") == "en"]
        (without, before), (with_parts, after) = judge(kept, None), judge(kept, english)
        assert with_parts.any >= without.any and with_parts.first >= without.first
        assert all(after[category] > before[category] for category in gains[name])
        # where fewer rules hold, the last resort holds more often
        assert all(after[category] >= before[category] - (0.03 if category == "unrelated" else 0) for category in after)


def test_a_run_is_evaluated_with_the_pipeline_named_among_the_notes(by_hand, tmp_path):
    frame = pd.DataFrame(
        {"reference": ["NASA", "9"], "candidate": ["National Aeronautics and Space Administration", "12"],
         "label": [2, 0], "category": ["acronym", "numeric"]}
    )  # fmt: skip
    assay.run([assay.load_dataset(frame, name="pairs")], ["f1"], resamples=0, out=tmp_path / "run")
    report = evaluate_categories(tmp_path / "run", tagger=by_hand)
    assert any(line.startswith("parts of speech: en_by_hand 1.2 (spaCy ") for line in report.document.notes)
    bare = assay.load_dataset(frame.drop(columns="category"), name="pairs")
    assay.run([bare], ["f1"], resamples=0, out=tmp_path / "bare")
    found = assay.errors(tmp_path / "bare", ["f1"], resamples=0, tagger=by_hand)
    assert any(line.startswith("parts of speech: en_by_hand 1.2") for line in found.document.notes)


def test_a_pipeline_that_cannot_be_had_is_one_line_with_the_remedy(tmp_path):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (the extra spacy)")
    (tmp_path / "empty").mkdir()
    spacy.blank("en").to_disk(tmp_path / "blank")
    for name, said in (
        (tmp_path / "nowhere", "not found; give the folder"),
        ("en_no_such_pipeline", "not found; give the folder"),
        (tmp_path / "empty", "cannot be loaded"),
        (tmp_path / "blank", "gives no parts of speech"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            Tagger("en", name)
        assert "\n" not in str(caught.value) and repr(str(name)) in str(caught.value)


def test_without_spacy_the_install_line_is_told(monkeypatch):
    monkeypatch.setattr(speech, "is_package_missing", lambda name: name == "spacy")
    with pytest.raises(MissingExtraError, match=re.escape(install_command("spacy"))):
        Tagger("en", "en_core_web_sm")


def test_spacy_is_loaded_only_where_a_pipeline_is_named():
    code = "import sys, assay.cli.errors, assay.analysis.categories.tagger; print('spacy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "False"


def test_the_command_line_takes_a_pipeline(by_hand, tmp_path, capsys):
    pairs = tmp_path / "pairs.csv"
    pd.DataFrame({"reference": ["9"], "candidate": ["12"], "label": [0], "s": [0.9]}).to_csv(pairs)
    for name, code, said in ((by_hand, 0, "parts of speech: en_by_hand 1.2"), (tmp_path / "nowhere", 2, "not found")):
        with pytest.raises(SystemExit) as ended:
            app(["errors", str(pairs), "--resamples", "0", "--tagger", str(name)], prog_name="assay")
        shown = capsys.readouterr()
        assert (ended.value.code or 0) == code and said in " ".join((shown.out + shown.err).split())
