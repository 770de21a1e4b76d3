"""``assay tuples``: a sheet of tuples of items for best-worst annotation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.bws import GOLD_EVERY, TupleSettings
from assay.api.writing import check_output_path, write_table
from assay.common.messages import Setting
from assay.common.verbs import verb
from assay.datasets import read_table_file
from assay.datasets.gold_questions import read_gold_questions
from assay.exceptions import InputError, unknown_name
from assay.paths import user_path
from assay.statistics.tuples import Codes, draw_tuples

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets.columns import SourceTable

#: The columns that name an item, and those that are shown with it, unless others are named.
_ID_COLUMNS, _TEXT_COLUMNS = ("id", "pair_id"), ("reference", "candidate")
#: The number of times that tuples are drawn anew because one of them is a gold question.
_DRAWS = 20


@verb(
    TupleSettings,
    (
        "Make the tuples of a best-worst study, and write a sheet to fill in.\n\nEach person chooses the best and the "
        "worst item of every row and writes their names into the columns best and worst; assay bws scores the sheet."
    ),
    "assay tuples pairs.csv --people 5 --gold gold.csv --out sheet.csv",
    next="bws {out} --gold={gold}",
)
def tuples(settings: TupleSettings) -> Path:
    """Write a sheet of tuples of items for people to choose the best and worst of, and return its path.

    As in STR-2022 (Abdalla, Vishnubhotla and Mohammad 2023, section 3.2): by default twice as many tuples of four as
    items, each answered by two people, with gold questions at regular intervals. The sheet has a row per question and
    person, with ``annotator``, ``tuple``, ``item1`` …, the texts of the items, ``item1_reference`` and so on, and the
    empty columns ``best`` and ``worst``. Nothing in a row tells a gold question from the others: tuples are numbered in
    random order.

    Raises:
        InputError: *out* exists or cannot be written; a file or a row of it cannot be read, or a column is missing; an
            item has no name or that of another one; an item of a gold question is unknown; there are too few items; or
            a person gets no question, or none of the gold questions.
        MissingExtraError: a file, such as a workbook, needs a package that is not installed.
    """
    items_file, out = user_path(settings.file), user_path(settings.out)
    check_output_path(items_file, out)
    if out.exists():
        raise InputError(f"{out}: exists, and may hold annotations; give ", Setting("out"), " another name")
    source = read_table_file(items_file)
    names = _item_names(source, settings.id)
    shown_columns = _shown_columns(source, settings)
    gold = _gold_tuples(settings, names)
    rng = np.random.default_rng(settings.seed)
    new_tuples = _draw_new_tuples(settings, len(names), gold, rng)
    question_rows, people = _questions_by_person(new_tuples, gold, settings, rng)
    write_table(_sheet(source.table, shown_columns, names, question_rows, people, rng), out)
    return out


def _item_names(source: SourceTable, column: str | None) -> list[str]:
    """Return the name of each item: its cell in a column, or its number from 1 if no column names items.

    Args:
        source: the table of the items.
        column: the column; None for the first of the usual ones that the table has.

    Raises:
        InputError: the column is missing, or a name is empty or occurs twice.
    """
    columns = source.table.column_names
    if column is not None and column not in columns:
        raise InputError(unknown_name(f"{source.name}: has no column", column, columns), setting="id")
    name_column = column or next((name for name in _ID_COLUMNS if name in columns), None)
    if name_column is None:
        return [str(number) for number in range(1, source.table.num_rows + 1)]
    names: list[str] = []
    names_before: set[str] = set()
    for row, cell in enumerate(source.table.column(name_column).to_pylist()):
        name = "" if cell is None else str(cell).strip()
        if not name or name in names_before:
            problem = f"{name!r} names an item above" if name else "is empty"
            raise InputError(f"{source.location(row)}, column {name_column}: {problem}")
        names_before.add(name)
        names.append(name)
    return names


def _shown_columns(source: SourceTable, settings: TupleSettings) -> list[str]:
    """Return the columns that are shown with each item.

    By default they are those of the two texts of a pair, or all but the names and labels if the table lacks one.

    Raises:
        InputError: a named column is missing.
    """
    columns = source.table.column_names
    for name in settings.show:
        if name not in columns:
            raise InputError(unknown_name(f"{source.name}: has no column", name, columns), setting="show")
    if settings.show:
        return list(settings.show)
    if set(_TEXT_COLUMNS) <= set(columns):
        return list(_TEXT_COLUMNS)
    return [name for name in columns if name not in (settings.id, *_ID_COLUMNS, "label")]


def _gold_tuples(settings: TupleSettings, names: Sequence[str]) -> Codes:
    """Return the items of each gold question, as indices into *names*, shape (questions, size); no rows without any.

    Raises:
        InputError: the file cannot be read, or names another number of items or an unknown one.
    """
    if settings.gold is None:
        return np.empty((0, settings.size), dtype=np.intp)
    path = user_path(settings.gold)
    questions = read_gold_questions(path, 0.0).answers
    code_of = {name: code for code, name in enumerate(names)}
    rows = []
    for question in questions:
        unknown = sorted(question - code_of.keys())
        if unknown:
            raise InputError(f"{path.name}: {unknown[0]!r} is none of the items", setting="gold")
        if len(question) != settings.size:
            raise InputError(f"{path.name}: a tuple has {len(question)} items; give ", Setting("size", len(question)))
        rows.append(sorted(code_of[name] for name in question))
    return np.array(rows, dtype=np.intp)


def _draw_new_tuples(settings: TupleSettings, item_count: int, gold: Codes, rng: np.random.Generator) -> Codes:
    """Return the tuples of the study, none of which is a gold question, as indices of items, shape (tuples, size).

    Args:
        settings: the size of a tuple, and the number of tuples that each item is in.
        item_count: the number of items.
        gold: the gold questions, see :func:`_gold_tuples`.
        rng: the generator of the draws.

    Raises:
        InputError: there are too few items, or each of :data:`_DRAWS` draws has a gold question among its tuples.
    """
    gold_sets = {frozenset(row) for row in gold.tolist()}
    for _ in range(_DRAWS):
        try:
            new_tuples = draw_tuples(item_count, settings.size, settings.per_item, rng)
        except ValueError as error:
            name = "size" if item_count < settings.size else "per_item"
            raise InputError(f"{error}; give ", Setting(name), " a smaller number, or add items") from None
        if not any(frozenset(row) in gold_sets for row in new_tuples.tolist()):
            return new_tuples
    raise InputError(
        f"{item_count:,} items make too few tuples beside the gold questions; give ", Setting("per_item"), " less"
    )


def _questions_by_person(
    new_tuples: Codes, gold: Codes, settings: TupleSettings, rng: np.random.Generator
) -> tuple[Codes, list[int]]:
    """Return the tuple of each row of the sheet, and the number of the person who answers it, from 1.

    The rows of a person follow each other. People get tuples in turn; each tuple goes to as many people as the settings
    ask annotations for. A gold question follows every ``gold_every`` tuples of a person, until each has been asked.

    Args:
        new_tuples: the tuples of the study, shape (tuples, size).
        gold: the gold questions, shape (questions, size).
        settings: the numbers of people and of annotations, and how often a gold question comes.
        rng: shuffles the gold questions, and the items in each.

    Raises:
        InputError: a person gets no question, or too few for a gold question.
    """
    people = settings.people or settings.annotations
    gold_every = settings.gold_every or GOLD_EVERY
    # each tuple as often as it is annotated; the copies follow each other, so that they go to different people
    question_numbers = np.repeat(np.arange(len(new_tuples)), settings.annotations)
    fewest_questions = len(question_numbers) // people
    if not fewest_questions:
        raise InputError(f"there are only {len(question_numbers):,} questions", setting="people", value=people)
    if len(gold) and fewest_questions < gold_every:
        raise InputError(
            f"a person has only {fewest_questions} other questions, and is asked no gold question; give ",
            Setting("gold_every", fewest_questions),
            " or less",
        )
    rows: list[Codes] = []
    annotators: list[int] = []
    for person in range(people):
        own_questions = new_tuples[question_numbers[person::people]]
        gold_left = list(rng.permutation(gold, axis=0))
        rows_of_person: list[Codes] = []
        for number, question in enumerate(own_questions, start=1):
            rows_of_person.append(question)
            if number % gold_every == 0 and gold_left:
                rows_of_person.append(rng.permutation(gold_left.pop()))
        rows += rows_of_person
        annotators += [person + 1] * len(rows_of_person)
    return np.array(rows), annotators


def _sheet(
    table: pa.Table,
    shown_columns: Sequence[str],
    names: Sequence[str],
    questions: Codes,
    people: Sequence[int],
    rng: np.random.Generator,
) -> pa.Table:
    """Return one row per question and person, with empty columns for the best and the worst item.

    Args:
        table: the items, one a row.
        shown_columns: the columns of *table* that are shown beside each item.
        names: the names of the items.
        questions: the rows of the items of each question, shape (q, k), in the order in which they are asked.
        people: the number of the person who is asked each question.
        rng: draws the numbers of tuples.
    """
    import pyarrow as pa

    distinct = list(dict.fromkeys(frozenset(row) for row in questions.tolist()))
    # in the order of the questions, a number out of turn would give away a gold question
    numbers = dict(zip(distinct, (rng.permutation(len(distinct)) + 1).tolist(), strict=True))
    columns: dict[str, object] = {
        "annotator": list(people),
        "tuple": [f"t{numbers[frozenset(row)]}" for row in questions.tolist()],
    }
    for number, codes in enumerate(questions.T, start=1):
        columns[f"item{number}"] = [names[code] for code in codes]
        for name in shown_columns:
            columns[f"item{number}_{name}"] = table.column(name).take(pa.array(codes))
    for name in ("best", "worst"):
        columns[name] = pa.nulls(len(questions), pa.string())
    return pa.table(columns)
