"""Safe display of foreign text: control characters are escaped for terminals, and the length is limited.

Names of files, columns, metrics and models, cells, options and messages of other libraries pass through here on their
way to a terminal; reports in Markdown, LaTeX, HTML, SVG and JUnit escape the same characters.
"""

from __future__ import annotations

import re
import unicodedata

#: The longest word, in characters, that is shown unshortened: longer than any file name.
LONGEST_WORD = 260
#: The longest line, in characters, that is shown unshortened.
LONGEST_LINE = 2_000
#: Unicode categories to escape: control and format characters, surrogates, and line and paragraph separators.
_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
#: Format characters that emoji and some scripts need, which are not escaped.
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def visible(text: str, *, keep: str = "") -> str:
    r"""Return text with control characters escaped as in Python: ``\x1b``, ``\n``.

    Args:
        text: the text, from any source.
        keep: the characters to leave unescaped, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(
        _escape_letter(letter) if _must_be_escaped(letter) and letter not in keep else letter for letter in text
    )


def _must_be_escaped(letter: str) -> bool:
    if letter in _JOINERS:
        return False
    # the last two code points of each plane are noncharacters, which XML cannot contain
    return unicodedata.category(letter) in _ACTING or ord(letter) & 0xFFFE == 0xFFFE


def _escape_letter(letter: str) -> str:
    return letter.encode("unicode_escape", errors="backslashreplace").decode("ascii")


def brief(text: str) -> str:
    """Return text escaped as by :func:`visible`, with the middle of overlong words and of an overlong line left out."""
    if text.isprintable() and len(text) <= LONGEST_WORD:
        return text
    # shortened first, so that escaping a text of a gigabyte does not multiply its size
    text = visible(_cut_text(text, 10 * LONGEST_LINE))
    return _cut_text(
        re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _cut_text(word[0], LONGEST_WORD), text), LONGEST_LINE
    )


def _cut_text(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2 - 10
    return f"{text[:half]}…[{len(text) - 2 * half:,} more]…{text[-half:]}"
