"""Runs on a Ray cluster of several nodes, all on this machine: the scores of one process, whatever ends meanwhile."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.benchmark import distributed, scoring
from assay.benchmark.distributed import RayExecutor
from assay.cluster import connection, pool
from assay.common.progress import Silent
from assay.exceptions import ClusterError
from assay.metrics.amr.session import AmrEngine
from assay.metrics.neural.runtime import Runtime

ray = pytest.importorskip("ray", reason="Ray is absent: pip install assay[ray]")
from ray.cluster_utils import Cluster  # noqa: E402

pytestmark = pytest.mark.slow
#: Lines with both texts of a pair, no text twice.
ROWS = [
    {
        "reference": f"{number} boys saw the {word}",
        "candidate": f"a {word} was seen by {number} boys" if number % 3 else f"nobody saw {number} of a {word}",
        "label": number % 4,
        "reference_graph": f"(s / see-01 :ARG0 (b / boy :quant {number}) :ARG1 (x / {word}))",
        "candidate_graph": f"(s / see-01 :ARG0 (b / boy :quant {number % 5}) :ARG1 (x / {word}))",
    }
    for number in range(40)
    for word in ("house", "tree")
]


class Nodes:
    """A cluster whose head does no work; nodes with one CPU come and go."""

    def __init__(self) -> None:
        # a dead node is noticed after a second, not after half a minute: most of these tests would only wait for it
        names = ("health_check_initial_delay_ms", "health_check_period_ms")
        health = {**dict.fromkeys(names, 500), "health_check_failure_threshold": 2}
        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 100 * 2**20, "_system_config": health}
        self.cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        self.nodes: list[Any] = []

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    @property
    def settings(self) -> dict[str, str]:
        """What lets a run score here."""
        return {"engine": "ray", "address": self.address}

    def add(self, variables: dict[str, str] | None = None, *, wait: bool = True) -> Any:
        settings = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "env_vars": dict(os.environ) | (variables or {})}
        node = patiently(lambda: self.cluster.add_node(wait=wait, **settings))
        self.nodes.append(node)
        return node

    def kill(self, node: Any) -> None:
        """End a node as a lost machine would."""
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)


def patiently(start: Callable[[], Any]) -> Any:
    """Start a node; once more where a busy machine takes longer than the 30 s that Ray gives it."""
    for _ in range(2):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    made = Nodes()
    for _ in range(2):
        made.add(wait=False)
    made.cluster.wait_for_nodes()
    yield made
    ray.shutdown()
    made.cluster.shutdown()


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units of eight pairs, so that there are several."""
    monkeypatch.setattr(scoring, "CHUNK", 8)
    monkeypatch.setattr(AmrEngine, "pairs", property(lambda _: 8))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for slots on every node, however busy this machine is: a node that is slow to answer would get no work."""
    monkeypatch.setattr(pool, "SPREAD", 280.0)
    monkeypatch.setattr(pool, "PATIENCE", 300.0)
    monkeypatch.setattr(connection, "PATIENCE", 60.0)


def both(tmp_path: Path, nodes: Nodes, metrics: list[Any], rows: Any = ROWS, **settings: Any) -> list[assay.Result]:
    """Return the results of a run here and of one on the cluster, each with a store of its own."""
    common = {"resamples": 100, "buckets": ["none"], **settings}
    here = assay.run(rows, metrics, store=tmp_path / "here.sqlite", out=tmp_path / "here", **common)
    there = assay.run(
        rows,
        metrics,
        store=tmp_path / "ray.sqlite",
        out=tmp_path / "ray",
        engine="ray",
        address=nodes.address,
        **common,
    )
    return [here, there]


def same(here: assay.Result, there: assay.Result, folder: Path) -> None:
    assert here.failures == there.failures == []
    assert here.scores.equals(there.scores)
    assert here.agreement.equals(there.agreement)
    for name in ("scores.parquet", "agreement.csv"):
        assert (folder / "here" / name).read_bytes() == (folder / "ray" / name).read_bytes()


def units_by_node(result: assay.Result, metric: str) -> dict[str, int]:
    record = next(record for record in result.outcome.metrics if record.metric == metric)
    return dict(record.cost.details["units_by_node"])


def test_lexical_and_amr_metrics_have_the_scores_of_one_process(tmp_path: Path, nodes: Nodes) -> None:
    here, there = both(tmp_path, nodes, ["f1", "chrf", "amr:smatch"])
    same(here, there, tmp_path)
    assert sum(units_by_node(there, "amr:smatch").values()) == len(ROWS) / 8
    manifest = json.loads((tmp_path / "ray" / "run.json").read_text(encoding="utf-8"))
    assert manifest["metrics"][2]["cost"]["units_by_node"] == units_by_node(there, "amr:smatch")


def test_models_have_the_scores_of_one_process_and_are_sent_to_nodes_that_lack_them(
    tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is absent: pip install assay[neural]")
    from assay.metrics.neural.cross import CrossEngine
    from assay.metrics.neural.encoder import EncoderEngine
    from tests.metrics.models.tiny import make_bert

    monkeypatch.setattr(EncoderEngine, "pairs", property(lambda _: 8))
    monkeypatch.setattr(CrossEngine, "pairs", property(lambda _: 8))
    make_bert(tmp_path / "encoder", layers=2, pooling="mean")
    make_bert(tmp_path / "scorer", labels=1)
    # the nodes were started in another folder, where a relative path means nothing
    monkeypatch.chdir(tmp_path)
    # what recurs in a later unit, one process embeds once, and slots embed it again in another batch
    repeated = [row | {"reference": "one boy saw it", "candidate": f"{row['candidate']} too"} for row in ROWS[:24]]
    rows = [*ROWS, *repeated]
    metrics = ["bi-encoder:./encoder", "cross-encoder:./scorer"]
    here, there = both(tmp_path, nodes, metrics, rows, device="cpu", threads=1)
    same(here, there, tmp_path)
    assert len(list((tmp_path / "cache" / "sent").glob("*/encoder"))) == 1
    assert len(list((tmp_path / "cache" / "sent").glob("*/scorer"))) == 1
    embedded_here, embedded_there = (next(iter(result.outcome.metrics)).cost.details for result in (here, there))
    assert embedded_here["texts_embedded"] == 2 * len(rows) - 23
    assert embedded_there["texts_embedded"] == 2 * len(rows) - 24 + len(repeated) / 8
    assert embedded_there["devices"] == ["cpu"]


def test_real_models(tmp_path: Path, nodes: Nodes, real_models: Any, shared_data: Path) -> None:
    data = json.loads((shared_data / "evouna" / "TQ.json").read_text(encoding="utf-8"))[:20]
    # the right answers recur with the second system
    rows = [
        (str(row["golden_answer"]), str(row[f"answer_{system}"]), float(bool(row[f"judge_{system}"])))
        for system in ("chatgpt", "gpt4")
        for row in data
    ]
    metrics = [f"bi-encoder:{real_models / 'minilm'}", f"cross-encoder:{real_models / 'cross-encoder'}"]
    same(*both(tmp_path, nodes, metrics, rows, device="cpu", threads=1), tmp_path)


class Told(Silent):
    """Keeps what is said, and does something when so many pairs are scored."""

    def __init__(self, actions: dict[int, Any] | None = None) -> None:
        self.lines: list[str] = []
        self._actions, self._done = actions or {}, 0

    def advance(self, units: int) -> None:
        self._done += units
        for at in [at for at in self._actions if at <= self._done]:
            self._actions.pop(at)()

    def say(self, line: str) -> None:
        self.lines.append(line)


def length_ratio(reference: str, candidate: str) -> float:
    """Shorter length over longer length, slowly."""
    time.sleep(0.05)
    shorter, longer = sorted((len(reference), len(candidate)))
    return shorter / longer


def test_nodes_that_go_away_cost_nothing(
    tmp_path: Path, nodes: Nodes, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three nodes of four are killed during the run, each while it has work."""
    monkeypatch.setattr(scoring, "CHUNK", 4)
    victims = [nodes.add(wait=False), nodes.add(wait=False), nodes.nodes[0]]
    nodes.cluster.wait_for_nodes()
    told = Told({done: lambda: nodes.kill(victims.pop()) for done in (16, 32, 44)})
    capfd.readouterr()
    there = assay.run(
        ROWS,
        [length_ratio, "f1"],
        store=tmp_path / "a",
        resamples=100,
        engine="ray",
        address=nodes.address,
        progress=told,
    )
    here = assay.run(ROWS, [length_ratio, "f1"], store=tmp_path / "b", resamples=100)
    assert victims == []
    assert there.failures == []
    assert here.scores.equals(there.scores)
    assert here.agreement.equals(there.agreement)
    again = [line for line in told.lines if "is done again: the node went away" in line]
    assert len(again) == 3
    cost = there.outcome.metrics[0].cost.details
    assert len(cost["done_again"]) == 3
    assert sum(cost["units_by_node"].values()) >= 20
    # Ray would print the log of the dead node to stdout, which is for data
    assert capfd.readouterr().out == ""
    nodes.add()


