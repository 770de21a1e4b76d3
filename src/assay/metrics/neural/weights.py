"""The check that every weight a score is computed from comes out of the model's files, by transformers' load reports.

transformers draws a weight that a file lacks at random and only warns, so that each run would give other scores.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from assay.errors import UnavailableError

#: What is computed from a model: hidden states, the output of its head, or a head that is trained anew.
Use = Literal["hidden states", "head", "new head"]

_POOLER = re.compile(r"(^|\.)pooler\.")
#: Buffers that older versions of transformers wrote; they are computed, not learned.
_BUFFER = re.compile(r"(^|\.)(position_ids|inv_freq)$")
_REMEDY = "take the model's original files, or save it again with save_pretrained"
#: The method that reports belongs to a class: two loads at the same time would restore each other's.
_LOCK = threading.RLock()


@contextmanager
def whole_weights(folder: Path, use: Use) -> Iterator[None]:
    """Refuse models of transformers that are loaded inside without all the weights that are used.

    Where only hidden states are read, the weights of a head may be there as well, and a pooler may be missing.

    Args:
        folder: of the model, for messages.
        use: what is computed from it.

    Raises:
        UnavailableError: weights are missing, have other shapes, or belong to a part of the model that has no such
            weight, as when they were renamed or the configuration says fewer layers.
    """
    with _load_reports() as reports:
        yield
    for model, report in reports:
        # of a mismatch the first item is the key, then come the shapes
        without_values = [*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])]
        absent = [key for key in without_values if not _may_be_absent(key, model, use)]
        foreign = [key for key in report["unexpected_keys"] if _is_foreign(key, model)]
        if absent:
            reason = f"lacks {len(absent)} weights of its architecture ({_some(absent)})"
        elif foreign:
            reason = f"has {len(foreign)} weights that its configuration has no room for ({_some(foreign)})"
        else:
            continue
        raise UnavailableError(f"model {folder}: {reason}", _REMEDY)


@contextmanager
def _load_reports() -> Iterator[list[tuple[Any, dict[str, Any]]]]:
    """Collect (model, report) of every model that transformers loads inside.

    sentence-transformers and bert-score call ``from_pretrained`` themselves and cannot hand its report on.
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
    """Tell whether nothing that is used depends on a weight: a pooler's, or those of a head that is trained anew."""
    if use == "head":
        return False
    if _POOLER.search(key):
        return True
    prefix = model.base_model_prefix
    has_head = bool(prefix) and hasattr(model, prefix)
    return use == "new head" and has_head and not key.startswith(f"{prefix}.")


def _is_foreign(key: str, model: Any) -> bool:
    """Tell whether an unexpected weight belongs to a part that the model has, and not to another head."""
    if _POOLER.search(key) or _BUFFER.search(key):
        return False
    parts = {name for name, _ in model.named_children()}
    prefix = model.base_model_prefix
    # a file of a model with a head has the body below this name, a file of the body alone has not
    inside = key.removeprefix(f"{prefix}.") if prefix and prefix not in parts else key
    return inside.partition(".")[0] in parts


def _some(keys: Iterable[str]) -> str:
    """Return the first key in alphabetical order, for a message, and whether there are others."""
    first, *others = sorted(keys)
    return f"{first}, …" if others else first
