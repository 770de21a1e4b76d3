"""The statistics of agreement: their names and titles, their computation, and their chance levels.

All other code reads :data:`STATISTICS`: checks, help, tables, ceilings, tests, comparisons and the readers of run
folders. To add a statistic, write a function of :class:`ResampledScore` at the end of this file and register it;
nothing else has to change. Its own test belongs in ``tests/statistics``, where general tests also cover it.

NumPy is imported inside the functions, because ``assay --help`` reads this file.

Sources: Kendall, The treatment of ties in ranking problems (1945), for tau-b and the mid-rank form of Spearman's rho;
Stuart (1953) for tau-c; Somers, A new asymmetric measure of association for ordinal variables (1962), for D; Deutsch,
Foster & Freitag, Ties Matter (2023), for pairwise accuracy with tie calibration; BAMBOO 0.2 for pair accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Protocol

from assay.exceptions import InputError, unknown_name

if TYPE_CHECKING:
    from assay.statistics.auc_interval import ObservedValue
    from assay.statistics.cells import Ties
    from assay.statistics.concordance import Floats


class Comparisons(Protocol):
    """Comparisons of two pairs, counted under b resamples; all arrays have shape (b,).

    Ties are equal scores, or scores with a small difference: the same formulas serve both.
    """

    @property
    def score(self) -> Ties:
        """The ties of the score."""

    @property
    def label(self) -> Ties:
        """The ties of the label."""

    @property
    def balance(self) -> Floats:
        """The number of concordant less discordant comparisons."""

    @property
    def rank_product(self) -> Floats:
        """The sum of products of the centred mid-ranks of score and label."""

    @property
    def tied_in_both(self) -> Floats:
        """The number of comparisons that are ties in both score and label."""

    @property
    def comparisons(self) -> Floats:
        """The number of comparisons of two pairs, n (n - 1) / 2."""


class RankSums(Comparisons, Protocol):
    """The counts and sums that rank statistics are computed from, under b resamples; arrays have shape (b,)."""

    @property
    def score_levels(self) -> Floats:
        """The number of distinct scores in each resample."""

    @property
    def label_levels(self) -> Floats:
        """The number of distinct labels in each resample."""

    @property
    def total_label_levels(self) -> int:
        """The number of distinct labels of all pairs, drawn or not."""


class ResampledScore(Protocol):
    """One score and the labels under b resamples, as the counts and sums that statistics are computed from."""

    @property
    def rank_counts(self) -> RankSums:
        """The numbers of ties and levels, the concordant less discordant comparisons, and the rank products.

        There is one of each per resample, in arrays of shape (b,).
        """

    @property
    def calibrated(self) -> Comparisons:
        """The counts with differences up to a threshold as ties, see :mod:`~assay.statistics.tie_calibration`.

        They are NaN if there are too few pairs or groups to choose a threshold out of fold.
        """

    @property
    def product_moment(self) -> Floats:
        """Pearson's correlation, shape (b,), in [-1, 1]; NaN where score or label is constant."""

    @property
    def ordered_within_groups(self) -> Floats:
        """The share of the comparisons within groups that the score orders as the labels do, shape (b,), in [0, 1].

        It is NaN without groups, or if no group has two labels.
        """


class LabelKind(Enum):
    """The kind of labels that a statistic needs to be defined."""

    any = auto()  #: Two or more levels.
    binary = auto()  #: Exactly two levels.
    grouped = auto()  #: Two or more levels within a group of pairs.


