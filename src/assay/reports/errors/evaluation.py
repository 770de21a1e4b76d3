"""The rules held against the categories that people gave the pairs of a run."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import InputError
from assay.reports.categories import PartsOfSpeech
from assay.reports.categories.evaluation import Agreement, Evaluation, evaluate
from assay.reports.data import ScoredDataset
from assay.reports.errors.tagged import categories_of_people, tag_by_rules
from assay.reports.layout import short
from assay.reports.sheets import Column, Document, Sheet

__all__ = ["evaluate_rules", "evaluation_document"]


def evaluate_rules(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> tuple[Evaluation, list[str]]:
    """Hold the rules against people on the annotated pairs of a dataset; also return what the rules lacked.

    Args:
        data: the pairs.
        scale: lowest and highest label; those of the data by default.
        speech: what reads parts of speech.

    Raises:
        InputError: people gave no categories.
    """
    people = categories_of_people(data)
    rules, missing = tag_by_rules(data, scale, speech)
    annotated = [(name, [tag.category for tag in tags]) for name, tags in zip(people, rules, strict=True) if name]
    if not annotated:
        raise InputError(f"{data.run.title}: {data.name} has no column category that people filled in")
    return evaluate([name for name, _ in annotated], [tags for _, tags in annotated]), missing


def evaluation_document(
    datasets: Sequence[ScoredDataset], scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> Document:
    """Return precision, recall, F1 and Cohen's kappa of the rules, by category and with groups as one."""
    sheets, records, notes = [], [], []
    for data in datasets:
        found, missing = evaluate_rules(data, scale, speech)
        notes += missing
        rows = [*found.categories, *found.groups]
        sheets.append(
            Sheet(
                f"Rules against annotated categories: {data.title}",
                [Column("category"), *(Column(head, number=True) for head in _HEADS)],
                [_row(one) for one in rows],
                facts=[
                    (
                        f"{found.n:,} annotated pairs; the rules give {found.tags / found.n:.2f} categories a pair, "
                        f"none to {found.untagged:,}; the annotated one is among them in {found.any:,} "
                        f"({found.any / found.n:.0%}), and the first in {found.first:,} ({found.first / found.n:.0%})"
                    )
                ],
                marked=frozenset(range(len(found.categories), len(rows))),
            )
        )
        records += [
            {
                "dataset": data.name,
                "category": one.category,
                "people": one.people,
                "rules": one.rules,
                "both": one.both,
                "precision": one.precision,
                "recall": one.recall,
                "f1": one.f1,
                "kappa": one.kappa,
                "n": one.n,
            }
            for one in rows
        ]
    return Document(sheets, records, notes=list(dict.fromkeys(notes)))


_HEADS = ("people", "rules", "both", "precision", "recall", "F1", "kappa")


def _row(one: Agreement) -> list[str]:
    shown = ["–" if value is None else short(value, 2) for value in (one.precision, one.recall, one.f1, one.kappa)]
    return [one.category, f"{one.people:,}", f"{one.rules:,}", f"{one.both:,}", *shown]
