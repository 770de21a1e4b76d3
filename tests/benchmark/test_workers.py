"""Several processes give the numbers of one, and lose no more than the unit of a process that dies."""

from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import assay
from assay.benchmark import executor, scoring
from assay.common.workers import Crew, _pickled
from assay.exceptions import InputError, MissingExtraError, UnavailableError, WorkerDiedError
from assay.metrics import Batch
from assay.metrics.amr.session import SmatchppEngine
from assay.metrics.scores import Scores
from tests.benchmark.dying import Dying

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
ROWS = [
    {
        "reference": " ".join(WORDS[i * k % 10] for k in range(1, 9)),
        "candidate": f"{i} {' '.join(WORDS[(i + 3) * k % 10] for k in range(1, 7))}",
        "label": float(i % 3),
    }
    for i in range(400)
]
#: A candidate of the third unit.
THIRD = ROWS[120]["candidate"]


@pytest.fixture
def eager(monkeypatch):
    """Workers for any work, in units of 50 pairs."""
    monkeypatch.setattr(scoring, "CHUNK", 50)
    monkeypatch.setattr(executor, "MIN_PAIRS", 0)
    yield
    assert multiprocessing.active_children() == []


def scored(metrics, number, **settings):
    settings = {"buckets": "none", "resamples": 0, "fresh": True} | settings
    return assay.run(ROWS, metrics, workers=number, **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "others"), [(3, ["chrf", "levenshtein"]), (2, ["meteor"])])
def test_as_many_workers_as_one_likes_give_the_same_numbers(eager, wordnet, number, others):
    names = ["f1", "bleu", "rouge-l", *others]
    alone, together = scored(names, 1), scored(names, number)
    assert alone.failures == together.failures == []
    assert alone.scores.equals(together.scores)
    assert alone.agreement.equals(together.agreement)
    costs = [record.cost.details for record in together.outcome.metrics]
    assert costs == [{"workers": number}] * len(names)
    assert not any(record.cost.details for record in alone.outcome.metrics)
    speeds = [record.cost.pairs_per_second for record in together.outcome.metrics]
    assert all(speed and speed > 0 for speed in speeds)


@pytest.mark.slow
def test_an_engine_that_each_process_may_open(eager, monkeypatch):
    """smatchpp, pair by pair; what the sessions of all processes cost is added up."""
    pytest.importorskip("smatchpp", reason="smatchpp is absent: pip install assay[amr]")
    monkeypatch.setattr(SmatchppEngine, "pairs", 15)
    words = ["boy", "girl", "dog"]
    graphs = [f"(w / want-01 :ARG0 (x / {word}) :ARG1 (y / {other}))" for word in words for other in words]
    rows = [
        {"reference": str(i), "candidate": "text", "label": i % 2, "reference_graph": graphs[i % 9]}
        | {"candidate_graph": graphs[i % 7]}
        for i in range(60)
    ]
    results = []
    for number in (1, 2):
        settings = {"buckets": "none", "resamples": 0, "fresh": True, "workers": number}
        results.append(assay.run(rows, ["amr:smatch,engine=smatchpp"], **settings))
    alone, together = results
    assert alone.failures == together.failures == []
    assert alone.scores.equals(together.scores)
    assert alone.scores.score.nunique() > 1
    costs = [result.outcome.metrics[0].cost.details for result in results]
    assert [cost["graph_pairs"] for cost in costs] == [60, 60]
    assert "workers" not in costs[0] and costs[1]["workers"] == 2


@pytest.mark.slow
def test_a_killed_worker_costs_its_unit(eager, tmp_path):
    once = Dying(at=THIRD, once=str(tmp_path / "killed"))
    result = scored([once, "f1"], 2)
    assert (tmp_path / "killed").exists()
    assert result.failures == []
    assert result.scores.score.tolist()[: len(ROWS)] == [float(len(row["candidate"])) for row in ROWS]


