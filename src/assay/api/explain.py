"""``assay explain``: what the score of a pair comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.analysis.explain import ExplainSettings
from assay.api.values import Report
from assay.common.messages import Message, Setting
from assay.common.numbers import money
from assay.common.output import atomic_write
from assay.common.tables import GRAPH_COLUMNS
from assay.common.verbs import verb
from assay.datasets import Pairs, join_graphs, load_dataset
from assay.exceptions import InputError
from assay.metrics import Batch, Metric, load_metric
from assay.metrics.base import Context
from assay.metrics.explaining.explanation import NotExplainableError
from assay.metrics.judge.server import ServerJudge
from assay.metrics.judge.spending import Price, Purse, current_purse, read_prices, use_purse
from assay.metrics.neural.runtime import Runtime, use_runtime
from assay.paths import user_path
from assay.reports.explain.document import to_document
from assay.reports.explain.picture import to_svg
from assay.settings import OwnData


class Explained(Report):
    """Explanations of pairs, as tables, as values and as a picture.

    Attributes:
        explanations: the explanations as plain values, one per pair; docs/explain.md describes each kind.
    """

    def __init__(self, explanations: Sequence[Mapping[str, Any]], costs: Sequence[str | Message] = ()) -> None:
        super().__init__(to_document(explanations, costs))
        self.explanations = explanations

    def to_svg(self) -> str:
        """Return one picture of all pairs.

        Raises:
            InputError: there are more than 50 pairs, or the explanations are replies of a judge.
        """
        return to_svg(self.explanations)

    def write_svg(self, path: str | Path) -> None:
        """Write the picture of :meth:`to_svg` to a file; an existing file is replaced.

        Raises:
            InputError: there are more than 50 pairs, the explanations are replies of a judge, or the file cannot be
                written.
        """
        picture = self.to_svg()
        try:
            out = user_path(path)
            if out.exists() and not out.is_file():
                out.write_text(picture, encoding="utf-8")  # a device such as /dev/stdout cannot be replaced
                return
            with atomic_write(out) as temporary:
                temporary.write_text(picture, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from error


@verb(
    ExplainSettings,
    "Say what the score of two texts comes from: aspects, matches of tokens, words, or graphs.",
    'assay explain "two cats are looking at a window" "a white cat looking out of a window" -m s3bert:FOLDER',
)
def explain(settings: ExplainSettings) -> Explained:
    """Explain what the score of two texts, or of each pair of some data, consists of.

    Args:
        reference: the first of two texts, instead of *pairs*.
        candidate: the second text.
        metric: an S3BERT model, BERTScore, a cross-encoder, ``amr:smatch``, a judge, or a combination of metrics.
        pairs: data as for :func:`assay.run`, labelled or not; each of several gold answers is a pair of its own, except
            for a judge that reads all of them.
        pair_ids: only these pairs of the data, in this order.

    Returns:
        The explanations of the pairs, in order; with several gold answers, one for each of them.

    Raises:
        InputError: the metric's scores have no parts; neither texts nor data is passed, or both are; no pair has a
            requested id; two texts are passed for a metric whose weights come from a corpus; or a file cannot be read,
            or the picture cannot be drawn or written.
        OfflineError: the data is not on this machine, and the network is forbidden.
        UnavailableError: the data or the model is unavailable, such as a model that is not on this machine if the
            network is forbidden.
    """
    metric = load_metric(settings.metric)
    if not metric.is_explainable:
        raise NotExplainableError(str(metric))
    data = _load_pairs(settings)
    if settings.graphs is not None:
        data = join_graphs(data, settings.graphs)
    # the corpus is all pairs, also those that are not explained, since it may affect scores
    references = _corpus_of_gold_answers(data) if settings.pairs is not None else _refuse_corpus(metric)
    all_pairs = data
    if settings.pair_ids:
        data = _pairs_with_ids(data, settings.pair_ids)
    if settings.limit is not None:
        data = data.limit(settings.limit)
    if metric.declaration.reads_all_references:
        ids, batch = _batch_of_pairs(data)
    else:
        ids, batch = _batch_of_gold_answers(data)
    if not ids:
        raise InputError(f"{data.name}: has no pair to explain")
    costs: Sequence[str | Message] = ()
    prices = {} if settings.prices is None else read_prices(settings.prices)
    with use_runtime(Runtime(settings.device, settings.threads)), use_purse(Purse(prices=prices)):
        bound_metric = metric.bind(Context(data.language, references))
        bound_metric.for_language(data.language)
        bound_metric.obtain(offline=settings.offline)
        bound_metric.check_available()
        explanations = _explain_batch(metric, bound_metric, batch)
        if isinstance(bound_metric, ServerJudge):
            reads_all = metric.declaration.reads_all_references
            total = len(all_pairs.table) if reads_all else len(_batch_of_gold_answers(all_pairs)[0])
            costs = _cost_lines(bound_metric, explanations, total)
    if settings.pairs is not None:
        explanations = [values | {"pair_id": pair_id} for values, pair_id in zip(explanations, ids, strict=True)]
    explained = Explained(explanations, costs)
    if settings.svg is not None:
        explained.write_svg(settings.svg)
    return explained


def _explain_batch(metric: Metric, bound_metric: Metric, batch: Batch) -> list[dict[str, Any]]:
    """Return the explanation of each pair as plain values, under the name of the metric as it was typed.

    For a preset, a note says which model it used.

    Args:
        metric: the metric as it was typed.
        bound_metric: the same metric, bound to the language and corpus of the data, which explains.
        batch: the texts of the pairs.
    """
    explanations = []
    for explanation in bound_metric.explain(batch):
        notes = (bound_metric.says(), *explanation.notes) if metric.picks_by_language else explanation.notes
        explanations.append(replace(explanation, metric=str(metric), notes=notes).as_dict())
    return explanations


def _cost_lines(judge: ServerJudge, explanations: Sequence[Mapping[str, Any]], total: int) -> list[str | Message]:
    """Return lines on what the replies to the explained pairs cost, and what those to all pairs of the data would.

    If prices are unknown, the lines have the tokens alone, and the last one says how to give a price.

    Args:
        judge: the judge at an endpoint.
        explanations: the explanations of n pairs, at least one, with the token counts of the server.
        total: the number of pairs of the data.
    """
    price = judge.needs().token_price(current_purse())
    replies = [reply for explanation in explanations for reply in explanation["replies"]]
    tokens_in = sum(reply["tokens_in"] for reply in replies)
    tokens_out = sum(reply["tokens_out"] for reply in replies)
    n = len(explanations)
    lines: list[str | Message] = [
        _cost_line(f"these {n:,} pairs" if n > 1 else "this pair", tokens_in, tokens_out, price)
    ]
    if total != n:
        factor = total / n
        lines.append(_cost_line(f"all {total:,} pairs at that rate", tokens_in * factor, tokens_out * factor, price))
    if price is None:
        lines.append(Message("no price: give price_in and price_out with the judge, or ", Setting("prices", "FILE")))
    return lines


def _cost_line(pairs: str, tokens_in: float, tokens_out: float, price: Price | None) -> str:
    """Return a line on the tokens of some pairs, and their price if it is known.

    Args:
        pairs: the pairs in words, with which the line begins.
        tokens_in: the tokens of the prompts.
        tokens_out: the tokens of the replies.
        price: what tokens cost; None if unknown.
    """
    cost = "" if price is None else f", price {money(price.of_tokens(tokens_in, tokens_out))}"
    return f"{pairs}: {tokens_in:,.0f} tokens in and {tokens_out:,.0f} out{cost}"


def _load_pairs(settings: ExplainSettings) -> Pairs:
    """Return the data to explain, labelled or not; two texts are returned as data of one pair.

    Raises:
        InputError: the data, or a text, cannot be read.
        OfflineError, UnavailableError: the data of a card is not on this machine and cannot be downloaded.
    """
    source = settings.pairs
    if source is None:
        source = [{"reference": settings.reference, "candidate": settings.candidate}]
    return load_dataset(source, **settings.values_of(OwnData), offline=settings.offline, allow_unlabelled=True)


def _corpus_of_gold_answers(data: Pairs) -> Callable[[], list[str]]:
    """Return a function that reads and returns all gold answers in the data, the corpus to which a metric is bound."""

    def read_gold_answers() -> list[str]:
        texts: list[str] = []
        for cell in data.texts()[0]:
            texts.extend([cell] if isinstance(cell, str) else cell)
        return texts

    return read_gold_answers


def _refuse_corpus(metric: Metric) -> Callable[[], list[str]]:
    """Return a function that raises InputError instead of returning a corpus, since two texts alone are none."""

    def refuse_corpus_reading() -> list[str]:
        raise InputError(
            f"metric {metric}: its weights come from the references of a dataset; give one with ", Setting("pairs")
        )

    return refuse_corpus_reading


def _pairs_with_ids(data: Pairs, pair_ids: Sequence[str]) -> Pairs:
    """Return the pairs with these ids, in the order of the ids.

    Raises:
        InputError: no pair has one of the ids.
    """
    rows = pc.index_in(pa.array(pair_ids, pa.string()), data.table.column("pair_id").combine_chunks())
    for pair_id, row in zip(pair_ids, rows.to_pylist(), strict=True):
        if row is None:
            raise InputError(f"{data.name}: has no pair {pair_id!r}")
    return data.take(rows.to_numpy())


def _batch_of_pairs(data: Pairs) -> tuple[list[str], Batch]:
    """Return the pair ids and the texts of the pairs, one row per pair with all its gold answers.

    The reference of a row is the first of its gold answers. An AMR graph that a pair lacks is an empty text.
    """
    cells, candidates, questions = data.texts()
    gold_answers = [[cell] if isinstance(cell, str) else cell for cell in cells]
    first_answers = [answers[0] for answers in gold_answers]
    # the fields of a batch are called reference_graphs and candidate_graphs
    graphs = {
        f"{name}s": [text or "" for text in data.table.column(name).to_pylist()]
        for name in GRAPH_COLUMNS
        if name in data.table.column_names
    }
    batch = Batch(first_answers, candidates, questions, gold_answers=gold_answers, contexts=data.contexts(), **graphs)
    return data.table.column("pair_id").to_pylist(), batch


def _batch_of_gold_answers(data: Pairs) -> tuple[list[str], Batch]:
    """Return the pair ids and the texts of the pairs, one row per gold answer, so that a pair may have several rows."""
    ids, pairs = _batch_of_pairs(data)
    batch, rows = pairs.by_gold_answer()
    return [ids[row] for row in rows], batch
