"""Two searches that share a study on a PostgreSQL server of their own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="optuna is absent: pip install assay[train]")
pytest.importorskip("psycopg", reason='psycopg is absent: pip install "psycopg[binary]"')

from sqlalchemy.engine import URL

from tests.training.tune_run import share_study

PASSWORD = "se{c}ret@1?%"


def find_binaries() -> Path | None:
    """Return the folder of the server's programs."""
    held = shutil.which("initdb")
    found = [Path(held)] if held else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].resolve().parent if found else None


def other_user() -> str | None:
    """Return who runs the server: nobody else but for root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    held = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in held), "")


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that runs for the test."""
    binaries, user = find_binaries(), other_user()
    if binaries is None:
        pytest.skip("initdb is absent: install PostgreSQL")
    if user == "":
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        secret, data = Path(folder, "password"), Path(folder, "data")
        secret.write_text(PASSWORD)
        if user is not None:
            for path in (folder, secret):
                shutil.chown(path, user)

        def call(program: str, *words: str) -> None:
            command = [str(binaries / program), "-D", str(data), *words]
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=300)

        call(
            "initdb",
            "-U",
            "assay",
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "--no-sync",
            "--locale=C",
            "-E",
            "UTF8",
        )
        free.close()
        call("pg_ctl", "-w", "-l", f"{folder}/log", "-o", f"-h 127.0.0.1 -p {port} -k {folder}", "start")
        try:
            made = URL.create("postgresql+psycopg", "assay", PASSWORD, "127.0.0.1", port, "postgres")
            yield made.render_as_string(hide_password=False)
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")


@pytest.mark.slow
def test_two_searches_share_a_server(server, tiny_base, pairs_file, tmp_path):
    files = pairs_file(40, 1), pairs_file(20, 2), pairs_file(20, 3)
    ours = share_study(tiny_base, tmp_path, files, server)
    assert ours["storage"].startswith("postgresql+psycopg://assay:***@127.0.0.1:")
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        assert not any(word.encode() in path.read_bytes() for word in (PASSWORD, server)), path
