"""Source tables, and the mapping from their columns to the columns of the pairs table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.common.messages import Setting
from assay.common.tables import CONTEXT, OPTIONAL_PAIR_COLUMNS, PAIR_COLUMNS, finite_number, first_repeated
from assay.exceptions import InputError, suggestion_for, unknown_name


class Misfit(NamedTuple):
    """The first value of a column that cannot be read as text, or the reason why a cell has none.

    Attributes:
        row: its row index, from 0.
        description: the value, or the reason, in words.
        is_answer_list: whether it is a list with whole numbers or truth values, which a reference may be.
        is_empty: whether the file lacks the value of a cell that is not empty to a reader.
    """

    row: int
    description: str
    is_answer_list: bool = False
    is_empty: bool = False


@dataclass(frozen=True)
class SourceTable:
    """A table as it was read, with the facts needed to locate a row in messages.

    Attributes:
        table: the columns under their own names.
        name: the file, or a description of data in memory.
        unit: the word for a row in messages: ``row`` (the header of a CSV is row 1) or ``line``.
        first: the number of the first row, as a user counts rows in the source.
        rows: the number of each row, int64, shape (n,), if the numbers are not consecutive (blank lines); else None.
        as_text: whether every cell is text, as in CSV, so that numbers must be parsed.
        parts: for several files read as one table, the name of each file and what the numbers of its rows exceed those
            within the file by, in ascending order.
        notes: how the file was read where that was not as its name says, such as its encoding.
        log: the harness whose log it is; empty if it is none.
        misfits: by column, for columns of mixed types that were converted to text, the first value that is not text.
    """

    table: pa.Table
    name: str
    unit: str = "row"
    first: int = 0
    rows: np.ndarray[Any, np.dtype[np.int64]] | None = None
    as_text: bool = False
    parts: tuple[tuple[str, int], ...] = ()
    misfits: Mapping[str, Misfit] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    log: str = ""

    def number(self, index: int) -> int:
        """Return the number of the row at *index*, as a user counts it in the source."""
        return int(self.rows[index]) if self.rows is not None else self.first + int(index)

    def numbers(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of all rows, int64 of shape (n,)."""
        if self.rows is not None:
            return self.rows
        return np.arange(self.first, self.first + self.table.num_rows, dtype=np.int64)

    def location(self, index: int) -> str:
        """Return the location of a row in words, such as ``FILE, row 7``.

        If the rows come from several files, it names the file of the row, and the number is counted within that file.

        Args:
            index: the index of the row among all rows, from 0 on.
        """
        name, number = self.place(index)
        return f"{name}, {self.unit} {number}"

    def place(self, index: int) -> tuple[str, int]:
        """Return the file of the row at *index*, and its number there."""
        number = self.number(index)
        for name, excess in reversed(self.parts):
            if number > excess:
                return name, number - excess
        return self.name, number

    def take(self, indices: np.ndarray[Any, np.dtype[np.int64]]) -> SourceTable:
        """Return the rows at *indices*, in that order; rows keep their numbers."""
        # by the index of a row here, its index in the result; of a row taken several times, the first one
        new_rows: dict[int, int] = {}
        if self.misfits:
            for new_row, index in enumerate(indices):
                new_rows.setdefault(int(index), new_row)
        misfits = {}
        for name, misfit in self.misfits.items():
            if misfit.row in new_rows:
                misfits[name] = misfit._replace(row=new_rows[misfit.row])
        table = self.table.take(pa.array(indices, pa.int64()))
        return replace(self, table=table, rows=self.numbers()[indices], misfits=misfits)

    def with_column(self, name: str, values: Any) -> SourceTable:
        """Return the table with a column (Arrow, a cell for each row) added, or replaced if the name exists."""
        misfits = {other: misfit for other, misfit in self.misfits.items() if other != name}
        if name not in self.table.column_names:
            return replace(self, table=self.table.append_column(name, values), misfits=misfits)
        position = self.table.column_names.index(name)
        return replace(self, table=self.table.set_column(position, name, values), misfits=misfits)

    def numbers_text(self, indices: Sequence[int] | np.ndarray[Any, Any]) -> str:
        """Return the numbers of the rows at *indices* as text, at most five of them, such as ``rows 4, 7, 9``.

        If the rows come from several files, these are their locations, such as ``FILE, row 4; FILE, row 7``.
        """
        ellipsis = ", …" if len(indices) > 5 else ""
        if self.parts:
            return "; ".join(self.location(index) for index in indices[:5]) + ellipsis
        shown_numbers = ", ".join(str(self.number(index)) for index in indices[:5])
        unit = f"{self.unit}s" if len(indices) > 1 else self.unit
        return f"{unit} {shown_numbers}{ellipsis}"


