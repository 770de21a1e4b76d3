"""Leaderboards over runs: ranks with ties, averages, costs, filters."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

import assay
from assay import leaderboard
from assay.analysis.folder import read_run
from assay.analysis.leaderboard.board import Board, Line, Rank, comparison_outcomes
from assay.analysis.leaderboard.join import Filters, join_runs
from assay.analysis.leaderboard.measurements import boards, resample_count
from assay.analysis.pareto import pareto_front
from assay.analysis.recommend.advice import advise
from assay.analysis.recommend.settings import Limits
from assay.analysis.settings import PairedTests
from assay.common.numbers import Number
from assay.exceptions import InputError
from assay.reports.formats import format_document
from assay.reports.leaderboard import to_document
from assay.statistics.comparison import Difference, summarise
from assay.statistics.draws import draw_all
from assay.statistics.ranks import rank
from tests.reports.page_run import edit

SETTINGS = PairedTests(statistics=("pearson", "spearman", "kendall"), resamples=200)
SETTINGS_OF_ONE = PairedTests(statistics=("spearman",))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def couples(names, better):
    """Every couple of names in order: 1 where (one, other) is in *better*, -1 where the reverse is, else 0."""
    return {
        couple: 1 if couple in better else -1 if couple[::-1] in better else 0
        for couple in itertools.combinations(names, 2)
    }


def rows_of(n=60, seed=0, names=("good", "near", "noise"), language=None):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    scores = {
        "good": labels + 0.5 * rng.normal(size=n),
        "near": labels + 0.5 * rng.normal(size=n),
        "noise": rng.normal(size=n),
    }
    return [
        {"reference": f"gold {i} {seed}", "candidate": f"answer {i}", "label": int(labels[i])}
        | {name: float(scores[name][i]) for name in names}
        | ({"language": language} if language else {})
        for i in range(n)
    ]


def run_of(tmp_path, name, *datasets, metrics=("recorded:good", "recorded:near", "recorded:noise")):
    files = []
    for number, rows in enumerate(datasets):
        file = tmp_path / f"{name}-{number}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files.append(file)
    assay.run(files, metrics, buckets=["none"], resamples=200, out=tmp_path / name)
    return read_run(tmp_path / name)


def values_of(board):
    """Return the value and bounds of each metric by statistic."""
    numbers = {(line.metric, name): number for line in board.lines for name, number in line.values.items()}
    return {key: number.value_and_bounds for key, number in numbers.items()}


def test_values_and_intervals_are_those_of_the_run_and_equal_metrics_share_a_rank(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    (board,) = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
    held = {(row.metric, row.statistic): (row.value, row.low, row.high) for row in run.agreement}
    for line in board.lines:
        for statistic, number in line.values.items():
            assert number.value_and_bounds == held[line.metric, statistic]
    ranks = {line.metric: line.rank for line in board.lines}
    assert sorted((ranks["recorded:good"], ranks["recorded:near"]), key=lambda one: one.rank) == [
        Rank(1, 1, 2),
        Rank(2, 1, 2),
    ]
    assert ranks["recorded:noise"] == Rank(3, 3, 3)


def test_the_highest_is_corrected_for_its_choice_by_resamples_and_by_influence(tmp_path):
    """Two metrics that are alike: what the better one would show on a new sample lies below its value here."""
    run = run_of(tmp_path, "run", rows_of())
    values = {}
    for interval in ("bootstrap", "influence"):
        settings = replace(SETTINGS, interval=interval, resamples=1000)
        (board,) = boards(join_runs([run], Filters()), settings, by="spearman")
        advice = advise(board, Limits(), "spearman", 0.95)
        own, values[interval] = advice.highest.values["spearman"], advice.new_sample[advice.highest.metric]
        assert values[interval].value < own.value and values[interval].low < own.low
    bootstrap, influence = (values[name].value_and_bounds for name in ("bootstrap", "influence"))
    assert influence == pytest.approx(bootstrap, abs=0.02)
    notes = " ".join(to_document([board], replace(SETTINGS, interval="influence"), "spearman").notes)
    assert "95% intervals from influence values (Fisher's scale)" in notes


def test_over_datasets_every_one_counts_the_same_and_a_missing_one_is_missing(tmp_path):
    run = run_of(tmp_path, "run", rows_of(60), rows_of(200, seed=1, names=("good", "noise")))
    first, second, overall = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
    held = {(board.title, line.metric): line for board in (first, second) for line in board.lines}
    mean = {line.metric: line for line in overall.lines}
    values = [held[board.title, "recorded:good"].values["kendall"].value for board in (first, second)]
    assert mean["recorded:good"].values["kendall"].value == pytest.approx(np.mean(values))
    _, low, high = mean["recorded:good"].values["kendall"].value_and_bounds
    assert low < np.mean(values) < high
    assert mean["recorded:near"].missing == (second.title,)
    assert mean["recorded:near"].values["kendall"] == Number()
    assert mean["recorded:near"].rank is None
    assert [line.metric for line in overall.lines] == ["recorded:good", "recorded:noise", "recorded:near"]
    assert mean["recorded:noise"].rank == Rank(2, 2, 2)


@pytest.mark.slow
def test_from_three_datasets_on_a_random_effects_mean_stands_beside_the_fixed_one(tmp_path):
    three = [rows_of(60), rows_of(200, seed=1), rows_of(90, seed=2)]
    report = assay.leaderboard(run_of(tmp_path, "run", *three).path, by="spearman", resamples=200)
    *_, fixed, random = report.document.sheets
    assert fixed.title == "fixed mean over 3 datasets of equal weight, all"
    assert random.title == "random-effects mean over 3 datasets, all"
    assert [row[0] for row in random.rows] == [row[2] for row in fixed.rows]
    record = report.records.dropna(subset=["spearman_random"]).iloc[0]
    assert record["dataset"] == "fixed mean over 3 datasets of equal weight"
    assert record["spearman_new_low"] < record["spearman_random_low"] < record["spearman_random"]
    # three datasets tell little of others: t with two degrees of freedom
    assert record["spearman_random_low"] < record["spearman_low"]
    two = assay.leaderboard(run_of(tmp_path, "two", *three[:2]).path, by="spearman", resamples=200)
    assert not any("random-effects" in sheet.title for sheet in two.document.sheets)


def test_metrics_of_several_runs_stand_in_one_table(tmp_path):
    first = run_of(tmp_path, "one", rows_of(), metrics=("recorded:good",))
    second = run_of(tmp_path, "two", rows_of(), metrics=("recorded:noise", "recorded:good", "f1"))
    # data of the same content under another name is another dataset
    third = tmp_path / "two" / "run.json"
    third.write_text(third.read_text().replace('"two-0"', '"one-0"'))
    for table in ("pairs", "scores"):
        _rename(tmp_path / "two" / f"{table}.parquet")
    (board,) = boards(join_runs([first, read_run(tmp_path / "two")], Filters()), SETTINGS, by="spearman")
    assert sorted(line.metric for line in board.lines) == ["f1", "recorded:good", "recorded:noise"]
    assert second.manifest.datasets[0].digest == first.manifest.datasets[0].digest


def _rename(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    names = pa.array(["one-0"] * len(table))
    pq.write_table(table.set_column(table.column_names.index("dataset"), "dataset", names), path)


def test_another_signature_is_another_entry(tmp_path):
    run_of(tmp_path, "one", rows_of(), metrics=("chrf", "f1"))
    run_of(tmp_path, "two", rows_of(), metrics=("chrf", "f1"))
    for name, version in (("one", "2.0"), ("two", "2.4")):
        path = tmp_path / name / "run.json"
        manifest = json.loads(path.read_text())
        for status in manifest["metrics"]:
            if status["metric"] == "chrf":
                status["signature"]["sacrebleu"] = version
        manifest["datasets"][0]["name"] = "same"
        for status in manifest["metrics"] + manifest["buckets"]:
            status["dataset"] = "same"
        path.write_text(json.dumps(manifest))
        for table in ("pairs", "scores"):
            _rename_to_same(tmp_path / name / f"{table}.parquet")
    (joined,) = join_runs([read_run(tmp_path / "one"), read_run(tmp_path / "two")], Filters())
    assert sorted(joined.scores) == ["chrf [one]", "chrf [two]", "f1"]


def _rename_to_same(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    pq.write_table(table.set_column(0, "dataset", pa.array(["same"] * len(table))), path)


def test_two_runs_of_one_name_are_told_apart(tmp_path):
    for place, version in (("a", "2.0"), ("b", "2.4")):
        (tmp_path / place).mkdir()
        run_of(tmp_path / place, "run", rows_of(), metrics=("chrf", "f1"))
        path = tmp_path / place / "run" / "run.json"
        manifest = json.loads(path.read_text())
        next(one for one in manifest["metrics"] if one["metric"] == "chrf")["signature"]["sacrebleu"] = version
        path.write_text(json.dumps(manifest))
    (joined,) = join_runs([read_run(tmp_path / place / "run") for place in "ab"], Filters())
    assert sorted(joined.scores) == [f"chrf [{tmp_path / place / 'run'}]" for place in "ab"] + ["f1"]


@pytest.mark.slow
def test_many_metrics_can_be_told_apart(tmp_path):
    """12 metrics, 66 comparisons: six that follow the labels, six that do not."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=150)
    rows = [{"reference": f"r{i}", "candidate": f"c{i}", "label": int(labels[i])} for i in range(150)]
    for m in range(12):
        scores = labels * (m % 2) + 0.3 * rng.normal(size=150)
        for i, row in enumerate(rows):
            row[f"m{m}"] = float(scores[i])
    run = run_of(tmp_path, "run", rows, metrics=tuple(f"recorded:m{m}" for m in range(12)))
    (board,) = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
    assert [(line.rank.low, line.rank.high) for line in board.lines] == [(1, 6)] * 6 + [(7, 12)] * 6


