"""Reads logs of other evaluation harnesses: samples with gold answers, outputs, and the harness's own scores.

A score becomes a column of its own, which ``recorded:NAME`` reads; only what a person said becomes the label. Further
facts of a sample, such as its document or metadata, stay as JSON, so that a path may lead to a label in them
(``label=doc.human``).

Formats: ``samples_*.jsonl`` of lm-evaluation-harness (0.4), ``.eval`` and ``.json`` logs of Inspect (2), JSON output of
promptfoo (2 to 4), test runs of DeepEval (4).
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa

from assay.datasets.columns import SourceTable
from assay.datasets.readers.jsonl import column_of, json_lines, parse_json, table_of_records
from assay.exceptions import InputError

Record = dict[str, Any]

#: A log may hold this number of bytes in one sample.
MAX_SAMPLE_BYTES = 1 << 28
#: The method of compression of Inspect's archives that Python's zipfile knows from 3.14 on.
_ZSTD = 93
#: The values of scores that Inspect writes as letters: correct, incorrect, partial, no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
#: Assertions of promptfoo whose value is a gold answer, the strictest first.
_GOLD_ASSERTIONS = (
    *("equals", "iequals", "similar", "factuality", "model-graded-factuality", "rouge-n", "bleu"),
    *("gleu", "meteor", "levenshtein", "contains", "icontains"),
)
#: Names of variables of promptfoo that hold a gold answer.
_GOLD_VARIABLES = ("reference", "expected", "gold", "answer", "ground_truth", "target")


def log_of_json(value: Any, path: Path) -> SourceTable | None:
    """Return the samples of a log as a table; None if a JSON value is no log."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("eval"), dict) and isinstance(value.get("samples"), list):
        header = value["eval"]
        return _table(path, "Inspect", [_inspect_record(sample, header) for sample in value["samples"]])
    results = value.get("results")
    results = results.get("results") if isinstance(results, dict) else None
    if isinstance(results, list) and any(isinstance(row, dict) and "testCase" in row for row in results):
        return _table(path, "promptfoo", [_promptfoo_record(row) for row in results])
    run = value.get("testRunData", value)
    cases = run.get("testCases", run.get("test_results")) if isinstance(run, dict) else None
    if isinstance(cases, list) and any(isinstance(case, dict) and _is_deepeval(case) for case in cases):
        return _table(path, "DeepEval", [_deepeval_record(case) for case in cases])
    return None


def is_lm_eval(path: Path) -> bool:
    """Tell whether a file of JSON lines has the samples of a task of lm-evaluation-harness, by its first line."""
    for number, line in islice(json_lines(path), 1):
        if '"filtered_resps"' in line and '"arguments"' in line:
            first = parse_json(line, f"{path}, line {number}")
            return isinstance(first, dict) and {"doc", "target", "arguments", "filtered_resps"} <= first.keys()
    return False


def read_lm_eval(path: Path) -> SourceTable:
    """Return the samples of a task of lm-evaluation-harness, a row for each answer.

    Raises:
        InputError: a line is not JSON, or no sample.
    """
    records: list[Record] = []
    numbers = []
    for number, line in json_lines(path):
        sample = parse_json(line, f"{path}, line {number}")
        if not isinstance(sample, dict) or not {"doc", "target", "arguments", "filtered_resps"} <= sample.keys():
            raise InputError(f"{path}, line {number}: is no sample of lm-evaluation-harness")
        answers = list(_lm_eval_records(sample))
        records += answers
        numbers += [number] * len(answers)
    return _table(path, "lm-evaluation-harness", records, unit="line", rows=numbers)


