"""BERTScore as the measure of a training and the objective of a search: what the metric gives on the same pairs."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from assay.training.pairwise.settings import PairSettings
from assay.training.tuning.settings import TuneSettings
from tests.training.pair_run import curve, train_on
from tests.training.tune_run import search_on


def spearman_of(metric, file):
    table = pq.read_table(file).to_pydict()
    scores = load_metric(metric).score(Batch(table["reference"], table["candidate"]))
    return float(stats.spearmanr(np.asarray(scores), table["label"]).statistic)


def test_the_step_with_the_best_bertscore_is_kept(tiny_base, files, tmp_path):
    out = tmp_path / "out"
    train_on("bi-encoder", tiny_base, out, *files, measure="bertscore")
    facts = json.loads((out / "training.json").read_text())
    rows = curve(out)
    best = max(rows, key=lambda row: float(row["dev_bertscore"]))
    assert facts["best_step"] == int(best["step"])
    # the metric on the written model, which reads it with other code
    assert facts["best"]["dev_bertscore"] == pytest.approx(spearman_of(f"bertscore:{out}", files[1]), abs=1e-6)
    assert facts["best"]["dev_bertscore"] != pytest.approx(float(best["dev_spearman"]), abs=1e-3)


def test_a_search_by_bertscore(tiny_base, files, tmp_path):
    pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")
    _, found = search_on(tiny_base, tmp_path / "out", files, objective="bertscore", trials=2)
    best = max(found["trials"], key=lambda trial: trial["value"])
    assert found["winner"] == best["number"]
    assert best["value"] == pytest.approx(spearman_of(f"bertscore:{tmp_path / 'out'}", files[1]), abs=1e-6)


def test_only_a_bi_encoder_has_token_embeddings_of_its_own():
    said = "bertscore: needs token embeddings of single texts; train a bi-encoder"
    with pytest.raises(InputError, match=f"measure={said}"):
        PairSettings("cross-encoder", "base", "pairs", "out", measure="bertscore")
    with pytest.raises(InputError, match=said):
        TuneSettings("cross-encoder", "base", "pairs", "out", objective="bertscore").search()
    with pytest.raises(InputError, match="measure: must be the objective, which is bertscore"):
        TuneSettings("bi-encoder", "base", "pairs", "out", objective="bertscore", measure="spearman").search()
