"""What can be wrong with an endpoint, its key and its prompt: one clear line each, and replies that came are kept."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from assay.metrics.judge.probing import MOST_NEW_NAMES
from tests.cli.calling import Done, call
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour
from tests.metrics.judge.questions import judge_at, write_pairs

pytest.importorskip("openai", reason="openai is not installed")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(tmp_path / "pairs.csv", 12)


def run(pairs: Path, metric: str, *options: str) -> Done:
    """Run into a folder of its own."""
    folder = pairs.parent / f"out{len(list(pairs.parent.iterdir()))}"
    return call("run", pairs, "-m", metric, "--resamples", 0, "--no-page", "-o", folder, *options)


def complaint(done: Done) -> str:
    """Return the one line that says what is wrong; nothing else is on stderr, and the exit code says so."""
    assert done.code in (1, 2), (done.code, done.err)
    lines = [line for line in done.err.splitlines() if line.startswith("assay: ")]
    assert len(lines) == 1, done.err
    assert "Traceback" not in done.err
    return lines[0]


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_no_key(pairs, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    line = complaint(run(pairs, judge_at("https://api.example.com/v1")))
    assert "no key for https://api.example.com/v1" in line
    assert "export OPENAI_API_KEY=" in line


def test_a_key_that_is_wrong(pairs, monkeypatch):
    monkeypatch.setenv("OTHER_KEY", "sk-wrong-one")
    with serve(Behaviour(key="right")) as server:
        line = complaint(run(pairs, judge_at(server.url, key="OTHER_KEY")))
        # it is not tried again and again
        assert len(server.calls) <= 2
    assert "OTHER_KEY" in line
    assert "key" in line
    assert "sk-wrong-one" not in line


def test_a_key_in_the_place_of_its_variable(pairs):
    line = complaint(run(pairs, judge_at("http://127.0.0.1/v1", key="sk-proj-123")))
    assert "environment variable" in line
    assert "sk-proj-123" not in line


def test_a_model_that_the_server_does_not_have(pairs):
    with serve(Behaviour(model="another")) as server:
        line = complaint(run(pairs, judge_at(server.url)))
        assert len(server.chats) <= 2
    assert "stand-in" in line
    assert server.url in line
    assert "does not exist" in line


def test_an_address_where_nobody_listens(pairs, free_port):
    url = f"http://127.0.0.1:{free_port}/v1"
    line = complaint(run(pairs, judge_at(url, retries=1)))
    assert url in line
    assert "nothing answers there" in line


def test_a_name_that_has_no_address(pairs, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    line = complaint(run(pairs, judge_at("http://nowhere.invalid/v1", retries=0)))
    assert "http://nowhere.invalid/v1" in line


@pytest.mark.parametrize("path", ["", "/v2", "/v1/chat/completions"])
def test_a_path_that_is_not_the_protocols(pairs, path):
    with serve() as server:
        url = server.url.removesuffix("/v1") + path
        line = complaint(run(pairs, judge_at(url, retries=1)))
        assert len(server.calls) <= 3
    assert url in line
    assert "/v1" in line


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["html", "no http", "redirect", "shapeless", "garbage"])
def test_a_server_that_speaks_something_else(pairs, kind):
    with serve(Behaviour(faults={kind: 1}, failures=10**6)) as server:
        line = complaint(run(pairs, judge_at(server.url, retries=1)))
        assert len(server.calls) <= 8
    assert server.url in line


def test_a_certificate_that_nobody_vouches_for(pairs, certificate):
    with serve(certificate=certificate) as server:
        line = complaint(run(pairs, judge_at(server.url, retries=1)))
    assert server.url in line
    assert "certificate" in line
    assert "SSL_CERT_FILE" in line


def test_a_certificate_that_the_user_vouches_for(pairs, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serve(certificate=certificate) as server:
        assert run(pairs, judge_at(server.url)).code == 0
        assert len(server.chats) == 12


def test_a_rate_limit_that_never_ends_keeps_what_came(pairs):
    with serve() as server:
        assert run(pairs, judge_at(server.url), "--limit", "5").code == 0
        server.behaviour = Behaviour(faults={"rate limit": 1}, failures=10**6, retry_after=0.01)
        line = complaint(run(pairs, judge_at(server.url, retries=2)))
        server.behaviour = Behaviour()
        assert run(pairs, judge_at(server.url)).code == 0
        assert server.outcomes["answer"] == 12
    assert "Rate limit reached" in line
    assert "429" in line


def test_a_prompt_that_is_too_long_is_counted_and_cut_only_where_asked(pairs):
    rows = pairs.read_text().splitlines()
    rows[3] = rows[3].replace("it is", "it is " + "very " * 500)
    pairs.write_text("\n".join([*rows, ""]))
    with serve(Behaviour(context=300)) as server:
        done = run(pairs, judge_at(server.url))
        assert server.outcomes == {"answer": 11, "refusal": 1}
        cut = run(pairs, judge_at(server.url, cut=200), "--fresh")
    assert "too long" in done.err + done.out
    assert "truncated" in cut.err + cut.out


@pytest.mark.slow
def test_a_reply_of_ten_megabytes(pairs):
    with serve(Behaviour(faults={"huge": 1}, failures=10**6)) as server:
        line = complaint(run(pairs, judge_at(server.url, retries=1)))
    assert server.url in line
    assert "longer than 1,048,576 bytes" in line


def test_a_prompt_without_a_field_that_it_needs(pairs, tmp_path):
    prompt = tmp_path / "mine.toml"
    prompt.write_text('user = "Is {{ reference }} right?"')
    line = complaint(run(pairs, judge_at("http://127.0.0.1:1/v1", prompt=prompt)))
    assert "mine.toml" in line
    assert "candidate" in line


def test_a_prompt_with_a_question_that_the_data_lack(tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("reference,candidate,label\na,b,1\nc,d,0\ne,e,1\n")
    prompt = tmp_path / "mine.toml"
    prompt.write_text('user = "{{ question }} {{ reference }} {{ candidate }}"')
    with serve() as server:
        line = complaint(run(pairs, judge_at(server.url, prompt=prompt)))
        assert server.calls == []
    assert "question" in line


def test_labels_in_a_prompt_would_tell_the_judge(pairs, tmp_path):
    prompt = tmp_path / "mine.toml"
    prompt.write_text('user = "{{ reference }} {{ candidate }} people said {{ label }}"')
    line = complaint(run(pairs, judge_at("http://127.0.0.1:1/v1", prompt=prompt)))
    assert "label" in line


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:8000", "is not an address"),
        ("ftp://localhost/v1", "is not an address"),
        ("http://user:secret@localhost/v1", "recorded"),
        ("http://localhost:99999/v1", "is not an address"),
    ],
)
def test_an_address_that_is_none(pairs, url, words):
    line = complaint(run(pairs, judge_at(url)))
    assert words in line
    assert "secret" not in line


@pytest.mark.parametrize("parameter", ["temperature", "seed"])
def test_a_parameter_that_the_model_does_not_take_is_left_out(pairs, parameter):
    with serve(Behaviour(unsupported=(parameter,))) as server:
        done = run(pairs, judge_at(server.url))
        assert server.outcomes == {"answer": 12, "refusal": 1}
    assert done.code == 0, done.err
    assert f"no {parameter}, which the server refuses" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "unsupported",
    [("logprobs",), ("logprobs", "response_format"), ("max_tokens",), ("logprobs", "response_format", "max_tokens")],
    ids=" ".join,
)
def test_what_a_server_lacks_is_learned_by_the_first_calls(pairs, unsupported):
    with serve(Behaviour(unsupported=unsupported)) as server:
        assert run(pairs, judge_at(server.url)).code == 0
        assert server.outcomes == {"answer": 12, "refusal": len(unsupported)}
        again = run(pairs, judge_at(server.url), "--fresh")
        # it is known from then on
        assert server.outcomes == {"answer": 24, "refusal": len(unsupported)}
    assert again.code == 0


def test_a_server_that_leaves_out_what_is_optional(pairs):
    with serve(Behaviour(sparse=True)) as server:
        done = run(pairs, judge_at(server.url))
        assert server.outcomes == {"answer": 12}
    assert done.code == 0, done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("closed", "closed the connection without an answer"),
        ("no http", "does not speak HTTP"),
        ("slow", "did not answer in time"),
        ("rate limit", "after 1 retry"),
        ("redirect", "text/html"),
        ("cut", "was cut"),
    ],
)
def test_each_cause_has_its_words(pairs, kind, words):
    with serve(Behaviour(faults={kind: 1}, failures=10**6, retry_after=0.01, slow=60)) as server:
        line = complaint(run(pairs, judge_at(server.url, retries=1, timeout=0.5 if kind == "slow" else 60)))
    assert words in line


@pytest.mark.parametrize(
    "behaviour", [Behaviour(unsupported=("logprobs",)), Behaviour(ignored=("logprobs", "top_logprobs"))]
)
def test_probabilities_that_the_server_does_not_give(pairs, behaviour):
    with serve(behaviour) as server:
        line = complaint(run(pairs, judge_at(server.url, verdict="probability")))
        assert len(server.chats) == 1
    assert "leave verdict=probability away" in line


def test_a_server_that_reports_another_name_with_each_reply(pairs):
    with serve(Behaviour(renamed=True)) as server:
        line = complaint(run(pairs, judge_at(server.url)))
        # each of these calls is paid for
        assert len(server.chats) == MOST_NEW_NAMES
    assert f"{server.url} reports another model name with each reply ('stand-in-" in line
    assert "name one model of the server" in line


def test_http_where_https_is_spoken(pairs, certificate):
    with serve(certificate=certificate) as server:
        line = complaint(run(pairs, judge_at(server.url.replace("https:", "http:"), retries=0)))
    assert "does it speak https" in line


def test_a_server_that_resets_the_connection(pairs):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reset_every_connection() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                # wait for the request and leave it unread: closing then resets the connection
                connection.recv(1, socket.MSG_PEEK)
                time.sleep(0.1)
                connection.close()

        threading.Thread(target=reset_every_connection, daemon=True).start()
        line = complaint(run(pairs, judge_at(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", retries=0)))
    assert "it closed the connection without an answer (does it speak https" in line


@pytest.mark.slow
def test_a_reply_that_would_act_on_the_terminal_or_the_page(pairs):
    hostile = "\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>\u202eperhaps"
    with serve(Behaviour(verdicts=(hostile, "no"), served=hostile)) as server:
        folder = pairs.parent / "whole"
        done = call("run", pairs, "-m", judge_at(server.url, verdict="text"), "-m", "f1", "-b", "none", "-o", folder)
    assert done.code == 0
    assert "perhaps" in done.out
    written = call("table", folder, "--write")
    assert written.code == 0
    for text in (done.out, done.err, (folder / "table.md").read_text(), (folder / "report.html").read_text()):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "<script>alert" not in (folder / "report.html").read_text()
