"""The key of an endpoint stands nowhere: in no file that a run leaves, on no stream, in no traceback."""

from __future__ import annotations

import base64
import logging
import os
import sqlite3
import subprocess
import traceback
import zlib
from pathlib import Path

import pyarrow.parquet
import pytest

import assay
from assay.exceptions import AssayError
from assay.metrics import Batch
from assay.metrics.work import open_session, release_sessions
from tests.cli.calling import command
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour
from tests.metrics.judge.questions import judge_at, write_pairs

openai = pytest.importorskip("openai", reason="openai is not installed")

KEY = "sk-proj-Vb7qXw2LrT9mZc4KdYp6"


def traces_of(text: str | bytes) -> list[str]:
    """Return the forms of the key that a text has: as it is, its middle, its digest's input in base64."""
    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    encoded = base64.b64encode(KEY.encode()).rstrip(b"=")
    forms = {
        "key": KEY.encode(),
        "middle": KEY[8:20].encode(),
        "base64": encoded[:-1],
        "hex": KEY.encode().hex().encode(),
    }
    return [name for name, form in forms.items() if form in content]


def files_with_key(folder: Path) -> list[str]:
    """Return the files below a folder in which the key is, read as their formats have it."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        contents = [path.read_bytes(), str(path).encode()]
        if path.suffix == ".parquet":
            contents.append(str(pyarrow.parquet.read_table(path).to_pylist()).encode())
        if path.suffix == ".sqlite":
            contents += cells_of(path)
        if any(traces_of(content) for content in contents):
            found.append(str(path.relative_to(folder)))
    return found


def cells_of(database: Path) -> list[bytes]:
    """Return all cells of a database, those that are compressed as they were."""
    cells = []
    with sqlite3.connect(database) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for row in (row for table in tables for row in connection.execute(f"SELECT * FROM {table}")):
            for cell in row:
                content = cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "replace")
                cells.append(content)
                try:
                    cells.append(zlib.decompress(content))
                except zlib.error:
                    continue
    return cells


def test_the_search_finds_a_key(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("CREATE TABLE kept (content BLOB)")
        connection.execute("INSERT INTO kept VALUES (?)", (zlib.compress(f"the key {KEY}".encode()),))
    (tmp_path / "b.txt").write_text(f"Bearer {KEY}")
    (tmp_path / "c.txt").write_text("nothing")
    assert files_with_key(tmp_path) == ["a.sqlite", "b.txt"]


FAULTS = {"rate limit": 0.1, "error": 0.1, "cut": 0.1, "garbage": 0.1, "html": 0.1, "closed": 0.05}
RIGHT = Behaviour(key=KEY, faults=FAULTS)
#: The server quotes the key that it refuses.
WRONG = Behaviour(key="another")


@pytest.mark.slow
@pytest.mark.parametrize(("behaviour", "code"), [(RIGHT, 0), (WRONG, 1)], ids=["right", "wrong"])
def test_the_command_with_every_switch_that_says_more(tmp_path, behaviour, code):
    pairs = write_pairs(tmp_path / "pairs.csv", 30)
    environment = os.environ | {"OPENAI_API_KEY": KEY, "OPENAI_LOG": "debug", "ASSAY_CACHE": str(tmp_path / "cache")}
    with serve(behaviour) as server:
        arguments = ["run", pairs, "-m", judge_at(server.url), "-o", tmp_path / "out", "--resamples", 100, "--explain"]
        done = subprocess.run(
            command(*arguments, "--verbose", "--traceback"),
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            timeout=100,
        )
        assert done.returncode == code, done.stderr
        assert {call.headers["authorization"] for call in server.chats} == {f"Bearer {KEY}"}
    assert traces_of(done.stdout) == []
    assert traces_of(done.stderr) == []
    if code == 0:
        assert (tmp_path / "out/report.html").exists()
        assert (tmp_path / "cache/replies.sqlite").exists()
    assert files_with_key(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [RIGHT, WRONG], ids=["right", "wrong"])
def test_the_logs_of_the_client_in_python(tmp_path, monkeypatch, caplog, behaviour):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2", "assay", "asyncio"):
        caplog.set_level(logging.DEBUG, name)
    pairs = write_pairs(tmp_path / "pairs.csv", 10)
    with serve(behaviour) as server:
        result = assay.run(pairs, [judge_at(server.url), "f1"], resamples=0)
        assert len(server.chats) >= 1
    assert traces_of(caplog.text) == []
    assert traces_of("".join(str(vars(record)) for record in caplog.records)) == []
    assert traces_of(str(result.failures)) == []
    assert len(result.failures) == (behaviour is WRONG)


def whole_traceback(error: BaseException) -> str:
    """Return a traceback with the local variables of each frame below that of the test, of all causes and contexts."""
    assert error.__traceback__ is not None
    frames = error.__traceback__.tb_next
    return "".join(traceback.TracebackException(type(error), error, frames, capture_locals=True).format())


@pytest.mark.parametrize(
    "behaviour",
    [WRONG, *(Behaviour(key=KEY, faults={kind: 1}, failures=10**6) for kind in ("garbage", "closed", "error", "html"))],
    ids=["wrong", "garbage", "closed", "error", "html"],
)
def test_a_forced_traceback(monkeypatch, behaviour):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serve(behaviour) as server:
        judge = assay.load_metric(judge_at(server.url, retries=0, timeout=2))
        with pytest.raises(AssayError) as raised:
            open_session(judge.needs()).score([judge], Batch(["a"], ["b"], ["c"]))
        release_sessions()
    assert traces_of("".join(traceback.format_exception(raised.value))) == []
    assert traces_of(whole_traceback(raised.value)) == []
    assert traces_of(repr(judge) + str(judge.signature()) + repr(judge.needs())) == []


def test_a_redirect_to_another_server_does_not_take_the_key_along(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serve() as other:
        leading = Behaviour(faults={"redirect": 1}, failures=10**6, elsewhere=f"{other.url}/chat/completions")
        with serve(leading) as server:
            judge = assay.load_metric(judge_at(server.url, retries=0))
            open_session(judge.needs()).score([judge], Batch(["a"], ["b"], ["c"]))
            release_sessions()
        assert KEY in server.chats[0].headers["authorization"]
        assert len(other.chats) == 1
        assert [traces_of(str(call.headers)) for call in other.calls] == [[]]
