"""What is killed and comes again: a run, a training and a search, each of a size that ends in about a second."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

#: Files of the user's beside what is written, some with names like those of assay's own scratch files.
MINE = ("notes.txt", ".notes.part", ".out.training.txt", "out.txt", "folder/report.html", ".0123abcd.part/keep.txt")


class Work(ABC):
    """A command with its input; what it writes goes to a folder of one trial, the result to ``out`` in it."""

    name: ClassVar[str]
    #: Whether a command that has ended is refused when it is given again, since its result stands there.
    once: ClassVar[bool] = False
    #: What takes long to import: imported before the first fork, or each fork would do it anew.
    large: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inputs: Path) -> None:
        self.inputs = inputs
        inputs.mkdir(parents=True)

    @abstractmethod
    def prepare(self) -> None:
        """Write the input; called once, in a process of its own."""

    @abstractmethod
    def do(self, folder: Path) -> None:
        """Run the command."""

    @abstractmethod
    def kept(self, folder: Path) -> dict[str, Any]:
        """Return what was scored and is on disk; a later state has all of it."""

    @abstractmethod
    def unkept(self, folder: Path) -> int:
        """Return how much that was scored is not on disk, beyond one unit in flight; called after a kill."""

    @abstractmethod
    def repeated(self, folder: Path, kills: int) -> int:
        """Return how much was scored again, beyond one unit in flight a kill; called after the end."""

    @abstractmethod
    def tables(self, folder: Path) -> dict[str, Any]:
        """Return all that a user reads of the result, without times."""


@contextmanager
def copied(database: Path) -> Iterator[sqlite3.Connection]:
    """Yield a copy of a database with its log: to open the one that is there would already repair it."""
    with tempfile.TemporaryDirectory() as folder:
        for path in database.parent.glob(f"{database.name}*"):
            shutil.copy(path, folder)
        connection = sqlite3.connect(Path(folder) / database.name)
        try:
            yield connection
        finally:
            connection.close()


class Run(Work):
    """``assay run`` of three metrics over a file, of which one logs every pair that it scores."""

    name = "run"
    CHUNK = 50
    ROWS = 600
    #: Processes that score; a fault may ask for more.
    workers = 1

    def prepare(self) -> None:
        rows = [f"text {i % 200},{'x' * (i % 37)},{(i * 7) % 5}" for i in range(self.ROWS)]
        self.file.write_text("\n".join(["reference,candidate,label", *rows, ""]), encoding="utf-8")

    @property
    def file(self) -> Path:
        """The pairs."""
        return self.inputs / "pairs.csv"

    def do(self, folder: Path) -> None:
        import assay
        from assay.benchmark import scoring
        from tests.benchmark.counting import Counting

        scoring.CHUNK = self.CHUNK
        os.environ |= {"ASSAY_CACHE": str(folder / "cache"), "COUNTING_LOG": str(folder / "scored.log")}
        metrics = [Counting(pause=0.01), "f1", "levenshtein"]
        where = {"store": folder / "store.sqlite", "out": folder / "out"}
        assay.run(self.file, metrics, **where, resamples=100, workers=self.workers)

    def kept(self, folder: Path) -> dict[str, Any]:
        if not (folder / "store.sqlite").exists():
            return {}
        with copied(folder / "store.sqlite") as database:
            try:
                select = "SELECT signature, pair, score FROM scores JOIN metrics ON metrics.id = scores.metric"
                return {f"{name} {pair.hex()}": score for name, pair, score in database.execute(select)}
            except sqlite3.OperationalError:  # killed before the tables were made
                return {}

    def unkept(self, folder: Path) -> int:
        stored = sum("counting" in key for key in self.kept(folder))
        return max(0, len(set(self._scored(folder))) - stored - self.CHUNK)

    def repeated(self, folder: Path, kills: int) -> int:
        scored = self._scored(folder)
        return max(0, len(scored) - len(set(scored)) - kills * self.CHUNK)

    def _scored(self, folder: Path) -> list[str]:
        log = folder / "scored.log"
        return log.read_text().splitlines() if log.exists() else []

    def tables(self, folder: Path) -> dict[str, Any]:
        names = ("agreement.json", "agreement.csv", "scores.parquet", "pairs.parquet")
        manifest = json.loads((folder / "out/run.json").read_text())
        page = folder / "out/report.html"
        if page.exists() and not page.read_text().rstrip().endswith("</html>"):
            raise RuntimeError("the page is not a whole page")
        return {name: (folder / "out" / name).read_bytes() for name in names} | {"asked": manifest["request"]}


class Train(Work):
    """``assay train`` of a sentence encoder with four layers: three epochs of five steps, a checkpoint each."""

    name = "train"
    once = True
    large = ("sentence_transformers", "tests.training.pair_run", "tests.metrics.models.tiny")

    def prepare(self) -> None:
        from tests.metrics.models.tiny import make_bert
        from tests.training.whole import write_pairs

        make_bert(self.inputs / "base", layers=4, pooling="mean")
        for name, size in {"train": (40, 1), "dev": (20, 2), "test": (20, 3)}.items():
            write_pairs(self.inputs / f"{name}.parquet", *size)

    @property
    def files(self) -> tuple[str, ...]:
        """Training, development and test pairs."""
        return tuple(str(self.inputs / f"{name}.parquet") for name in ("train", "dev", "test"))

    def do(self, folder: Path) -> None:
        from tests.training.pair_run import train_on

        self._settle(folder)
        train_on("bi-encoder", self.inputs / "base", folder / "out", *self.files, pause=0.01)

    def _settle(self, folder: Path) -> None:
        """Set up the process: one thread, a cache of its own, and a progress that writes its lines down."""
        import torch

        from tests.training.training_run import Slow

        torch.set_num_threads(1)
        os.environ["ASSAY_CACHE"] = str(folder / "cache")
        say = Slow.say

        def log(progress: Slow, line: str) -> None:
            say(progress, line)
            # a read-only folder is one of the faults
            with suppress(OSError), (folder / "scored.log").open("a") as stream:
                stream.write(f"{line}\n")

        Slow.say = log  # type: ignore[method-assign]

    def kept(self, folder: Path) -> dict[str, Any]:
        return {f"step {step}": True for step in range(1, self._step(folder) + 1)}

    def _step(self, folder: Path) -> int:
        """Return the step of the last checkpoint that is complete; one more than all for a finished model."""
        work = folder / ".out.training"
        if (folder / "out").exists() or (work / "made").exists():
            return 1000
        states = work.glob("checkpoints-0/checkpoint-*/trainer_state.json")
        return max((int(path.parent.name.rpartition("-")[2]) for path in states if _is_json(path)), default=0)

    def unkept(self, folder: Path) -> int:
        """Steps that were evaluated before the kill, but for those of the epoch that was in flight."""
        lines = self._lines(folder)
        steps = [int(step) for line in lines for step in re.findall(r"^step (\d+) of", line)]
        return max(0, max(steps, default=0) - 5 - self._step(folder))

    def _lines(self, folder: Path) -> list[str]:
        log = folder / "scored.log"
        return log.read_text().splitlines() if log.exists() else []

    def repeated(self, folder: Path, kills: int) -> int:
        steps = [line for line in self._lines(folder) if re.match(r"step \d+ of", line)]
        return max(0, len(steps) - 3 - kills)

    def tables(self, folder: Path) -> dict[str, Any]:
        from safetensors.numpy import load_file

        curve = [line.split(",")[:3] for line in (folder / "out/curves.csv").read_text().splitlines()]
        return {
            "model": load_file(folder / "out/model.safetensors"),
            "curve": curve,
            "files": sorted(path.name for path in (folder / "out").iterdir()),
        }


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return True


class Tune(Train):
    """``assay tune`` with three trials of one or two epochs and the training of the best."""

    name = "tune"
    TRIALS = 3

    def do(self, folder: Path) -> None:
        from tests.training.tune_run import search_on

        self._settle(folder)
        search_on(self.inputs / "base", folder / "out", self.files, pause=0.005, trials=self.TRIALS)

    def kept(self, folder: Path) -> dict[str, Any]:
        study = folder / "out/study.json"
        if study.exists():
            return {_trial(one): one["value"] for one in _complete(study)}
        database = folder / ".out.training/study.db"
        if not database.exists():
            return {}
        select = "SELECT number, value FROM trials JOIN trial_values USING (trial_id) WHERE trials.state = 'COMPLETE'"
        with copied(database) as opened:
            try:
                return {f"trial {number}": value for number, value in opened.execute(select)}
            except sqlite3.OperationalError:  # killed before the tables were made
                return {}

    def unkept(self, folder: Path) -> int:
        finished = {number for line in self._lines(folder) for number in re.findall(r"^trial (\d+): dev ", line)}
        return max(0, len(finished) - 1 - len(self.kept(folder)))

    def repeated(self, folder: Path, kills: int) -> int:
        trials = json.loads((folder / "out/study.json").read_text())["trials"]
        return max(0, len(trials) - self.TRIALS - kills)

    def tables(self, folder: Path) -> dict[str, Any]:
        from safetensors.numpy import load_file

        trials = _complete(folder / "out/study.json")
        return {
            "settings": [one["settings"] for one in trials],
            "values": np.array([one["value"] for one in trials]),
            "model": load_file(folder / "out/model.safetensors"),
            "files": sorted(path.name for path in (folder / "out").iterdir()),
        }


def _complete(study: Path) -> list[dict[str, Any]]:
    trials = json.loads(study.read_text())["trials"]
    return [one for one in trials if one["state"] == "complete"]


def _trial(one: dict[str, Any]) -> str:
    return f"trial {one['number']}"


def differ(one: Any, other: Any) -> bool:
    """Tell whether two tables differ: numbers of models by more than a millionth, everything else at all."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() != other.keys() or any(differ(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.shape != other.shape or not np.allclose(one, other, rtol=0, atol=1e-6)
    return bool(one != other)
