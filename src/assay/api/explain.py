"""What the scores of pairs come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.api.values import Report
from assay.datasets import Pairs, join_graphs, load_dataset
from assay.datasets.graphs import GraphFiles
from assay.errors import InputError
from assay.metrics import Batch, Metric, MetricName, load_metric
from assay.metrics.base import Context
from assay.metrics.explaining.explanation import check_explainable, explain_pairs
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.reports.explain.document import to_document
from assay.reports.explain.picture import to_svg
from assay.tables import GRAPH_COLUMNS

__all__ = ["Explained", "explain"]


class Explained(Report):
    """Explanations of pairs, to read, to compute with, or as a picture.

    Attributes:
        explanations: plain values, one object a pair; docs/explain.md says what each kind has.
    """

    def __init__(self, explanations: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(to_document(explanations))
        self.explanations = explanations

    def to_svg(self) -> str:
        """Return one picture of all pairs.

        Raises:
            InputError: there are more than 50.
        """
        return to_svg(self.explanations)

    def write_svg(self, path: str | Path) -> None:
        """Write that picture into a file; one that is there is replaced.

        Raises:
            InputError: there are more than 50 pairs, or the file cannot be written.
        """
        drawn = self.to_svg()
        try:
            Path(path).write_text(drawn, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); give `svg` another place") from error


def explain(
    reference: str | None = None,
    candidate: str | None = None,
    *,
    metric: str | MetricName | Metric,
    pairs: Any = None,
    pair_ids: Sequence[str] = (),
    columns: str | Mapping[str, str] | None = None,
    graphs: GraphFiles | str | None = None,
    language: str | None = None,
    limit: int | None = None,
    offline: bool = False,
    device: str = "auto",
    threads: int | None = None,
) -> Explained:
    """Say what the score of two texts, or of each pair of some data, comes from.

    Args:
        reference, candidate: the two texts, instead of *pairs*.
        metric: an S3BERT model, BERTScore, a cross-encoder, or ``amr:smatch``.
        pairs: data as for :func:`assay.run`, labelled or not; each of several gold answers is a pair of its own.
        pair_ids: only these pairs of the data, in this order.
        columns: which columns are reference and candidate.
        graphs: AMR graphs of the texts: ``"reference=A.amr,candidate=B.amr"``, or a mapping.
        language: of the texts, where the data does not say.
        limit: only the first so many pairs.
        offline: fetch nothing.
        device: where models run, as for :func:`assay.run`.
        threads: threads of the CPU for models; the cores that are free by default.

    Raises:
        InputError: the metric's scores have no parts; neither texts nor data, or both; no pair of an id; two
            texts for a metric whose weights come from a corpus.
        UnavailableError: model or data cannot be had.
    """
    chosen = load_metric(metric)
    check_explainable(chosen)
    data = _load(reference, candidate, pairs, columns, language, offline)
    data = data if graphs is None else join_graphs(data, graphs)
    # a metric is bound to all pairs, since its corpus may decide scores
    references = _gold(data) if pairs is not None else _no_corpus(chosen)
    data = data if not pair_ids else _chosen(data, pair_ids)
    data = data if limit is None else data.limit(limit)
    ids, batch = _laid_flat(data)
    if not ids:
        raise InputError(f"{data.name}: has no pair to explain")
    with use_runtime(Runtime(device, threads)):
        bound = chosen.bind(Context(data.language, references))
        bound.for_language(data.language)
        bound.obtain(offline=offline)
        bound.check_available()
        found = [replace(one, metric=str(chosen)) for one in explain_pairs(bound, batch)]
        if chosen.picks_by_language:
            found = [replace(one, notes=(bound.says(), *one.notes)) for one in found]
    plain = [one.as_dict() for one in found]
    if pairs is not None:
        plain = [one | {"pair_id": name} for one, name in zip(plain, ids, strict=True)]
    return Explained(plain)


def _load(
    reference: str | None,
    candidate: str | None,
    pairs: Any,
    columns: str | Mapping[str, str] | None,
    language: str | None,
    offline: bool,
) -> Pairs:
    texts = [text for text in (reference, candidate) if text is not None]
    if len(texts) != (0 if pairs is not None else 2):
        raise InputError("explain what? give two texts, or data with `pairs`, and not both")
    spec = pairs if pairs is not None else [{"reference": reference, "candidate": candidate}]
    return load_dataset(spec, columns=columns, language=language, offline=offline, allow_unlabelled=True)


def _gold(data: Pairs) -> Callable[[], list[str]]:
    """Return what gives all gold answers of some data."""
    return lambda: [text for cell in data.texts()[0] for text in ([cell] if isinstance(cell, str) else cell)]


def _no_corpus(metric: Metric) -> Callable[[], list[str]]:
    """Return what refuses to take two texts for a corpus."""

    def refuse() -> list[str]:
        raise InputError(f"metric {metric}: its weights come from the references of a dataset; give one with `pairs`")

    return refuse


def _chosen(data: Pairs, names: Sequence[str]) -> Pairs:
    """Return the pairs of some ids, in the order of these."""
    places = pc.index_in(pa.array(names, pa.string()), data.table.column("pair_id").combine_chunks())
    for name, place in zip(names, places.to_pylist(), strict=True):
        if place is None:
            raise InputError(f"{data.name}: has no pair {name!r}")
    return data.take(places.to_numpy())


def _laid_flat(data: Pairs) -> tuple[list[str], Batch]:
    """Return the id and the texts of each pair, a pair for each gold answer."""
    references, candidates, questions = data.texts()
    held = {name: data.table.column(name).to_pylist() for name in GRAPH_COLUMNS if name in data.table.column_names}
    gold = [[cell] if isinstance(cell, str) else cell for cell in references]
    rows = [(row, text) for row, texts in enumerate(gold) for text in texts]
    ids = data.table.column("pair_id").to_pylist()
    batch = Batch(
        [text for _, text in rows],
        [candidates[row] for row, _ in rows],
        None if questions is None else [questions[row] for row, _ in rows],
        **{f"{name}s": [column[row] or "" for row, _ in rows] for name, column in held.items()},
    )
    return [ids[row] for row, _ in rows], batch