def test_a_process_that_ends_costs_its_unit_a_second_try_and_no_third(tmp_path: Path, nodes: Nodes) -> None:
    flag = tmp_path / "flag"

    def deadly(reference: str, candidate: str) -> float:
        if reference.startswith("7 ") and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if reference.startswith("39 "):
            os._exit(1)
        return float(len(candidate))

    told = Told()
    result = assay.run(ROWS, [deadly, "f1"], resamples=0, **nodes.settings, progress=told)
    again = [line for line in told.lines if "is done again: its process ended" in line]
    # a finished unit is done again as well if its answer was lost with the process
    for number in (2, 10):
        assert sum(line.startswith(f"unit {number} of deadly") for line in again) == 1, again
    (failure,) = result.failures
    assert re.search(r"deadly on data: ended 2 processes that scored it, the last on .* \(pairs 72 to 79\)", failure), (
        failure
    )
    assert set(result.scores.metric) == {"f1"}


def test_what_a_metric_raises_is_told_as_in_one_process(nodes: Nodes, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()

    def picky(reference: str, candidate: str) -> float:
        if reference.startswith("2 "):
            (calls / str(time.monotonic_ns())).touch()
            raise KeyError("no score for two")
        return 1.0

    here = assay.run(ROWS, [picky, "f1"], resamples=0).failures
    before = len(list(calls.iterdir()))
    there = assay.run(ROWS, [picky, "f1"], resamples=0, **nodes.settings, fresh=True).failures
    assert here == there
    assert len(here) == 1
    assert len(list(calls.iterdir())) == before + 1


def test_units_are_taken_as_slots_have_room(nodes: Nodes) -> None:
    from assay.benchmark.executor import Unit
    from assay.metrics import Batch, load_metric

    executor = RayExecutor(nodes.address, Runtime("cpu", 1), most=2)
    taken, done = 0, 0

    def units() -> Iterator[Unit]:
        nonlocal taken
        for number in range(40):
            taken += 1
            yield Unit(number, None, (load_metric("f1"),), Batch([f"a {number}"], ["a b"]))

    try:
        for _ in executor.map(units()):
            done += 1
            # two slots with two units each, and those whose results came at the same moment
            assert taken - done <= 8
        assert done == 40
    finally:
        executor.leave()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("assay/__init__.py", "__version__ = '0.0.1'", r"has assay 0\.0\.1, not .*; install the same version there"),
        (
            "sitecustomize.py",
            "import sys; sys.modules['assay'] = None",
            r"cannot work \(ModuleNotFoundError: .*\); install assay .* there",
        ),
        (
            "sacrebleu-0.0.1.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: sacrebleu\nVersion: 0.0.1\n",
            r"has sacrebleu 0\.0\.1, not .* -> install there what the driver has",
        ),
    ],
)
def test_a_node_with_other_packages_is_refused(
    tmp_path: Path, nodes: Nodes, name: str, text: str, message: str
) -> None:
    path = tmp_path / "other" / name
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    odd = nodes.add({"PYTHONPATH": os.pathsep.join([str(tmp_path / "other"), os.environ.get("PYTHONPATH", "")])})
    try:
        if "sacrebleu" in name:
            # the package matters to some metrics only: those are refused; first the one that does, so that every node
            # gets some of it
            result = assay.run(ROWS, ["chrf", "f1"], resamples=0, **nodes.settings)
            assert set(result.scores.metric) == {"f1"}
            assert re.search(message, result.failures[0]), result.failures
        else:
            with pytest.raises(ClusterError, match=message):
                assay.run(ROWS, ["f1"], resamples=0, **nodes.settings)
    finally:
        nodes.kill(odd)


