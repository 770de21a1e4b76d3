"""A dataset as a run uses it: the chosen rows, their recorded scores, and distinct pairs of texts per language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.benchmark.buckets import usable_rules
from assay.benchmark.records import DatasetScores
from assay.benchmark.request import Request
from assay.benchmark.singles import Singles
from assay.common.messages import Setting
from assay.common.tables import finite_number, has_decimal_commas, with_known_types
from assay.exceptions import InputError, UnavailableError, suggestion_for, unknown_name
from assay.metrics import ColumnMetric, Metric
from assay.paths import user_path
from assay.statistics.coefficients import STATISTICS, LabelKind

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets import Pairs


def read_recorded(metric: ColumnMetric, pairs: Pairs) -> NDArray[np.float64] | None:
    """Return the recorded score of every pair, shape (n,); None if the data lacks the column.

    An empty cell, or one that stands for a missing value as the dataset was read, is NaN. A separate score file is
    joined by ``pair_id`` if it has that column, else by row.

    Raises:
        InputError: a score file that cannot be read, or lacks the column; without ``pair_id`` another number of rows
            than pairs, with it an empty or repeated one, or a pair without a row; a cell that is no finite number.
    """
    if metric.file is None:
        if metric.column not in pairs.source_columns:
            return None
        return _numbers_of_column(pairs.column(metric.column), pairs.source or pairs.name, metric.column, pairs)
    table = _score_file_rows(metric, pairs)
    if metric.column not in table.column_names:
        raise InputError(unknown_name(f"{metric.file}: has no column", metric.column, table.column_names))
    return _numbers_of_column(table.column(metric.column), metric.file, metric.column, pairs)


def _score_file_rows(metric: ColumnMetric, pairs: Pairs) -> pa.Table:
    """Return the rows of a metric's score file in the order of the pairs, joined by ``pair_id`` if it has that column.

    Raises:
        InputError: the file cannot be read, or its column of scores holds no numbers; a ``pair_id`` is empty or occurs
            twice; a pair has no row; or, without ``pair_id``, the number of rows is another.
    """
    from assay.datasets import read_table_file

    source = read_table_file(user_path(str(metric.file)))
    table, left_out = with_known_types(source.table, str(metric.file))
    if metric.column in left_out:
        raise InputError(f"{metric.file}, column {metric.column}: holds {left_out[metric.column]}; expected numbers")
    if "pair_id" in table.column_names:
        _check_ids(table.column("pair_id"), source.numbers(), str(metric.file))
        return _rows_by_pair_id(table, metric, pairs)
    if len(table) != len(pairs):
        raise InputError(
            f"{metric.file}: has {len(table)} rows, {pairs.name} has {len(pairs)}; rows must be in step, "
            "or both need a column pair_id"
        )
    return table


def _check_ids(ids: pa.ChunkedArray, rows: NDArray[np.int64], file: str) -> None:
    """Raise InputError for a row without a pair_id.

    Args:
        ids: the pair_id of each row.
        rows: the number of each row in the file, for the message.
        file: the name of the file, for the message.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    absent = pc.fill_null(pc.equal(ids.cast(pa.string()), ""), True)
    missing = rows[absent.to_numpy(zero_copy_only=False)]
    if len(missing):
        raise InputError(f"{file}, row {missing[0]}: has no pair_id; each row needs that of its pair")


def _rows_by_pair_id(table: pa.Table, metric: ColumnMetric, pairs: Pairs) -> pa.Table:
    """Return a score file's rows in the order of the pairs; raise InputError for a duplicate or missing pair_id."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids = table.column("pair_id").cast(pa.string()).combine_chunks()
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = pc.value_counts(ids)
        repeated = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
        raise InputError(f"{metric.file}: the pair_id {repeated!r} occurs there twice; each pair needs one score")
    pair_ids = pairs.table.column("pair_id").combine_chunks()
    rows = pc.index_in(pair_ids, ids)
    if rows.null_count:
        missing = pair_ids.filter(pc.is_null(rows))[0].as_py()
        raise InputError(f"{metric.file}: no row has pair_id {missing!r} of {pairs.name}")
    return table.take(rows)


def _numbers_of_column(column: pa.ChunkedArray, where: str, name: str, pairs: Pairs) -> NDArray[np.float64]:
    """Return the numbers in a column, shape (n,), NaN for a cell that means that there is none; text becomes numbers.

    Words of yes and no, if there is nothing else, are 1 and 0, and percentages shares.

    Args:
        column: the cells in the order of the pairs.
        where: the file or dataset, for the message.
        name: the name of the column, for the message.
        pairs: the pairs, whose identifiers the message names, and whose reading says what means that there is no score.

    Raises:
        InputError: a cell is not a number, or infinite.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from assay.datasets.reading import Reading, normalised_word

    reading = Reading(**pairs.reading)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        # unsafe, so that whole numbers beyond 2**53 are rounded like computed scores instead of refused
        numbers = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        values = np.array(numbers, dtype=np.float64)
        invalid_rows = np.flatnonzero(np.isinf(values)).tolist()
    else:
        cells = pc.fill_null(column.cast(pa.string()), "").to_pylist()
        means_missing = {cell: reading.is_missing(normalised_word(cell)) for cell in dict.fromkeys(cells)}
        values = _numbers_of_texts(cells, means_missing)
        invalid_rows = [row for row in np.flatnonzero(np.isnan(values)).tolist() if not means_missing[cells[row]]]
    if invalid_rows:
        first = invalid_rows[0]
        pair_id = pairs.column("pair_id")[first].as_py()
        raise InputError(
            f"{where}, pair {pair_id}, column {name}: a recorded score must be a number, not {column[first].as_py()!r}"
        )
    values[np.isin(values, reading.missing_numbers())] = np.nan
    return values


