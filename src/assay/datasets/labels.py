"""The label columns of a table of the user's own: numbers, words, cells without a label, several annotators."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.common.messages import Message, Setting
from assay.common.tables import MAX_EXACT_INTEGER, exact_number, finite_number, has_decimal_commas, is_text
from assay.datasets.columns import SourceTable
from assay.datasets.reading import Reading, normalised_word
from assay.exceptions import InputError
from assay.statistics.labels import round_labels

#: Pairs of words that are understood as the labels 0 and 1 without a setting.
BINARY_WORD_PAIRS = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("incorrect", "correct"),
    ("wrong", "right"),
    ("fail", "pass"),
)
#: Votes: in brackets with a comma, or with a word or a slash between the numbers.
_VOTES = re.compile(
    r"[(\[] ?(?P<pro>\d{1,6}) ?[,;/] ?(?P<of>\d{1,6}) ?[)\]]|(?P<some>\d{1,6}) ?(?:/|(?:out )?of) ?(?P<all>\d{1,6})"
)
#: A number before a text without digits: ``80%``, ``8 points``, ``5 - Strongly agree``.
_NUMBER_BEFORE_TEXT = re.compile(
    r"(?P<number>[+\-\u2212\uff0d]?(?:\d+(?:[.,]\d+)?|[.,]\d+)) ?(?P<text>[%\uff05]|[^\w.,]?[^\d.,][^\d]*)"
)
#: Different texts of at most so many letters right after numbers are rather units or months.
MOST_LETTERS_OF_UNIT = 3
#: The number of characters of a cell that a message quotes.
MAX_QUOTED_LENGTH = 40
#: The largest number of distinct words in a label column for which a message proposes the setting `labels`, and the
#: largest number of characters of each.
MAX_PROPOSED_WORDS, MAX_WORD_LENGTH = 8, 40
#: The largest number of distinct labels among which one is looked for that may mean that there is none, and how far it
#: lies from the others, in ranges of these.
MAX_SCALE_LABELS, FAR_FROM_OTHERS = 20, 2

_Floats = np.ndarray[Any, np.dtype[np.float64]]


class Labels(NamedTuple):
    """The labels of the pairs.

    Attributes:
        columns: ``label``, float64, and for several annotators ``annotations``, list<float64>.
        notes: how words were read.
        hint: a label that may mean that there is none, with the setting for it; empty if there is none.
    """

    columns: dict[str, Any]
    notes: list[str]
    hint: str


def label_columns(source: SourceTable, names: Sequence[str], reading: Reading, *, allow_missing: bool) -> Labels:
    """Return the labels in one column, or of several annotators in several.

    Numbers are rounded by :func:`~assay.statistics.labels.round_labels`. With several annotators the label is the mean
    over those who labelled the pair. In ``annotations`` the value of an annotator who left the pair out is null; a pair
    that all left out has no label.

    Args:
        source: the table.
        names: the label columns, one per annotator.
        reading: the user's settings.
        allow_missing: whether rows may have no label.

    Raises:
        InputError: a label is neither a number nor a known word, or rows lack a label that is required.
    """
    numbers_by_word = _numbers_by_word(source, names, reading)
    labels = np.column_stack([_label_numbers(source, name, numbers_by_word, reading) for name in names])
    notes = [_words_note(numbers_by_word)] if numbers_by_word else []
    columns = [_cells(source, name, reading) for name in names]
    if any(is_text(column.type) and has_decimal_commas(_distinct_texts(column)) for column in columns):
        notes.append("labels: read with decimal commas, 0,5 as 0.5")
    if not allow_missing and not reading.drop_unlabelled:
        _check_all_labelled(source, names, labels)
    return Labels(annotated_columns(labels), notes, "" if numbers_by_word else _code_hint(labels, reading))


def annotated_columns(labels: _Floats) -> dict[str, Any]:
    """Return the columns ``label`` and, for several annotators, ``annotations``.

    Args:
        labels: the label of each pair by each annotator, shape (n, annotators), NaN where there is none.
    """
    has_label = ~np.isnan(labels)
    label_counts = has_label.sum(axis=1)
    # in ascending order, so that the same labels have the same sum whoever gave which
    label_sums = np.sort(np.where(has_label, labels, 0.0), axis=1).sum(axis=1)
    means = round_labels(np.where(label_counts > 0, label_sums / np.maximum(label_counts, 1), np.nan))
    columns: dict[str, Any] = {"label": pa.array(means, mask=np.isnan(means))}
    annotator_count = labels.shape[1]
    if annotator_count > 1:
        flat_labels = pa.array(round_labels(labels).reshape(-1), mask=~has_label.reshape(-1))
        offsets = pa.array(np.arange(0, labels.size + 1, annotator_count, dtype=np.int32))
        columns["annotations"] = pa.ListArray.from_arrays(offsets, flat_labels)
    return columns


def _check_all_labelled(source: SourceTable, names: Sequence[str], labels: _Floats) -> None:
    """Raise InputError, with the rows, if rows have no label in any column; *labels* has the shape (n, columns)."""
    missing_rows = np.flatnonzero(np.isnan(labels).all(axis=1))
    if not len(missing_rows):
        return
    for name in names:
        misfit = source.misfits.get(name)
        if misfit is not None and misfit.is_empty and misfit.row in missing_rows:
            raise InputError(f"{source.location(misfit.row)}, column {name}: holds {misfit.description}")
    if len(names) == 1:
        location, lacking, expected = f"column {names[0]}", "no label", "a label in each"
    else:
        location = f"columns {', '.join(names)}"
        lacking, expected = "no label from anyone", "a label from at least one annotator"
    raise InputError(
        f"{source.name}, {location}: {len(missing_rows)} of {len(labels)} rows have {lacking}"
        f" ({source.numbers_text(missing_rows)}); expected {expected}, or ",
        Setting("drop_unlabelled"),
        " to leave these rows out",
    )


# Labels that are words.


def _numbers_by_word(source: SourceTable, names: Sequence[str], reading: Reading) -> dict[str, float]:
    """Return the number of each word in the label columns, as it is first written; empty if the columns hold numbers.

    Words get their number from the setting ``labels``. Without it they may be votes, numbers with a text behind them,
    or words of yes and no of several pairs; else, and if the setting has none of them, one of
    :data:`BINARY_WORD_PAIRS` must fit. If other words are among numbers, or no pair has one of the words, the result
    is empty as well: the word is refused where its cell is read as a number.

    Raises:
        InputError: a word has no number, although other words have one.
    """
    # as first written, by normalised word
    words: dict[str, str] = {}
    for name in names:
        column = _cells(source, name, reading)
        if is_text(column.type):
            for cell in _distinct_texts(column):
                words.setdefault(normalised_word(cell), cell.strip())
    configured_numbers = reading.configured_numbers()
    present = [word for word in words if word in configured_numbers or not reading.is_missing(word)]
    numbers = {word: configured_numbers[word] for word in present if word in configured_numbers}
    if not configured_numbers:
        if all(finite_number(word) is not None for word in present):
            return {}
        cells = [words[word] for word in present]
        numbers_in_cells = _shares_of_votes(cells) or _numbers_before_texts(cells) or yes_no_labels(cells)
        if numbers_in_cells:
            return numbers_in_cells
    if not numbers:
        if any(finite_number(word) is not None for word in present) or has_decimal_commas(present):
            # a word among numbers is what is wrong, also n or t
            return {}
        # the pair with most of the words
        pair = max(BINARY_WORD_PAIRS, key=lambda pair: len({*pair} & {*present}))
        numbers = {word: float(label) for label, word in enumerate(pair) if word in present}
        if not numbers:
            return {}
    unknown = [word for word in present if word not in numbers]
    if unknown:
        raise _unknown_word_error(source, names, unknown[0], {words[word]: number for word, number in numbers.items()})
    return {words[word]: numbers[word] for word in present}


def _unknown_word_error(
    source: SourceTable, names: Sequence[str], unknown: str, numbers: Mapping[str, float]
) -> InputError:
    """Return the error to raise for a word without a number, at its first row.

    Args:
        source: the table.
        names: the label columns.
        unknown: the word, normalised; one of the columns has it.
        numbers: the numbers of the known words.
    """
    name, row, cell = next(_cells_of_word(source, names, unknown))
    known_words = [f"{word}={exact_number(number)}" for word, number in numbers.items()]
    return InputError(
        f"{source.location(row)}, column {name}: the label {_quoted(cell)} is none of {', '.join(numbers)}; give it a"
        " number: ",
        Setting("labels", ",".join([*known_words, f"{cell}=NUMBER"])),
        ", or say that it is no label: ",
        Setting("missing", cell),
    )


def _cells_of_word(source: SourceTable, names: Sequence[str], word: str) -> Iterator[tuple[str, int, str]]:
    """Yield column, row and text of each cell in some columns that holds a normalised word."""
    for name in names:
        for row, cell in enumerate(source.table.column(name).to_pylist()):
            if cell is None:
                continue
            text = cell if isinstance(cell, str) else exact_number(cell)
            if normalised_word(text) == word:
                yield name, row, str(cell).strip()


def _shares_of_votes(words: Sequence[str]) -> dict[str, float]:
    """Return the share of votes that each word states, such as ``(4,6)``, ``4/6`` or ``4 of 6``; empty if not all do.

    The second number is that of all votes, or of those against if the two always have the same sum.
    """
    matches = [_VOTES.fullmatch(normalised_word(word)) for word in words]
    votes = [(int(match["some"] or match["pro"]), int(match["all"] or match["of"])) for match in matches if match]
    if not votes or len(votes) < len(words):
        return {}
    sums = {votes_for + votes_against for votes_for, votes_against in votes}
    if len(sums) == 1 and len(votes) > 1:
        votes = [(votes_for, votes_for + votes_against) for votes_for, votes_against in votes]
    if any(votes_for > total or not total for votes_for, total in votes):
        return {}
    return {word: votes_for / total for word, (votes_for, total) in zip(words, votes, strict=True)}


def _numbers_before_texts(words: Sequence[str]) -> dict[str, float]:
    """Return the number before the text of each word; that of a percentage is a share. Empty if it is not clear.

    Every word has to be a percentage, or every word a number before a text: the same one, such as ``points``, or the
    steps of a scale, each with a text of its own. Short texts that differ and follow without a sign, as in ``2k`` and
    ``1m``, are rather units.
    """
    matches = [_NUMBER_BEFORE_TEXT.fullmatch(normalised_word(word)) for word in words]
    numbers_and_texts = [(match["number"], match["text"]) for match in matches if match]
    if not numbers_and_texts or len(numbers_and_texts) < len(words):
        return {}
    texts = [text for _, text in numbers_and_texts]
    digits = [number for number, _ in numbers_and_texts]
    if has_decimal_commas(digits):
        digits = [number.replace(",", ".") for number in digits]
    numbers = [finite_number(number) for number in digits]
    if None in numbers:
        return {}
    is_percentage = [text in ("%", "\uff05") for text in texts]
    if all(is_percentage):
        divisor = 100
    else:
        is_short_word = [text[:1].isalpha() and len(text) <= MOST_LETTERS_OF_UNIT for text in texts]
        may_be_units = len({*texts}) > 1 and any(is_short_word)
        all_have_letters = all(any(map(str.isalpha, text)) for text in texts)
        are_distinct = len({*numbers}) == len(numbers)
        if any(is_percentage) or may_be_units or not all_have_letters or not are_distinct:
            return {}
        divisor = 1
    return {word: number / divisor for word, number in zip(words, numbers, strict=True) if number is not None}


def percentage_shares(words: Sequence[str]) -> dict[str, float]:
    """Return the share that each word states as a percentage, .8 for ``80%``; empty if they are not all percentages."""
    are_percentages = all(word.rstrip().endswith(("%", "\uff05")) for word in words)
    return _numbers_before_texts(words) if are_percentages else {}


def yes_no_labels(words: Sequence[str]) -> dict[str, float]:
    """Return by word the label 0 or 1 of words of yes and no, and of 0 and 1 among them; empty if there are others.

    The result is also empty for numbers alone. Letters are such words only if they are of one pair: a letter among
    numbers is rather a slip or a code.
    """
    label_of = {word: float(label) for pair in BINARY_WORD_PAIRS for label, word in enumerate(pair)}
    labels: dict[str, float] = {}
    for word in words:
        label = label_of.get(normalised_word(word), finite_number(word))
        if label not in (0.0, 1.0):
            return {}
        labels[word] = label
    are_letters = all(len(word) == 1 for word in words if normalised_word(word) in label_of)
    distinct_words = {normalised_word(word) for word in words}
    are_one_pair = any(distinct_words <= {*pair} for pair in BINARY_WORD_PAIRS)
    return {} if are_letters and not are_one_pair else labels


def _words_note(numbers: Mapping[str, float]) -> str:
    """Return a note on the words that were read as labels, sorted by number: ``labels: no as 0, yes as 1``.

    Of votes, and of numbers before texts, it has the word in the middle as an example.
    """
    in_order = sorted(numbers.items(), key=lambda item: item[1])
    if numbers == _shares_of_votes(list(numbers)):
        word, share = in_order[len(in_order) // 2]
        return f"labels: votes read as shares, {word} as {share:.3g}"
    if numbers == _numbers_before_texts(list(numbers)):
        word, number = in_order[len(in_order) // 2]
        return f"labels: the number in each cell, {word} as {exact_number(number)}"
    return f"labels: {', '.join(f'{word} as {exact_number(number)}' for word, number in in_order)}"


# Labels that are numbers.


def _label_numbers(source: SourceTable, name: str, numbers_by_word: Mapping[str, float], reading: Reading) -> _Floats:
    """Return a column as float64 of shape (n,), with NaN where there is no label; numbers written as text are parsed.

    Args:
        source: the table.
        name: the name of the column.
        numbers_by_word: the number of each word that the column may hold; empty for a column of numbers.
        reading: the user's settings, which say what means that there is no label.

    Raises:
        InputError: a cell is not a finite number, or the column has an unsupported type, such as lists.
    """
    column = _cells(source, name, reading)
    value_type = column.type
    if pa.types.is_null(value_type):
        return np.full(len(column), np.nan)
    if is_text(value_type):
        numbers = {normalised_word(word): number for word, number in numbers_by_word.items()}
        values = _parsed_labels(source, name, column.cast(pa.string()), numbers, reading)
    elif _is_numeric(value_type):
        # cast unsafely, since this rounds large integers, which _check_label_size refuses below
        values = np.array(pc.fill_null(pc.cast(column, pa.float64(), safe=False), float("nan")).to_numpy())
        infinite_rows = np.flatnonzero(np.isinf(values))
        if len(infinite_rows):
            row = int(infinite_rows[0])
            raise InputError(f"{source.location(row)}, column {name}: the label is {values[row]}; expected a number")
    else:
        raise InputError(f"{source.name}, column {name}: holds {value_type}; expected numbers")
    if reading.missing:
        values[np.isin(values, reading.missing_numbers())] = np.nan
    if not numbers_by_word:
        _check_label_size(source, name, values)
    return values


def _parsed_labels(
    source: SourceTable, name: str, texts: pa.ChunkedArray, numbers: Mapping[str, float], reading: Reading
) -> _Floats:
    """Return texts as float64 of shape (n,), with NaN where there is no label.

    Args:
        source: the table, for messages.
        name: the name of the column.
        texts: the cells, string; digits may be of any script.
        numbers: the number of each word, by normalised word; empty for a column of numbers.
        reading: the user's settings.

    Raises:
        InputError: a cell is not a finite number.
    """
    chunks = [np.zeros(0)]
    # each distinct text once: labels have few values
    has_commas = has_decimal_commas(_distinct_texts(texts))
    encoded = texts.combine_chunks().dictionary_encode()
    for chunk in encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]:
        values = []
        for cell in chunk.dictionary.to_pylist():
            word = normalised_word(cell)
            number = numbers.get(word)
            if number is None and not reading.is_missing(word):
                number = finite_number(cell.replace(",", ".") if has_commas else cell)
                if number is None:
                    raise _invalid_label_error(source, name, texts, cell)
            values.append(np.nan if number is None else number)
        indices = pc.fill_null(chunk.indices, len(values)).to_numpy()
        chunks.append(np.array([*values, np.nan], dtype=np.float64)[indices])
    return np.concatenate(chunks)


def _check_label_size(source: SourceTable, name: str, values: _Floats) -> None:
    """Check that float64 can tell whole numbers of the size of the labels apart; *values* has shape (n,).

    Raises:
        InputError: a label is beyond 2**53, from which on neighbouring whole numbers become equal.
    """
    too_large = np.flatnonzero(np.abs(values) > MAX_EXACT_INTEGER)
    if len(too_large):
        row = int(too_large[0])
        raise InputError(
            f"{source.location(row)}, column {name}: the label {values[row]:g} is too large to differ from the next; "
            "expected a number up to 9e15 (is this column an identifier?)"
        )


def _code_hint(labels: _Floats, reading: Reading) -> str:
    """Return a line on a label that may mean that there is none, such as -1 or 99, with the setting for it; else empty.

    It is a whole number, the lowest or the highest of 3 to 20 distinct labels, and either the only negative one, unless
    the scale is symmetric, or more than twice the range of the others above or below them.

    Args:
        labels: shape (n, annotators).
        reading: the user's settings.
    """
    values, counts = np.unique(labels[~np.isnan(labels)], return_counts=True)
    if not 3 <= len(values) <= MAX_SCALE_LABELS:
        return ""
    # the lowest label and the highest one
    for index, other_values in ((0, values[1:]), (len(values) - 1, values[:-1])):
        value = values[index]
        is_only_negative = value < 0 <= other_values.min() and value != -other_values.max()
        distance = np.abs(other_values - value).min()
        if value.is_integer() and (is_only_negative or distance > FAR_FROM_OTHERS * np.ptp(other_values)):
            words = ",".join([*reading.missing_words(), exact_number(value)])
            option = Setting("missing", words).with_flag({})
            low, high = exact_number(other_values.min()), exact_number(other_values.max())
            finding = f"the label {exact_number(value)} ({counts[index]:,} times) lies apart from the others"
            return f"{finding}, {low} to {high}; if it means that there is no label, run with {option}"
    return ""


def _cells(source: SourceTable, name: str, reading: Reading) -> pa.ChunkedArray:
    """Return a label column; numbers are texts if the user gives numbers to words, which may be numbers (1=0,2=1)."""
    column = source.table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if reading.labels is None or not _is_numeric(column.type):
        return column
    numbers = pc.cast(column, pa.float64(), safe=False).to_pylist()
    return pa.chunked_array([pa.array([None if n is None else exact_number(n) for n in numbers], pa.string())])


def _distinct_texts(column: pa.ChunkedArray) -> list[str]:
    return [cell or "" for cell in column.unique().to_pylist()]


def _is_numeric(column_type: pa.DataType) -> bool:
    """Tell whether a column type holds numbers; false and true count as 0 and 1."""
    types = pa.types
    return bool(
        types.is_integer(column_type)
        or types.is_floating(column_type)
        or types.is_boolean(column_type)
        or types.is_decimal(column_type)
    )


def _invalid_label_error(source: SourceTable, name: str, texts: pa.ChunkedArray, cell: str) -> InputError:
    """Return the error to raise for a cell that is not a finite number, at its first row and with a hint.

    Args:
        source: the table.
        name: the name of the column.
        texts: its cells, among which the first such cell is looked for.
        cell: the text of the cell.
    """
    row = pc.index(texts, pa.scalar(cell, texts.type)).as_py()
    cell = cell.strip()
    is_comma_number = finite_number(cell.replace(",", ".", 1)) is not None
    if is_comma_number:
        hint: Message | str = f" (a decimal point: {cell.replace(',', '.')})"
    elif cell.endswith("%"):
        hint = "; write a percentage in each row, or in none"
    else:
        hint = _words_hint(texts, cell)
    problem = f"{source.location(row)}, column {name}: the label {_quoted(cell)} is not a number"
    return InputError(f"{problem}; expected one such as 2 or 0.5", hint)


def _quoted(cell: str) -> str:
    return repr(cell if len(cell) <= MAX_QUOTED_LENGTH else f"{cell[:MAX_QUOTED_LENGTH]}…")


def _words_hint(texts: pa.ChunkedArray, invalid: str) -> str:
    """Return a hint for the setting that reads words: ``missing`` if some cells are numbers, else ``labels``.

    It is empty if there are too many words, or if one is too long or cannot be written in the setting.

    Args:
        texts: the cells.
        invalid: the first one that is not a number.
    """
    words: dict[str, str] = {}
    for cell in texts.unique().to_pylist():
        if cell and cell.strip():
            words.setdefault(normalised_word(cell), cell.strip())
    numbers = [word for word in words if finite_number(word) is not None]
    if numbers and _is_word(invalid):
        return Message("; if it means that there is no label: ", Setting("missing", invalid))
    if len(words) > MAX_PROPOSED_WORDS or not all(map(_is_word, words)):
        return ""
    return Message(
        "; if the labels are words: ", Setting("labels", ",".join(f"{word}=NUMBER" for word in words.values()))
    )


def _is_word(cell: str) -> bool:
    """Tell whether a cell is short, has a letter or a sign such as ★, and can be written in the setting `labels`."""
    has_separator = any(sign in cell for sign in ",=\n")
    has_sign = any(sign.isalpha() or not sign.isascii() for sign in cell)
    return len(cell) <= MAX_WORD_LENGTH and not has_separator and has_sign
