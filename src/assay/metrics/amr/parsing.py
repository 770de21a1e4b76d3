"""Sentences to AMR graphs, where a user has a parser: amrlib and one of its models."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.errors import InputError, UnavailableError
from assay.metrics.provenance import file_digest

__all__ = ["PARSER", "check_parser", "load_parser", "parse_texts", "parser_digest"]

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
