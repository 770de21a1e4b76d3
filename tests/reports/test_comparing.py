"""Metrics of a run compared, and runs with each other."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata, t

import assay
from assay import compare
from assay.analysis.compare import compare_metrics, disagreements
from assay.analysis.contests import contests, match_pairs
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.analysis.settings import PermutationTests
from assay.exceptions import InputError
from assay.reports.compare import to_document
from assay.statistics.significance import adjust_p_values

SETTINGS = PermutationTests(statistics=("pearson", "spearman"), permutations=200, resamples=200)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def rows_of(n=80, seed=0, changed=()):
    """Pairs with three recorded scores: a good one, one nearly as good, and noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    good, near, noise = labels + 0.5 * rng.normal(size=n), labels + 0.6 * rng.normal(size=n), rng.normal(size=n)
    return [
        {
            "reference": f"gold {i}",
            "candidate": f"answer {i}",
            "label": int(labels[i]) if i not in changed else (int(labels[i]) + 1) % 3,
            "good": float(good[i]),
            "near": float(near[i]),
            "noise": float(noise[i]),
        }
        for i in range(n)
    ]


def run_of(tmp_path, name, rows, metrics=("recorded:good", "recorded:near", "recorded:noise")):
    assay.run([rows], metrics, buckets=["label<2"], resamples=0, out=tmp_path / name)
    return read_run(tmp_path / name)


