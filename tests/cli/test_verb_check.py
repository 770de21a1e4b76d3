"""``assay check``: exit codes, files it writes, and files that were spoilt."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from tests.cli.calling import process

COLUMNS = ("--columns", "reference=gold,candidate=answer,label=human")


@pytest.fixture
def runs(assay, workplace):
    """Three run folders of the same 200 pairs: before, same, and worse; and the baseline of the first."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 67)
    good = labels + rng.normal(0, 0.5, len(labels))
    for name, scores in (("before", good), ("same", good), ("worse", labels + rng.normal(0, 3, len(labels)))):
        with Path(f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["gold", "answer", "human", "mine"])
            writer.writerows(
                [f"gold {i}", f"answer {i}", label, score]
                for i, (label, score) in enumerate(zip(labels, scores, strict=True))
            )
        Path(f"{name}.csv").rename("pairs.csv")
        done = assay("run", "-d", "pairs.csv", *COLUMNS, "-m", "recorded:mine", "-q", "--resamples", "0", "--out", name)
        assert done.code == 0, done.err
    assert assay("baseline", "before", "--out", "baseline.json").code == 0
    return workplace


@pytest.mark.slow
def test_the_same_scores_pass(assay, runs):
    done = assay("check", "same", "--against", "baseline.json")
    assert done.code == 0
    assert done.out.startswith("Gate passed: 1 unchanged") and not done.err, "the result is printed once"
    assert "recorded:mine" in done.out


@pytest.mark.slow
def test_worse_is_exit_code_3(runs):
    done = process(
        "check",
        "worse",
        "--against",
        "baseline.json",
        "--junit",
        "out/check.xml",
        "--summary",
        "out/check.md",
        "-f",
        "json",
    )
    assert done.code == 3
    # a slow machine shows progress above it
    assert done.err.splitlines()[-1] == "assay: FAILED: 1 worse"
    assert json.loads(done.out)["passed"] is False
    assert ET.parse("out/check.xml").getroot().get("failures") == "1"
    assert Path("out/check.md").read_text().startswith("### Gate FAILED: 1 worse")


@pytest.mark.slow
def test_the_t_interval_of_a_difference_is_about_that_by_resamples(assay, runs, monkeypatch):
    def difference(*settings):
        (found,) = json.loads(assay("check", "worse", "--against", "baseline.json", "-f", "json", *settings).out)[
            "cells"
        ][:1]
        return found["low"], found["high"]

    by_bootstrap = difference("--interval", "bootstrap")
    monkeypatch.setattr(
        "assay.statistics.resampling.Resampler.blocks", lambda self: pytest.fail("resamples were drawn")
    )
    by_t_test = difference("--interval", "influence")
    table = assay("check", "worse", "--against", "baseline.json", "--interval", "influence").out
    assert "95% t-intervals of the paired difference" in table
    width = by_bootstrap[1] - by_bootstrap[0]
    assert by_t_test == pytest.approx(by_bootstrap, abs=0.1 * width)


@pytest.mark.slow
def test_a_wide_margin_forgives(assay, runs):
    assert assay("check", "worse", "--against", "baseline.json", "--margin", "0.9").code == 0


@pytest.mark.slow
def test_strict_and_a_chain(assay, runs):
    assert assay("check", "same", "--against", "baseline.json", "--strict").code == 0
    # the same pairs with noise that changes little, and that these pairs cannot show to be within a margin of 0
    done = assay("check", "worse", "--against", "baseline.json", "--strict", "--margin", "0.45")
    lenient = assay("check", "worse", "--against", "baseline.json", "--margin", "0.45")
    assert (done.code, lenient.code) == (3, 0)
    assert "1 too little data to tell" in done.out
    assert "a smaller one could be missed" in " ".join(lenient.out.split())
    done = assay("baseline", "worse", "--out", "baseline.json", "--baseline-of", "baseline.json")
    assert done.code == 0, done.err
    # nothing changed since the last baseline, much since the first
    assert assay("check", "worse", "--against", "baseline.json").code == 3
    assert "no such baseline" in assay("baseline", "worse", "--out", "b.json", "--baseline-of", "no.json").complaint


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "csv"])
def test_formats(assay, runs, form):
    done = assay("check", "same", "--against", "baseline.json", "-f", form, "-q")
    assert (done.code, done.err) == (0, "")
    assert "unchanged" in done.out


