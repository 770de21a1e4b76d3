"""The table "what I have, what I write" of docs/data.md: each line runs on a file of that kind."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from tests.cli.calling import call

PAGE = Path(__file__).parents[2] / "docs/data.md"
LOGS = Path(__file__).parents[1] / "datasets/logs"
LINES = re.findall(r"^\| .* \| `assay (.*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
JUDGED = {
    "gold": ["a", "b"],
    "judged": [{"text": "a", "grade": 2}, {"text": "c x", "grade": 0}, {"text": "b", "grade": 1}],
}


def table(header: str, *rows: str) -> bytes:
    return "\n".join([header, *rows, ""]).encode()


def repeated(*rows: str, times: int = 4) -> list[str]:
    """Return rows again and again, with other texts each time."""
    return [row.replace("N", str(number)) for number in range(times) for row in rows]


def rated_by_people() -> bytes:
    """Return the log of promptfoo with the verdict of a person in two of three results."""
    log = json.loads((LOGS / "promptfoo.json").read_text(encoding="utf-8"))
    for score, row in enumerate(log["results"]["results"][:2]):
        human = {"pass": bool(score), "score": score, "assertion": {"type": "human"}}
        row["gradingResult"]["componentResults"].append(human)
    return json.dumps(log).encode()


HEADER = "reference,candidate,label"
#: The content of each file, and the number of pairs in it.
FILES: dict[str, tuple[bytes, int]] = {
    "answers.csv": (table("gold,answer,score", *repeated("aN b,aN,1", "cN,cN,2", "dN,e,0")), 12),
    "plain.tsv": (table("a b\ta\t1", *repeated("cN\tcN\t2", "dN\te\t0")), 9),
    "free.csv": (table("source,output,label,judge", *repeated("q,aN,1,.5", "q,cN,2,.75", "q,dN,0,.25")), 12),
    "rag.jsonl": (
        table(*repeated(*(
            json.dumps({"gold": "aN", "answer": text, "docs": [{"text": "p"}, {"text": "q"}], "label": label})
            for text, label in (("aN", 2), ("b x", 1), ("e", 0))
        ))),
        12,
    ),
    "cells.csv": (table(HEADER, *repeated("aN;b,aN,1", "cN;d,d,2", "dN,e,0")), 12),
    "lists.csv": (table(HEADER, *repeated("\"['aN', 'b']\",b,1", "cN,cN,2", "dN,e,0")), 12),
    "columns.csv": (table("ref1,ref2,candidate,label", *repeated("aN,b,b,1", "cN,d,cN,2", "dN,,e,0")), 12),
    "words.csv": (table(HEADER, *repeated("aN x,aN,partly", "cN,cN,Yes", "dN,e,no")), 12),
    "unsure.csv": (table(HEADER, *repeated("aN x,aN,1", "cN,cN,2", "dN,e,0", "f,g,unsure", "h,i,-1", "j,k,n/a")), 12),
    "annotators.csv": (
        table("reference,candidate,a1,a2,a3", *repeated("aN x,aN,1,1,2", "cN,cN,2,2,", "dN,e,0,0,1")),
        12,
    ),
    "crowd.csv": (
        table("reference,candidate,who,label", *repeated("aN x,aN,p,1", "aN x,aN,q,2", "dN,e,p,0", "dN,e,q,0")),
        8,
    ),
    "unknown.csv": (table(HEADER, *repeated("aN x,aN,1", "aN x,aN,2", "dN,e,0", "dN,e,0")), 8),
    "aspects.csv": (
        table("reference,candidate,coherence,relevance", *repeated("aN x,aN,1,2", "cN,cN,2,1", "dN,e,0,0")),
        24,
    ),
    "systems.csv": (
        table("reference,answer_s,answer_t,judge_s,judge_t", *repeated("aN x,aN,b,1,0", "cN,cN,d,2,0", "dN,e,dN,0,2")),
        24,
    ),
    "duels.csv": (table("reference,a,b,winner", *repeated("aN x,aN,b,a", "cN,d,cN,b", "dN,e,f,tie")), 24),
    "nested.jsonl": (
        table(*repeated(*(
            json.dumps({"ref": {"answers": ["aN", "b"]}, "out": [{"text": text}], "human": {"score": score}})
            for text, score in (("aN", 2), ("b x", 1), ("e", 0))
        ))),
        12,
    ),
    "judged.json": (json.dumps({str(number): JUDGED for number in range(4)}).encode(), 12),
    "archive.zip": (b"", 3),
    "koi8.csv": (table(HEADER, "дом,дом,2", "мир,дом,0", "кот и пёс,кот,1").decode().encode("koi8-r"), 3),
    "samples.jsonl": ((LOGS / "samples_capitals.jsonl").read_bytes(), 6),
    "inspect.eval": ((LOGS / "inspect.eval").read_bytes(), 6),
    "promptfoo.json": (rated_by_people(), 2),
    "deepeval.json": ((LOGS / "deepeval.json").read_bytes(), 3),
    "ragas.csv": ((LOGS / "ragas.csv").read_bytes(), 2),
    "scored.csv": (table("human,bleu,chrf", *repeated("1,.5,.4", "2,.75,.9", "0,.25,.1")), 12),
}  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split()[1])
def test_a_line_of_the_table(workplace: Path, line: str) -> None:
    verb, name, *options = shlex.split(line)
    content, count = FILES[name]
    if name == "archive.zip":
        with zipfile.ZipFile(name, "w") as archive:
            archive.writestr("data/pairs.csv", table(HEADER, "a,a,2", "b,c,0", "d e,d,1"))
            archive.writestr("README.md", "no pairs")
    else:
        Path(name).write_bytes(content)
    done = call(verb, name, *options, "--resamples", 0, "--out", "RUN")
    assert done.code == 0, done.err
    manifest = json.loads(Path("RUN/run.json").read_text(encoding="utf-8"))
    assert sum(dataset["n"] for dataset in manifest["datasets"]) == count
    assert not any("run with" in hint for dataset in manifest["datasets"] for hint in dataset["hints"]), done.out


def test_every_kind_of_file_has_a_line() -> None:
    assert [shlex.split(line)[1] for line in LINES] == list(FILES)
