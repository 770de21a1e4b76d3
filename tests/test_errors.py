"""The line that an unknown name is answered with."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.exceptions import MissingExtraError, install_command, suggestion_for, unknown_name


@pytest.mark.parametrize(
    ("name", "choices", "line"),
    [
        ("defalt", ["default", "quick"], "no suite 'defalt'. Did you mean 'default'? Valid: default, quick."),
        ("zzz", ["quick", "default"], "no suite 'zzz'. Valid: quick, default."),
        ("zzz", [], "no suite 'zzz'. There is none."),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_with_all(name: str, choices: list[str], line: str) -> None:
    assert unknown_name("no suite", name, iter(choices)) == line


def test_near_names_come_nearest_first() -> None:
    assert suggestion_for("F1", ["f10", "f1", "bleu"]) == " Did you mean 'f1' or 'f10'?"
    assert suggestion_for("chrf", []) == ""


class _Installed:
    """A distribution with a ``direct_url.json``; the forms are those of PEP 610."""

    def __init__(self, origin: dict[str, Any] | None) -> None:
        self._text = None if origin is None else json.dumps(origin)

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self._text


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({"url": "file:///home/me/assay", "dir_info": {"editable": True}}, "-e '/home/me/assay[neural]'"),
        ({"url": "file:///home/me/my%20assay", "dir_info": {}}, "'/home/me/my assay[neural]'"),
        (
            {"url": "file:///tmp/assay-0.1.0-py3-none-any.whl", "archive_info": {"hash": "sha256=0"}},
            "'/tmp/assay-0.1.0-py3-none-any.whl[neural]'",
        ),
        (
            {"url": "https://example.org/assay-0.1.0-py3-none-any.whl", "archive_info": {}},
            "'assay[neural] @ https://example.org/assay-0.1.0-py3-none-any.whl'",
        ),
        (
            {"url": "https://example.org/assay.git", "vcs_info": {"vcs": "git", "commit_id": "1f2e"}},
            "'assay[neural] @ git+https://example.org/assay.git@1f2e'",
        ),
        (None, '"assay[neural]"'),
    ],
)
def test_an_extra_is_installed_from_where_assay_was(
    origin: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: _Installed(origin))
    install_command.cache_clear()
    assert install_command("neural") == f"pip install {command}"
    assert MissingExtraError("torch", "neural").remedy == f"pip install {command}"
    install_command.cache_clear()


def test_a_checkout_on_the_path_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    install_command.cache_clear()
    root = Path(assay.__path__[0]).parents[1]
    assert install_command("amr") == f"pip install -e '{root}[amr]'"
    install_command.cache_clear()


def test_no_page_tells_to_install_from_an_index() -> None:
    root = Path(__file__).parents[1]
    for page in (root / "README.md", *(root / "docs").rglob("*.md")):
        assert 'pip install "assay[' not in page.read_text(encoding="utf-8"), page
    for module in (root / "src").rglob("*.py"):
        assert 'pip install "assay[' not in module.read_text(encoding="utf-8"), module
