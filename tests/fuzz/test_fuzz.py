"""Hostile input for every reader, parser and string metric: a little at every run, and all that ever failed.

``python -m tests.fuzz`` does the same for minutes.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.fuzz.running import CORPUS, failure_of
from tests.fuzz.targets import TARGETS

#: Inputs of each target; fewer where one takes long.
INPUTS = {"run-tables": 10, "run": 10, "dataset-name": 10, "card": 20, "parquet": 20, "metric-name": 20}
USUAL = 40


#: Targets that load something large, or keep a large input.
LARGE = ("categories", "csv")


@pytest.mark.parametrize(
    "target", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in TARGETS]
)
def test_what_failed_once(target, tmp_path):
    for path in sorted((CORPUS / target.replace(" ", "-")).glob("*")):
        assert failure_of(target, path.read_bytes(), tmp_path) is None, path


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_hostile_input(target, tmp_path_factory):
    folder = tmp_path_factory.mktemp("input")

    @settings(
        derandomize=True,
        max_examples=INPUTS.get(target, USUAL),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(some.randoms(use_true_random=False))
    def check(random):
        content = TARGETS[target].make(random)
        assert failure_of(target, content, folder) is None, content

    check()
