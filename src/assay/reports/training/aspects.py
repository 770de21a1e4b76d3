"""How well the parts of a trained embedding follow aspects, and the whole of it human labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.reports.sheets import Column, Document, Sheet

__all__ = ["aspects_document"]

#: Head of a column -> the value of a record.
_SYSTEMS = {"full": "full", "random": "random", "ILP": "ilp", "ILP, even": "ilp_even", "trained": "trained"}

#: What p is: of one model, and of several seeds.
_TESTS = (
    ("p: paired bootstrap over the test pairs.",),
    (
        "p seeds: Student's t over the seeds, a test of the order of the batches alone, not of the choice of pairs.",
        "p pairs: the largest p that a paired bootstrap over the test pairs gives for any seed.",
    ),
)


def aspects_document(results: Mapping[str, Any]) -> Document:
    """Return the tables of a training of S3BERT with their records."""
    seeds = len(results["seeds"])
    records = [*results["aspects"], *results["people"]]
    tests = [*_TESTS[seeds > 1], "Each p is two-sided and not corrected for the number of lines."]
    aspects = Sheet(
        "Aspects: Spearman's rho x 100 with the AMR metrics, test pairs and their negatives",
        [Column("aspect"), *(Column(head, number=True) for head in (*_SYSTEMS, *_tail(seeds, ("full", "ilp"))))],
        [_row(record, "aspect", _SYSTEMS.values(), ("full", "ilp"), seeds) for record in results["aspects"]],
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
                [Column("dataset"), *(Column(head, number=True) for head in ("n", *shown, *_tail(seeds, ("full",))))],
                [_row(record, "dataset", ("n", *shown.values()), ("full",), seeds) for record in results["people"]],
                notes=[*tests, "Whole groups are drawn where the data has them."],
            )
        )
    return Document(sheets, records, value=dict(results))


def _tail(seeds: int, rivals: Sequence[str]) -> list[str]:
    """Return the heads behind the systems."""
    heads = ["sd"] if seeds > 1 else []
    for rival in rivals:
        heads += [f"over {rival if rival == 'full' else 'ILP'}", *(("p seeds", "p pairs") if seeds > 1 else ("p",))]
    return heads


def _row(record: Mapping[str, Any], key: str, systems: Any, rivals: Sequence[str], seeds: int) -> list[str]:
    cells = [str(record[key])]
    cells += [f"{record[name]:,}" if name == "n" else _number(record[name]) for name in systems]
    cells += [_number(record["sd_trained"])] if seeds > 1 else []
    for rival in rivals:
        cells.append(_number(record[f"over_{rival}"], sign=True))
        for head in ("p", "p_bootstrap") if seeds > 1 else ("p",):
            p = record[f"{head}_{rival}"]
            cells.append("–" if p is None else f"{p:.3f}")
    return cells


def _number(value: float | None, *, sign: bool = False) -> str:
    return "–" if value is None else f"{value:+.1f}" if sign else f"{value:.1f}"
