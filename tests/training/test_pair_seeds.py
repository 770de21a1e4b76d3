"""Several models of one training on labelled pairs, a seed each."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.training.pair_run import train_on


def test_seeds_are_summed_up_and_differ(tiny_base, files, tmp_path):
    train_on("bi-encoder", tiny_base, tmp_path / "out", *files, seeds=3, seed=5, epochs=1)
    summary = json.loads((tmp_path / "out/results.json").read_text())
    single = [json.loads((tmp_path / f"out/seed-{seed}/results.json").read_text()) for seed in (5, 6, 7)]
    values = [one["agreement"][1]["after"] for one in single]
    assert summary["seeds"] == [5, 6, 7]
    assert len(set(values)) > 1
    assert summary["agreement"][1]["after"] == pytest.approx(np.mean(values))
    assert summary["agreement"][1]["sd"] == pytest.approx(np.std(values, ddof=1))
    assert summary["agreement"][1]["high"] == max(one["agreement"][1]["high"] for one in single)


def test_the_base_is_scored_once_for_all_seeds(tiny_base, files, tmp_path, monkeypatch):
    from assay.training.pairwise import job

    seen, score = [], job.score_rows
    monkeypatch.setattr(job, "score_rows", lambda loss, rows: seen.append(len(rows)) or score(loss, rows))
    train_on("bi-encoder", tiny_base, tmp_path / "out", *files, seeds=2, seed=5, epochs=1)
    single = [json.loads((tmp_path / f"out/seed-{seed}/results.json").read_text()) for seed in (5, 6)]
    train_on("bi-encoder", tiny_base, tmp_path / "alone", *files, seed=6, epochs=1)
    alone = json.loads((tmp_path / "alone/results.json").read_text())
    assert len(seen) == 2  # once for both, once for the last
    assert single[1]["agreement"] == alone["agreement"]


def test_seeds_can_be_compared(tiny_base, files, tmp_path):
    import assay

    for name, rate in (("slow", 1e-5), ("fast", 1e-3)):
        train_on("bi-encoder", tiny_base, tmp_path / name, *files, seeds=3, epochs=1, learning_rate=rate)
    found = assay.significance([str(tmp_path / "slow"), str(tmp_path / "fast")])
    assert {"slow", "fast"} <= set(found.to_csv().replace("\n", ",").split(","))
