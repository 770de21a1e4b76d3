"""Two processes that train one model, as torchrun starts them; on the CPU, which has the same exchange of gradients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.shared import make_once
from tests.training.pair_run import RECIPES
from tests.training.whole import write_pairs

SCRIPT = Path(__file__).with_name("pair_run.py")


@pytest.fixture(scope="session")
def trained_by_two(tiny_base, tmp_path_factory):
    """Return the folder with the results and weights of both recipes, trained in one launch of two processes."""
    return make_once(tmp_path_factory, "trained-by-two", partial(train_by_two, tiny_base))


def train_by_two(base, folder):
    weights = folder / "weights"
    weights.mkdir()
    files = [write_pairs(folder / f"{seed}.parquet", number, seed) for number, seed in ((40, 1), (20, 2), (20, 3))]
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone"]
    command = [*launch, str(SCRIPT), ",".join(RECIPES), str(base), str(folder / "out"), "0", *files]
    settings = {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMP_NUM_THREADS": "1",
        "PAIR_RUN": json.dumps({"seeds": 2, "tokens": 60}),
        "PAIR_WEIGHTS": str(weights),
    }
    ended = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_two_processes_share_every_batch(recipe, trained_by_two):
    out = trained_by_two / "out" / recipe
    facts = [json.loads((out / f"seed-{seed}" / "training.json").read_text()) for seed in (0, 1)]
    # five batches of eight an epoch, two at a time, three epochs
    assert [one["steps"] for one in facts] == [9, 9]
    assert json.loads((out / "results.json").read_text())["seeds"] == [0, 1]
    assert not list(out.parent.glob(".*"))
    for seed in (0, 1):
        first, second = (np.load(trained_by_two / "weights" / f"{recipe}-{seed}-{rank}.npy") for rank in (0, 1))
        assert len(first) == 9
        assert np.abs(np.diff(first, axis=0)).max(axis=1).min() > 0, "a step that changes no weight"
        # each process has batches of its own, so that weights are equal only where gradients are exchanged
        np.testing.assert_array_equal(first, second)


def test_the_best_checkpoint_is_read_while_all_are_there(monkeypatch):
    from assay.training import loop

    done = []
    monkeypatch.setattr(loop, "wait_for_all", lambda: done.append("meet"))
    monkeypatch.setattr(loop, "fault_of_checkpoint", lambda _: None)
    monkeypatch.setattr(loop.ResumableTrainer, "_load_from_checkpoint", lambda _, checkpoint: done.append(checkpoint))
    kept = loop.ResumableTrainer()
    kept.state = SimpleNamespace(best_model_checkpoint="best")
    kept._load_best_model()
    assert done == ["meet", "best", "meet"]  # it is written before, and removed after
