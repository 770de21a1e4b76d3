"""A connection to a running Ray cluster, or to a local Ray of its own; without usage statistics and dashboard."""

from __future__ import annotations

import functools
import ipaddress
import logging
import os
import re
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from assay.common.messages import Setting
from assay.exceptions import ClusterError, MissingExtraError, summary_of

log = logging.getLogger(__name__)

#: Seconds to wait for an answer from an address.
PATIENCE = 5.0
#: The environment variables with the token by which processes of a cluster authenticate each other, and with whether
#: they do so.
TOKEN_VARIABLE, MODE_VARIABLE = "RAY_AUTH_TOKEN", "RAY_AUTH_MODE"
#: The environment variable that keeps a Ray on the loopback address if it is 0. Ray's argument for the address of a
#: node cannot: Ray replaces 127.0.0.1 there by an address that others can reach.
_REACHABLE_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
#: The advice on how to start a cluster, for messages.
START_ADVICE = "start one with: ray start --head"
_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})", re.ASCII)
#: The first bytes of an HTTP/2 client (RFC 9113, section 3.4) with an empty settings frame, and the type of the frame
#: that a server answers with. Ray's servers speak HTTP/2; Ray's own client would wait for minutes for any other server.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS_FRAME = 4
_FRAME_HEADER = 9


def import_ray() -> Any:
    """Return the module ray, with all but its error messages turned off.

    Its usage statistics are turned off unless the environment variable RAY_USAGE_STATS_ENABLED is set.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray") from error
    # Set only now, because the import sets a level of its own.
    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


class Connection:
    """A connection to a cluster, established on construction.

    If this process is connected already, that connection is reused, and the arguments have no effect.

    Args:
        address: ``HOST:PORT`` of the head node, or ``auto`` for the cluster of this machine. None for the address in
            the variable ``RAY_ADDRESS``; if that is unset, a local Ray is started that ends with the connection.
        cores: the number of CPUs of a local Ray.

    Raises:
        ClusterError: there is no cluster at the address, this process cannot join it, or a local Ray would be open to
            other machines.
        MissingExtraError: Ray is not installed.
    """

    def __init__(self, address: str | None, cores: int) -> None:
        self._ray = import_ray()
        self._is_own = not self._ray.is_initialized()
        self._environment: dict[str, str | None] = {}
        if not self._is_own:
            return
        cluster_address = address or os.environ.get("RAY_ADDRESS") or None
        settings: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if cluster_address is not None:
            check_address(cluster_address)
        else:
            settings |= {"num_cpus": cores, "include_dashboard": False}
            self._keep_to_this_machine()
        _redirect_ray_output()
        try:
            self._ray.init(address=cluster_address or "local", **settings)
        except (OSError, RuntimeError, ValueError, self._ray.exceptions.RayError) as error:
            # Ray has no class of its own for most of what can go wrong here.
            self.close()
            raise _unusable_error(cluster_address, error) from error
        if cluster_address is None:
            self._check_closed_to_others()

    def _keep_to_this_machine(self) -> None:
        """Set the environment, until :meth:`close`, so that a local Ray listens on 127.0.0.1 and requires a token."""
        # Without a token in the environment, Ray would write one into the user's home.
        token = os.environ.get(TOKEN_VARIABLE, "").strip() or _own_token()
        # A local Ray requires a token if no mode is set, even in a process that has read another mode before.
        values: dict[str, str | None] = {TOKEN_VARIABLE: token, MODE_VARIABLE: None, _REACHABLE_VARIABLE: "0"}
        self._environment = {name: os.environ.get(name) for name in values}
        _set_environment(values)
        _reread_environment()

    def _check_closed_to_others(self) -> None:
        """Check that the local Ray is closed to other machines and requires a token.

        Ray's ways to do so, which :meth:`_keep_to_this_machine` uses, change between its versions.

        Raises:
            ClusterError: the local Ray listens on another address or requires no token; it has been ended.
        """
        addresses = {str(node["NodeManagerAddress"]) for node in self._ray.nodes()}
        # Ray sets the variable when it turns tokens on
        if os.environ.get(MODE_VARIABLE) == "token" and all(map(_is_loopback, addresses)):
            return
        self.close()
        raise ClusterError(
            f"Ray on this machine: Ray {self._ray.__version__} would let others run code (it listens on "
            f"{', '.join(sorted(addresses))}); start a cluster with a token and name it with ",
            Setting("address"),
        )

    def nodes(self) -> dict[str, Mapping[str, Any]]:
        """Return the nodes that are alive, as Ray describes them, by id."""
        return {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}

    def close(self) -> None:
        """Leave the cluster or end the local Ray, unless the connection existed before this object.

        What this object has set in the environment for a local Ray is as it was before.
        """
        if self._is_own:
            self._ray.shutdown()
        if self._environment:
            _set_environment(self._environment)
            _reread_environment()
            self._environment = {}


def _set_environment(values: Mapping[str, str | None]) -> None:
    """Set variables of the environment; None removes one."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _reread_environment() -> None:
    """Let Ray read the environment again, of which it keeps what it found when it was imported."""
    # Parts of Ray that other versions may lack; _check_closed_to_others reports where this matters.
    with suppress(ImportError, AttributeError):
        from ray._private import ray_constants

        core: Any = import_module("ray._raylet")
        is_reachable = ray_constants.env_bool(_REACHABLE_VARIABLE, not ray_constants.IS_WINDOWS_OR_OSX)
        ray_constants.ENABLE_RAY_CLUSTER = is_reachable
        core.Config.initialize("")


