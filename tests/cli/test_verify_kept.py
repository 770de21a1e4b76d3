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
