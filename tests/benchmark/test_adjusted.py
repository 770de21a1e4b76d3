"""Agreement with quantities held constant, and corrected for noise in labels: in tables, run folders and verify."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import assay
from assay.analysis.data import read_datasets
from assay.analysis.folder import read_run
from assay.benchmark.request import Request
from assay.exceptions import InputError
from assay.statistics.agreement import agreement
from assay.statistics.partial import partial_agreement, stratified_agreement
from assay.statistics.resampling import seed_of


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    words = rng.integers(1, 25, size=n)
    return pd.DataFrame(
        {
            "reference": [f"word{i}" for i in range(n)],
            "candidate": [
                f"word{i if value > 0 else 0} " + "more " * count
                for i, (value, count) in enumerate(zip(truth, words, strict=True))
            ],
            "label": truth + 0.1 * words + rng.normal(size=n),
            "mine": truth + 0.2 * words + rng.normal(size=n),
            "cost": np.where(np.arange(n) % 10, 1.5 * words + rng.normal(size=n), np.nan),
            "kind": ["x", "y", "z"] * (n // 3),
        }
    )


SETTINGS = {"resamples": 100, "statistics": ["spearman"]}


def block(result, name):
    (row,) = [row for row in result.outcome.agreement if row.bucket == name]
    return row


def test_length_is_held_constant():
    frame = rows()
    result = assay.run([frame], ["recorded:mine"], controls=["length"], buckets=["length"], **SETTINGS)
    length = frame["candidate"].str.split().str.len().to_numpy(dtype=float)
    drawn = {"resamples": 100, "confidence": 0.95, "seed": seed_of(0, result.outcome.datasets[0].pairs.name, "", "all")}
    scores, labels = {"m": frame["mine"].to_numpy()}, frame["label"].to_numpy()
    (given,) = partial_agreement(scores, labels, [length], statistics=["spearman"], **drawn)
    row = block(result, "all given length")
    assert (row.value, row.low, row.high, row.n) == (given.value, given.low, given.high, 120)
    assert row.value < block(result, "all").value
    strata = {"a": length < 6, "b": (length >= 6) & (length < 16), "c": length >= 16}
    (within,) = stratified_agreement(scores, labels, strata, statistics=["spearman"], **drawn)
    row = block(result, "all within length")
    assert (row.value, row.low, row.high) == (within.value, within.low, within.high)
    # the same resamples as of all pairs
    (plain,) = agreement(scores, labels, statistics=["spearman"], **drawn)
    assert block(result, "all").low == plain.low
    table = result.to_markdown()
    assert "partial correlation: length held constant" in table and r"(length\<6: " in table


def test_a_statistic_without_a_partial_form_has_no_block_of_dashes():
    frame = rows()
    frame["many"] = np.arange(120) // 4
    settings = {"controls": ["length", "many:" + ",".join(map(str, range(0, 31, 2)))], "buckets": ["none"]}
    result = assay.run([frame], ["recorded:mine"], **settings, resamples=0, statistics=["acc-eq"])
    shown = result.to_markdown()
    assert "all given length: none of the statistics has a partial form" in shown
    assert "| all given length |" not in shown and "| all within length |" in shown
    assert "(15 strata of 8 pairs)" in shown, "more than ten strata are counted"
    # one statistic that has a partial form keeps the block, and the other one its dash
    both = assay.run([frame], ["recorded:mine"], **settings, resamples=0, statistics=["acc-eq", "pearson"])
    given = [row for row in both.outcome.agreement if row.bucket == "all given length"]
    assert [(row.statistic, row.value is None) for row in given] == [("acc-eq", True), ("pearson", False)]
    assert "| all given length |" in both.to_markdown()


@pytest.mark.slow
def test_overlap_columns_of_numbers_and_of_names(tmp_path):
    file, run = tmp_path / "rows.csv", tmp_path / "run"
    rows().to_csv(file, index=False)
    controls = ["f1", "cost", "kind", "length+f1", "f1:0,0.2,1"]
    result = assay.run([file], ["recorded:mine", "chrf"], controls=controls, buckets=["none"], out=run, **SETTINGS)
    names = [bucket.bucket for bucket in result.outcome.buckets]
    assert names == [
        "all",
        "all given f1", "all within f1",
        "all given cost", "all within cost",
        # names have no partial correlation
        "all within kind",
        "all given length+f1", "all within length+f1",
        "all given f1:0,0.2,1", "all within f1:0,0.2,1",
    ]  # fmt: skip
    records = {bucket.bucket: bucket for bucket in result.outcome.buckets}
    # empty cells are left out, and a column of many values is cut into quarters
    assert (records["all given cost"].n, records["all within cost"].n) == (108, 108)
    assert records["all within cost"].about.count(": 27") == 4
    assert records["all within kind"].about.endswith("(kind=x: 40, kind=y: 40, kind=z: 40)")
    # the folder has what it takes to compute them again, and its reports have no bucket of that name
    assert "cost" in read_datasets(read_run(run))[0].table.column_names
    assert set(read_datasets(read_run(run))[0].buckets) == {"all"}
    assert json.loads((run / "run.json").read_text())["request"]["controls"] == controls
    verified = assay.verify(run)
    assert verified.found.same, verified.to_markdown()
    assert "all given cost" in (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_several_annotators_are_disattenuated(tmp_path):
    frame = rows()
    rng = np.random.default_rng(1)
    for name in "abc":
        frame[name] = np.round(frame["label"] + rng.normal(size=len(frame)))
    file, run = tmp_path / "rows.csv", tmp_path / "run"
    frame.drop(columns="label").to_csv(file, index=False)
    result = assay.run(
        [file],
        ["recorded:mine"],
        columns="label=a+b+c",
        buckets=["none"],
        resamples=100,
        statistics=["pearson"],
        out=run,
    )
    plain, corrected = block(result, "all"), block(result, "all disattenuated")
    reliability = result.outcome.buckets[0].reliability
    assert corrected.value == pytest.approx(plain.value / reliability.bound_pearson, abs=1e-12)
    assert corrected.low < corrected.value < corrected.high and plain.low < corrected.low
    assert "which may exceed 1" in result.to_markdown()
    assert read_datasets(read_run(run))[0].table.column("annotations").to_pylist()[0] == [
        frame[name][0] for name in "abc"
    ]
    assert assay.verify(run).found.same


@pytest.mark.parametrize(
    ("controls", "message"),
    [
        (["label"], r"controls=label: name what is held constant"),
        (["length<6"], r"controls=length<6: name what is held constant"),
        (["length", "length"], r"controls=length: is asked for twice"),
        (["nowhere"], r"no column 'nowhere'"),
    ],
)
def test_controls_that_cannot_be_read(controls, message):
    with pytest.raises(InputError, match=message):
        assay.run([rows(30)], ["recorded:mine"], controls=controls, buckets=["none"], resamples=0)


def test_a_request_without_controls_has_the_digest_of_older_ones():
    plain = Request((), (), buckets=("none",))
    assert plain.record().digest() == Request((), (), buckets=("none",), controls=()).record().digest()
    assert plain.record().digest() != Request((), (), buckets=("none",), controls=("length",)).record().digest()
    # of a request before there were controls
    assert plain.record().digest() == "27fb7ff354c7235408c4ea8d51707561f9a03c363915e44dea1158b7ebdcf114"
