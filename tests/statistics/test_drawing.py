"""What may be asked of draws, wherever it is asked."""

from __future__ import annotations

import numpy as np
import pytest

from assay import bws, verify
from assay.analysis.check.settings import CheckSettings
from assay.analysis.compare import CompareSettings
from assay.analysis.crossval import CrossvalSettings
from assay.analysis.significance.testing import SignificanceSettings
from assay.analysis.thresholds.settings import ThresholdSettings
from assay.benchmark.request import Request
from assay.benchmark.runner import run as run_request
from assay.exceptions import InputError
from assay.settings import Resampling
from assay.statistics.crossvalidation import codes_of_groups


def request_of(**settings):
    return Request((), (), **settings)


def run_of(**settings):
    run_request(request := request_of(**settings), store=None)
    return request


NONE_ALLOWED = [Resampling, request_of, ThresholdSettings]
NEEDED = [CompareSettings, CheckSettings, SignificanceSettings]
SEEDED = [CrossvalSettings, lambda seed: verify("nowhere", seed=seed), lambda seed: bws("nowhere", seed=seed)]


@pytest.mark.parametrize("make", [*NONE_ALLOWED, *NEEDED, *SEEDED])
def test_a_seed_is_not_negative(make):
    with pytest.raises(InputError, match=r"^seed=-1: must not be negative$"):
        make(seed=-1)
    with pytest.raises(InputError, match=r"^seed=1.5: must be a whole number$"):
        make(seed=1.5)


def test_kinds_of_numbers():
    assert Resampling(resamples=np.int64(200), confidence=np.float64(0.9), seed=np.int64(3)).resamples == 200
    with pytest.raises(InputError, match=r"^resamples=150.5: must be a whole number$"):
        Resampling(resamples=150.5)
    with pytest.raises(InputError, match=r"^resamples=True: must be a whole number$"):
        Resampling(resamples=True)
    with pytest.raises(InputError, match=r"^confidence=x: must lie between"):
        Resampling(confidence="x")


@pytest.mark.parametrize("make", [*NONE_ALLOWED, *NEEDED])
@pytest.mark.parametrize("level", [0.01, 0.5, 1, 95, float("nan")])
def test_a_level_lies_between_a_half_and_one(make, level):
    with pytest.raises(InputError, match=rf"^confidence={level}: must lie between 0.5 and 1, such as 0.95$"):
        make(confidence=level)
    assert make(confidence=0.501).confidence == 0.501


#: What has percentile intervals; the tests of ``assay significance`` have bounds of another kind.
WITH_INTERVALS = [Resampling, run_of, ThresholdSettings, CompareSettings, CheckSettings]


@pytest.mark.parametrize("make", WITH_INTERVALS)
@pytest.mark.parametrize(("level", "needed"), [(0.95, 100), (0.99, 500), (0.995, 1000), (0.999, 5000)])
def test_draws_resolve_the_level(make, level, needed):
    # 2.5 draws beyond each bound: 2 x 2.5 / (1 - level)
    assert make(confidence=level, resamples=needed).confidence == level
    if needed > 100:
        beyond = f"{(needed - 1) * (1 - level) / 2:.1g}"
        with pytest.raises(InputError) as caught:
            make(confidence=level, resamples=needed - 1)
        assert str(caught.value) == (
            f"confidence={level}: {needed - 1:,} resamples leave {beyond} beyond each bound, too few to place it; "
            f"use `resamples={needed}` or more, or a lower level"
        )


def test_a_level_without_an_interval_needs_no_draws():
    assert Resampling(resamples=0, confidence=0.999999).resamples == 0
    assert SignificanceSettings(confidence=0.999999).resamples == 1000
    with pytest.raises(InputError, match=r"1,000 resamples leave 0.0005 beyond each bound.* `resamples=5000000` or"):
        Resampling(confidence=0.999999)


@pytest.mark.parametrize("make", [*NONE_ALLOWED, *NEEDED])
@pytest.mark.parametrize("draws", [-1, 1, 99])
def test_draws_are_a_hundred_or_more(make, draws):
    none = "; 0 for none" if make in NONE_ALLOWED else ""
    with pytest.raises(InputError, match=rf"^resamples={draws}: an interval or a test needs at least 100 draws{none}$"):
        make(resamples=draws)
    assert make(resamples=100).resamples == 100


def test_no_draws_and_too_many():
    assert [make(resamples=0).resamples for make in NONE_ALLOWED] == [0, 0, 0]
    for make in NEEDED:
        with pytest.raises(InputError, match=r"^resamples=0: .* at least 100 draws$"):
            make(resamples=0)
    with pytest.raises(InputError, match=r"^permutations=99: .* at least 100 draws; 0 for none$"):
        CompareSettings(permutations=99)
    assert SignificanceSettings(resamples=100_000).resamples == 100_000
    with pytest.raises(InputError, match=r"^resamples=100001: more than 100,000 draws tell no more$"):
        SignificanceSettings(resamples=100_001)


def test_groups_are_numbered_as_they_come_and_pairs_alone_after_them():
    names = ["b", "", "a", None, "b", "", 0]
    # b is 0, a is 1, the number 0 is a name and comes third; then the three pairs alone
    assert codes_of_groups(names).tolist() == [0, 3, 1, 4, 0, 5, 2]
    empty = codes_of_groups([])
    assert (empty.tolist(), empty.dtype) == ([], np.intp)
