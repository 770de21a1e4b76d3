"""The page in a few sentences, computed from the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from assay.reports.data import ALL
from assay.reports.layout import TITLES, Block, Cell
from assay.reports.units import Unit

__all__ = ["Finding", "find"]

#: Buckets that the summary speaks of.
MOST = 3
#: What a kind of labels that no people gave is called.
_UNRANKED = {"probe": "a probe set", "machine": "machine-made labels"}

Finding = tuple[str, str]


def find(unit: Unit) -> Iterator[Finding]:
    """Yield a bucket's name and a sentence on it: which metric agrees best, with its interval, and the next one."""
    statistic = unit.main_statistic
    for block in unit.blocks[:MOST]:
        yield _where(block), _sentence(unit, block, statistic)


def _where(block: Block) -> str:
    place = "All pairs" if block.bucket == ALL else f"Where {_spelt(block.bucket)}"
    return f"{place} ({block.facts[0]})"


def _spelt(bucket: str) -> str:
    """Return a condition as people write it: ``f1=0`` becomes ``F1 = 0``."""
    for mark in (">=", "<=", "!=", "=", ">", "<"):
        name, found, value = bucket.partition(mark)
        if found and name and value and "+" not in bucket:
            shown = {">=": "≥", "<=": "≤", "!=": "≠"}.get(mark, mark)
            return f"{'F1' if name == 'f1' else name} {shown} {value}"
    return bucket


def _sentence(unit: Unit, block: Block, statistic: str) -> str:
    known = [
        (cell.value, metric, cell)
        for metric, _, _ in block.rows
        if (cell := unit.cell(block, metric, statistic)) is not None and cell.value is not None
    ]
    head = TITLES.get(statistic, statistic)
    if not known:
        return f"no metric has a defined {head}."
    known.sort(key=lambda one: -one[0])
    count = len(block.rows) - len(known)
    verb = "is" if count == 1 else "are"
    left_out = f" {count} of {len(block.rows)} metrics {verb} undefined here." if count else ""
    if not unit.is_by_people:
        ends = f"from {_kept(known[-1][2])} to {_kept(known[0][2])}"
        return f"{head} {ends}; metrics are not ranked by {_UNRANKED[unit.data.facts['kind']]}.{left_out}"
    _, best, cell = known[0]
    does = "agrees best with people" if known[0][0] > 0 else "has the highest value, which is no agreement with people"
    said = f"{unit.names[best]} {does}, {head} {_kept(cell)}"
    if cell.low is None or cell.high is None:
        said += ", without an interval"
    elif cell.low <= 0 <= cell.high:
        said += ", an interval that holds 0"
    if len(known) > 1:
        _, after, other = known[1]
        said += f"; next is {unit.names[after]}, {_kept(other)}{_overlap(cell, [one for _, _, one in known[1:]])}"
    return f"{said}.{left_out}"


def _kept(cell: Cell) -> str:
    """Return a value with its interval that no line break parts."""
    return cell.text.replace(" ", "\N{NO-BREAK SPACE}")


def _overlap(best: Cell, others: list[Cell]) -> str:
    """Say how many of the other intervals reach into that of the best metric; nothing where there are none."""
    low = best.low
    if low is None:
        return ""
    count = sum(other.high is not None and other.high >= low for other in others)
    return f" (of the {len(others)} other intervals, {count or 'none'} overlap{'s' * (count == 1)} with the best one)"
