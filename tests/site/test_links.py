"""Links between pages, and from README, source and messages to pages, lead to a page and a heading of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
#: Words of a page outside of blocks of code; reference, with generated tables and simulations, may be longer.
MAX_WORDS = 1500
#: Pages that docs/hooks.py makes; each lists further ones, which need no place in the navigation.
GENERATED = ("metric-cards/index.md", "dataset-cards/index.md", "board/index.md")
CODE = sorted((REPOSITORY / "src").rglob("*.py")) + sorted((REPOSITORY / "tests").rglob("*.py"))


def prose(page: Path) -> str:
    """Return the text of a page without blocks of code."""
    return re.sub(r"^(```|~~~).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@cache
def headings(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-"))
    return frozenset(found)


def broken(source: Path, target: str) -> str | None:
    """Return what is wrong with a link, or None."""
    path, _, anchor = target.partition("#")
    page = (source.parent / path).resolve() if path else source
    if not page.exists():
        return f"{target}: no such file"
    if anchor and page.suffix == ".md" and anchor not in headings(page):
        return f"{target}: no such heading"
    return None


@pytest.mark.parametrize("source", TEXTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_of_a_page(source: Path) -> None:
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", prose(source)) if not re.match(r"[a-z]+:", target)]
    assert [fault for target in targets if (fault := broken(source, target))] == []


def test_pages_that_code_and_messages_name() -> None:
    named = {
        (path, page)
        for path in CODE
        for page in re.findall(r"\bdocs/[\w/-]+\.md(?:#[\w-]+)?", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    faults = [f"{path.relative_to(REPOSITORY)}: {fault}" for path, page in named if (fault := broken(DOCS, page))]
    assert sorted(faults) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```\n# no heading\n```\n\n## What, where?\n", encoding="utf-8")
    assert [broken(page, target) for target in ("page.md#what-where", "#a-page", "page.md")] == [None] * 3
    assert broken(page, "#no-heading") and broken(page, "other.md")


def pages_of(section: str) -> list[str]:
    """Return the pages below a part of the navigation."""
    navigation = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    parts = re.split(r"^  - (.+):$", navigation.partition("\nmarkdown_extensions:")[0], flags=re.MULTILINE)
    return re.findall(r"[\w/-]+\.md", parts[parts.index(section) + 1])


def test_every_page_is_in_the_navigation_once() -> None:
    shown = [page for section in ("Start", "How-to", "Explanations", "Reference") for page in pages_of(section)]
    assert sorted(shown) == sorted([*(path.relative_to(DOCS).as_posix() for path in PAGES), *GENERATED])


def test_pages_are_short_but_for_reference() -> None:
    long = {}
    for page in [name for section in ("Start", "How-to", "Explanations") for name in pages_of(section)]:
        words = sum(bool(re.search(r"\w", word)) for word in prose(DOCS / page).split())
        if words > MAX_WORDS:
            long[page] = words
    assert long == {}
