from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from assay import __version__
from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, Declaration, Metric, MetricName, PairMetric, list_metrics, load_metric, option
from assay.metrics.describe import _declaration_lines, describe_metric
from assay.metrics.name import convert_value, format_value, options_of
from assay.metrics.registry import Entry, Registry

BUILT_IN = [
    "amr",
    "bertscore",
    "bertscore-trained",
    "bertscore-vanilla",
    "bi-encoder",
    "bleu",
    "chrf",
    "cross-encoder",
    "dice",
    "em",
    "evaluate",
    "f1",
    "jaccard",
    "jaro-winkler",
    "levenshtein",
    "meteor",
    "pooled",
    "recorded",
    "rouge-l",
    "s3bert",
    "sas",
    "static",
    "ter",
]


def test_all_metrics_are_listed_with_their_origin():
    own = [entry for entry in list_metrics() if entry.origin == "assay"]
    assert set(BUILT_IN) <= {entry.name for entry in own}
    assert all(entry.load().declaration.name == entry.name for entry in own)
    for entry in own:
        assert entry.declaration.name == entry.name
        assert entry.declaration.summary


def test_listing_imports_nothing_heavy():
    program = (
        "import sys, assay.metrics as m\n"
        "for entry in m.list_metrics():\n"
        "    if entry.origin == 'assay': entry.declaration\n"
        "m.load_metric('meteor:paper')\n"
        "heavy = {'numpy', 'pandas', 'scipy', 'nltk', 'sacrebleu', 'rouge_score', 'evaluate', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("blue", "no metric 'blue'.*'bleu'"),
        ("rouge", "'rouge-l'"),
        ("zzzzzz", "no metric 'zzzzzz'. Valid: amr, bertscore, .*bleu, chrf"),
        ("bleu:papr", "no option set 'papr'. Did you mean 'paper'\\? Valid: paper"),
        ("em:paper", "no option set 'paper'. There is none"),
        ("bleu,smothing=exp", "no option 'smothing'.*'smoothing'.* Valid: blank, "),
        ("em,x=1", "no option 'x'. There is none"),
        ("bleu,smoothing=ex", "'bleu', option 'smoothing': 'ex' is not valid; valid: exp, floor, add-k, none"),
        ("bleu,lowercase=yes", "valid: true, false"),
        ("bleu,max_ngram_order=0", "valid: a whole number from 1"),
        ("bleu,max_ngram_order=2.5", "a whole number"),
        ("meteor,gamma=1.5", "valid: a number from 0 up to 1"),
        ("meteor,beta=nan", "a number"),
        ("recorded", "needs a subject: write recorded:COLUMN or FILE#COLUMN"),
        ("recorded,subject=a", "no option 'subject'"),
        ("recorded:s.csv#", "no column"),
        ("recorded:{layer}_s", "write {layer} in the column's name and ,layer=NUMBER after it, or neither"),
        ("recorded:s,layer=2", "or neither"),
        ("recorded:{layer}.csv#s,layer=2", "or neither"),
        ("bleu,max-ngram-order=2,max_ngram_order=3", "given twice"),
    ],
)
def test_what_cannot_be_is_named_in_one_line(name, message):
    with pytest.raises(InputError, match=message) as caught:
        load_metric(name)
    assert len(str(caught.value).splitlines()) == 1


def test_an_option_set_applies_and_is_overridden():
    paper = load_metric("bleu:paper")
    assert (paper.smoothing, paper.tokenize, paper.swap, paper.effective_order) == ("none", "none", True, False)
    changed = load_metric("bleu:paper,smoothing=exp,swap=false")
    assert (changed.smoothing, changed.tokenize, changed.swap) == ("exp", "none", False)
    assert load_metric("bleu,max-ngram-order=2").max_ngram_order == 2


def test_a_metric_keeps_its_name_as_typed_and_makes_one_otherwise():
    assert str(load_metric("bleu:paper,smoothing=exp")) == "bleu:paper,smoothing=exp"
    made = type(load_metric("bleu"))(smoothing="floor", smooth_value=0.5)
    assert str(made) == "bleu,smoothing=floor,smooth_value=0.5"
    assert load_metric(str(made)) == made
    assert load_metric(made) is made
    assert load_metric(MetricName.parse("f1")) == load_metric("f1")


def test_options_are_checked_in_python_too():
    kind = type(load_metric("bleu"))
    with pytest.raises(InputError, match="'max_ngram_order': 'four'"):
        kind(max_ngram_order="four")
    with pytest.raises(InputError, match="'lowercase'"):
        kind(lowercase=None)


