"""Why two answers differ: categories of answer pairs, found by rules that say why.

A category is an entry of ``CATEGORIES`` in ``vocabulary.py``, whose order is also the order of the tags of a pair. A
rule is a generator: it accepts a :class:`~assay.analysis.categories.texts.Pair` and yields one :class:`Tag` per
category that it finds, with the reason in words. Rules are grouped by what they read: ``numbers.py`` and
``dates.py``, ``wording.py`` (encodings, acronyms, translations, negations), ``persons.py``, ``places.py``,
``questions.py``, and ``wordnet.py`` (meanings and terms). ``Tagger`` in ``tagger.py`` applies all of its ``RULES``.

To add a category, add it to ``CATEGORIES``, write its rule, and list the rule in ``RULES``; hand-written cases belong
in ``tests/analysis/test_categories.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.common.lazy import lazy_attributes

if TYPE_CHECKING:
    from assay.analysis.categories.tagger import PartsOfSpeech as PartsOfSpeech
    from assay.analysis.categories.tagger import Tagger as Tagger
    from assay.analysis.categories.vocabulary import CATEGORIES as CATEGORIES
    from assay.analysis.categories.vocabulary import GROUPS as GROUPS
    from assay.analysis.categories.vocabulary import Tag as Tag
    from assay.analysis.categories.vocabulary import from_people as from_people
else:
    __getattr__, __dir__ = lazy_attributes(__name__)
