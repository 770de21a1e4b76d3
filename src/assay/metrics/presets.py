"""Presets: metrics with the models and settings of the papers, by language."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any


@functools.cache
def presets() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the options of the bundled presets by metric and then language, ``*`` for any; ``subject`` is the model.

    The file is read once, so callers must not change the result.
    """
    return tomllib.loads((resources.files("assay.metrics") / "presets.toml").read_text(encoding="utf-8"))


def preset_languages(metric: str) -> frozenset[str]:
    """Return the languages for which a metric has a preset, ``*`` for any language; empty if it has no preset."""
    return frozenset(presets().get(metric, {}))


def preset_for(metric: str, language: str) -> dict[str, Any]:
    """Return a copy of the options of a metric's preset for a language, or else of its preset for any language.

    Raises:
        KeyError: the metric has no preset, or none for this language and none for any.
    """
    by_language = presets()[metric]
    return dict(by_language.get(language) or by_language["*"])
