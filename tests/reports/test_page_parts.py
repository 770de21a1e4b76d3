"""Small parts of the page: names, classes of labels, ticks, findings, cost, layers, packed data."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.analysis.distribution import classify_labels
from assay.analysis.errors.tags import tag_pairs
from assay.analysis.folder import read_run
from assay.analysis.recommend.evidence import evidence_of
from assay.analysis.sweep import layered_models
from assay.common.numbers import ticks
from assay.common.tables import short_names
from assay.reports.layout import elide_middle
from assay.reports.page.agreement import draw_layers
from assay.reports.page.cost import draw_cost
from assay.reports.page.pairs import pack_pairs
from assay.reports.page.parts import UnitPart, findings_by_bucket, rank_metrics
from assay.reports.page.scores import spread_by_label
from assay.reports.plots import Scale, element, log_range, log_ticks
from assay.reports.units import read_units
from tests.reports.page_run import ODD, dataset, edit, make_run


@pytest.fixture
def folder(tmp_path):
    return make_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("f1", "f1"),
        ("bi-encoder:/data/models/minilm", "bi-encoder:…/minilm"),
        ("bertscore:org/model,layer=3,idf=true", "bertscore:…/model,layer=3,idf=true"),
        ("static:C:\\vectors\\glove", "static:…/glove"),
        ("recorded:score,file=a/b/c.csv", "recorded:score,file=…/c.csv"),
        ("recorded:ends/", "recorded:ends/"),
    ],
)
def test_a_name_loses_its_folders(name, short):
    assert short_names([name]) == {name: short}


def test_names_that_would_be_the_same_keep_the_folders_that_tell_them_apart():
    one, other, third = "bi-encoder:/data/a/model", "bi-encoder:/data/b/model", "bi-encoder:/data/b/other"
    assert short_names([one, other, third]) == {
        one: "bi-encoder:…/a/model",
        other: "bi-encoder:…/b/model",
        third: "bi-encoder:…/other",
    }
    assert short_names(["bleu:/a/b", "bleu:/c/b"]) == {"bleu:/a/b": "bleu:/a/b", "bleu:/c/b": "bleu:/c/b"}


def test_the_run_behind_a_name_is_no_part_of_a_path():
    one, other = "bi-encoder:org/model [runs/one]", "bi-encoder:org/model [runs/two]"
    assert list(short_names([one, other]).values()) == [
        "bi-encoder:…/model [runs/one]",
        "bi-encoder:…/model [runs/two]",
    ]


def test_a_long_name_keeps_start_and_end():
    assert elide_middle("abcdefghij", 10) == "abcdefghij"
    assert elide_middle("abcdefghijk", 10) == "abc…fghijk"
    assert len(elide_middle("x" * 100, 34)) == 34


def test_few_labels_are_classes_of_their_own():
    found = classify_labels(np.array([2.0, 0.0, 1.5, 0.0]))
    assert found.titles == ["0", "1.5", "2"]
    assert found.codes.tolist() == [2, 0, 1, 0]


def test_many_labels_are_cut_into_quarters():
    # quartiles of 0 … 11 by linear interpolation: 2.75, 5.5, 8.25
    found = classify_labels(np.arange(12.0))
    assert found.titles == ["0–2", "3–5", "6–8", "9–11"]
    assert np.bincount(found.codes).tolist() == [3, 3, 3, 3]


def test_equal_labels_are_never_parted():
    labels = np.concatenate([np.zeros(30), np.arange(1.0, 11.0)])
    found = classify_labels(labels)
    # three quarters are 0, so that the cuts are 0, 0 and .25
    assert found.titles == ["0", "1–10"]
    assert found.codes.tolist() == [0] * 30 + [1] * 10


def test_ticks_are_round_and_cover():
    assert ticks(-0.04, 0.91, 5) == [-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(0.0, 1.0000001, 4) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert ticks(3.0, 3.0, 4) == [2.5, 2.75, 3.0, 3.25, 3.5]
    assert ticks(-3e-17, 0.0, 4) == [-0.5, -0.25, 0.0, 0.25, 0.5], "a value that is 0 but for rounding"
    assert log_ticks([120.0, 9000.0]) == [100.0, 1000.0, 10000.0]
    assert log_ticks([100.0]) == [100.0, 1000.0]
    assert log_range([248.0, 2799.0]) == (200.0, 5000.0, [200.0, 500.0, 1000.0, 2000.0, 5000.0])
    assert log_range([0.7, 30000.0]) == (0.5, 50000.0, [1.0, 10.0, 100.0, 1000.0, 10000.0])
    assert log_range([100.0]) == (100.0, 200.0, [100.0, 200.0])
    assert Scale(0.0, 2.0, 10.0, 30.0)(0.5) == 15.0


def test_svg_escapes_text_and_attributes():
    made = element("text", "<b>&", class_='"x" onload="y', x=1.0, y=2.25)
    assert str(made) == '<text class="&#34;x&#34; onload=&#34;y" x="1" y="2.2">&lt;b&gt;&amp;</text>'


def _set(values):
    """Return a change of agreement.json: value, low and high by bucket and metric."""

    def change(rows):
        for row in rows:
            if row["statistic"] == "spearman":
                row["value"], row["low"], row["high"] = values[row["bucket"]][row["metric"]]
                row["note"] = ""

    return change


def test_findings_name_the_metric_that_the_evidence_of_the_run_names(folder):
    (unit,) = read_units([read_run(folder)])
    advice = evidence_of(unit.data, ["all", "f1=0", "f1>0"]).advice()
    found = list(findings_by_bucket(unit))
    assert [finding.where for finding in found] == [
        f"{place} ({block.facts[0]})"
        for place, block in zip(("All pairs", "Where F1 = 0", "Where F1 > 0"), unit.blocks, strict=True)
    ]
    for finding, block in zip(found, unit.blocks, strict=True):
        item = advice[block.bucket]
        if item.recommended is None:
            assert finding.answer.startswith("no metric can be named")
            continue
        assert finding.answer.startswith(f"use {unit.names[item.recommended.metric]}, Spearman ρ")
        others = [line for line in item.contenders if line is not item.recommended]
        assert all(unit.names[line.metric] in finding.answer for line in others)
        assert ("could be the best, too" in finding.answer) == bool(others)
        if item.loss is None:
            line, difference = item.closest
            assert difference.low <= difference.value <= difference.high
            lower = "is lower by" if difference.value else "has the same value"
            assert finding.difference.startswith(f"The next, {unit.names[line.metric]}, {lower}")
            assert ("do not tell them apart" in finding.difference) == (line in item.contenders)
        assert bool(item.warning) <= bool(finding.caution)


def test_a_page_without_evidence_that_takes_long_gives_the_range(folder, monkeypatch, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("evidence.json"))
    monkeypatch.setattr("assay.analysis.recommend.evidence.MAX_WORK", 0)
    (unit,) = read_units([read_run(copy)])
    finding, *_ = findings_by_bucket(unit)
    assert finding.text.startswith("Spearman ρ from ")
    assert finding.text.endswith("; assay recommend compares the metrics.")
    assert not (copy / "evidence.json").exists()


def test_a_probe_set_ranks_nothing(folder):
    (unit,) = read_units([edit(folder, "run.json", lambda run: run["datasets"][0].update(kind="probe"))])
    sentences = [finding.text for finding in findings_by_bucket(unit)]
    assert all("not ranked by a probe set" in one and "best" not in one for one in sentences)


def test_cost_marks_the_front_and_names_the_unknown(folder):
    values = {"f1": (0.5, 0.4, 0.6), "chrf": (0.6, 0.5, 0.7), "ter": (0.4, 0.3, 0.5)}
    edit(folder, "agreement.json", _set(dict.fromkeys(("all", "f1=0", "f1>0"), values)))
    speeds = {"f1": 100.0, "chrf": 10.0, "ter": 50.0}

    def change(run):
        for status in run["metrics"]:
            status["cost"] = {"pairs_per_second": speeds.get(status["metric"])}

    (unit,) = read_units([edit(folder, "run.json", change)])
    found = draw_cost(unit, "spearman")
    # ter is slower and worse than f1; chrf is slower but better
    assert found.figure.table.rows == [
        ["chrf", "10", ".6000", "yes"],
        ["f1", "100", ".5000", "yes"],
        ["ter", "50", ".4000", "no"],
    ]
    assert (found.unknown, found.undefined) == ([], [])
    speeds["f1"] = None
    (unit,) = read_units([edit(folder, "run.json", change)])
    found = draw_cost(unit, "spearman")
    assert [row[-1] for row in found.figure.table.rows] == ["yes", "–"], "f1 is worse than chrf, and could beat ter"
    assert (found.unknown, found.left_open) == (["f1"], True)
    speeds |= {"f1": 100.0, "chrf": None}
    (unit,) = read_units([edit(folder, "run.json", change)])
    found = draw_cost(unit, "spearman")
    assert [row[-1] for row in found.figure.table.rows] == ["–", "no"], "chrf could beat f1, and f1 beats ter"
    assert 'class="front"' not in found.figure.svg and "the Pareto front is not known" in found.figure.svg
    speeds["chrf"] = 10.0
    speeds["f1"] = 100.0
    undefined = {**values, "f1": (None, None, None)}
    edit(folder, "agreement.json", _set(dict.fromkeys(("all", "f1=0", "f1>0"), undefined)))
    (unit,) = read_units([edit(folder, "run.json", change)])
    found = draw_cost(unit, "spearman")
    assert (len(found.figure.table.rows), found.unknown, found.undefined) == (2, [], ["f1"])
    assert not found.left_open, "what has no agreement beats nothing"
    speeds.clear()
    (unit,) = read_units([edit(folder, "run.json", change)])
    assert draw_cost(unit, "spearman").figure is None


def test_what_is_free_stands_left_of_the_axis_of_prices(folder):
    values = {"f1": (0.5, 0.4, 0.6), "chrf": (0.6, 0.5, 0.7), "ter": (0.4, 0.3, 0.5)}
    edit(folder, "agreement.json", _set(dict.fromkeys(("all", "f1=0", "f1>0"), values)))

    def priced(**prices):
        def change(run):
            for status in run["metrics"]:
                status["cost"] = {"price_per_1000": prices[status["metric"]]} if status["metric"] in prices else {}

        (unit,) = read_units([edit(folder, "run.json", change)])
        return {statistic: price for statistic, _, price in UnitPart(unit, 0).cost}["spearman"]

    assert priced() is None, "nothing is paid for"
    assert priced(chrf=0.0) is None
    found = priced(chrf=2.5, ter=0.04)
    assert found.figure.table.rows == [
        ["chrf", "2.50", ".6000", "yes"],
        ["f1", "free", ".5000", "yes"],
        ["ter", "0.04", ".4000", "no"],
    ]
    places = dict(re.findall(r'<circle cx="([\d.]+)"[^>]*><title>(\w+):', found.figure.svg))
    at = {metric: float(x) for x, metric in places.items()}
    # the axis runs from .02 to 5, and what is free has a line of its own
    assert at["f1"] < 150 < at["ter"] < at["chrf"]
    assert at["chrf"] - at["ter"] == pytest.approx((780 - 178) * np.log10(2.5 / 0.04) / np.log10(5 / 0.02), abs=0.2)
    marks = re.findall(r'y="351" class="muted" text-anchor="middle">([^<]+)<', found.figure.svg)
    assert marks == ["free", "0.1", "1"]
    assert "price per 1,000 pairs (log scale)" in found.figure.svg
    assert "f1: free, .500" in found.figure.svg and "chrf: 2.50 per 1,000 pairs, .600" in found.figure.svg
    all_paid = priced(chrf=2.5, ter=0.04, f1=0.1)
    assert ">free<" not in all_paid.figure.svg


def test_labels_that_rank_nothing_are_shown_without_ranks_within_the_work_of_a_page(folder, monkeypatch):
    (unit,) = read_units([edit(folder, "run.json", lambda run: None)])
    pairs = sum(int(mask.sum()) for mask in list(unit.data.buckets.values())[:3])
    # three metrics: 3 * 1,000 resamples
    monkeypatch.setattr("assay.reports.page.parts.MAX_RANKING_WORK", 3000 * pairs - 1)
    assert "would take long for so many pairs" in rank_metrics([read_run(folder)], "spearman")
    monkeypatch.setattr("assay.reports.page.parts.MAX_RANKING_WORK", 3000 * pairs)
    probe = edit(folder, "run.json", lambda run: run["datasets"][0].update(kind="probe"))
    ranked = rank_metrics([probe], "spearman")
    assert not isinstance(ranked, str) and {record["rank"] for record in ranked.records} == {None}


def test_layers_are_found_and_the_highest_is_named(folder):
    layers = {"f1": "pooled:m,layer=2,pooling=cls", "chrf": "pooled:m,layer=10,pooling=cls", "ter": "ter"}

    def rename(rows):
        for row in rows:
            row["metric"] = layers[row["metric"]]

    edit(folder, "run.json", lambda run: rename(run["metrics"]))
    edit(folder, "agreement.json", rename)
    table = pq.read_table(folder / "scores.parquet")
    renamed = pa.array([layers[one] for one in table.column("metric").to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("metric"), "metric", renamed), folder / "scores.parquet")
    values = {"pooled:m,layer=2,pooling=cls": (0.3, 0.2, 0.4), "pooled:m,layer=10,pooling=cls": (0.2, 0.1, 0.3)}
    values["ter"] = (0.9, 0.8, 1.0)
    run = edit(folder, "agreement.json", _set(dict.fromkeys(("all", "f1=0", "f1>0"), values)))
    (unit,) = read_units([run])
    (model,) = layered_models(unit.data.scores)
    assert model.name == "pooled:m,pooling=cls"
    assert list(model.layers) == [2, 10]
    figure = draw_layers(unit, model, "spearman")
    assert "Highest layer: all: 2; f1=0: 2; f1&gt;0: 2" in figure.svg
    assert figure.table.rows[:2] == [
        ["2", "all", ".3000", ".2000", ".4000"],
        ["10", "all", ".2000", ".1000", ".3000"],
    ]


def test_distributions_count_every_score(folder):
    (unit,) = read_units([edit(folder, "run.json", lambda run: None)])
    spread = spread_by_label(unit, "all")
    labels, scores = unit.data.labels, unit.data.scores["f1"]
    rows = [row for row in spread.table.rows if row[0] == "f1"]
    assert [row[1] for row in rows] == ["0", "1", "2"]
    for row, label in zip(rows, (0.0, 1.0, 2.0), strict=True):
        mine = scores[labels == label]
        assert row[2] == str(len(mine))
        assert row[5] == f"{np.median(mine):.4g}"
        counts = list(map(int, row[-1].split()))
        # f1 lies between 0 and 1: bins are .05 wide, the last holds 1 as well
        expected = [int(((mine >= i / 20) & ((mine < (i + 1) / 20) | (i == 19))).sum()) for i in range(20)]
        assert counts == expected


def _unpack(packed):
    raw = gzip.decompress(base64.b64decode(packed))
    start = 4 + int.from_bytes(raw[:4], "little")
    assert start % 8 == 0
    head = json.loads(raw[4:start])
    kinds = {
        "Float32Array": "<f4",
        "Float64Array": "<f8",
        "Uint8Array": "u1",
        "Uint16Array": "<u2",
        "Uint32Array": "<u4",
    }
    columns = {
        name: np.frombuffer(raw, kinds[kind], length, start + offset)
        for name, (kind, offset, length) in head["columns"].items()
    }
    return head, columns


def test_packed_data_unpacks_to_the_same(folder):
    (unit,) = read_units([edit(folder, "run.json", lambda run: None)])
    data = unit.data
    scores = {**data.scores, "f1": np.where(np.arange(len(data)) == 5, np.nan, data.scores["f1"])}
    unit = replace(unit, data=replace(data, scores=scores))
    head, columns = _unpack(pack_pairs(unit, tag_pairs(data, 1000)))
    assert head["n"] == 64
    for row in range(64):
        texts = data.texts(row)
        for name in ("question", "reference", "candidate"):
            assert head["texts"][columns[name][row]] == texts[name]
    assert set(ODD.values()) <= set(head["texts"])
    assert len(set(head["texts"])) == len(head["texts"])
    assert columns["label"].tolist() == data.labels.tolist()
    for number, metric in enumerate(data.scores):
        np.testing.assert_array_equal(columns[f"score-{number}"], scores[metric].astype(np.float32))
    assert np.isnan(columns["score-0"][5])
    assert head["metrics"][2] == {"name": "ter", "short": "ter", "kind": "lexical", "higher": False}
    assert head["buckets"] == ["f1=0", "f1>0"]
    assert (columns["bucket-0"] == data.buckets["f1=0"]).all()
    assert all(offset % 4 == 0 for _, offset, _ in head["columns"].values())


@pytest.mark.parametrize("number", [1e308, -1e308, 1e-300])
def test_numbers_beyond_32_bits_are_packed_as_they_are(folder, number, recwarn):
    (unit,) = read_units([edit(folder, "run.json", lambda run: None)])
    labels = np.where(np.arange(64) == 3, number, unit.data.labels)
    place = unit.data.table.column_names.index("label")
    table = unit.data.table.set_column(place, "label", pa.array(labels))
    scores = {**unit.data.scores, "f1": np.where(np.arange(64) == 4, number, unit.data.scores["f1"])}
    unit = replace(unit, data=replace(unit.data, table=table, scores=scores))
    head, columns = _unpack(pack_pairs(unit, tag_pairs(unit.data, 10)))
    assert columns["label"].tolist() == labels.tolist()
    assert columns["score-0"].tolist() == scores["f1"].tolist()
    assert head["columns"]["score-1"][0] == "Float32Array"
    assert all(offset % 8 == 0 for _, offset, _ in head["columns"].values())
    assert not recwarn


def test_half_a_surrogate_pair_is_packed(folder):
    """Parquet cannot hold one, other sources of texts could."""
    (unit,) = read_units([edit(folder, "run.json", lambda run: None)])
    unit.labels.titles[0] = "half \ud83d"
    head, _ = _unpack(pack_pairs(unit, tag_pairs(unit.data, 10)))
    assert head["classes"][0] == "half \ud83d"


def test_people_come_before_rules(folder):
    data = dataset(folder)
    tags = tag_pairs(data, 1000)
    row = 9
    mine = slice(tags.starts[row], tags.starts[row + 1])
    assert [tags.names[code] for code in tags.categories[mine]] == ["date and temporal"]
    assert tags.reasons[mine] == ["annotated in the data"]
    assert tags.about[0] == "People gave a category to 4 of 64 pairs; only that one is shown there."
    assert len(tags.starts) == 65
    assert tags.starts[-1] == len(tags.categories) == len(tags.reasons)


def test_rules_look_at_the_pairs_of_most_disagreement(folder):
    data = dataset(folder)
    every, some = tag_pairs(data, 64), tag_pairs(data, 7)
    assert any("here for 7 of 64 pairs" in line for line in some.about)
    assert any("here for all 64 pairs" in line for line in every.about)
    from scipy.stats import rankdata

    largest = np.zeros(64)
    for metric in data.scores:
        apart = rankdata(data.oriented_scores(metric)) - rankdata(data.labels)
        largest = np.maximum(largest, np.abs(apart) / 64)
    rules = [row for row in range(64) if row % 16 != 9]
    tagged = {row for row in rules if some.starts[row] < some.starts[row + 1]}
    chosen = set(np.argsort(-largest, kind="stable")[:7].tolist())
    assert tagged <= chosen
    assert tagged == {row for row in chosen if row in rules and every.starts[row] < every.starts[row + 1]}