def _is_loopback(address: str) -> bool:
    """Return whether only this machine reaches an address; False also for what is no IP address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _unusable_error(address: str | None, error: Exception) -> ClusterError:
    """Return the error for a cluster that this process cannot join; the address is None for a local Ray."""
    reason = f"cannot be used ({summary_of(error)})"
    if address is None:
        return ClusterError(f"Ray on this machine: {reason}")
    return ClusterError(
        f"{reason}; run the command on a node of that cluster, or {START_ADVICE}", setting="address", value=address
    )


def check_address(address: str) -> None:
    """Check that an HTTP/2 server, as those of Ray are, answers at an address; ``auto`` is not checked.

    Args:
        address: ``HOST:PORT``, with an IPv6 address in square brackets.

    Raises:
        ClusterError: no such server answers within :data:`PATIENCE` seconds, or the address is malformed.
    """
    if address == "auto":
        return
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise ClusterError(
            "must be HOST:PORT of the head node, such as 10.0.0.1:6379, or auto; the command "
            "runs on a node of the cluster (docs/cluster.md)",
            setting="address",
            value=address,
        )
    try:
        answer = _greet_server(match["host"].strip("[]"), int(match["port"]))
    except OSError as error:
        reason = "timed out" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise ClusterError(
            f"no answer within {PATIENCE:.0f} s ({reason}); check host and port, or {START_ADVICE}",
            setting="address",
            value=address,
        ) from None
    # The fourth byte of a frame's header is the type of the frame.
    if len(answer) < _FRAME_HEADER or answer[3] != _SETTINGS_FRAME:
        raise ClusterError(
            f"what answers there is no Ray; check the port, or {START_ADVICE}", setting="address", value=address
        )


def _greet_server(host: str, port: int) -> bytes:
    """Return the first bytes of a server's answer to an HTTP/2 client, at most a frame's header.

    Raises:
        OSError: the server cannot be reached, or does not answer within :data:`PATIENCE` seconds.
    """
    with socket.create_connection((host, port), timeout=PATIENCE) as connection:
        connection.sendall(_PREFACE)
        return connection.recv(_FRAME_HEADER)


@functools.cache
def _own_token() -> str:
    """Return the token of clusters that this process starts; cached, since Ray reads it once per process."""
    return secrets.token_hex(32)


def _redirect_ray_output() -> None:
    """Send Ray's messages on dead nodes to the log: stdout is for data, and Ray has no setting for this."""
    with suppress(ImportError):
        from ray._private import worker

        # The function is private, so other versions of Ray may lack it.
        if hasattr(worker, "print_to_stdstream"):
            worker.print_to_stdstream = _log_first_line


def _log_first_line(data: Mapping[str, Any], ignore_prefix: bool = False) -> None:
    """Log the first line of a message that Ray would print, unless all are blank; the rest is in Ray's own log.

    Args:
        data: the message, with its texts under ``lines``.
        ignore_prefix: an argument of the replaced function; it has no effect here.
    """
    for text in data.get("lines", ()):
        for line in str(text).splitlines():
            if line.strip():
                log.info("ray: %s", line)
                return
