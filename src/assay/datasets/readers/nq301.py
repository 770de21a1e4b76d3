"""Reads NQ301: answers of twelve question answering systems to 301 questions of NQ-open, each judged by people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.readers.base import ReaderResult, pairs_of, takes
from assay.datasets.readers.delimited import read_delimited
from assay.datasets.readers.jsonl import read_jsonl
from assay.exceptions import InputError

EXPECTED_COLUMNS = ["id", "Question", "Model answer", "Acceptable?", "annotator1", "annotator2", "annotator3"]
LABEL_BY_VERDICT = {"Yes": 1.0, "No": 0.0}


@takes()
def read_nq301(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return one pair per distinct answer in a .tsv file, with the gold answers of its question from a .jsonl file.

    The label is the verdict agreed upon, 1 for Yes and 0 for No; the annotations are the verdicts of the two or three
    annotators. The answers of all systems to a question are in one group; the file does not name the systems.

    Raises:
        InputError: a file has other columns, a question has no gold answer, or a verdict is neither Yes nor No.
    """
    path = next(path for name, path in files.items() if name.endswith(".tsv"))
    gold_answers_by_question = _gold_answers(next(path for name, path in files.items() if name.endswith(".jsonl")))
    table = read_delimited(path, delimiter="\t", quoted=False).table
    if table.column_names != EXPECTED_COLUMNS:
        raise InputError(
            f"{path}: has the columns {', '.join(table.column_names)}; expected {', '.join(EXPECTED_COLUMNS)}"
        )
    cells = {name: table.column(name).to_pylist() for name in EXPECTED_COLUMNS}
    references, labels, annotations = [], [], []
    for index, question in enumerate(cells["Question"]):
        row = index + 2  # row 1 is the header
        if question not in gold_answers_by_question:
            raise InputError(f"{path}, row {row}: there is no gold answer to the question {question!r}")
        references.append(gold_answers_by_question[question])
        labels.append(_label_of_verdict(path, row, "Acceptable?", cells["Acceptable?"][index]))
        verdicts = []
        for name in EXPECTED_COLUMNS[4:]:
            if cells[name][index].strip():
                verdicts.append(_label_of_verdict(path, row, name, cells[name][index]))
        annotations.append(verdicts)
    return ReaderResult(
        pairs_of(
            {
                "reference": pa.array(references, pa.list_(pa.string())),
                "candidate": cells["Model answer"],
                "label": labels,
                "question": cells["Question"],
                "group": cells["id"],
                "annotations": pa.array(annotations, pa.list_(pa.float64())),
            }
        )
    )


def _gold_answers(path: Path) -> dict[str, list[str]]:
    """Return the gold answers by question.

    Raises:
        InputError: a column is missing, or a line has no list of answers.
    """
    source = read_jsonl(path)
    for name in ("question", "answer"):
        if name not in source.table.column_names:
            raise InputError(f"{path}: has no {name}")
    answers_by_question = {}
    questions, answers = (source.table.column(name).to_pylist() for name in ("question", "answer"))
    for index, (question, answer_list) in enumerate(zip(questions, answers, strict=True)):
        if not isinstance(answer_list, list) or not answer_list:
            raise InputError(f"{source.location(index)}: answer is {answer_list!r}; expected a list of gold answers")
        answers_by_question[question] = answer_list
    return answers_by_question


def _label_of_verdict(path: Path, row: int, column: str, text: str) -> float:
    """Return the label of a cell with a verdict; raise InputError with its location if it is neither Yes nor No."""
    if text.strip() not in LABEL_BY_VERDICT:
        raise InputError(f"{path}, row {row}, column {column}: {text!r} is neither Yes nor No")
    return LABEL_BY_VERDICT[text.strip()]
