"""Safe display of foreign text: control characters are escaped for terminals, and the length is limited.

Names of files, columns, metrics and models, cells, options and messages of other libraries pass through here on their
way to a terminal; reports in Markdown, LaTeX, HTML, SVG and JUnit escape the same characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

#: The longest word, in characters, that is shown unshortened: longer than any file name.
LONGEST_WORD = 260
#: The longest line, in characters, that is shown unshortened.
LONGEST_LINE = 2_000
#: Unicode categories to escape: control and format characters, surrogates, and line and paragraph separators.
_ESCAPED_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
#: Format characters that emoji and some scripts need, which are not escaped.
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


def visible_text(text: str, *, keep: str = "") -> str:
    r"""Return text with control characters escaped as in Python: ``\x1b``, ``\n``.

    Escaped as well are format characters other than joiners, halves of surrogate pairs, line and paragraph separators,
    and noncharacters.

    Args:
        text: the text, from any source.
        keep: the characters to leave unescaped, such as line ends.
    """
    if text.isprintable():
        return text
    shown_characters = []
    for character in text:
        is_shown_as_is = character in keep or not _must_be_escaped(character)
        shown_characters.append(character if is_shown_as_is else character.encode("unicode_escape").decode("ascii"))
    return "".join(shown_characters)


def _must_be_escaped(character: str) -> bool:
    """Tell whether a character is in an escaped category or a noncharacter; joiners are never escaped."""
    if character in _JOINERS:
        return False
    # the last two code points of each plane are noncharacters, which XML cannot contain
    is_noncharacter = ord(character) & 0xFFFE == 0xFFFE
    return is_noncharacter or unicodedata.category(character) in _ESCAPED_CATEGORIES


def code_span(text: str) -> str:
    """Return text as code within a line of Markdown, whatever backticks it holds; control characters are escaped."""
    shown = visible_text(text)
    longest_run = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest_run + 1)
    # Markdown removes one blank at each end: those put here, in place of blanks of the text or beside its backticks
    needs_blanks = not shown or shown[0] in "` " or shown[-1] in "` "
    return f"{fence} {shown} {fence}" if needs_blanks else f"{fence}{shown}{fence}"


def code_block(text: str) -> str:
    """Return lines as a block of code in Markdown, whatever backticks they hold.

    Control characters other than line ends and tabs are escaped.
    """
    text = visible_text(text, keep="\n\t")
    longest_run = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest_run + 1)
    return f"{fence}\n{text}\n{fence}"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of Markdown.

    In cells bars are escaped, and line breaks become blanks; other Markdown in them stays what it is.

    Args:
        heads: the names of the columns, as Markdown without bars.
        rows: the cells of each row, as many as there are columns.
    """
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        cells = [" ".join(cell.split()).replace("|", r"\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def brief_text(text: str) -> str:
    """Return text as one line of up to :data:`LONGEST_LINE` characters, with control characters escaped.

    The middle of a longer line, and of a word longer than :data:`LONGEST_WORD`, becomes a note of the number left out.

    Args:
        text: the text, from any source; line ends are escaped as well.
    """
    if text.isprintable() and len(text) <= LONGEST_WORD:
        return text
    # shortened first, so that escaping a text of a gigabyte does not multiply its size
    line = visible_text(_shorten(text, 10 * LONGEST_LINE))
    overlong_word = rf"\S{{{LONGEST_WORD + 1},}}"
    line = re.sub(overlong_word, lambda word: _shorten(word[0], LONGEST_WORD), line)
    return _shorten(line, LONGEST_LINE)


def _shorten(text: str, limit: int) -> str:
    """Return text of at most *limit* characters; the middle of a longer one becomes a note of the number left out."""
    if len(text) <= limit:
        return text
    # the note between the halves takes up to 20 characters
    half = limit // 2 - 10
    return f"{text[:half]}…[{len(text) - 2 * half:,} more]…{text[-half:]}"
