"""Closed classes of words, English and German. Source: the grammars of the two languages; none is from test data."""

from __future__ import annotations

__all__ = ["FUNCTION_WORDS", "LANGUAGE_MARKS", "SMALL_WORDS", "word_set"]

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
    """Return the words of a text, umlauts without their dots."""
    table = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
    return frozenset(words.translate(table).split())


#: Words without content of their own, folded.
FUNCTION_WORDS = word_set(_ENGLISH + _GERMAN)
#: What initials skip.
SMALL_WORDS = word_set("of the and for in on at to a an de la der die das des und für von")
#: Words that stand in one of these languages and not in the others, folded; "die" and "in" would tell nothing.
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