@dataclass(frozen=True)
class Statistic:
    """One statistic of agreement between a score and labels; the highest value is 1.

    Attributes:
        name: the name on the command line and in run folders.
        title: the title in table headings, such as ``Kendall τ-b``.
        symbol: a short title for narrow columns, such as ``τ-b``.
        help: a description in a few words.
        compute: the function that returns the values under b resamples, shape (b,), NaN where undefined. For scores
            without ties it must be linear in the balance and the rank product of :class:`RankSums`: permutation tests
            rely on it, and ``tests/statistics/test_comparison.py`` checks it for every statistic without calibration.
        lowest: the lowest value, -1 or 0.
        labels: the kind of labels that the statistic is defined for.
        chance: the mean over all permutations of the labels: a number, or a function of the share of comparisons that
            are ties in the labels and of the share that are ties in the score.
        tied_labels_cap_it: whether tied labels keep a score without ties below 1 even if it orders them perfectly.
        interval: the function that returns the interval of an observed value at a level in (0, 1), for a statistic with
            a better interval than the percentiles of its resamples; else None.
        interval_name: the name of that interval in signatures and reports, one word.
        separates_rare_labels: whether tests of a difference take the pairs with a rare label as a sample of their own,
            see :meth:`~assay.statistics.jackknife.JackknifeVariance.of_differences`. Rank correlations keep their level
            without: the variance of their difference grows with it, since the number of rare labels varies as well.
        calibrates: the name of the statistic whose form with calibrated ties this one is, or an empty string. Such a
            statistic has no permutation test, since an exchange mixes two scores with different thresholds.
    """

    name: str
    title: str
    symbol: str
    help: str
    compute: Callable[[ResampledScore], Floats]
    lowest: float = -1.0
    labels: LabelKind = LabelKind.any
    chance: float | Callable[[float, float], float] = 0.0
    tied_labels_cap_it: bool = False
    interval: Callable[[ObservedValue, float], tuple[float, float]] | None = None
    interval_name: str = ""
    separates_rare_labels: bool = False
    calibrates: str = ""

    @property
    def is_calibrated(self) -> bool:
        """Whether score differences up to a threshold, which is chosen by the labels, are ties."""
        return bool(self.calibrates)

    def chance_level(self, label_ties: float | None, score_ties: float = 0.0) -> float | None:
        """Return the mean value of a score that is unrelated to the labels: the mean over permutations of the labels.

        Args:
            label_ties: the share of comparisons (pairs of items) that are ties in the labels, in [0, 1]; None if
                unknown.
            score_ties: the share of comparisons that are ties in the score; 0 for a score without ties.

        Returns:
            The level; None if it depends on the ties in the labels and these are unknown.
        """
        if not callable(self.chance):
            return self.chance
        return None if label_ties is None else self.chance(label_ties, score_ties)


# The registry.

#: All statistics by name, in the order of this file.
STATISTICS: Final[dict[str, Statistic]] = {}
#: The measures of decisions as classes, by their names in ``assay thresholds``: no coefficients of scores and labels.
CLASS_MEASURES: Final = ("accuracy", "f1", "f1-macro")
#: The statistics that are computed if none is named; see :func:`default_statistics`.
DEFAULT_STATISTICS: Final = ("pearson", "spearman", "kendall")
#: The statistic that comes first if labels have two values, and the reason in one line.
OF_TWO_LABELS: Final = "auc"
WHY_AUC: Final = (
    "two labels: AUC is the share of pairs of a higher and a lower label that the score orders rightly; ties in the "
    "labels cap rank correlations"
)
#: The statistic that comes first if labels are votes of yes and no that differ, and the reason in one line.
OF_VOTES: Final = "auc-votes"
WHY_AUC_OF_VOTES: Final = (
    "votes of yes and no: AUC (votes) is the share of comparisons of a pair with more and one with fewer votes of yes "
    "that the score orders rightly; ties in the labels cap rank correlations"
)


def register(statistic: Statistic) -> Statistic:
    """Add *statistic* to :data:`STATISTICS`, so that all verbs support it, and return it.

    Raises:
        ValueError: the name is already registered.
    """
    if statistic.name in STATISTICS:
        raise ValueError(f"there are two statistics called {statistic.name}")
    STATISTICS[statistic.name] = statistic
    return statistic


def check_statistics(names: Sequence[str]) -> tuple[str, ...]:
    """Return *names* without duplicates, or :data:`DEFAULT_STATISTICS` if there are none.

    Raises:
        InputError: an unknown name.
    """
    for name in names:
        if name not in STATISTICS:
            raise InputError(unknown_name("there is no statistic", name, STATISTICS))
    return tuple(dict.fromkeys(names or DEFAULT_STATISTICS))


