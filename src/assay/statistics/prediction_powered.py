"""Means of labels that few answers have, from the scores of a metric that all answers have: prediction-powered means.

The mean of the predictions on many new answers says what the metric thinks; the mean error of the predictions on
labelled answers says how far it is off. Their sum is the mean label of the new answers, whatever the metric is worth: a
good metric makes the interval narrow, a bad one leaves what the labels alone say. Labelled and new answers must be
drawn from the same kind of answers, or the labelled ones with known probabilities.

Sources: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Prediction-Powered Inference (2023), and Angelopoulos, Duchi &
Zrnic, PPI++: Efficient Prediction-Powered Inference (2023), for the estimate, its variance and the weight of the
predictions (power tuning, equation 8); Rogan & Gladen, Estimating Prevalence from the Results of a Screening Test
(1978), and Lang & Reiczigel, Confidence Limits for Prevalence of Disease Adjusted for Estimated Sensitivity and
Specificity (2014), for shares from decisions between yes and no; Korn & Graubard (1998) as in
:mod:`assay.statistics.shares`, for shares with an effective sample size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from assay.statistics.concordance import Floats

#: The fewest answers that are drawn from a stratum, so that no part of the answers is never looked at.
FEWEST_DRAWN = 2
#: Parameters that were learned from the labelled answers, which make their errors too small.
_LEARNED = 2


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """n labelled answers with the predictions of their labels.

    Attributes:
        labels: the labels, shape (n,), finite.
        predictions: the predicted labels, shape (n,), finite.
        weights: what each answer stands for, shape (n,), above 0: one over the probability with which it was drawn.
        groups: codes of groups of dependent answers, shape (n,), shared with the new answers.
        strata: codes of the strata that the answers were drawn from, shape (n,); one code if they were drawn from all.
    """

    labels: Floats
    predictions: Floats
    weights: Floats
    groups: NDArray[np.intp]
    strata: NDArray[np.intp]

    def of(self, mask: NDArray[np.bool_]) -> LabelledSample:
        """Return the answers of a mask, shape (n,)."""
        return LabelledSample(*(getattr(self, field.name)[mask] for field in fields(self)))

    @property
    def units(self) -> int:
        """The number of independent units: groups, or answers where each is a group of its own."""
        return len(np.unique(self.groups))

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of *values* of the answers, shape (n,)."""
        return float(np.average(values, weights=self.weights))

    def centred(self, values: Floats) -> Floats:
        """Return *values* of the answers, shape (n,), less the mean of their stratum, in which alone they vary.

        A stratum of which one answer was drawn shows no variation; there the mean of all is taken.
        """
        centred: Floats = values - self.mean(values)
        for stratum in np.unique(self.strata):
            rows = np.flatnonzero(self.strata == stratum)
            if len(rows) > 1:
                # the answers of a stratum vary less about their own mean; PoweredMean allows for that of a single one
                inflation = np.sqrt(len(rows) / (len(rows) - 1)) if len(rows) < len(values) else 1.0
                centred[rows] = (values[rows] - np.average(values[rows], weights=self.weights[rows])) * inflation
        return centred


@dataclass(frozen=True, eq=False)
class NewSample:
    """N answers without labels.

    Attributes:
        predictions: the predicted labels, shape (N,), finite.
        groups: codes of groups of dependent answers, shape (N,), shared with the labelled answers.
    """

    predictions: Floats
    groups: NDArray[np.intp]

    def of(self, mask: NDArray[np.bool_]) -> NewSample:
        """Return the answers of a mask, shape (N,)."""
        return NewSample(self.predictions[mask], self.groups[mask])


