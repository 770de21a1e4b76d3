"""Text made safe for Markdown, LaTeX and a terminal."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["latex", "markdown", "rich_text", "terminal"]

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "|": r"\textbar{}", "→": r"$\rightarrow$", "–": "--", "−": "$-$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$",
}  # fmt: skip


def markdown(text: str) -> str:
    """Return a line of text as Markdown that shows it as it is, also in a cell of a table."""
    text = text.replace("&", "&amp;")
    for mark in ("\\", "|", "<", ">", "*", "_", "`", "#", "~"):
        text = text.replace(mark, "\\" + mark)
    text = text.replace("](", "]\\(")  # no link; an interval keeps its brackets
    return " ".join(text.splitlines())


def terminal(text: str) -> str:
    """Return text whose control and formatting characters are spelt out: no escape sequence reaches a terminal."""
    return "".join(f"\\u{ord(letter):04x}" if _acts(letter) else letter for letter in text)


def rich_text(text: str, style: str = "") -> Text:
    """Return text for Rich to print in a style: nothing in it is markup, and :func:`terminal` has made it safe."""
    from rich.text import Text

    return Text(terminal(text), style=style)


def _acts(letter: str) -> bool:
    return letter not in "\n\t\N{ZERO WIDTH JOINER}" and unicodedata.category(letter) in ("Cc", "Cf", "Cs")


def latex(text: str) -> str:
    """Return text as LaTeX that prints it as it is."""
    escaped = "".join(_LATEX.get(character, character) for character in " ".join(text.splitlines()))
    # at the start of a row a bracket would be an argument of the line break before it
    return "{}" + escaped if escaped.startswith("[") else escaped