def test_the_signature_holds_what_changes_the_number():
    signature = load_metric("bleu,smoothing=floor").signature()
    assert next(iter(signature)) == "metric"
    assert signature["smoothing"] == "floor"
    assert signature["effective_order"] == "true"
    assert signature["assay"] == __version__
    assert signature["sacrebleu"][0].isdigit()
    assert signature != load_metric("bleu").signature()
    assert load_metric("bleu,smoothing=exp").signature() == load_metric("bleu").signature()
    assert load_metric("bleu,lowercase=true").short_signature().startswith("bleu|lowercase:true|sacrebleu:")
    assert "|tokenize:13a|" in load_metric("bleu").long_signature()
    assert "unicode" in load_metric("dice").signature()


def test_recorded_takes_its_subject_apart(tmp_path):
    for subject, file, column in [
        ("sas", None, "sas"),
        ("s3bert:x#negation", None, "s3bert:x#negation"),
        ("out/scores.csv#sas", "out/scores.csv", "sas"),
        ("a.parquet#s3bert:x#negation", "a.parquet", "s3bert:x#negation"),
        ("a#b.tsv#c", "a#b.tsv", "c"),
    ]:
        metric = load_metric(f"recorded:{subject}")
        assert (metric.file, metric.column) == (file, column)
    assert load_metric("recorded:a.csv#{layer}_s,layer=12").column == "12_s"
    assert not load_metric("recorded:ter,lower_is_better=true").declaration.higher_is_better
    assert load_metric("recorded:sas").declaration.higher_is_better
    with pytest.raises(InputError, match="read from the data"):
        load_metric("recorded:sas").score(Batch(["a"], ["b"]))
    path = tmp_path / "scores.csv"
    path.write_text("sas\n1\n")
    before = load_metric(f"recorded:{path}#sas").signature()
    path.write_text("sas\n0.5\n")
    assert load_metric(f"recorded:{path}#sas").signature() != before


def test_a_recorded_file_in_the_home_folder_is_in_the_signature(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "scores.csv").write_text("sas\n1\n")
    by_full_path = load_metric(f"recorded:{tmp_path}/scores.csv#sas").data_signature()
    assert load_metric("recorded:~/scores.csv#sas").data_signature() == by_full_path != {}


def test_batches_must_be_in_step():
    with pytest.raises(InputError, match="2 references, 1 candidates"):
        Batch(["a", "b"], ["c"])
    with pytest.raises(InputError, match="equally long: 1 references, 1 candidates, 0 questions"):
        Batch(["a"], ["c"], [])


@dataclass(frozen=True)
class Local(PairMetric):
    level: float | None = option(None, "a level", minimum=0)
    declaration: ClassVar[Declaration] = Declaration(name="local", summary="x", languages=frozenset({"en"}))

    def scorer(self):
        return lambda reference, candidate: 0.5


def test_the_first_of_a_name_stays_and_the_other_is_shown():
    registry = Registry(
        [Entry("f1", Local), Entry("f1", "no.where:X", "other", "1"), Entry("b", "no.where:X", "other")]
    )
    listed = [(entry.name, entry.origin, bool(entry.note)) for entry in registry.entries()]
    assert listed == [("b", "other", False), ("f1", "assay", False), ("f1", "other", True)]
    assert registry.find("f1").load() is Local
    with pytest.raises(UnavailableError, match="of other cannot be imported"):
        registry.find("b").load()


def test_a_class_of_no_distribution_is_known_by_its_code():
    assert set(Local().signature()) == {"metric", "level", "code", "assay"}
    assert np.array_equal(Local().score(Batch(["a"], ["b"])), [0.5])


def test_languages():
    Local().for_language(None)
    Local().for_language("en-GB")
    with pytest.raises(UnavailableError, match="not available for de"):
        Local().for_language("de")
    load_metric("f1").for_language("de")


def test_values_are_read_as_they_are_written():
    level = options_of(Local)["level"]
    for value in (None, 0.0, 0.1, 1e-12, 1e30):
        assert convert_value("local", level, format_value(value)) == value


def test_a_metric_without_a_score_cannot_be_made():
    with pytest.raises(TypeError):
        Metric()  # type: ignore[abstract]


def test_a_metric_of_another_package_is_computed_by_that_package():
    lines = _declaration_lines(Declaration("own", "mine"), "my-package")
    assert "computed by: my-package; part of my-package" in lines
    assert "computed by: sacrebleu; part of assay" in describe_metric("chrf")