def rows_unless_consecutive(numbers: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Return the numbers of rows for :attr:`SourceTable.rows`; None if each is one more than the number before it."""
    rows = np.asarray(numbers, dtype=np.int64)
    return None if (np.diff(rows) == 1).all() else rows


#: The pair columns that a mapping may name. ``annotations`` is not among them, since ``label=a1+a2`` creates it.
FIELDS = tuple(name for name in (*PAIR_COLUMNS, *OPTIONAL_PAIR_COLUMNS, CONTEXT) if name != "annotations")
#: In place of the column of references: the data has none.
NO_COLUMN = "-"
#: Pair columns of which a mapping may name several source columns: annotators, gold answers, the two systems.
SEVERAL = ("label", "reference", "system")
#: Fields of a mapping that make two pairs of a row, see :mod:`assay.datasets.shapes`.
PREFERENCE_FIELDS = ("other", "preference", "system")

#: Names that people give the columns of a pair, in lower case with ``_`` between words; the likeliest first.
USUAL_NAMES = {
    "reference": (
        *("references", "gold", "gold_answer", "gold_answers", "golden_answers", "ground_truth", "ground_truths"),
        *("correct_answer", "target", "targets", "expected", "expected_output", "expected_answer"),
        *("answer1", "sentence1", "sentence_a", "text1"),
    ),
    "candidate": (
        *("candidates", "prediction", "predictions", "predicted", "predicted_answer", "hypothesis", "response"),
        *("responses", "model_answer", "model_output", "output", "generated", "answer"),
        *("actual_output", "answer2", "sentence2", "sentence_b", "text2"),
    ),
    "label": (
        *("labels", "human_score", "human_label", "human_rating", "human", "gold_label", "correct", "is_correct"),
        *("rating", "similarity", "relatedness_score", "score", "label_1"),
    ),
    "question": ("questions", "query", "prompt", "user_input", "input"),
    "context": ("contexts", "retrieved_contexts", "retrieval_context"),
}


#: A first row with a cell of more words is hardly a header.
_MAX_NAME_WORDS = 4


class MissingColumnsError(InputError):
    """Raised if required columns are missing.

    Attributes:
        problem: the sentence that describes the problem.
        columns: a value of ``--columns`` that would solve the problem, guessed from the column names of the source; the
            user must replace NAMES IN CAPITALS.
        remark: a sentence behind the proposal.
        unclear: the pair columns for which several source columns have usual names, or none.
        clear_settings: the settings of the proposal by name, if nothing in it is in doubt; else empty.
    """

    def __init__(
        self,
        problem: str,
        columns: str,
        *,
        remark: str = "",
        options: Mapping[str, str | None] | None = None,
        unclear: Collection[str] = (),
        is_clear: bool = False,
    ) -> None:
        """Make the error.

        Args:
            problem, columns, remark, unclear: the attributes.
            options: further settings of the proposal by name; None for those that are not needed.
            is_clear: whether nothing in the proposal is in doubt.
        """
        needed_options = {name: value for name, value in (options or {}).items() if value}
        parts: list[str | Setting] = [f"{problem} Say which is which: ", Setting("columns", columns)]
        for name, value in needed_options.items():
            parts += [" ", Setting(name, value)]
        super().__init__(*parts, remark)
        self.problem = problem
        self.columns = columns
        self.remark = remark
        self.unclear = unclear
        self.clear_settings = {"columns": columns, **needed_options} if is_clear else {}


def parse_columns(columns: str | Mapping[str, str | Sequence[str]] | None) -> dict[str, list[str]]:
    """Return the source columns of each pair column that a mapping names, by pair column.

    Args:
        columns: ``reference=answer1,candidate=answer2,label=a1+a2``, or a mapping, whose values are names or, for
            label, reference and system, lists of names; None for an empty result. A name ``a1+a2`` stays as it is
            here: only :func:`resolve_columns`, which knows the columns of the source, divides it.

    Raises:
        InputError: the text has another form, a pair column is unknown or a duplicate, or one has no source column or
            several and may not.
    """
    if columns is None:
        return {}
    mapping: dict[str, list[str]] = {}
    if isinstance(columns, str):
        # only a comma before NAME= separates; any other is part of a column name
        for assignment in re.split(r",(?=\s*\w+\s*=)", columns):
            name, equals, source = assignment.partition("=")
            if not equals or not source.strip():
                raise InputError(
                    f"expected pairs such as reference=answer1,candidate=answer2 where {assignment.strip()!r} stands",
                    setting="columns",
                    value=repr(columns),
                )
            _add_source_columns(mapping, name.strip(), [source.strip()])
    else:
        for name, sources in columns.items():
            _add_source_columns(mapping, name, [sources] if isinstance(sources, str) else list(sources))
    return mapping


def columns_text(columns: str | Mapping[str, str | Sequence[str]] | None) -> str | None:
    """Return a mapping of columns as one text in the form of ``--columns``; a text or None is returned unchanged.

    Raises:
        InputError: the mapping has an unknown pair column, or a name that cannot be written in that form.
    """
    if columns is None or isinstance(columns, str):
        return columns
    mapping = parse_columns(columns)
    for sources in mapping.values():
        for source in sources:
            if "," in source or ("+" in source and len(sources) > 1):
                raise InputError(
                    f"columns: the name {source!r} has a sign that joins names (+ or ,); rename the column"
                )
    return ",".join(f"{name}={'+'.join(sources)}" for name, sources in mapping.items())


def _add_source_columns(mapping: dict[str, list[str]], name: str, sources: list[str]) -> None:
    """Add the source columns of one pair column to *mapping*.

    Raises:
        InputError: the pair column is unknown or given twice, has no source, or has several and may not.
    """
    if name not in (*FIELDS, *PREFERENCE_FIELDS):
        problem = "a pairs table has no column"
        raise InputError(unknown_name(problem, name, (*FIELDS, *PREFERENCE_FIELDS)), setting="columns")
    if name in mapping:
        hint = "; one label at a time here, run and agree take several" if name == "label" else ""
        raise InputError(f"{name} is given twice{hint}", setting="columns")
    if not sources or (len(sources) > 1 and name not in SEVERAL):
        raise InputError(f"{name} takes one column; only label, reference and system may be several", setting="columns")
    mapping[name] = sources


def resolve_columns(
    mapping: Mapping[str, Sequence[str]],
    source_columns: Sequence[str],
    *,
    where: str,
    need_label: bool,
    need_texts: bool = True,
) -> dict[str, list[str]]:
    """Return the source columns of each pair column; a source column with the name of a pair column needs no mapping.

    If required ones are missing, columns with usual names are taken for them, and for question, context and, with
    *need_texts*, label. If none is missing, only a column with that name in another case, ``Question``, is taken for
    the question. The reference has an empty list if the mapping says that there is none (``reference=-``), or if no
    column has a usual name of it and there is a question.

    Args:
        mapping: the user's mapping, see :func:`parse_columns`.
        source_columns: the names of all columns of the source.
        where: the name of the source for messages.
        need_label: whether the label is required.
        need_texts: whether reference and candidate are required.

    Raises:
        InputError: the mapping names a missing column; the message lists similar names.
        MissingColumnsError: a required column is missing, and not exactly one column has a usual name of it (see
            :data:`USUAL_NAMES`); the message has similar names and the option that solves it.
    """
    resolved = _mapped_columns(mapping, source_columns, where)
    for name in FIELDS:
        if name not in resolved and name in source_columns:
            resolved[name] = [name]
    required_names = ["reference", "candidate"] if need_texts else []
    if need_label:
        required_names = [*required_names, "label"]
    missing = [name for name in required_names if name not in resolved]
    if not missing:
        # the column of questions need not be named
        questions = [column for column in source_columns if column.lower() == "question"]
        return resolved if "question" in resolved or len(questions) != 1 else resolved | {"question": questions}
    pair_columns = dict.fromkeys([*missing, "question", CONTEXT])
    if need_texts:
        pair_columns["label"] = None
    by_usual_names = {name: _columns_by_usual_names(name, source_columns, resolved) for name in pair_columns}
    has_question = "question" in resolved or len(by_usual_names["question"]) == 1
    if "reference" in missing and not by_usual_names["reference"] and has_question:
        missing.remove("reference")
        resolved["reference"] = []
    if any(len(by_usual_names[name]) != 1 for name in missing):
        raise _missing_columns_error(missing, source_columns, resolved, where)
    recognised = {
        name: columns for name, columns in by_usual_names.items() if len(columns) == 1 and name not in resolved
    }
    return resolved | recognised


def _mapped_columns(
    mapping: Mapping[str, Sequence[str]], source_columns: Sequence[str], where: str
) -> dict[str, list[str]]:
    """Return the source columns of each pair column in the user's mapping; none for ``reference=-``.

    ``a1+a2`` is one column if the source has a column of that name, else two annotators or two gold answers.

    Args:
        mapping: the user's mapping.
        source_columns: the names of all columns of the source.
        where: the name of the source for messages.

    Raises:
        InputError: the source has no such column; the message lists similar names.
    """
    mapped: dict[str, list[str]] = {}
    for name, sources in mapping.items():
        source_names = list(sources)
        if name == "reference" and source_names == [NO_COLUMN] and NO_COLUMN not in source_columns:
            mapped[name] = []
            continue
        may_be_sum = name in SEVERAL and len(source_names) == 1 and "+" in source_names[0]
        if may_be_sum and source_names[0] not in source_columns:
            source_names = [source_name.strip() for source_name in source_names[0].split("+")]
        for source_name in source_names:
            if source_name not in source_columns:
                problem = f"{where}, for {name}={'+'.join(source_names)}: has no column"
                raise InputError(unknown_name(problem, source_name, source_columns))
        mapped[name] = source_names
    return mapped


#: The columns of the table of a harness whose results are a DataFrame.
_COLUMNS_OF_LOGS = {"ragas": {"user_input", "response"}, "DeepEval": {"input", "actual_output"}}
#: Names of labels that only people give.
_HUMAN_LABELS = frozenset(
    ("label", "labels", "human", "human_score", "human_label", "human_rating", "gold_label", "rating")
)


def check_human_label(source: SourceTable, mapping: Mapping[str, Sequence[str]]) -> None:
    """Check that a log of another harness has labels of people; its own scores count only if the mapping names one.

    Args:
        source: the table, a log or not.
        mapping: the user's mapping of columns.

    Raises:
        InputError: the mapping names no label, and the log has no column of labels.
    """
    names = source.table.column_names
    log = source.log or next((log for log, columns in _COLUMNS_OF_LOGS.items() if columns <= set(names)), "")
    has_label = "label" in mapping or not _HUMAN_LABELS.isdisjoint(map(str.lower, names))
    if not log or has_label:
        return
    scores = [field.name for field in source.table.schema if pa.types.is_floating(field.type)]
    own_scores = f"; it has scores of its own ({', '.join(scores[:5])})" if scores else ""
    raise InputError(
        f"{source.name}: is a log of {log} without human labels{own_scores}. Name a column with them: ",
        Setting("columns", "label=COLUMN"),
        ", or a score, with which metrics and judges are then compared; assay score needs no label",
    )


def _missing_columns_error(
    missing: Sequence[str], source_columns: Sequence[str], resolved: Mapping[str, Sequence[str]], where: str
) -> MissingColumnsError:
    """Return the error to raise for missing pair columns, with a guess of the source columns to use.

    If the names of the columns look like a row of data, and no column has a role, the guess is of numbers of columns.

    Args:
        missing: the required pair columns without a source column.
        source_columns: the names of all columns of the source.
        resolved: the source columns of the other pair columns.
        where: the name of the source for the message.
    """
    guessed_columns = {}
    # a reference for which no column was found is resolved to none
    unclear = ["reference"] if resolved.get("reference") == [] else []
    # optional columns are guessed as well, since the caller's next step may require them: the labels for training, the
    # texts for a report on errors
    optional = [name for name in USUAL_NAMES if name not in (*resolved, CONTEXT)]
    for name in dict.fromkeys([*missing, *optional]):
        candidates = _columns_by_usual_names(name, source_columns, resolved) if name in USUAL_NAMES else []
        if len(candidates) > 1 or (not candidates and name in missing):
            unclear.append(name)
        if candidates or name in missing:
            guessed_columns[name] = candidates[0] if candidates else name.upper()
    annotators = _numbered_alike(source_columns, resolved)
    if "label" in missing and guessed_columns["label"] == "LABEL" and annotators:
        guessed_columns["label"] = "+".join(annotators)
    problem = f"{where}: has no column {' and no column '.join(missing)}; it has {', '.join(source_columns)}."
    numbers = columns_by_number(source_columns)
    if numbers and not resolved:
        return MissingColumnsError(problem, numbers, remark=" (numbers of columns, if there is no header)")
    suggestions = [suggestion_for(name, source_columns).strip() for name in missing]
    return MissingColumnsError(
        " ".join([problem, *filter(None, suggestions)]),
        ",".join(f"{name}={source}" for name, source in guessed_columns.items()),
        unclear=unclear,
    )


def _numbered_alike(source_columns: Iterable[str], resolved: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the unused columns of one name with numbers behind it, such as a1, a2, a3; empty unless one name has them.

    Args:
        source_columns: the names of all columns of the source.
        resolved: the source columns of each pair column, which are in use.
    """
    used_columns = {source_name for source_names in resolved.values() for source_name in source_names}
    by_name: dict[str, list[str]] = {}
    for column in source_columns:
        match = re.fullmatch(r"(.*?\D)\d{1,2}", column)
        if match and column not in used_columns:
            by_name.setdefault(match[1], []).append(column)
    numbered = [columns for columns in by_name.values() if len(columns) > 1]
    return numbered[0] if len(numbered) == 1 else []


def columns_by_number(first_row: Sequence[str]) -> str:
    """Return a mapping of columns by number, if a first row does not look like a header; else an empty text.

    A row is hardly a header if a cell is a number, is repeated, or has more than four words. The mapping is
    ``reference=1,candidate=2,label=3``, without the label for a row of two cells. A row of one cell, or of whole
    numbers alone, has no such mapping.

    Args:
        first_row: the cells of the first row.
    """
    if len(first_row) < 2 or all(cell.isdecimal() for cell in first_row):
        return ""
    has_numbers = any(finite_number(cell) is not None for cell in first_row)
    longest = max(len(cell.split()) for cell in first_row)
    if not has_numbers and longest <= _MAX_NAME_WORDS and first_repeated(first_row) is None:
        return ""
    # all but pair_id, which comes first
    names = PAIR_COLUMNS[1:][: len(first_row)]
    return ",".join(f"{name}={number}" for number, name in enumerate(names, 1))


def _columns_by_usual_names(
    name: str, source_columns: Iterable[str], resolved: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the unused source columns with a usual name of a pair column, the likeliest first.

    If one has the very name in another case or with other signs, it is the only one.

    Args:
        name: the pair column, one of :data:`USUAL_NAMES`.
        source_columns: the names of all columns of the source.
        resolved: the source columns of each pair column, which are in use.
    """
    used_columns = {source_name for source_names in resolved.values() for source_name in source_names}
    unused_columns = [column for column in source_columns if column not in used_columns]
    plain_names = {re.sub(r"[\W_]+", "_", column.lower()).strip("_"): column for column in unused_columns}
    # its own name in another case leaves no doubt
    if name in plain_names:
        return [plain_names[name]]
    return [plain_names[usual_name] for usual_name in USUAL_NAMES[name] if usual_name in plain_names]


def labels_apart(columns: str | Mapping[str, str | Sequence[str]] | None) -> list[tuple[str, Any]]:
    """Return a mapping of columns once for each of its labels, as (label column, mapping with that label alone).

    ``label=coherence,label=relevance`` means two datasets of the same pairs. With one label or none, or for a mapping
    that is not a text, the only entry is an empty text and the mapping itself.
    """
    assignments = re.split(r",(?=\s*\w+\s*=)", columns) if isinstance(columns, str) else []
    labels = [assignment for assignment in assignments if re.match(r"\s*label\s*=", assignment)]
    if len(labels) < 2:
        return [("", columns)]
    other_assignments = [assignment for assignment in assignments if assignment not in labels]
    return [(label.partition("=")[2].strip(), ",".join([*other_assignments, label])) for label in labels]
