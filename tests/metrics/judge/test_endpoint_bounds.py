"""Whatever a server sends, of any status, is bounded in size and time; counts that no server can mean are unknown."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
import zlib

import pytest

import assay
from assay.exceptions import AssayError
from assay.metrics import Batch
from assay.metrics.judge.exchange import MAX_BYTES
from assay.metrics.judge.spending import Purse, use_purse
from assay.metrics.work import open_session, release_sessions
from tests.judge_server import serve_raw
from tests.metrics.judge.questions import judge_at

pytest.importorskip("openai", reason="openai is not installed")

#: Memory that one call may take, beyond what the client has anyway.
MEMORY = 40 * MAX_BYTES
STATUSES = (200, 307, 400, 401, 404, 429, 500, 503)


def ask(url: str, budget: float | None = None, **options: object) -> tuple[list[float], dict[str, object], Purse]:
    """Ask a judge about one pair; return its score, the cost of its session, and the purse."""
    settings = {"retries": 0, "timeout": 1, "price_in": 1, "price_out": 1, **options}
    judge = assay.load_metric(judge_at(url, **settings))
    purse = Purse(budget=budget)
    with use_purse(purse):
        session = open_session(judge.needs())
        try:
            scores = session.score([judge], Batch(["a"], ["b"], ["c"]))
            return scores.values[:, 0].tolist(), session.cost(), purse
        finally:
            release_sessions()


def complaint(url: str, **options: object) -> str:
    """Return the message of a call that fails, which took bounded memory and time."""
    tracemalloc.start()
    started = time.monotonic()
    try:
        with pytest.raises(AssayError) as raised:
            ask(url, **options)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    # a busy machine takes several times as long as an idle one, and a call without a bound never ends
    assert time.monotonic() - started < 60
    message = str(raised.value)
    assert "\n" not in message and len(message) < 1000
    return message


def head(status: int, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Status", *lines, "", ""]).encode()


async def endless(writer: asyncio.StreamWriter, piece: bytes) -> None:
    while True:
        writer.write(piece)
        await writer.drain()


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("line", ["Content-Type: text/plain", "Content-Length: 99999999999"])
def test_a_body_without_end(status, line):
    async def answer(writer):
        writer.write(head(status, line, "Location: /elsewhere"))
        await endless(writer, b"x" * 65536)

    with serve_raw(answer) as url:
        assert url in complaint(url)


@pytest.mark.parametrize("status", STATUSES)
def test_a_body_that_expands_without_end(status):
    """A megabyte of zeros a kilobyte, in one piece of 64: it is not expanded beyond the limit."""
    packed = zlib.compress(bytes(200 * MAX_BYTES), 9)

    async def answer(writer):
        writer.write(head(status, "Content-Encoding: gzip", f"Content-Length: {len(packed)}") + packed)
        await writer.drain()

    with serve_raw(answer) as url:
        assert url in complaint(url)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "x" * 5000])
def test_a_way_of_packing_that_was_not_asked_for(encoding):
    async def answer(writer):
        writer.write(head(200, f"Content-Encoding: {encoding}", "Content-Length: 3") + b"abc")
        await writer.drain()

    with serve_raw(answer) as url:
        assert "compressed in another way" in complaint(url)


@pytest.mark.parametrize(
    "begin", [head(200), head(500), b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 500 ", b"", head(100)[:-2]]
)
@pytest.mark.parametrize("piece", [b"x", b"A: b\r\n", head(100)])
def test_an_answer_that_comes_a_little_at_a_time(begin, piece):
    async def answer(writer):
        writer.write(begin)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.05)

    with serve_raw(answer) as url:
        assert url in complaint(url, timeout=0.5)


@pytest.mark.parametrize("piece", [b"A: b\r\n", b"X" * 1000, head(100), b"X: " + b"y" * 5000 + b"\r\n"])
def test_headers_without_end(piece):
    async def answer(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n" if b"HTTP" not in piece else b"")
        await endless(writer, piece * 20)

    with serve_raw(answer) as url:
        assert url in complaint(url)


def test_redirects_without_end():
    async def answer(writer):
        writer.write(head(307, "Location: /v1/again", "Content-Length: 0"))
        await writer.drain()

    with serve_raw(answer) as url:
        assert "redirects more than 10 times" in complaint(url, timeout=30)


@pytest.mark.parametrize(
    "wait", ["nan", "inf", "-1", "1e999", "9" * 400, "0x10", "Thu, 99 Zed 99999999999999 99:99:99 GMT"]
)
def test_a_time_to_wait_that_nobody_can_mean(wait):
    async def answer(writer):
        writer.write(head(429, f"Retry-After: {wait}", "Content-Length: 0"))
        await writer.drain()

    with serve_raw(answer) as url:
        assert "answers 429" in complaint(url, retries=1)


def completion(usage: str) -> bytes:
    """Return a completion as JSON with a text in place of its usage."""
    body = {"model": "stand-in", "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    return json.dumps(body)[:-1].encode() + b', "usage": ' + usage.encode() + b"}"


COUNTS = (
    *("1e400", f"1{'0' * 400}", "-5", "NaN", "Infinity", "true", '"many"', '"12"', "[1]", '{"a": 1}', "2.5", "1e300"),
    *("1" * 18, "-0.0", '""', "[[[[1]]]]"),
)
ABSURD = [f'{{"prompt_tokens": {count}, "completion_tokens": {count}}}' for count in COUNTS]


@pytest.mark.parametrize("usage", [*ABSURD, "5", '"none"', "[]", "null", "true", "[[[[]]]]"])
def test_counts_that_no_server_can_mean_are_unknown(usage):
    async def answer(writer):
        body = completion(usage)
        writer.write(head(200, f"Content-Length: {len(body)}") + body)
        await writer.drain()

    with serve_raw(answer) as url:
        scores, cost, purse = ask(url, budget=1, verdict="text")
    assert scores == [1.0]
    # the most that the call can have cost
    assert cost["tokens_in"] == cost["tokens_out"] == 0 and cost["unknown"] == 1
    assert cost["price"] == cost["price_unknown"] == pytest.approx(purse.spent)
    assert 2e-4 < purse.spent < 1e-3


def test_numbers_of_five_thousand_digits_are_no_json():
    async def answer(writer):
        body = completion(f'{{"prompt_tokens": 1{"0" * 5000}}}')
        writer.write(head(200, f"Content-Length: {len(body)}") + body)
        await writer.drain()

    with serve_raw(answer) as url:
        assert "is not a chat completion" in complaint(url, verdict="text")
