"""The graphs of a batch, parsed where the data has none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.errors import InputError

if TYPE_CHECKING:
    from assay.metrics.base import Batch

__all__ = ["graphs_of", "load_parser_for"]

#: Characters of a text that an error shows.
_SHOWN = 40
_REMEDY = (
    "give graphs with --graphs reference=FILE,candidate=FILE, in columns reference_graph and candidate_graph, or have "
    "the texts parsed: parser=amrlib:FOLDER"
)


def load_parser_for(batch: Batch, parser: str) -> float:
    """Load the parser where a text of the batch needs it, and return the seconds that it took.

    Raises:
        UnavailableError: the parser cannot be had.
    """
    if not parser or all(graph.strip() for graphs in _given(batch) for graph in graphs):
        return 0.0
    from assay.metrics.amr.parsing import load_parser

    begun = time.perf_counter()
    load_parser(parser)
    return time.perf_counter() - begun


def _given(batch: Batch) -> tuple[list[str], list[str]]:
    """Return the graphs of both sides, an empty text where there is none."""
    absent = [""] * len(batch)
    return list(batch.reference_graphs or absent), list(batch.candidate_graphs or absent)


def graphs_of(batch: Batch, parser: str = "") -> tuple[Sequence[str], Sequence[str]]:
    """Return the graphs of the references and of the candidates; texts without one are parsed where *parser* can.

    Raises:
        InputError: a text has no graph, and there is no parser.
        UnavailableError: the parser cannot be had.
    """
    first, second = _given(batch)
    missing = {
        side: [text for text, graph in zip(texts, graphs, strict=True) if not graph.strip()]
        for side, texts, graphs in (("references", batch.references, first), ("candidates", batch.candidates, second))
    }
    if not any(missing.values()):
        return first, second
    if not parser:
        counts = " and ".join(f"{len(texts)} of {len(batch)} {side}" for side, texts in missing.items() if texts)
        shown = next(text for texts in missing.values() for text in texts)[:_SHOWN]
        raise InputError(f"no AMR graph for {counts} (such as {shown!r}); {_REMEDY}")
    from assay.metrics.amr.parsing import parse_texts

    parsed = parse_texts(parser, sorted({text for texts in missing.values() for text in texts}))
    return (
        [graph if graph.strip() else parsed[text] for text, graph in zip(batch.references, first, strict=True)],
        [graph if graph.strip() else parsed[text] for text, graph in zip(batch.candidates, second, strict=True)],
    )
