"""Almost stochastic order: against deepsig, closed forms, direction of the correction, errors under the null."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from assay.statistics.significance import almost_stochastic_order, corrected_confidence, draw_resamples, violation_ratio

A = np.array([0.812, 0.806, 0.821, 0.798, 0.815, 0.809, 0.803, 0.818, 0.811, 0.807])
B = np.array([0.801, 0.808, 0.795, 0.804, 0.799, 0.812, 0.797, 0.802, 0.806, 0.793])
C = np.array([0.71, 0.74, 0.69, 0.75, 0.72, 0.705, 0.733])
D = np.array([0.722, 0.70, 0.741, 0.715, 0.698])
E = np.array([0.70, 0.71, 0.725, 0.73, 0.74, 0.742, 0.75, 0.80])
F = np.array([0.69, 0.715, 0.72, 0.735, 0.738, 0.745, 0.748, 0.80])


def order(first, second, *, confidence=0.95, resamples=1000, comparisons=1):
    drawn = [draw_resamples(values, resamples, (0, place)) for place, values in enumerate((first, second))]
    return almost_stochastic_order([first, second], drawn, [(0, 1)], confidence=confidence, comparisons=comparisons)[0]


def test_the_ratio_is_that_of_deepsig_where_its_grid_is_exact():
    # deepsig 1.2.8: compute_violation_ratio(E, F, dt=1 / 1024). Its grid is t = dt, 2 dt, ... < 1, and its numerator
    # leaves the first point out: nothing is lost where n divides 1 / dt, the lowest values do not violate and the
    # highest are equal, as here.
    assert violation_ratio(E, F) == pytest.approx(0.30729166666666663, abs=1e-14)


@pytest.mark.parametrize(
    ("first", "second", "by_step"),
    [
        # deepsig 1.2.8: [compute_violation_ratio(first, second, dt=dt) for dt in (.005, .001, .0001, .00001)]
        (B, A, (0.9982188657737247, 0.9996450678630245, 0.9999645357876462, 0.9999964538685175)),
        (C, D, (0.09982862039417306, 0.10580573975314522, 0.10727657214171811, 0.10741440757240069)),
        (D, C, (0.8967437874892887, 0.8935019417370704, 0.8926540941551688, 0.8925786576772075)),
    ],
)
def test_the_grid_of_deepsig_converges_to_the_integral(first, second, by_step):
    errors = np.abs(np.array(by_step) - violation_ratio(first, second))
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 2e-5


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # deepsig 1.2.8: aso(first, second, confidence_level=.95, num_bootstrap_iterations=1000, dt=.0002, seed=0)
        (A, B, 0.06752169842069444),
        (B, A, 1.0),
        (C, D, 0.662696018659634),
        (D, C, 1.0),
    ],
)
def test_the_bound_is_that_of_deepsig_on_its_draws(first, second, expected):
    drawn = deepsig_draws(first, second, 1000)
    found = almost_stochastic_order([first, second], drawn, [(0, 1)], confidence=0.95)[0]
    assert found.better == pytest.approx(expected, abs=1e-3)


def test_the_coarse_default_grid_of_deepsig_is_not_followed():
    # deepsig 1.2.8: aso(C, D, confidence_level=.95, num_bootstrap_iterations=1000, seed=0), with dt=.005
    drawn = deepsig_draws(C, D, 1000)
    found = almost_stochastic_order([C, D], drawn, [(0, 1)], confidence=0.95)[0]
    assert found.better - 0.6515338569045196 == pytest.approx(0.012, abs=5e-4)


def deepsig_draws(first, second, resamples):
    """Draw as deepsig does: in iteration i NumPy's old generator is seeded with i + 1, and quantiles are looked up."""
    drawn = ([], [])
    for seed in range(1, resamples + 1):
        rng = np.random.RandomState(seed)
        for values, kept in zip((first, second), drawn, strict=True):
            places = np.ceil(len(values) * rng.uniform(0, 1, len(values))).astype(int) - 1
            kept.append(np.sort(values)[places])
    return [np.array(kept) for kept in drawn]


def test_own_draws_give_the_same_bound_as_those_of_deepsig():
    # deepsig 1.2.8: aso(A, B, confidence_level=.95, num_bootstrap_iterations=20000, dt=.002, seed=1). The ratio is 0 in
    # most resamples and large in a few (kurtosis 300): the standard error of its deviation, .03 sqrt(300 / 4 / draws),
    # times 1.645 is .003 for deepsig's draws and .0014 for these
    assert order(A, B, resamples=100_000).better == pytest.approx(0.05604631448502049, abs=0.01)