def have_two_values(labels: Floats) -> bool:
    """Tell whether labels of shape (n,) have exactly two values; NaN, for a pair without a label, does not count."""
    import numpy as np

    return len(np.unique(labels[np.isfinite(labels)])) == 2


def default_statistics(of_votes: Sequence[str | bool | None]) -> tuple[str, ...]:
    """Return the default statistics, with the AUC if the labels of some datasets are yes and no.

    The AUC comes first if those of all datasets are, and last otherwise, since it is not the measure of the others.

    Args:
        of_votes: the deciding coefficient of each dataset by
            :func:`~assay.statistics.votes.deciding_statistic_of`; True stands for labels of two values, None or False
            for grades.
    """
    if not any(of_votes):
        return DEFAULT_STATISTICS
    area = _area_of(of_votes)
    return (area, *DEFAULT_STATISTICS) if all(of_votes) else (*DEFAULT_STATISTICS, area)


def deciding_statistic(of_votes: Sequence[str | bool | None], *, calibrate_ties: bool = False) -> str:
    """Return the coefficient that ranks metrics by default: an AUC if all labels are yes and no, else Spearman's.

    Args:
        of_votes: as in :func:`default_statistics`; without datasets, Spearman's is returned.
        calibrate_ties: whether ties are calibrated; the AUC has no such form, so that the result is then Spearman's.
    """
    if not of_votes or not all(of_votes) or calibrate_ties:
        return "spearman"
    return _area_of(of_votes)


def _area_of(of_votes: Sequence[str | bool | None]) -> str:
    """Return the AUC that fits all datasets of yes and no: for labels of two values, that of votes is the plain one."""
    return OF_VOTES if OF_VOTES in of_votes else OF_TWO_LABELS


def main_statistic(statistics: Sequence[str]) -> str:
    """Return the statistic to show first: the first of one or more *statistics*, unless Spearman's is among them.

    Spearman's is then returned, except if the first is an AUC.
    """
    if statistics[0] in (OF_TWO_LABELS, OF_VOTES) or "spearman" not in statistics:
        return statistics[0]
    return "spearman"


def statistics_help() -> str:
    """Return the help text of an option for names of statistics: the defaults, and the others with explanations."""
    described = []
    for statistic in STATISTICS.values():
        if statistic.name not in DEFAULT_STATISTICS:
            described.append(f"{statistic.name}: {statistic.help}")
    by_default = "by default; for two labels also auc, first, and auc-votes for votes of yes and no"
    return f"{', '.join(DEFAULT_STATISTICS)} ({by_default}); {'; '.join(described)}."


def calibrated_form(name: str) -> str | None:
    """Return the name of the form of a statistic with calibrated ties; None if it has no such form.

    The form of a calibrated statistic is the statistic itself.
    """
    for statistic in STATISTICS.values():
        if statistic.is_calibrated and name in (statistic.name, statistic.calibrates):
            return statistic.name
    return None


def calibrated_forms(names: Sequence[str]) -> tuple[str, ...]:
    """Return *names* without duplicates, each replaced by its form with calibrated ties if there is one."""
    return tuple(dict.fromkeys(calibrated_form(name) or name for name in names))


#: The name of the default intervals in a signature.
PERCENTILE: Final = "expanded-percentile"
#: The methods of intervals: chosen by the number of pairs, by resamples, or by influence values.
INTERVALS: Final = ("auto", "bootstrap", "influence")
#: With ``auto``, buckets of at least this many pairs have intervals from influence values. There the bootstrap of one
#: metric takes seconds, and both methods have the same coverage: ``docs/simulations.md`` has the simulation.
MIN_INFLUENCE_PAIRS: Final = 10_000

#: Pairs, or groups of pairs, that an interval needs.
MIN_UNITS: Final = 10
#: The power at which the smallest detectable difference is reported.
POWER: Final = 0.8
#: The note on a statistic that has no form in which other columns are held constant.
NO_PARTIAL: Final = "has no partial form"


