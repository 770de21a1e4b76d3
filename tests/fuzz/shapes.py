"""One table of judged answers in the shapes and formats that people have: the same pairs from each."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from assay.datasets import load_dataset
from tests.fuzz.target import Target

#: Of texts: quotes, separators, brackets and letters, all of them in Latin-1.
SIGNS = "aZäß \"',;:.-/()[]{}|<>&=+#07éñ\n\t\\"
SYSTEMS, PEOPLE = ("s1", "s-2"), ("ann", "ben", "cem")
ANNOTATORS = "label=ann+ben+cem"

Item = dict[str, Any]


def make_table(random: Random) -> bytes:
    """Return items as JSON: gold answers, and the answer of each system with the labels of three people."""

    def text(end: str) -> str:
        return "".join(random.choice(SIGNS) for _ in range(random.randint(0, 8))) + end

    items = []
    for number in range(random.randint(1, 6)):
        answers = {}
        for system in SYSTEMS:
            labels = [random.choice([0, 1, 2, 3, None]) for _ in PEOPLE]
            labels[random.randrange(3)] = random.randrange(4)
            answers[system] = {"text": text(f"{system}.{number}"), "labels": labels}
        golds = [text(f"g{number}{letter}") for letter in "xyz"[: random.randint(1, 3)]]
        items.append({"golds": golds, "answers": answers})
    return json.dumps(items).encode()


def pairs_of(items: list[Item]) -> list[Item]:
    """Return a row per answer, with a column per person."""
    rows = []
    for item in items:
        for answer in item["answers"].values():
            given = dict(zip(PEOPLE, answer["labels"], strict=True))
            rows.append({"reference": item["golds"], "candidate": answer["text"], **given})
    return rows


def delimited(rows: list[Item], delimiter: str = ",", notation: Callable[[Any], str] = json.dumps) -> str:
    """Return rows as delimited text; lists in a notation, None as a word for nothing."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        cells = [notation(cell) if isinstance(cell, list) else "NA" if cell is None else cell for cell in row.values()]
        writer.writerow(cells)
    return text.getvalue()


def long_rows(items: list[Item]) -> list[Item]:
    """Return a row per label."""
    return [
        {"reference": row["reference"], "candidate": row["candidate"], "worker": person, "label": row[person]}
        for row in pairs_of(items)
        for person in PEOPLE
    ]


def wide_rows(items: list[Item]) -> list[Item]:
    """Return a row per item, with columns for each system."""
    rows = []
    for item in items:
        row = {"reference": item["golds"]}
        for system, answer in item["answers"].items():
            row[f"answer_{system}"] = answer["text"]
            row |= {f"{person}_{system}": label for person, label in zip(PEOPLE, answer["labels"], strict=True)}
        rows.append(row)
    return rows


def nested(items: list[Item]) -> list[Item]:
    """Return a record per answer, with its labels in a list."""
    return [
        {"gold": {"all": item["golds"]}, "out": [{"text": answer["text"], "grades": answer["labels"]}]}
        for item in items
        for answer in item["answers"].values()
    ]


def zipped(name: str, text: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return content.getvalue()


def columns_of_golds(items: list[Item]) -> list[Item]:
    """Return a row per answer, with the gold answers in columns of their own."""
    rows = []
    for row in pairs_of(items):
        golds = row.pop("reference")
        rows.append({f"r{place}": (golds[place] if place < len(golds) else "") for place in range(3)} | row)
    return rows


def workbook(rows: list[Item]) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append([json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def without_header(text: str) -> str:
    """Return delimited text without its first line, which has no line end in a cell."""
    return text.partition("\n")[2]


def inspect_log(items: list[Item]) -> Item:
    """Return the log of a harness, with a sample per answer and the labels of people in its metadata."""
    samples = []
    for number, row in enumerate(pairs_of(items)):
        output = {"choices": [{"message": {"content": row["candidate"]}}], "completion": row["candidate"]}
        grades = [row[person] for person in PEOPLE]
        samples.append(
            {"id": number, "input": "q", "target": row["reference"], "output": output, "metadata": {"grades": grades}}
        )
    return {"eval": {"model": "m"}, "samples": samples}


def shapes_of(items: list[Item]) -> dict[str, tuple[bytes, str]]:
    """Return the content of a file and the value of ``--columns``, by the file's name."""
    rows = pairs_of(items)
    systems = f"candidate=answer_{{system}},label={'+'.join(f'{person}_{{system}}' for person in PEOPLE)}"
    numbers = "reference=1,candidate=2,label=3+4+5"
    paths = "reference=gold.all,candidate=out.0.text,label=out.0.grades"
    shapes = {
        "wide.csv": (delimited(rows).encode(), ANNOTATORS),
        "python.tsv": (delimited(rows, "\t", repr).encode(), ANNOTATORS),
        "latin.csv": (delimited(rows, ";").encode("latin-1"), ANNOTATORS),
        "utf16.txt": (delimited(rows, "|").encode("utf-16"), ANNOTATORS),
        "numbers.csv": (without_header(delimited(rows)).encode(), numbers),
        "numbers.txt": (
            without_header(delimited(rows, "\t", repr)).encode(),
            numbers.replace("=", "=column_").replace("+", "+column_"),
        ),
        "log.json": (json.dumps(inspect_log(items)).encode(), "label=metadata.grades"),
        "long.csv": (delimited(long_rows(items)).encode(), ""),
        "systems.csv": (delimited(wide_rows(items)).encode(), systems),
        "golds.csv": (delimited(columns_of_golds(items)).encode(), f"reference=r0+r1+r2,{ANNOTATORS}"),
        "nested.jsonl": ("\n".join(map(json.dumps, nested(items))).encode(), paths),
        "nested.json": (json.dumps({"data": nested(items)}).encode(), paths),
        "wide.jsonl.gz": (gzip.compress("\n".join(map(json.dumps, rows)).encode()), ANNOTATORS),
        "wide.zip": (zipped("a/wide.csv", delimited(rows)), ANNOTATORS),
    }
    if importlib.util.find_spec("openpyxl"):
        shapes["wide.xlsx"] = (workbook(rows), ANNOTATORS)
    return shapes


def check_shapes(content: bytes, folder: Path) -> None:
    """Check that every shape gives the pairs of the plain table."""
    items = json.loads(content)
    expected = [(row["reference"], row["candidate"], [row[person] for person in PEOPLE]) for row in pairs_of(items)]
    for name, (data, columns) in shapes_of(items).items():
        (folder / name).write_bytes(data)
        encoding = "latin-1" if name == "latin.csv" else None
        pairs = load_dataset(folder / name, columns=columns or None, encoding=encoding)
        annotations = pairs.table.column("annotations").to_pylist()
        references, candidates, _ = pairs.texts()
        # in a log a list of one gold answer is one text
        golds = [[each] if name == "log.json" and isinstance(each, str) else each for each in references]
        got = list(zip(golds, candidates, annotations, strict=True))
        if name == "long.csv":
            # annotators in the order of their first label, here that of PEOPLE, since each row has all of them
            assert pairs.notes[-1].startswith(f"{len(got) * 3} annotations"), pairs.notes
        assert got == expected, (name, got, expected)
        given = [[label for label in labels if label is not None] for _, _, labels in expected]
        assert all(abs(mean - sum(all_) / len(all_)) < 1e-9 for mean, all_ in zip(pairs.labels, given, strict=True))


TARGETS = {"shapes": Target(make_table, check_shapes)}
