"""Labelled and new answers side by side: their predictions, groups, systems and strata, as arrays."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from assay.analysis.data import ScoredDataset
from assay.analysis.recommend.decision import MetricDecision
from assay.analysis.recommend.evidence import with_decision
from assay.analysis.systems import SYSTEM_COLUMNS, find_system_column
from assay.common.messages import Setting
from assay.common.tables import STRATUM, STRATUM_SIZE, WEIGHT, finite_number
from assay.exceptions import InputError
from assay.statistics.concordance import Floats
from assay.statistics.prediction_powered import LabelledSample, NewSample

#: The columns of texts of a pair.
_TEXTS = ("question", "reference", "candidate")


@dataclass(frozen=True, eq=False)
class Answers:
    """Labelled and new answers, apart from those without a score.

    Attributes:
        decision: what is decided by the scores.
        labelled: the n labelled answers: labels and predictions are shares of the way from the lowest to the highest
            label.
        new_sample: the N new answers.
        labelled_scores, new_scores: the oriented scores, shape (n,) and (N,).
        labelled_table, new_table: the tables of these answers, with n and N rows.
        group_count: the number of codes of groups.
        without_score: the numbers of labelled and of new answers that have no score and were left out.
    """

    decision: MetricDecision
    labelled: LabelledSample
    new_sample: NewSample
    labelled_scores: Floats
    new_scores: Floats
    labelled_table: pa.Table
    new_table: pa.Table
    group_count: int
    without_score: tuple[int, int]

    @property
    def is_drawn_by_strata(self) -> bool:
        """Whether the labelled answers were drawn with unequal probabilities, from the strata of a sheet."""
        return bool(np.ptp(self.labelled.weights) > 0)

    def cells(self, column: str) -> tuple[list[str | None], list[str | None]]:
        """Return the cells of a column of the labelled and of the new answers as texts; None for a blank cell.

        The labelled answers may lack the column: their cells are then None.
        """
        return texts_of(self.labelled_table, column), texts_of(self.new_table, column)

    def systems(self, column: str) -> tuple[list[str | None], list[str | None]]:
        """Return the systems of the labelled and of the new answers, whose column may have another name before.

        Args:
            column: the column of systems of the new answers.

        Returns:
            The name of the system of each answer, None where its cell is empty.
        """
        has_column = column in self.labelled_table.column_names
        labelled_column = column if has_column else find_system_column(self.labelled_table, None)
        return texts_of(self.labelled_table, labelled_column or column), texts_of(self.new_table, column)


def texts_of(table: pa.Table, column: str) -> list[str | None]:
    """Return the cells of a column as texts without surrounding space; None for blank cells, and without the column."""
    if column not in table.column_names:
        return [None] * table.num_rows
    texts = ["" if cell is None else str(cell).strip() for cell in table[column].to_pylist()]
    return [text or None for text in texts]


def join_answers(decision: MetricDecision, data: ScoredDataset, new_table: pa.Table, new_scores: Floats) -> Answers:
    """Return labelled and new answers with their predictions.

    Args:
        decision: what is decided by the scores.
        data: the labelled dataset of its run.
        new_table: the N new pairs.
        new_scores: their oriented scores, shape (N,); NaN for a missing one.

    Raises:
        InputError: no new answer has a score; the labelled answers are a sheet of other answers, or repeat some; their
            weights are no numbers above 0, or their strata are blank or have two sizes; or the rule of the decision
            does not fit their labels.
    """
    _check_sheet_is_of_new_answers(data, new_table)
    decided, _ = with_decision(data, decision.positive)
    old_scores = data.oriented_scores(decision.metric)
    has_score, new_has_score = np.isfinite(old_scores), np.isfinite(new_scores)
    if not new_has_score.any():
        raise InputError(f"none of the {len(new_scores):,} new answers has a score of {decision.metric}")
    old_table = data.table.filter(pa.array(has_score))
    table = new_table.filter(pa.array(new_has_score))
    codes = _group_codes(data, old_table, table)
    weights, strata = _weights_and_strata(data, old_table)
    labelled = LabelledSample(
        labels=decision.shares_of(decided.labels[has_score]),
        predictions=decision.expectation.of(old_scores[has_score]),
        weights=weights,
        groups=codes[: len(weights)],
        strata=strata,
    )
    new_sample = NewSample(decision.expectation.of(new_scores[new_has_score]), codes[len(weights) :])
    return Answers(
        decision=decision,
        labelled=labelled,
        new_sample=new_sample,
        labelled_scores=old_scores[has_score],
        new_scores=new_scores[new_has_score],
        labelled_table=old_table,
        new_table=table,
        group_count=int(codes.max()) + 1,
        without_score=(int((~has_score).sum()), int((~new_has_score).sum())),
    )


def _check_sheet_is_of_new_answers(data: ScoredDataset, new_table: pa.Table) -> None:
    """Raise InputError if labelled answers that were drawn from strata are not among the new ones, or are repeated.

    Such a sheet was drawn from the new answers; with other texts, its strata stand for nothing.
    """
    if STRATUM_SIZE not in data.table.column_names:
        return
    columns = [
        name for name in (*_TEXTS, *SYSTEM_COLUMNS) if name in {*data.table.column_names} & {*new_table.column_names}
    ]
    unmatched = Counter(_answer_keys(new_table, columns))
    absent, repeated = [], []
    for row, key in enumerate(_answer_keys(data.table, columns)):
        if key not in unmatched:
            absent.append(row)
        elif unmatched[key]:
            unmatched[key] -= 1
        else:
            repeated.append(row)
    if absent:
        pair = data.table["pair_id"][absent[0]].as_py()
        raise InputError(
            f"{len(absent):,} of the {len(data):,} answers of the sheet, the first of them {pair}, are not among the "
            "new answers: texts were edited, or gold answers are read otherwise (",
            Setting("separator"),
            ", ",
            Setting("columns"),
            ")",
        )
    if repeated:
        pair = data.table["pair_id"][repeated[0]].as_py()
        raise InputError(
            f"{len(repeated):,} of the {len(data):,} answers of the sheet, the first of them {pair}, are repeated: "
            "keep one row of each, or name who labelled each row in a column annotator, and run recommend again"
        )


def _answer_keys(table: pa.Table, columns: Sequence[str]) -> list[tuple[object, ...]]:
    """Return for each row the texts of each column, as tuples; a list of gold answers has several texts.

    Runs of space become one blank, and characters their composed form (NFC), since spreadsheets change both.
    """
    cells_by_column: list[list[tuple[str | None, ...]]] = []
    for name in columns:
        cells = []
        for cell in table[name].to_pylist():
            texts = cell if isinstance(cell, list) else [cell]
            cells.append(tuple(_plain(text) for text in texts))
        cells_by_column.append(cells)
    return list(zip(*cells_by_column, strict=True))


def _plain(text: object) -> str | None:
    return None if text is None else unicodedata.normalize("NFC", " ".join(str(text).split()))


def _group_codes(data: ScoredDataset, labelled_table: pa.Table, new_table: pa.Table) -> NDArray[np.intp]:
    """Return the group code of each labelled and then of each new answer, from 0 on, shape (n + N,).

    Answers with one name are dependent, whichever sample they are in. A blank name is a group of its own. The names of
    the new answers are in the column of the labelled ones, or in the one that the run read groups from.

    Args:
        data: the labelled dataset, with the column of its groups.
        labelled_table: the n labelled answers that have a score.
        new_table: the N new answers that have a score.
    """
    column = data.group_column
    labelled_names: list[str | None] = [None] * labelled_table.num_rows
    new_names: list[str | None] = [None] * new_table.num_rows
    if column is not None:
        labelled_names = texts_of(labelled_table, column)
        for name in (column, data.facts.group):
            if name is not None and name in new_table.column_names:
                new_names = texts_of(new_table, name)
                break
    names = labelled_names + new_names
    keys: list[object] = [("answer", row) if name is None else name for row, name in enumerate(names)]
    code_of_key = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    return np.array([code_of_key[key] for key in keys], dtype=np.intp)


def _weights_and_strata(data: ScoredDataset, table: pa.Table) -> tuple[Floats, NDArray[np.intp]]:
    """Return what each labelled answer stands for and the code of its stratum, shape (n,) each.

    Weights follow from the strata of a sheet; without strata they are those of a column ``weight``, else 1.

    Args:
        data: the labelled dataset, for messages.
        table: the n labelled answers that have a score.

    Raises:
        InputError: a weight or the size of a stratum is no number above 0, an answer of a sheet has no stratum, or one
            stratum has two sizes.
    """
    count = table.num_rows
    if STRATUM in table.column_names and STRATUM_SIZE in table.column_names:
        names = texts_of(table, STRATUM)
        if None in names:
            pair = table["pair_id"][names.index(None)].as_py()
            raise InputError(
                f"{data.run.title}: the pair {pair} of {data.name} has no {STRATUM}, which says what it stands for: "
                "copy it from the sheet and run recommend again"
            )
        sizes = _positive_numbers(data, table, STRATUM_SIZE)
        stratum_names = list(dict.fromkeys(names))
        strata = np.array([stratum_names.index(name) for name in names], dtype=np.intp)
        weights = np.empty(count)
        for code, name in enumerate(stratum_names):
            rows = strata == code
            if np.ptp(sizes[rows]) > 0:
                raise InputError(
                    f"{data.run.title}: the stratum {name!r} of {data.name} has two sizes in the column "
                    f"{STRATUM_SIZE}: copy it from the sheet and run recommend again"
                )
            # of those that were labelled: a sheet may be filled in by half
            weights[rows] = sizes[rows] / rows.sum()
        return weights, strata
    if WEIGHT in table.column_names:
        return _positive_numbers(data, table, WEIGHT), np.zeros(count, dtype=np.intp)
    return np.ones(count), np.zeros(count, dtype=np.intp)


def _positive_numbers(data: ScoredDataset, table: pa.Table, column: str) -> Floats:
    """Return the numbers in a column, shape (n,).

    Raises:
        InputError: a cell is no number above 0.
    """
    numbers = []
    for row, cell in enumerate(table[column].to_pylist()):
        number = finite_number(str(cell))
        if number is None or number <= 0:
            pair = table["pair_id"][row].as_py()
            raise InputError(
                f"{data.run.title}: {column} of the pair {pair} of {data.name} is {cell!r}; expected a number above 0: "
                "correct it and run recommend again"
            )
        numbers.append(number)
    return np.array(numbers)


def mask_of(cells: Sequence[str | None], value: str) -> NDArray[np.bool_]:
    """Return which of n cells have a value, shape (n,)."""
    return np.array([cell == value for cell in cells], dtype=bool)
