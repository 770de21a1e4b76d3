"""The gate on a model: its folder may move, its weights may not change unseen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import assay

ROWS = [(f"word{i} red", f"word{i % 7} blue", float(i % 3)) for i in range(24)]


def run(folder: Path) -> assay.Result:
    return assay.run([ROWS], [f"bi-encoder:{folder}"], buckets=["none"], resamples=100)


def altered(encoder: Path, copy: Path) -> Path:
    """Return a copy of a model whose word embeddings are noise."""
    shutil.copytree(encoder, copy)
    weights = load_file(copy / "model.safetensors")
    (name,) = [name for name in weights if name.endswith("word_embeddings.weight")]
    torch.manual_seed(3)
    weights[name] = torch.randn_like(weights[name])
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    return copy


@pytest.mark.slow
def test_the_same_weights_pass_at_another_path_and_others_are_named(encoder: Path, tmp_path: Path) -> None:
    kept = assay.baseline(run(encoder), tmp_path / "baseline.json")
    moved = shutil.copytree(encoder, tmp_path / "moved")
    checked = assay.check(run(moved), kept, resamples=100)
    assert checked.headline == "passed: 1 unchanged"
    # on a busy machine the second run may be slower, which is a finding of its own
    found = [(finding.kind, finding.fails) for finding in checked.found.findings if finding.kind != "slower"]
    assert found == [("other name", False)]

    other = altered(encoder, tmp_path / "other")
    checked = assay.check(run(other), kept, resamples=100)
    assert checked.headline == "FAILED: 1 missing"
    (missing,) = [finding for finding in checked.found.findings if finding.fails]
    assert f"the run has bi-encoder:{other}, the same but for its weights: " in missing.text
    assert "digest " in missing.text

    # in place of the old ones, at the same path
    shutil.rmtree(moved)
    other.rename(moved)
    at_its_place = assay.baseline(run(shutil.copytree(encoder, tmp_path / "place")), tmp_path / "second.json")
    shutil.rmtree(tmp_path / "place")
    moved.rename(tmp_path / "place")
    checked = assay.check(run(tmp_path / "place"), at_its_place, resamples=100)
    (changed,) = [finding for finding in checked.found.findings if finding.kind == "changed signature"]
    assert "digest " in changed.text
    assert all(str(cell.verdict) != "unchanged" for cell in checked.found.judged)