def is_by_influence(interval: str, pairs: int) -> bool:
    """Tell whether intervals for this many pairs come from influence values; *interval* is one of :data:`INTERVALS`."""
    return interval == "influence" or (interval == "auto" and pairs >= MIN_INFLUENCE_PAIRS)


def has_permutation_tests(interval: str, pairs: int) -> bool:
    """Tell whether to run permutation tests: for fewer than :data:`MIN_INFLUENCE_PAIRS` pairs, or with the bootstrap.

    Args:
        interval: one of :data:`INTERVALS`.
        pairs: the number of pairs.
    """
    return interval == "bootstrap" or pairs < MIN_INFLUENCE_PAIRS


def influence_signature(interval: str, resamples: int, sizes: Sequence[int]) -> dict[str, str]:
    """Return the signature entry that says which intervals come from influence values; empty if none do.

    The value of the entry is ``all``, or ``n>=10000`` for those of large buckets.

    Args:
        interval: one of :data:`INTERVALS`.
        resamples: the number of resamples; 0 for no intervals.
        sizes: the number of pairs in each bucket.
    """
    by_influence = [is_by_influence(interval, pairs) for pairs in sizes]
    if not resamples or not any(by_influence):
        return {}
    return {"influence": "all" if all(by_influence) else f"n>={MIN_INFLUENCE_PAIRS}"}


def interval_method(names: Sequence[str]) -> str:
    """Return the interval methods of some statistics for a signature, such as ``expanded-percentile,auc=Newcombe``."""
    exceptions = [
        f",{name}={STATISTICS[name].interval_name}" for name in names if STATISTICS[name].interval is not None
    ]
    return PERCENTILE + "".join(exceptions)


def interval_words(method: str) -> str:
    """Return interval methods in words, such as ``expanded percentile; AUC: Newcombe``.

    Args:
        method: the methods in the form that :func:`interval_method` returns.
    """
    percentile, *exceptions = method.split(",")
    words = [percentile.replace("-", " ")]
    for assignment in exceptions:
        name, _, interval = assignment.partition("=")
        words.append(f"{title_of(name)}: {interval}")
    return "; ".join(words)


def title_of(name: str) -> str:
    """Return the title of a statistic; another name, such as ``accuracy`` in a table, is returned as it is."""
    return STATISTICS[name].title if name in STATISTICS else name


def symbol_of(name: str) -> str:
    """Return the symbol of a statistic; any other name is returned as it is."""
    return STATISTICS[name].symbol if name in STATISTICS else name


# Correlations, in [-1, 1].


def _pearson(score: ResampledScore) -> Floats:
    return score.product_moment


register(
    Statistic("pearson", "Pearson r", "r", "product-moment correlation", _pearson, separates_rare_labels=True),
)


def _spearman(score: ResampledScore) -> Floats:
    return _rho_of_counts(score.rank_counts)


def _rho_of_counts(counts: Comparisons) -> Floats:
    """Return Spearman's rho, which is Pearson's r of mid-ranks, shape (b,), in [-1, 1].

    It is NaN where the score or the label is constant.
    """
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(counts.score.rank_variation) * np.sqrt(counts.label.rank_variation)  # 0 for a constant
        rho: Floats = np.clip(counts.rank_product / spread, -1, 1)
    return rho


register(
    Statistic("spearman", "Spearman ρ", "ρ", "correlation of mid-ranks", _spearman, tied_labels_cap_it=True),
)


def _tau_b(score: ResampledScore) -> Floats:
    return _tau_b_of_counts(score.rank_counts)


def _tau_b_of_counts(counts: Comparisons) -> Floats:
    """Return Kendall's tau-b, shape (b,), in [-1, 1]; NaN where the score or the label is constant.

    It is the number of concordant less discordant comparisons, over the geometric mean of the comparisons without a tie
    in the score and of those without a tie in the labels.
    """
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = (
            counts.balance
            / np.sqrt(counts.comparisons - counts.score.tied)
            / np.sqrt(counts.comparisons - counts.label.tied)
        )
    return np.clip(tau, -1, 1)


