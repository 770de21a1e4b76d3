"""The stages that the measurement of large data credits name functions of assay."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter

import pytest

from tests.performance.large import STAGES


@pytest.mark.parametrize(("path", "stage"), STAGES)
def test_a_stage_names_a_function_that_exists(path, stage):
    module, _, name = path.partition(":")
    assert callable(attrgetter(name)(import_module(module)))
