"""What the tests share: where the real data is, and a cache of their own."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from assay.common.addresses import PROTOCOLS
from tests import judge_server, server
from tests.browser import axe, browser, context  # noqa: F401 - fixtures

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# an example may take long on a busy machine; the examples are the same each time: tests/fuzz searches at random
settings.register_profile(
    "assay",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("assay")

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what reads the public data sets, which are large."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than cores, up to eight: at any time some test waits for a server or another process."""
    return min(8, 1 + (os.cpu_count() or 1))


def find_shared_data() -> Path | None:
    """Return the folder of public data, ``$ASSAY_SHARED_DATA`` or beside the checkout; None if it is absent."""
    chosen = os.environ.get("ASSAY_SHARED_DATA")
    folder = Path(chosen) if chosen else REPOSITORY.parent / "shared" / "data"
    return folder if (folder / "README.md").exists() else None


@pytest.fixture
def memory_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let addresses of ``memory://`` be read, which stand for those of a server."""
    monkeypatch.setattr("assay.common.addresses.PROTOCOLS", (*PROTOCOLS, "memory"))


@pytest.fixture
def old_objects_are_not_searched() -> Iterator[None]:
    """Keep the garbage collector from searching old objects: those of torch take longer than most tests of it."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def nothing_is_finalised() -> Iterator[None]:
    """Switch the garbage collector off: a finaliser that it calls at the depth of a recursion would fail there."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with public human-labelled data; tests that need it are skipped where it is absent."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("the shared data folder is absent (../shared/data or $ASSAY_SHARED_DATA)")
    return folder


class RealModels:
    """Real models in folders: ``real_models / "minilm"``; the test is skipped where that one is absent."""

    def __truediv__(self, name: str) -> Path:
        root = os.environ.get("ASSAY_TEST_MODELS")
        if not root or not (Path(root) / name).is_dir():
            pytest.skip(f"the real model {name} is absent ($ASSAY_TEST_MODELS/{name})")
        return Path(root) / name


@pytest.fixture(scope="session")
def real_models() -> RealModels:
    """Return the real models, by name: minilm, mpnet, cross-encoder, e5-small, bge-small, glove."""
    return RealModels()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a cache of its own, and no data folders of the machine."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("ASSAY_CACHE", str(cache))
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    return cache


@pytest.fixture(scope="session")
def wordnet() -> None:
    """Tests that need WordNet are skipped where it is absent; a WordNet that cannot be read fails them."""
    from assay.language.wordnet import find_wordnet

    with pytest.MonkeyPatch.context() as patch:  # looked for where own_cache lets a test look
        patch.setenv("ASSAY_CACHE", os.devnull)
        patch.delenv("ASSAY_DATA", raising=False)
        found = find_wordnet()
    if found is None:
        pytest.skip("WordNet is not on this machine")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A real local HTTP server; see tests/server.py."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with server.serve() as running:
        yield running


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody vouches for, and its key; see tests/judge_server."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not on this machine")
    return judge_server.self_signed(tmp_path_factory.mktemp("certificate"))
