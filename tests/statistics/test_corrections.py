"""Williams' test against worked values, and corrections for many tests against R."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.statistics.significance import adjust_p_values, williams


@pytest.mark.parametrize(
    ("correlations", "n", "t", "p"),
    [
        # Howell, Statistical Methods for Psychology, 6th edition, page 262
        ((0.80, 0.72, 0.89), 26, 1.361, 0.187),
        # Steiger (1980), as in the documentation of R's psych
        ((0.5, 0.4, 0.1), 103, 0.89, 0.37),
    ],
)
def test_williams_against_worked_values(correlations, n, t, p):
    found = williams(*correlations, n)
    assert found[0] == pytest.approx(t, abs=6e-3) and found[1] == pytest.approx(p, abs=6e-3)
    assert williams(correlations[1], correlations[0], correlations[2], n)[0] == pytest.approx(-found[0])


def test_williams_where_it_is_undefined():
    assert np.isnan(williams(0.5, 0.5, 1.0, 50)).all()
    assert np.isnan(williams(0.3, -0.3, -1.0, 20)).all() and np.isnan(williams(0.3, -0.3, -1 + 1e-15, 20)).all()
    assert np.isnan(williams(0.5, 0.4, 0.1, 3)).all() and np.isnan(williams(np.nan, 0.4, 0.1, 30)).all()


def test_corrections():
    p = np.array([0.01, 0.04, np.nan, 0.03, 0.005])
    # R: p.adjust(c(.01, .04, .03, .005), method)
    for method, expected in {
        "holm": [0.03, 0.06, np.nan, 0.06, 0.02],
        "bonferroni": [0.04, 0.16, np.nan, 0.12, 0.02],
        "benjamini-hochberg": [0.02, 0.04, np.nan, 0.04, 0.02],
        "none": p,
    }.items():
        assert adjust_p_values(p, method) == pytest.approx(np.array(expected), nan_ok=True)
    assert adjust_p_values(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
    assert len(adjust_p_values(np.array([]))) == 0


def test_holm_holds_the_family_wise_rate():
    """2,000 families of 20 true nulls, correlated as tests of one table are."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(2000, 1))
    p = 2 * stats.norm.sf(np.abs(np.sqrt(0.5) * shared + np.sqrt(0.5) * rng.normal(size=(2000, 20))))
    wrong = np.mean([(adjust_p_values(row) <= 0.05).any() for row in p])
    assert wrong <= 0.05
    assert np.mean((p <= 0.05).any(axis=1)) > 0.3, "without a correction"
