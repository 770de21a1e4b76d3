"""``assay verify`` on a run folder of an earlier version."""

from __future__ import annotations

import json
from pathlib import Path

KEPT = Path(__file__).parents[1] / "reports" / "examples" / "schema-1-with-scores"


def test_groups_under_their_own_name_and_buckets_that_were_not_kept(assay):
    done = assay("verify", KEPT, "--quiet", "--offline", "--format", "json")
    assert done.code == 1, done.err
    found = json.loads(done.out)["metrics"]
    assert [one["metric"] for one in found] == ["f1", "ter", "chrf"]
    for one in found:
        # over all pairs the numbers, drawn by question, are those of then
        assert one["agreement"]["outcome"] == "not recomputed"
        assert "which pairs are in f1=0, f1>0" in one["agreement"]["reason"]
        assert (one["scores"]["outcome"], one["scores"]["n"]) == ("same", 12)


def test_a_bucket_that_was_asked_for_twice(assay, workplace):
    rows = "".join(f"a {i},a {i * 7 % 5},{i % 3}\n" for i in range(12))
    Path("own.csv").write_text(f"reference,candidate,label\n{rows}")
    assert assay("run", "-d", "own.csv", "-m", "f1", "--resamples", "0", "--out", "run", "--quiet").code == 0
    manifest = Path("run/run.json")
    held = json.loads(manifest.read_text())
    held["request"]["buckets"] *= 2
    manifest.write_text(json.dumps(held))
    done = assay("verify", "run", "--quiet", "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["metrics"][0]["agreement"]["outcome"] == "same"
    refused = assay("run", "-d", "own.csv", "-m", "f1", "-b", "f1", "-b", "f1", "--out", "other").complaint
    assert "the bucket f1 is asked for twice" in refused
