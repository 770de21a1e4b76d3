"""Several gold answers in one cell: lists in the notations that programs print, and texts with a separator."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.common.batches import converted_column
from assay.common.messages import Setting
from assay.common.tables import is_text
from assay.datasets.columns import SourceTable
from assay.exceptions import InputError

#: The separator of cells that are lists beside cells that are plain answers.
JSON_SEPARATOR = "json"
#: Separators that hardly occur inside an answer, and separators that do; the first one that is frequent is proposed.
CLEAR_SEPARATORS = ("|", ";", " / ", "\n")
WEAK_SEPARATORS = ("/", ", ", " or ")
#: A weak separator counts only between answers of at most this number of words.
MAX_ANSWER_WORDS = 4
#: A separator is proposed if at least this share of the cells contains it, and at least this number of cells …
MIN_LIKELY_SHARE, MIN_LIKELY_CELLS = 0.05, 3
#: … and if it is at least this many times rarer in the candidates, since prose has semicolons on both sides.
MIN_LIKELY_RATIO = 4
#: The number of cells that are searched for weak separators.
MAX_SEARCHED_CELLS = 20_000


# Lists, as JSON, Python, NumPy, pandas and R write them.

#: How a cell may begin that is a list.
_LIST_BEGINNINGS = ("[", "(", "{", '"', "array(", "c(")
#: A quoted text, and the blanks before another one: NumPy prints no commas.
_QUOTED_TEXT = re.compile(r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(\s+(?=['\"]))?", re.DOTALL)
#: The functions whose printed call stands for its arguments.
_LIST_FUNCTIONS, _TEXT_FUNCTIONS = ("array", "list", "tuple", "set", "c"), ("str_", "str")


def listed_answers(text: str) -> list[str] | None:
    """Return the gold answers in a cell that is a list; None if it is none.

    A list is one of JSON (also encoded twice), of Python (a tuple or set, too), of NumPy (``['a' 'b']``,
    ``array(['a'], dtype=object)``) or of R (``c("a", "b")``), or the object of SQuAD, whose answers are its ``text``.
    Whole numbers and truth values among the answers become text. A list of these alone, or with anything else in it, is
    none.
    """
    value = structured_value(text)
    if isinstance(value, dict):
        value = squad_answers(value)
    if not isinstance(value, list) or not all(isinstance(item, str | int) for item in value):
        return None
    if value and not any(isinstance(item, str) for item in value):
        return None
    return [item if isinstance(item, str) else json.dumps(item) for item in value]


def structured_value(text: str) -> Any:
    """Return the list or object in a cell, in a notation of :func:`listed_answers`; None or a text for another cell."""
    text = text.strip()
    if not text.startswith(_LIST_BEGINNINGS):
        return None
    try:
        value = json.loads(text)
        if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
            value = json.loads(value)
    except (ValueError, RecursionError):
        value = _printed_value(text)
    return value


def squad_answers(value: Mapping[str, Any]) -> Any:
    """Return the answers in an object of SQuAD, ``{"text": […], "answer_start": […]}``; None for any other object."""
    return value.get("text") if set(value) in ({"text"}, {"text", "answer_start"}) else None


def _printed_value(text: str) -> Any:
    """Return the list, dictionary, text or number that a program printed, see :func:`_value_of`; else None."""
    try:
        with_commas = _QUOTED_TEXT.sub(lambda match: f"{match[1]}," if match[2] else match[1], text)
        tree = ast.parse(with_commas, mode="eval").body
        return _value_of(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        # a key of a dictionary that cannot be one is a TypeError
        return None


def _value_of(node: ast.expr) -> Any:
    """Return the value of an expression of lists, dictionaries, texts, numbers, truth values and None.

    Tuples, sets, and calls of ``c`` with their arguments become lists, and the ``nan`` of pandas None. A call of
    another function that prints lists or texts, such as ``array``, has the value of its first argument.

    Raises:
        ValueError: it has something else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.Name) and node.id == "nan":
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value_of(node.operand)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value_of(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        # **OTHER has no key
        return {_value_of(key): _value_of(value) for key, value in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.Call) and node.args:
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if function == "c":
            return [_value_of(item) for item in node.args]
        if function in (*_LIST_FUNCTIONS, *_TEXT_FUNCTIONS):
            return _value_of(node.args[0])
    raise ValueError(ast.dump(node)[:40])


# The column of references.


def answers_column(
    source: SourceTable, name: str, column: pa.ChunkedArray, separator: str | None, *, may_be_empty: bool = False
) -> pa.ChunkedArray:
    """Return a column of gold answers, as strings, or as list<string> if cells hold several.

    Without a separator, a text column of which every cell is a list, and not every one empty, is read as lists; in any
    other, a cell that looks like a list stays text.

    Args:
        source: the table, for messages.
        name: the name of the column.
        column: its cells, string or list<string>.
        separator: the text between the answers in a cell; ``json`` if some cells are lists; None if there is none.
        may_be_empty: whether a list may be empty or missing, since another column has the answer.

    Raises:
        InputError: a list is empty and may not be, or holds something other than text, a separator was given for lists,
            or a cell has separators but no answer.
    """
    holds_lists = pa.types.is_nested(column.type)
    if separator is not None:
        if not holds_lists:
            return _split_answers(source, name, column, separator, may_be_empty=may_be_empty)
        raise InputError(
            f"{source.name}, column {name}: holds lists of gold answers already; leave ",
            Setting("separator", separator),
            " out",
        )
    first = next((cell.as_py() for cell in column if cell.is_valid), None)
    # most columns hold no lists, as their first cell says
    if holds_lists or first is None or listed_answers(first) is None:
        return column
    try:
        lists = converted_column(column, pa.list_(pa.string()), _all_listed_answers)
    except _NotAListError:
        return column
    if not may_be_empty and not any(pc.sum(pc.list_value_length(chunk)).as_py() for chunk in lists.chunks):
        # every cell is []: more likely plain answers with that text than empty lists
        return column
    return checked_answer_lists(source, name, lists, may_be_empty=may_be_empty)


class _NotAListError(Exception):
    """Raised for a cell that is not a list of gold answers."""


def _all_listed_answers(texts: list[str | None], _first_row: int) -> list[list[str]]:
    """Return the lists in some cells, an empty one for a missing cell; the index of their first row is not used.

    Raises:
        _NotAListError: a cell is something else.
    """
    lists = []
    for text in texts:
        answers = [] if text is None else listed_answers(text)
        if answers is None:
            raise _NotAListError
        lists.append(answers)
    return lists


def checked_answer_lists(
    source: SourceTable, name: str, column: pa.ChunkedArray, *, may_be_empty: bool = False
) -> pa.ChunkedArray:
    """Return a column of lists as list<string>, after checking that each has a gold answer and none is null.

    Raises:
        InputError: the lists hold something other than text, or a list has a null, or is empty and may not be.
    """
    value_type = column.type.value_type
    if not is_text(value_type) and not pa.types.is_null(value_type):
        raise InputError(f"{source.name}, column {name}: holds lists of {value_type}, not of text")
    column = column.cast(pa.list_(pa.string()))
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    if not may_be_empty and (sizes == 0).any():
        row = int((sizes == 0).argmax())
        raise InputError(f"{source.location(row)}, column {name}: has no gold answer (an empty list)")
    answers = pc.list_flatten(column)
    if answers.null_count:
        first_null = int(pc.is_null(answers).to_numpy(zero_copy_only=False).argmax())
        row = int(pc.list_parent_indices(column)[first_null].as_py())
        raise InputError(f"{source.location(row)}, column {name}: one of the gold answers is null")
    return column


def _split_answers(
    source: SourceTable, name: str, column: pa.ChunkedArray, separator: str, *, may_be_empty: bool
) -> pa.ChunkedArray:
    """Return a text column as lists of gold answers, list<string>.

    Answers between separators are stripped of surrounding space, and blank ones are left out. A cell without the
    separator is one answer, even if it is empty, and a missing cell is none. With the separator ``json``, a cell that
    is not a list is one answer, and so is an empty list, unless it may be empty.

    Args:
        source: the table, for messages.
        name: the name of the column, for messages.
        column: its cells.
        separator: the text between answers, or ``json``.
        may_be_empty: whether a list may be empty.

    Raises:
        InputError: a cell has separators but no answer.
    """

    def split_cells(texts: list[str | None], first_row: int) -> list[list[str]]:
        """Return the gold answers in each cell; *first_row* is the row index of the first cell, for messages.

        Raises:
            InputError: a cell has no answer between its separators.
        """
        answer_lists = []
        for row, text in enumerate(texts, first_row):
            answers: list[str]
            if text is None:
                # another column has the gold answer of this row
                answers = []
            elif separator == JSON_SEPARATOR:
                listed = listed_answers(text)
                answers = [text] if listed is None or not (listed or may_be_empty) else listed
            elif separator in text:
                answers = [answer.strip() for answer in text.split(separator) if answer.strip()]
            else:
                answers = [text]
            if not answers and text is not None and separator != JSON_SEPARATOR:
                raise InputError(
                    f"{source.location(row)}, column {name}: {text!r} holds no answer between the separators (",
                    Setting("separator", separator),
                    ")",
                )
            answer_lists.append(answers)
        return answer_lists

    return converted_column(column, pa.list_(pa.string()), split_cells)


# What may be several answers, and was read as one.


def separator_hint(references: pa.ChunkedArray, candidates: pa.ChunkedArray) -> str:
    """Return a line with what to do if the references seem to hold several answers; else an empty string.

    Args:
        references: the references, one text per cell.
        candidates: the candidates of the same pairs.
    """
    total = len(references)
    list_count = 0
    for chunk in references.chunks:
        list_count += sum(bool(listed_answers(text)) for text in chunk.to_pylist())
    # a column of lists alone has been read as lists already; here some cells are lists and others plain texts
    if 0 < list_count < total:
        remedy = _separator_remedy(JSON_SEPARATOR)
        return f"{list_count:,} of {total:,} references are lists, read as one answer each; {remedy}"
    structure_count = _count_structures(references)
    if _is_frequent(structure_count, references) and structure_count >= MIN_LIKELY_RATIO * _count_structures(
        candidates
    ):
        finding = (
            f"{structure_count:,} references are objects, or lists of other things than texts, read as one answer each"
        )
        path = Setting("columns", "reference=COLUMN.KEY").with_flag({})
        return f"{finding}; if answers are in them, write lists of texts, or name the answers by their path: {path}"
    separator = likely_separator(references, candidates)
    if separator is None:
        return ""
    match_count = _counter_of(separator)(references, separator)
    finding = f"{match_count:,} of {total:,} references hold {_escaped(separator)!r}, read as one answer each"
    return f"{finding}; {_separator_remedy(separator)}"


def likely_separator(references: pa.ChunkedArray, candidates: pa.ChunkedArray) -> str | None:
    """Return the separator that the references seem to hold between several answers; None if they hold none.

    It is the first one that is frequent there and much rarer in the candidates, see :data:`MIN_LIKELY_SHARE` and
    :data:`MIN_LIKELY_RATIO`. The arguments are those of :func:`separator_hint`.
    """
    for separator in (*CLEAR_SEPARATORS, *WEAK_SEPARATORS):
        count_cells = _counter_of(separator)
        match_count = count_cells(references, separator)
        if _is_frequent(match_count, references) and match_count >= MIN_LIKELY_RATIO * count_cells(
            candidates, separator
        ):
            return separator
    return None


def _is_frequent(count: int, references: pa.ChunkedArray) -> bool:
    return count >= max(MIN_LIKELY_CELLS, MIN_LIKELY_SHARE * min(len(references), MAX_SEARCHED_CELLS))


def _count_structures(texts: pa.ChunkedArray) -> int:
    """Return how many of the first :data:`MAX_SEARCHED_CELLS` texts are objects or lists in which answers may be.

    Lists of answers do not count, and neither do lists of numbers, which may be an answer.
    """
    cell_count = 0
    for text in texts.slice(0, MAX_SEARCHED_CELLS).to_pylist():
        value = structured_value(text)
        has_texts = isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(item, str | dict) for item in value)
        )
        cell_count += bool(value) and has_texts and listed_answers(text) is None
    return cell_count