@pytest.mark.slow
def test_a_unit_that_kills_two_workers_is_named_and_others_go_on(eager):
    result = scored([Dying(at=THIRD), "f1"], 2)
    [failure] = result.failures
    assert failure.endswith(" on data: ended 2 processes that scored it, the last by signal 9 (pairs 100 to 149)")
    assert set(result.agreement.metric) == {"f1"}


@pytest.mark.slow
def test_a_metric_that_leaves_raises_or_prints_ends_no_worker(eager, capfd):
    metrics = [Dying(how=how, at=THIRD) for how in ("leave", "raise", "miss", "print")]
    result = scored(metrics, 2)
    assert [(one.status, one.reason, one.remedy) for one in result.outcome.metrics] == [
        ("failed", "called exit('enough') where scores were expected", ""),
        ("failed", "TwoPartError: one and two", ""),
        ("unavailable", "no words", "pip install words"),
        ("done", "", ""),
    ]
    assert capfd.readouterr().out == ""


def half(reference, candidate):
    return len(candidate) / 2


@pytest.mark.slow
def test_what_no_worker_can_take_is_scored_here(eager, monkeypatch):
    """A function, and a class that other processes do not find: pickle writes it, but they cannot read it."""
    scripted = type("Scripted", (Dying,), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Scripted", scripted, raising=False)
    result = scored([half, scripted(), "f1"], 2)
    assert result.failures == []
    lengths = [float(len(row["candidate"])) for row in ROWS]
    assert result.scores.score.tolist()[: 2 * len(ROWS)] == [length / 2 for length in lengths] + lengths
    assert [record.cost.details for record in result.outcome.metrics] == [{}, {}, {"workers": 2}]


def test_errors_come_through_whole():
    for error in (UnavailableError("no words", "pip install words"), MissingExtraError("torch", "neural")):
        copy = pickle.loads(_pickled(error))
        assert type(copy) is type(error)
        assert (copy.reason, copy.remedy, str(copy)) == (error.reason, error.remedy, str(error))


def test_where_no_process_can_be_started_the_run_scores_by_itself(eager, monkeypatch):
    def full(*_):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    expected = [float(len(row["candidate"])) for row in ROWS]
    with monkeypatch.context() as patch:
        # what a process of a multiprocessing.Pool is
        patch.setitem(multiprocessing.current_process()._config, "daemon", True)
        assert scored([Dying()], 2).scores.score.tolist() == expected
    monkeypatch.setattr(ProcessPoolExecutor, "submit", full)
    result = scored([Dying()], 2)
    assert result.scores.score.tolist() == expected
    assert result.outcome.metrics[0].cost.details == {}


@pytest.mark.parametrize("settings", [{"workers": 2}, {"workers": 1}, {}])
def test_small_work_starts_no_process(monkeypatch, settings):
    def started(*_):
        raise AssertionError("workers for a moment's work")

    monkeypatch.setattr("assay.common.workers.Crew.start", started)
    assert assay.run(ROWS, ["f1", "bleu"], buckets="none", resamples=0, fresh=True, **settings).failures == []


@pytest.mark.slow
def test_workers_start_where_they_save_time_and_the_run_goes_on_meanwhile(monkeypatch):
    """By the formula, with 0.2 s for a unit: 4 units of a process save less than a second to two, 40 units more."""
    monkeypatch.setattr(scoring, "CHUNK", 10)
    asked, costs = [], []

    def is_ready(crew):
        # two units are scored here meanwhile, then as many as a slow machine would take to start workers
        asked.append(crew)
        return len(asked) > 2 and all(worker._started.result(60) for worker in crew._workers)

    monkeypatch.setattr("assay.common.workers.Crew.is_ready", property(is_ready))
    for limit in (40, 400):
        result = scored([Dying(pause=0.1)], 2, limit=limit)
        costs.append(result.outcome.metrics[0].cost.details)
    assert costs == [{}, {"workers": 2}]
    assert len(asked) == 3


@dataclass(frozen=True)
class Model:
    """An engine that each process may open, and its session; the names of those that were closed are kept."""

    name: str
    closed: ClassVar[list[str]] = []
    in_processes = True

    def open(self):
        return self

    def score(self, metrics, batch, again=()):
        shape = (len(batch), len(metrics))
        return Scores(np.zeros(shape), np.zeros(shape, dtype=np.uint8), np.zeros(len(metrics)))

    def cost(self):
        return {}

    def close(self):
        self.closed.append(self.name)


@pytest.mark.parametrize("keep", [True, False])
def test_models_of_several_engines_stay_in_memory_on_request(keep):
    workers = executor.Workers(2, keep_models=keep)
    # nothing is open from another test
    workers.close()
    Model.closed.clear()
    for name in ("one", "other"):
        unit = executor.Unit(0, Model(name), (assay.load_metric("f1"),), Batch(["a"], ["b"]))
        [(_, outcome)] = workers.map([unit])
        assert outcome.values.tolist() == [[0.0]]
    assert Model.closed == ([] if keep else ["one"])
    workers.close()
    assert set(Model.closed) == {"one", "other"}


def test_workers_below_one():
    with pytest.raises(InputError, match="workers=0: must be a whole number, at least 1"):
        assay.run(ROWS, ["f1"], workers=0)


#: Scores with workers at the top of a script, which says how often it is run; a second process would run it again.
SCRIPT = """
import os, sys
import assay
from assay.benchmark import executor, scoring
from tests.benchmark.dying import Dying
scoring.CHUNK, executor.MIN_PAIRS = 4, 0
print("script", flush=True)
rows = [{"reference": "a", "candidate": str(i), "label": i % 2} for i in range(4000)]
result = assay.run(rows, [Dying(pause=0.1)], workers=2, buckets="none", resamples=0, fresh=True, limit=int(sys.argv[1]))
print(result.failures, [record.cost.details for record in result.outcome.metrics])
"""


def begun(tmp_path: Path, limit: int) -> subprocess.Popen[str]:
    path = tmp_path / "script.py"
    # a shell that runs tests in the background has SIGINT ignored, which children inherit
    path.write_text("import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + SCRIPT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])}
    return subprocess.Popen(
        [sys.executable, path, str(limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_script_needs_no_guard(tmp_path):
    out, err = begun(tmp_path, 60).communicate(timeout=300)
    assert out.splitlines() == ["script", "[] [{'workers': 2}]"], err


def members(group: int) -> list[int]:
    """Return the processes of a group that run."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, owner = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if owner == str(group) and state != "Z":
            found.append(int(entry.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("strike", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_run(tmp_path, strike):
    """Ctrl-C reaches all processes of a terminal; a kill the one of the run alone."""
    # all pairs would take 200 s
    run = begun(tmp_path, 4000)
    until = time.monotonic() + 120
    while len(members(run.pid)) < 4 and time.monotonic() < until:
        # the run, the tracker of semaphores and two workers
        time.sleep(0.05)
    time.sleep(0.5)
    began = time.monotonic()
    os.killpg(run.pid, strike) if strike is signal.SIGINT else os.kill(run.pid, strike)
    _, err = run.communicate(timeout=120)
    assert run.returncode == -strike or (strike is signal.SIGINT and "KeyboardInterrupt" in err.splitlines()[-1])
    assert err.count("Traceback") <= 1, err
    while members(run.pid) and time.monotonic() < began + 120:
        time.sleep(0.05)
    assert members(run.pid) == []


def die_of_three(item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


@pytest.mark.slow
def test_a_crew_takes_items_as_it_has_room():
    taken = []

    def items():
        for item in range(12):
            taken.append(item)
            yield item

    crew = Crew(2, die_of_three)
    outcomes = crew.map(items())
    first, _ = next(outcomes)
    assert len(taken) <= 4
    found = dict([(first, first * first), *outcomes])
    crew.close()
    assert isinstance(found.pop(3), WorkerDiedError)
    assert found == {item: item * item for item in range(12) if item != 3}
