"""The Python API: what the command line does, for Python users; names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api.diagnosis import diagnose
    from assay.api.files import agree_file, score_file
    from assay.api.profiling import profile
    from assay.api.published import list_published, reproduce
    from assay.api.result import Result
    from assay.api.running import run
    from assay.api.sweeping import sweep

__all__ = ["Result", "agree_file", "diagnose", "list_published", "profile", "reproduce", "run", "score_file", "sweep"]

#: No module has the name of its function: once imported, it would hide the function.
_HOMES = {
    "Result": "result",
    "agree_file": "files",
    "diagnose": "diagnosis",
    "list_published": "published",
    "profile": "profiling",
    "reproduce": "published",
    "run": "running",
    "score_file": "files",
    "sweep": "sweeping",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
