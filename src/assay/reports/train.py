"""Results of trainings as tables, from the plain values of ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.numbers import p_value
from assay.common.tables import NOT_BY_PEOPLE
from assay.reports.sheets import Column, Document, Sheet, table_rows

# Agreement with labels before and after a training.

_GAIN_NOTE = (
    "gain: with the paired bootstrap over the test pairs, whole groups where the data has them; p is that of the "
    "jackknife t-test over the same, two-sided and not corrected for the number of lines."
)
_SEEDS_NOTE = (
    "Bounds are the outermost of any seed's interval, p the largest of any seed; p seeds: Student's t over the seeds, "
    "a test of batches and head alone, not of the choice of pairs."
)
_NO_BASE_SCORES_NOTE = "The model that was started from gives no such scores by itself."


def agreement_document(results: Mapping[str, Any]) -> Document:
    """Return the table of the agreement before and after a training with its records; its JSON is *results*."""
    return Document([agreement_sheet(results)], results["agreement"], value=dict(results))


def agreement_sheet(results: Mapping[str, Any]) -> Sheet:
    """Return the table of the agreement with the labels before and after a training, one row per dataset and statistic.

    Of several seeds there are the deviation over them and their test as well. Numbers that were not measured, such as
    those of a base without scores, are dashes.

    Args:
        results: the plain values of ``results.json``.
    """
    records = results["agreement"]
    machine_labelled_datasets = results.get("machine_labels", ())
    has_several_seeds = len(results["seeds"]) > 1
    label_source = "labels" if machine_labelled_datasets else "people"
    title = f"Agreement with {label_source} on the test pairs"
    after_columns = [Column("after", number=True, cell=lambda record: _rounded_text(record["after"]))]
    p_columns = [Column("p", number=True, cell=lambda record: p_value(record["p"]))]
    if has_several_seeds:
        title += f", {len(results['seeds'])} seeds"
        after_columns.append(Column("sd", number=True, cell=lambda record: _rounded_text(record["sd"])))
        p_columns.append(Column("p seeds", number=True, cell=lambda record: p_value(record["p_seeds"])))
    columns = [
        Column("dataset", cell=lambda record: record["dataset"]),
        Column("statistic", cell=lambda record: record["statistic"]),
        Column("n", number=True, cell=lambda record: f"{record['n']:,}"),
        Column("before", number=True, cell=lambda record: _rounded_text(record["before"])),
        *after_columns,
        Column("gain", number=True, cell=lambda record: _rounded_text(record["gain"], sign="+")),
        Column("95 %", number=True, cell=_bounds_text),
        *p_columns,
    ]
    notes = []
    if any(record["gain"] is not None for record in records):
        notes.append(_GAIN_NOTE)
    if all(record["before"] is None for record in records):
        notes.append(_NO_BASE_SCORES_NOTE)
    if has_several_seeds:
        notes.append(_SEEDS_NOTE)
    if machine_labelled_datasets:
        notes.append(f"{', '.join(machine_labelled_datasets)}: {NOT_BY_PEOPLE['machine']}.")
    return Sheet(title, columns, table_rows(columns, records), notes=notes)


def _bounds_text(record: Mapping[str, Any]) -> str:
    return "–" if record["low"] is None else f"[{record['low']:+.4f}, {record['high']:+.4f}]"


def _rounded_text(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{value:{sign}.4f}"


# A mid-tuning: the alignment of sentences with their forms, and nearest neighbours.


def alignment_document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a mid-tuning: its agreement if it was measured, the alignment, and nearest sentences.

    The records of the document are those of the agreement; its JSON is *results*.
    """
    sheets = [agreement_sheet(results)] if results["agreement"] else []
    sheets += [_alignment_sheet(results["alignment"]), *_neighbour_sheets(results.get("neighbours", []))]
    return Document(sheets, results["agreement"], value=dict(results))


def neighbours_document(records: Sequence[Mapping[str, Any]]) -> Document:
    """Return the nearest sentences: one table per query, and the plain values as records."""
    return Document(_neighbour_sheets(records), records)


def _alignment_sheet(alignment: Mapping[str, Any]) -> Sheet:
    """Return the table of loss and accuracy on the development set before and after a training.

    A number that was not measured is a dash.
    """
    # None, or without a number, for what was not measured
    before, after = alignment["before"] or {}, alignment["after"] or {}
    columns = [
        Column("development set", cell=str),
        Column("before", number=True, cell=lambda name: _rounded_text(before.get(name))),
        Column("after", number=True, cell=lambda name: _rounded_text(after.get(name))),
    ]
    note = "Accuracy: how often the right form is told from the wrong one; a classifier has none before it is trained."
    return Sheet("Sentences and their forms", columns, table_rows(columns, ("loss", "accuracy")), notes=[note])