def test_every_couple_in_every_bucket_with_corrected_p_values(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    (contest,) = contests([run])
    assert contest.metric_pairs == (
        ("recorded:good", "recorded:near"),
        ("recorded:good", "recorded:noise"),
        ("recorded:near", "recorded:noise"),
    )
    found = compare_metrics(contest, SETTINGS)
    assert {row.bucket for row in found} == {"all", "label<2", "label>=2"}
    family = [row for row in found if (row.bucket, row.difference.statistic) == ("all", "spearman")]
    for test in ("p_jackknife", "p_permutation"):
        raw = np.array([getattr(row.difference, test) for row in family])
        assert [getattr(row, test) for row in family] == adjust_p_values(raw, "holm").tolist()
    assert [row.verdict for row in family] == ["cannot be told apart", "first", "first"]
    (constant,) = {row.verdict for row in found if row.bucket == "label>=2"}
    assert constant == "undefined", "one label has no correlation"


def test_the_values_are_those_of_the_run(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    held = {(row.bucket, row.metric, row.statistic): row.value for row in run.agreement}
    for contest in contests([run], ["recorded:near", "recorded:good"]):
        assert contest.metric_pairs == (("recorded:near", "recorded:good"),)
        for row in compare_metrics(contest, SETTINGS):
            for name, value in ((row.first, row.difference.first), (row.second, row.difference.second)):
                assert value == held[row.bucket, name, row.difference.statistic]


def test_where_two_metrics_differ_most(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    (contest,) = contests([run], ["recorded:good", "recorded:noise"])
    found = disagreements(contest, contest.metric_pairs[0], 5, ["all"])
    ranks = [rankdata(contest.scores[name]) for name in contest.metric_pairs[0]]
    distances = np.abs(ranks[0] - ranks[1])
    assert [abs(one.ranks[0] - one.ranks[1]) for one in found] == sorted(distances, reverse=True)[:5]
    for one in found:
        assert (one.ranks[0], one.ranks[1]) == (ranks[0][one.row], ranks[1][one.row])
        assert one.label == contest.data.labels[one.row]


def test_long_texts_are_cut_in_the_table_and_whole_in_the_records(tmp_path):
    rows = [row | {"reference": "gold " * 30, "label": row["label"] + 1 / 3} for row in rows_of()]
    run_of(tmp_path, "run", rows)
    report = assay.compare(tmp_path / "run", ["recorded:good", "recorded:noise"], pairs=1, permutations=0)
    (row,) = report.document.sheets[-1].rows
    assert row[0] == ("gold " * 30)[:59] + "…"
    assert {"0.3333", "1.333", "2.333"} >= {row[2]}
    assert json.loads(report.to_json())["pairs"][0]["reference"] == "gold " * 30


def test_a_metric_for_which_lower_is_better_is_turned(tmp_path):
    rows = [{"reference": "a b c d e", "candidate": " ".join("abcde"[: 1 + i % 5]), "label": i % 5} for i in range(25)]
    run = run_of(tmp_path, "run", rows, metrics=("f1", "ter"))
    (contest,) = contests([run])
    (row,) = [
        row
        for row in compare_metrics(contest, SETTINGS)
        if (row.bucket, row.difference.statistic) == ("all", "spearman")
    ]
    assert row.difference.first > 0.9
    assert row.difference.second > 0.9


def test_two_runs_on_the_same_data(tmp_path):
    first = run_of(tmp_path, "one", rows_of())
    worse = rows_of()
    for row in worse:
        row["good"] = row["noise"]
    second = run_of(tmp_path, "two", worse)
    (contest,) = contests([first, second], ["recorded:good"])
    assert contest.metric_pairs == (("recorded:good [one]", "recorded:good [two]"),)
    (row,) = [
        row
        for row in compare_metrics(contest, SETTINGS)
        if (row.bucket, row.difference.statistic) == ("all", "pearson")
    ]
    assert row.verdict == "first"


def test_runs_on_different_data_are_refused_and_can_be_forced(tmp_path):
    first = run_of(tmp_path, "one", rows_of())
    second = run_of(tmp_path, "two", list(reversed(rows_of(changed=(3, 4))))[:70])
    with pytest.raises(
        InputError,
        match=r"80 against 70 pairs, 70 of them with the same texts.* `force` compares the pairs that both have",
    ):
        contests([first, second])
    (contest,) = contests([first, second], force=True)
    assert len(contest.data) == 70
    name = "recorded:good"
    assert (contest.scores[f"{name} [one]"] == contest.scores[f"{name} [two]"]).all(), "matched by text"
    assert "not the same data" in contest.notes[0]


@pytest.mark.slow
def test_labels_that_differ_are_counted(tmp_path):
    first = run_of(tmp_path, "one", rows_of())
    second = run_of(tmp_path, "two", rows_of(changed=(3, 4)))
    found = match_pairs(read_datasets(first)[0], read_datasets(second)[0])
    assert (found.relabelled, found.is_identical) == (2, False)
    assert "2 of those with another label" in found.difference
    again = match_pairs(read_datasets(first)[0], read_datasets(run_of(tmp_path, "three", rows_of()))[0])
    assert again.is_identical


def test_pairs_that_repeat_are_matched_as_often_as_both_have_them(tmp_path):
    twice = [*rows_of(20), *rows_of(20)[:5]]
    first, second = run_of(tmp_path, "one", twice), run_of(tmp_path, "two", [*rows_of(20)[:4], *rows_of(20)])
    found = match_pairs(read_datasets(first)[0], read_datasets(second)[0])
    assert len(found.first) == 24
    assert len(set(found.second.tolist())) == 24


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (["recorded:god"], "has no scores of 'recorded:god'. Did you mean 'recorded:good'"),
        (["recorded:good"], "needs two metrics.*, of which recorded:good asked for"),
    ],
)
def test_what_cannot_be_compared(tmp_path, metrics, said):
    run = run_of(tmp_path, "run", rows_of(20))
    with pytest.raises(InputError, match=said):
        contests([run], metrics)


def laid_out(runs, metrics=(), pairs=5):
    (contest,) = contests(runs, metrics)
    return to_document([(contest, compare_metrics(contest, SETTINGS))], SETTINGS, pairs)


def test_where_nothing_differs_no_pairs_are_shown_and_nothing_is_detectable(tmp_path):
    runs = [run_of(tmp_path, name, rows_of()) for name in ("one", "two")]
    held = laid_out(runs, ["recorded:good"])
    assert (held.sheets[-1].rows, held.value["pairs"]) == ((), [])
    assert held.sheets[-1].facts == ("nowhere: every pair that has both scores has the same rank under both",)
    assert "A, B: the same scores on all pairs" in held.sheets[0].notes
    assert {row["detectable"] for row in held.records} == {None}, "nothing varies: not a tiny difference"
    assert {row[-2] for row in held.sheets[0].rows} == {"–"}


def test_a_pair_of_one_rank_is_none_on_which_two_differ(tmp_path):
    rows = rows_of()
    for place, row in enumerate(rows):
        row["near"] = row["good"] if place > 1 else rows[1 - place]["good"]
    held = laid_out([run_of(tmp_path, "run", rows)], ["recorded:good", "recorded:near"])
    assert len(held.sheets[-1].rows) == 2


def test_an_undefined_coefficient_has_its_reason_and_is_that_of_one_score(tmp_path):
    rows = [row | {"noise": 1.0} for row in rows_of()]
    held = laid_out([run_of(tmp_path, "run", rows)], ["recorded:noise", "recorded:good"])
    notes = {sheet.title.split(", ")[-1]: sheet.notes for sheet in held.sheets[:-1]}
    assert notes["all"] == ("A: undefined, constant score",)
    assert notes["label>=2"][:2] == ("A: undefined, constant label", "B: undefined, constant label")


@pytest.mark.parametrize(("n", "few"), [(49, True), (50, False)])
def test_few_pairs_are_said(tmp_path, n, few):
    held = laid_out([run_of(tmp_path, "run", rows_of(n))])
    (said,) = [note for note in held.sheets[0].notes if "fewer than 50" in note] or [""]
    assert said == ("49 pairs, fewer than 50: only large differences can be shown, see detectable" if few else "")


def test_settings_out_of_range():
    for wrong in ({"permutations": 10}, {"resamples": 99}, {"confidence": 1.0}, {"seed": -1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            PermutationTests(statistics=("pearson",), **wrong)


def test_the_python_function_reads_runs_and_files_of_scores(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    report = compare(run.path, ["recorded:good", "recorded:noise"], permutations=200, resamples=200)
    frame = report.records
    assert set(frame["statistic"]) == {"pearson", "spearman", "kendall"}
    file = tmp_path / "scored.csv"
    file.write_text("label,good,noise\n" + "".join(f"{r['label']},{r['good']},{r['noise']}\n" for r in rows_of()))
    (same,) = compare(file, statistics=["spearman"], permutations=200, resamples=200).document.records
    (held,) = frame[(frame.bucket == "all") & (frame.statistic == "spearman")].to_dict("records")
    assert same["difference"] == pytest.approx(held["difference"], abs=1e-12)


def test_detectable_is_at_the_level_that_the_correction_asks_of_the_smallest_p(tmp_path):
    """Three metric pairs: Holm compares the smallest p-value with .05 / 3."""
    run = run_of(tmp_path, "run", rows_of())
    (contest,) = contests([run])
    for correction, level in (("holm", 0.05 / 3), ("bonferroni", 0.05 / 3), ("none", 0.05)):
        settings = replace(SETTINGS, correction=correction)
        for row in compare_metrics(contest, settings, buckets=["all"]):
            error = row.difference.error
            # 80 pairs, power .8
            assert row.detectable == pytest.approx((t.ppf(1 - level / 2, 79) + t.ppf(0.8, 79)) * error)


def test_the_t_test_decides_and_shared_zeros_do_not_hide_a_difference(tmp_path):
    """Half of the pairs share no word, and both metrics give 0: exchanges make two different numbers of it."""
    rng = np.random.default_rng(2)
    n = 200
    labels = rng.integers(3, size=n)
    overlap = rng.random(n) < np.array([0.2, 0.6, 0.7])[labels]
    rows = [
        {"reference": f"gold {i}", "candidate": f"answer {i}", "label": int(labels[i])}
        | {
            name: float(np.exp(labels[i] + noise * rng.normal())) if overlap[i] else 0.0
            for name, noise in (("good", 0.5), ("near", 1.5))
        }
        for i in range(n)
    ]
    run = run_of(tmp_path, "run", rows, metrics=("recorded:good", "recorded:near"))
    (contest,) = contests([run])
    found = compare_metrics(contest, SETTINGS, buckets=["all"])
    (row,) = [row for row in found if row.difference.statistic == "spearman"]
    assert row.p_jackknife < 0.01
    assert row.p_permutation > 0.05
    assert row.verdict == "first"


@pytest.mark.parametrize(("groups", "said"), [(10, True), (20, False)])
def test_the_smallest_p_that_few_groups_can_be_exchanged_to_is_said(tmp_path, groups, said):
    rows = [row | {"group": f"g{number % groups}"} for number, row in enumerate(rows_of())]
    settings = PermutationTests(statistics=("spearman",), resamples=200)
    (contest,) = contests([run_of(tmp_path, "run", rows)])
    held = to_document([(contest, compare_metrics(contest, settings))], settings, 0)
    expected = (
        "10 groups can be exchanged in 2^10 = 1,024 ways, two of which leave the size of a difference as it is: no p "
        "perm. below 0.002, none below 0.0059 as the smallest of 3; p jack. has no such limit"
    )
    assert (expected in held.sheets[0].notes) == said
    assert "p_bootstrap" not in held.records[0]
    assert {"p_jackknife", "adjusted_p_jackknife", "standard_error"} <= set(held.records[0])


def test_without_permutations_the_t_test_still_decides(tmp_path):
    settings = replace(SETTINGS, permutations=0)
    (contest,) = contests([run_of(tmp_path, "run", rows_of())])
    rows = compare_metrics(contest, settings, buckets=["all"])
    assert {row.p_permutation for row in rows} == {None}
    assert [row.verdict for row in rows if row.difference.statistic == "spearman"] == [
        "cannot be told apart",
        "first",
        "first",
    ]
    held = to_document([(contest, rows)], settings, 0)
    assert not any("p perm." in note for note in held.notes)


@pytest.mark.parametrize(("rare", "noted"), [(3, True), (20, False)])
def test_the_t_test_of_pearson_has_a_reservation_where_a_label_is_rare(tmp_path, rare, noted):
    rows = [row | {"label": int(number < rare)} for number, row in enumerate(rows_of())]
    (contest,) = contests([run_of(tmp_path, "run", rows)])
    found = compare_metrics(contest, SETTINGS, buckets=["all"])
    for statistics, expected in ((("pearson", "spearman"), noted), (("spearman",), False)):
        shown = [row for row in found if row.difference.statistic in statistics]
        (sheet,) = to_document([(contest, shown)], SETTINGS, 0).sheets
        assert any("p jack. of Pearson's r is too small" in note for note in sheet.notes) == expected