def test_a_metric_that_lacks_pairs_has_a_value_and_no_rank(tmp_path):
    rows = rows_of()
    for row in rows[:7]:
        row["near"] = None
    report = leaderboard(run_of(tmp_path, "run", rows).path, resamples=200)
    (near,) = [record for record in report.document.records if record["metric"] == "recorded:near"]
    assert (near["n"], near["rank"]) == (53, None)
    assert near["spearman"] is not None
    assert "53 of 60 pairs have a score, hence no rank" in report.to_markdown()


def test_a_metric_that_lacks_pairs_has_the_interval_of_the_run(tmp_path):
    rows = rows_of()
    for row in rows[:7]:
        row["near"] = None
    run = run_of(tmp_path, "run", rows)
    (board,) = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
    held = {(row.metric, row.statistic): (row.value, row.low, row.high) for row in run.agreement}
    values = values_of(board)
    assert values == {key: held[key] for key in values} and ("recorded:near", "spearman") in values


def test_the_same_data_twice_is_averaged_once(tmp_path):
    whole = run_of(tmp_path, "whole", rows_of())
    file = tmp_path / "whole-0.jsonl"
    metrics = ("recorded:good", "recorded:near", "recorded:noise")
    assay.run([file], metrics, buckets=["none"], resamples=200, limit=30, out=tmp_path / "part")
    found = boards(join_runs([whole, read_run(tmp_path / "part")], Filters()), SETTINGS, by="spearman")
    assert [board.n for board in found] == [60, 30], "two parts of one dataset have no mean"


