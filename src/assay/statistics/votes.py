"""Labels that are votes of yes and no: those of several annotators, who need not agree, and of some who are unsure.

The label of such a pair is the mean of its votes: 0, .5 and 1 for two annotators. It is no grade, and Spearman's rho,
which ties cap, is not the measure of a decision between yes and no. Metrics are compared by the AUC against these
means, ``auc-votes``: the share of comparisons of a pair with more and one with fewer votes of yes that the score orders
rightly. Without a disagreement it is the AUC, and one disagreement among many hardly changes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.statistics.coefficients import OF_TWO_LABELS, OF_VOTES, have_two_values
from assay.statistics.concordance import Floats
from assay.statistics.reliability import are_means, are_sorted

#: The largest share of votes halfway between no and yes that are taken for "unsure", and not for a grade.
MAX_UNSURE_VOTES = 0.2
#: The same for labels without annotations, of which less is known.
MAX_UNSURE_LABELS = 0.05
#: The number of annotators up to which the agreement with each is computed.
MAX_ANNOTATORS = 5
_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes of yes and no on n pairs.

    Attributes:
        no, yes: the values of a vote; a vote halfway between them is "unsure".
        counts: the number of votes of yes, of no, and of unsure on each pair, shape (n, 3).
        labels: the labels, which are the means of the votes up to the scale, shape (n,).
    """

    no: float
    yes: float
    counts: NDArray[np.intp]
    labels: Floats

    @property
    def statistic(self) -> str:
        """The coefficient that decides: the AUC if nobody disagrees or is unsure, else the AUC of votes."""
        return OF_TWO_LABELS if have_two_values(self.labels) else OF_VOTES

    @property
    def is_split(self) -> NDArray[np.bool_]:
        """Whether a pair has no majority, because as many say yes as no, shape (n,)."""
        split: NDArray[np.bool_] = self.counts[:, 0] == self.counts[:, 1]
        return split

    @property
    def majority(self) -> Floats:
        """The vote of the majority on each pair, shape (n,); NaN where there is none."""
        majority_label = np.where(self.counts[:, 0] > self.counts[:, 1], self.yes, self.no)
        majority: Floats = np.where(self.is_split, np.nan, majority_label)
        return majority

    def lowest_yes(self, *, with_split: bool = False) -> float:
        """Return the lowest label of a pair that a majority calls yes, or with *with_split* one without a majority.

        It is infinite if there is none.
        """
        is_yes = self.counts[:, 0] >= self.counts[:, 1] if with_split else self.counts[:, 0] > self.counts[:, 1]
        return float(self.labels[is_yes].min(initial=np.inf))

    def is_unanimous(self, row: int) -> bool:
        """Tell whether all votes on the pair at index *row* are yes, or all are no."""
        yes, no, unsure = self.counts[row]
        return not unsure and not (yes and no)

    def text(self, row: int) -> str:
        """Return what people said of the pair at index *row*: ``yes``, ``no``, or as in ``one of two said yes``."""
        yes, no, unsure = (int(count) for count in self.counts[row])
        total = yes + no + unsure
        if self.is_unanimous(row):
            return "yes" if yes else "no"
        if total == 1:
            return "unsure"
        text = f"{_number(yes)} of {_number(total)} said yes"
        if unsure:
            text += f", {_number(unsure)} {'was' if unsure == 1 else 'were'} unsure"
        return text


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"


def votes_of(labels: Floats, annotations: Floats | None) -> Votes | None:
    """Return the votes of yes and no behind labels; None for labels that are grades, and for a constant label.

    Votes have two values, or a third halfway between them, which is rare: at most :data:`MAX_UNSURE_VOTES` of the
    annotations, or :data:`MAX_UNSURE_LABELS` of the labels. They are the annotations if the labels are the means of
    these, else the labels themselves.

    Args:
        labels: the labels, shape (n,), finite.
        annotations: the annotators' labels, shape (n, annotators), NaN for a missing label; None if there are none.
    """
    if annotations is not None and np.isfinite(annotations).any() and are_means(labels, annotations):
        votes, max_unsure_share = annotations, MAX_UNSURE_VOTES
    else:
        votes, max_unsure_share = labels[:, None], MAX_UNSURE_LABELS
    known_votes = votes[np.isfinite(votes)]
    values, counts = np.unique(known_votes, return_counts=True)
    if len(values) not in (2, 3):
        return None
    no, yes = float(values[0]), float(values[-1])
    if len(values) == 3:
        middle, unsure_share = values[1], counts[1] / len(known_votes)
        if not np.isclose(middle, (no + yes) / 2) or unsure_share > max_unsure_share:
            return None
    is_yes, is_no = votes == yes, votes == no
    is_unsure = np.isfinite(votes) & ~is_yes & ~is_no
    vote_counts = np.stack([is_yes.sum(axis=1), is_no.sum(axis=1), is_unsure.sum(axis=1)], axis=1)
    return Votes(no, yes, vote_counts, labels)


def deciding_statistic_of(labels: Floats, annotations: Floats | None) -> str | None:
    """Return the coefficient that decides for labels that are votes, ``auc`` or ``auc-votes``; None for grades.

    The arguments are those of :func:`votes_of`, but for labels that may be missing, as NaN.
    """
    is_labelled = np.isfinite(labels)
    votes = votes_of(labels[is_labelled], None if annotations is None else annotations[is_labelled])
    return None if votes is None else votes.statistic


def references_of_votes(votes: Votes, annotations: Floats) -> dict[str, Floats]:
    """Return labels of two values that scores can be compared with beside the mean, by name, each of shape (n,).

    They are the majority, with NaN where there is none, and for up to :data:`MAX_ANNOTATORS` annotators the vote of
    each, with NaN for a missing or unsure one. Annotators are left out if the votes of each pair are sorted, since
    a column is then not one annotator's. Labels that are not of two values are left out.

    Args:
        votes: the votes.
        annotations: the annotators' labels, shape (n, annotators), one column per annotator.
    """
    labels = {"the majority": votes.majority}
    if annotations.shape[1] <= MAX_ANNOTATORS and not are_sorted(annotations):
        for column in range(annotations.shape[1]):
            votes_of_annotator = annotations[:, column]
            labels[f"annotator {column + 1}"] = np.where(
                (votes_of_annotator == votes.no) | (votes_of_annotator == votes.yes), votes_of_annotator, np.nan
            )
    return {name: values for name, values in labels.items() if have_two_values(values)}
