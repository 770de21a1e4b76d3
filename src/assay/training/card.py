"""The card of a trained model: what it is, from what, how it was made, what it reached, and where its limits are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.training.data import Source

__all__ = ["Card", "write_card"]


@dataclass(frozen=True)
class Card:
    """What goes into a README.

    Attributes:
        title: the heading.
        about: what the model is, a paragraph.
        base: what it was made from.
        command: the line that makes it again.
        data: datasets by what they were used for.
        counts: numbers of pairs and texts, by what they are.
        made_with: versions, digests, device, by name.
        results: tables in Markdown.
        use: lines of shell or Python that use it.
        limits: what a user should know, a line each.
        languages: of the training texts.
    """

    title: str
    about: str
    base: str
    command: str
    data: Mapping[str, Sequence[Source]]
    counts: Mapping[str, int]
    made_with: Mapping[str, str]
    results: str
    use: Sequence[str]
    limits: Sequence[str]
    languages: Sequence[str]


def write_card(card: Card, folder: Path) -> None:
    """Write ``README.md`` with the front matter that model hubs read."""
    (folder / "README.md").write_text(_text(card), encoding="utf-8")


def _text(card: Card) -> str:
    front = ["---", "library_name: sentence-transformers", "pipeline_tag: sentence-similarity"]
    if card.languages:
        front += ["language:", *(f"- {language}" for language in card.languages)]
    front += ["tags:", "- sentence-transformers", "- sentence-similarity", "---"]
    rows = [
        f"| {use} | {_cell(source.spec)} | {source.version or '–'} | {_cell(source.licence)} | `{source.digest[:16]}` |"
        for use, sources in card.data.items()
        for source in sources
    ]
    parts = [
        "\n".join(front),
        f"# {card.title}",
        card.about,
        f"Base model: `{card.base}`. It is a derived work: the base's licence and those of the data below hold for it.",
        "## Use\n\n```\n" + "\n".join(card.use) + "\n```",
        "## How it was made\n\n```\n" + card.command + "\n```",
        "| used for | dataset | version | licence, as its card says | digest |\n|---|---|---|---|---|\n"
        + "\n".join(rows),
        "\n".join(f"- {name.replace('_', ' ')}: {number:,}" for name, number in card.counts.items()),
        "\n".join(f"- {name}: {value}" for name, value in card.made_with.items()),
        "## Results\n\n" + card.results.strip(),
        "## Limits\n\n" + "\n".join(f"- {line}" for line in card.limits),
    ]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Return text for a cell of a table: what would end the cell or the line is taken out of it."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
