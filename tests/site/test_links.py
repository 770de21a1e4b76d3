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
CODE = sorted((REPOSITORY / "src").rglob("*.py")) + sorted((REPOSITORY / "tests").rglob("*.py"))


@cache
def headings(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    found: set[str] = set()
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
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
    text = re.sub(r"^(```|~~~).*?^\1", "", source.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", target)]
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