@dataclass(frozen=True, eq=False)
class PoweredMean:
    """An estimated mean, and what each group adds to its error.

    Attributes:
        value: the estimate.
        by_group: the sum over each group of the influences of its answers on the estimate, by the group's code; zero
            for groups that are not involved.
        units: the number of independent labelled units.
        power: the weight of the predictions, in [0, 1]: 0 if the labels alone count.
        step: the influence of one labelled unit that the metric judges wrongly, see :attr:`variance`.
    """

    value: float
    by_group: Floats
    units: int
    power: float
    step: float

    @property
    def variance(self) -> float:
        """The variance of the estimate: the squared influences of groups, and of one more unit that is judged wrongly.

        Few errors in a small sample, or none, show less than there are. With one more, intervals of shares keep their
        level from 50 labels on (``python -m tests.simulations.rate``).
        """
        return self._scaled(float(np.square(self.by_group).sum())) + self.step**2

    @property
    def plain_variance(self) -> float:
        """The variance of the estimate without the further unit."""
        return self._scaled(float(np.square(self.by_group).sum()))

    def _scaled(self, total: float) -> float:
        return total * self.units / max(self.units - _LEARNED, 1)

    def minus(self, other: PoweredMean) -> PoweredMean:
        """Return the difference from another estimate, on the same codes of groups; shared groups cancel out.

        Its units and its power are the smaller ones of both.
        """
        return PoweredMean(
            self.value - other.value,
            self.by_group - other.by_group,
            min(self.units, other.units),
            min(self.power, other.power),
            math.hypot(self.step, other.step),
        )

    def t_interval(self, confidence: float) -> tuple[float, float]:
        """Return the bounds of Student's interval at a level in (0, 1), for means of grades and for differences."""
        half_width = _t_quantile(self.units - 1, confidence) * math.sqrt(self.variance)
        return self.value - half_width, self.value + half_width

    def share_interval(self, confidence: float) -> tuple[float, float]:
        """Return the bounds of Wilson's interval, in [0, 1], of a share at a level in (0, 1).

        The sample size is the number of labelled answers whose share alone would have the same variance. It is taken at
        a share that one answer of each kind is added to, and the normal quantile is Student's for the units.
        """
        share = min(max(self.value, 0.0), 1.0)
        smoothed = (share * self.units + 1) / (self.units + 2)
        size = smoothed * (1 - smoothed) / self.variance
        squared = _t_quantile(self.units - 1, confidence) ** 2
        centre = (share + squared / (2 * size)) / (1 + squared / size)
        spread = math.sqrt(squared * share * (1 - share) / size + (squared / (2 * size)) ** 2)
        half_width = spread / (1 + squared / size)
        return max(0.0, centre - half_width), min(1.0, centre + half_width)


def powered_mean(
    labelled: LabelledSample, new: NewSample, *, group_count: int, power: float | None = None
) -> PoweredMean:
    """Return the mean label of the kind of answers that both samples are drawn from (PPI++, equation 3).

    Args:
        labelled: n labelled answers, at least one.
        new: N new answers, at least one.
        group_count: the number of group codes; both samples use codes below it.
        power: the weight of the predictions, in [0, 1]; None for the one with the smallest variance. 0 gives the mean
            of the labels alone; 1 trusts the predictions to move with the answers, which is needed if the new answers
            come from another system than the labelled ones.
    """
    weight = best_power(labelled, new) if power is None else power
    errors = labelled.labels - weight * labelled.predictions
    error = labelled.mean(errors)
    predicted = weight * float(new.predictions.mean())
    by_group = np.zeros(group_count)
    shares = labelled.weights / labelled.weights.sum()
    np.add.at(by_group, labelled.groups, shares * labelled.centred(errors))
    np.add.at(by_group, new.groups, (weight * new.predictions - predicted) / len(new.predictions))
    units = labelled.units
    return PoweredMean(predicted + error, by_group, units, weight, 1 / max(units - _LEARNED / 2, 1.0))


def weighted_sum(means: Sequence[PoweredMean], weights: Sequence[float]) -> PoweredMean:
    """Return the estimate for answers of several parts, such as systems, from those of the parts.

    Args:
        means: the estimates of the parts, at least one, on the same codes of groups.
        weights: the share of each part among the answers, which add up to 1.
    """
    weighted = list(zip(weights, means, strict=True))
    return PoweredMean(
        value=float(np.dot(weights, [mean.value for mean in means])),
        by_group=np.sum([weight * mean.by_group for weight, mean in weighted], axis=0),
        units=sum(mean.units for mean in means),
        power=float(np.dot(weights, [mean.power for mean in means])),
        step=math.hypot(*(weight * mean.step for weight, mean in weighted)),
    )


def best_power(labelled: LabelledSample, new: NewSample) -> float:
    """Return the weight of the predictions, in [0, 1], that makes the variance smallest (PPI++, equation 8).

    With n labelled and N new answers it is cov(label, prediction) / ((1 + n / N) var(prediction)), where the variance
    is taken over all predictions; it is 0 if they do not vary.
    """
    predictions = np.concatenate([labelled.predictions, new.predictions])
    variance = float(predictions.var(ddof=1)) if len(predictions) > 1 else 0.0
    # predictions that vary by rounding alone say nothing
    if not variance > 1e-12 * max(1.0, float(np.square(predictions).max())):
        return 0.0
    centred = labelled.predictions - labelled.mean(labelled.predictions)
    covariance = labelled.mean((labelled.labels - labelled.mean(labelled.labels)) * centred)
    return min(1.0, max(0.0, covariance / ((1 + len(labelled.labels) / len(new.predictions)) * variance)))


def labels_alone(labelled: LabelledSample, *, group_count: int) -> PoweredMean:
    """Return the mean of the labels, which a metric has to improve on."""
    nothing = NewSample(np.zeros(1), np.zeros(1, dtype=np.intp))
    return powered_mean(labelled, nothing, group_count=group_count, power=0.0)


@dataclass(frozen=True)
class ShareOfDecisions:
    """A share of yes, corrected for the errors of decisions between yes and no.

    Attributes:
        value: the share, in [0, 1].
        low, high: the bounds of its interval.
        sensitivity, specificity: the shares of yes and of no that the decisions find, among the labelled answers.
    """

    value: float
    low: float
    high: float
    sensitivity: float
    specificity: float


