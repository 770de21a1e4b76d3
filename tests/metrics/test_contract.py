from __future__ import annotations

import dataclasses
import inspect
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.metrics import Batch, Declaration, Metric, check_metric, list_metrics, load, option
from assay.metrics.registry import Entry, Registry

NAMES = [
    # spbleu needs a model: tests/metrics/test_segmenters.py
    *(e.name for e in list_metrics() if e.origin == "assay" and e.declaration.subject is None and e.name != "spbleu"),
    *[
        "f1:paper",
        "bleu:paper",
        "rouge-l:paper",
        "meteor:paper",
        "dice:paper",
        "chrf,word_order=2",
        "ter,normalized=true",
        "recorded:sas",
    ],
    *["dice,multiset=true", "rouge-l,stemmer=true", "bleu,tokenize=char", "jaro-winkler,prefix_weight=0.2"],
]


@pytest.mark.parametrize("name", NAMES)
def test_assay_s_own_metrics_keep_their_promises(request, name):
    if name.startswith("meteor"):
        request.getfixturevalue("wordnet")
    findings = check_metric(name)
    assert [finding for finding in findings if not finding.passed] == []
    assert len(findings) == (5 if name.startswith("recorded") else 11)


@dataclass(frozen=True)
class Base(Metric):
    declaration: ClassVar[Declaration] = Declaration(name="faulty", summary="faulty")

    def score(self, batch):
        return np.array([self.value(*pair) for pair in batch.pairs()], dtype=np.float64)

    def value(self, reference, candidate):
        return float(reference == candidate)


class Undefined(Base):
    def value(self, reference, candidate):
        return float("nan") if not candidate else 1.0


class TooHigh(Base):
    def value(self, reference, candidate):
        return 100.0 * (reference == candidate)


class Crooked(Base):
    declaration = Declaration(name="faulty", summary="faulty", symmetric=True)

    def value(self, reference, candidate):
        return min(1.0, len(reference) / (1 + len(candidate)))


class Imperfect(Base):
    declaration = Declaration(name="faulty", summary="faulty", perfect=1.0)

    def value(self, reference, candidate):
        return float(reference == candidate and len(reference) > 3)


class Scaled(Base):
    def score(self, batch):
        scores = np.array([float(len(reference)) for reference, _ in batch.pairs()])
        return scores / scores.max() if len(scores) and scores.max() > 1 else scores


class Ranked(Base):
    def score(self, batch):
        return np.arange(len(batch), dtype=np.float64) / max(len(batch), 1)


class Counting(Base):
    calls: ClassVar[list[int]] = []

    def score(self, batch):
        self.calls.append(1)
        return np.full(len(batch), 1 / len(self.calls))


class Sulking(Base):
    def value(self, reference, candidate):
        if not reference:
            raise ValueError("no reference")
        return 0.0


class Listing(Base):
    def score(self, batch):
        return super().score(batch).tolist()


@dataclass(frozen=True)
class Silent(Base):
    level: int = option(1, "a level")

    def signature(self):
        return {"metric": "faulty", "assay": "0"}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"low": 1.0, "high": 0.0}, "low=1 and high=0: low is the lower bound"),
        ({"low": math.nan}, "low=nan and high=1"),
        ({"perfect": 100.0}, "perfect=100.0: is not in the declared range, 0 to 1"),
        ({"tolerance": -1.0}, "tolerance=-1: must be 0 or more"),
        ({"languages": frozenset({"English"})}, "languages: 'English' is not an ISO 639 code"),
        ({"summary": ""}, "summary: must be one line"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_a_finding(monkeypatch, declared, said):
    own = Declaration(**{"name": "faulty", "summary": "faulty", **declared})
    kind = type("Contradicting", (Base,), {"declaration": own, "__module__": __name__})
    entries = Registry([Entry("faulty", kind)])
    monkeypatch.setattr(load, "registry", lambda: entries)
    (finding,) = [finding for finding in check_metric("faulty") if finding.check == "declaration"]
    assert not finding.passed and said in finding.detail


def test_every_field_of_a_declaration_is_explained():
    attributes = inspect.getdoc(Declaration).partition("Attributes:")[2]
    named = set()
    for line in re.findall(r"^    ([a-z_, ]+):", attributes, flags=re.MULTILINE):
        named |= set(line.split(", "))
    fields = {field.name for field in dataclasses.fields(Declaration)}
    assert named == fields
    page = Path(__file__).parents[2] / "docs" / "extending.md"
    table = page.read_text(encoding="utf-8").partition("| field | default |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == fields


@pytest.mark.parametrize(
    ("kind", "failing"),
    [
        (Base, set()),
        (Undefined, {"finite", "empty texts", "range"}),
        (TooHigh, {"range"}),
        (Crooked, {"symmetry"}),
        (Imperfect, {"perfect score"}),
        (Scaled, {"batch and order"}),
        (Ranked, {"batch and order"}),
        (Counting, {"batch and order", "determinism"}),
        (Sulking, {"finite", "range", "empty texts", "batch and order", "determinism"}),
        (Listing, {"finite", "range", "empty texts", "batch and order", "determinism"}),
        (Silent, {"signature"}),
    ],
)
def test_each_fault_is_found(monkeypatch, kind, failing):
    entries = Registry([Entry("faulty", kind)])
    monkeypatch.setattr(load, "registry", lambda: entries)
    findings = check_metric("faulty")
    assert {finding.check for finding in findings if not finding.passed} == failing
    assert all(finding.detail for finding in findings)


@pytest.mark.parametrize(
    ("kind", "check", "said"),
    [
        (Sulking, "finite", r"raised ValueError: no reference \(.*\), for reference '' and candidate ''"),
        (Sulking, "determinism", r"for reference '' and candidate ''"),
        (Imperfect, "perfect score", r"declared 1, but '7' and itself have 0 \(\d+ of 28 texts\)"),
    ],
)
def test_a_fault_names_a_pair(monkeypatch, kind, check, said):
    entries = Registry([Entry("faulty", kind)])
    monkeypatch.setattr(load, "registry", lambda: entries)
    (finding,) = [finding for finding in check_metric("faulty") if finding.check == check]
    assert re.search(said, finding.detail), finding.detail


def test_a_metric_that_is_not_there_is_no_finding():
    with pytest.raises(InputError):
        check_metric("nothing-of-this-name")


def test_the_batch_is_not_changed():
    references, candidates = ["b", "a"], ["a", "a"]
    for name in ("f1", "bleu:paper", "rouge-l", "dice"):
        load.load_metric(name).score(Batch(references, candidates))
    assert (references, candidates) == (["b", "a"], ["a", "a"])
