"""Addresses without a cluster, and a machine without Ray: one clear line each, and soon."""

from __future__ import annotations

import http.server
import socket
import sys
import threading
import time
from collections.abc import Iterator

import pytest

import assay
from assay.cluster import connection
from assay.cluster.connection import check_address
from assay.exceptions import ClusterError, InputError, MissingExtraError

ROWS = [("seven", "7", 1), ("8", "8", 1), ("no", "yes", 0)]


@pytest.fixture
def mute(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A port where connections are taken and nothing is said."""
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def web() -> Iterator[int]:
    """A server of HTTP/1, as the dashboard of Ray is."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize("address", ["ray://head:10001", "http://head:8265", "head", "head:0", "head:70000", "a b:1"])
def test_an_address_of_another_form(address: str) -> None:
    with pytest.raises(ClusterError, match="must be HOST:PORT of the head node"):
        check_address(address)


def test_an_address_where_nothing_answers(mute: int, web: int) -> None:
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    with pytest.raises(ClusterError, match=r"no answer within .* \(Connection refused\).*ray start --head"):
        check_address(f"127.0.0.1:{closed}")
    with pytest.raises(ClusterError, match=r"no answer within .* \(timed out\)"):
        check_address(f"127.0.0.1:{mute}")
    with pytest.raises(ClusterError, match="what answers there is no Ray"):
        check_address(f"127.0.0.1:{web}")
    # a busy machine takes several times as long as an idle one, and a wait without a bound never ends
    assert time.monotonic() - begun < 60


def test_an_address_is_for_ray() -> None:
    with pytest.raises(InputError, match=r"address=head:6379: is for a Ray cluster; add `engine=\"ray\"`"):
        assay.run(ROWS, ["f1"], address="head:6379", resamples=0)
    with pytest.raises(InputError, match=r"engine=dask:"):
        assay.run(ROWS, ["f1"], engine="dask", resamples=0)


def test_without_ray_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"the package ray is not installed: pip install .*\[ray\]"):
        assay.run(ROWS, ["f1"], engine="ray", resamples=0)