def rogan_gladen(
    is_yes: NDArray[np.bool_],
    decided: NDArray[np.bool_],
    new_share: float,
    new_count: int,
    confidence: float,
    weights: Floats | None = None,
) -> ShareOfDecisions | None:
    """Return the share of yes among new answers that holds whatever share of yes the labelled sample has.

    It needs only that the decisions find yes and no as often among the new answers as among the labelled ones, so that
    these may be half right and half wrong by design. The interval is that of Lang & Reiczigel (2014).

    Args:
        is_yes: what people said of n labelled answers, shape (n,).
        decided: what the threshold says of them, shape (n,).
        new_share: the share of yes that the threshold says of the new answers.
        new_count: the number of new answers, or of groups of them.
        confidence: the level of the interval, in (0, 1).
        weights: what each labelled answer stands for, shape (n,); None if all are alike.

    Returns:
        The share; None if the decisions are no better than chance on the labelled answers, or hardly, if these are
        all yes or all no, and if no share explains the decisions on the new answers: the interval is below 0 or above
        1, so that the decisions are not right as often of these.
    """
    has_one_kind = is_yes.all() or not is_yes.any()
    if has_one_kind:
        return None
    answer_weights = np.ones(len(is_yes)) if weights is None else weights
    yes_weights, no_weights = answer_weights[is_yes], answer_weights[~is_yes]
    # Kish's number of answers with equal weights that tell as much
    yes_count = float(yes_weights.sum() ** 2 / np.square(yes_weights).sum())
    no_count = float(no_weights.sum() ** 2 / np.square(no_weights).sum())
    sensitivity = float(np.average(decided[is_yes], weights=yes_weights))
    specificity = float(np.average(~decided[~is_yes], weights=no_weights))
    if sensitivity + specificity <= 1:
        return None
    value = min(1.0, max(0.0, (new_share + specificity - 1) / (sensitivity + specificity - 1)))
    z = normal_quantile(confidence)
    # one more answer of each kind found and missed, and z² more new answers, half of them yes
    found_yes = (yes_count * sensitivity + 1) / (yes_count + 2)
    found_no = (no_count * specificity + 1) / (no_count + 2)
    observed = (new_count * new_share + z * z / 2) / (new_count + z * z)
    youden = found_yes + found_no - 1
    if youden <= 0:
        return None
    share = (observed + found_no - 1) / youden
    # the variances of the observed share, of sensitivity and of specificity, in units of the share
    yes_variance = found_yes * (1 - found_yes) / (yes_count + 2)
    no_variance = found_no * (1 - found_no) / (no_count + 2)
    observed_variance = observed * (1 - observed) / (new_count + z * z)
    shift = 2 * z * z * (share * yes_variance - (1 - share) * no_variance)
    error = math.sqrt(observed_variance + share**2 * yes_variance + (1 - share) ** 2 * no_variance) / youden
    low, high = share + shift - z * error, share + shift + z * error
    if high < 0 or low > 1:
        return None
    return ShareOfDecisions(value, min(max(0.0, low), value), max(min(1.0, high), value), sensitivity, specificity)


def neyman_allocation(sizes: Sequence[int], deviations: Sequence[float], total: int) -> list[int]:
    """Return how many answers to draw from each stratum so that the variance of the mean is smallest.

    The numbers are in proportion to size times standard deviation of the labels (Neyman 1934), at least
    :data:`FEWEST_DRAWN` and at most the size of each stratum. They add up to *total*, or to all answers if
    there are fewer; the least numbers may add up to more than *total*.

    Args:
        sizes: the number of answers of each stratum, above 0.
        deviations: the expected standard deviation of the labels of each stratum, at least 0.
        total: the number of answers to draw.
    """
    counts = np.minimum(np.asarray(sizes), FEWEST_DRAWN).astype(float)
    # a stratum whose labels are not expected to vary is still drawn from once the others are used up
    weights = np.asarray(sizes, dtype=float) * np.maximum(np.asarray(deviations, dtype=float), 1e-6)
    goal = min(total, int(np.sum(sizes)))
    while (remaining := goal - counts.sum()) > 0:
        # strata that are drawn whole take no more, so that the others share what is left
        open_strata = counts < sizes
        shares = np.where(open_strata, weights, 0.0)
        target = np.minimum(counts + remaining * shares / shares.sum(), sizes)
        if np.floor(target - counts).sum() == 0:
            best = np.argmax(np.where(open_strata, target - counts, -1.0))
            counts[best] += 1
        else:
            counts += np.floor(target - counts)
    return [int(count) for count in counts]


def normal_quantile(confidence: float) -> float:
    """Return the quantile of the normal distribution for a two-sided interval of a level in (0, 1)."""
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def _t_quantile(degrees: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(max(degrees, 1), (1 + confidence) / 2))
