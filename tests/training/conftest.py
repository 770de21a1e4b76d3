"""A tiny encoder, files of pairs, and cross-validations of it that tell what they train on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[train]")
pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[train]")
pytest.importorskip("accelerate", reason="accelerate is absent: pip install assay[train]")

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from tests.metrics.models.tiny import make_bert  # noqa: E402
from tests.shared import make_once  # noqa: E402
from tests.training.whole import Whole, read_whole, train_whole, write_pairs  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread(old_objects_are_not_searched: None) -> None:
    """One thread on the CPU."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence encoder with four layers and 32 dimensions."""
    folder = make_once(tmp_path_factory, "tiny-base", lambda folder: make_bert(folder / "b", layers=4, pooling="mean"))
    return folder / "b"


@pytest.fixture(scope="session")
def whole_training(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """Return the finished training of a recipe; it is trained once a session."""

    def train(recipe: str) -> Whole:
        make = partial(train_whole, recipe, tiny_base)
        return read_whole(make_once(tmp_path_factory, f"whole-{recipe}", make))

    return train


@pytest.fixture
def pairs_file(tmp_path: Path) -> Callable[..., str]:
    """Write so many pairs with graphs to a file and return its path; *seed* decides the texts."""

    def write(number: int, seed: int = 0, **changes: object) -> str:
        return write_pairs(tmp_path / f"pairs-{number}-{seed}-{'-'.join(changes)}.parquet", number, seed, **changes)

    return write


@pytest.fixture
def files(pairs_file: Callable[..., str]) -> tuple[str, str, str]:
    """Training, development and test pairs."""
    return pairs_file(40, 1), pairs_file(20, 2), pairs_file(20, 3)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, set[int]]]:
    """Rows trained on and tested by every training of a fold that was really done."""
    from assay.training.pairwise import crossvalidation as validating

    seen: list[dict[str, set[int]]] = []
    fit = validating.fit_model

    def spy(job: Any, *others: Any) -> Any:
        seen.append({name: set(one.rows.tolist()) for name, one in job.sets.items()})
        return fit(job, *others)

    monkeypatch.setattr(validating, "fit_model", spy)
    return seen


@pytest.fixture
def asked(tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Return what asks for a cross-validation of one model on rows: the rows, and what is changed."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))

    def ask(rows: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
        path = tmp_path / "own.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        recipe = f"bi-encoder:{tiny_base},epochs=1,batch_size=16"
        return {"datasets": str(path), "train": recipe, "folds": 2, "threads": 1} | changes

    return ask
