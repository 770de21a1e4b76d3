"""The graphs of a batch: from the data, or parsed from the texts by amrlib and one of its models."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UnavailableError
from assay.metrics.provenance import file_digest

if TYPE_CHECKING:
    from assay.metrics.base import Batch

__all__ = ["PARSER", "check_parser", "graphs_of", "load_parser", "load_parser_for", "parse_texts", "parser_digest"]


# Sentences to AMR graphs, where a user has a parser: amrlib and one of its models.

PARSER = "amrlib:"


def check_parser(parser: str) -> None:
    """Return when *parser* can be had: ``amrlib:FOLDER``, with the package installed and a model in the folder.

    Raises:
        InputError: it has another form, or there is no such folder.
        UnavailableError: amrlib is not installed.
    """
    folder = Path(parser.removeprefix(PARSER)).expanduser()
    if not parser.startswith(PARSER) or not folder.is_dir():
        raise InputError(f"parser {parser!r}: write parser={PARSER}FOLDER, the folder of a parser model of amrlib")
    try:
        import amrlib  # noqa: F401
    except ImportError as error:
        raise UnavailableError("the package amrlib is not installed", "pip install amrlib") from error


def parser_digest(parser: str) -> str:
    """Return the name of the model's folder and the SHA-256 over the digests of its files, cut to 16 digits.

    Raises:
        InputError, UnavailableError: see :func:`check_parser`.
    """
    check_parser(parser)
    folder = Path(parser.removeprefix(PARSER)).expanduser()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    whole = "\n".join(f"{path.relative_to(folder)} {file_digest(path)}" for path in files)
    return f"{folder.name}@{hashlib.sha256(whole.encode()).hexdigest()[:16]}"


def load_parser(parser: str) -> Any:
    """Return the model of a parser, which stays in memory.

    Raises:
        InputError, UnavailableError: see :func:`check_parser`.
    """
    check_parser(parser)
    with contextlib.redirect_stdout(io.StringIO()):
        return _model(parser.removeprefix(PARSER))


def parse_texts(parser: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the graph of each text in Penman notation; a text that the parser gives up is an error.

    Raises:
        InputError, UnavailableError: see :func:`check_parser`; or a text that has no parse.
    """
    model = load_parser(parser)
    with contextlib.redirect_stdout(io.StringIO()):
        graphs = model.parse_sents(list(texts))
    failed = [text for text, graph in zip(texts, graphs, strict=True) if not graph]
    if failed:
        raise InputError(
            f"parser {parser}: no graph for {len(failed)} of {len(texts)} texts, such as {failed[0][:60]!r}"
        )
    return dict(zip(texts, graphs, strict=True))


@functools.lru_cache(maxsize=1)
def _model(folder: str) -> Any:
    import amrlib

    return amrlib.load_stog_model(model_dir=str(Path(folder).expanduser()))


# The graphs of a batch, parsed where the data has none.

#: Characters of a text that an error shows.
_SHOWN = 40
_REMEDY = (
    "give graphs with `graphs` reference=FILE,candidate=FILE, in columns reference_graph and candidate_graph, or have "
    "the texts parsed: parser=amrlib:FOLDER"
)


def load_parser_for(batch: Batch, parser: str) -> float:
    """Load the parser where a text of the batch needs it, and return the seconds that it took.

    Raises:
        UnavailableError: the parser cannot be had.
    """
    if not parser or all(graph.strip() for graphs in _graphs_in_data(batch) for graph in graphs):
        return 0.0

    begun = time.perf_counter()
    load_parser(parser)
    return time.perf_counter() - begun


def _graphs_in_data(batch: Batch) -> tuple[list[str], list[str]]:
    """Return the graphs of both sides, an empty text where there is none."""
    absent = [""] * len(batch)
    return list(batch.reference_graphs or absent), list(batch.candidate_graphs or absent)


def graphs_of(batch: Batch, parser: str = "") -> tuple[Sequence[str], Sequence[str]]:
    """Return the graphs of the references and of the candidates; texts without one are parsed where *parser* can.

    Raises:
        InputError: a text has no graph, and there is no parser.
        UnavailableError: the parser cannot be had.
    """
    first, second = _graphs_in_data(batch)
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

    parsed = parse_texts(parser, sorted({text for texts in missing.values() for text in texts}))
    return (
        [graph if graph.strip() else parsed[text] for text, graph in zip(batch.references, first, strict=True)],
        [graph if graph.strip() else parsed[text] for text, graph in zip(batch.candidates, second, strict=True)],
    )
