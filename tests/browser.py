"""A real browser (chromium), and the accessibility rules of axe-core: fixtures of all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

AXE = "axe-core@4.14.1"
#: Milliseconds for a page to answer on a machine that is busy with other tests.
PATIENCE = 180_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A running chromium: ``$ASSAY_TEST_CHROMIUM``, or that of the path."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = os.environ.get("ASSAY_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no chromium on this machine ($ASSAY_TEST_CHROMIUM)")
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable, args=flags)
        yield running
        running.close()


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """A window that must stay silent: no request but for the page, no word on the console, no error."""
    heard: list[str] = []
    opened = browser.new_context(viewport={"width": 1200, "height": 900})
    opened.set_default_timeout(PATIENCE)
    opened.on("console", lambda message: heard.append(message.text))
    opened.on("weberror", lambda error: heard.append(str(error.error)))
    opened.on("request", lambda request: heard.append(request.url) if not request.url.startswith("file:") else None)
    yield opened
    opened.close()
    assert heard == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from ``$ASSAY_TEST_AXE`` or from npm."""
    given = os.environ.get("ASSAY_TEST_AXE")
    if given:
        return Path(given).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core is absent: no npm, and no file in $ASSAY_TEST_AXE")
    folder = tmp_path_factory.mktemp("axe")
    try:
        subprocess.run([npm, "pack", AXE, "--silent"], cwd=folder, check=True, capture_output=True, timeout=120)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip(f"npm cannot fetch {AXE}; $ASSAY_TEST_AXE may name its axe.min.js")
    [archive] = folder.glob("*.tgz")
    with tarfile.open(archive) as opened:
        member = opened.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def violations(page: Any, axe: str) -> list[tuple[str, str, int]]:
    """Return the rules of axe-core that a page breaks: the rule, the first element, and the number of elements.

    Args:
        page: the page; a policy that allows no script must be set aside (``bypass_csp``).
        axe: the script.
    """
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200], len(rule["nodes"])) for rule in found]
