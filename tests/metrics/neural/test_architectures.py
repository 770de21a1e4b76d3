"""Architectures: a model with random weights gets the scores that its library gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.exceptions import UnavailableError
from assay.metrics import Batch, load_metric
from tests.metrics.architectures import (
    ARCHITECTURES,
    WITHOUT_LIBRARY,
    differences,
    library_cosines,
    library_logits,
    make_model,
)
from tests.metrics.neural.texts import pairs

#: The pairs of a test: short ones, and one whose texts are too long.
BATCH = Batch([*pairs(10).references, "water " * 90], [*pairs(10).candidates, "fire " * 80])


@pytest.mark.parametrize("name", ["t5", "mt5", "umt5", "longt5", "switch_transformers"])
def test_encoders_that_read_the_type_of_a_layer(name: str, tmp_path: Path) -> None:
    """They failed on a CPU, where layers are replaced by faster ones."""
    folder = make_model(tmp_path / name, name)
    expected = library_cosines(folder, BATCH)
    assert expected.std() > 0.05
    assert load_metric(f"bi-encoder:{folder}").score(BATCH) == pytest.approx(expected, abs=2e-5)


def test_a_cross_encoder_of_this_kind(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "t5", "t5", labels=1)
    expected = library_logits(folder, BATCH)
    assert load_metric(f"cross-encoder:{folder}").score(BATCH) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("name", sorted(ARCHITECTURES.keys() - WITHOUT_LIBRARY))
def test_the_scores_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    """The table of docs/architectures.md."""
    found = differences(name, tmp_path, BATCH)
    if name in ("convbert", "fnet", "mobilebert", "yoso"):
        # the package pads the shorter text of a pair, which changes the states of both
        del found["bertscore"]
    assert {metric: value for metric, value in found.items() if value is not None and value > 2e-5} == {}


@pytest.mark.parametrize("name", sorted(WITHOUT_LIBRARY))
def test_a_model_that_the_library_fills_at_random_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="weights of its architecture"):
        load_metric(f"bi-encoder:{make_model(tmp_path / name, name)}").score(BATCH)
