"""docs/papers.md: every table of the five papers has a row, its commands exist, and its verdicts are the known ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.analysis.reproduce import list_tables, load_table
from assay.datasets import list_datasets
from tests.cli.calling import call

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
VERDICTS = {"equal", "other model", "other data", "other definition", "absent"}
#: The numbers of the tables that each paper prints; what STR-2022 prints as examples (1 and 8) is left out, and so are
#: the examples and counts of the paper on batches (9 and 10).
TABLES = {
    "Semantic answer similarity": range(1, 9),
    "S3BERT": range(1, 5),
    "STR-2022": range(2, 8),
    "Structure-aware batches": [*range(1, 9), 11, 12],
    "Mid-tuning": range(1, 7),
}


def rows_by_paper() -> dict[str, list[list[str]]]:
    papers = {}
    for section in re.split("^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
        papers[section.partition(" (")[0]] = rows
    return papers


def numbers_of(title: str) -> set[int]:
    found: set[int] = set()
    for word, numbers in re.findall(r"(Tables?|Figures?) (\d+(?:, (?:table )?\d+)*)", title):
        found |= {int(number) for number in re.findall(r"\d+", numbers)} if word.startswith("Table") else set()
    return found


@pytest.mark.parametrize("paper", TABLES)
def test_every_table_of_a_paper_has_a_row(paper):
    rows = rows_by_paper()[paper]
    assert set().union(*(numbers_of(row[0]) for row in rows)) >= set(TABLES[paper])
    assert all(len(row) == 5 for row in rows), [row for row in rows if len(row) != 5]
    assert {row[4] for row in rows} <= VERDICTS


def test_commands_and_what_they_name_exist():
    verbs = set(re.findall(r"^  (\w+)  ", call("--help").out, re.MULTILINE))
    published = {table.name for table in list_tables()}
    datasets = {entry.name for entry in list_datasets()}
    for row in (row for rows in rows_by_paper().values() for row in rows):
        for command in re.findall("`(assay [^`]+)`", row[1]):
            words = command.split()
            assert words[1] in verbs, command
            if words[1] == "reproduce":
                assert words[2] in published, command
        for name in re.findall(r"(?:-d|datasets (?:show|check)) ([a-z][\w-]*)", row[1]):
            assert name in datasets, name


def test_counts_of_cells_are_those_of_the_tables():
    for row in (row for rows in rows_by_paper().values() for row in rows):
        for count in re.findall(r"(\d+) of (?:\d+) (?:cells|numbers)", row[2]):
            name = re.search(r"reproduce ([\w-]+)", row[1])
            assert name is not None, row
            table = load_table(name[1])
            cells = [cell for line in table.rows for cell in line.printed if cell]
            assert f"of {len(cells)} " in row[2], (count, len(cells))
