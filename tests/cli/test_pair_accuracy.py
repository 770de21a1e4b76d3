"""``--statistic pair-accuracy`` on the command line: groups, none, and what the run folder then holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.analysis.folder import read_run
from tests.cli.calling import agreement

#: Two couples of foil (0) and paraphrase (1): F1 ties on the first and orders the second.
ROWS = """reference,candidate,label,sentence
the cat bit the dog,the dog bit the cat,0,1
the cat bit the dog,the cat bit the dog,1,1
a b c d,a b x y,0,2
a b c d,a b c y,1,2
"""
RUN = ("run", "-d", "roles.csv", "-m", "f1", "-b", "none", "--statistic", "pair-accuracy", "--resamples", 0)


@pytest.fixture(autouse=True)
def roles(workplace):
    Path("roles.csv").write_text(ROWS, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("head", "given"), [("group", ()), ("sentence", ("--group-by", "sentence"))])
def test_groups_are_compared_within(assay, head, given):
    Path("roles.csv").write_text(ROWS.replace("sentence", head), encoding="utf-8")
    done = assay(*RUN, *given, "--format", "csv", "--out", "OUT")
    assert (done.code, done.rows[0]["statistic"], float(done.rows[0]["value"])) == (0, "pair-accuracy", 0.5)
    assert read_run(Path("OUT")).manifest.buckets[0].ceiling == {"pair-accuracy": 1.0}
    assert assay("report", "OUT", "--out", "PAGE").code == 0
    assert assay("verify", "OUT").code == 0


def test_without_groups_there_is_one_line(assay):
    said = assay(*RUN, "--out", "OUT").complaint
    assert said.startswith("assay: --statistic pair-accuracy compares the pairs of one group, and there are no groups")
    assert "--group-by" in said
    assert not Path("OUT").exists()
    assert "no groups" in assay(*RUN, "--columns", "group=sentence", "--group-by", "none").complaint


def test_a_dataset_without_groups_beside_one_that_has_them_is_undefined(assay):
    Path("plain.csv").write_text("reference,candidate,label\na b,a b,1\na b,c,0\n", encoding="utf-8")
    Path("roles.csv").write_text(ROWS.replace("sentence", "group"), encoding="utf-8")
    assert assay(*RUN, "-d", "plain.csv", "--statistic", "pearson", "--out", "OUT").code == 0
    rows = [row for row in read_run(Path("OUT")).agreement if row.statistic == "pair-accuracy"]
    assert [(row.dataset, row.value, row.notes) for row in rows] == [
        ("roles", 0.5, ()),
        ("plain", None, ("there are no groups",)),
    ]
    assert agreement(Path("OUT"))["all", "f1", "pearson"]["value"] is not None


def test_two_metrics_are_compared_by_it(assay):
    lines = ROWS.splitlines()
    many = [lines[0], *(f"{line.rpartition(',')[0]},{copy}{line[-1]}" for copy in range(12) for line in lines[1:])]
    Path("roles.csv").write_text("\n".join(many), encoding="utf-8")
    assay(*RUN, "-m", "rouge-l", "--columns", "group=sentence", "--resamples", 100, "--out", "OUT")
    done = assay("compare", "OUT", "--permutations", 100, "--resamples", 100, "--format", "json", "--quiet")
    assert done.code == 0, done.err
    # ROUGE-L sees the order of words: it has both couples right, F1 one of them
    rows = agreement(Path("OUT"))
    assert rows["all", "rouge-l", "pair-accuracy"]["value"] == 1
    assert rows["all", "f1", "pair-accuracy"]["value"] == 0.5
    (found,) = json.loads(done.out)["comparisons"]
    assert (found["first"], found["second"], found["statistic"]) == ("f1", "rouge-l", "pair-accuracy")
    assert (found["difference"], found["n"], found["verdict"]) == (-0.5, 48, "second")
    # no exchange of 100 reaches a difference that only all twelve couples on one side give: p = (0 + 1) / (100 + 1)
    assert found["p_permutation"] == pytest.approx(1 / 101)
    # F1 has 12 of 24 groups right: the middle 95 % of a binomial distribution of 24 and .5 are 7 to 17 of 24
    assert rows["all", "f1", "pair-accuracy"]["low"] == pytest.approx(7 / 24, abs=0.05)
    assert rows["all", "f1", "pair-accuracy"]["high"] == pytest.approx(17 / 24, abs=0.05)
    assert (found["low"], found["high"]) == (pytest.approx(-17 / 24, abs=0.05), pytest.approx(-7 / 24, abs=0.05))
