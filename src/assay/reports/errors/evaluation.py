"""How far the category rules agree with people who annotated categories."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from assay.errors import InputError
from assay.reports.categories import PartsOfSpeech
from assay.reports.categories.vocabulary import CATEGORIES, GROUPS
from assay.reports.data import ScoredDataset
from assay.reports.errors.categories import categories_of_people, tag_by_rules
from assay.reports.layout import short
from assay.reports.sheets import Column, Document, Sheet


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
    """Return how far the rules agree with people, who gave one category to each pair.

    Args:
        people: category of each pair, n of them.
        rules: categories of each pair, the first one the foremost, n of them.
    """
    by_category = [_agreement(name, {name}, people, rules) for name in dict.fromkeys((*CATEGORIES, *people))]
    return Evaluation(
        n=len(people),
        untagged=sum(not given for given in rules),
        tags=sum(len(given) for given in rules),
        first=sum(bool(given) and given[0] == name for name, given in zip(people, rules, strict=True)),
        any=sum(name in given for name, given in zip(people, rules, strict=True)),
        categories=tuple(each for each in by_category if each.people or each.rules),
        groups=tuple(_agreement(name, set(members), people, rules) for name, members in GROUPS.items()),
    )


def _agreement(name: str, members: Set[str], people: Sequence[str], rules: Sequence[Sequence[str]]) -> Agreement:
    """Count the pairs to which people, the rules or both gave one of some categories."""
    by_people = [category in members for category in people]
    by_rules = [not members.isdisjoint(categories) for categories in rules]
    both = sum(of_people and of_rules for of_people, of_rules in zip(by_people, by_rules, strict=True))
    return Agreement(name, sum(by_people), sum(by_rules), both, len(people))


def evaluate_rules(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> tuple[Evaluation, list[str]]:
    """Return how far the rules agree with people on the annotated pairs of a dataset, and lines on what the rules miss.

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
        evaluation, missing = evaluate_rules(data, scale, speech)
        notes += missing
        sheets.append(_evaluation_sheet(data, evaluation))
        records += [_record(data, each) for each in (*evaluation.categories, *evaluation.groups)]
    return Document(sheets, records, warnings=list(dict.fromkeys(notes)))


_HEADS = ("people", "rules", "both", "precision", "recall", "F1", "kappa")


def _evaluation_sheet(data: ScoredDataset, evaluation: Evaluation) -> Sheet:
    """Return the table of one dataset: categories first, then the groups, which are marked."""
    rows = [*evaluation.categories, *evaluation.groups]
    n = evaluation.n
    return Sheet(
        f"Rules against annotated categories: {data.title}",
        [Column("category"), *(Column(head, number=True) for head in _HEADS)],
        [_row(each) for each in rows],
        facts=[
            (
                f"{n:,} annotated pairs; the rules give {evaluation.tags / n:.2f} categories a pair, "
                f"none to {evaluation.untagged:,}; the annotated one is among them in {evaluation.any:,} "
                f"({evaluation.any / n:.0%}), and the first in {evaluation.first:,} ({evaluation.first / n:.0%})"
            )
        ],
        marked=frozenset(range(len(evaluation.categories), len(rows))),
    )


def _record(data: ScoredDataset, agreement: Agreement) -> dict[str, Any]:
    return {
        "dataset": data.name,
        "category": agreement.category,
        "people": agreement.people,
        "rules": agreement.rules,
        "both": agreement.both,
        "precision": agreement.precision,
        "recall": agreement.recall,
        "f1": agreement.f1,
        "kappa": agreement.kappa,
        "n": agreement.n,
    }


def _row(agreement: Agreement) -> list[str]:
    """Return the cells of one category: its name, three counts, four shares; a dash where one is undefined."""
    shares = (agreement.precision, agreement.recall, agreement.f1, agreement.kappa)
    shown = ["–" if value is None else short(value, 2) for value in shares]
    return [agreement.category, f"{agreement.people:,}", f"{agreement.rules:,}", f"{agreement.both:,}", *shown]
