"""How far the category rules agree with people who annotated categories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assay.errors import InputError
from assay.reports.categories import PartsOfSpeech
from assay.reports.categories.vocabulary import CATEGORIES, GROUPS
from assay.reports.data import ScoredDataset
from assay.reports.errors.categories import categories_of_people, tag_by_rules
from assay.reports.layout import short
from assay.reports.sheets import Column, Document, Sheet

__all__ = ["Agreement", "Evaluation", "evaluate", "evaluate_rules", "evaluation_document"]


# How far the rules agree with people who annotated categories.


@dataclass(frozen=True)
class Agreement:
    """Rules against people on one category, over n pairs.

    Attributes:
        category: its name, or that of a group.
        people: pairs to which people gave it.
        rules: pairs to which the rules gave it.
        both: pairs to which both did.
        n: all pairs.
    """

    category: str
    people: int
    rules: int
    both: int
    n: int

    @property
    def precision(self) -> float | None:
        """Share of the rules' pairs that people gave it, too; None where the rules gave it to none."""
        return self.both / self.rules if self.rules else None

    @property
    def recall(self) -> float | None:
        """Share of people's pairs that the rules found; None where people gave it to none."""
        return self.both / self.people if self.people else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None where neither people nor rules gave it."""
        return 2 * self.both / (self.people + self.rules) if self.people + self.rules else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance on whether a pair has it, -1 to 1; None where chance is certain.

        Source: Cohen, A Coefficient of Agreement for Nominal Scales (1960), equation 1.
        """
        same = 1 - (self.people + self.rules - 2 * self.both) / self.n
        chance = (self.people * self.rules + (self.n - self.people) * (self.n - self.rules)) / self.n**2
        return (same - chance) / (1 - chance) if chance < 1 else None


@dataclass(frozen=True)
class Evaluation:
    """The rules against people on n pairs.

    Attributes:
        n: annotated pairs.
        untagged: pairs to which the rules gave nothing.
        tags: categories that the rules gave, over all pairs.
        first: pairs whose first category of the rules is that of people.
        any: pairs with the category of people among those of the rules.
        categories: by category, in the order of :data:`CATEGORIES`; those that neither gave are left out.
        groups: the same where the members of a group count as one.
    """

    n: int
    untagged: int
    tags: int
    first: int
    any: int
    categories: tuple[Agreement, ...]
    groups: tuple[Agreement, ...]


def evaluate(people: Sequence[str], rules: Sequence[Sequence[str]]) -> Evaluation:
    """Hold the rules against people, who gave one category a pair.

    Args:
        people: category of each pair, n of them.
        rules: categories of each pair, the first one the foremost, n of them.
    """
    one = [_agreement(name, {name}, people, rules) for name in dict.fromkeys((*CATEGORIES, *people))]
    return Evaluation(
        n=len(people),
        untagged=sum(not given for given in rules),
        tags=sum(len(given) for given in rules),
        first=sum(bool(given) and given[0] == name for name, given in zip(people, rules, strict=True)),
        any=sum(name in given for name, given in zip(people, rules, strict=True)),
        categories=tuple(found for found in one if found.people or found.rules),
        groups=tuple(_agreement(name, members, people, rules) for name, members in GROUPS.items()),
    )


def _agreement(name: str, members: Collection[str], people: Sequence[str], rules: Sequence[Sequence[str]]) -> Agreement:
    mine = [given in members for given in people]
    found = [any(category in members for category in given) for given in rules]
    both = sum(a and b for a, b in zip(mine, found, strict=True))
    return Agreement(name, sum(mine), sum(found), both, len(people))


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
