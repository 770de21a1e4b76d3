"""The graphs of a batch: from the data, or parsed from the texts by amrlib and one of its models."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.common.messages import Message, Setting
from assay.exceptions import InputError, UnavailableError
from assay.metrics.models.files import list_files
from assay.metrics.provenance import file_digest
from assay.paths import user_path

if TYPE_CHECKING:
    from assay.metrics.base import Batch

PARSER = "amrlib:"

#: The number of characters of a text that an error shows.
_MAX_SHOWN_CHARACTERS = 40
_REMEDY = Message(
    "give graphs with ",
    Setting("graphs", "reference=FILE,candidate=FILE"),
    ", in columns reference_graph and candidate_graph, or have the texts parsed: parser=amrlib:FOLDER",
)


def check_parser(parser: str) -> None:
    """Check that *parser* has the form ``amrlib:FOLDER``, that the folder exists and that amrlib is installed.

    Raises:
        InputError: it has another form, or there is no such folder.
        UnavailableError: amrlib is not installed.
    """
    folder = user_path(parser.removeprefix(PARSER))
    if not parser.startswith(PARSER) or not folder.is_dir():
        raise InputError(f"parser {parser!r}: write parser={PARSER}FOLDER, the folder of a parser model of amrlib")
    try:
        import amrlib  # noqa: F401
    except ImportError as error:
        raise UnavailableError("the package amrlib is not installed", "pip install amrlib") from error


def parser_digest(parser: str) -> str:
    """Return the name of the model's folder and 16 digits of a SHA-256 digest of its files, joined by ``@``.

    Raises:
        InputError: the parser is no ``amrlib:FOLDER`` with an existing folder.
        UnavailableError: amrlib is not installed.
    """
    check_parser(parser)
    folder = user_path(parser.removeprefix(PARSER))
    files = sorted(folder / name for name in list_files(folder))
    digests = "\n".join(f"{path.relative_to(folder)} {file_digest(path)}" for path in files)
    return f"{folder.name}@{hashlib.sha256(digests.encode()).hexdigest()[:16]}"


def load_parser(parser: str) -> Any:
    """Return the amrlib model of a parser; the last one stays in memory, and what loading prints is dropped.

    Raises:
        InputError: the parser is no ``amrlib:FOLDER`` with an existing folder.
        UnavailableError: amrlib is not installed.
        Exception: any error of amrlib.
    """
    check_parser(parser)
    # amrlib prints its progress, and stdout is for data
    with contextlib.redirect_stdout(io.StringIO()):
        return _load_model(parser.removeprefix(PARSER))


def parse_texts(parser: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the graph of each text, in Penman notation, by text; what the parser prints is dropped.

    Args:
        parser: the parser, ``amrlib:FOLDER``.
        texts: the texts, which need not be distinct.

    Raises:
        InputError: there is no such parser, or it returns no graph for a text.
        UnavailableError: amrlib is not installed.
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
def _load_model(folder: str) -> Any:
    import amrlib

    return amrlib.load_stog_model(model_dir=str(user_path(folder)))


def load_parser_for(batch: Batch, parser: str) -> float:
    """Load the parser if a text of the batch has no graph, and return the seconds that this took, else 0.

    Args:
        batch: the pairs.
        parser: the parser, ``amrlib:FOLDER``; empty for none.

    Raises:
        InputError: the parser is no ``amrlib:FOLDER`` with an existing folder.
        UnavailableError: amrlib is not installed.
    """
    first, second = _graphs_in_data(batch)
    if not parser or all(graph.strip() for graph in (*first, *second)):
        return 0.0
    started = time.perf_counter()
    load_parser(parser)
    return time.perf_counter() - started


def _graphs_in_data(batch: Batch) -> tuple[list[str], list[str]]:
    """Return the graphs of references and of candidates, an empty text for each missing graph."""
    absent = [""] * len(batch)
    return list(batch.reference_graphs or absent), list(batch.candidate_graphs or absent)


def graphs_of(batch: Batch, parser: str = "") -> tuple[Sequence[str], Sequence[str]]:
    """Return the graphs of the references and those of the candidates, in Penman notation; missing ones are parsed.

    Args:
        batch: the pairs.
        parser: the parser of the texts without a graph, ``amrlib:FOLDER``; empty for none.

    Raises:
        InputError: a text has no graph, and no parser is named, there is no such parser, or it returns none.
        UnavailableError: a text has no graph, a parser is named, and amrlib is not installed.
    """
    first, second = _graphs_in_data(batch)
    missing = {
        "references": _texts_without_graph(batch.references, first),
        "candidates": _texts_without_graph(batch.candidates, second),
    }
    texts = [*missing["references"], *missing["candidates"]]
    if not texts:
        return first, second
    if not parser:
        counts = " and ".join(f"{len(column)} of {len(batch)} {side}" for side, column in missing.items() if column)
        raise InputError(f"no AMR graph for {counts} (such as {texts[0][:_MAX_SHOWN_CHARACTERS]!r}); ", _REMEDY)
    parsed = parse_texts(parser, sorted(set(texts)))
    return _fill_missing_graphs(batch.references, first, parsed), _fill_missing_graphs(batch.candidates, second, parsed)


def _texts_without_graph(texts: Sequence[str], graphs: Sequence[str]) -> list[str]:
    return [text for text, graph in zip(texts, graphs, strict=True) if not graph.strip()]


def _fill_missing_graphs(texts: Sequence[str], graphs: Sequence[str], parsed: dict[str, str]) -> list[str]:
    """Return the graph of each text: the given one or, if it is blank, the parsed one.

    Args:
        texts: the texts.
        graphs: the given graph of each text.
        parsed: the parsed graphs by text, one for each text whose given graph is blank.
    """
    return [graph if graph.strip() else parsed[text] for text, graph in zip(texts, graphs, strict=True)]
