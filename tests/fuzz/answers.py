"""Answers of a judge's server that repeat the key in a random place and encoding: the input is what it sends."""

from __future__ import annotations

import asyncio
import functools
import os
import tempfile
from pathlib import Path
from random import Random

from assay.exceptions import AssayError
from tests.fuzz.target import Target
from tests.judge_server import self_signed, serve_raw
from tests.metrics.judge import repeating

#: What the server of this process sends next, and how often it was sent.
_NEXT, _SENT = [b""], [0]
#: The servers, which end with the process.
_SERVERS: list[object] = []


@functools.cache
def _address(process: int) -> str:
    """Return the address of a server in a thread of this process."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        _SENT[0] += 1
        writer.write(_NEXT[0])
        await writer.drain()

    server = serve_raw(answer)
    _SERVERS.append(server)
    return server.__enter__()


@functools.cache
def _certificate(process: int) -> Path:
    return self_signed(Path(tempfile.mkdtemp()))


def ask(content: bytes, folder: Path) -> None:
    """Ask a judge, and look for the key in its score, its cost, its error, its logs and the store of replies."""
    import assay
    from assay.metrics import Batch
    from assay.metrics.work import open_session, release_sessions

    _NEXT[0], _SENT[0] = content, 0
    # the usual certificates take longer to read than all the rest
    os.environ["SSL_CERT_FILE"] = str(_certificate(os.getpid()))
    store = folder / "cache" / "replies.sqlite"
    store.unlink(missing_ok=True)
    os.environ |= {"ASSAY_CACHE": str(folder / "cache"), "OPENAI_API_KEY": repeating.KEY}
    kept = []
    with repeating.everything_logged() as lines:
        judge = assay.load_metric(f"judge:m,endpoint={_address(os.getpid())},retries=0,timeout=5")
        try:
            session = open_session(judge.needs())
            kept.append(str(session.score([judge], Batch(["a"], ["b"]))))
            kept.append(str(session.cost()))
        except AssayError as error:
            kept.append(str(error))
        finally:
            release_sessions()
    assert _SENT[0], "the server was not asked"
    text = "\n".join((*kept, *lines, repeating.cells_of(store)))
    traces = repeating.traces_in(text)
    assert not traces, f"{traces} in {text[-3000:]!r}"


def make(random: Random) -> bytes:
    return repeating.answer_with_key(random)


TARGETS = {"answer-with-key": Target(make, ask)}
