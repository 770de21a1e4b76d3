"""Opens models in the runtime of a backend: torch, or another one for which a model is converted once."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.metrics.neural.body import Body, ScorerBody, TorchBody, TorchScorerBody, pack_linears
from assay.metrics.neural.causal_body import CausalBody
from assay.metrics.neural.runtime import import_torch

if TYPE_CHECKING:
    import torch

    from assay.metrics.neural.session import ModelEngine

__all__ = ["open_causal_bodies", "open_encoder_bodies", "open_scorer_bodies"]


def open_encoder_bodies(models: list[Any], engine: ModelEngine, threads: int, sample: Sequence[int]) -> list[Body]:
    """Return the bodies of an encoder: one per device, or one per thread if torch computes on the CPU.

    For torch the models on the CPU are changed in place, since their linear layers are packed.

    Args:
        models: transformers' model on each device. For a backend other than torch this list is emptied, so that the
            model and its conversion are not in memory together; a conversion loads the model again, in fp32.
        engine: the settings: devices, backend and precision.
        threads: the number of CPU threads.
        sample: the tokens of a text, with which the packing of the layers is tried.

    Raises:
        InputError: the backend has no such precision.
        UnavailableError: a package is missing.
    """
    if engine.backend == "torch":
        _pack_on_cpu(models, engine, sample)
        return [TorchBody(model, device) for model, device in _copies_per_thread(models, engine, threads)]
    from assay.metrics.neural.backends.converted import ConvertedBody

    return [ConvertedBody(_take_config(models), engine, threads)]


def open_scorer_bodies(models: list[Any], engine: ModelEngine, threads: int, sample: Sequence[int]) -> list[ScorerBody]:
    """Return the bodies of a cross-encoder: one per device, or one per thread if torch computes on the CPU.

    For torch the models are changed in place: their linear layers are packed on the CPU, and their last layer computes
    only the first token if the classifier reads no other one.

    Args:
        models: transformers' model on each device. For a backend other than torch this list is emptied, so that the
            model and its conversion are not in memory together.
        engine: the settings: devices, backend and precision.
        threads: the number of CPU threads.
        sample: the tokens of a text, with which the packing of the layers is tried.

    Raises:
        InputError: the backend has no such precision, or the cache of conversions cannot be written.
        UnavailableError: a package is missing, the model cannot be converted, or its scores change too much.
    """
    if engine.backend == "torch":
        _pack_on_cpu(models, engine, sample)
        return [TorchScorerBody(model, device) for model, device in _copies_per_thread(models, engine, threads)]
    from assay.metrics.neural.backends.converted import ConvertedScorerBody

    return [ConvertedScorerBody(_take_config(models), engine, threads)]


def open_causal_bodies(models: list[Any], engine: ModelEngine, threads: int, sample: Sequence[int]) -> list[CausalBody]:
    """Return the bodies of a causal language model, one per device; torch is the only backend for them.

    The models on the CPU are changed in place, since their linear layers are packed, which is tried with the tokens
    *sample*. *threads* is not used: every function that opens bodies accepts it.
    """
    _pack_on_cpu(models, engine, sample)
    return [CausalBody(model, device, engine.precision) for model, device in zip(models, engine.devices, strict=True)]


def _pack_on_cpu(models: list[Any], engine: ModelEngine, sample: Sequence[int]) -> None:
    """Pack the linear layers of the models that are on the CPU, where that leaves the output for *sample* the same."""
    for model, device in zip(models, engine.devices, strict=True):
        if device == "cpu":
            ids = import_torch().tensor([list(sample)])
            pack_linears(model, functools.partial(_first_output, model, ids))


def _first_output(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return the hidden states or logits of a batch, whichever the model computes; *ids* has shape (b, l)."""
    output: torch.Tensor = model(input_ids=ids)[0]
    return output


def _copies_per_thread(models: list[Any], engine: ModelEngine, threads: int) -> list[tuple[Any, str]]:
    """Return each model with its device; on the CPU, one copy of the model per thread, all with the same weights.

    With one batch per thread, threads do not wait for each other at every layer, and the result of a batch is the same
    to the last digit for any number of threads. Each thread needs its own modules, because transformers changes the
    modules of a model while it computes.
    """
    if engine.devices != ("cpu",):
        return list(zip(models, engine.devices, strict=True))
    weights = [*models[0].parameters(), *models[0].buffers()]
    copies = []
    for _ in range(threads - 1):
        # a memo that maps each weight to itself keeps deepcopy from copying the weights
        memo = {id(weight): weight for weight in weights}
        copies.append(copy.deepcopy(models[0], memo))
    return [(model, "cpu") for model in (models[0], *copies)]


def _take_config(models: list[Any]) -> Any:
    """Return the configuration that all models share, and clear the list to free their memory."""
    config = models[0].config
    models.clear()
    return config
