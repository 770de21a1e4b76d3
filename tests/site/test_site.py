"""The built site: links, sizes and, in chromium, requests, errors on the console, the rules of axe-core and layout."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from tests.browser import PATIENCE, violations

pytest.importorskip("mkdocs", reason="mkdocs is not installed (extra docs)")
pytest.importorskip("material", reason="mkdocs-material is not installed (extra docs)")
REPOSITORY = Path(__file__).parents[2]
WIDTHS = (390, 768, 1280)
#: Pages of each kind: what begins here, a long guide, folds, wide tables, code, generated cards.
VISITED = (
    *("", "start/answers/", "start/metric/", "start/ci/", "start/from/"),
    *("data/", "gate/", "statistics/", "metrics/", "extending/", "examples/"),
    *("metric-cards/chrf/", "dataset-cards/stsb/"),
)
#: The most that the HTML of a page may take, but for the leaderboard.
MAX_BYTES = 500_000
pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in ("script", "img", "iframe", "source") and "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Each page by its address below the root."""
    files = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    return {
        path.relative_to(site).as_posix().removesuffix("index.html"): Page(path.read_text(encoding="utf-8"))
        for path in files
    }


def test_links_lead_to_pages_and_anchors(site: Path, pages: dict[str, Page]) -> None:
    faults = []
    for address, page in pages.items():
        for link in page.links:
            parts = urlsplit(urljoin(f"http://site/{address}", link))
            if parts.netloc != "site":
                continue
            path, anchor = unquote(parts.path).lstrip("/"), unquote(parts.fragment)
            target = pages.get(path) or pages.get(f"{path}/")
            if target is None and not (site / path).is_file():
                faults.append(f"{address}: {link}")
            elif target is not None and anchor and not anchor.startswith("__") and anchor not in target.anchors:
                faults.append(f"{address}: {link}: no such anchor")
    assert len(pages) > 40
    assert faults == []


def test_nothing_is_loaded_from_a_network(site: Path, pages: dict[str, Page]) -> None:
    assert [(address, item) for address, page in pages.items() for item in page.loaded if urlsplit(item).netloc] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*", styles) == []


def test_pages_are_light(site: Path) -> None:
    sizes = {path.relative_to(site).as_posix(): path.stat().st_size for path in site.rglob("*.html")}
    heavy = {name: size for name, size in sizes.items() if size > MAX_BYTES and "leaderboard" not in name}
    assert heavy == {}


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of a server on this machine that serves the site."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Any]:
    """A function that opens a page of the site in a window that must stay silent."""
    heard: list[str] = []
    contexts = []

    def opened(path: str, width: int, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        context.on("console", lambda message: heard.append(f"{path}: {message.text}"))
        context.on("weberror", lambda error: heard.append(f"{path}: {error.error}"))
        context.on("requestfailed", lambda request: heard.append(f"{path}: failed {request.url}"))
        context.on("response", lambda reply: heard.append(f"{path}: {reply.status}") if reply.status >= 400 else None)
        context.on(
            "request",
            lambda request: None if request.url.startswith((address, "data:", "blob:")) else heard.append(request.url),
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address + path)
        page.locator("h1").first.wait_for()
        return page

    yield opened
    # what is still under way when a page is closed, such as the index of the search, is reported as failed
    messages = list(heard)
    for context in contexts:
        context.close()
    assert messages == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", VISITED)
def test_a_page_fits(open_page: Any, path: str, width: int) -> None:
    page = open_page(path, width)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    right_edges = page.evaluate(
        "[...document.querySelectorAll('article > *')].map(element => element.getBoundingClientRect().right)"
    )
    assert max(right_edges) <= width + 1


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
@pytest.mark.parametrize("path", VISITED)
def test_a_page_keeps_the_rules_of_axe(open_page: Any, axe: str, path: str, width: int, scheme: str) -> None:
    page = open_page(path, width, scheme)
    assert page.locator("body").get_attribute("data-md-color-scheme") == ("slate" if scheme == "dark" else "default")
    assert violations(page, axe) == []


#: Every page but cards, and of these one in so many.
CARDS, EACH = ("metric-cards/", "dataset-cards/"), 15


def test_every_page_keeps_the_rules_of_axe(browser: Any, axe: str, address: str, pages: dict[str, Page]) -> None:
    cards = [path for path in pages if path.startswith(CARDS) and path not in CARDS]
    chosen = [path for path in pages if path not in cards] + cards[::EACH]
    # the policy of the pages of assay allows no other script: it is set aside for this one
    window = browser.new_context(bypass_csp=True, viewport={"width": 390, "height": 900})
    page = window.new_page()
    page.set_default_timeout(PATIENCE)
    faults = []
    for path in chosen:
        page.goto(address + path)
        page.locator("h1").first.wait_for()
        page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        faults += [(path, *fault) for fault in violations(page, axe)]
        if page.evaluate("document.scrollingElement.scrollWidth") > 390:
            faults.append((path, "wider than a phone"))
    window.close()
    assert len(chosen) > 60
    assert faults == []


def test_the_leaderboard_is_there_without_data(open_page: Any) -> None:
    open_page("board/", 390).get_by_role("link", name="Open the leaderboard").click()
    page = open_page("board/board.html", 390)
    page.locator("body[data-ready]").wait_for()
    assert page.locator("#metrics tbody tr").count() == 9 and page.locator("#sets tbody tr").count() == 12
    assert page.evaluate("document.scrollingElement.scrollWidth") == 390


def test_search_finds_a_page(open_page: Any) -> None:
    page = open_page("", 1280)
    page.wait_for_function("window.document$")  # from here on the scripts of the page listen to its keys
    search = page.get_by_placeholder("Search")
    search.click()
    # by keys: what is set at once is no key, and not searched for where the index was there before it
    search.press_sequentially("design effect")
    for path in ("statistics/", "datasets/"):
        page.locator(f".md-search-result__link[href*='/{path}']").first.wait_for(state="attached")


def test_the_doors_are_on_the_first_page_and_fit_a_phone(open_page: Any) -> None:
    page = open_page("", 390)
    doors = page.locator(".grid.cards a")
    assert [door.get_attribute("href") for door in doors.all()] == [
        f"start/{name}/" for name in ("answers", "metric", "ci", "from")
    ]
