"""A real local server that speaks the OpenAI chat-completions protocol, with faults that a seed draws.

In this process: ``with serve(Behaviour(key="k")) as server``, whose requests are in ``server.calls``. In a process of
its own, where the client's time must not be shared: ``with serve_apart(Behaviour(delay=.2)) as (url, record)``.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tests.judge_server.protocol import Behaviour, probability
from tests.judge_server.server import Call, Record, Server, parse

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def serve(
    behaviour: Behaviour | None = None,
    *,
    probability: Callable[[str], float] = probability,
    certificate: Path | None = None,
) -> Iterator[Server]:
    """Serve in a thread; with a certificate (see :func:`self_signed`) over TLS."""
    server = Server(behaviour or Behaviour(), probability)
    context = None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    with listening(server.connected, context) as port:
        server.url = f"http{'s' if context else ''}://127.0.0.1:{port}/v1"
        yield server


@contextmanager
def serve_raw(answer: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> Iterator[str]:
    """Answer each request by a function that writes whatever it likes and closes the connection; yield the address."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            _, _, headers = parse(await reader.readuntil(b"\r\n\r\n"))
            await reader.readexactly(int(headers.get("content-length", 0)))
            await answer(writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            return
        finally:
            writer.close()

    with listening(connected) as port:
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def listening(connected: Connected, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve connections in a thread; yield the port."""
    ports: list[int] = []
    started, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def listen() -> None:
        listener = await asyncio.start_server(connected, "127.0.0.1", 0, limit=2**20, backlog=1024, ssl=context)
        ports.append(listener.sockets[0].getsockname()[1])
        started.set()
        await stop.wait()
        listener.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(listen(),), daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@contextmanager
def serve_apart(behaviour: Behaviour) -> Iterator[tuple[str, Callable[[], Record]]]:
    """Serve in a process of its own; yield the address, and a function that returns the record so far."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "tests.judge_server", json.dumps(asdict(behaviour))]
    environment = os.environ | {"PYTHONPATH": str(root)}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()

    def record() -> Record:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url.removesuffix('/v1')}/record") as reply:
            content = json.load(reply)
        return Record([Call(**call) for call in content["calls"]], content["greatest"])

    try:
        yield url, record
    finally:
        process.communicate()  # its standard input closes, and it ends


def self_signed(folder: Path) -> Path:
    """Return a file with a new certificate for 127.0.0.1 that nobody vouches for, and its key."""
    path = folder / "certificate.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path, "-out", folder / "public.pem"]
    subprocess.run(["openssl", *made], check=True, capture_output=True)
    path.write_text(path.read_text() + (folder / "public.pem").read_text())
    return path
