"""``assay datasets``: finding, showing, fetching a suite, and texts that several datasets share."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

CARD = """name = "own"
version = "1"
title = "Pairs of one's own"
language = "ko"
task = ["summaries", "dialogue"]
reference = "gold"
annotators = 3
licence = "LICENCE"
citation = "unpublished"
reader = "table"
default_split = "test"

[scale]
low = 0
high = 10
meaning = "how similar"

[splits.test]
files = ["own.csv"]
rows = 12

[splits.test.options]
columns = { label = ["a1", "a2", "a3"] }

[[files]]
name = "own.csv"

[[sources]]
kind = "path"
path = "own.csv"
"""


def write_card(licence: str = "CC0-1.0") -> None:
    rows = [f"gold {i},answer {i},{i % 11},{(i + 1) % 11},{(2 * i) % 11}" for i in range(12)]
    Path("own.csv").write_text("\n".join(["reference,candidate,a1,a2,a3", *rows, ""]), encoding="utf-8")
    Path("own.toml").write_text(CARD.replace("LICENCE", licence), encoding="utf-8")


def names(done) -> set[str]:
    assert done.code == 0, done.err
    return {record["name"] for record in json.loads(done.out)}


def test_datasets_are_found_by_task_language_and_people(assay):
    def found(*options: str) -> set[str]:
        return names(assay("datasets", "list", "--format", "json", *options))

    assert {"summeval", "realsumm", "dialsummeval"} <= found("--task", "summaries")
    assert "dialsummeval" in found("--task", "dialogue") and "realsumm" not in found("--task", "dialogue")
    assert "korsts" in found("--language", "ko") and "jsts" not in found("--language", "ko")
    assert {"kardes-sts"} == found("--language", "kk")
    by_fifteen = found("--annotators", "15")
    assert "asset-human" in by_fifteen and "summeval" not in by_fifteen
    assert found("--task", "summaries", "--annotators", "3") >= {"summeval"}
    assert "realsumm" not in found("--task", "summaries", "--annotators", "3")
    assert len(found()) > len(found("--language", "en")) > 30


def test_what_cannot_be_found_is_one_line(assay):
    assert "Did you mean 'summaries'?" in assay("datasets", "list", "--task", "summary").complaint
    complaint = assay("datasets", "list", "--language", "xx").complaint
    asked = assay("datasets", "list", "--annotators", 100_000).complaint
    assert "no dataset fits all that is asked for; the most annotators of any are " in asked
    assert re.search(r"no dataset fits; there are the languages .*ar, .*de, en, .*zh$", complaint.rstrip())
    assert assay("datasets", "list", "--annotators", "0").code == 2


def test_the_table_has_task_language_and_people(assay):
    out = assay("datasets", "list", "--language", "kk").out
    assert "kardes-sts@1" in out and "az+kk+ky+ug+uz" in out and "4,000 in" in out


def test_pairs_labels_and_annotators_of_a_card_are_shown(assay):
    write_card()
    done = assay("datasets", "show", "own.toml")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "annotators: 3" in lines and "task: summaries" in lines and "task: dialogue" in lines
    shown = json.loads(assay("datasets", "show", "own.toml", "--json").out)
    annotations = np.array([[i % 11, (i + 1) % 11, (2 * i) % 11] for i in range(12)], dtype=float)
    labels = annotations.mean(axis=1)
    counts = np.histogram(labels, 5, (0, 10))[0]
    assert shown["measured"]["labels"] == dict(
        zip(("0 to 2", "2 to 4", "4 to 6", "6 to 8", "8 to 10"), counts.tolist(), strict=True)
    )
    facts = shown["measured"]["reliability"]
    assert (facts["fewest_labels"], facts["most_labels"]) == (3, 3)
    # Krippendorff's alpha on the interval level: one minus the mean squared difference within pairs over that of all
    values = annotations.ravel()
    within = np.mean([(x - y) ** 2 for row in annotations for i, x in enumerate(row) for y in row[i + 1 :]])
    among = np.mean([(x - y) ** 2 for i, x in enumerate(values) for y in values[i + 1 :]])
    assert facts["alpha_interval"] == pytest.approx(1 - within / among)
    assert any(line.startswith(f"3 labels a pair: Krippendorff's α {1 - within / among:.3f}") for line in lines)
    samples = shown["samples"]
    assert [samples[0]["label"], samples[-1]["label"]] == pytest.approx([labels.min(), labels.max()], rel=1e-12)
    assert len(samples) == 5
    assert [s["label"] for s in samples] == sorted(s["label"] for s in samples)
    assert sum(line.startswith("sample: reference 'gold") for line in lines) == 5


def test_texts_without_a_licence_are_not_shown(assay):
    write_card("none stated")
    done = assay("datasets", "show", "own.toml")
    assert done.code == 0 and "sample:" not in done.out and "labels of test: " in done.out


def test_the_labels_of_the_named_split_are_measured(assay):
    (split,) = json.loads(assay("datasets", "show", "probe", "--json").out)["splits"]
    for name in ("probe", f"probe:{split}", "probe:all"):
        shown = json.loads(assay("datasets", "show", name, "--json").out)
        assert shown["measured"]["split"] == split and sum(shown["measured"]["labels"].values()) == 628
    assert "has no split 'tset'" in assay("datasets", "show", "probe:tset").complaint


def test_a_card_whose_file_cannot_be_read_is_shown_with_the_reason(assay):
    write_card()
    Path("own.csv").write_text("reference,candidate,a1,a2,a3\nx,y,much,1,2\n", encoding="utf-8")
    done = assay("datasets", "show", "own.toml")
    assert done.code == 0 and "problem: " in done.out and "much" in done.out


def test_all_datasets_of_a_suite_are_fetched(assay):
    write_card()
    Path("suite.toml").write_text(
        'name = "mine"\ndescription = "mine"\ndatasets = ["probe", "own.toml"]\nmetrics = ["f1"]\n', encoding="utf-8"
    )
    done = assay("datasets", "fetch", "suite.toml", "--offline")
    assert done.code == 0, done.err
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["1/2 probe: 1 file", "2/2 own.toml: 1 file"]
    Path("suite.toml").write_text(
        'name = "mine"\ndescription = "mine"\ndatasets = ["jsts", "summeval", "probe"]\nmetrics = ["f1"]\n',
        encoding="utf-8",
    )
    done = assay("datasets", "fetch", "suite.toml", "--offline")
    # what has no address fails nothing
    assert done.code == 1 and done.err.splitlines()[-1] == "1 dataset of 3 could not be fetched"
    assert done.out.startswith("1/3 jsts: ") and "3/3 probe: 1 file" in done.out


def test_texts_that_datasets_share_are_named(assay):
    long = "a text of more than twenty characters"
    Path("one.csv").write_text(f"reference,candidate,label\n{long},short,1\nyes,no,0\n", encoding="utf-8")
    Path("two.csv").write_text(f"reference,candidate,label\nshort,{long},1\nyes,no,1\n", encoding="utf-8")
    Path("three.csv").write_text(f"reference,candidate,label\n{long},other,1\nx,y,0\n", encoding="utf-8")
    done = assay("datasets", "check", "one.csv", "two.csv", "three.csv")
    assert done.code == 0, done.err
    shared = [line for line in done.out.splitlines() if "share" in line]
    assert shared == [
        "warning: one.csv+two.csv: share 1 texts (100% of those of one.csv) and 1 pairs",
        "warning: one.csv+three.csv: share 1 texts (100% of those of one.csv) and 0 pairs",
        "warning: two.csv+three.csv: share 1 texts (100% of those of two.csv) and 0 pairs",
    ]
    records = json.loads(assay("datasets", "check", "one.csv", "two.csv", "--json").out)
    assert [r["split"] for r in records if r["name"] == "shared-texts"] == ["one.csv+two.csv"]
    assert {r["dataset"] for r in records if r["name"] == "annotation-graph"} == {"one.csv", "two.csv"}
    assert "share" not in assay("datasets", "check", "one.csv").out


def test_a_suite_is_checked_without_what_is_not_on_this_machine(assay, monkeypatch):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    monkeypatch.setenv("ASSAY_CACHE", "empty-cache")
    long = "a text of more than twenty characters"
    for name in ("one.csv", "two.csv"):
        Path(name).write_text(f"reference,candidate,label\n{long},{name},1\nyes,no,0\n", encoding="utf-8")
    Path("suite.toml").write_text(
        'name = "mine"\ndescription = "mine"\ndatasets = ["one.csv", "jsts", "two.csv"]\nmetrics = ["f1"]\n',
        encoding="utf-8",
    )
    done = assay("datasets", "check", "suite.toml", "--offline")
    assert done.code == 0, done.err
    assert "warning: one.csv+two.csv: share 1 texts (100% of those of one.csv) and 0 pairs" in done.out
    assert done.err.startswith("jsts is left out: dataset jsts@1, file ")


def test_stsb_shares_texts_with_the_years_that_it_was_taken_from(assay, shared_data, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    done = assay("datasets", "check", "stsb:test", "sts14", "jsts:test")
    shared = [line for line in done.out.splitlines() if "share" in line]
    assert len(shared) == 1 and shared[0].startswith("warning: stsb:test+sts14: share ")
