"""Which backends are here, and what they left in the cache."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

PACKAGES = {"onnxruntime": ("onnx", "onnxruntime"), "openvino": ("openvino",)}


def need(backend: str) -> str:
    """Skip where the packages of a backend are absent; to import openvino here would report it to a server."""
    for package in PACKAGES[backend]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is absent: pip install {' '.join(PACKAGES[backend])}")
    return backend


def folders(cache: Path) -> list[Path]:
    return sorted((cache / "converted").iterdir())


def figure_of(folder: Path) -> float:
    (path,) = folder.glob("accepted-*.json")
    return float(json.loads(path.read_text())["spearman"])
