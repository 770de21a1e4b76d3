"""Which labels mean yes."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.reports.data import ScoredDataset

__all__ = ["read_positive"]

_RULE = re.compile(r"\s*label\s*(?P<op>>=|>)\s*(?P<value>[-+0-9.eE]+)\s*")


def read_positive(data: ScoredDataset, rule: str | None) -> tuple[str, NDArray[np.bool_]]:
    """Return the rule and which pairs it calls yes, shape (n,).

    Args:
        data: pairs with labels.
        rule: ``label>=2`` or ``label>1``; None where the label has two values, of which the higher is yes.

    Raises:
        InputError: a rule that cannot be read or is needed, or one that leaves one class only.
    """
    values = np.unique(data.labels)
    if rule is None:
        if len(values) != 2:
            example = f"--positive 'label>={_plain(values[-1])}'" if len(values) else "--positive"
            raise InputError(
                f"{data.run.title}: the label of {data.name} has {len(values)} values; say which mean yes, such as "
                f"{example}"
            )
        rule = f"label>={_plain(values[-1])}"
    match = _RULE.fullmatch(rule)
    try:
        bound = float(match["value"]) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None:
        raise InputError(f"--positive {rule!r}: write label>=2 or label>1; yes is what people call similar")
    positive = data.labels >= bound if match["op"] == ">=" else data.labels > bound
    if positive.all() or not positive.any():
        raise InputError(
            f"{data.run.title}: {rule} makes all pairs of {data.name} {'yes' if positive.any() else 'no'} "
            f"(labels {_plain(values[0])} to {_plain(values[-1])}); a threshold needs both classes"
            if len(values)
            else f"{data.run.title}: {data.name} has no pairs"
        )
    return rule.replace(" ", ""), positive


def _plain(label: float) -> str:
    """Return a label in full, so that it is read back as the same number."""
    return repr(float(label)).removesuffix(".0")