register(
    Statistic(
        "kendall",
        "Kendall τ-b",
        "τ-b",
        "concordant less discordant comparisons, corrected for ties",
        _tau_b,
        tied_labels_cap_it=True,
    )
)


def _tau_c(score: ResampledScore) -> Floats:
    """Return Stuart's tau-c, shape (b,), in [-1, 1]; NaN where the score or the label is constant.

    It suits different numbers of levels on the two sides, such as many scores and three labels.
    """
    import numpy as np

    counts = score.rank_counts
    levels = np.minimum(counts.score_levels, counts.label_levels)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = 2 * counts.balance / (counts.label.total**2 * (levels - 1) / levels)
    return np.where(levels > 1, np.clip(tau, -1, 1), np.nan)


register(
    Statistic(
        "kendall-tau-c",
        "Kendall τ-c",
        "τ-c",
        "Stuart's tau, for more levels of the score than of the label",
        _tau_c,
        tied_labels_cap_it=True,
    )
)


# Shares, in [0, 1].


def _pairwise_accuracy(score: ResampledScore) -> Floats:
    return _share_of_agreements(score.rank_counts)


def _share_of_agreements(counts: Comparisons) -> Floats:
    """Return the share of comparisons on which score and label agree about larger, smaller or tied.

    Its shape is (b,) and its range [0, 1]; it is NaN for fewer than two pairs.
    """
    import numpy as np

    tied_in_both = counts.tied_in_both
    untied = counts.comparisons - counts.score.tied - counts.label.tied + tied_in_both
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy: Floats = ((untied + counts.balance) / 2 + tied_in_both) / counts.comparisons
    return accuracy


def _chance_of_pairwise_accuracy(label_ties: float, score_ties: float) -> float:
    """Return the mean share of agreements of a score whose ties and order are independent of the labels.

    Args:
        label_ties: the share of comparisons that are ties in the labels, in [0, 1].
        score_ties: the share of comparisons that are ties in the score, in [0, 1].
    """
    return label_ties * score_ties + (1 - label_ties) * (1 - score_ties) / 2


register(
    Statistic(
        "pairwise-accuracy",
        "pairwise accuracy (no tie calibration)",
        "pairwise accuracy",
        "share of comparisons of two items with the same outcome, where only equal scores are ties",
        _pairwise_accuracy,
        lowest=0.0,
        chance=_chance_of_pairwise_accuracy,
        tied_labels_cap_it=True,
    )
)


def _auc(score: ResampledScore) -> Floats:
    """Return the area under the ROC curve, shape (b,), in [0, 1]; a tie in the score counts as half.

    It is NaN if the labels do not have exactly two levels, and in a resample that lacks one of the two.
    """
    import numpy as np

    counts = score.rank_counts
    if counts.total_label_levels != 2:
        return np.full(counts.comparisons.shape, np.nan)
    # with two levels, every comparison without a tie in the labels is one of the lower with the higher label
    with np.errstate(invalid="ignore", divide="ignore"):
        area: Floats = (counts.balance / (counts.comparisons - counts.label.tied) + 1) / 2
    return area


def _auc_interval(observed: ObservedValue, confidence: float) -> tuple[float, float]:
    """Return Newcombe's interval of an AUC at a level in (0, 1), widened where the data vary more than its model."""
    from assay.statistics.auc_interval import interval_of_area

    return interval_of_area(observed, confidence)


register(
    Statistic(
        "auc",
        "AUC",
        "AUC",
        "area under the ROC curve, for labels with two levels",
        _auc,
        lowest=0.0,
        labels=LabelKind.binary,
        chance=0.5,
        interval=_auc_interval,
        interval_name="Newcombe",
        separates_rare_labels=True,
    )
)


def _auc_of_votes(score: ResampledScore) -> Floats:
    """Return the share of comparisons of different labels that the score orders as they are, shape (b,), in [0, 1].

    A tie in the score counts as half. It is the AUC for two labels, (1 + D) / 2 with Somers' D for any, and NaN where
    the labels are constant. Source: Harrell et al., Evaluating the Yield of Medical Tests (1982), for the concordance
    index; Obuchowski, An ROC-Type Measure of Diagnostic Accuracy when the Gold Standard is Continuous-Scale (2006).
    """
    return (1 + _somers_d(score)) / 2


