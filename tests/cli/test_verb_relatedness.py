"""``assay relatedness``: with a hand-written reader, with a pipeline written here, and with a real one."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import assay as package
from assay.api.relatedness import relatedness
from assay.exceptions import InputError, MissingExtraError, install_command
from assay.metrics.words.features import SpacyReader, Word

NOUNS, VERBS = [f"n{i}" for i in range(30)], [f"v{i}" for i in range(10)]


@pytest.fixture
def pairs(workplace):
    """200 pairs of a noun and a verb, whose label follows the cosine of the nouns; one pair in 25 has an adverb."""
    rng = np.random.default_rng(0)
    table = {word: rng.normal(size=5) for word in (*NOUNS, *VERBS, "soon")}
    Path("vectors.txt").write_text(
        "\n".join(f"{word} {' '.join(f'{value:.4f}' for value in values)}" for word, values in table.items()) + "\n"
    )
    draw = random.Random(1)
    rows = ["reference,candidate,label"]
    for i in range(200):
        nouns, verbs = draw.sample(NOUNS, 2), draw.sample(VERBS, 2)
        one, other = (table[noun] for noun in nouns)
        label = one @ other / np.sqrt(one @ one * (other @ other)) + rng.normal(0, 0.1)
        adverb = " soon" if i % 25 == 0 else ""
        rows.append(f"{nouns[0]} {verbs[0]}{adverb},{nouns[1]} {verbs[1]}{adverb},{label:.4f}")
    Path("pairs.csv").write_text("\n".join(rows) + "\n")


class ByHand:
    """Knows words by their first letter."""

    language, about, parses = "en", "by hand", True

    def __init__(self, name):
        self.name = name

    def read(self, texts):
        kinds = {"n": ("NOUN", "nsubj"), "v": ("VERB", "ROOT"), "s": ("ADV", "advmod")}
        return [[Word(word, *kinds[word[0]]) for word in text.split()] for text in texts]


@pytest.fixture
def by_hand(tmp_path):
    """A pipeline with a tagger and no parser."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (the extra spacy)")
    pipeline = spacy.blank("en", meta={"name": "by_hand", "version": "1.0"})
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add([[{}]], {"POS": "X"})
    for letter, part in (("n", "NOUN"), ("v", "VERB"), ("s", "ADV")):
        ruler.add([[{"TEXT": {"REGEX": f"^{letter}"}}]], {"POS": part})
    pipeline.to_disk(tmp_path / "by-hand")
    return tmp_path / "by-hand"


def by_name(report):
    return {(row["feature"], row["labels"]): row for row in report.document.records}


def test_correlations_are_those_of_scipy(pairs):
    report = relatedness("pairs.csv", "vectors.txt", pipeline="any", resamples=0, read_with=ByHand)
    found = by_name(report)
    data = np.genfromtxt("pairs.csv", delimiter=",", dtype=str, skip_header=1)
    labels = data[:, 2].astype(float)
    lines = [line.split() for line in Path("vectors.txt").read_text().splitlines()]
    table = {line[0]: np.array(line[1:], dtype=np.float32).astype(float) for line in lines}

    def cosines(place):
        sides = [[table[text.split()[place]] for text in data[:, side]] for side in (0, 1)]
        return np.array([a @ b / np.sqrt(a @ a * (b @ b)) for a, b in zip(*sides, strict=True)])

    middle = (labels.min() + labels.max()) / 2
    lower = labels < middle
    for name, place in (("NOUN", 0), ("VERB", 1), ("subject", 0), ("verb group", 1)):
        scores = cosines(place)
        for part, inside in (("all", lower | True), (f"< {middle:g}", lower), (f"≥ {middle:g}", ~lower)):
            row = found[name, part]
            assert row["spearman"] == pytest.approx(stats.spearmanr(scores[inside], labels[inside]).statistic)
            assert row["n"] == inside.sum()
    assert found["NOUN", "all"]["spearman"] > 0.9 > 0.3 > abs(found["VERB", "all"]["spearman"])
    # 8 of 200 pairs have an adverb; none has an object
    assert ("ADV", "all") not in found and found["object", "all"]["spearman"] is None
    notes = "\n".join(report.document.sheets[0].notes)
    assert "ADV 4.0%" in notes and "object, all: undefined, no pair has a score" in notes
    assert found["adjective group", "all"]["n"] == 8