def _numbers_of_texts(cells: Sequence[str], means_missing: Mapping[str, bool]) -> NDArray[np.float64]:
    """Return the number in each text, shape (n,), NaN for a text that is none.

    Decimal commas are read if all numbers can have them. Words of yes and no, if there is nothing else, are 1 and 0,
    and percentages shares.

    Args:
        cells: the n texts.
        means_missing: for each distinct text, whether it means that there is no number.
    """
    from assay.datasets.labels import percentage_shares, yes_no_labels

    has_commas = has_decimal_commas(set(cells))
    present = [cell for cell, is_missing in means_missing.items() if not is_missing]
    # verdicts of a judge: yes is 1, no is 0
    number_of_word = yes_no_labels(present) or percentage_shares(present)
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        number = number_of_word.get(cell, finite_number(cell.replace(",", ".") if has_commas else cell))
        if number is not None:
            values[row] = number
    return values


#: The name of a temporary column that carries row numbers through the choice of rows.
_ROW = "assay row number"


@dataclass(frozen=True)
class DatasetPart:
    """Rows of a dataset that one metric scores.

    Attributes:
        rows: the row numbers; None for all rows.
        language: the language of their texts; None if unknown.
    """

    rows: NDArray[np.intp] | None
    language: str | None


class PreparedDataset:
    """One dataset during a run.

    Attributes:
        pairs: the rows that are used.
        recorded: the recorded scores of these rows by metric, NaN for a pair without one.
        dropped: the number of duplicates left out.
        group_column: the column whose values are resampled as whole groups; None without groups.
        rules: the bucket rules whose columns and references the data has.
        scores: the scores so far by metric, shape (n,).
    """

    def __init__(
        self,
        pairs: Pairs,
        recorded: dict[str, NDArray[np.float64]],
        dropped: int,
        group_column: str | None,
        rules: tuple[str, ...] = (),
    ) -> None:
        self.pairs = pairs
        self.recorded = recorded
        self.dropped = dropped
        self.group_column = group_column
        self.rules = rules
        self.scores: dict[str, NDArray[np.float64]] = {}
        self._singles: dict[tuple[bool | bytes | None, ...], Singles] = {}
        self._rows: dict[frozenset[str], NDArray[np.intp] | None] = {}

    def parts(self, metric: Metric) -> list[DatasetPart]:
        """Return the rows for a metric, as one part per language if the metric picks by language.

        With a column of languages, the rows in languages that the metric is not made for are left out. If no row is
        left, the list is empty, or its only part has no rows. Without such a column all rows are one part.
        """
        if "language" not in self.pairs.table.column_names:
            return [DatasetPart(None, self.pairs.language)]
        if not metric.picks_by_language:
            return [DatasetPart(self._rows_for(metric), self.pairs.language)]
        column = self.pairs.table.column("language").to_pylist()
        languages = [language for language in dict.fromkeys(column) if is_made_for(metric, language)]
        if len(languages) == 1 and len(set(column)) == 1:
            return [DatasetPart(None, languages[0])]
        language_of = np.array(column, dtype=object)
        return [DatasetPart(np.flatnonzero(language_of == language), language) for language in languages]

    def singles(self, metric: Metric, part: DatasetPart) -> Singles:
        """Return the distinct pairs of a part, with questions and graphs if the metric reads them.

        They are cached until :meth:`finish`, so that metrics which read the same columns share them.
        """
        rows = None if part.rows is None else part.rows.tobytes()
        key = *metric.declaration.reads, rows
        if key not in self._singles:
            self._singles[key] = Singles(self.pairs_of(part), metric.declaration)
        return self._singles[key]

    def pairs_of(self, part: DatasetPart) -> Pairs:
        """Return the pairs of a part."""
        return self.pairs if part.rows is None else self.pairs.take(part.rows)

    def references(self, part: DatasetPart) -> list[str]:
        """Return all references of a part, with several gold answers as separate texts: the corpus of a metric."""
        references: list[str] = []
        for cell in self.pairs_of(part).column("reference").to_pylist():
            references.extend(cell if isinstance(cell, list) else [cell])
        return references

    def _rows_for(self, metric: Metric) -> NDArray[np.intp] | None:
        """Return the rows in a language that the metric is made for, by the column of languages; None for all rows."""
        languages = metric.declaration.languages
        if languages is None:
            return None
        if languages not in self._rows:
            column = self.pairs.table.column("language").to_pylist()
            made_for = {language: is_made_for(metric, language) for language in set(column)}
            if all(made_for.values()):
                self._rows[languages] = None
            else:
                self._rows[languages] = np.flatnonzero([made_for[language] for language in column])
        return self._rows[languages]

    def finish(self) -> DatasetScores:
        """Return the pairs with their scores, and free the distinct pairs, which only scoring needs."""
        self._singles.clear()
        return DatasetScores(self.pairs, self.dropped, self.group_column, self.scores)


