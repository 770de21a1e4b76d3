"""Names short enough for a figure; the whole name stands in the list of signatures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["fit", "short_names"]

#: Folders before the last part of a path or of a hub id, after the ``:`` of a subject or the ``=`` of an option.
_FOLDERS = re.compile(r"(?<=[:=])[^,=]*[/\\](?=[^,/\\])")


def short_names(metrics: Iterable[str]) -> dict[str, str]:
    """Return a short name for each metric: ``bi-encoder:/models/minilm`` becomes ``bi-encoder:…/minilm``.

    Where two metrics would get the same one, both keep their own.
    """
    names = {metric: _FOLDERS.sub("…/", metric) for metric in metrics}
    shared = Counter(names.values())
    return {metric: name if shared[name] == 1 else metric for metric, name in names.items()}


def fit(text: str, width: int) -> str:
    """Return *text* in at most *width* characters, its middle left out: start and end tell names apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"
