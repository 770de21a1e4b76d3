"""A tiny encoder, pairs with graphs, and targets that need no AMR metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[train]")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[train]")
pytest.importorskip("accelerate", reason="accelerate is absent: pip install assay[train]")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from tiny import make_bert  # noqa: E402
from training_run import made_pairs  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """One thread on the CPU."""
    torch.set_num_threads(1)
    yield


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence encoder with four layers and 32 dimensions."""
    return make_bert(tmp_path_factory.mktemp("bases") / "base", layers=4, pooling="mean")


@pytest.fixture
def pairs_file(tmp_path: Path) -> Callable[..., str]:
    """Write so many pairs with graphs to a file and return its path; *seed* decides the texts."""

    def write(number: int, seed: int = 0, **changes: object) -> str:
        rows = [row | changes for row in made_pairs(number, seed)]
        path = tmp_path / f"pairs-{number}-{seed}-{'-'.join(changes)}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        return str(path)

    return write
