"""``assay compare``."""

from __future__ import annotations

import json

import pytest

from tests.cli.calling import call


@pytest.fixture
def scored(tmp_path):
    file = tmp_path / "scored.csv"
    lines = [f"gold {i},<script>alert({i})</script>|x,{i % 3},{i % 3 + i % 7 / 10},{i % 5}" for i in range(60)]
    file.write_text("reference,candidate,label,good,bad\n" + "\n".join(lines) + "\n")
    return file


def test_a_table_with_tests_and_the_pairs_they_differ_on(scored):
    done = call("compare", scored, "--permutations", 100, "--resamples", 100, "-q")
    assert done.code == 0, done.err
    assert "A recorded:good, B recorded:bad" in done.out
    assert "where recorded:good and recorded:bad differ most" in done.out
    assert "<script>" in done.out


@pytest.mark.slow
def test_every_format(scored):
    common = ("compare", scored, "--permutations", 100, "--resamples", 100, "-q", "--pairs", 2, "-f")
    held = json.loads(call(*common, "json").out)
    assert len(held["comparisons"]) == 3
    assert len(held["pairs"]) == 2
    assert {row["verdict"] for row in held["comparisons"]} == {"first"}
    rows = call(*common, "csv").rows
    assert [row["difference"] for row in rows] == [repr(row["difference"]) for row in held["comparisons"]]
    assert r"\<script\>" in call(*common, "md").out
    assert r"\toprule" in call(*common, "latex").out
    html = call(*common, "html").out
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers(scored):
    lines = ("compare", scored, "--permutations", 100, "--resamples", 100, "-q", "-f", "csv")
    assert call(*lines).out == call(*lines).out
    assert call(*lines).out != call(*lines, "--seed", 1).out


@pytest.mark.slow
def test_bad_input_is_one_line(scored, tmp_path):
    assert "there is no such run folder" in call("compare", tmp_path / "nowhere", "-q").complaint
    assert "compare takes one or two" in call("compare", scored, scored, scored, "-q").complaint
    assert "Did you mean 'recorded:good'" in call("compare", scored, "-m", "recorded:goood", "-q").complaint
    assert "at least 100" in call("compare", scored, "--permutations", 3, "-q").complaint
    assert "--bucket f1=0: no run has it; the runs have all" in call("compare", scored, "-b", "f1=0", "-q").complaint
    assert "no statistic 'peerson'" in call("compare", scored, "--statistic", "peerson", "-q").complaint


def test_many_pairs_have_intervals_from_their_influence_and_no_permutations(scored, monkeypatch):
    # imported before the number changes, whichever test comes first: the sentences keep the usual one
    monkeypatch.setattr("assay.reports.compare.MIN_INFLUENCE_PAIRS", 10_000)
    monkeypatch.setattr("assay.statistics.coefficients.MIN_INFLUENCE_PAIRS", 60)
    monkeypatch.setattr("assay.statistics.draws.Swaps.blocks", lambda self: pytest.fail("exchanges were drawn"))
    monkeypatch.setattr(
        "assay.statistics.resampling.Resampler.blocks", lambda self: pytest.fail("resamples were drawn")
    )
    done = call("compare", scored, "-q", "--explain")
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert "from the influence of each pair or group (Student's t, of 10,000 pairs and more), which is" in shown
    assert "no p perm. from 10,000 pairs on, where it takes long; --interval bootstrap draws it" in shown
    assert "PERM-BOTH" not in shown and "paired bootstrap" not in shown
    monkeypatch.undo()
    monkeypatch.setattr("assay.statistics.coefficients.MIN_INFLUENCE_PAIRS", 60)
    shown = call(
        "compare", scored, "-q", "--explain", "--interval", "bootstrap", "--permutations", 100, "--resamples", 100
    ).out
    assert "PERM-BOTH" in shown and "paired bootstrap" in shown and "influence" not in shown


def test_scores_of_a_distance_are_shown_as_they_are(tmp_path):
    lines = [f"the gold answer {i},{'the gold answer' if i % 2 else 'something else'} {i},{i % 3}" for i in range(40)]
    (tmp_path / "own.csv").write_text("reference,candidate,label\n" + "\n".join(lines) + "\n")
    run = tmp_path / "run"
    call("run", tmp_path / "own.csv", "-m", "ter", "-m", "levenshtein", "--resamples", 100, "-o", run, "-q")
    common = ("compare", run, "--permutations", 100, "--resamples", 100, "-q", "-f", "json")
    pairs = json.loads(call(*common).out)["pairs"]
    assert pairs, "the two differ somewhere"
    for pair in pairs:
        assert pair["first"] == "ter"
        assert pair["first_score"] >= 0
