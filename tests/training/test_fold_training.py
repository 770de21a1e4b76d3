"""Cross-validation of a model that is trained anew for every fold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from assay import api
from assay.errors import InputError
from assay.training.pairwise import validating
from assay.training.pairwise.validating import read_recipe


@pytest.fixture
def told(monkeypatch):
    """Rows trained on and tested by every training that was really done."""
    seen = []
    fit = validating.fit

    def spy(job, *others):
        seen.append({name: set(one.rows.tolist()) for name, one in job.sets.items()})
        return fit(job, *others)

    monkeypatch.setattr(validating, "fit", spy)
    return seen


def test_every_fold_is_tested_by_a_model_of_the_others(tiny_base, pairs_file, tmp_path, monkeypatch, told):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    path = pairs_file(60, 1)
    asked = {"datasets": path, "train": f"bi-encoder:{tiny_base},epochs=1,batch_size=16", "folds": 3, "threads": 1}
    first = api.crossval(**asked)
    assert len(told) == 3
    assert sorted(row for one in told for row in one["test"]) == list(range(1, 61))
    for one in told:
        assert not one["test"] & (one["train"] | one["dev"])
        assert not one["train"] & one["dev"]
    # killed or not, nothing is trained twice
    again = api.crossval(**asked)
    assert len(told) == 3
    assert again.to_json() == first.to_json()
    assert not [place for place in (tmp_path / "cache" / "crossval").iterdir() if place.is_dir()]


def test_a_source_left_out_is_not_trained_on(tiny_base, pairs_file, tmp_path, monkeypatch, told):
    import pyarrow as pa

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows = pq.read_table(pairs_file(60, 1)).to_pylist()
    path = tmp_path / "sources.parquet"
    pq.write_table(pa.Table.from_pylist([row | {"source": f"s{k % 2}"} for k, row in enumerate(rows)]), path)
    recipe = f"cross-encoder:{tiny_base},epochs=1,batch_size=16"
    api.crossval(datasets=str(path), train=recipe, folds=2, by="source", threads=1)
    odd = set(range(1, 61, 2))
    assert [one["test"] for one in told[2:]] == [odd, set(range(2, 61, 2))]
    assert all(one["train"].isdisjoint(one["test"]) for one in told)


def test_scores_are_those_of_the_model(tiny_base, pairs_file, tmp_path, monkeypatch):
    """Nothing is learned at a rate of 0, so that folds give what the base gives."""
    from training_run import Slow

    from assay.metrics import Batch, load_metric
    from assay.metrics.neural.runtime import Runtime
    from assay.training.data import load_examples

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    examples = load_examples([pairs_file(40, 1)], limit=None)
    settings = read_recipe(f"bi-encoder:{tiny_base},epochs=1,learning_rate=1e-12")
    train = validating.FoldTrainer(settings, examples, Runtime(device="cpu", threads=1), Slow())
    rows = np.arange(40)
    scores = train(rows[:30], rows[30:])
    expected = load_metric(f"bi-encoder:{tiny_base}").score(Batch(examples.references[30:], examples.candidates[30:]))
    assert scores == pytest.approx(np.asarray(expected), abs=1e-5)


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        ("boosting:x", "expected RECIPE:BASE"),
        ("bi-encoder", "expected RECIPE:BASE"),
        ("bi-encoder:x,epoch=2", "there is no setting 'epoch'"),
        ("bi-encoder:x,epochs=two", "epochs=two is no int"),
        ("bi-encoder:x,epochs=0", "--epochs 0: must be at least 1"),
        ("cross-encoder:x,loss=cosine", "must be one of bce, mse"),
    ],
)
def test_a_recipe_that_cannot_be_read(recipe, told):
    with pytest.raises(InputError, match=told):
        read_recipe(recipe)


def test_the_baseline_stands_beside(tiny_base, pairs_file, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    recipe = f"bi-encoder:{tiny_base},epochs=1"
    found = api.crossval(datasets=pairs_file(40, 1), train=recipe, folds=2, threads=1)
    assert {"dice", recipe} == set(found.records["metric"] if "metric" in found.records else found.records["method"])
    assert Path(tmp_path / "cache/crossval").is_dir()
