"""The leaderboard of many datasets as one HTML file, whose reader sorts, filters and compares."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from markupsafe import Markup

from assay.analysis.leaderboard.board import Board, Line
from assay.analysis.leaderboard.explore import ExploredSet, Positions, explore
from assay.analysis.settings import PairedTests
from assay.common.tables import short_names
from assay.exceptions import InputError
from assay.reports.layout import intervals_in_words
from assay.reports.page.pairs import pack
from assay.reports.page.render import GENERATOR, asset_text, template_environment, write_page_file
from assay.statistics.coefficients import (
    deciding_statistic,
    default_statistics,
    symbol_of,
    title_of,
)

#: The scripts of the page, in order.
SCRIPTS = ("data.js", "theme.js", "board.js", "duel.js")
#: Signs of the outcome of a test of two metrics: the first is better, the second is, the test cannot tell.
OUTCOME_SIGNS = {1: "+", -1: "-", 0: "="}
#: The sign of two metrics that were not tested.
UNTESTED = "."


def write_leaderboard(
    sets: Sequence[ExploredSet], out: Path, *, title: str | None, note: str | None, left_out: Sequence[str]
) -> Path:
    """Write the leaderboard and return the path of the file.

    Args:
        sets: the datasets.
        out: a file that ends in ``.html`` or ``.htm``, or a folder of its own; an earlier page is replaced.
        title: the title; None for one that counts metrics and datasets.
        note: a line below it; None for none.
        left_out: a line on each dataset whose labels rank no metrics.

    Raises:
        InputError: there is no dataset, or *out* cannot be written or holds something else.
    """
    if not sets:
        raise InputError(f"no dataset has labels that rank metrics: {'; '.join(left_out)}")
    return write_page_file(lambda: leaderboard_html(sets, title=title, note=note, left_out=left_out), out)


def leaderboard_html(
    sets: Sequence[ExploredSet], *, title: str | None = None, note: str | None = None, left_out: Sequence[str] = ()
) -> str:
    """Return the page as HTML that needs no other file and no network; see :func:`write_leaderboard`.

    Values, intervals and tests are those of ``assay leaderboard`` with intervals from the influence of each pair. They
    are computed here for every filter of datasets; the page only counts, sorts and draws.
    """
    vote_statistics = [dataset.joined.data.vote_statistic for dataset in sets]
    main = deciding_statistic(vote_statistics)
    statistics = tuple(dict.fromkeys((main, *default_statistics(vote_statistics))))
    settings = PairedTests(statistics=statistics, interval="influence")
    explored = explore(sets, settings)
    metrics = list(dict.fromkeys(name for dataset in sets for name in dataset.joined.scores))
    script = "\n".join(asset_text(name) for name in SCRIPTS)
    page: str = (
        template_environment()
        .get_template("board.html")
        .render(
            generator=Markup(GENERATOR),
            style=Markup(asset_text("page.css") + asset_text("board.css")),
            script=Markup(script),
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
            title=title or f"Leaderboard: {_count_text(len(metrics), 'metric')} on {_count_text(len(sets), 'dataset')}",
            note=note,
            left_out=left_out,
            pairs=sum(len(dataset.joined.data) for dataset in sets),
            # the method does not depend on the number of pairs
            method=intervals_in_words(settings.confidence, settings.resamples, settings.interval, [0]),
            packed=pack(_content(sets, metrics, explored, statistics), {}),
        )
    )
    return page


def _count_text(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _content(
    sets: Sequence[ExploredSet],
    metrics: Sequence[str],
    explored: Mapping[str, Mapping[str, Mapping[Positions, Board]]],
    statistics: Sequence[str],
) -> dict[str, Any]:
    """Return what the page is drawn from, as values of JSON.

    Metrics and datasets are listed once, and boards name them by position. The key of a board is its bucket, then its
    statistic, then the positions of its datasets, joined by commas.

    Args:
        sets: the datasets.
        metrics: the names of all metrics.
        explored: the boards by bucket, statistic and positions of datasets.
        statistics: the names of the statistics.
    """
    short = short_names(metrics)
    kinds = {name: record.declared.kind for dataset in sets for name, record in dataset.joined.records.items()}
    position_of = {name: position for position, name in enumerate(metrics)}
    boards: dict[str, dict[str, dict[str, Any]]] = {}
    for bucket, boards_by_statistic in explored.items():
        boards[bucket] = {}
        for statistic, boards_by_positions in boards_by_statistic.items():
            boards[bucket][statistic] = {
                ",".join(map(str, positions)): _board_values(board, statistic, position_of)
                for positions, board in boards_by_positions.items()
            }
    return {
        "metrics": [{"name": name, "short": short[name], "kind": kinds[name]} for name in metrics],
        "sets": [
            {name: getattr(dataset, name) for name in ("title", "tasks", "language", "licence", "terms")}
            for dataset in sets
        ],
        "statistics": [{"name": name, "title": title_of(name), "symbol": symbol_of(name)} for name in statistics],
        "boards": boards,
    }


def _board_values(board: Board, statistic: str, position_of: Mapping[str, int]) -> dict[str, Any]:
    """Return a board as values of JSON.

    ``n`` is the number of pairs; ``ranked`` has the metrics with a rank, best first; ``numbers`` value and bounds of
    each in turn; ``signs`` the outcome of the test of every two of them, in the order of ``itertools.combinations``;
    ``best`` those that could be the best; ``letters`` those of metrics that the tests cannot tell apart; ``fresh`` the
    range of each on a dataset not seen, empty if there is none; ``costs`` pairs per second and price of 1,000 pairs of
    each metric whose speed is known, or which costs money; ``others`` the metrics without a rank with the reason.

    Args:
        board: the board.
        statistic: the statistic that it ranks by.
        position_of: the position of each metric, by which it is named.
    """
    ranked = [line for line in board.lines if line.rank]
    names = [line.metric for line in ranked]
    numbers: list[float | None] = []
    fresh: list[float | None] = []
    for line in ranked:
        numbers += map(_rounded_value, line.values[statistic].value_and_bounds)
        random_effects = line.random_effects.get(statistic)
        bounds_on_new = (None, None) if random_effects is None else random_effects.new.value_and_bounds[1:]
        fresh += map(_rounded_value, bounds_on_new)
    signs = ""
    for first, second in combinations(names, 2):
        outcome = board.compared.get((first, second))
        if outcome is None and (second, first) in board.compared:
            # tested in the other order
            outcome = -board.compared[second, first]
        signs += UNTESTED if outcome is None else OUTCOME_SIGNS[outcome]
    letters = board.letters_by_metric
    return {
        "n": board.n,
        "ranked": [position_of[name] for name in names],
        "numbers": numbers,
        "signs": signs,
        "best": [position_of[name] for name in board.best],
        "letters": [letters.get(name, "") for name in names],
        "fresh": fresh if any(bound is not None for bound in fresh) else [],
        "costs": {position_of[line.metric]: costs for line in board.lines if any(costs := _costs(line))},
        "others": {position_of[line.metric]: _why_unranked(line, board) for line in board.lines if not line.rank},
    }


def _rounded_value(value: float | None) -> float | None:
    """Return a value with more digits than are shown; None for None."""
    return None if value is None else round(value, 5)


def _costs(line: Line) -> tuple[float | None, float | None]:
    """Return the speed, rounded to four digits, and the price of 1,000 pairs; None for an unknown one."""
    speed = line.pairs_per_second
    rounded_speed = None if speed is None else float(f"{speed:.4g}")
    return rounded_speed, line.price_per_1000


def _why_unranked(line: Line, board: Board) -> str:
    """Return in words why a metric has no rank."""
    if line.missing:
        return f"no comparable score on {len(line.missing)} of {len(board.sizes)} datasets"
    if line.apart is not None:
        return "scored so few pairs that it is not compared"
    return "undefined: labels or scores do not vary"
