"""Rules on WordNet: words that are related by meaning, and medical, chemical and biological terms."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from assay.analysis.categories.texts import Pair, Text, word_set
from assay.analysis.categories.vocabulary import Tag
from assay.language.wordnet import find_wordnet, open_wordnet

# WordNet as the rules use it: relations of two words, and the kind of thing that a word names; English only

#: WordNet's letters for nouns, verbs, adjectives, satellite adjectives and adverbs.
PARTS = "nvasr"

#: Number of senses per part of speech that are considered; rarer senses would relate almost any two words.
_COMMON_SENSES = 4
#: Largest number of steps up to a word that still says the same less precisely.
_MAX_STEPS = 3


@functools.lru_cache(maxsize=1)
def open_lexicon() -> Lexicon | None:
    """Return WordNet, or None if its data are not installed.

    Raises:
        UnavailableError: NLTK refuses the data because of their permissions.
    """
    return Lexicon(open_wordnet()) if find_wordnet() is not None else None


class Lexicon:
    """WordNet behind caches; every phrase is one or more folded words, joined by spaces.

    Args:
        reader: NLTK's reader of WordNet.

    Attributes:
        senses: returns the commonest synsets of a phrase, grouped by part of speech.
        more_general_senses: returns the synsets that are up to ``_MAX_STEPS`` steps more general than a synset.
        all_more_general_names: returns the names of a synset and of all more general ones.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        # the caches are of the instance: as decorators of the methods, they would keep every instance alive
        self.senses = functools.lru_cache(maxsize=1 << 16)(self._senses)
        self.more_general_senses = functools.lru_cache(maxsize=1 << 16)(self._find_more_general_senses)
        self.all_more_general_names = functools.lru_cache(maxsize=1 << 16)(self._find_all_more_general_names)

    def _senses(self, phrase: str) -> tuple[Any, ...]:
        """Return the commonest synsets of a phrase, at most ``_COMMON_SENSES`` for each part of speech.

        The synsets of one part of speech follow each other, the commonest first; satellite adjectives count as
        adjectives. The result is empty if WordNet does not contain the phrase.
        """
        senses_of_part: dict[str, list[Any]] = {}
        for synset in self._all_senses(phrase):
            letter = "a" if synset.pos() == "s" else synset.pos()
            senses = senses_of_part.setdefault(letter, [])
            if len(senses) < _COMMON_SENSES:
                senses.append(synset)
        return tuple(synset for senses in senses_of_part.values() for synset in senses)

    @functools.cached_property
    def _beginnings(self) -> frozenset[str]:
        """The first words of all entries of several words, to reject most phrases without a lookup."""
        return frozenset(name.split("_", 1)[0].lower() for name in self._reader.all_lemma_names() if "_" in name)

    def _all_senses(self, phrase: str) -> list[Any]:
        """Return all senses of a phrase, including rare ones, of each part of speech the commonest first.

        There are none if the phrase is not in ASCII.
        """
        if " " in phrase and phrase.split(" ", 1)[0] not in self._beginnings:
            return []
        return list(self._reader.synsets(phrase.replace(" ", "_"))) if phrase.isascii() else []

    def contains(self, phrase: str) -> bool:
        """Return whether WordNet contains a phrase in any form."""
        return bool(self.senses(phrase))

    def contains_as_part_of_speech(self, phrase: str, parts: str) -> bool:
        """Return whether one of the commonest senses of a phrase is of one of some parts of speech.

        Args:
            phrase: one or more words.
            parts: letters of parts of speech, as in :data:`PARTS`.
        """
        return any(synset.pos() in parts for synset in self.senses(phrase))

    def is_common(self, phrase: str) -> bool:
        """Return whether a phrase is more than a proper name.

        It is, if its commonest noun sense is not a proper name, or if one of its commonest senses is not a noun. It is
        not if WordNet lacks it.
        """
        senses = self.senses(phrase)
        if any(synset.pos() != "n" for synset in senses):
            return True
        first_sense = self.first_noun_sense(phrase)
        return first_sense is not None and not _is_proper_name(first_sense)

    def is_name(self, phrase: str) -> bool:
        """Return whether WordNet contains a phrase primarily as a proper name."""
        return self.contains(phrase) and not self.is_common(phrase)

    def first_noun_sense(self, phrase: str) -> Any | None:
        """Return the commonest noun sense; None if there is none, or if there are more verb senses ("come").

        At most ``_COMMON_SENSES`` senses of each part of speech are counted.
        """
        nouns = [synset for synset in self.senses(phrase) if synset.pos() == "n"]
        verb_count = sum(synset.pos() == "v" for synset in self.senses(phrase))
        return nouns[0] if nouns and len(nouns) >= verb_count else None

    def shared_sense(self, left: str, right: str, parts: str = PARTS, rare: bool = False) -> Any | None:
        """Return a sense that both phrases have, else an adjective sense of *left* that is similar to one of *right*.

        None if there is neither.

        Args:
            left, right: words or phrases.
            parts: letters of the parts of speech that count, as in :data:`PARTS`.
            rare: whether all senses count, and not only the commonest.
        """
        senses_of = self._all_senses if rare else self.senses
        left_senses = [synset for synset in senses_of(left) if synset.pos() in parts]
        right_senses = senses_of(right)
        for synset in left_senses:
            if synset in right_senses:
                return synset
        for synset in left_senses:
            if synset.pos() in "as" and any(similar in right_senses for similar in synset.similar_tos()):
                return synset
        return None

    def is_kind_of(self, narrow: str, wide: str, parts: str = PARTS) -> bool:
        """Return whether a sense of *wide* is more general than one of *narrow*, by at most ``_MAX_STEPS`` steps.

        Only the commonest senses of both count.

        Args:
            narrow, wide: words or phrases.
            parts: letters of the parts of speech of the senses of *wide* that count, as in :data:`PARTS`.
        """
        targets = {synset for synset in self.senses(wide) if synset.pos() in parts}
        if not targets:
            return False
        return any(not targets.isdisjoint(self.more_general_senses(synset)) for synset in self.senses(narrow))

    def is_part_of(self, part: str, whole: str) -> bool:
        """Return whether *part* is a part of *whole* by up to ``_MAX_STEPS`` steps; cities are parts of countries."""
        targets = set(self.senses(whole))
        level = set(self.senses(part))
        for _ in range(_MAX_STEPS):
            level = {holonym for synset in level for holonym in synset.part_holonyms()}
            if not targets.isdisjoint(level):
                return True
        return False

    def are_antonyms(self, left: str, right: str, parts: str = PARTS) -> bool:
        """Return whether two words are antonyms in one of their common senses.

        Args:
            left, right: the words.
            parts: letters of the parts of speech of the senses of *right* that count, as in :data:`PARTS`.
        """
        right_senses = {synset for synset in self.senses(right) if synset.pos() in parts}
        for synset in self.senses(left):
            for lemma in synset.lemmas():
                if any(antonym.synset() in right_senses for antonym in lemma.antonyms()):
                    return True
        return False

    def _find_more_general_senses(self, synset: Any) -> frozenset[Any]:
        """Return the senses that are up to ``_MAX_STEPS`` steps more general than a sense, without the sense itself."""
        more_general: set[Any] = set()
        level = {synset}
        for _ in range(_MAX_STEPS):
            level = {parent for sense in level for parent in _parents(sense)}
            more_general |= level
        return frozenset(more_general)

    def _find_all_more_general_names(self, synset: Any) -> frozenset[str]:
        """Return the names of a sense and of all more general senses."""
        names = {synset.name()}
        for parent in _parents(synset):
            names |= self.all_more_general_names(parent)
        return frozenset(names)