def read_inspect_archive(path: Path) -> SourceTable:
    """Return the samples of an ``.eval`` log of Inspect, an archive with a file for each.

    Raises:
        InputError: the archive is damaged or no log.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")]
            start = "header.json" if "header.json" in archive.namelist() else "_journal/start.json"
            header = parse_json(_member_text(archive, path, start), f"{path}, {start}").get("eval", {})
            records = []
            for name in names:
                sample = parse_json(_member_text(archive, path, name), f"{path}, {name}")
                records.append(_inspect_record(sample, header))
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        KeyError,
        AttributeError,
    ) as error:
        raise InputError(f"{path}: is not a readable log of Inspect ({error or type(error).__name__})") from None
    return _table(path, "Inspect", records)


def _member_text(archive: zipfile.ZipFile, path: Path, name: str) -> str:
    """Return the text of a file in an archive, also if it is compressed by Zstandard.

    Raises:
        InputError: the file is too large.
    """
    entry = archive.getinfo(name)
    if entry.file_size > MAX_SAMPLE_BYTES:
        raise InputError(f"{path}, {name}: has more than {MAX_SAMPLE_BYTES:,} bytes")
    if entry.compress_type != _ZSTD:
        return archive.read(name).decode("utf-8")
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        local = file.read(30)
        file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
        compressed = file.read(entry.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(compressed), "zstd") as stream:
        return bytes(stream.read(MAX_SAMPLE_BYTES)).decode("utf-8")


def _table(
    path: Path, harness: str, records: list[Record], *, unit: str = "sample", rows: list[int] | None = None
) -> SourceTable:
    """Return records as a table; a column that no record has a value in is left out.

    Raises:
        InputError: there are no records.
    """
    if not records:
        raise InputError(f"{path}: the log of {harness} has no samples")
    names = dict.fromkeys(name for record in records for name in record)
    filled = [name for name in names if any(record.get(name) is not None for record in records)]
    kept = [{name: record.get(name) for name in filled} for record in records]
    without = [index for index, record in enumerate(records, 1) if record.get("candidate") is None]
    for record in kept:
        record["candidate"] = record.get("candidate") or ""
    identifiers = [record.get("pair_id") for record in kept]
    if None in identifiers or len(set(identifiers)) < len(identifiers):
        for record in kept:
            record.pop("pair_id", None)
    table, misfits = table_of_records(kept, column_of)
    notes = [f"read as a log of {harness}"]
    if without:
        which = ", ".join(map(str, without[:5])) + (", …" if len(without) > 5 else "")
        notes.append(f"{len(without):,} of {len(records):,} samples have no output ({which}), read as an empty answer")
    numbers = None if rows is None else np.array(rows, dtype=np.int64)
    return SourceTable(
        table, str(path), unit=unit, first=1, rows=numbers, misfits=misfits, notes=tuple(notes), log=harness
    )


#: Columns of the table of a log; a score of such a name is called ``score NAME``.
_OWN_COLUMNS = frozenset(
    (
        *("reference", "candidate", "question", "context", "label", "pair_id", "group", "system", "filter"),
        *("doc", "metadata", "vars", "subset", "split", "language", "annotations"),
    )
)


def _scores(scores: Iterable[tuple[str, Any]]) -> Record:
    """Return the scores that are numbers or truth values, by the names of their columns."""
    columns: Record = {}
    for name, value in scores:
        if isinstance(value, bool | int | float):
            columns[f"score {name}" if name in _OWN_COLUMNS else name] = float(value)
    return columns


# lm-evaluation-harness.


def _lm_eval_records(sample: Record) -> Iterable[Record]:
    """Yield a record for each answer of a sample; of choices, the likeliest is the answer."""
    asked = sample["arguments"]
    calls = list(asked.values()) if isinstance(asked, dict) else list(asked)
    contexts, continuations = zip(*(_arguments(call) for call in calls), strict=True) if calls else ((), ())
    answers = [answer for reply in sample["filtered_resps"] for answer in (reply if _is_list(reply) else [reply])]
    reference = sample["target"]
    likelihoods = [_likelihood(reply) for reply in sample["filtered_resps"]]
    if len(calls) > 1 and len(likelihoods) == len(calls) and None not in likelihoods:
        choices = [str(continuation).strip() for continuation in continuations]
        answers = [choices[int(np.argmax(np.array(likelihoods, dtype=np.float64)))]]
        place = str(reference)
        if place.isdecimal() and int(place) < len(choices):
            reference = choices[int(place)]
    doc = sample["doc"] if isinstance(sample["doc"], dict) else {}
    names = sample.get("metrics") or [name for name, value in sample.items() if isinstance(value, int | float)]
    scores = _scores((name, sample.get(name)) for name in names if name != "doc_id")
    name = f"{sample.get('doc_id')}" + ("" if sample.get("filter") in (None, "none") else f"-{sample['filter']}")
    for number, answer in enumerate(answers or [None], 1):
        yield {
            "pair_id": name if len(answers) < 2 else f"{name}-{number}",
            "question": _question(doc) or _first_text(contexts),
            "reference": _golds(reference),
            "candidate": None if answer is None else _plain_text(answer),
            "filter": None if sample.get("filter") == "none" else sample.get("filter"),
            "doc": _json(sample["doc"]),
            **scores,
        }


def _arguments(call: Any) -> tuple[Any, Any]:
    """Return the context and the continuation (or the options of the generation) of a request."""
    values = list(call.values()) if isinstance(call, dict) else list(call) if _is_list(call) else [call]
    return values[0], values[1] if len(values) > 1 else None


def _likelihood(reply: Any) -> float | None:
    """Return the log-likelihood in the reply to a choice, ``[number, whether it is the likeliest]``; else None."""
    pair = reply[0] if _is_list(reply) and len(reply) == 1 else reply
    if not _is_list(pair) or len(pair) != 2 or str(pair[1]) not in ("True", "False"):
        return None
    try:
        return float(pair[0])
    except (TypeError, ValueError):
        return None


# Inspect.


def _inspect_record(sample: Record, header: Mapping[str, Any]) -> Record:
    """Return the record of a sample; texts that are kept apart from it are put back."""
    attached = sample.get("attachments") or {}

    def text(value: Any) -> str | None:
        return str(attached.get(value.removeprefix("attachment://"), value)) if isinstance(value, str) else None

    output = sample.get("output") or {}
    choices = output.get("choices") or []
    completion = output.get("completion")
    if completion is None and choices:
        completion = _message_text(choices[0].get("message") or {}, text)
    scores: list[tuple[str, Any]] = []
    for name, score in (sample.get("scores") or {}).items():
        value = score.get("value") if isinstance(score, dict) else score
        parts = value.items() if isinstance(value, dict) else [(None, value)]
        scores += [(name if part is None else f"{name}.{part}", _LETTERS.get(str(each), each)) for part, each in parts]
    asked = sample.get("input")
    if _is_list(asked):
        asked = "\n\n".join(filter(None, (_message_text(each, text) for each in asked if each.get("role") == "user")))
    target, epoch = sample.get("target"), sample.get("epoch", 1)
    several = ((header.get("config") or {}).get("epochs") or 1) > 1
    return {
        "pair_id": f"{sample.get('id')}-{epoch}" if several else str(sample.get("id")),
        "question": text(asked),
        "reference": _golds(list(map(text, target)) if _is_list(target) else text(target)) or None,
        "candidate": text(completion) if choices or completion else None,
        "group": str(sample.get("id")) if several else None,
        "system": header.get("model"),
        "metadata": _json(sample["metadata"]) if sample.get("metadata") else None,
        **_scores(scores),
    }


def _message_text(message: Mapping[str, Any], text: Callable[[Any], str | None]) -> str | None:
    """Return the text of a message, whose content is a text or a list of parts."""
    content = message.get("content")
    if not _is_list(content):
        return text(content)
    parts = [text(part.get("text")) for part in content if isinstance(part, dict)]
    return "\n".join(filter(None, parts))


# promptfoo.


def _promptfoo_record(row: Record) -> Record:
    """Return the record of a result; the verdict of a person is its label."""
    case = row.get("testCase") or {}
    variables = row.get("vars") or case.get("vars") or {}
    response = row.get("response") or {}
    grading = row.get("gradingResult") or {}
    human = [
        part.get("score", part.get("pass"))
        for part in grading.get("componentResults") or []
        if isinstance(part, dict) and (part.get("assertion") or {}).get("type") == "human"
    ]
    provider = row.get("provider") or {}
    prompt = row.get("prompt") or {}
    own = [("score", row.get("score")), ("success", row.get("success")), *(row.get("namedScores") or {}).items()]
    return {
        "pair_id": f"{row.get('testIdx')}-{row.get('promptIdx')}" if "testIdx" in row else None,
        "question": _question(variables) or (prompt.get("raw") if isinstance(prompt, dict) else prompt),
        "reference": _promptfoo_golds(case, variables),
        "candidate": _plain_text(response.get("output")),
        "context": _context(variables.get("context")),
        "label": float(human[-1]) if human and human[-1] is not None else None,
        "group": str(row["testIdx"]) if "testIdx" in row else None,
        "system": (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider,
        "vars": _json(variables) if variables else None,
        **_scores(own),
    }


def _promptfoo_golds(case: Mapping[str, Any], variables: Mapping[str, Any]) -> Any:
    """Return the gold answers of a test: values of the strictest assertions, or a variable; None if there is none."""
    by_type: dict[str, list[str]] = {}
    for assertion in case.get("assert") or []:
        value = assertion.get("value") if isinstance(assertion, dict) else None
        if isinstance(value, str | int | float):
            by_type.setdefault(assertion.get("type", ""), []).append(str(value))
        elif _is_list(value):
            by_type.setdefault(assertion.get("type", ""), []).extend(map(str, value))
    for kind in _GOLD_ASSERTIONS:
        if kind in by_type:
            golds = list(dict.fromkeys(by_type[kind]))
            return golds[0] if len(golds) == 1 else golds
    return next((_golds(variables[name]) for name in _GOLD_VARIABLES if variables.get(name) not in (None, "")), None)


# DeepEval.


def _is_deepeval(case: Mapping[str, Any]) -> bool:
    return "metricsData" in case or "metrics_data" in case


def _deepeval_record(case: Record) -> Record:
    """Return the record of a test case, whose keys have capitals in a file and underscores in Python."""

    def field(name: str) -> Any:
        first, *rest = name.split("_")
        return case.get(name, case.get(first + "".join(map(str.title, rest))))

    scores = [(metric.get("name"), metric.get("score")) for metric in field("metrics_data") or []]
    return {
        "pair_id": field("name"),
        "question": field("input"),
        "reference": field("expected_output"),
        "candidate": field("actual_output"),
        "context": _context(field("retrieval_context") or field("context")),
        "metadata": _json(field("metadata")) if field("metadata") else None,
        **_scores((str(name), score) for name, score in scores),
    }


# Values.


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain_text(value: Any) -> str | None:
    """Return a text as it is and any other value as JSON; None for None."""
    return value if value is None or isinstance(value, str) else _json(value)


def _golds(value: Any) -> Any:
    """Return gold answers as a text, or a list of texts if there are several; None for none."""
    if not _is_list(value):
        return _plain_text(value)
    golds = [_plain_text(each) for each in value if each is not None]
    return golds[0] if len(golds) == 1 else golds or None


def _context(value: Any) -> str | None:
    """Return a context as a text; the texts of a list are divided by blank lines."""
    return "\n\n".join(map(str, value)) if _is_list(value) else _plain_text(value)


def _question(fields: Mapping[str, Any]) -> str | None:
    """Return the question among the fields of a sample, without the rest of its prompt; None if there is none."""
    return _first_text(fields.get(name) for name in ("question", "query"))


def _first_text(values: Iterable[Any]) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list | tuple)
