"""The card of a trained model: what it is, from what, how it was made, what it reached, and where its limits are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.training.data import Source

__all__ = ["Card", "write_card"]


@dataclass(frozen=True)
class Card:
    """What a recipe says of its model; all else follows from the facts of the training.

    Attributes:
        title: the heading.
        about: what the model is, a paragraph.
        seeds: what the seeds decided.
        best: what the development set said at the best step.
        use: lines of shell or Python that use it.
        limits: what a user should know, a line each.
        made_with: what else it was made with, by name.
    """

    title: str
    about: str
    seeds: str
    best: str
    use: Sequence[str]
    limits: Sequence[str]
    made_with: Mapping[str, str] = field(default_factory=dict)


def write_card(
    card: Card, facts: Mapping[str, Any], data: Mapping[str, Sequence[Source]], results: str, folder: Path
) -> None:
    """Write ``README.md`` with the front matter that model hubs read.

    Args:
        card: of the recipe.
        facts: what ``training.json`` holds.
        data: the datasets by what they were used for.
        results: tables in Markdown.
        folder: of the model.
    """
    (folder / "README.md").write_text(_text(card, facts, data, results), encoding="utf-8")


def _text(card: Card, facts: Mapping[str, Any], data: Mapping[str, Sequence[Source]], results: str) -> str:
    base = facts["base"]["name"]
    languages = sorted({one.language for sources in data.values() for one in sources if one.language})
    made_with = {
        "seed": card.seeds,
        **card.made_with,
        "base digest": facts["base"]["digest"],
        "best of the evaluations": f"step {facts['best_step']} of {facts['steps']}, {card.best}",
        "device": f"{facts['device']}, {facts['threads']} threads",
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    }
    front = ["---", "library_name: sentence-transformers", "pipeline_tag: sentence-similarity"]
    if languages:
        front += ["language:", *(f"- {language}" for language in languages)]
    front += ["tags:", "- sentence-transformers", "- sentence-similarity", "---"]
    rows = [
        f"| {use} | {_cell(source.spec)} | {source.version or '–'} | {_cell(source.licence)} | `{source.digest[:16]}` |"
        for use, sources in data.items()
        for source in sources
    ]
    parts = [
        "\n".join(front),
        f"# {card.title}",
        card.about,
        f"Base model: `{base}`. It is a derived work: the base's licence and those of the data below hold for it.",
        "## Use\n\n```\n" + "\n".join(card.use) + "\n```",
        "## How it was made\n\n```\n" + facts["command"] + "\n```",
        "| used for | dataset | version | licence, as its card says | digest |\n|---|---|---|---|---|\n"
        + "\n".join(rows),
        "\n".join(f"- {name.replace('_', ' ')}: {number:,}" for name, number in facts["counts"].items()),
        "\n".join(f"- {name}: {value}" for name, value in made_with.items()),
        "## Results\n\n" + results.strip(),
        "## Limits\n\n" + "\n".join(f"- {line}" for line in card.limits),
    ]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Return text for a cell of a table: what would end the cell or the line is taken out of it."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