def _parents(synset: Any) -> tuple[Any, ...]:
    """Return the senses one step above a sense: those that it is a kind or an instance of."""
    return (*synset.hypernyms(), *synset.instance_hypernyms())


def _is_proper_name(synset: Any) -> bool:
    return bool(synset.instance_hypernyms())


# Words related by meaning: synonyms, more general words, antonyms, other names of one thing

#: The phrases in which two texts differ are only compared pairwise if neither text has more of them than this.
_MAX_PHRASES = 4
#: WordNet's letter for verbs, and the letters for everything else.
_VERB, _NOT_VERB = "v", "nasr"


def tag_meanings(pair: Pair) -> Iterator[Tag]:
    """Tag the relation in WordNet of the two whole texts, or else of the words in which they differ.

    Words are compared only if each text has at least one and at most ``_MAX_PHRASES`` of its own. They are tagged only
    if there are at least half as many related pairs of words as the text with fewer words has. Texts with the same
    words or in another language than English have no tag, nor has any pair without WordNet.
    """
    lexicon = open_lexicon()
    if lexicon is None or pair.has_same_words or pair.language != "en":
        return
    if tag := _relation_tag(pair, lexicon, pair.reference.phrase, pair.candidate.phrase, rare=True):
        yield tag
        return
    left, right = _join_phrases(pair.only_reference, lexicon), _join_phrases(pair.only_candidate, lexicon)
    if not left or not right or len(left) > _MAX_PHRASES or len(right) > _MAX_PHRASES:
        return
    tags = []
    for first, second in product(left, right):
        if tag := _relation_tag(pair, lexicon, first, second):
            tags.append(tag)
    # a related pair among many unrelated words would not explain the difference
    if 2 * len(tags) >= min(len(left), len(right)):
        yield from tags