register(
    Statistic(
        "auc-votes",
        "AUC (votes)",
        "AUC",
        "area under the ROC curve against the mean of votes of yes and no, or other labels of more than two levels",
        _auc_of_votes,
        lowest=0.0,
        chance=0.5,
        separates_rare_labels=True,
    )
)


def _pair_accuracy(score: ResampledScore) -> Floats:
    return score.ordered_within_groups


register(
    Statistic(
        "pair-accuracy",
        "pair accuracy (within groups)",
        "pair accuracy",
        "share of the comparisons within a group that have the order of the labels",
        _pair_accuracy,
        lowest=0.0,
        labels=LabelKind.grouped,
        chance=0.5,  # of a score without ties: a tie counts as wrong
    )
)


# Somers' D.


def _somers_d(score: ResampledScore) -> Floats:
    """Return Somers' D: concordant less discordant comparisons, over the comparisons without a tie in the labels.

    Its shape is (b,) and its range [-1, 1]; it is NaN where the labels are constant.

    This is the D of the score given the label, D(Y|X) with the label as X (Somers, 1962): the share of items with
    different labels that the score orders as the labels do, less the share in the opposite order. A tie in the score
    counts as neither, and lowers the value; ties in the labels are left out, so that a perfect order reaches 1. With
    two labels it is 2 AUC - 1.
    """
    import numpy as np

    counts = score.rank_counts
    with np.errstate(invalid="ignore", divide="ignore"):
        d: Floats = counts.balance / (counts.comparisons - counts.label.tied)
    return d


register(
    Statistic(
        "somers-d",
        "Somers' D",
        "D",
        "concordant less discordant share of the comparisons that are not ties in the labels",
        _somers_d,
        separates_rare_labels=True,
    )
)


# With calibrated ties: small differences of the score are ties, as in tie_calibration.py.


def _calibrated_pairwise_accuracy(score: ResampledScore) -> Floats:
    """Return acc-eq, the share of agreements with calibrated ties, shape (b,), in [0, 1].

    It is NaN for a constant label, for which the largest threshold would always be right.
    """
    import numpy as np

    counts = score.calibrated
    label_varies = counts.label.tied < counts.comparisons
    return np.where(label_varies, _share_of_agreements(counts), np.nan)


def _chance_of_acc_eq(label_ties: float, score_ties: float) -> float:
    """Return the expected share of agreements of a score unrelated to the labels, under its best threshold.

    The share of agreements is then linear in the share of ties, so that the best threshold is 0 or the largest one. If
    both are about equally good, small samples choose between them by chance, and the mean over permuted labels is a
    little lower.
    """
    return max(label_ties, _chance_of_pairwise_accuracy(label_ties, score_ties))


register(
    Statistic(
        "acc-eq",
        "pairwise accuracy (ties calibrated)",
        "acc-eq",
        "share of comparisons of two items with the same outcome, where differences up to a threshold are ties",
        _calibrated_pairwise_accuracy,
        lowest=0.0,
        chance=_chance_of_acc_eq,
        calibrates="pairwise-accuracy",
    )
)


def _calibrated_kendall(score: ResampledScore) -> Floats:
    return _tau_b_of_counts(score.calibrated)


register(
    Statistic(
        "kendall-eq",
        "Kendall τ-b (ties calibrated)",
        "τ-b eq",
        "τ-b where differences up to the threshold of acc-eq are ties",
        _calibrated_kendall,
        calibrates="kendall",
    )
)


def _calibrated_spearman(score: ResampledScore) -> Floats:
    return _rho_of_counts(score.calibrated)


register(
    Statistic(
        "spearman-eq",
        "Spearman ρ (ties calibrated)",
        "ρ eq",
        "ρ where differences up to the threshold of acc-eq are ties",
        _calibrated_spearman,
        calibrates="spearman",
    )
)
