"""Results of trainings as tables, from the plain values of ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.reports.layout import p_value
from assay.reports.sheets import Column, Document, Sheet
from assay.tables import NOT_BY_PEOPLE

# Agreement with labels before and after a training.

_NOTES = (
    "gain: with the paired bootstrap over the test pairs, whole groups where the data has them; p is that of the "
    "jackknife t-test over the same, two-sided and not corrected for the number of lines."
)
_SEEDS_NOTE = (
    "Bounds are the outermost of any seed's interval, p the largest of any seed; p seeds: Student's t over the seeds, "
    "a test of batches and head alone, not of the choice of pairs."
)
_NO_BASE_SCORES_NOTE = "The model that was started from gives no such scores by itself."


def agreement_document(results: Mapping[str, Any]) -> Document:
    """Return the table of a training with its records."""
    return Document([agreement_sheet(results)], results["agreement"], value=dict(results))


def agreement_sheet(results: Mapping[str, Any]) -> Sheet:
    """Return the table of the agreement with people before and after a training."""
    records = results["agreement"]
    machine = results.get("machine_labels", ())
    several = len(results["seeds"]) > 1
    title = f"Agreement with {'labels' if machine else 'people'} on the test pairs"
    heads = ["n", "before", "after", "gain", "95 %", "p"]
    if several:
        title += f", {len(results['seeds'])} seeds"
        heads = ["n", "before", "after", "sd", "gain", "95 %", "p", "p seeds"]
    notes = []
    if any(record["gain"] is not None for record in records):
        notes.append(_NOTES)
    if all(record["before"] is None for record in records):
        notes.append(_NO_BASE_SCORES_NOTE)
    if several:
        notes.append(_SEEDS_NOTE)
    if machine:
        notes.append(f"{', '.join(machine)}: {NOT_BY_PEOPLE['machine']}.")
    columns = [Column("dataset"), Column("statistic"), *(Column(head, number=True) for head in heads)]
    return Sheet(title, columns, [_agreement_row(record, several) for record in records], notes=notes)


def _agreement_row(record: Mapping[str, Any], several: bool) -> list[str]:
    bounds = "–" if record["low"] is None else f"[{record['low']:+.4f}, {record['high']:+.4f}]"
    cells = [record["dataset"], record["statistic"], f"{record['n']:,}", _rounded_text(record["before"])]
    cells += [_rounded_text(record["after"]), *([_rounded_text(record["sd"])] if several else [])]
    cells += ["–" if record["gain"] is None else f"{record['gain']:+.4f}", bounds, p_value(record["p"])]
    return cells + ([p_value(record["p_seeds"])] if several else [])


def _rounded_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


# A mid-tuning: the alignment of sentences with their forms, and nearest neighbours.


def alignment_document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a mid-tuning with the records of its agreement."""
    sheets = [agreement_sheet(results)] if results["agreement"] else []
    sheets += [_alignment_sheet(results["alignment"]), *_neighbour_sheets(results.get("neighbours", []))]
    return Document(sheets, results["agreement"], value=dict(results))


def neighbours_document(records: Sequence[Mapping[str, Any]]) -> Document:
    """Return the nearest sentences: one table per query, and the plain values as records."""
    return Document(_neighbour_sheets(records), records)


def _alignment_sheet(alignment: Mapping[str, Any]) -> Sheet:
    """Return the table of loss and accuracy on the development set."""
    rows = []
    for name in ("loss", "accuracy"):
        before, after = ((record or {}).get(name) for record in (alignment["before"], alignment["after"]))
        rows.append([name, _rounded_text(before), _rounded_text(after)])
    note = "Accuracy: how often the right form is told from the wrong one; a classifier has none before it is trained."
    columns = [Column("development set"), Column("before", number=True), Column("after", number=True)]
    return Sheet("Sentences and their forms", columns, rows, notes=[note])


def _neighbour_sheets(records: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """Return one table of nearest sentences per query."""
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

#: The notes on p-values: for a single seed, and for several seeds.
_TESTS_NOTE = (
    ("p: jackknife t-test over the test pairs.",),
    (
        "p seeds: Student's t over the seeds, a test of the order of the batches alone, not of the choice of pairs.",
        "p pairs: the largest p that a jackknife t-test over the test pairs gives for any seed.",
    ),
)


def aspects_document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a training of S3BERT with their records."""
    seeds = len(results["seeds"])
    records = [*results["aspects"], *results["people"]]
    tests = [*_TESTS_NOTE[seeds > 1], "Each p is two-sided and not corrected for the number of lines."]
    aspects = Sheet(
        "Aspects: Spearman's rho x 100 with the AMR metrics, test pairs and their negatives",
        [
            Column("aspect"),
            *(
                Column(head, number=True)
                for head in (*_RECORD_KEY_BY_SYSTEM, *_comparison_heads(seeds, ("full", "ilp")))
            ),
        ],
        [
            _aspect_row(record, "aspect", _RECORD_KEY_BY_SYSTEM.values(), ("full", "ilp"), seeds)
            for record in results["aspects"]
        ],
        notes=[
            "full: cosine of the base's whole embedding. random, ILP: dimensions of the base given to each aspect.",
            *tests,
            "Pairs that exchanged candidates are drawn together; others that share a sentence count as independent.",
        ],
    )
    sheets = [aspects]
    if results["people"]:
        shown = {"base": "full", "trained": "trained"}
        sheets.append(
            Sheet(
                "Whole embedding: Spearman's rho x 100 with human labels, test pairs",
                [
                    Column("dataset"),
                    *(Column(head, number=True) for head in ("n", *shown, *_comparison_heads(seeds, ("full",)))),
                ],
                [
                    _aspect_row(record, "dataset", ("n", *shown.values()), ("full",), seeds)
                    for record in results["people"]
                ],
                notes=[*tests, "Whole groups are drawn where the data has them."],
            )
        )
    return Document(sheets, records, value=dict(results))


def _comparison_heads(seeds: int, rivals: Sequence[str]) -> list[str]:
    """Return the heads of the columns after the systems."""
    heads = ["sd"] if seeds > 1 else []
    for rival in rivals:
        heads += [f"over {rival if rival == 'full' else 'ILP'}", *(("p seeds", "p pairs") if seeds > 1 else ("p",))]
    return heads


def _aspect_row(record: Mapping[str, Any], key: str, systems: Any, rivals: Sequence[str], seeds: int) -> list[str]:
    """Return the cells of one row.

    Args:
        record: the plain values of an aspect or dataset.
        key: the key of its name.
        systems: the keys of the columns of values.
        rivals: the keys of the systems that the trained one is compared with.
        seeds: the number of seeds.
    """
    cells = [str(record[key])]
    cells += [f"{record[name]:,}" if name == "n" else _aspect_number(record[name]) for name in systems]
    cells += [_aspect_number(record["sd_trained"])] if seeds > 1 else []
    for rival in rivals:
        cells.append(_aspect_number(record[f"over_{rival}"], sign=True))
        p_values = [record[f"p_{rival}"]]
        if seeds > 1:
            # version 0.1 used the bootstrap, under the key p_bootstrap
            p_values.append(record.get(f"p_pairs_{rival}", record.get(f"p_bootstrap_{rival}")))
        cells += ["–" if p is None else f"{p:.3f}" for p in p_values]
    return cells


def _aspect_number(value: float | None, *, sign: bool = False) -> str:
    return "–" if value is None else f"{value:+.1f}" if sign else f"{value:.1f}"
