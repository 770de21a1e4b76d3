"""Reads EVOUNA: answers of question answering systems, each judged right or wrong by people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.datasets.readers.base import ReaderResult, pairs_of, takes
from assay.exceptions import InputError

#: The names of the systems in the paper, by the suffix of the keys ``answer_…`` and ``judge_…``.
SYSTEM_NAMES = {"fid": "FiD", "gpt35": "GPT-3.5", "chatgpt": "ChatGPT", "gpt4": "GPT-4", "newbing": "Bing"}
#: A slash separates gold answers, except in units (Mbit/s), in 9/11, and before another slash. Place codes
#: (UN/LOCODE:USCHI) are separated as in the published values, although UN thus becomes an answer.
_SLASH_WITHIN_ANSWER = r"/(?=(?:s|h|hour)(?:/|$)) | (?<=[ ]9)/(?=11[ ]) | /(?=/)"
_ANSWER_PATTERN = re.compile(rf"(?:{_SLASH_WITHIN_ANSWER} | [^/])+", re.VERBOSE)


def gold_answers(text: str) -> list[str]:
    """Return the gold answers in a cell, without blank ones.

    Example:
        >>> gold_answers("54 Mbit/s/54 megabits per second")
        ['54 Mbit/s', '54 megabits per second']
    """
    return [answer for match in _ANSWER_PATTERN.findall(text) if (answer := match.strip())]


@takes()
def read_evouna(files: Mapping[str, Path], options: Mapping[str, Any]) -> ReaderResult:
    """Return one pair per answer of a system: the gold answers, the answer, and the label 1 for right and 0 for wrong.

    The file is a JSON list of questions with ``golden_answer`` and, for every system, ``answer_NAME`` and
    ``judge_NAME``. The system is the subset, the question is the group, and its number is the column ``item``.
    Questions marked ``improper`` are left out as in the paper, and so are answers that are missing or were not judged;
    notes give their numbers.

    Raises:
        InputError: the file does not have this form.
    """
    (path,) = files.values()
    columns: dict[str, list[Any]] = {
        name: [] for name in ("pair_id", "reference", "candidate", "label", "question", "subset", "group", "item")
    }
    improper_count = unjudged_count = 0
    for number, record in _records(path):
        if record["improper"]:
            improper_count += 1
            continue
        references = gold_answers(_required_text(path, number, "golden_answer", record["golden_answer"]))
        if not references:
            raise InputError(f"{path}, question {number}: golden_answer has no answer")
        question = _required_text(path, number, "question", record["question"])
        for key, system in _systems(record):
            answer, verdict = record[f"answer_{key}"], record.get(f"judge_{key}")
            if answer is None or verdict is None:
                unjudged_count += 1
                continue
            if not isinstance(verdict, bool):
                raise InputError(f"{path}, question {number}: judge_{key} is {verdict!r}; expected true, false or null")
            columns["pair_id"].append(f"{number}-{key}")
            columns["reference"].append(references)
            columns["candidate"].append(_required_text(path, number, f"answer_{key}", answer))
            columns["label"].append(float(verdict))
            columns["question"].append(question)
            columns["subset"].append(system)
            columns["group"].append(question)
            columns["item"].append(str(number))
    notes = []
    if improper_count:
        notes.append(
            f"{improper_count:,} questions are marked improper (out of date, or without one right answer): left out"
        )
    if unjudged_count:
        notes.append(f"{unjudged_count:,} answers are missing or were not judged: left out")
    references_column = pa.array(columns["reference"], pa.list_(pa.string()))
    return ReaderResult(pairs_of({**columns, "reference": references_column}), tuple(notes))


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number (from 1) and the content of each question.

    Raises:
        InputError: the file is not a JSON list of objects with the keys question, golden_answer and improper.
    """
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: is not JSON in UTF-8 ({error}); get the file again") from error
    if not isinstance(records, list):
        raise InputError(f"{path}: holds one {type(records).__name__}; expected a list of questions")
    if not records:
        raise InputError(f"{path}: has no questions; get the file again")
    for number, record in enumerate(records, 1):
        keys = record if isinstance(record, dict) else ()
        missing_keys = [key for key in ("question", "golden_answer", "improper") if key not in keys]
        if missing_keys:
            raise InputError(f"{path}, question {number}: has no {', '.join(missing_keys)}")
        if not isinstance(record["improper"], bool):
            # any text would leave the question out
            raise InputError(f"{path}, question {number}: improper is {record['improper']!r}; expected true or false")
        if not any(_systems(record)):
            raise InputError(f"{path}, question {number}: has no answer_NAME of any system")
        yield number, record


def _systems(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key and the name of every system in a question's record, whether or not it gave an answer."""
    for name in record:
        key = name.removeprefix("answer_")
        if key != name:
            yield key, SYSTEM_NAMES.get(key, key)


def _required_text(path: Path, number: int, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{path}, question {number}: {name} is {value!r}; expected a text")
    return value