def _counter_of(separator: str) -> Callable[[pa.ChunkedArray, str], int]:
    return _count_cells_with if separator in CLEAR_SEPARATORS else _count_short_answers


def _escaped(separator: str) -> str:
    """Return a separator with a newline written as backslash and n, so that a message stays one line."""
    return repr(separator)[1:-1]


def _separator_remedy(separator: str) -> str:
    """Return a phrase with the option that reads references with a separator as several gold answers."""
    option = Setting("separator", separator).with_flag({})
    if separator == "\n":
        # only $'…' of a shell turns backslash and n into a newline
        option = f"--separator $'{_escaped(separator)}'"
    return f"if they are several gold answers, run with {option}"


def _count_cells_with(texts: pa.ChunkedArray, separator: str) -> int:
    """Return the number of texts that contain the separator after surrounding space is removed."""
    cell_count = 0
    for chunk in texts.chunks:
        cell_count += pc.sum(pc.match_substring(pc.utf8_trim_whitespace(chunk), separator)).as_py() or 0
    return cell_count


def _count_short_answers(texts: pa.ChunkedArray, separator: str) -> int:
    """Return in how many of the first :data:`MAX_SEARCHED_CELLS` texts the separator stands between short answers.

    Each answer has a letter. Dates, fractions and addresses hold a slash as well, and sentences a comma.
    """
    texts = texts.slice(0, MAX_SEARCHED_CELLS)
    cell_count = 0
    for text in texts.filter(pc.match_substring(texts, separator)).to_pylist():
        if "://" not in text and all(map(_is_short_answer, text.split(separator))):
            cell_count += 1
    return cell_count


def _is_short_answer(text: str) -> bool:
    """Tell whether a text has a letter and at most :data:`MAX_ANSWER_WORDS` words."""
    return len(text.split()) <= MAX_ANSWER_WORDS and any(map(str.isalpha, text))
