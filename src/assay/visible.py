"""How text that others wrote is shown: nothing in it acts on a terminal, and its length is bounded.

Names of files, columns, metrics and models, cells, options and the messages of other libraries pass through here on
their way to a terminal; reports in Markdown, LaTeX, HTML, SVG and JUnit spell out the same characters.
"""

from __future__ import annotations

import re
import unicodedata

#: Characters of a word that a terminal shows whole: more than the name of a file can have.
LONGEST_WORD = 260
#: Characters of a line that a terminal shows whole.
LONGEST_LINE = 2_000
#: Control characters, invisible ones that change how others are drawn, halves of a character, and ends of a line.
_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
#: Joiners, which emoji and some scripts are spelt with.
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def visible(text: str, *, keep: str = "") -> str:
    r"""Return text in which characters that act instead of being drawn are spelt out as in Python: ``\x1b``, ``\n``.

    Args:
        text: of any origin.
        keep: characters that stay, such as the ends of lines.
    """
    if text.isprintable():
        return text
    return "".join(_spelt(letter) if _acts(letter) and letter not in keep else letter for letter in text)


def _acts(letter: str) -> bool:
    if letter in _JOINERS:
        return False
    # the last two of each plane are no characters, and XML has no word for them
    return unicodedata.category(letter) in _ACTING or ord(letter) & 0xFFFE == 0xFFFE


def _spelt(letter: str) -> str:
    return letter.encode("unicode_escape", errors="backslashreplace").decode("ascii")


def brief(text: str) -> str:
    """Return text as :func:`visible` does, with the middle of long words and of a long line left out."""
    if text.isprintable() and len(text) <= LONGEST_WORD:
        return text
    # what is spelt out is longer: a text of a gigabyte is cut before
    text = visible(_cut(text, 10 * LONGEST_LINE))
    return _cut(re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _cut(word[0], LONGEST_WORD), text), LONGEST_LINE)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2 - 10
    return f"{text[:half]}…[{len(text) - 2 * half:,} more]…{text[-half:]}"
