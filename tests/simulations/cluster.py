"""What a billion pairs take on a cluster: a discrete-event simulation of the driver, its slots and the network between.

python -m tests.simulations.cluster measure PARTS.json          what the parts of a run take on this machine
python -m tests.simulations.cluster local PARTS.json ROW.json …  runs on this machine, predicted and measured
python -m tests.simulations.cluster billion PARTS.json          10⁹ pairs on 1, 10 and 100 nodes with a GPU each

ROW.json is what ``python -m tests.performance.large run`` writes.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import simpy

#: Units that a slot has at most, one in work and one that waits: ``assay.cluster.pool.WORK_PER_SLOT``.
DEPTH = 2
#: Units after which the rest of a long run is extrapolated, at the rate of the second half of these.
ENOUGH = 40_000
#: Bytes a second of a network link, and seconds on the way.
LINK, LATENCY = 1.25e9, 0.0005
#: Pairs that one GPU is taken to score in a second: nothing of this was measured.
GPU = {"bi-encoder": 20_000, "cross-encoder": 2_000}
#: Price of an hour of a node with one GPU, for the column of costs: an assumption as well.
PRICE = 2.5


@dataclass(frozen=True)
class Parts:
    """What the parts of a run take, in seconds of one core.

    Attributes:
        read, digest, look_up, agree: of the driver, a pair, before the first and after the last unit.
        cut: of the driver, a pair: its texts as a unit, pickled.
        keep: of the driver, a score: into the store.
        call: of the driver, a unit: the message to a slot and its answer.
        size: bytes of a pair in a pickled unit.
        units: by metric, seconds a pair of some units of 1,024, in a slot.
    """

    read: float
    digest: float
    look_up: float
    agree: float
    cut: float
    keep: float
    call: float
    size: float
    units: dict[str, list[float]]


@dataclass(frozen=True)
class Cluster:
    """What is simulated.

    Attributes:
        slots: how many, each with a link of its own.
        unit: pairs in a unit.
        seconds: draws how long a slot takes for a unit.
        before, after: seconds of the driver for a unit, until it is sent and when it is back.
        sent, back: bytes of a unit on the way to a slot, and of its scores.
        cores: cores that slots and driver share; None where each has its own.
        load: seconds until a slot is ready.
    """

    slots: int
    unit: int
    seconds: Callable[[], float]
    before: float
    after: float
    sent: float
    back: float
    cores: int | None = None
    load: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What came of it: seconds until the last unit was kept, and the shares of them in which each part was busy."""

    seconds: float
    driver: float
    link: float
    slots: float


class Simulation:
    """One run: the driver is one thread that cuts units, sends them, and keeps what comes back, in order of arrival."""

    def __init__(self, cluster: Cluster, units: int) -> None:
        self.cluster, self.units = cluster, units
        self.env = simpy.Environment()
        self.link = simpy.Resource(self.env)
        self.cores = None if cluster.cores is None else simpy.PriorityResource(self.env, cluster.cores)
        #: What the driver has to see to: slots with room for a unit, and whether they sent a result with it.
        self.messages = simpy.Store(self.env)
        self.inboxes = [simpy.Store(self.env) for _ in range(cluster.slots)]
        self.busy = {"driver": 0.0, "link": 0.0, "slots": 0.0}
        self.kept = 0
        self.half = 0.0

    def run(self) -> Outcome:
        """Simulate until all units are kept."""
        for number in range(self.cluster.slots):
            self.env.process(self._slot(number))
        self.env.run(self.env.process(self._driver()))
        seconds = float(self.env.now)
        slots = self.busy["slots"] / self.cluster.slots
        return Outcome(seconds, self.busy["driver"] / seconds, self.busy["link"] / seconds, slots / seconds)

    def _work(self, who: str, seconds: float, priority: int) -> Generator[Any, Any, None]:
        """Spend seconds of a core, once there is one."""
        if self.cores is None:
            yield self.env.timeout(seconds)
        else:
            with self.cores.request(priority) as core:
                yield core
                yield self.env.timeout(seconds)
        self.busy[who] += seconds

    def _driver(self) -> Generator[Any, Any, None]:
        sent = 0
        while self.kept < self.units:
            slot, has_result = yield self.messages.get()
            if has_result:
                yield from self._work("driver", self.cluster.after, 0)
                self.kept += 1
                if self.kept == self.units // 2:
                    self.half = float(self.env.now)
            if sent < self.units:
                sent += 1
                yield from self._work("driver", self.cluster.before, 0)
                self.env.process(self._send(slot))

    def _send(self, slot: int) -> Generator[Any, Any, None]:
        yield from self._carry(self.cluster.sent)
        yield self.inboxes[slot].put(None)

    def _carry(self, size: float) -> Generator[Any, Any, None]:
        """Take bytes over the driver's link, which all slots share."""
        with self.link.request() as free:
            yield free
            yield self.env.timeout(size / LINK)
            self.busy["link"] += size / LINK
        yield self.env.timeout(LATENCY)

    def _slot(self, number: int) -> Generator[Any, Any, None]:
        yield self.env.timeout(self.cluster.load)
        for _ in range(DEPTH):
            yield self.messages.put((number, False))
        while True:
            yield self.inboxes[number].get()
            yield from self._work("slots", self.cluster.seconds(), 1)
            self.env.process(self._answer(number))

    def _answer(self, number: int) -> Generator[Any, Any, None]:
        yield from self._carry(self.cluster.back)
        yield self.messages.put((number, True))


