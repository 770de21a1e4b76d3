"""One record lists what determines the numbers of a run; digest and signature follow from it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

import assay
from assay.analysis.folder import read_run
from assay.benchmark.request import Request
from assay.benchmark.settings import RunSettings
from assay.common.declarations import declarations_of
from assay.manifest import NOT_IN_DIGEST, NOT_IN_SIGNATURE, RequestedDataset, RequestRecord
from assay.settings import RequestSettings

KEPT = sorted((Path(__file__).parents[1] / "reports" / "examples").glob("*/run.json"))
ROWS = [
    {"reference": f"a b {i % 5}", "candidate": f"a c {i % 3}", "label": i % 3, "topic|size": f"t{i % 4}"}
    for i in range(60)
]
PLAIN = RequestRecord.model_validate(Request((), ()).record().model_dump())
#: Another value of each field of the record.
CHANGED = {
    "suite": "sts",
    "datasets": [RequestedDataset(name="data", digest="abc")],
    "unavailable": {"stsb": "not cached"},
    "metrics": ["f1"],
    "recorded_files": {"scores.csv": "abc"},
    "graphs": {"reference": ["a.amr"]},
    "buckets": ("length",),
    "statistics": ("kendall",),
    "controls": ("length",),
    "resamples": 200,
    "interval": "influence",
    "confidence": 0.9,
    "group_by": "topic",
    "sample": 20,
    "drop_duplicates": True,
    "seed": 1,
    "limit": 30,
    "references": "mean",
}
#: The settings of a run that determine no number beside those of the request, each with the reason.
APART = {
    **dict.fromkeys(["datasets", "suite", "metrics"], "the data and metrics, which the record has loaded"),
    **dict.fromkeys(
        ["columns", "separator", "labels", "drop_unlabelled", "missing", "annotator", "encoding", "member", "language"],
        "the digest of the data has it",
    ),
    "graphs": "the record has the files, and the digest of the data the graphs",
    **dict.fromkeys(["out", "page", "progress"], "what is shown and written"),
    **dict.fromkeys(["device", "threads"], "the signature of a metric has what changes its scores"),
    **dict.fromkeys(["workers", "keep_models", "engine", "address", "executor"], "scores are equal in any process"),
    **dict.fromkeys(["fresh", "store", "offline"], "scores are equal from the store"),
    **dict.fromkeys(["budget", "prices", "keep_replies"], "what is paid, and whether it is paid again"),
}


def signature_of(tmp_path, name, **settings):
    assay.run([ROWS], ["f1"], resamples=100, out=tmp_path / name, page=False, **settings)
    return read_run(tmp_path / name).manifest.signature


def test_runs_with_other_numbers_have_other_signatures(tmp_path):
    asked = {
        "plain": {},
        "20": {"sample": 20},
        "30": {"sample": 30},
        "length": {"controls": ["length"]},
        "topic": {"controls": ["topic|size"]},
        "none": {"buckets": "none"},
        "kendall": {"statistics": ["kendall"]},
    }
    signatures = {name: signature_of(tmp_path, name, **settings) for name, settings in asked.items()}
    assert len(set(signatures.values())) == len(signatures)
    before = "bootstrap:expanded-percentile|resamples:100|confidence:0.95|seed:0|group:data|references:best"
    assert signatures["plain"] == f"{before}|duplicates:kept|limit:none|assay:{assay.__version__}"
    assert "|limit:none|sample:20|assay:" in signatures["20"] and "|controls:length|" in signatures["length"]
    # no value is taken for a setting
    parts = [part.partition(":")[0] for part in signatures["topic"].split("|")]
    assert parts == [part.partition(":")[0] for part in signatures["length"].split("|")]


@pytest.mark.parametrize("name", RequestRecord.model_fields)
def test_every_field_is_in_digest_and_signature_or_says_why_not(name):
    changed = PLAIN.model_copy(update={name: CHANGED[name]})
    assert (changed.digest() == PLAIN.digest()) == (name in NOT_IN_DIGEST)
    assert (changed.signature_parts() == PLAIN.signature_parts()) == (name in NOT_IN_SIGNATURE)


def test_every_setting_of_a_run_is_in_the_record_or_says_why_not():
    recorded, settings = declarations_of(RequestSettings).keys(), declarations_of(RunSettings).keys()
    assert recorded <= RequestRecord.model_fields.keys()
    assert settings - recorded == APART.keys()


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.parent.name)
def test_a_kept_folder_has_the_digest_of_the_same_request_today(file):
    kept = json.loads(file.read_text())
    read = RequestRecord.model_validate(kept["request"])
    assert read.interval == "bootstrap"
    # the intervals of that time are the default of today for so few pairs
    assert read.model_copy(update={"interval": "auto"}).digest() == kept["request_digest"]
    again = Request((), (), **read.values_of(RequestSettings)).record()
    unchanged = {"suite": read.suite, "datasets": read.datasets, "metrics": read.metrics, "interval": "auto"}
    assert again.model_copy(update=unchanged).digest() == kept["request_digest"]


def test_a_setting_that_every_folder_has_is_missed():
    values = PLAIN.model_dump()
    del values["seed"], values["limit"], values["sample"]
    with pytest.raises(ValidationError, match="limit, seed missing"):
        RequestRecord.model_validate(values)


def test_numbers_of_numpy_are_recorded_as_numbers(tmp_path):
    asked = {"resamples": np.int64(200), "confidence": np.float32(0.75), "seed": np.int32(3), "limit": np.uint8(50)}
    assay.run([ROWS], ["f1"], out=tmp_path / "run", page=False, **asked)
    request = read_run(tmp_path / "run").manifest.request
    assert (request.resamples, request.confidence, request.seed, request.limit) == (200, 0.75, 3, 50)


def test_what_older_folders_did_not_record_has_the_value_of_their_time():
    values = PLAIN.model_dump()
    for name in ("group_by", "interval", "sample", "controls", "graphs", "suite"):
        del values[name]
    read = RequestRecord.model_validate(values)
    assert read == PLAIN.model_copy(update={"interval": "bootstrap"})
