"""Boards as plain values that JSON can hold, for the files that keep them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, PlainSerializer, WrapSerializer

from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.leaderboard.ties import CalibratedValue
from assay.statistics.comparison import Difference
from assay.statistics.draws import MetricPair

# Pairs of metrics are lists of records, since JSON has no keys of two names. A number
# with its interval is a list of three.


def _number(value: Any) -> Any:
    """Return a number of the file, which has null for NaN: JSON cannot hold it."""
    return math.nan if value is None else value


def _read_line(values: Any) -> Any:
    """Return the fields of a line of the file."""
    if not isinstance(values, dict) or not isinstance(values.get("values"), dict):
        return values
    numbers = {}
    for name, triple in values["values"].items():
        numbers[name] = dict(zip(("value", "low", "high"), triple, strict=True))
    chance = {name: _number(value) for name, value in values["chance"].items()}
    return values | {"values": numbers, "ties": _number(values.get("ties")), "chance": chance}


def _write_line(line: Line, to_plain: Callable[[Line], dict[str, Any]]) -> dict[str, Any]:
    triples = {name: list(number.value_and_bounds) for name, number in line.values.items()}
    return to_plain(line) | {"values": triples}


_FileLine = Annotated[Line, BeforeValidator(_read_line), WrapSerializer(_write_line)]
#: The fields of a difference, in the order of the file, which has one text for its notes; its value follows from the
#: first two numbers.
_DIFFERENCE_FIELDS = (
    *("statistic", "first", "second", "low", "high", "p_permutation", "p_jackknife", "p_williams", "error", "degrees"),
    *("n", "note"),
)


def _read_difference(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    fields_of_file = {name: values[name] for name in _DIFFERENCE_FIELDS if name != "note"}
    note = values["note"]
    return Difference.of(**fields_of_file, notes=(note,) if note else ())


def _write_difference(difference: Difference) -> dict[str, Any]:
    return {name: getattr(difference, name) for name in _DIFFERENCE_FIELDS}


_FileDifference = Annotated[Difference, BeforeValidator(_read_difference), PlainSerializer(_write_difference)]


@dataclass(frozen=True)
class _PlainDifference:
    """The difference of two metrics on a board."""

    first: str
    second: str
    difference: _FileDifference
    outcome: int | None


@dataclass(frozen=True)
class PlainBoard:
    """A board whose pairs of metrics are lists."""

    title: str
    bucket: str
    n: int
    lines: list[_FileLine]
    unranked: str
    calibrated: dict[str, CalibratedValue]
    covariances: list[tuple[str, str, Annotated[float, BeforeValidator(_number)]]]
    units: int
    sizes: tuple[int, ...]
    differences: list[_PlainDifference]
    apart: dict[str, _FileDifference]
    best: tuple[str, ...]
    shared: int


def plain_board(board: Board) -> PlainBoard:
    """Return a board with lists in place of mappings from pairs of metrics."""
    differences = []
    for (first, second), difference in board.differences.items():
        differences.append(_PlainDifference(first, second, difference, board.compared.get((first, second))))
    covariances = [(first, second, value) for (first, second), value in board.fisher_covariances.items()]
    return PlainBoard(
        board.title,
        board.bucket,
        board.n,
        list(board.lines),
        board.unranked,
        dict(board.calibrated),
        covariances,
        board.units,
        board.sizes,
        differences,
        dict(board.apart),
        board.best,
        board.shared,
    )


def board_of_plain(plain: PlainBoard) -> Board:
    """Return the board of a plain form that :func:`plain_board` has returned."""
    differences: dict[MetricPair, Difference] = {}
    compared: dict[MetricPair, int] = {}
    for plain_difference in plain.differences:
        metric_pair = plain_difference.first, plain_difference.second
        differences[metric_pair] = plain_difference.difference
        if plain_difference.outcome is not None:
            compared[metric_pair] = plain_difference.outcome
    return Board(
        plain.title,
        plain.bucket,
        plain.n,
        tuple(plain.lines),
        compared,
        plain.unranked,
        plain.calibrated,
        {(first, second): value for first, second, value in plain.covariances},
        plain.units,
        plain.sizes,
        differences,
        plain.apart,
        plain.best,
        plain.shared,
    )


def without_nan(value: Any) -> Any:
    """Return a JSON value with None in place of NaN and infinity."""
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