def _spoil(key, value):
    def change(text):
        held = json.loads(text)
        metric = held["datasets"]["pairs"]["metrics"]["recorded:mine"]
        for place in (held, held["datasets"]["pairs"], metric):
            if key in place:
                if value is None:
                    del place[key]
                else:
                    place[key] = value
                break
        return json.dumps(held)

    return change


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_is_finalised")
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda text: text[:-20], "is not valid JSON"),
        (lambda text: "", "is not valid JSON"),
        (lambda text: "[" * 100_000, "is not valid JSON"),
        (lambda text: "[]", "has no schema version"),
        (lambda text: '{"schema": NaN}', "is not valid JSON (NaN is not a number)"),
        (_spoil("schema", 2), "was written by a newer assay (schema 2"),
        (_spoil("schema", True), "has no schema version"),
        (_spoil("datasets", None), "has no 'datasets'"),
        (_spoil("datasets", {"pairs": 1}), "pairs has another kind of 'pairs'"),
        (_spoil("confidence", 95), "has the confidence 95"),
        (_spoil("n", "201"), "pairs has another kind of 'n'"),
        (_spoil("n", -1), "pairs has -1 pairs"),
        (_spoil("n", 200), "has scores that cannot be read (they are not 200)"),
        (_spoil("scores", "QlpoOTE="), "has scores that cannot be read"),
        (_spoil("scores", "not base64!"), "has scores that cannot be read"),
        (_spoil("agreement", {"all": {"spearman": [0.99]}}), "does not fit its digest: it was changed by hand"),
        (_spoil("agreement", {"all": {"spearman": 0.99}}), "has an agreement that is no"),
        (_spoil("agreement", {"all": {"spearman": [True]}}), "has an agreement that is no"),
        (_spoil("agreement", {"all": {"spearman": [0.5, 0.9, 0.1]}}), "has an agreement that is no"),
        (_spoil("signature", {"metric": 1}), "has a signature whose parts are not texts"),
        (_spoil("signature", None), "recorded:mine on pairs has no 'signature'"),
    ],
)  # fmt: skip
def test_a_spoilt_baseline(assay, runs, spoil, said):
    path = Path("baseline.json")
    path.write_text(spoil(path.read_text()))
    complaint = assay("check", "same", "--against", "baseline.json").complaint
    assert complaint.startswith("assay: baseline.json")
    assert said in complaint


@pytest.mark.slow
def test_one_score_changed_by_hand(assay, runs):
    from assay.analysis.check.baseline import pack_scores, unpack_scores

    held = json.loads(Path("baseline.json").read_text())
    metric = held["datasets"]["pairs"]["metrics"]["recorded:mine"]
    scores = unpack_scores(metric["scores"], 201)
    scores[5] += 0.5
    metric["scores"] = pack_scores(scores)
    Path("baseline.json").write_text(json.dumps(held))
    assert "was changed by hand" in assay("check", "same", "--against", "baseline.json").complaint


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run.json", "agreement.json", "pairs.parquet", "scores.parquet"])
def test_a_run_folder_with_a_missing_file(assay, runs, name):
    Path("same", name).unlink()
    assert name in assay("check", "same", "--against", "baseline.json").complaint


@pytest.mark.slow
def test_bad_usage(assay, runs):
    assert "there is no such baseline" in assay("check", "same", "--against", "no.json").complaint
    assert "there is no such run folder" in assay("check", "no", "--against", "baseline.json").complaint
    assert "--margin -1.0" in assay("check", "same", "--against", "baseline.json", "--margin", "-1").complaint
    assert "has 'f1=1'" in assay("check", "same", "--against", "baseline.json", "-b", "f1=1").complaint
    assert (
        "cannot be written" in assay("check", "same", "--against", "baseline.json", "--junit", "pairs.csv/x").complaint
    )


@pytest.mark.slow
def test_other_data(assay, runs):
    Path("pairs.csv").write_text(Path("pairs.csv").read_text().replace("answer 7,", "answer seven,"))
    assert (
        assay("run", "-d", "pairs.csv", *COLUMNS, "-m", "recorded:mine", "-q", "--resamples", "0", "--out", "o").code
        == 0
    )
    complaint = assay("check", "o", "--against", "baseline.json").complaint
    assert "has other pairs than the baseline" in complaint
    assert assay("check", "o", "--against", "baseline.json", "--allow-changed-data").code == 0


@pytest.mark.slow
def test_nothing_judged_is_defined(assay, runs):
    # the labels have three levels, the coefficient needs two
    complaint = assay("check", "same", "--against", "baseline.json", "--statistic", "auc").complaint
    assert "auc in all is defined for no metric" in complaint
