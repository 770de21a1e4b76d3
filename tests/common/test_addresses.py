"""Addresses: which are opened, and that none is written with its secrets: on the terminal, in run.json, on the page."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.registry import known_implementations

from assay.common.addresses import PROTOCOLS, is_encrypted_or_local, public_address, public_reason, public_text
from assay.common.declarations import Settings, setting
from assay.datasets import load_dataset
from assay.datasets.card import SourceEntry
from assay.exceptions import AssayError, InputError
from assay.manifest import Environment
from tests.cli.calling import call
from tests.fuzz.addresses import TARGETS

SECRETS = [
    ("http://user:pw1@h/x.parquet?sig=pw2", "http://h/x.parquet"),
    ("user:pw1@h", "user:pw1@h"),
    ("https://user:p@ss1@h/x", "https://h/x"),
    ("https://pw1@h/x", "https://h/x"),
    ("https://user:pw1/pw2@h:8/x#pw3", "https://h:8/x"),
    ("https://user:pw1://pw2@h", "https://h"),
    ("simplecache::https://user:pw1@h/x?sig=pw2", "simplecache::https://h/x"),
    ("zip://x.parquet::https://user:pw1@h/x.zip?sig=pw2", "zip://x.parquet::https://h/x.zip"),
    ("--storage=postgresql+psycopg://user:pw1@h/db?password=pw2", "--storage=postgresql+psycopg://h/db"),
    ("mssql://h;user=sa;password=pw1", "mssql://h"),
    ("https://h/x?next=https://user:pw1@g/y", "https://h/x"),
    # with a slash too few or too many, as people mistype them
    ("http:/user:pw1@h/x?sig=pw2", "http:/h/x"),
    ("https:user:pw1@h/x", "https:h/x"),
    ("HTTP:\\\\user:pw1@h/x", "HTTP:\\\\h/x"),
    ("s3:///user:pw1@bucket/x", "s3:///bucket/x"),
    # nothing secret
    ("things: a=b?c", "things: a=b?c"),
    ("mine=judge:gpt@2", "mine=judge:gpt@2"),
    ("s3://bucket/a@b/x.parquet", "s3://bucket/a@b/x.parquet"),
    ("hf://datasets/org/name@main/x.parquet", "hf://datasets/org/name@main/x.parquet"),
    ("http://localhost:8000/v1", "http://localhost:8000/v1"),
    ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ("abfs://data@account.dfs.core.windows.net/x", "abfs://data@account.dfs.core.windows.net/x"),
    ("sqlite:////home/a@b/study.db", "sqlite:////home/a@b/study.db"),
    ("stsb@1:test+dev", "stsb@1:test+dev"),
]


@pytest.mark.parametrize(("word", "written"), SECRETS)
def test_a_word_is_written_without_secrets(word, written):
    assert public_address(word) == written
    assert public_address(written) == written


def test_addresses_in_a_sentence():
    assert public_text("see (http://u:pw@h/x?a=pw): no, 'http://a/b?c=pw'.") == "see (http://h/x): no, 'http://a/b'."


@pytest.mark.parametrize("protocol", sorted({*known_implementations, "nowhere"} - set(PROTOCOLS)))
def test_other_protocols_are_not_opened(protocol, monkeypatch):
    """Whatever fsspec knows, such as ``reference``, whose files are templates that are filled in."""
    monkeypatch.setattr("fsspec.core.url_to_fs", None)
    for address in (f"{protocol}://user:pw@h/x.parquet", f"mine={protocol}://user:pw@h/x.parquet:train"):
        with pytest.raises(
            InputError, match="are not read; those of file, http, https, s3, gs, abfs, hf are"
        ) as raised:
            load_dataset(address)
        assert "pw" not in str(raised.value)


@pytest.mark.parametrize(
    "address",
    [
        "simplecache::https://user:pw@h/x.parquet",
        "zip://x.parquet::https://user:pw@h/a.zip",
        "https://user:pw@h/a.parquet::file:///x",
        "reference::s3://user:pw@b/x.parquet",
    ],
)
def test_chains_are_not_opened(address, monkeypatch):
    monkeypatch.setattr("fsspec.core.url_to_fs", None)
    with pytest.raises(InputError, match="chains addresses by '::'") as raised:
        load_dataset(address)
    assert "pw" not in str(raised.value)


@pytest.mark.parametrize("error", [ValueError, OSError, TypeError, FileNotFoundError, pa.ArrowInvalid, RuntimeError])
@pytest.mark.parametrize("where", ["url_to_fs", "glob", "open"])
def test_whatever_a_file_system_raises_is_one_line_without_secrets(error, where, monkeypatch):
    def fail(*_):
        raise error("no https://user:pw@h/parts?sig=pw, nor user:pw@h\nnor pw")

    class FileSystem:
        glob = staticmethod(fail if where == "glob" else lambda pattern: ["https://user:pw@h/parts/a.parquet?sig=pw"])
        unstrip_protocol = staticmethod(str)
        open = staticmethod(fail)

    monkeypatch.setattr("fsspec.core.url_to_fs", fail if where == "url_to_fs" else lambda a: (FileSystem(), a))
    with pytest.raises(AssayError, match=rf"^https://h/parts.*\({error.__name__}") as raised:
        load_dataset("https://user:pw@h/parts/?sig=pw")
    assert "pw" not in str(raised.value) and raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "is_fit"),
    [
        ("https://example.org/{name}", True),
        ("http://localhost:8000/{name}", True),
        ("http://127.0.0.1/{name}", True),
        ("http://localhost:x@example.org/", False),
        ("http://localhost@example.org/", False),
        ("http://localhost/@example.org/", True),
        ("http://127.0.0.1:80@example.org/", False),
        ("http://localhost\\@example.org/", False),
        ("http://localhost\t.example.org/", False),
        ("http://localhost.example.org/", False),
        ("http://localhost{name}", False),
        ("http://localhost:80{name}", False),
        ("https://user:word@example.org/", False),
        ("https:///x", False),
        ("ftp://localhost/", False),
    ],
)
def test_a_card_names_an_encrypted_or_local_server(url, is_fit):
    assert is_encrypted_or_local(url) == is_fit
    if not is_fit:
        with pytest.raises(ValueError, match="must begin with https://") as raised:
            SourceEntry(kind="https", url=url)
        assert ":word@" not in str(raised.value).partition("[type=")[0]


def test_a_reason_has_no_password_of_an_address_without_a_server() -> None:
    address = "https://user:hunter2/x"
    assert public_address(address) == "https://…"
    assert public_reason(OSError("port 'hunter2' is no number"), address) == "OSError"
    assert public_reason(OSError("no answer"), address) == "OSError: no answer"


@pytest.fixture
def server_in_memory(memory_addresses):
    rows = pa.table({"reference": ["a b", "c", "d e"], "candidate": ["a", "c", "x"], "label": [1.0, 2.0, 0.0]})
    system = fsspec.filesystem("memory")
    with system.open("/user:sesame@h/x.parquet", "wb") as stream:
        pq.write_table(rows, stream)
    yield "memory://user:sesame@h/x.parquet"
    system.rm("/user:sesame@h", recursive=True)


@pytest.mark.slow
def test_neither_the_terminal_nor_the_folder_has_the_secret(server_in_memory, tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    # --traceback sets it for the process; it is put back when the test ends
    monkeypatch.setenv("ASSAY_TRACEBACK", "")
    commands = [
        ["run", "-d", f"mine={server_in_memory}", "-m", "f1", "--bucket", "none", "--out", "a"],
        ["run", "-m", "f1", "--bucket", "none", "--out", "b"],
        ["run", "-d", server_in_memory, "-d", "https://user:sesame@127.0.0.1:9/x.parquet?sig=sesame", "-m", "f1"],
        ["score", server_in_memory, "-m", "f1", "--out", "c.csv"],
        ["datasets", "show", "https://user:sesame@127.0.0.1:9/x.parquet?sig=sesame"],
        ["run", server_in_memory, "https://user:sesame@127.0.0.1:9/x.parquet?sig=sesame"],
        ["--traceback", "run", "https://user:sesame@127.0.0.1:9/x.parquet?sig=sesame", "-m", "f1"],
    ]
    for command in commands:
        configuration = f'[run]\ndataset = "{server_in_memory}"\n' if command[-1] == "b" else ""
        Path("assay.toml").write_text(configuration, encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["assay", *command])
        done = call(*command)
        assert "sesame" not in done.out + done.err, command
    argv = json.loads(Path("a/run.json").read_text(encoding="utf-8"))["environment"]["argv"]
    assert "mine=memory://h/x.parquet" in argv
    assert "memory://h/x.parquet" in Path("a/report.html").read_text(encoding="utf-8")
    for path in Path().rglob("*"):
        if path.is_file() and path.name != "assay.toml":
            assert b"sesame" not in path.read_bytes(), path


def test_a_record_that_an_older_assay_wrote_is_read_without_its_secrets():
    environment = Environment.model_validate(
        {"argv": ["run", "https://u:pw@h/x?sig=pw"], "configured": {"a": ["s3://k:pw@b"]}}
    )
    assert environment.argv == ["run", "https://h/x"] and environment.configured == {"a": ["s3://b"]}


def test_a_command_that_repeats_a_training_has_no_secret():
    from dataclasses import dataclass

    @dataclass(frozen=True, kw_only=True)
    class Own(Settings):
        storage: str = setting("A database.", "")

    own = Own(storage="postgresql://user:pw@h/db?password=pw")
    assert shlex.split(own.command("tune")) == ["assay", "tune", "--storage", "postgresql://h/db"]
    assert own.plain_values() == {"storage": "postgresql://h/db"}


def test_addresses_at_random(tmp_path):
    """As ``python -m tests.fuzz --target address``, which takes as many as you like."""
    from random import Random

    for number in range(300):
        TARGETS["address"].check(TARGETS["address"].make(Random(number)), tmp_path)