def _join_phrases(content: tuple[str, ...], lexicon: Lexicon) -> list[str]:
    """Return words, with neighbours joined to phrases that are one entry in WordNet (shoulder blade)."""
    phrases: list[str] = []
    position = 0
    while position < len(content):
        for length in (3, 2, 1):
            phrase = " ".join(content[position : position + length])
            if length == 1 or (position + length <= len(content) and lexicon.contains(phrase)):
                phrases.append(phrase)
                position += length
                break
    return phrases


def _shared_parts(pair: Pair, lexicon: Lexicon, first: str, second: str) -> str:
    """Return the letters of the parts of speech that both phrases may have in their texts; all letters if unknown."""
    first_letters = _part_letters(pair.reference, first, lexicon)
    second_letters = _part_letters(pair.candidate, second, lexicon)
    return "".join(letter for letter in PARTS if letter in first_letters and letter in second_letters)


def _part_letters(text: Text, phrase: str, lexicon: Lexicon) -> str:
    """Return the letters of the parts of speech that a phrase may have: verbs, all but verbs, or all if it is open.

    It is open if the parts are unknown or of both kinds, and if WordNet has no common sense of the kind found. Nouns,
    adjectives and adverbs are not distinguished, since taggers confuse them in short texts.
    """
    are_verbs = [part_of_speech in ("VERB", "AUX") for part_of_speech in text.parts_of(phrase)]
    letters = PARTS
    if are_verbs and all(are_verbs):
        letters = _VERB
    elif are_verbs and not any(are_verbs):
        letters = _NOT_VERB
    # WordNet corrects the tagger: a bicarbonate is not a verb
    return letters if lexicon.contains_as_part_of_speech(phrase, letters) else PARTS


