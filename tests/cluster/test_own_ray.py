"""The Ray that assay starts on this machine: who can reach it, and who can run a task there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is absent: pip install assay[ray]")
pytestmark = pytest.mark.slow

#: Starts Ray as a run does, prints what listens, and waits for a line.
OWNER = """
import json, os, sys, time
from pathlib import Path

if "imported" in sys.argv:
    import ray
from assay.cluster.connection import Connection

before = dict(os.environ)
connection = Connection(None, 1)
import ray


@ray.remote
def number():
    return 7


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def listening():
    '''The addresses, as /proc writes them, on which this process and its descendants listen.'''
    family, grown = {os.getpid()}, True
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    while grown:
        grown = False
        for pid in pids:
            try:
                if pid not in family and parent_of(pid) in family:
                    family.add(pid)
                    grown = True
            except OSError:
                pass
    sockets = set()
    for pid in family:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(os.readlink(link))
            except OSError:
                pass
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.append(fields[1].partition(":")[0])
    return found


assert ray.get(number.remote(), timeout=120) == 7
print(json.dumps({"gcs": ray.get_runtime_context().gcs_address, "listening": listening(),
                  "token": os.environ["RAY_AUTH_TOKEN"]}), flush=True)
sys.stdin.readline()
connection.close()
names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")
assert [os.environ.get(name) for name in names] == [before.get(name) for name in names]
"""

#: A process that runs a task at an address and prints what it returned.
STRANGER = """
import sys
import ray

ray.init(address=sys.argv[1], log_to_driver=False, configure_logging=False)


@ray.remote
def number():
    return 6 * 7


print("the task returned", ray.get(number.remote(), timeout=60), flush=True)
"""
#: 127.0.0.1, and the same address mapped into IPv6, as /proc writes them.
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def stranger(address: str, home: Path, variables: dict[str, str]) -> subprocess.Popen[str]:
    """A process of somebody else that tries to run a task, with these variables of Ray."""
    # else Ray looks for 127.0.0.1 at an address of this machine that others reach
    environment = environment_of(home, {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", **variables})
    command = [sys.executable, "-c", STRANGER, address]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def environment_of(home: Path, variables: dict[str, str]) -> dict[str, str]:
    """The environment without the variables of Ray but these, and with a home without a token."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return environment | {"HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0", **variables}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="listening sockets are read from /proc")
@pytest.mark.parametrize(
    ("variables", "way"),
    [
        ({"RAY_AUTH_MODE": "disabled"}, "plain"),
        ({"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": ""}, "imported"),
        ({"RAY_AUTH_MODE": "", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}, "imported"),
        ({}, "plain"),
    ],
)
def test_only_this_machine_reaches_it_and_only_with_its_token(
    tmp_path: Path, variables: dict[str, str], way: str
) -> None:
    owner: subprocess.Popen[str] = subprocess.Popen(
        [sys.executable, "-c", OWNER, way],
        env=environment_of(tmp_path, variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdin is not None and owner.stdout is not None
    try:
        facts: dict[str, Any] = json.loads(owner.stdout.readline())
        assert facts["gcs"].startswith("127.0.0.1:")
        assert len(facts["listening"]) >= 3 and set(facts["listening"]) <= LOOPBACK
        assert len(facts["token"]) >= 32
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": facts["token"]}
        # the one with the token shows that the others fail for want of it
        with_token = stranger(facts["gcs"], tmp_path, token)
        others = [
            stranger(facts["gcs"], tmp_path, {"RAY_AUTH_MODE": "disabled"}),
            stranger(facts["gcs"], tmp_path, token | {"RAY_AUTH_TOKEN": "0" * 64}),
        ]
        said, *refusals = [process.communicate(timeout=240)[0] for process in (with_token, *others)]
        assert "the task returned 42" in said
        for refusal in refusals:
            assert "returned" not in refusal and "uthentication" in refusal
    finally:
        _, _ = owner.communicate("\n", timeout=120)
    assert owner.returncode == 0
    assert not (tmp_path / ".ray" / "auth_token").exists()
