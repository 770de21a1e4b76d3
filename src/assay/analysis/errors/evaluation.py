"""Agreement of the category rules with people who annotated categories."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from assay.analysis.categories import PartsOfSpeech
from assay.analysis.categories.vocabulary import CATEGORIES, GROUPS
from assay.analysis.data import ScoredDataset
from assay.analysis.errors.categories import categories_of_people, tag_by_rules
from assay.exceptions import InputError


@dataclass(frozen=True)
class Agreement:
    """Agreement of rules and people on one category or group of categories.

    Attributes:
        category: the name of the category or group.
        people: the number of pairs that people gave it to.
        rules: the number of pairs that the rules gave it to.
        both: the number of pairs that both gave it to.
        n: the number of all annotated pairs.
    """

    category: str
    people: int
    rules: int
    both: int
    n: int

    @property
    def precision(self) -> float | None:
        """The share of pairs with the category by the rules that people agree on; None if the rules gave it to none."""
        return self.both / self.rules if self.rules else None

    @property
    def recall(self) -> float | None:
        """The share of pairs with the category by people that the rules agree on; None if people gave it to none."""
        return self.both / self.people if self.people else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall; None if neither people nor rules gave the category."""
        return 2 * self.both / (self.people + self.rules) if self.people + self.rules else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of whether a pair has the category, in [-1, 1]; 0 is chance, None if chance agreement is 1.

        Source: Cohen, A Coefficient of Agreement for Nominal Scales (1960), equation 1.
        """
        observed = 1 - (self.people + self.rules - 2 * self.both) / self.n
        chance = (self.people * self.rules + (self.n - self.people) * (self.n - self.rules)) / self.n**2
        return (observed - chance) / (1 - chance) if chance < 1 else None


@dataclass(frozen=True)
class Evaluation:
    """Agreement of rules and people on the annotated pairs of a dataset.

    Attributes:
        n: the number of annotated pairs.
        untagged: the number of pairs without a category by the rules.
        tags: the number of categories that the rules gave, summed over all pairs.
        first: the number of pairs whose first category by the rules is the annotated one.
        any: the number of pairs with the annotated category among the categories by the rules.
        categories: the agreement on each category that people or rules gave, in the order of :data:`CATEGORIES`; other
            names that people gave come last.
        groups: the agreement on each group, with all its members counted as one category.
    """

    n: int
    untagged: int
    tags: int
    first: int
    any: int
    categories: tuple[Agreement, ...]
    groups: tuple[Agreement, ...]


def evaluate_tags(people: Sequence[str], rules: Sequence[Sequence[str]]) -> Evaluation:
    """Return the agreement of the rules with people on n pairs.

    Args:
        people: the one category that people gave each pair, shape (n,).
        rules: the categories that the rules gave each pair, most important first, shape (n,).
    """
    pairs = list(zip(people, rules, strict=True))
    by_category = [_count_agreement(name, {name}, people, rules) for name in dict.fromkeys((*CATEGORIES, *people))]
    return Evaluation(
        n=len(people),
        untagged=sum(not categories for categories in rules),
        tags=sum(len(categories) for categories in rules),
        first=sum(name in categories[:1] for name, categories in pairs),
        any=sum(name in categories for name, categories in pairs),
        categories=tuple(row for row in by_category if row.people or row.rules),
        groups=tuple(_count_agreement(name, set(members), people, rules) for name, members in GROUPS.items()),
    )


def _count_agreement(name: str, members: Set[str], people: Sequence[str], rules: Sequence[Sequence[str]]) -> Agreement:
    """Return the agreement on the pairs with any of some categories.

    Args:
        name: the name of the category or group.
        members: the categories that count.
        people: the category that people gave each pair, shape (n,).
        rules: the categories that the rules gave each pair, shape (n,).
    """
    by_people = [category in members for category in people]
    by_rules = [not members.isdisjoint(categories) for categories in rules]
    both_count = sum(people_have and rules_have for people_have, rules_have in zip(by_people, by_rules, strict=True))
    return Agreement(name, sum(by_people), sum(by_rules), both_count, len(people))


def evaluate_rules(
    data: ScoredDataset, scale: tuple[float, float] | None = None, speech: PartsOfSpeech | None = None
) -> tuple[Evaluation, list[str]]:
    """Return the agreement of the rules with people on the annotated pairs, and lines on packages that the rules lack.

    Args:
        data: the pairs of a dataset.
        scale: the lowest and the highest label; that of the data if None, see
            :func:`~assay.analysis.errors.divergence.label_scale`.
        speech: the tagger of parts of speech; None for none.

    Raises:
        InputError: no pair has an annotated category.
        UnavailableError: WordNet is installed, and NLTK refuses it because of its permissions.
    """
    people = categories_of_people(data)
    rules, missing = tag_by_rules(data, scale, speech)
    annotated, tagged = [], []
    for name, tags in zip(people, rules, strict=True):
        if name:
            annotated.append(name)
            tagged.append([tag.category for tag in tags])
    if not annotated:
        raise InputError(f"{data.run.title}: {data.name} has no column category that people filled in")
    return evaluate_tags(annotated, tagged), missing