def _relation_tag(pair: Pair, lexicon: Lexicon, first: str, second: str, rare: bool = False) -> Tag | None:
    """Return a tag for the relation of a phrase of the reference and a phrase of the candidate; None if there is none.

    A common sense comes first: two names of one thing are an alias, other words synonyms. Antonyms come next, then more
    general words.

    Args:
        pair: the texts.
        lexicon: WordNet.
        first, second: the phrases of reference and candidate.
        rare: whether rare senses may be synonyms.
    """
    if first == second or not lexicon.contains(first) or not lexicon.contains(second):
        return None
    letters = _shared_parts(pair, lexicon, first, second)
    # which senses were compared, for the reason of the tag
    as_verbs = {PARTS: "", _VERB: " (as verbs)"}.get(letters, " (not as verbs)")
    sense = lexicon.shared_sense(first, second, letters, rare=rare)
    if sense is not None:
        meaning = sense.definition().strip("()").split(";")[0]
        if _is_proper_name(sense):
            return Tag("alias", f"{first!r} and {second!r} are names of the same: {meaning}")
        return Tag("synonym", f"{first!r} and {second!r} have a meaning in common{as_verbs}: {meaning}")
    if lexicon.are_antonyms(first, second, letters):
        return Tag("negation", f"{first!r} is the opposite of {second!r}{as_verbs}")
    for narrow, wide in ((first, second), (second, first)):
        if lexicon.is_kind_of(narrow, wide, letters):
            return Tag("different levels of precision", f"{narrow!r} is a kind of {wide!r}{as_verbs}")
    return None


# Medical, chemical and biological terms, by the kind of thing in WordNet and by the form of the word

#: By field, the synsets of WordNet 3.0 whose more specific synsets are terms of the field.
_ROOTS_BY_FIELD = {
    "medical term": word_set(
        "ill_health.n.01 symptom.n.01 medicine.n.02 medical_procedure.n.01 pathology.n.02 injury.n.01 hormone.n.01 "
        "body_part.n.01 body_substance.n.01 medical_science.n.01 diagnostic_procedure.n.01 bodily_process.n.01 "
        "anesthetic.n.01 medical_instrument.n.01 therapy.n.01 liquid_body_substance.n.01"
    ),
    "chemical term": word_set(
        "chemical_element.n.01 compound.n.02 ion.n.01 molecule.n.01 chemical_reaction.n.01 acid.n.01 salt.n.01 "
        "chemical_bond.n.01 organic_compound.n.01 solution.n.01 polymer.n.01 isotope.n.01"
    ),
    "biological term": word_set(
        "animal.n.01 plant.n.02 microorganism.n.01 fungus.n.01 taxonomic_group.n.01 plant_part.n.01 cell.n.02 "
        "plant_tissue.n.01 organic_process.n.01 gene.n.01 animal_group.n.01"
    ),
}
#: By field, endings of terms from Greek and Latin, in English and German spelling.
_ENDINGS_BY_FIELD = {
    "medical term": re.compile(
        r"\w{3,}(itis|osis|ectomy|ektomie|otomy|ostomy|plasty|plastik|emia|amie|algia|algie|pathy|pathie|scopy|skopie|"
        r"gram|therapy|therapie|uria|urie|trophy|rrhea|rrhoe|sclerosis|sklerose|infarction|infarkt)$"
    ),
    "chemical term": re.compile(
        r"(\w*(oxide|oxid|chloride|chlorid|fluoride|fluorid|bromide|iodide|sulfide|sulphide|sulfid|nitride|carbide|"
        r"sulfate|sulphate|sulfat|nitrate|nitrat|phosphate|phosphat|carbonate|carbonat|acetate|acetat|hydroxid|saure|"
        r"ethane|ethan|methane|ethanol|methanol|propane|butane|benzene|benzol|amine|amin|aldehyde|aldehyd)s?)$"
    ),
    "biological term": re.compile(
        r"\w{3,}(aceae|idae|inae|phyta|mycetes|sperms?|spermae|pods?|poda|phyll|phyte|phytes|plast|plasts|zoa)$"
    ),
}
#: WordNet's letters of verbs, adverbs and prepositions, which it lists as adverbs.
_LETTERS_OF_VERBS_AND_ADVERBS = {"VERB": "v", "AUX": "v", "ADV": "r", "ADP": "r"}
_ELEMENTS = word_set(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu"
)
#: Possessive, since the pattern could otherwise split a run of symbols in exponentially many ways.
_FORMULA = re.compile(r"(?:\(?(?:[A-Z][a-z]?\d*)++\)?\d*)++")
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_BINOMIAL = re.compile(r"\b[A-Z][a-z]{3,} [a-z]{3,}(?:us|is|um|ens|ii|ae|ata|ica|oides|or)\b")


