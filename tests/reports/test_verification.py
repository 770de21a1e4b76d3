"""Numbers of a run compared with the same numbers computed now, and the cause that is named."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.analysis.verify import (
    Change,
    Recomputation,
    ReloadedData,
    Verification,
    VerifiedMetric,
    changes,
    compare_agreement,
    compare_scores,
    likely_cause,
    missing_recomputation,
)
from assay.manifest import AgreementRow
from assay.reports.formats import format_document
from assay.reports.verify import headline, to_document

IDS = ["a", "b", "c", "d"]
NAN = float("nan")
SAME = Recomputation("same", 4)
DIFFERS = Recomputation("differs", 4, 1, 0.25, "pair b")
DATA = ReloadedData("own", "same", "own.csv", {})
EDITED = ReloadedData("own", "folder changed", "own.csv", {"other label": 2})
OTHER = ReloadedData("own", "changed", "own.csv", {"rows gone": 1})
CHRF = Change("sacrebleu", "2.5.1", "2.6.0")
SOFTWARE = (
    "same: other software (numpy 1.26.4 → 2.4.6), or scores.parquet or the texts in pairs.parquet changed after the run"
)
NUMPY = Change("numpy", "1.26.4", "2.4.6")


def row(bucket="all", statistic="kendall", value=0.5, low=0.25, high=0.75, n=4):
    return AgreementRow(
        dataset="own", split="", bucket=bucket, metric="m", statistic=statistic, value=value, low=low, high=high, n=n,
        notes=(),
    )  # fmt: skip


def test_scores_within_the_tolerance_are_the_same():
    then = np.array([0.0, 0.5, 1.0, NAN])
    assert compare_scores(then, then + 1e-5, IDS, 2e-5) == Recomputation("same", 4)
    assert compare_scores(then, then, IDS, 0.0) == Recomputation("same", 4)


def test_scores_that_differ_are_counted_and_the_worst_pair_named():
    then, now = np.array([0.0, 0.5, 1.0, 0.125]), np.array([0.0, 0.75, 0.5, 0.125])
    # |0.5 - 0.75| = 0.25, |1 - 0.5| = 0.5
    assert compare_scores(then, now, IDS, 1e-9) == Recomputation("differs", 4, 2, 0.5, "pair c")
    assert compare_scores(then, now, IDS, 0.3) == Recomputation("differs", 4, 1, 0.5, "pair c")


def test_a_score_on_one_side_only_differs_without_a_distance():
    then, now = np.array([NAN, 0.5, 1.0, 0.0]), np.array([0.5, 0.5, 1.0, 0.0])
    assert compare_scores(then, now, IDS, 1.0) == Recomputation("differs", 4, 1, None, "pair a")
    assert compare_scores(now, then, IDS, 1.0) == Recomputation("differs", 4, 1, None, "pair a")
    now[3] = 0.25
    assert compare_scores(then, now, IDS, 0.1) == Recomputation("differs", 4, 2, 0.25, "pair d")


def test_every_number_of_a_row_is_compared():
    assert compare_agreement([row()], [row(value=0.5 + 1e-13)]) == Recomputation("same", 1)
    for name in ("value", "low", "high"):
        found = compare_agreement([row()], [row(**{name: getattr(row(), name) + 1e-9})])
        assert (found.outcome, found.place) == ("differs", "all, kendall")
        assert found.largest == pytest.approx(1e-9, rel=1e-4)
    assert compare_agreement([row()], [row(n=3)]).outcome == "differs"
    assert compare_agreement([row(value=None, low=None, high=None)], [row(value=None, low=None, high=None)]).n == 1
    assert compare_agreement([row(low=None)], [row()]) == Recomputation("differs", 1, 1, None, "all, kendall")
    assert compare_agreement([row(value=-1e308)], [row(value=1e308)]).largest is None, "no number that JSON can hold"


def test_a_row_that_is_missing_or_of_an_unknown_bucket():
    two = [row(), row("f1=0", value=0.125)]
    missing = compare_agreement(two[:1], two)
    assert (missing.outcome, missing.differing, missing.n) == ("differs", 1, 2)
    assert missing.place == "f1=0, kendall: missing in agreement.json"
    unknown = compare_agreement(two, two[:1])
    assert unknown.outcome == "not recomputed" and "which pairs are in f1=0" in unknown.reason
    # what can be recomputed and differs goes first
    assert compare_agreement([row(value=0.25), two[1]], two[:1]).outcome == "differs"


def test_changes_are_in_order_and_name_what_is_absent():
    found = changes(
        {"metric": "chrf", "sacrebleu": "2.5.1", "gone": "1"}, {"metric": "chrf", "sacrebleu": "2.6.0", "new": "2"}
    )
    assert list(map(str, found)) == ["sacrebleu 2.5.1 → 2.6.0", "gone 1 → absent", "new absent → 2"]


@pytest.mark.parametrize(
    ("agreement", "scores", "given", "said"),
    [
        (SAME, SAME, {"changed": [CHRF], "environment": [NUMPY]}, ""),
        (SAME, missing_recomputation("gone"), {}, ""),
        (SAME, DIFFERS, {"changed": [CHRF], "environment": [NUMPY]}, "the signature changed: sacrebleu 2.5.1 → 2.6.0"),
        (SAME, DIFFERS, {"environment": [NUMPY, CHRF]}, SOFTWARE),
        (SAME, DIFFERS, {"loose_precision": "int8"}, "in int8 a score may move with its batch"),
        (SAME, DIFFERS, {"loose_precision": "int8", "is_sampled": True}, "batch, and a sample has others"),
        (DIFFERS, DIFFERS, {}, "scores.parquet or the texts in pairs.parquet changed after the run"),
        (DIFFERS, DIFFERS, {"is_recorded": True}, "the same: scores.parquet changed after the run"),
        (SAME, DIFFERS, {"is_recorded": True, "data": OTHER}, "the dataset changed: rows gone: 1"),
        (DIFFERS, SAME, {"data": EDITED}, "pairs.parquet was changed after the run: other label: 2"),
        (DIFFERS, SAME, {}, "after the run: agreement.json, or labels, buckets or groups in pairs.parquet"),
        (DIFFERS, SAME, {"is_sampled": True}, "or scores.parquet outside of the sample"),
        (DIFFERS, missing_recomputation("gone"), {}, "groups in pairs.parquet, or scores.parquet"),
        (DIFFERS, SAME, {"environment": [NUMPY, CHRF]}, "by other software: numpy 1.26.4 → 2.4.6"),
        (DIFFERS, SAME, {"environment": [CHRF]}, "agreement.json, or labels, buckets or groups in pairs.parquet"),
    ],
)
def test_the_likely_cause(agreement, scores, given, said):
    usual = {
        "changed": (),
        "signature_parts": ["sacrebleu"],
        "environment": (),
        "data": DATA,
        "is_recorded": False,
        "loose_precision": "",
        "is_sampled": False,
    }
    cause = likely_cause(agreement, scores, **(usual | given))
    assert cause.endswith(said) if said else cause == ""


def verification(**changes):
    metrics = (
        VerifiedMetric("own", "chrf", SAME, SAME, 1e-9),
        VerifiedMetric("own", "ter|x", DIFFERS, missing_recomputation("gone", "pip install it"), 1e-9, (CHRF,), "why"),
    )
    usual = {"run": "RUN", "created": "then", "sample": 10, "seed": 3, "metrics": metrics, "data": (DATA,)}
    return Verification(**(usual | {"environment": (NUMPY,), "without": ("em on own",)} | changes))


def test_what_fails_and_what_does_not():
    good = verification(metrics=verification().metrics[:1])
    assert good.same and headline(good) == "RUN: the same numbers, 1 of 1"
    gone = ReloadedData("own", "unavailable", "own.csv", {})
    assert verification(metrics=good.metrics, data=(gone,)).same
    for data in (OTHER, EDITED):
        assert not verification(metrics=good.metrics, data=(data,)).same
    bad = verification(data=(OTHER,))
    assert not bad.same and headline(bad) == "RUN: 1 of 2 differ; changed data: own"
    lost = VerifiedMetric("own", "ter", SAME, missing_recomputation("gone"), 0.0)
    assert not verification(metrics=(lost,)).same
    assert headline(verification(metrics=(lost,))) == "RUN: 1 of 1 could not be recomputed"


def test_the_document_has_everything_in_every_format():
    document = to_document(verification())
    value = json.loads(format_document(document, "json"))
    assert not value["same"] and value["sample"] == 10 and value["data"][0]["outcome"] == "same"
    assert [one["outcome"] for one in value["metrics"]] == ["same", "differs"]
    assert value["metrics"][1]["agreement"]["place"] == "pair b"
    assert value["metrics"][1]["changed"] == [{"what": "sacrebleu", "then": "2.5.1", "now": "2.6.0"}]
    lines = format_document(document, "csv").splitlines()
    assert lines[0].startswith("dataset,metric,outcome,agreement_outcome") and len(lines) == 3
    text = format_document(document, "md")
    assert "| **ter\\|x** | **differs** | **1 of 4 differ, by 0.25 at most (pair b)** |" in text
    assert "not recomputed: gone -\\> pip install it" in text or "not recomputed: gone -> pip install it" in text
    assert "numpy | 1.26.4 | 2.4.6" in text and "a sample of 10 pairs a dataset (seed 3)" in text
    assert "no score in the run, so nothing to verify: em on own" in text