def _neighbour_sheets(records: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """Return one table per query: the nearest sentences by the base model beside those by the trained model."""
    # a row is a neighbour by the base model, and one by the trained model
    columns = [
        Column("base", cell=lambda row: row[0]["text"]),
        Column("cosine", number=True, cell=lambda row: f"{row[0]['cosine']:.4f}"),
        Column("trained", cell=lambda row: row[1]["text"]),
        Column("cosine", number=True, cell=lambda row: f"{row[1]['cosine']:.4f}"),
    ]
    sheets = []
    for record in records:
        rows = table_rows(columns, zip(record["base"], record["trained"], strict=True))
        sheets.append(Sheet(f"Nearest to: {record['query']}", columns, rows))
    return sheets


# S3BERT: the agreement of parts of an embedding with aspects, and of the whole embedding with human labels.

#: Head of a column -> the key in a record.
_RECORD_KEY_BY_SYSTEM = {
    "full": "full",
    "random": "random",
    "ILP": "ilp",
    "ILP, even": "ilp_even",
    "trained": "trained",
}

#: The notes on p-values for a single seed, and for several seeds.
_ONE_SEED_NOTES = ("p: jackknife t-test over the test pairs.",)
_SEVERAL_SEEDS_NOTES = (
    "p seeds: Student's t over the seeds, a test of the order of the batches alone, not of the choice of pairs.",
    "p pairs: the largest p that a jackknife t-test over the test pairs gives for any seed.",
)


def aspects_document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a training of S3BERT with their records.

    They are the agreement of the parts of an embedding with the aspects, and if there are human labels, the agreement
    of the whole embedding with them.
    """
    seed_count = len(results["seeds"])
    sheets = [_aspects_sheet(results["aspects"], seed_count)]
    if results["people"]:
        sheets.append(_whole_embedding_sheet(results["people"], seed_count))
    return Document(sheets, [*results["aspects"], *results["people"]], value=dict(results))


def _test_notes(seed_count: int) -> list[str]:
    """Return the notes on the p-values of a training with this number of seeds."""
    seed_notes = _SEVERAL_SEEDS_NOTES if seed_count > 1 else _ONE_SEED_NOTES
    return [*seed_notes, "Each p is two-sided and not corrected for the number of lines."]


def _aspects_sheet(records: Sequence[Mapping[str, Any]], seed_count: int) -> Sheet:
    """Return the table of the agreement of each part of the embedding with its aspect, beside that of other systems."""
    columns = [
        Column("aspect", cell=lambda record: str(record["aspect"])),
        *(_aspect_column(system, key) for system, key in _RECORD_KEY_BY_SYSTEM.items()),
        *_comparison_columns(seed_count, ("full", "ilp")),
    ]
    return Sheet(
        "Aspects: Spearman's rho x 100 with the AMR metrics, test pairs and their negatives",
        columns,
        table_rows(columns, records),
        notes=[
            "full: cosine of the base's whole embedding. random, ILP: dimensions of the base given to each aspect.",
            *_test_notes(seed_count),
            "Pairs that exchanged candidates are drawn together; others that share a sentence count as independent.",
        ],
    )


def _whole_embedding_sheet(records: Sequence[Mapping[str, Any]], seed_count: int) -> Sheet:
    """Return the table of the agreement of the whole embedding with human labels, before and after the training."""
    columns = [
        Column("dataset", cell=lambda record: str(record["dataset"])),
        Column("n", number=True, cell=lambda record: f"{record['n']:,}"),
        # the base is compared as a whole, under the key "full"
        _aspect_column("base", "full"),
        _aspect_column("trained", "trained"),
        *_comparison_columns(seed_count, ("full",)),
    ]
    return Sheet(
        "Whole embedding: Spearman's rho x 100 with human labels, test pairs",
        columns,
        table_rows(columns, records),
        notes=[*_test_notes(seed_count), "Whole groups are drawn where the data has them."],
    )


def _aspect_column(head: str, *keys: str, form: str = ".1f") -> Column:
    """Return a column with a number of a record, or a dash.

    Args:
        head: the head of the column.
        keys: the key of the number, and those that it had in earlier versions.
        form: the format of the number, such as ``+.1f``.
    """

    def number_text(record: Mapping[str, Any]) -> str:
        value = next((record[key] for key in keys if key in record), None)
        return "–" if value is None else f"{value:{form}}"

    return Column(head, number=True, cell=number_text)


def _comparison_columns(seed_count: int, rivals: Sequence[str]) -> list[Column]:
    """Return the columns after the values: the deviation over several seeds, then those of each rival.

    Args:
        seed_count: the number of seeds.
        rivals: the keys of the systems that the trained one is compared with, ``full`` or ``ilp``.
    """
    columns = [_aspect_column("sd", "sd_trained")] if seed_count > 1 else []
    for rival in rivals:
        columns.append(_aspect_column(f"over {'ILP' if rival == 'ilp' else rival}", f"over_{rival}", form="+.1f"))
        columns.append(_aspect_column("p seeds" if seed_count > 1 else "p", f"p_{rival}", form=".3f"))
        if seed_count > 1:
            # version 0.1 used the bootstrap, under the key p_bootstrap
            columns.append(_aspect_column("p pairs", f"p_pairs_{rival}", f"p_bootstrap_{rival}", form=".3f"))
    return columns