def first_terms_by_field(text: Text) -> dict[str, str]:
    """Return the first term of each field that a text has terms of, by field.

    Formulas and species names are tried first, then phrases of up to three words, long ones before short ones, without
    verbs, adverbs and prepositions.
    """
    terms: dict[str, str] = {}
    for word in text.words:
        if _is_formula(word):
            terms.setdefault("chemical term", word)
    if match := _BINOMIAL.search(text.clean):
        terms.setdefault("biological term", match[0])
    for length in (3, 2, 1):
        for start in range(len(text.folded) - length + 1):
            phrase = " ".join(text.folded[start : start + length])
            if _is_verb_or_adverb(text, phrase):
                continue
            for field in _fields_of_phrase(phrase):
                terms.setdefault(field, phrase)
    return terms


@functools.lru_cache(maxsize=1 << 16)
def _fields_of_phrase(phrase: str) -> tuple[str, ...]:
    """Return the fields of a phrase by its ending, or if that tells none, by its commonest noun sense in WordNet."""
    by_ending = tuple(field for field, ending in _ENDINGS_BY_FIELD.items() if ending.match(phrase))
    lexicon = open_lexicon()
    if by_ending or lexicon is None or len(phrase) < 3:
        return by_ending
    sense = lexicon.first_noun_sense(phrase)
    if sense is None:
        return ()
    more_general = lexicon.all_more_general_names(sense)
    return tuple(field for field, roots in _ROOTS_BY_FIELD.items() if not more_general.isdisjoint(roots))


def _is_verb_or_adverb(text: Text, phrase: str) -> bool:
    """Return whether a phrase is a verb, an adverb or a preposition wherever it is in a text ("behind" the sofa).

    False if the parts of speech are unknown, WordNet is not installed, or WordNet lacks the phrase in these parts.
    """
    lexicon = open_lexicon()
    parts_of_speech = text.parts_of(phrase)
    if lexicon is None or not parts_of_speech or not parts_of_speech <= _LETTERS_OF_VERBS_AND_ADVERBS.keys():
        return False
    # WordNet corrects the tagger: a bicarbonate is not a verb
    return all(
        lexicon.contains_as_part_of_speech(phrase, _LETTERS_OF_VERBS_AND_ADVERBS[part_of_speech])
        for part_of_speech in parts_of_speech
    )


def _is_formula(word: str) -> bool:
    """Return whether a word is a chemical formula: two or more symbols of elements, with at least one digit."""
    has_digit = any(character.isdigit() for character in word)
    if not has_digit or not word[0].isupper() or not _FORMULA.fullmatch(word):
        return False
    symbols = _SYMBOL.findall(word)
    return len(symbols) > 1 and all(symbol in _ELEMENTS for symbol in symbols)


def tag_terms(pair: Pair) -> Iterator[Tag]:
    """Tag each field with different terms in both texts, or with a term in one text and another one in the question.

    Of each text, only the first term of a field counts, see :func:`first_terms_by_field`. A term that both texts share
    does not explain a difference, and texts with the same words have no tag.
    """
    if pair.has_same_words:
        return
    texts = (pair.reference, pair.candidate, pair.question)
    reference, candidate, question = map(first_terms_by_field, texts)
    for field in _ROOTS_BY_FIELD:
        left, right = reference.get(field), candidate.get(field)
        if left and right and left != right:
            yield Tag(field, f"{left!r} and {right!r} are words of the field")
        elif bool(left) != bool(right):
            only_term, question_term = left or right, question.get(field)
            if question_term and question_term != only_term:
                yield Tag(
                    field, f"{only_term!r} in one text and {question_term!r} in the question are words of the field"
                )
