"""Families of languages, as ISO 639-5 groups them, for languages with few datasets each."""

from __future__ import annotations

from collections.abc import Mapping

#: The family by code of the language; only languages of the datasets that come with assay, and their neighbours.
FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(("en", "de", "nl", "sv", "da", "no"), "Germanic"),
    **dict.fromkeys(("fr", "es", "it", "pt", "ro", "ca"), "Romance"),
    **dict.fromkeys(("ru", "pl", "cs", "uk", "bg"), "Slavic"),
    **dict.fromkeys(("az", "kk", "ky", "ug", "uz", "tr"), "Turkic"),
    **dict.fromkeys(("as", "bn", "gu", "hi", "mai", "mr", "ne", "pa", "si", "ur"), "Indo-Aryan"),
    **dict.fromkeys(("kn", "ml", "ta", "te"), "Dravidian"),
    **dict.fromkeys(("ig", "ki", "sw", "tw", "xh", "yo", "zu"), "Niger-Congo"),
    **dict.fromkeys(("ar", "ary", "arz", "ha", "he", "so", "am"), "Afro-Asiatic"),
    **dict.fromkeys(("et", "fi", "hu"), "Finno-Ugric"),
}


def family_of(language: str) -> str | None:
    """Return the family of a language by its code; None if it is not listed."""
    return FAMILIES.get(language)