def test_labels_that_no_people_gave_rank_nothing(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    manifest = tmp_path / "run" / "run.json"
    held = json.loads(manifest.read_text())
    held["datasets"][0]["kind"] = "probe"
    manifest.write_text(json.dumps(held))
    joined, told = join_runs([read_run(run.path)], Filters()), []
    found = boards(joined, SETTINGS, by="spearman", advance=told.append)
    assert sum(told) == resample_count(joined, SETTINGS) == 3 * 200, "three metrics, 200 resamples each"
    values = {(row.metric, row.statistic): (row.value, row.low, row.high) for row in run.agreement}
    assert values_of(found[0]) == values
    assert [line.metric for line in found[0].lines] == ["recorded:good", "recorded:near", "recorded:noise"]
    assert all(line.rank is None and line.on_front is None for line in found[0].lines)
    assert all(line.values["spearman"].value is not None for line in found[0].lines)
    assert "probe set: labels follow a rule, not several annotators; never rank metrics by it" in format_document(
        to_document(found, SETTINGS, "spearman"), "md"
    )


def front(**points):
    """Return the front of metrics of one cost each."""
    return pareto_front({name: ((cost,), value) for name, (cost, value) in points.items()})


def test_an_unknown_cost_leaves_open_what_it_could_beat_and_nothing_else():
    # rec is worse than best at any cost; worse is beaten by best; rec could be faster than fast, and any could beat rec
    found = front(best=(10.0, 0.9), worse=(5.0, 0.5), fast=(20.0, 0.3), rec=(None, 0.4))
    assert found == {"best": True, "worse": False, "fast": None, "rec": None}
    assert front(one=(10.0, 0.9), rec=(None, 0.9)) == {"one": None, "rec": None}, "as good, maybe faster"
    assert front(one=(10.0, 0.9), same=(10.0, 0.9)) == {"one": True, "same": True}
    assert pareto_front({}) == {}


def test_a_metric_that_is_cheaper_is_on_the_front_though_another_is_better_and_faster():
    points = {"judge": ((30.0, -0.4), 0.9), "local": ((20.0, 0.0), 0.8), "dear": ((30.0, -0.5), 0.9)}
    assert pareto_front(points) == {"judge": True, "local": True, "dear": False}
    points["unpriced"] = ((40.0, None), 0.85)
    assert pareto_front(points) == {"judge": True, "local": None, "dear": False, "unpriced": None}


def _with_speeds(run, speeds):
    """Return the run with these pairs per second, metric by metric; None for an unknown cost."""

    def change(manifest):
        for metric, speed in zip(manifest["metrics"], speeds, strict=True):
            metric["cost"] = {} if speed is None else {"pairs_per_second": speed}

    return edit(run.path, "run.json", change)


def test_the_front_of_cost_and_agreement(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    run = _with_speeds(run, (10.0, 100.0, 1000.0))
    (board,) = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
    values = {line.metric: line.values["spearman"].value for line in board.lines}
    slowest_is_best = values["recorded:good"] > values["recorded:near"]
    assert {line.metric for line in board.lines if line.on_front} == {
        "recorded:near",
        "recorded:noise",
        *(["recorded:good"] if slowest_is_best else []),
    }
    # of unknown cost the worst, which beats nothing, then the best, which could beat all
    for unknown, fronts in ((-1, ["yes", "", "–"]), (0, ["–", "–", "–"])):
        places = [[line.metric for line in board.lines].index(metric.metric) for metric in run.manifest.metrics]
        run = _with_speeds(run, [(100.0, 10.0, 1000.0)[at] if at != unknown % 3 else None for at in places])
        (found,) = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
        (sheet,) = to_document([found], SETTINGS, "spearman").sheets
        assert [row[-1] for row in sheet.rows] == fronts


def _with_costs(run, costs):
    """Return the run with these costs, by metric."""

    def change(manifest):
        for metric in manifest["metrics"]:
            metric["cost"] = costs.get(metric["metric"], {})

    return edit(run.path, "run.json", change)


def test_prices_have_a_column_where_pairs_are_paid_for(tmp_path):
    run = run_of(tmp_path, "run", rows_of(), metrics=("recorded:good", "recorded:near", "chrf"))
    speeds = {"recorded:good": 40.0, "chrf": 9000.0}
    run = _with_costs(run, {name: {"pairs_per_second": speed} for name, speed in speeds.items()})
    unpriced = to_document(boards(join_runs([run], Filters()), SETTINGS, by="spearman"), SETTINGS, "spearman")
    assert "price" not in format_document(unpriced, "md"), "free metrics alone have no prices to compare"
    run = _with_costs(
        run,
        {
            "recorded:good": {"pairs_per_second": 40.0, "price_per_1000": 1.254},
            "recorded:near": {"pairs_per_second": 50.0},
            "chrf": {"pairs_per_second": 9000.0},
        },
    )
    (board,) = ranked = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
    made = to_document(ranked, SETTINGS, "spearman")
    heads = [column.head for column in made.sheets[0].columns]
    assert heads[-3:] == ["pairs/s", "price per 1,000", "front"]
    assert {row[2]: row[-2] for row in made.sheets[0].rows} == {
        "recorded:good": "1.25",
        "recorded:near": "–",
        "chrf": "free",
    }
    prices = {record["metric"]: record["price_per_1000"] for record in made.records}
    assert prices == {"recorded:good": 1.254, "recorded:near": None, "chrf": 0.0}
    fronts = {line.metric: line.on_front for line in board.lines}
    assert (fronts["chrf"], fronts["recorded:near"]) == (None, None), "near, of unknown price, is better than chrf"
    assert any("what 1,000 distinct pairs cost" in note for note in made.notes)


def test_a_price_is_averaged_over_datasets_and_ranks_the_front_alone_where_no_speed_is_known(tmp_path):
    run = run_of(tmp_path, "run", rows_of(), rows_of(seed=1), metrics=("recorded:good", "chrf"))

    def change(manifest):
        for metric, price in zip(manifest["metrics"], (0.2, 0.4, None, None), strict=True):
            metric["cost"] = {} if price is None else {"price_per_1000": price}

    run = edit(run.path, "run.json", change)
    *_, overall = boards(join_runs([run], Filters()), SETTINGS, by="spearman")
    assert {line.metric: line.price_per_1000 for line in overall.lines} == {
        "recorded:good": pytest.approx(0.3),
        "chrf": 0.0,
    }
    assert [line.on_front for line in overall.lines] == [True, True], "better, and free"
    (sheet, *_) = to_document([overall], SETTINGS, "spearman").sheets
    assert [column.head for column in sheet.columns][-2:] == ["price per 1,000", "front"]


def test_filters_and_what_they_leave(tmp_path):
    run = run_of(tmp_path, "run", rows_of(), metrics=("recorded:good", "f1", "chrf"))
    (lexical,) = join_runs([run], Filters(kinds=("lexical",)))
    assert list(lexical.scores) == ["f1", "chrf"]
    (one,) = join_runs([run], Filters(metrics=("chrf",)))
    assert list(one.scores) == ["chrf"]
    for filters, said in (
        (Filters(languages=("de",)), "no dataset is left; the runs have run-0"),
        (Filters(datasets=("other",)), "no dataset is left"),
        (Filters(metrics=("chrff",)), "metrics: no run has scores of 'chrff'. Did you mean 'chrf'"),
    ):
        with pytest.raises(InputError, match=said):
            join_runs([run], filters)
    with pytest.raises(InputError, match="buckets=f1=0: no run has it; the runs have all"):
        boards(join_runs([run], Filters()), SETTINGS, by="spearman", buckets=["f1=0"])


def test_a_constant_score_has_no_rank(tmp_path):
    rows = rows_of()
    for row in rows:
        row["near"] = 1.0
    (board,) = boards(join_runs([run_of(tmp_path, "run", rows)], Filters()), SETTINGS, by="kendall")
    last = board.lines[-1]
    assert (last.metric, last.rank, last.values["kendall"]) == ("recorded:near", None, Number())
    assert [line.rank.rank for line in board.lines[:2]] == [1, 2]


def test_every_format_and_the_records(tmp_path):
    run = run_of(tmp_path, "run", rows_of())
    report = leaderboard(run.path, resamples=200)
    assert list(report.records["rank"]) == [1, 2, 3]
    assert "| **2 (1–2)** | **a** |" in report.to_markdown() and "| 3 (3) | b |" in report.to_markdown()
    assert list(report.records["alike"]) == ["a", "a", "b"]
    assert list(report.records["group"]) == ["1–2", "1–2", "3"]
    assert r"\textbf{2 (1--2)}" in report.to_latex()
    assert json.loads(report.to_json())[2]["metric"] == "recorded:noise"
    assert report.to_csv().startswith("dataset,bucket,rank,")
    assert "<table>" in report.to_html()


def test_a_rank_stands_with_its_set_and_letters_and_the_group_is_in_the_records():
    """Five in a chain, where only the ends are told apart: one group, and the last cannot be better than fourth."""
    better = couples("abcde", {("a", "e"), ("b", "e"), ("c", "e")})
    ranks = rank(dict(zip("abcde", (5, 4, 3, 2, 1), strict=True)), better)
    lines = [
        Line(name, "lexical", {"spearman": Number(0.5, 0.1, 0.9)}, {}, 50, None, "", held)
        for name, held in ranks.items()
    ]
    tested = Difference.of(0.5, 0.4, statistic="spearman", p_jackknife=0.5, error=0.1, degrees=49, n=50)
    made = Board("own", "all", 50, tuple(lines), better, differences=dict.fromkeys(better, tested))
    held = to_document([made], SETTINGS_OF_ONE, "spearman")
    assert [row[:3] for row in held.sheets[0].rows][-2:] == [["4 (1–5)", "ab", "d"], ["5 (4–5)", "b", "e"]]
    assert [column.head for column in held.sheets[0].columns[:2]] == ["rank", "alike"]
    last = held.records[-1]
    assert (last["rank"], last["rank_low"], last["rank_high"], last["group"]) == (5, 4, 5, "1–5")


def test_a_table_without_a_value_is_left_out_with_the_reason():
    nothing = Line("f1", "lexical", {"spearman": Number()}, {}, 50, 10.0, "")
    some = Line("chrf", "lexical", {"spearman": Number(0.5, 0.1, 0.9)}, {}, 50, 5.0, "", Rank(1, 1, 1))
    made = [Board("own", "f1=0", 50, (nothing,), {}), Board("own", "all", 50, (some, nothing), {})]
    held = to_document(made, SETTINGS_OF_ONE, "spearman")
    assert [sheet.title for sheet in held.sheets] == ["own, all"]
    assert "own, f1=0: no table, since no metric has a value there: scores or labels do not vary" in held.warnings
    assert len(held.records) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("names", "least"), [("ab", 10), ("abcd", 4)])
def test_equal_metrics_are_told_apart_no_more_often_than_stated(names, least):
    """400 cases of equal metrics: the level of .05 finds a difference in 20 at most; standard error 4.4."""
    told_apart = 0
    for case in range(400):
        rng = np.random.default_rng(case)
        labels = rng.integers(3, size=50).astype(float)
        scores = {name: np.round(labels + rng.normal(size=50), 1) for name in names}
        drawn = draw_all(scores, labels, permutations=0, statistics=["spearman"], resamples=0, seed=(case,))
        differences = {pair: summarise(found, ["spearman"], 0.95)[0] for pair, found in drawn.items()}
        told_apart += any(comparison_outcomes(differences, SETTINGS_OF_ONE).values())
    assert least <= told_apart <= 30


def test_a_rare_label_is_noted_on_the_board(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"reference": f"a {n}", "candidate": f"b {n}", "label": float(n < 4), "one": rng.random(), "two": rng.random()}
        for n in range(50)
    ]
    assay.run([rows], ["recorded:one", "recorded:two"], buckets="none", out=tmp_path / "run", resamples=0)
    report = assay.leaderboard([tmp_path / "run"], resamples=100)
    text = format_document(report.document, "md")
    assert "4 pairs with the rarer label: intervals are too narrow" in text
    # the area's own interval is wide enough, but not that of the highest one on a new sample
    by_rank = assay.leaderboard([tmp_path / "run"], by="spearman", resamples=100).records
    assert set(report.records["rare"]) == set(by_rank["rare"]) == {"4 pairs with the rarer label"}


def test_a_rare_score_is_in_the_records_of_its_metric_alone(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for n in range(50):
        scores = {"rare": float(n in (3, 4)), "often": rng.random()}
        rows.append({"reference": f"a {n}", "candidate": f"b {n}", "label": n % 5, **scores})
    assay.run([rows], ["recorded:rare", "recorded:often"], buckets="none", out=tmp_path / "run", resamples=0)
    records = assay.leaderboard([tmp_path / "run"], resamples=100).records
    found = dict(zip(records["metric"], records["rare"], strict=True))
    assert found == {"recorded:rare": "2 pairs with the rarer score", "recorded:often": ""}