def test_overlap_and_all_words_are_those_of_the_metrics(pairs):
    report = relatedness("pairs.csv", "vectors.txt", resamples=0)
    found = by_name(report)
    run = package.run("pairs.csv", ["dice", "static:vectors.txt"], buckets=("none",), resamples=0)
    expected = run.agreement.query("statistic == 'spearman'").set_index("metric")["value"]
    assert found["lexical overlap", "all"]["spearman"] == pytest.approx(expected["dice"])
    assert found["all words", "all"]["spearman"] == pytest.approx(expected["static:vectors.txt"])
    assert [row["feature"] for row in report.document.records[:2]] == ["lexical overlap", "all words"]
    assert len(report.document.records) == 6


def test_intervals_are_those_of_a_run_on_all_pairs_and_on_either_half(pairs):
    report = relatedness("pairs.csv", "vectors.txt", resamples=200, seed=4)
    assert "95% bootstrap intervals (expanded percentile) from 200 resamples" in report.document.sheets[0].facts[0]
    by_influence = relatedness("pairs.csv", "vectors.txt", interval="influence")
    assert "95% intervals from influence values (Fisher's scale)" in by_influence.document.sheets[0].facts[0]
    notes, of_influence = ("\n".join(map(str, one.document.notes)) for one in (report, by_influence))
    assert "|interval:influence|" in of_influence and "|interval:" not in notes
    found = by_name(report)
    middle = next(labels for _, labels in found if labels.startswith("< ")).removeprefix("< ")
    run = package.run(
        "pairs.csv", ["dice", "static:vectors.txt"], buckets=(f"label<{middle}",), resamples=200, seed=4,
        statistics=("spearman",),
    )  # fmt: skip
    held = run.agreement.set_index(["metric", "bucket"])
    names = {"all": "all", f"< {middle}": f"label<{middle}", f"≥ {middle}": f"label>={middle}"}
    for feature, metric in (("lexical overlap", "dice"), ("all words", "static:vectors.txt")):
        for labels, bucket in names.items():
            row = found[feature, labels]
            assert (row["low"], row["high"]) == tuple(held.loc[(metric, bucket), ["low", "high"]]), labels


@pytest.mark.parametrize("form", ["table", "csv"])
def test_formats(assay, pairs, by_hand, form):
    line = ["-d", "pairs.csv", "--vectors", "vectors.txt", "--pipeline", by_hand, "--resamples", "100", "-q"]
    done = assay("relatedness", *line, "-f", form)
    assert (done.code, done.err) == (0, "")
    assert "NOUN" in done.out and "subject" not in done.out.replace("subject:vectors", "")


def test_a_pipeline_without_a_parser_gives_no_roles(assay, pairs, by_hand):
    done = assay("relatedness", "-d", "pairs.csv", "--vectors", "vectors.txt", "--pipeline", by_hand, "-q")
    assert "Q4 is left out: the pipeline has no parser" in done.out
    assert "words read by en_by_hand 1.0 (spaCy " in done.out


def test_without_a_pipeline_or_spacy_there_are_two_features_and_a_note(assay, pairs):
    done = assay("relatedness", "-d", "pairs.csv", "--vectors", "vectors.txt", "-q", "--resamples", "0")
    assert "Q3 and Q4 need parts of speech: give --pipeline" in done.out and done.code == 0

    def absent(name):
        raise MissingExtraError("spacy", "spacy")

    report = relatedness("pairs.csv", "vectors.txt", pipeline="any", resamples=0, read_with=absent)
    assert len(by_name(report)) == 6
    assert install_command("spacy") in "\n".join(report.document.sheets[0].notes)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["-d", "pairs.csv", "--vectors", "nowhere.txt"], "nowhere.txt"),
        (["-d", "nowhere.csv", "--vectors", "vectors.txt"], "nowhere.csv"),
        (
            ["-d", "pairs.csv", "--vectors", "vectors.txt", "--resamples", "-1"],
            "--resamples -1: an interval or a test needs at least 100 draws; 0 for none",
        ),
        (["-d", "pairs.csv", "--vectors", "vectors.txt", "--confidence", "95"], "--confidence 95.0: must lie between"),
        (["-d", "pairs.csv", "--vectors", "vectors.txt", "--seed", "-1"], "--seed -1: must not be negative"),
    ],
)
def test_refusals_are_one_line(assay, pairs, line, said):
    assert said in assay("relatedness", *line, "-q").complaint


