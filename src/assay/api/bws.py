"""``assay bws``: scores from best-worst annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.analysis.bws import COLUMNS, GOLD_SHARE, AnnotationSet, BestWorstSettings, item_records, reliability_record
from assay.api.values import Report
from assay.api.writing import check_output_path, write_table
from assay.common.output import FileKind, check_replaceable
from assay.common.verbs import verb
from assay.datasets import read_table_file
from assay.datasets.best_worst import read_best_worst
from assay.datasets.gold_questions import read_gold_questions
from assay.exceptions import InputError
from assay.paths import user_path
from assay.reports.bws import to_document
from assay.statistics.best_worst import count_choices, split_halves


@verb(
    BestWorstSettings,
    "Score items by how often they were chosen best and worst, and say how reliable the scores are.",
    "assay bws tuples.csv --out scores.csv",
    tuples="Annotations, one per row: item1, item2, item3, item4, best, worst[, tuple, annotator].",
)
def bws(tuples: str | Path, settings: BestWorstSettings) -> Report:
    """Compute a score for each item from best-worst annotations, and the reliability of the scores.

    The scores are counts, as in STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023), sections 3.2.2 and 4.

    Args:
        tuples: the file of annotations, one per row, see :func:`assay.datasets.best_worst.read_best_worst`.

    Returns:
        A report whose records are the items, the highest score first. It has the reliability if any tuple was annotated
        more than once.

    Raises:
        InputError: a file or a row of it cannot be read; or *out* cannot be written, or exists and is not a score
            table of the same items.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
    """
    tuples_file = user_path(tuples)
    out = None if settings.out is None else user_path(settings.out)
    if out is not None:
        check_output_path(tuples_file, out)
    gold = None
    if settings.gold is not None:
        share = GOLD_SHARE if settings.gold_share is None else settings.gold_share
        gold = read_gold_questions(user_path(settings.gold), share)
    annotations = read_best_worst(tuples_file, gold)
    if out is not None:
        scores = FileKind("scores of these items", "out", partial(_is_score_table_of, items=annotations.items))
        check_replaceable(out, scores)
    counts = count_choices(annotations.shown, annotations.best, annotations.worst, len(annotations.items))
    reliability = None
    if annotations.annotations_per_tuple.max() > 1:
        reliability = split_halves(
            annotations.shown,
            annotations.best,
            annotations.worst,
            annotations.tuples,
            len(annotations.items),
            splits=settings.splits,
            seed=settings.seed,
        )
    annotated_items = AnnotationSet(
        title=tuples_file.name,
        items=annotations.items,
        tuple_size=annotations.shown.shape[1],
        annotations_per_tuple=annotations.annotations_per_tuple,
        tuples_per_item=annotations.tuples_per_item,
        annotators=annotations.annotators,
        warnings=annotations.warnings,
        gold_records=[vars(score) | {"share": score.share} for score in annotations.gold_scores],
    )
    records = item_records(annotated_items, counts)
    document = to_document(annotated_items, records, reliability_record(reliability))
    if out is not None:
        import pyarrow as pa

        write_table(pa.Table.from_pylist([dict(record) for record in document.records]), out)
    notes = [f"draws: splits:{settings.splits}|seed:{settings.seed}"] if reliability else []
    return Report(replace(document, notes=notes))


def _is_score_table_of(path: Path, items: Sequence[str]) -> bool:
    """Tell whether a file can be read, has the columns of a score table, and only rows about these items."""
    try:
        table = read_table_file(path).table
        if tuple(table.column_names) != COLUMNS:
            return False
        scored_items = table.column("item").to_pylist()
    except InputError:
        return False
    return {str(item) for item in scored_items} <= set(items)
