"""What a combination learns from: the scores of metrics, properties of the texts, labels, and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.analysis.combine.settings import CombineSettings
from assay.analysis.data import ScoredDataset
from assay.analysis.pair_codes import group_codes, pair_codes
from assay.common.messages import Message, Setting
from assay.exceptions import InputError
from assay.language.properties import OF_QUESTION, PROPERTIES, properties_of, text_pairs
from assay.statistics.coefficients import have_two_values
from assay.statistics.combination import MIN_PAIRS, Inputs
from assay.statistics.concordance import Floats
from assay.statistics.crossvalidation import join_codes
from assay.statistics.missing import share_pairs

#: The minimum number of groups of pairs for learning.
MIN_GROUPS = 10
#: The text columns whose properties may be features.
TEXT_COLUMNS = ("reference", "candidate", "question")


def learnable_metrics(data: ScoredDataset, settings: CombineSettings) -> tuple[list[str], list[str]]:
    """Return the names of the metrics that a combination can learn from, and a note on each other wanted metric.

    Args:
        data: the pairs with their scores.
        settings: the wanted metrics, all if none is named, and the prior, which is one of them in any case.

    Raises:
        InputError: the run lacks a wanted metric, there is no metric to learn from, or the prior is none of them.
    """
    prior = settings.prior
    wanted_names = list(settings.metrics)
    if prior is not None:
        # for the error about a missing metric
        data.find_metrics([prior])
        wanted_names = [prior, *wanted_names] if wanted_names else []
    varying_metrics, notes = [], []
    for name in data.find_metrics(wanted_names):
        problem = _why_not_learnable(data, name, is_prior=name == prior)
        if problem:
            notes.append(f"{name}: {problem}")
        else:
            varying_metrics.append(name)
    # the others lose no pairs to a metric that a leaderboard would not rank either
    apart = share_pairs({name: data.scores[name] for name in varying_metrics}, data.labels).apart
    for name in apart:
        notes.append(f"{name}: lacks many scores, or those of certain labels, and is not learned from")
    names = [name for name in varying_metrics if name not in apart]
    if prior is not None and prior not in names:
        raise InputError(f"cannot be begun from ({'; '.join(notes)})", setting="prior", value=prior)
    if not names:
        raise InputError(f"{data.run.title}: {data.name} has no metric to learn from ({'; '.join(notes) or 'none'})")
    return names, notes


def _why_not_learnable(data: ScoredDataset, name: str, *, is_prior: bool) -> str:
    """Return why a combination cannot learn from a metric; empty if it can.

    A prior may itself be a combination, or be recorded in the data.
    """
    record = data.metrics[name]
    if record.declared.kind in ("recorded", "combined") and not is_prior:
        return f"is {record.declared.kind}, which other data lacks, and is not learned from"
    # the parts of a signature are numbered for a preset with several models: 1.model
    if any(key[:1].isdigit() for key in record.signature):
        return "uses another model for each language, so a combination cannot use it; name the model"
    scores = data.scores[name]
    # a missing score is no second value
    if np.unique(scores[np.isfinite(scores)]).size < 2:
        return "its scores do not vary, and it is not learned from"
    return ""


def has_all_scores(data: ScoredDataset, metrics: Sequence[str]) -> NDArray[np.bool_]:
    """Return the mask of the pairs that have a score of every metric, shape (n,)."""
    scores = np.stack([data.scores[name] for name in metrics])
    return np.asarray(np.isfinite(scores).all(axis=0))


def check_labels(data: ScoredDataset) -> None:
    """Raise InputError if there are too few labels, or if all labels are equal."""
    if len(data) < MIN_PAIRS:
        raise InputError(
            f"{data.name}: {len(data)} labelled pairs are too few to learn from; it takes {MIN_PAIRS} at least, and "
            "200 to 500 as a rule"
        )
    if len(np.unique(data.labels)) < 2:
        raise InputError(
            f"{data.name}: all labels are {data.labels[0]:g}; learning needs pairs with other labels as well"
        )


def learning_inputs(data: ScoredDataset, names: Sequence[str], settings: CombineSettings) -> tuple[Inputs, list[str]]:
    """Return the features, labels and costs to learn from, and notes on metrics left out by a limit on an unknown cost.

    The features are the scores of the metrics, higher for more similar, the log odds in place of the prior's scores,
    and the properties of the texts if the settings want them.

    Args:
        data: the pairs, each of which has a score of every metric.
        names: the names of the metrics.
        settings: the settings of the command.

    Raises:
        InputError: there are too few groups of pairs, or their column is missing or holds lists; no metric is known to
            keep a limit; or the prior is not known to keep one, or gives no probability of these labels.
    """
    features = {name: data.oriented_scores(name) for name in names}
    if settings.prior is not None:
        features[settings.prior] = _log_odds_of_prior(data, settings.prior)
    properties = _text_properties(data) if settings.properties else {}
    # pairs of one group, or with the same texts, have one code
    groups, text_codes = group_codes(data, settings.group_by), pair_codes(data)
    joined_codes = text_codes if groups is None else join_codes(groups, text_codes)
    distinct_codes, codes = np.unique(joined_codes, return_inverse=True)
    if len(distinct_codes) < MIN_GROUPS:
        raise InputError(
            f"{data.name}: {len(distinct_codes)} groups of pairs are too few; it takes {MIN_GROUPS} at least"
        )

    # a metric of unknown speed or price is left out of these, and so keeps no limit
    speeds: dict[str, float] = {}
    prices: dict[str, float] = {}
    for name in names:
        record = data.metrics[name]
        if record.cost.pairs_per_second:
            speeds[name] = record.cost.pairs_per_second
        if record.price_per_1000 is not None:
            prices[name] = record.price_per_1000
    _check_limits(data, settings, speeds, prices)
    inputs = Inputs(
        names=(*names, *properties),
        values=np.stack([*features.values(), *properties.values()], axis=1),
        are_metrics=(True,) * len(names) + (False,) * len(properties),
        labels=data.labels,
        codes=codes,
        speeds=speeds,
        prices=prices,
    )
    return inputs, _notes_on_unknown_costs(names, settings, speeds, prices)


def _log_odds_of_prior(data: ScoredDataset, prior: str) -> Floats:
    """Return the log odds of the probabilities that the prior gives, shape (n,).

    Raises:
        InputError: the labels have not two values, or the prior declares no lowest or no highest score.
    """
    if not have_two_values(data.labels):
        raise InputError(f"gives probabilities, and {data.name} has more than two labels", setting="prior", value=prior)
    # a probability of 0 or 1 by rounding has no log odds
    probabilities = np.clip(prior_probabilities(data, prior), 1e-12, 1 - 1e-12)
    log_odds: Floats = np.log(probabilities / (1 - probabilities))
    return log_odds


def _notes_on_unknown_costs(
    names: Sequence[str], settings: CombineSettings, speeds: Mapping[str, float], prices: Mapping[str, float]
) -> list[str]:
    """Return notes on metrics that a limit leaves out since their speed or price is unknown."""
    notes: list[str] = []
    untimed = [name for name in names if name not in speeds]
    if settings.budget is not None and untimed:
        unknown = f"of unknown speed, and hence not within the budget: {', '.join(untimed)}; run them with "
        notes.append(Message(unknown, Setting("fresh")))
    unpriced = [name for name in names if name not in prices]
    if settings.max_price is not None and unpriced:
        unknown = f"of unknown price, and hence not taken: {', '.join(unpriced)}; run them with "
        notes.append(Message(unknown, Setting("prices")))
    return notes


def _check_limits(
    data: ScoredDataset, settings: CombineSettings, speeds: Mapping[str, float], prices: Mapping[str, float]
) -> None:
    """Raise InputError if no metric is known to keep a limit, or if the prior alone is not.

    Args:
        data: the pairs, for the title of the run.
        settings: the limits, and the prior.
        speeds: the pairs per second of each metric whose speed is known.
        prices: the price of 1,000 pairs of each metric whose price is known.
    """
    limits = settings.limits
    if limits.price is not None and not any(price <= limits.price for price in prices.values()):
        raise InputError(
            f"no metric of {data.run.title} is known to cost so little", setting="max_price", value=settings.max_price
        )
    if limits.speed is not None and max(speeds.values(), default=0) < limits.speed:
        raise InputError(f"no metric of {data.run.title} is known to reach it", setting="budget", value=settings.budget)
    prior = settings.prior
    if prior is None:
        return
    if limits.speed is not None and speeds.get(prior, 0) < limits.speed:
        raise InputError(f"{prior}, to begin from, is not known to reach it", setting="budget", value=settings.budget)
    if limits.price is not None and prices.get(prior, np.inf) > limits.price:
        raise InputError(
            f"{prior}, to begin from, is not known to cost so little", setting="max_price", value=settings.max_price
        )


def _text_properties(data: ScoredDataset) -> dict[str, Floats]:
    """Return the properties of the texts that vary between pairs, by name, each of shape (n,); none without texts."""
    columns = {name: data.table.column(name).to_pylist() for name in TEXT_COLUMNS if name in data.table.column_names}
    texts = text_pairs(columns["reference"], columns["candidate"], columns.get("question"))
    if not any(text.candidate.strip() for text in texts):
        return {}
    has_questions = any(text.question for text in texts)
    names = [name for name in PROPERTIES if has_questions or name not in OF_QUESTION]
    values_by_name = dict(zip(names, properties_of(texts, names).T, strict=True))
    # a constant feature carries no information
    return {name: values for name, values in values_by_name.items() if np.unique(values).size > 1}


def prior_probabilities(data: ScoredDataset, prior: str) -> Floats:
    """Return the probability of the higher label that a prior gives each pair, shape (n,).

    It is the score as a share of the way from the lowest to the highest score that the metric declares.

    Raises:
        InputError: the metric declares no lowest or no highest score.
    """
    low, high = data.metrics[prior].declared.low, data.metrics[prior].declared.high
    if low is None or high is None:
        raise InputError("gives no probability of two labels", setting="prior", value=prior)
    probabilities: Floats = (data.scores[prior] - low) / (high - low)
    return probabilities
