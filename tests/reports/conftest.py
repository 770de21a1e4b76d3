"""A real browser (chromium) for the tests of pages."""

from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
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
def context(browser):
    """A window that must stay silent: no request but for the page, no word on the console, no error."""
    heard = []
    opened = browser.new_context(viewport={"width": 1200, "height": 900})
    opened.on("console", lambda message: heard.append(message.text))
    opened.on("weberror", lambda error: heard.append(str(error.error)))
    opened.on("request", lambda request: heard.append(request.url) if not request.url.startswith("file:") else None)
    yield opened
    opened.close()
    assert heard == []