def test_point_masses():
    one, other = np.full(3, 0.8), np.full(5, 0.7)
    assert order(one, other).better == 0
    assert order(one, other).worse == 1
    equal = order(one, np.full(4, 0.8))
    assert (equal.ratio, equal.better, equal.worse) == (0.5, 0.5, 0.5)


def test_rounding_noise_is_no_order():
    assert violation_ratio(np.full(3, 0.1 + 0.2), np.full(3, 0.3)) == 0.5


def test_hand_computed_sizes_that_differ():
    # F: 1 up to t = 1/2, then 4; G: 2 up to 1/3, 3 up to 2/3, then 3.5. Pieces [0, 1/3], [1/3, 1/2], [1/2, 2/3],
    # [2/3, 1] with G - F = 1, 2, -1, -.5: violated 1/3 + 4/6 = 1, all 1 + 1/6 + .25/3 = 1.25
    assert violation_ratio(np.array([4.0, 1.0]), np.array([3.5, 2.0, 3.0])) == pytest.approx(0.8, abs=1e-14)


@pytest.mark.parametrize(("shift", "scale"), [(0.3, 1.0), (0.5, 2.0), (1.0, 0.5)])
def test_normal_distributions(shift, scale):
    """G - F = (1 - scale) z - shift at t = Phi(z); the integrals over z are taken by quadrature."""

    def gap(z):
        return (1 - scale) * z - shift

    def density(z):
        return max(gap(z), 0.0) ** 2 * stats.norm.pdf(z)

    violated = integrate.quad(density, -12, 12, points=[shift / (1 - scale)] if scale != 1 else None, limit=200)[0]
    expected = violated / ((1 - scale) ** 2 + shift**2)
    grid = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert violation_ratio(shift + scale * grid, grid) == pytest.approx(expected, abs=1e-3)
    assert violation_ratio(grid, shift + scale * grid) == pytest.approx(1 - expected, abs=1e-3)


def test_unchanged_by_scale_and_place():
    assert violation_ratio(3 * C + 5, 3 * D + 5) == pytest.approx(float(violation_ratio(C, D)), abs=1e-9)


def test_more_comparisons_are_stricter():
    levels = [corrected_confidence(0.95, comparisons) for comparisons in (1, 2, 3, 10, 100)]
    # for two comparisons deepsig 1.2.8 agrees (.975); for ten it takes .955, where Bonferroni is .995
    assert levels == pytest.approx([0.95, 0.975, 1 - 0.05 / 3, 0.995, 0.9995])
    bounds = [order(A, B, comparisons=comparisons).better for comparisons in (1, 2, 3, 10, 100)]
    assert (np.diff(bounds) > 0).all()


def test_many_couples_at_once_are_those_one_by_one():
    rng = np.random.default_rng(0)
    samples = [rng.normal(size=size) for size in (3, 5, 5, 10, 10, 10)]
    drawn = [draw_resamples(values, 500, (0, place)) for place, values in enumerate(samples)]
    couples = [(one, other) for one in range(6) for other in range(6) if one != other]
    together = almost_stochastic_order(samples, drawn, couples, confidence=0.99, comparisons=30)
    alone = [almost_stochastic_order(samples, drawn, [one], confidence=0.99, comparisons=30)[0] for one in couples]
    assert together == alone
    by_couple = dict(zip(couples, together, strict=True))
    for one, other in couples:
        assert by_couple[one, other].better == pytest.approx(by_couple[other, one].worse, abs=1e-12)


def test_resamples_are_drawn_evenly():
    drawn = draw_resamples(np.array([1.0, 2.0, 4.0]), 100_000, (3,))
    assert drawn.shape == (100_000, 3)
    shares = [(drawn == value).mean() for value in (1.0, 2.0, 4.0)]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.005)
    assert (draw_resamples(np.array([1.0, 2.0, 4.0]), 10, (3,)) == drawn[:10]).all()


@pytest.mark.parametrize(
    ("seeds", "below_fifth", "below_half"), [(3, 0.073, 0.152), (5, 0.038, 0.113), (10, 0.020, 0.101)]
)
def test_errors_under_the_null(seeds, below_fifth, below_half):
    """2,000 couples of equal normal systems at level .99; expected: 4,000 couples with 1,000 resamples each."""
    rng = np.random.default_rng(1)
    samples = list(rng.normal(size=(4000, seeds)))
    drawn = [draw_resamples(values, 200, (0, place)) for place, values in enumerate(samples)]
    couples = [(place, place + 2000) for place in range(2000)]
    found = almost_stochastic_order(samples, drawn, couples, confidence=0.99)
    # three standard errors of a share p of 2,000: .0123 at .035, .021 at .11
    assert np.mean([one.better < 0.2 for one in found]) == pytest.approx(below_fifth, abs=0.017)
    assert np.mean([one.better < 0.5 for one in found]) == pytest.approx(below_half, abs=0.025)
