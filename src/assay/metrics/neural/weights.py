"""Checks that every weight behind a score comes from the model's files, by the load reports of transformers.

If a file lacks a weight, transformers initialises it at random and only warns, so that scores would differ by run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from assay.errors import UnavailableError

#: What is used of a model: its hidden states, its head, or a new head that is still to be trained.
Use = Literal["hidden states", "head", "new head"]

_POOLER = re.compile(r"(^|\.)pooler\.")
#: Buffers that older versions of transformers wrote; they are computed, not learned.
_BUFFER = re.compile(r"(^|\.)(position_ids|inv_freq)$")
_REMEDY = "take the model's original files, or save it again with save_pretrained"
#: The check replaces a method of a class while it runs: two checks at the same time would restore each other's method.
_LOCK = threading.RLock()


@contextmanager
def whole_weights(folder: Path, use: Use) -> Iterator[None]:
    """Refuse models that transformers loads within the block without all the weights that are used.

    If only hidden states are used, the files may have the weights of a head, and may lack those of a pooler.

    Args:
        folder: the folder of the model, for messages.
        use: the part of the model that is used.

    Raises:
        UnavailableError: weights are missing, have other shapes, or belong to a part of the model that has no such
            weight, as when they were renamed or the configuration says fewer layers.
    """
    with _load_reports() as reports:
        yield
    for model, report in reports:
        # an entry of a mismatch is the key, followed by the shapes
        without_values = [*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])]
        absent = [key for key in without_values if not _may_be_absent(key, model, use)]
        misplaced = [key for key in report["unexpected_keys"] if _is_misplaced(key, model)]
        if absent:
            reason = f"lacks {len(absent)} weights of its architecture ({_example_of(absent)})"
        elif misplaced:
            reason = f"has {len(misplaced)} weights that its configuration has no room for ({_example_of(misplaced)})"
        else:
            continue
        raise UnavailableError(f"model {folder}: {reason}", _REMEDY)


@contextmanager
def _load_reports() -> Iterator[list[tuple[Any, dict[str, Any]]]]:
    """Collect (model, load report) of every model that transformers loads within the block.

    This replaces ``from_pretrained``, because sentence-transformers and bert-score call it and drop its report.
    """
    from transformers import PreTrainedModel

    reports: list[tuple[Any, dict[str, Any]]] = []
    original = vars(PreTrainedModel)["from_pretrained"]

    def from_pretrained(cls: type, *args: Any, **settings: Any) -> Any:
        model, report = original.__func__(cls, *args, **settings | {"output_loading_info": True})
        reports.append((model, report))
        return model

    with _LOCK:
        PreTrainedModel.from_pretrained = classmethod(from_pretrained)
        try:
            yield reports
        finally:
            PreTrainedModel.from_pretrained = original


def _may_be_absent(key: str, model: Any, use: Use) -> bool:
    """Tell whether a missing weight does not matter: it is of an unused pooler or of a head to be trained."""
    if use == "head":
        return False
    if _POOLER.search(key):
        return True
    prefix = model.base_model_prefix
    has_head = bool(prefix) and hasattr(model, prefix)
    return use == "new head" and has_head and not key.startswith(f"{prefix}.")


def _is_misplaced(key: str, model: Any) -> bool:
    """Tell whether an unexpected weight belongs to a part that the model has, rather than to an unused head."""
    if _POOLER.search(key) or _BUFFER.search(key):
        return False
    parts = {name for name, _ in model.named_children()}
    prefix = model.base_model_prefix
    # the names of the body's weights have this prefix in files of models with a head, but not of the body alone
    body_key = key.removeprefix(f"{prefix}.") if prefix and prefix not in parts else key
    return body_key.partition(".")[0] in parts


def _example_of(keys: Iterable[str]) -> str:
    """Return the first key in alphabetical order, with an ellipsis if there are others, for a message."""
    first, *others = sorted(keys)
    return f"{first}, …" if others else first
