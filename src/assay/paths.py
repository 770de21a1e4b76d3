"""Where assay keeps and finds files."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Return the folder for downloads and stored scores: ``$ASSAY_CACHE`` or the platform's cache folder.

    The folder need not exist yet.
    """
    chosen = os.environ.get("ASSAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("assay"))


def data_dirs() -> list[Path]:
    """Return the folders of ``$ASSAY_DATA`` (separated as in ``$PATH``), in order."""
    value = os.environ.get("ASSAY_DATA", "")
    return [Path(part).expanduser() for part in value.split(os.pathsep) if part]