def simulate(cluster: Cluster, pairs: float) -> Outcome:
    """Return what becomes of so many pairs; after :data:`ENOUGH` units the rest goes on at their last rate."""
    units = int(np.ceil(pairs / cluster.unit))
    enough = max(ENOUGH, 20 * DEPTH * cluster.slots)
    if units <= enough:
        return Simulation(cluster, units).run()
    simulation = Simulation(cluster, enough)
    outcome = simulation.run()
    rate = (enough - enough // 2) / (outcome.seconds - simulation.half)
    return replace(outcome, seconds=outcome.seconds + (units - enough) / rate)


# Times of the parts.


def measure(pairs: int, repeats: int = 3) -> Parts:
    """Return what the parts take for pairs of real texts; the least of some repeats, in seconds of CPU."""
    import pyarrow.parquet as pq

    from assay.benchmark.executor import Unit, score_unit
    from assay.benchmark.singles import Singles
    from assay.benchmark.store import ScoreStore
    from assay.datasets import load_dataset
    from assay.metrics import load_metric
    from assay.statistics.agreement import agreement
    from tests.performance.large import make

    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        make(data, pairs, Path(os.environ["ASSAY_SHARED_DATA"]))
        read, dataset = _least(repeats, lambda: load_dataset(str(data)))
        assert len(dataset) == pairs == sum(pq.ParquetFile(part).metadata.num_rows for part in data.iterdir())
        metrics = {name: load_metric(name) for name in ("f1", "bleu", "rouge-l")}
        digest, singles = _least(repeats, lambda: Singles(dataset, metrics["f1"].declaration))
        chunks = [np.arange(start, start + 1024) for start in range(0, pairs - 1024, 1024)]

        def cut() -> list[bytes]:
            return [pickle.dumps(Unit(0, None, (metrics["f1"],), singles.batch(rows))) for rows in chunks]

        cut_seconds, pickled = _least(repeats, cut)
        with ScoreStore(Path(scratch) / "scores.sqlite") as store:
            key = store.metric_id(metrics["f1"].signature())
            look_up, _ = _least(1, lambda: store.get(key, singles.digests))
            store.expect(key, pairs)
            values, flags = np.random.default_rng(0).random(pairs), np.zeros(pairs, dtype=np.uint8)

            def keep() -> None:
                for rows in chunks:
                    store.put(key, singles.digests[rows], values[rows], flags[rows])

            kept, _ = _least(1, keep)
        scores = {"f1": values}
        options: dict[str, Any] = {
            "statistics": ["pearson", "spearman", "kendall"],
            "resamples": 1000,
            "interval": "influence",
        }
        agree, _ = _least(1, lambda: agreement(scores, dataset.labels, **options, confidence=0.95, seed=(0,)))
        units: dict[str, list[float]] = {}
        for name, metric in metrics.items():
            score_unit(Unit(0, None, (metric,), singles.batch(chunks[0])))
            for rows in chunks[:: max(1, len(chunks) // 20)]:
                unit = Unit(0, None, (metric,), singles.batch(rows))
                seconds, _ = _least(1, lambda unit=unit: score_unit(unit))
                units.setdefault(name, []).append(seconds / len(rows))
    cut_pairs = 1024 * len(chunks)
    return Parts(
        read / pairs,
        digest / pairs,
        look_up / pairs,
        agree / pairs,
        cut_seconds / cut_pairs,
        kept / cut_pairs,
        _call_seconds(pickled[0]),
        sum(map(len, pickled)) / cut_pairs,
        units,
    )


def _least(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least CPU seconds of this process, and the last result."""
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        result = work()
        seconds.append(time.process_time() - begun)
    return min(seconds), result


def _call_seconds(payload: bytes, calls: int = 200) -> float:
    """Return the CPU seconds of the driver for a call of a slot with a pickled unit, on a Ray of this machine."""
    import ray

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:

        class Echo:
            def call(self, content: bytes) -> bytes:
                return content[:9216]

        actor = ray.remote(Echo).remote()
        ray.get(actor.call.remote(payload))
        begun = time.process_time()
        for _ in range(calls // DEPTH):
            ray.get([actor.call.remote(payload) for _ in range(DEPTH)])
        return (time.process_time() - begun) / calls
    finally:
        ray.shutdown()


# What is asked.


def local(parts: Parts, rows: Sequence[dict[str, Any]], cores: int) -> str:
    """Return predicted and measured seconds of runs of f1, bleu and rouge-l on this machine, as Markdown."""
    lines = ["| pairs | predicted s | measured s | of CPU | predicted / measured |", "|---:|---:|---:|---:|---:|"]
    for row in sorted(rows, key=lambda row: row["pairs"]):
        pairs = row["pairs"]
        once = (parts.read + parts.digest + len(parts.units) * (parts.look_up + 2 * parts.agree)) * pairs
        seconds = once
        for times in parts.units.values():
            draw = random.Random(0)
            cluster = Cluster(
                cores, 1024, lambda draw=draw, times=times: 1024 * draw.choice(times), 1024 * parts.cut,
                1024 * parts.keep, 1024 * parts.size, 9216, cores=cores,
            )  # fmt: skip
            seconds += simulate(cluster, pairs).seconds
        cpu = sum(stage["cpu"] for stage in row["stages"].values())
        lines.append(f"| {pairs:,} | {seconds:.0f} | {row['wall']:.0f} | {cpu:.0f} | {seconds / row['wall']:.2f} |")
    return "\n".join(lines)


def billion(parts: Parts, pairs: float = 1e9) -> str:
    """Return time, cost and what is busy for 10⁹ pairs under a neural metric, as Markdown: as it is, and with slots
    that read and keep their own rows."""
    lines = [
        "| metric | nodes | design | hours | pairs/s | driver busy | link busy | GPUs busy | node hours | price |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for metric, speed in GPU.items():
        for nodes in (1, 10, 100):
            for design, share in {"as it is": 1.0, "slots read and keep": 0.0}.items():
                draw = random.Random(0)
                unit = 8192
                cluster = Cluster(
                    nodes, unit, lambda draw=draw, speed=speed, unit=unit: unit / speed * draw.lognormvariate(0, 0.1),
                    share * unit * parts.cut + parts.call / 2, share * unit * parts.keep + parts.call / 2,
                    share * unit * parts.size + 1000, share * unit * 9 + 1000, load=30.0,
                )  # fmt: skip
                outcome = simulate(cluster, pairs)
                # before the first unit and after the last one the driver is alone; or each slot sees to its rows
                alone = (parts.read + parts.digest + parts.look_up) * pairs / (1 if share else nodes)
                seconds = outcome.seconds + alone + 2 * parts.agree * pairs
                lines.append(
                    f"| {metric} | {nodes} | {design} | {seconds / 3600:.1f} | {pairs / seconds:,.0f} | "
                    f"{outcome.driver:.0%} | {outcome.link:.0%} | {outcome.slots:.0%} | "
                    f"{nodes * seconds / 3600:,.0f} | {PRICE * nodes * seconds / 3600:,.0f} |"
                )
    return "\n".join(lines)


def main() -> None:
    """Run one of the commands of the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("parts", type=Path)
    measuring.add_argument("--pairs", type=int, default=300_000, help="so many that scores go to Parquet")
    near = verbs.add_parser("local")
    near.add_argument("parts", type=Path)
    near.add_argument("rows", type=Path, nargs="+")
    near.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    far = verbs.add_parser("billion")
    far.add_argument("parts", type=Path)
    settings = parser.parse_args()
    if settings.verb == "measure":
        found = vars(measure(settings.pairs))
        settings.parts.write_text(json.dumps(found, indent=1))
        print(json.dumps(found, indent=1))
        return
    parts = Parts(**json.loads(settings.parts.read_text()))
    if settings.verb == "local":
        print(local(parts, [json.loads(row.read_text()) for row in settings.rows], settings.cores))
    else:
        print(billion(parts))


if __name__ == "__main__":
    main()
