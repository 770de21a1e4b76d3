"""What the tests of converted models share: the backends that are here, and what they do as it happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.metrics.neural.backends import acceptance, converted
from assay.metrics.neural.backends import cache as convert
from tests.metrics.neural.backends.converted_models import PACKAGES, need


@pytest.fixture(params=list(PACKAGES))
def backend(request: pytest.FixtureRequest) -> str:
    return need(request.param)


@pytest.fixture
def onnxruntime() -> str:
    return need("onnxruntime")


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The conversions, as they happen."""
    done: list[Path] = []
    keep = convert.keep_conversion

    def counted(model: str, key: Any, write: Callable[[Path], None]) -> Path:
        return keep(model, key, lambda part: (done.append(part), write(part))[1])

    monkeypatch.setattr(converted, "keep_conversion", counted)
    return done


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The passes over the check set, as they happen: one in torch and one in the backend for each acceptance."""
    done: list[object] = []
    scores = acceptance.check_set_scores
    monkeypatch.setattr(acceptance, "check_set_scores", lambda *given: (done.append(given), scores(*given))[1])
    return done