def lacks_references(metric: Metric, pairs: Pairs) -> bool:
    """Tell whether a metric compares with a reference, and a dataset has none."""
    return metric.declaration.reads_reference and not isinstance(metric, ColumnMetric) and not pairs.has_references


def is_made_for(metric: Metric, language: str | None) -> bool:
    """Tell whether a metric can score texts of a language; the metric decides about None, an unknown language."""
    try:
        metric.for_language(language)
    except UnavailableError:
        return False
    return True


def prepare_datasets(request: Request) -> list[PreparedDataset]:
    """Return the datasets of a run with their chosen rows and recorded scores.

    Recorded scores are read before any row is left out, so that a file without pair ids matches the data row by row.

    Raises:
        InputError: recorded scores that cannot be read, see :func:`read_recorded`, or a column of them that no dataset
            has; a group column that a dataset lacks; a statistic within groups if no dataset has groups.
    """
    column_metrics = [metric for metric in request.metrics if isinstance(metric, ColumnMetric)]
    recorded = _recorded_scores(column_metrics, request.pairs) if column_metrics else [{} for _ in request.pairs]
    prepared = [_prepare_dataset(request, pairs, scores) for pairs, scores in zip(request.pairs, recorded, strict=True)]
    within_groups = [name for name in request.statistics if STATISTICS[name].labels is LabelKind.grouped]
    if within_groups and all(dataset.group_column is None for dataset in prepared):
        without = ", ".join(dataset.pairs.name for dataset in prepared)
        raise InputError(
            Setting("statistics", within_groups[0]),
            f" compares the pairs of one group, and there are no groups in {without}: "
            "give a column 'group', or name one with ",
            Setting("group_by"),
        )
    return prepared


def _prepare_dataset(request: Request, pairs: Pairs, recorded: Mapping[str, NDArray[np.float64]]) -> PreparedDataset:
    """Return the rows of a dataset that a run uses, with their recorded scores.

    The dataset has a note on each bucket rule whose column or reference it lacks.

    Args:
        request: the settings of the run.
        pairs: all n pairs.
        recorded: the recorded scores of all pairs by metric, shape (n,).

    Raises:
        InputError: the dataset lacks the group column.
    """
    numbered = pairs.with_column(_ROW, np.arange(len(pairs)))
    chosen, dropped = request.choose_rows(numbered)
    rows = np.asarray(chosen.table.column(_ROW), dtype=np.intp)
    rules, notes = usable_rules(chosen, request.buckets)
    used_pairs = replace(chosen, table=chosen.table.drop_columns([_ROW]), notes=(*chosen.notes, *notes))
    used_scores = {name: scores[rows] for name, scores in recorded.items()}
    return PreparedDataset(used_pairs, used_scores, dropped, request.group_column(used_pairs), rules)


def _recorded_scores(
    metrics: Sequence[ColumnMetric], datasets: Sequence[Pairs]
) -> list[dict[str, NDArray[np.float64]]]:
    """Return one dictionary per dataset with its recorded scores by metric, for the metrics whose column it has.

    Raises:
        InputError: a column that no dataset has, or a cell of it that is not a number.
    """
    recorded: list[dict[str, NDArray[np.float64]]] = [{} for _ in datasets]
    for metric in metrics:
        for pairs, by_metric in zip(datasets, recorded, strict=True):
            scores = read_recorded(metric, pairs)
            if scores is not None:
                by_metric[str(metric)] = scores
        if not any(str(metric) in by_metric for by_metric in recorded):
            names = list(dict.fromkeys(name for pairs in datasets for name in pairs.source_columns))
            raise InputError(
                f"{', '.join(pairs.name for pairs in datasets)}: there is no column {metric.column!r} for metric "
                f"{metric}; there are {', '.join(names)}.{suggestion_for(metric.column, names)}"
            )
    return recorded
