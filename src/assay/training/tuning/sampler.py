"""Draws that a trial's place in its study decides, so that a study that was stopped goes on as it would have."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial, Trial

from assay.training.tuning.space import Choices, Dimension, Space

__all__ = ["RETRY_OF", "PlacedSampler", "suggest_all"]

#: Attribute of a trial that tries once more what an ended process left unfinished: the number of that trial.
RETRY_OF = "retry_of"


class PlacedSampler(BaseSampler):  # type: ignore[misc]  # optuna is not always installed where types are checked
    """Tree-structured Parzen estimators (Bergstra et al. 2011), seeded anew for every trial.

    A sampler with one generator would begin with the same draws again in every process and after every stop. Here the
    seed is drawn from the study's and from how many trials came before, not counting those that try once more.

    Args:
        seed: of the study.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._number, self._sampler = -1, TPESampler()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return nothing: every setting is drawn by itself."""
        return {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, Any]) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the value of one setting."""
        if trial.number != self._number:
            held = study.get_trials(deepcopy=False)
            place = sum(one.number < trial.number and RETRY_OF not in one.user_attrs for one in held)
            seed = int(np.random.SeedSequence([self._seed, place]).generate_state(1)[0])
            # what runs meanwhile counts as bad, or trials at the same time would crowd together
            self._number, self._sampler = trial.number, TPESampler(seed=seed, constant_liar=True)
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)


def suggest_all(trial: Trial, space: Space) -> dict[str, Any]:
    """Return the settings of a trial: drawn, or those that it was made with."""
    return {name: _suggest(trial, name, dimension) for name, dimension in space.items()}


def _suggest(trial: Trial, name: str, dimension: Dimension) -> Any:
    if isinstance(dimension, Choices):
        return trial.suggest_categorical(name, dimension.values)
    if isinstance(dimension.low, int) and isinstance(dimension.high, int):
        return trial.suggest_int(name, dimension.low, dimension.high, log=dimension.log)
    return trial.suggest_float(name, dimension.low, dimension.high, log=dimension.log)
