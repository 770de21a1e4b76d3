"""Results of trainings as tables, from the plain values of ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.common.numbers import p_value
from assay.common.tables import NOT_BY_PEOPLE
from assay.reports.sheets import Column, Document, Sheet, number_columns

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

    Args:
        results: the plain values of ``results.json``.
    """
    records = results["agreement"]
    machine_labelled_datasets = results.get("machine_labels", ())
    has_several_seeds = len(results["seeds"]) > 1
    label_source = "labels" if machine_labelled_datasets else "people"
    title = f"Agreement with {label_source} on the test pairs"
    heads = ["n", "before", "after", "gain", "95 %", "p"]
    if has_several_seeds:
        title += f", {len(results['seeds'])} seeds"
        heads = ["n", "before", "after", "sd", "gain", "95 %", "p", "p seeds"]
    notes = []
    if any(record["gain"] is not None for record in records):
        notes.append(_GAIN_NOTE)
    if all(record["before"] is None for record in records):
        notes.append(_NO_BASE_SCORES_NOTE)
    if has_several_seeds:
        notes.append(_SEEDS_NOTE)
    if machine_labelled_datasets:
        notes.append(f"{', '.join(machine_labelled_datasets)}: {NOT_BY_PEOPLE['machine']}.")
    columns = [Column("dataset"), Column("statistic"), *number_columns(heads)]
    rows = [_agreement_row(record, has_several_seeds=has_several_seeds) for record in records]
    return Sheet(title, columns, rows, notes=notes)


def _agreement_row(record: Mapping[str, Any], *, has_several_seeds: bool) -> list[str]:
    """Return the cells of one row of :func:`agreement_sheet`, in the order of its columns."""
    cells = [record["dataset"], record["statistic"], f"{record['n']:,}"]
    cells += [_rounded_text(record["before"]), _rounded_text(record["after"])]
    if has_several_seeds:
        cells.append(_rounded_text(record["sd"]))
    gain = "–" if record["gain"] is None else f"{record['gain']:+.4f}"
    bounds = "–" if record["low"] is None else f"[{record['low']:+.4f}, {record['high']:+.4f}]"
    cells += [gain, bounds, p_value(record["p"])]
    if has_several_seeds:
        cells.append(p_value(record["p_seeds"]))
    return cells


def _rounded_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


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
    rows = [[name, _rounded_text(before.get(name)), _rounded_text(after.get(name))] for name in ("loss", "accuracy")]
    note = "Accuracy: how often the right form is told from the wrong one; a classifier has none before it is trained."
    columns = [Column("development set"), Column("before", number=True), Column("after", number=True)]
    return Sheet("Sentences and their forms", columns, rows, notes=[note])


def _neighbour_sheets(records: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """Return one table per query: the nearest sentences by the base model beside those by the trained model."""
    columns = [Column("base"), Column("cosine", number=True), Column("trained"), Column("cosine", number=True)]
    sheets = []
    for record in records:
        rows = []
        for base, trained in zip(record["base"], record["trained"], strict=True):
            rows.append([base["text"], f"{base['cosine']:.4f}", trained["text"], f"{trained['cosine']:.4f}"])
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
    seed_notes = _SEVERAL_SEEDS_NOTES if seed_count > 1 else _ONE_SEED_NOTES
    test_notes = [*seed_notes, "Each p is two-sided and not corrected for the number of lines."]
    rivals = ("full", "ilp")
    heads = [*_RECORD_KEY_BY_SYSTEM, *_comparison_heads(seed_count, rivals)]
    value_keys = list(_RECORD_KEY_BY_SYSTEM.values())
    aspects = Sheet(
        "Aspects: Spearman's rho x 100 with the AMR metrics, test pairs and their negatives",
        [Column("aspect"), *number_columns(heads)],
        [_aspect_row(record, "aspect", value_keys, rivals, seed_count) for record in results["aspects"]],
        notes=[
            "full: cosine of the base's whole embedding. random, ILP: dimensions of the base given to each aspect.",
            *test_notes,
            "Pairs that exchanged candidates are drawn together; others that share a sentence count as independent.",
        ],
    )
    sheets = [aspects]
    if results["people"]:
        # the base is compared as a whole, under the key "full"
        heads = ["n", "base", "trained", *_comparison_heads(seed_count, ("full",))]
        value_keys = ["n", "full", "trained"]
        whole_embedding = Sheet(
            "Whole embedding: Spearman's rho x 100 with human labels, test pairs",
            [Column("dataset"), *number_columns(heads)],
            [_aspect_row(record, "dataset", value_keys, ("full",), seed_count) for record in results["people"]],
            notes=[*test_notes, "Whole groups are drawn where the data has them."],
        )
        sheets.append(whole_embedding)
    return Document(sheets, [*results["aspects"], *results["people"]], value=dict(results))


def _comparison_heads(seed_count: int, rivals: Sequence[str]) -> list[str]:
    """Return the heads of the columns after the values: the deviation over several seeds, then those of each rival.

    Args:
        seed_count: the number of seeds.
        rivals: the keys of the systems that the trained one is compared with, ``full`` or ``ilp``.
    """
    p_heads = ["p seeds", "p pairs"] if seed_count > 1 else ["p"]
    heads = ["sd"] if seed_count > 1 else []
    for rival in rivals:
        rival_title = "ILP" if rival == "ilp" else rival
        heads += [f"over {rival_title}", *p_heads]
    return heads


def _aspect_row(
    record: Mapping[str, Any], name_key: str, value_keys: Sequence[str], rivals: Sequence[str], seed_count: int
) -> list[str]:
    """Return the cells of the row of an aspect or dataset.

    Args:
        record: the plain values of the aspect or dataset.
        name_key: the key of its name.
        value_keys: the keys of the columns of values.
        rivals: the keys of the systems that the trained one is compared with.
        seed_count: the number of seeds.
    """
    cells = [str(record[name_key])]
    cells += [f"{record[key]:,}" if key == "n" else _aspect_number(record[key]) for key in value_keys]
    if seed_count > 1:
        cells.append(_aspect_number(record["sd_trained"]))
    for rival in rivals:
        cells.append(_aspect_number(record[f"over_{rival}"], has_sign=True))
        p_values = [record[f"p_{rival}"]]
        if seed_count > 1:
            # version 0.1 used the bootstrap, under the key p_bootstrap
            p_values.append(record.get(f"p_pairs_{rival}", record.get(f"p_bootstrap_{rival}")))
        cells += ["–" if p is None else f"{p:.3f}" for p in p_values]
    return cells


def _aspect_number(value: float | None, *, has_sign: bool = False) -> str:
    if value is None:
        return "–"
    return f"{value:+.1f}" if has_sign else f"{value:.1f}"
