"""Layouts of cross-encoders: what their files say is computed as the library does, or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.exceptions import InputError, UnavailableError
from assay.metrics import Batch, load_metric
from assay.metrics.scores import Flag
from assay.metrics.work import open_session
from tests.metrics.architectures import library_logits, make_model
from tests.metrics.layouts import (
    CROSS_LAYOUTS,
    LAYOUTS,
    change,
    logit_of_a_token,
    several_vectors,
    sparse,
    without_special_tokens,
)
from tests.metrics.neural.texts import pairs

BATCH = Batch([*pairs(10).references, "water " * 90], [*pairs(10).candidates, "fire " * 80])


@pytest.mark.parametrize("make", CROSS_LAYOUTS)
def test_a_layout_has_the_scores_of_the_library(make: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = make(tmp_path)
    expected = library_logits(folder, BATCH)
    assert expected.std() > 0.001
    metric = load_metric(f"cross-encoder:{folder}")
    metric.check_available()
    scores = open_session(metric.needs()).score([metric], BATCH)
    assert scores.values[:, 0] == pytest.approx(expected, abs=2e-5)
    if make is not logit_of_a_token:
        assert scores.flags[-1, 0] == Flag.REFERENCE_CUT
    both = load_metric(f"cross-encoder:{folder},order=mean,max_length=9")
    assert both.score(BATCH) == pytest.approx(both.score(BATCH.swapped()), abs=1e-6)
    assert abs(both.score(BATCH) - expected).max() > 0.001


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_decoder_without_a_padding_token_is_refused_with_a_remedy(name: str, tmp_path: Path) -> None:
    """As in the library, whose tokenizer cannot pad."""
    folder = make_model(tmp_path / "model", name, labels=1)
    change(folder / "tokenizer_config.json", pad_token=None)
    change(folder / "config.json", pad_token_id=None)
    with pytest.raises(UnavailableError, match="no padding token: add pad_token to tokenizer_config"):
        load_metric(f"cross-encoder:{folder}").score(BATCH)


@pytest.mark.parametrize("name", ["roberta-prelayernorm", "data2vec-text", "xmod", "bart"])
def test_positions_that_no_token_has_are_no_index_error(name: str, tmp_path: Path) -> None:
    folder = make_model(tmp_path / name, name, labels=1, max_length=None)
    metric = load_metric(f"cross-encoder:{folder}")
    assert metric.limit() == (70 if name == "bart" else 69)
    library_limit = library_logits(folder, BATCH, processor_kwargs={"model_max_length": metric.limit()})
    assert metric.score(BATCH) == pytest.approx(library_limit, abs=2e-5)


def test_another_backend_is_refused_where_the_library_computes(tmp_path: Path) -> None:
    folder = without_special_tokens(tmp_path)
    with pytest.raises(InputError, match=r"because of its setting processing_kwargs.* torch only; leave out backend"):
        load_metric(f"cross-encoder:{folder},backend=onnxruntime").needs()


@pytest.mark.parametrize("make", [*LAYOUTS, sparse, several_vectors])
def test_a_folder_is_trained_as_it_is_run_or_refused(make: Callable[[Path], Path], tmp_path: Path) -> None:
    from assay.training.models import load_bi_encoder, table_of_texts

    folder = make(tmp_path)
    try:
        model = load_bi_encoder(folder, "cpu")
    except UnavailableError as error:
        assert "\n" not in str(error) and "cannot be trained because" in str(error)
        return
    metric = load_metric(f"bi-encoder:{folder}")
    assert int(table_of_texts(model, ["water " * 100]).lengths.max()) == metric.limit()
    model.save(str(tmp_path / "trained"))
    trained = load_metric(f"bi-encoder:{tmp_path / 'trained'}").score(BATCH)
    assert trained == pytest.approx(metric.score(BATCH), abs=1e-6)


@pytest.mark.parametrize("make", CROSS_LAYOUTS)
def test_a_cross_encoder_is_trained_as_it_is_run_or_refused(make: Callable[[Path], Path], tmp_path: Path) -> None:
    from assay.training.models import load_cross_encoder

    folder = make(tmp_path)
    try:
        model = load_cross_encoder(folder, "cpu", outputs=1, activation=None, seed=0)
    except UnavailableError as error:
        assert "\n" not in str(error) and "cannot be trained because of" in str(error)
        return
    model.save(str(tmp_path / "trained"))
    trained = load_metric(f"cross-encoder:{tmp_path / 'trained'},activation=identity").score(BATCH)
    before = load_metric(f"cross-encoder:{folder},activation=identity").score(BATCH)
    assert trained == pytest.approx(before, abs=1e-6)
