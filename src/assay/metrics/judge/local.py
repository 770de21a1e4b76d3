"""Judge in this process: a causal language model on this machine, or a server if an endpoint is named."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.exceptions import InputError
from assay.metrics.judge.judge import DELIVERY_OPTIONS, JUDGE, Judge
from assay.metrics.judge.server import ServerJudge
from assay.metrics.name import options_of
from assay.metrics.neural.metric import ModelMetric

if TYPE_CHECKING:
    from assay.metrics.base import Metric
    from assay.metrics.neural.causal import CausalEngine

#: Options of :class:`ModelMetric` that no judge has.
_UNUSED_OPTIONS = frozenset({"backend", "max_length", "question"})
_NO_SUCH_OPTIONS = "metric {}: a judge has no backend and no max_length; cut=N cuts texts"


@dataclass(frozen=True)
class LocalJudge(Judge, ModelMetric):
    """The verdict of a causal language model in this process.

    It is the class of the name ``judge``, with the options of both judges; with an endpoint, it builds a
    :class:`ServerJudge`.
    """

    declaration = dataclasses.replace(JUDGE, name="judge", provider=("torch", "transformers"), extra="neural")

    @classmethod
    def with_options(cls, **values: Any) -> Metric:
        """Return a judge in this process, or the judge of the server if the options name an endpoint.

        Options that the judge of a server lacks, such as the precision, are then ignored.

        Raises:
            InputError: an option is invalid, or the options contradict each other.
        """
        if values.get("endpoint") is None:
            return cls(**values)
        if values.get("backend", "torch") != "torch" or values.get("max_length") is not None:
            raise InputError(_NO_SUCH_OPTIONS.format("judge"))
        # a model at an endpoint has no precision that could be chosen here
        return ServerJudge(**{name: value for name, value in values.items() if name in options_of(ServerJudge)})

    def _check_options(self) -> None:
        """Raise InputError if an option does not fit a model in this process, the prompt or another option."""
        if self.verdict == "json":
            raise InputError(f"metric {self}: verdict=json is for endpoints; a local model has probabilities and text")
        if self.backend != "torch" or self.max_length is not None:
            raise InputError(_NO_SUCH_OPTIONS.format(self))
        super()._check_options()

    def takes(self, name: str) -> bool:
        """Tell whether an option applies to a model in this process; those for endpoints do not."""
        return name not in DELIVERY_OPTIONS | {"endpoint"} | _UNUSED_OPTIONS

    def price_per_1000(self) -> float | None:
        """Return 0: a model in this process is free."""
        return 0.0

    def needs(self) -> CausalEngine:
        """Return the engine of the model.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: this machine cannot run the model as asked.
        """
        from assay.metrics.neural.causal import CausalEngine

        return self.engine_of(CausalEngine)

    def data_signature(self) -> dict[str, str]:
        """Return what changes scores beyond the options: the prompt, the scale, the parser, and the model.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the prompt cannot be read, or this machine has no such device.
        """
        signature = super().data_signature()
        # a judge has no max_length: its option cut shortens texts
        del signature["max_length"]
        return signature
