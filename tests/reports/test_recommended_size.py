"""How many pairs would settle a recommendation."""

from __future__ import annotations

import json

import numpy as np
import pytest

import assay


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def write_file(folder, second_noise, *, n=80, grouped=False):
    rng = np.random.default_rng(3)
    labels = rng.integers(5, size=n)
    first = labels + rng.normal(size=n)
    second = first if second_noise is None else labels + second_noise * rng.normal(size=n)
    rows = []
    for i in range(n):
        row = {"reference": f"gold {i}", "candidate": f"answer {i}", "label": int(labels[i])}
        row |= {"first": float(first[i]), "second": float(second[i])}
        rows.append(row | ({"group": f"g{i // 2}"} if grouped else {}))
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


METRICS = ("recorded:first", "recorded:second")


def advised(path, folder):
    report = assay.recommend(path, METRICS, by="spearman", buckets=["none"], resamples=100, out=folder / "run")
    return report.records.iloc[0], report.to_markdown()


@pytest.mark.parametrize("grouped", [False, True])
def test_the_size_is_that_of_power(tmp_path, grouped):
    record, text = advised(write_file(tmp_path, 1.2, grouped=grouped), tmp_path)
    other = record["settle_against"]
    highest = record["highest"]
    assert {other, highest} == set(METRICS)
    # two metrics are one comparison, so that the level is the same
    planned = assay.power(tmp_path / "run", metrics=[highest, other], statistics=["spearman"]).records.iloc[0]
    assert record["settle_pairs"] == planned["needed"]
    assert record["settle_pairs_low"] == planned["needed_low"]
    assert f"about {int(planned['needed']):,} pairs [" in text
    if grouped:
        assert record["settle_groups"] == planned["needed_units"]
        assert f"({int(planned['needed_units']):,} groups)" in text


def test_more_pairs_than_anybody_labels_are_no_number(tmp_path):
    # noise that makes both metrics agree alike, but for a thousandth
    path = write_file(tmp_path, 1.13)
    record, text = advised(path, tmp_path)
    assert record["settle_pairs"] > 100_000 and f"{int(record['settle_pairs']):,}" not in text
    assert "more than 100,000 pairs, the difference that these pairs show (" in text


def test_equal_scores_have_no_size(tmp_path):
    record, text = advised(write_file(tmp_path, None), tmp_path)
    assert record["settle_pairs"] is None or np.isnan(record["settle_pairs"])
    assert "to say how many are needed" in text


def test_what_is_told_apart_needs_no_size(tmp_path):
    record, text = advised(write_file(tmp_path, 30.0), tmp_path)
    assert not record["settle_against"]
    assert "of samples would show" not in text
