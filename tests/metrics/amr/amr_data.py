"""Graphs of BAMBOO for tests."""

from __future__ import annotations

import gzip
from pathlib import Path

#: Rows of the test sets without their dummies.
ROWS = {"sts": slice(0, 1379), "sick": slice(1, 4928), "para": slice(1, 1726)}


def bamboo(data: Path, name: str, part: str = "main") -> list[tuple[str, str]]:
    """Return the pairs of graphs of a test set, without comments."""
    sides = [_blocks(data / "bamboo" / name / part / f"{side}.test.amr.gz") for side in ("src", "tgt")]
    pairs = list(zip(*sides, strict=True))
    return pairs[ROWS[name]] if part == "main" else pairs[: len(pairs) // 2 * 2]


def _blocks(path: Path) -> list[str]:
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    blocks = ("\n".join(line for line in block.split("\n") if not line.startswith("#")) for block in text.split("\n\n"))
    return [block for block in blocks if block.strip()]
