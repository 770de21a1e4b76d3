"""A small search; as a process of its own, one that a test kills.

python tune_run.py BASE OUT PAUSE STORAGE TRIALS TRAIN DEV TEST
"""

from __future__ import annotations

import json
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.training.killed import start, wait_for_end, wait_until
from tests.training.training_run import CPU, Slow

#: Two batch sizes, one or two epochs.
SPACE = """
[space.batch_size]
choices = [8, 16]
[space.epochs]
low = 1
high = 2
[space.warmup]
low = 0.0
high = 0.5
"""


def make_search(base: str | Path, out: Path, files: tuple[str, ...], *, space: str = SPACE, **changes: Any) -> Any:
    """Return a search over *space*, written beside *out*; settings may be changed."""
    from assay.training.tuning.settings import TuneSettings

    pairs, dev, test = (*files, (), ())[:3]
    path = out.parent / "space.toml"
    path.write_text(space)
    usual = {"trials": 3, "prune": False, "study": "s", "space": path, **CPU}
    if "learning_rate" not in space:
        usual["learning_rate"] = 1e-3
    return TuneSettings("bi-encoder", str(base), pairs, out, dev=dev, test=test, **(usual | changes)).search()


def search_on(
    base: str | Path, out: Path, files: tuple[str, ...], *, pause: float = 0.0, **changes: Any
) -> tuple[Slow, dict[str, Any]]:
    """Search on files of training, development and test pairs; return what was told and the study."""
    from assay.training.tuning.recipe import search_and_train

    progress = Slow(pause)
    found = search_and_train(
        make_search(base, out, files, **changes),
        render=lambda results: "results\n",
        render_study=lambda study: {"study.md": json.dumps(study["settings"])},
        progress=progress,
    )
    return progress, found


def start_process(
    base: str | Path, out: Path, files: tuple[str, ...], *, pause: float, storage: str = "", trials: int = 4
) -> BaseProcess:
    """Start a search as a process of its own."""
    return start("tune_run.py", base, out, pause, storage, trials, *files)


def share_study(base: Path, folder: Path, files: Any, address: str) -> dict[str, Any]:
    """Search here and in another process in one database; return what is found, which is the same in both."""
    (folder / "other").mkdir()
    out = folder / "other" / "theirs"
    process = start_process(base, out, files, pause=0.2, storage=address)
    wait_until(process, lambda: list((out.parent / ".theirs.training").glob("trial-*")))
    _, ours = search_on(base, folder / "ours", files, pause=0.2, storage=address, trials=4)
    assert wait_for_end(process) == 0
    theirs = json.loads((out / "study.json").read_text())
    assert ours["trials"] == theirs["trials"]
    assert ours["winner"] == theirs["winner"]
    assert [trial["state"] for trial in ours["trials"]] == ["complete"] * 4
    return ours


def held_trials(address: str, name: str = "s") -> list[Any]:
    """Return the trials of a study in a database."""
    import optuna

    from assay.training.tuning.study import quiet_optuna

    with quiet_optuna():
        return list(optuna.load_study(study_name=name, storage=address).trials)


def drawn(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of the trials that are over, in their order."""
    return [trial["settings"] for trial in found["trials"] if trial["state"] in ("complete", "pruned")]


if __name__ == "__main__":
    base, out, pause, storage, trials, *files = sys.argv[1:]
    search_on(base, Path(out), tuple(files), pause=float(pause), storage=storage or None, trials=int(trials))
