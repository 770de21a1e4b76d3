from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


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
