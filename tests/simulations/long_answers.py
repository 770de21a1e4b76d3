"""Print how often the category rules find a category in right answers, and in those to other questions, by length.

Run ``python -m tests.simulations.long_answers RUN``, a run folder of answers with questions whose highest label means
right; it takes about two minutes for 8,000 answers. The table is that of docs/error-rules.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.analysis.categories.vocabulary import LAST_RESORTS
from assay.analysis.data import ScoredDataset, read_datasets
from assay.analysis.errors.categories import tag_by_rules
from assay.analysis.folder import read_run

#: Words of the shortest and the longest answer of each row.
LENGTHS = ((1, 5), (6, 10), (11, 20), (21, 30), (31, 50), (51, None))


def has_category(data: ScoredDataset) -> np.ndarray:
    """Return which pairs have a category that was read from the texts alone, shape (n,)."""
    tags, _ = tag_by_rules(data)
    return np.array([any(tag.category not in LAST_RESORTS for tag in own) for own in tags])


def with_other_answers(data: ScoredDataset) -> ScoredDataset:
    """Return the pairs with the next answer to another question in place of their own."""
    questions, answers = (data.table.column(name).to_pylist() for name in ("question", "candidate"))
    others = []
    for row, question in enumerate(questions):
        step = next(step for step in range(1, len(data)) if questions[(row + step) % len(data)] != question)
        others.append(answers[(row + step) % len(data)])
    place = data.table.column_names.index("candidate")
    return replace(data, table=data.table.set_column(place, "candidate", pa.array(others)))


def interval(differences: np.ndarray, questions: list[str], rng: np.random.Generator) -> tuple[float, float]:
    """Return the bounds of the mean of n differences, from 1,000 resamples of whole questions."""
    codes = np.unique(questions, return_inverse=True)[1]
    sums, sizes = np.bincount(codes, differences), np.bincount(codes)
    weights = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=1000)
    low, high = np.percentile((weights @ sums) / (weights @ sizes), [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    (data,) = read_datasets(read_run(Path(sys.argv[1])))
    words = np.array([len(text.split()) for text in data.table.column("candidate").to_pylist()])
    print("| words of the answer | pairs | own answer | answer to another question | difference |")
    print("|---:|---:|---:|---:|---:|")
    for shortest, longest in LENGTHS:
        inside = (words >= shortest) & (words <= (longest or np.inf)) & (data.labels == data.labels.max())
        right = data.take(rng.permutation(np.flatnonzero(inside)))
        own, other = has_category(right), has_category(with_other_answers(right))
        title = f"{shortest} to {longest}" if longest else f"{shortest} or more"
        low, high = interval(own * 1.0 - other, right.table.column("question").to_pylist(), rng)
        shares = f"{own.mean():.1%} | {other.mean():.1%} | {own.mean() - other.mean():.1%} [{low:.1%}, {high:.1%}]"
        print(f"| {title} | {len(right):,} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
