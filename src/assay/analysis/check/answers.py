"""Which system answered which item: what a baseline keeps to compare systems on other answers to the same questions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.analysis.check.packing import pack, unpack
from assay.analysis.data import ScoredDataset
from assay.analysis.systems import ITEM_COLUMNS, SYSTEM_COLUMNS, cells_of_column, usual_column
from assay.common.batches import digest_of_texts
from assay.statistics.concordance import Floats

#: In place of a column: all answers are those of one system.
ONE_SYSTEM = "-"
#: The name of that system.
ONLY_NAME = "all answers"


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of systems, one for each of the n pairs of a dataset; a system may answer an item several times.

    Attributes:
        item: the column that identifies the items.
        names: the names of the systems.
        codes: the index in *names* of each pair's system, shape (n,); -1 for a pair without a system or an item.
        items: a digest of each pair's item, shape (n,).
        labels: the labels, shape (n,), rounded to single precision; NaN for answers without labels.
        votes: the labels that mean no and yes; None for grades, for labels that are all the same, and without labels.
    """

    item: str
    names: tuple[str, ...]
    codes: NDArray[np.int32]
    items: NDArray[np.uint64]
    labels: Floats
    votes: tuple[float, float] | None

    def rows_by_item(self, system: str) -> dict[int, list[int]]:
        """Return the rows of a system's answers to each item, by the digest of the item; empty for another system."""
        rows_of_item: dict[int, list[int]] = {}
        if system in self.names:
            for row in np.flatnonzero(self.codes == self.names.index(system)).tolist():
                rows_of_item.setdefault(int(self.items[row]), []).append(row)
        return rows_of_item

    @property
    def facts(self) -> dict[str, Any]:
        """What a baseline file has besides the packed arrays."""
        return {"item": self.item, "names": list(self.names), "votes": list(self.votes) if self.votes else None}

    def plain_values(self) -> dict[str, Any]:
        """Return the answers as a baseline file has them."""
        packed = {name: pack(content) for name, content in self._digested_bytes().items()}
        return {**self.facts, **packed, "digest": self.digest}

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of a SHA-256 of everything."""
        text = json.dumps(self.facts, sort_keys=True, ensure_ascii=False, allow_nan=False)
        contents = b"".join(self._digested_bytes().values())
        return hashlib.sha256(text.encode("utf-8", "surrogatepass") + b"\0" + contents).hexdigest()[:16]

    def _digested_bytes(self) -> dict[str, bytes]:
        """Return what the digest covers: the bytes of the arrays by name, equal on every machine."""
        return {
            "codes": self.codes.astype("<i4").tobytes(),
            "items": self.items.astype("<u8").tobytes(),
            "labels": (self.labels + 0.0).astype("<f4").tobytes(),
        }


def answers_from(values: dict[str, Any], n: int) -> Answers:
    """Return the answers that a baseline file has of n pairs.

    Args:
        values: what :meth:`Answers.plain_values` returned, as it was read from the file.
        n: the number of pairs.

    Raises:
        ValueError: the values are damaged or were changed.
    """
    item, names, votes = values.get("item"), values.get("names"), values.get("votes")
    if not isinstance(item, str) or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("they name no item or no systems")
    if votes is not None and not _are_two_numbers(votes):
        raise ValueError("the labels that mean no and yes are not two numbers")
    answers = Answers(
        item=item,
        names=tuple(names),
        codes=_unpacked(values, "codes", n, "<i4").astype(np.int32),
        items=_unpacked(values, "items", n, "<u8").astype(np.uint64),
        labels=_unpacked(values, "labels", n, "<f4").astype(np.float64),
        votes=None if votes is None else (float(votes[0]), float(votes[1])),
    )
    if answers.digest != values.get("digest"):
        raise ValueError("they do not fit their digest")
    return answers


def _unpacked(values: dict[str, Any], name: str, n: int, kind: str) -> NDArray[Any]:
    """Return a packed array of a baseline file, shape (n,), of a type such as ``<f4``.

    Raises:
        ValueError: it is missing or damaged.
    """
    if not isinstance(values.get(name), str):
        raise ValueError(f"they have no {name}")
    number_type = np.dtype(kind)
    return np.frombuffer(unpack(values[name], n, number_type.itemsize), dtype=number_type)


def _are_two_numbers(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(item) in (int, float) for item in value)


def take_answers(data: ScoredDataset, system: str, item: str | None, *, labelled: bool = True) -> Answers:
    """Return the answers of the systems in a dataset, with systems in the order in which they first occur.

    An answer whose cell of the system or of the item is empty belongs to no system.

    Args:
        data: the dataset.
        system: the column of systems; :data:`ONE_SYSTEM` if all answers are those of one.
        item: the column of items; None for the first of the usual ones.
        labelled: whether the answers have labels; else the labels are NaN.

    Raises:
        InputError: there is no such column, or none of the usual ones of items.
    """
    items = cells_of_column(data, item, ITEM_COLUMNS, "item")
    if system == ONE_SYSTEM:
        systems: list[Any] = [ONLY_NAME] * len(data)
    else:
        systems = cells_of_column(data, system, SYSTEM_COLUMNS, "system")
    code_of_system: dict[str, int] = {}
    codes = []
    for system_cell, item_cell in zip(systems, items, strict=True):
        if system_cell in (None, "") or item_cell in (None, ""):
            codes.append(-1)
        else:
            codes.append(code_of_system.setdefault(str(system_cell), len(code_of_system)))
    votes = data.votes if labelled else None
    # in single precision, as a baseline holds them
    labels = data.labels.astype(np.float32).astype(np.float64) if labelled else np.full(len(data), np.nan)
    return Answers(
        item=item or str(usual_column(data.table.column_names, ITEM_COLUMNS)),
        names=tuple(code_of_system),
        codes=np.array(codes, dtype=np.int32),
        items=np.array([_digest_of_item(cell) for cell in items], dtype=np.uint64),
        labels=labels,
        votes=None if votes is None else (votes.no, votes.yes),
    )


def _digest_of_item(cell: Any) -> int:
    """Return 64 bits of the digest of a cell that names an item: a value, or a tuple of values."""
    values = cell if isinstance(cell, tuple) else (cell,)
    return int.from_bytes(digest_of_texts([str(value) for value in values])[:8], "little")
