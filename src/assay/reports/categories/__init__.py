"""Why two answers differ: categories of answer pairs, found by rules that say why."""

from assay.reports.categories.tagger import PartsOfSpeech, Tagger
from assay.reports.categories.vocabulary import CATEGORIES, GROUPS, Tag, from_people

__all__ = ["CATEGORIES", "GROUPS", "PartsOfSpeech", "Tag", "Tagger", "from_people"]
