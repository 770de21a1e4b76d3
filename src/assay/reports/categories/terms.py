"""Medical, chemical and biological terms: by what WordNet says of a word, and by the form of the word."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from assay.reports.categories.texts import Pair, Text
from assay.reports.categories.vocabulary import Tag
from assay.reports.categories.wordnet import words
from assay.reports.categories.words import word_set

__all__ = ["fields_of", "terms"]

#: Synsets whose kinds are terms of a field. Names are WordNet 3.0's.
_ABOVE = {
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
#: Ends of words from Greek and Latin, English and German.
_FORMS = {
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
#: Parts of speech with WordNet's letter; a preposition stands there as an adverb.
_LETTERS = {"VERB": "v", "AUX": "v", "ADV": "r", "ADP": "r"}
_ELEMENTS = word_set(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu"
)
_FORMULA = re.compile(r"(?:\(?(?:[A-Z][a-z]?\d*)+\)?\d*)+")
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_BINOMIAL = re.compile(r"\b[A-Z][a-z]{3,} [a-z]{3,}(?:us|is|um|ens|ii|ae|ata|ica|oides|or)\b")


def fields_of(text: Text) -> dict[str, str]:
    """Return the fields of which a text has a term, with the term."""
    found: dict[str, str] = {}
    for word in text.words:
        if _is_formula(word):
            found.setdefault("chemical term", word)
    if match := _BINOMIAL.search(text.clean):
        found.setdefault("biological term", match[0])
    for length in (3, 2, 1):
        for start in range(len(text.folded) - length + 1):
            phrase = " ".join(text.folded[start : start + length])
            for field in () if _is_no_noun(text, phrase) else _fields(phrase):
                found.setdefault(field, phrase)
    return found


@functools.lru_cache(maxsize=1 << 16)
def _fields(phrase: str) -> tuple[str, ...]:
    by_form = tuple(field for field, form in _FORMS.items() if form.match(phrase))
    lexicon = words()
    if by_form or lexicon is None or len(phrase) < 3:
        return by_form
    sense = lexicon.first_noun(phrase)
    if sense is None:
        return ()
    above = lexicon.all_above(sense)
    return tuple(field for field, roots in _ABOVE.items() if not above.isdisjoint(roots))


def _is_no_noun(text: Text, phrase: str) -> bool:
    """Tell whether a phrase that may be a noun is used as something else (behind the sofa)."""
    lexicon = words()
    letters = {_LETTERS.get(part, "n") for part in text.parts_of(phrase)}
    if lexicon is None or not letters or "n" in letters:
        return False
    # WordNet corrects the tagger: a bicarbonate is no verb
    return all(lexicon.knows_as(phrase, letter) for letter in letters)


def _is_formula(word: str) -> bool:
    """Tell whether a word is a chemical formula: symbols of elements with at least one digit."""
    if not any(letter.isdigit() for letter in word) or not word[0].isupper() or not _FORMULA.fullmatch(word):
        return False
    symbols = _SYMBOL.findall(word)
    return len(symbols) > 1 and all(symbol in _ELEMENTS for symbol in symbols)


def terms(pair: Pair) -> Iterator[Tag]:
    """Tag terms of a field that stand on both sides, or on one side and in the question.

    A term that both texts have explains no difference.
    """
    if pair.same:
        return
    mine, others, asked = (fields_of(text) for text in (pair.reference, pair.candidate, pair.question))
    for field in _ABOVE:
        left, right = mine.get(field), others.get(field)
        if left and right and left != right:
            yield Tag(field, f"{left!r} and {right!r} are words of the field")
        elif bool(left) != bool(right) and (word := asked.get(field)) and word not in (left, right):
            yield Tag(field, f"{left or right!r} in one text and {word!r} in the question are words of the field")
