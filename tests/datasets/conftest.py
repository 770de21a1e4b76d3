from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_spec = importlib.util.spec_from_file_location("datasets_test_server", Path(__file__).with_name("server.py"))
assert _spec is not None and _spec.loader is not None
_server = importlib.util.module_from_spec(_spec)
sys.modules["datasets_test_server"] = _server
_spec.loader.exec_module(_server)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _server.serve() as running:
        yield running


@pytest.fixture
def with_shared(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_DATA", str(shared_data))
    return shared_data


CONTENT = b"reference,candidate,label\nNone,007,1\n,x,2\n"


@pytest.fixture
def card_of() -> Callable[..., dict[str, Any]]:
    """Make the content of a small card; *changes* replace fields."""

    def make(content: bytes = CONTENT, **changes: Any) -> dict[str, Any]:
        return {
            "name": "small",
            "version": "1",
            "title": "a small card",
            "language": "en",
            "licence": "CC0-1.0",
            "citation": "nobody",
            "reader": "table",
            "default_split": "test",
            "scale": {"low": 0, "high": 2, "meaning": "0 to 2"},
            "splits": {"test": {"files": ["d.csv"], "rows": 2}},
            "files": [
                {"name": "d.csv", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()},
            ],
            "sources": [{"kind": "cache"}],
            **changes,
        }

    return make
