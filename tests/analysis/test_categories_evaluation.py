"""The rules against people: the figures as measured are lower bounds, poor ones included."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from assay.analysis.categories import GROUPS, Tagger, from_people
from assay.analysis.errors.evaluation import Agreement, evaluate_tags
from assay.language.wordnet import find_wordnet

needs_wordnet = pytest.mark.skipif(find_wordnet() is None, reason="WordNet is not on this machine")


def test_precision_recall_and_kappa_by_hand():
    people = ["alias", "alias", "names", "numeric"]
    rules = [["alias"], ["names", "alias"], ["alias"], []]
    found = evaluate_tags(people, rules)
    alias = next(one for one in found.categories if one.category == "alias")
    # people 2, rules 3, both 2; agreement on 3 of 4; by chance (2*3 + 2*1) / 16 = 1/2; kappa (3/4 - 1/2) / (1/2)
    assert alias == Agreement("alias", 2, 3, 2, 4)
    assert (alias.precision, alias.recall, alias.f1, alias.kappa) == pytest.approx((2 / 3, 1, 4 / 5, 1 / 2))
    numeric = next(one for one in found.categories if one.category == "numeric")
    assert (numeric.precision, numeric.recall, numeric.kappa) == (None, 0, 0)
    assert (found.n, found.untagged, found.tags, found.first, found.any) == (4, 1, 4, 1, 2)
    group = next(one for one in found.groups if one.category == "names, alias, spatial")
    assert (group.people, group.rules, group.both, group.kappa) == (3, 3, 3, 1)


def judge(rows, language=None):
    taggers = {name: Tagger(name) for name in ("en", "de")}
    people, rules = [], []
    for row in rows:
        tags = taggers[row.get("language", language)].tag(
            row["reference"], row["candidate"], row["question"], label=float(row["label"]), scale=(0, 2)
        )
        people.append(from_people(row["category"]))
        rules.append([tag.category for tag in tags])
    found = evaluate_tags(people, rules)
    return found, {one.category: one for one in (*found.categories, *found.groups)}


@needs_wordnet
def test_against_the_77_annotated_pairs(shared_data):
    path = shared_data / "sas" / "annotated" / "nq_open_low_scores.csv"
    with path.open(encoding="utf-8", newline="") as file:
        found, by_name = judge(csv.DictReader(file), "en")
    assert found.n == 77
    assert found.any >= 38 and found.first >= 36
    kappas = {"spatial": 0.73, "names": 0.66, "date and temporal": 0.70, "medical term": 0.78, "co-reference": 0.46,
              "names, alias, spatial": 0.66, "medical, biological, chemical term": 0.66}  # fmt: skip
    for name, kappa in kappas.items():
        assert by_name[name].kappa >= kappa, name


@pytest.mark.slow
@needs_wordnet
def test_against_the_probe_set():
    path = files("assay.datasets") / "probe" / "probe.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        found, by_name = judge(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert found.n == 628
    assert found.any >= 341 and found.first >= 297
    kappas = {"encoding": 0.67, "acronym": 0.60, "unit": 0.81, "date and temporal": 0.73, "numeric": 0.71,
              "negation": 0.72, "co-reference": 0.78, "chemical term": 0.70,
              "multiple correct answers": 0.59}  # fmt: skip
    for name, kappa in kappas.items():
        assert by_name[name].kappa >= kappa, name


def test_groups_are_made_of_categories_that_are_kept_apart_elsewhere():
    members = [name for group in GROUPS.values() for name in group]
    assert len(members) == len(set(members))
