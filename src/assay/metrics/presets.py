"""Presets: metrics with the models and settings of the papers, by language."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any


@functools.cache
def presets() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the bundled presets: metric, language (``*`` for any), options; ``subject`` is the model."""
    return tomllib.loads((resources.files("assay.metrics") / "presets.toml").read_text(encoding="utf-8"))


def preset_languages(metric: str) -> frozenset[str]:
    """Return the languages for which a metric has a preset; empty if it has none."""
    return frozenset(presets().get(metric, {}))


def preset_for(metric: str, language: str) -> dict[str, Any]:
    """Return the options of a preset for a language that it has."""
    by_language = presets()[metric]
    return dict(by_language.get(language) or by_language["*"])