def test_other_weights_at_the_same_path_are_refused(
    tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("boys 1 0\nhouse 0 1\n", encoding="utf-8")
    pack = distributed._files_of

    def then_changed(metrics: Any) -> Any:
        files = pack(metrics)
        vectors.write_text("boys 0 1\nhouse 1 0\n", encoding="utf-8")
        return files

    monkeypatch.setattr(distributed, "_files_of", then_changed)
    result = assay.run(ROWS, [f"static:{vectors}", "f1"], resamples=0, **nodes.settings)
    assert re.search(r"has another .*vectors\.txt than the driver -> remove it there", result.failures[0])


@pytest.fixture
def no_folder() -> tuple[str, str]:
    """A place where no folder can be made, and what the system says of it."""
    return "/dev/full/cache", "/dev/full.*: Not a directory"


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A file system of 64 kB, and what the system says when it is full."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "assay-test", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    yield str(place / "cache"), r"/disk/cache/sent/.*vectors\.txt: No space left on device"
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.parametrize("kind", ["no_folder", "full_disk"])
def test_a_node_that_cannot_write_names_itself(
    tmp_path: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, kind: str
) -> None:
    place, message = request.getfixturevalue(kind)
    words = [f"word{number} 1 {number}\n" for number in range(10_000)]
    (tmp_path / "vectors.txt").write_text("".join(["boys 1 0\nhouse 0 1\n", *words]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    store = tmp_path / "scores.sqlite"
    # the nodes take the driver's cache
    monkeypatch.setenv("ASSAY_CACHE", place)
    result = assay.run(ROWS, ["static:./vectors.txt", "f1"], resamples=0, store=store, **nodes.settings)
    assert re.search(rf"on the node .*{message}; fix this there", result.failures[0])
    assert set(result.scores.metric) == {"f1"}
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    again = assay.run(ROWS, ["static:./vectors.txt", "f1"], resamples=0, store=store, **nodes.settings)
    assert again.failures == []
    # what was scored before a node failed is kept
    assert [record.scored + record.stored for record in again.outcome.metrics] == [len(ROWS)] * 2
    assert again.outcome.metrics[0].scored > 0


def test_an_interrupted_run_leaves_no_process_and_resumes(tmp_path: Path, nodes: Nodes) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import signal, sys, time
            # a shell starts what is in the background without it
            signal.signal(signal.SIGINT, signal.default_int_handler)
            from dataclasses import dataclass
            import assay
            from assay.benchmark import scoring
            from assay.metrics.base import Declaration, PairMetric

            scoring.CHUNK = 8
            rows = [(f"a {{n}}", f"b {{n}}", n % 2) for n in range(80)]

            @dataclass(frozen=True)
            class Slow(PairMetric):
                declaration = Declaration("slow", "takes its time")

                def scorer(self):
                    def score(reference, candidate):
                        time.sleep(0.05)
                        return 1 / (1 + float(reference[2:]))

                    return score

            try:
                result = assay.run(
                    rows, [Slow()], resamples=0, buckets=["none"], engine="ray", address={nodes.address!r}
                )
            except KeyboardInterrupt:
                sys.exit(130)
            print(result.failures, result.outcome.metrics[0].scored, result.outcome.metrics[0].stored)
            """
        ),
        encoding="utf-8",
    )

    def start() -> subprocess.Popen[str]:
        environment = dict(os.environ, ASSAY_CACHE=str(tmp_path / "cache"))
        return subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment)

    first = start()
    kept = tmp_path / "cache" / "scores-2.sqlite"
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline and not _rows_in(kept):
        time.sleep(0.05)
    first.send_signal(signal.SIGINT)
    assert first.wait(120) == 130
    scored = _rows_in(kept)
    assert 0 < scored < 80
    deadline = time.monotonic() + 60
    while _slots() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _slots() == []
    out, _ = start().communicate(timeout=240)
    assert out.split() == ["[]", str(80 - scored), str(scored)]


def _rows_in(store: Path) -> int:
    import sqlite3

    if not store.exists():
        return 0
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM scores").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def _slots() -> list[str]:
    """Return the command lines of slots that run on this machine."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if line.startswith("ray::Slot"):
            lines.append(line)
    return lines
