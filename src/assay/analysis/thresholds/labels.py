"""Which labels mean yes: rules, votes of several people, and the pairs on which these are divided."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.common.messages import Message, Setting
from assay.common.tables import exact_number
from assay.exceptions import InputError
from assay.statistics.concordance import Floats
from assay.statistics.labels import round_labels
from assay.statistics.votes import Votes

_LABEL_RULE = re.compile(r"\s*label\s*(?P<op>>=|>)\s*(?P<value>[-+0-9.eE]+)\s*")


def positive_labels_of(data: ScoredDataset, rule: str | None) -> tuple[str, NDArray[np.bool_]]:
    """Return the rule for the positive class without spaces, and whether each pair is positive, shape (n,).

    Without a rule, what the majority of votes of yes and no calls yes is positive, which is the higher of two labels of
    one annotator.

    Raises:
        InputError: there are no labels; or the rule cannot be parsed, puts all labels into one class, or is missing
            although the labels are grades, or votes without a majority on some pair.
    """
    if rule is None and data.votes is not None:
        rule = _rule_of_majority(data, data.votes)
    return classify_labels(data.labels, rule, data.run.title, data.name)


def have_majority(data: ScoredDataset, rule: str | None) -> NDArray[np.bool_]:
    """Return whether most people say yes, or most say no, to each pair, shape (n,).

    By a rule they do everywhere. Without one, as many may say yes as no. Whatever is decided of such a pair, half of
    them disagree, so that it says nothing of where a threshold should be.
    """
    if rule is not None or data.votes is None:
        return np.ones(len(data), dtype=bool)
    return ~data.votes.is_split


def with_majority(data: ScoredDataset, rule: str | None) -> ScoredDataset:
    """Return the data without the pairs on which people are divided, see :func:`have_majority`.

    With a rule, or labels that are no votes, these are all pairs.

    Raises:
        InputError: people are divided on all pairs, or most of them say the same of all others.
    """
    decided = have_majority(data, rule)
    if rule is None and data.votes is not None:
        said_yes = data.votes.majority[decided] == data.votes.yes
        if not len(said_yes):
            raise InputError(
                f"{data.run.title}: people are divided on all {_pair_count(len(data))} of {data.name}, as many said "
                "yes as no: no pair with a majority is left"
            )
        if said_yes.all() or not said_yes.any():
            word = "yes" if said_yes.any() else "no"
            raise InputError(
                f"{data.run.title}: most people said {word} to all pairs of {data.name} on which they are not divided; "
                "a threshold needs both classes"
            )
    return data if decided.all() else data.take(np.flatnonzero(decided))


def _rule_of_majority(data: ScoredDataset, votes: Votes) -> str:
    """Return the rule by which a pair is positive that a majority calls yes.

    Args:
        data: the dataset, for the message.
        votes: the votes on its pairs.

    Raises:
        InputError: people are divided on a pair.
    """
    rule = f"label>={exact_number(votes.lowest_yes())}"
    split_count = int(votes.is_split.sum())
    if split_count:
        where = f"{data.run.title}: people are divided on {_pair_count(split_count)} of {data.name}"
        raise InputError(f"{where}, as many said yes as no; ", _rule_for_divided_pairs(votes))
    return rule


def divided_note(data: ScoredDataset, rule: str | None) -> str:
    """Return a line on the pairs that are left out since people are divided on them; empty without such pairs.

    Args:
        data: the dataset.
        rule: the rule for the labels that mean yes; None for the majority of votes.
    """
    divided = int((~have_majority(data, rule)).sum())
    if not divided or data.votes is None:
        return ""
    return _note_on_divided(_pair_count(divided), data.votes)


def divided_note_of_two(tune: ScoredDataset, test: ScoredDataset, rule: str | None) -> str:
    """Return the line of :func:`divided_note` on a dataset to tune on and one to test on; empty without such pairs."""
    counts = {data.name: int((~have_majority(data, rule)).sum()) for data in (tune, test)}
    pairs = " and ".join(f"{_pair_count(count)} of {name}" for name, count in counts.items() if count)
    votes = [data.votes for data in (tune, test) if data.votes is not None]
    return _note_on_divided(pairs, *votes) if pairs else ""


def _note_on_divided(pairs: str, *votes: Votes) -> Message:
    """Return a line on pairs, in words, that are left out, with the rules that would keep them."""
    return Message(
        f"people are divided on {pairs}, as many said yes as no: left out; ", _rule_for_divided_pairs(*votes)
    )


def _rule_for_divided_pairs(*votes: Votes) -> Message:
    """Return a phrase with the rules by which pairs count as no or as yes on which as many said yes as no.

    Where nobody has a majority for yes, no label is named by which they count as no.
    """
    divided_count = sum(int(votes_of_set.is_split.sum()) for votes_of_set in votes)
    them = "it" if divided_count == 1 else "them"
    lowest_as_yes = min(votes_of_set.lowest_yes(with_split=True) for votes_of_set in votes)
    rule_for_yes = Setting("positive", f"label>={exact_number(lowest_as_yes)}")
    lowest_as_no = min(votes_of_set.lowest_yes(with_split=False) for votes_of_set in votes)
    if not np.isfinite(lowest_as_no):
        return Message(rule_for_yes, f" counts {them} as yes")
    rule_for_no = Setting("positive", f"label>={exact_number(lowest_as_no)}")
    return Message(rule_for_no, f" counts {them} as no, ", rule_for_yes, " as yes")


def _pair_count(count: int) -> str:
    return "1 pair" if count == 1 else f"{count:,} pairs"


def classify_labels(labels: Floats, rule: str | None, title: str, name: str) -> tuple[str, NDArray[np.bool_]]:
    """Return the rule without spaces, and whether it puts each label into the positive class, shape (n,).

    Args:
        labels: finite labels, shape (n,).
        rule: ``label>=2`` or ``label>1``; None if the labels have two values, of which the higher one is positive.
        title: the origin of the labels, for messages.
        name: the name of the dataset, for messages.

    Raises:
        InputError: there are no labels; the rule cannot be parsed, is missing although the labels do not have two
            values, or puts all labels into one class.
    """
    # labels in the folder of an older run are not rounded
    rounded_labels = round_labels(labels)
    values = np.unique(rounded_labels)
    if rule is None:
        rule = _rule_of_two_values(values, title, name)
    plain_rule, positive = apply_rule(rounded_labels, rule)
    if not len(values):
        raise InputError(f"{title}: {name} has no pairs")
    if positive.all() or not positive.any():
        only_class = "yes" if positive.any() else "no"
        hint = Message("; of two labels the higher is yes without ", Setting("positive")) if len(values) == 2 else ""
        raise InputError(
            f"{title}: {plain_rule} makes all pairs of {name} {only_class} (labels {exact_number(values[0])} to "
            f"{exact_number(values[-1])}); a threshold needs both classes",
            hint,
        )
    return plain_rule, positive


def apply_rule(labels: Floats, rule: str) -> tuple[str, NDArray[np.bool_]]:
    """Return a rule such as ``label>=2`` without spaces, and whether it calls each label yes, shape (n,).

    The bound is rounded as labels are; a label that is NaN is not yes.

    Args:
        labels: the labels, shape (n,).
        rule: ``label>=2`` or ``label>1``.

    Raises:
        InputError: the rule cannot be parsed.
    """
    match = _LABEL_RULE.fullmatch(rule)
    try:
        # rounded as labels are
        bound = float(round_labels(np.array(float(match["value"])))) if match else None
    except ValueError:
        # the pattern lets through what is not a number, such as 1e or 1.2.3
        bound = None
    if match is None or bound is None:
        raise InputError(
            "write label>=2 or label>1; yes is what people call similar", setting="positive", value=repr(rule)
        )
    is_yes = labels >= bound if match["op"] == ">=" else labels > bound
    return rule.replace(" ", ""), is_yes


def _rule_of_two_values(values: Floats, title: str, name: str) -> str:
    """Return the rule by which the higher of two labels is positive; raise InputError unless there are two labels."""
    if len(values) != 2:
        example = Setting("positive", f"label>={exact_number(values[-1])}" if len(values) else None)
        raise InputError(
            f"{title}: the label of {name} has {len(values)} values; say which mean yes, such as ", example
        )
    return f"label>={exact_number(values[-1])}"
