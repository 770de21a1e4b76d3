"""Characters that were damaged on the way: entities, escapes, text decoded with the wrong code page."""

from __future__ import annotations

import html
import re
import unicodedata

__all__ = ["damage", "repair"]

_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z]{2,8}\d?);")
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}")
#: What a byte of UTF-8 beyond ASCII looks like when it was read as Windows-1252, Latin-1 or Mac Roman.
_LEADS = re.compile(
    "[\u00c2-\u00c5\u00ce-\u00d1\u00e2][\x80-\xbf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
    "|[\u00ac\u221a\u2248][\x80-\U0010ffff]"
)
_PAGES = ("cp1252", "mac_roman")


def damage(text: str) -> str:
    """Return what happened to a text, or an empty string.

    >>> damage("GÃ¶del"), damage("AT&amp;T"), damage("Gödel")
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
    return "UTF-8 read as another code page" if _decoded(text) != text else ""


def repair(text: str) -> str:
    """Return a text with entities, escapes and wrong code pages undone, in Unicode's composed compatible form.

    >>> repair("crÃƒÂ¨me")
    'crème'
    """
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if "\\" in text:
        # two escapes may be the halves of one character; a half that stands alone stays as it was written
        joined = _ESCAPE.sub(lambda found: chr(int(found[0][2:], 16)), text)
        joined = joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = text if "\N{REPLACEMENT CHARACTER}" in joined else joined
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _decoded(text)).replace("\N{SOFT HYPHEN}", "")


def _decoded(text: str) -> str:
    """Undo UTF-8 that was read as a page of eight bits, up to twice."""
    for _ in range(2):
        if not _LEADS.search(text):
            break
        for page in _PAGES:
            try:
                better = b"".join(_byte(letter, page) for letter in text).decode("utf-8")
            except UnicodeError:
                continue
            text = better
            break
    return text


def _byte(letter: str, page: str) -> bytes:
    try:
        return letter.encode(page)
    except UnicodeEncodeError:
        # Windows-1252 leaves five bytes open, which decoders pass through
        return letter.encode("latin-1")
