"""assay's metrics as objects of Hugging Face's ``evaluate``."""

from __future__ import annotations

import functools
from typing import Any

from assay.errors import InputError, MissingExtraError
from assay.metrics.base import Batch, Metric
from assay.metrics.name import MetricName
from assay.metrics.registry import load_metric

__all__ = ["as_evaluate"]


def as_evaluate(metric: str | MetricName | Metric) -> Any:
    """Return a metric as an ``evaluate.Metric``, with ``compute``, ``add`` and ``add_batch``.

    ``compute(predictions=…, references=…)`` returns the mean under the metric's name as typed, and every
    pair's score under ``scores``. A metric that reads the question takes ``questions`` as well. Nothing
    is fetched, and nothing is written to disk. ``compute`` raises InputError where there is no pair to score.

    Raises:
        MissingExtraError: ``evaluate`` is not installed.
        InputError: as :func:`load_metric`.

    Example:
        >>> as_evaluate("f1").compute(predictions=["a red car"], references=["the car"])
        {'f1': 0.6666666666666666, 'scores': [0.6666666666666666]}
    """
    loaded = load_metric(metric)
    try:
        kind = _bridge_class()
    except ImportError as error:
        raise MissingExtraError(error.name or "evaluate", "hf") from error
    return kind(loaded)


@functools.cache
def _bridge_class() -> type:
    """Return the class, which can be written only once ``evaluate`` is imported."""
    import evaluate

    import datasets

    class AssayMetric(evaluate.Metric):  # type: ignore[misc]
        """An assay metric for ``evaluate``; a text a cell."""

        def __init__(self, metric: Metric, **settings: Any) -> None:
            self.metric = metric
            super().__init__(keep_in_memory=True, **settings)

        def _info(self) -> Any:
            declaration = self.metric.declaration
            columns = ["predictions", "references"] + ["questions"] * declaration.reads_question
            return evaluate.MetricInfo(
                module_name=str(self.metric),
                description=declaration.summary,
                citation=declaration.citation,
                inputs_description="predictions and references: a text each",
                features=datasets.Features({name: datasets.Value("string") for name in columns}),
            )

        def compute(self, *, predictions: Any = None, references: Any = None, **further: Any) -> Any:
            """Score the pairs given, or those added."""
            if (predictions is None) != (references is None):
                raise InputError(f"metric {self.metric}: compute takes predictions and references, one of each a pair")
            if predictions is None and self.buf_writer is None:
                raise InputError(f"metric {self.metric}: there is no pair to score; give predictions and references")
            return super().compute(predictions=predictions, references=references, **further)

        def _compute(
            self, predictions: list[str], references: list[str], questions: list[str] | None = None
        ) -> dict[str, Any]:
            if not len(predictions):
                raise InputError(f"metric {self.metric}: there is no pair to score; give predictions and references")
            from assay.metrics.work import scores_of

            scores = scores_of(self.metric, Batch(list(references), list(predictions), questions))
            return {str(self.metric): float(scores.mean()), "scores": scores.tolist()}

    return AssayMetric
