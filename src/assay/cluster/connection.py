"""A connection to Ray: a cluster that runs, or a Ray of its own on this machine; without statistics and dashboards."""

from __future__ import annotations

import functools
import logging
import os
import re
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from assay.errors import ClusterError, MissingExtraError, summary_of

log = logging.getLogger(__name__)

#: Seconds that an address has to answer.
PATIENCE = 5.0
#: Variable with the token that processes of a cluster show each other.
TOKEN = "RAY_AUTH_TOKEN"
#: What starts a cluster, for messages.
START = "start one with: ray start --head"
_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})", re.ASCII)
#: What a client of HTTP/2 sends first (RFC 9113, section 3.4) with a frame of no settings, and the type of the frame
#: that the server answers with. Ray speaks it, and waits for minutes where something else has the port.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS_FRAME = 4
_FRAME_HEADER = 9


def import_ray() -> Any:
    """Return the module ray, told to keep to itself.

    Raises:
        MissingExtraError: it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray") from error
    # after the import, which sets a level of its own
    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


class Connection:
    """A connection to a cluster, made at once; a Python user's own, where there is one.

    Args:
        address: ``HOST:PORT`` of the head node, or ``auto`` for the cluster of this machine. By default that of the
            variable ``RAY_ADDRESS``; where there is none, a Ray on this machine that ends with the connection.
        cores: of a Ray on this machine.

    Raises:
        ClusterError: there is no cluster at the address, or one that this process cannot join.
        MissingExtraError: Ray is not installed.
    """

    def __init__(self, address: str | None, cores: int) -> None:
        self._ray = import_ray()
        self._is_own = not self._ray.is_initialized()
        self._has_token = False
        if not self._is_own:
            return
        address = address or os.environ.get("RAY_ADDRESS") or None
        if address is not None:
            check_address(address)
        settings: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if address is None:
            settings |= {"num_cpus": cores, "include_dashboard": False}
            # Ray would write a token of its own into the user's home
            self._has_token = TOKEN not in os.environ
            os.environ.setdefault(TOKEN, _own_token())
        _keep_off_the_terminal()
        try:
            self._ray.init(address=address or "local", **settings)
        except (
            ConnectionError,
            RuntimeError,
            ValueError,
            TimeoutError,
            OSError,
            self._ray.exceptions.RayError,
        ) as error:
            self.close()
            where = "Ray on this machine" if address is None else f"`address={address}`"
            remedy = "" if address is None else f"; run the command on a node of that cluster, or {START}"
            raise ClusterError(f"{where}: cannot be used ({summary_of(error)}){remedy}") from error

    def nodes(self) -> dict[str, Mapping[str, Any]]:
        """Return the nodes that are alive, as Ray describes them, by id."""
        return {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}

    def close(self) -> None:
        """Leave the cluster, unless the connection is a Python user's own."""
        if self._is_own:
            self._ray.shutdown()
        if self._has_token:
            os.environ.pop(TOKEN, None)


def check_address(address: str) -> None:
    """Return when a server of gRPC answers at an address, or when it is ``auto``.

    Raises:
        ClusterError: none answers within :data:`PATIENCE` seconds, or the address has another form.
    """
    if address == "auto":
        return
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise ClusterError(
            f"`address={address}`: must be HOST:PORT of the head node, such as 10.0.0.1:6379, or auto; the command "
            "runs on a node of the cluster (docs/cluster.md)"
        )
    try:
        answer = _greet(match["host"].strip("[]"), int(match["port"]))
    except OSError as error:
        reason = "timed out" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise ClusterError(
            f"`address={address}`: no answer within {PATIENCE:.0f} s ({reason}); check host and port, or {START}"
        ) from None
    if len(answer) < _FRAME_HEADER or answer[3] != _SETTINGS_FRAME:
        raise ClusterError(f"`address={address}`: what answers there is no Ray; check the port, or {START}")


def _greet(host: str, port: int) -> bytes:
    """Return the first bytes that a server answers to a client of HTTP/2."""
    with socket.create_connection((host, port), timeout=PATIENCE) as line:
        line.sendall(_PREFACE)
        return line.recv(_FRAME_HEADER)


@functools.cache
def _own_token() -> str:
    """Return the token of clusters that this process starts; Ray reads it once a process."""
    return secrets.token_hex(32)


def _keep_off_the_terminal() -> None:
    """Send what Ray prints of dead nodes to the log: it has no setting for it, and stdout is for data."""
    with suppress(ImportError):
        from ray._private import worker

        if hasattr(worker, "print_to_stdstream"):
            worker.print_to_stdstream = _log_lines


def _log_lines(data: Mapping[str, Any], ignore_prefix: bool = False) -> None:
    """Log the first line of what Ray would print; the rest is in Ray's own log."""
    lines = [line for text in data.get("lines", ()) for line in str(text).splitlines() if line.strip()]
    if lines:
        log.info("ray: %s", lines[0])
