"""Which metrics have something to explain, and what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from assay.errors import InputError
from assay.metrics.amr_metric import Amr
from assay.metrics.base import Batch, Metric
from assay.metrics.bertscore import BertScore
from assay.metrics.cross_encoder import CrossEncoder
from assay.metrics.explaining.base import Explanation
from assay.metrics.s3bert import S3Bert

__all__ = ["check_explainable", "explain_pairs"]

_KNOWN = (
    "s3bert:FOLDER (aspects), bertscore:MODEL (matches of tokens), cross-encoder:MODEL and sas (words left out), "
    "amr:smatch (alignment of graphs)"
)


def check_explainable(metric: Metric) -> None:
    """Return when the scores of a metric can be explained.

    Raises:
        InputError: they cannot; those that can are named.
    """
    known = S3Bert | BertScore | CrossEncoder
    if not (isinstance(metric, known) or (isinstance(metric, Amr) and metric.subject == "smatch")):
        raise InputError(f"metric {metric}: its score has no parts to show; these have: {_KNOWN}")


def explain_pairs(metric: Metric, batch: Batch) -> Sequence[Explanation]:
    """Explain the score of each pair; the metric must be bound and available.

    Raises:
        InputError: there is nothing to explain, or the data lacks what is needed.
    """
    check_explainable(metric)
    # each is imported when it is asked for: some read models, some graphs
    if isinstance(metric, S3Bert):
        from assay.metrics.explaining.aspects import explain_aspects

        return explain_aspects(metric, batch)
    if isinstance(metric, BertScore):
        from assay.metrics.explaining.tokens import explain_tokens

        return explain_tokens(metric, batch)
    if isinstance(metric, CrossEncoder):
        from assay.metrics.explaining.words import explain_words

        return explain_words(metric, batch)
    from assay.metrics.explaining.graphs import explain_graphs

    # check_explainable let nothing else pass
    return explain_graphs(cast(Amr, metric), batch)