def test_a_pipeline_for_another_language_is_refused(assay, pairs, by_hand):
    line = ["-d", "pairs.csv", "--vectors", "vectors.txt", "--pipeline", by_hand, "--language", "de", "-q"]
    assert "is for 'en', pairs is in 'de'" in assay("relatedness", *line).complaint
    missing = ["-d", "pairs.csv", "--vectors", "vectors.txt", "--pipeline", "no-such-pipeline", "-q"]
    assert "not found; give the folder" in assay("relatedness", *missing).complaint


def test_several_references_are_refused(pairs):
    rows = [{"reference": ["n1 v1", "n2 v2"], "candidate": "n3 v3", "label": i} for i in range(3)]
    with pytest.raises(InputError, match="some pairs have several references"):
        relatedness(rows, "vectors.txt", pipeline="any", read_with=ByHand)


def test_a_real_pipeline_on_stsb(real_models, shared_data, monkeypatch, assay):
    """The first 150 pairs of STS-B, nouns and objects read with spaCy alone."""
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (the extra spacy)")
    folder, vectors = real_models / "spacy-en", real_models / "glove"
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    line = ["-d", "stsb:test", "--limit", "150", "--vectors", vectors, "--pipeline", folder, "--resamples", "0", "-q"]
    done = assay("relatedness", *line, "-f", "json")
    found = {(row["feature"], row["labels"]): row for row in json.loads(done.out)}

    pipeline = spacy.load(folder)
    words = {word: row for row, word in reversed(list(enumerate((vectors / "words.txt").read_text().split("\n"))))}
    table = np.load(vectors / "vectors.npy", mmap_mode="r")
    lines = (shared_data / "stsbenchmark" / "sts-test.csv").read_text(encoding="utf-8").split("\n")[:150]
    cells = [line.split("\t") for line in lines]

    def mean(doc, belongs):
        rows = [words.get(token.text, words.get(token.text.lower())) for token in doc if belongs(token)]
        known = [table[row].astype(float) for row in rows if row is not None]
        return np.mean(known, axis=0) if known else None

    kinds = {
        "NOUN": lambda token: token.pos_ == "NOUN",
        "object": lambda token: token.dep_ == "dobj" or (token.dep_ == "dative" and token.pos_ != "ADP"),
    }
    for name, belongs in kinds.items():
        scores, labels = [], []
        for cell in cells:
            one, other = (mean(pipeline(text.strip()), belongs) for text in cell[5:7])
            if one is not None and other is not None:
                scores.append(round(float(one @ other / np.sqrt(one @ one * (other @ other))), 12))  # BLAS breaks ties
                labels.append(float(cell[4]))
        assert found[name, "all"]["n"] == len(scores)
        assert found[name, "all"]["spearman"] == pytest.approx(stats.spearmanr(scores, labels).statistic)


def test_the_reader_gives_parts_and_roles(real_models):
    pytest.importorskip("spacy", reason="spaCy is not installed (the extra spacy)")
    reader = SpacyReader(real_models / "spacy-en")
    assert reader.parses and reader.language == "en"
    first, again, empty = reader.read(["A dog chased the cat.", "A dog chased the cat.", ""])
    assert first == again and empty == []
    assert [(word.text, word.part, word.role) for word in first] == [
        ("A", "DET", "det"), ("dog", "NOUN", "nsubj"), ("chased", "VERB", "ROOT"), ("the", "DET", "det"),
        ("cat", "NOUN", "dobj"), (".", "PUNCT", "punct"),
    ]  # fmt: skip
