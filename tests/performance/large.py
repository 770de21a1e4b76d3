"""Runs of 10⁵ to 10⁷ pairs made from real texts: CPU seconds and peak memory of each stage, and the curve.

python -m tests.performance.large make DATA --pairs 1000000      Parquet parts, deterministic
python -m tests.performance.large run DATA --out ROW.json        one run, stage by stage
python -m tests.performance.large draw ROW.json … --out F.png    the curve, and a table
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows of one part.
PART = 250_000
#: Rows of a part that are made at a time.
SLICE = 50_000
#: Longest text that is taken, in characters.
LONGEST = 100
METRICS = ("f1", "bleu", "rouge-l")


def real_pairs(shared: Path) -> pa.Table:
    """Return reference, candidate, label (0 to 1) and subset of labelled pairs of EVOUNA, SICK and STS."""
    rows: list[tuple[str, str, float, str]] = []
    for item in json.loads((shared / "evouna" / "TQ.json").read_text(encoding="utf-8")):
        gold = item["golden_answer"].split("/")[0]
        for system in ("fid", "gpt35", "chatgpt", "gpt4", "newbing"):
            judged = item[f"judge_{system}"]
            if isinstance(judged, bool):
                rows.append((gold, item[f"answer_{system}"], float(judged), "evouna"))
    with (shared / "sick" / "SICK.txt").open(encoding="utf-8") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            label = (float(line["relatedness_score"]) - 1) / 4
            rows.append((line["sentence_A"], line["sentence_B"], label, "sick"))
    for part in ("train", "dev", "test"):
        with (shared / "stsbenchmark" / f"sts-{part}.csv").open(encoding="utf-8") as file:
            for cells in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                rows.append((cells[5], cells[6], float(cells[4]) / 5, "sts"))
    kept = [row for row in rows if max(len(row[0]), len(row[1])) <= LONGEST and min(len(row[0]), len(row[1]))]
    random.Random(0).shuffle(kept)
    return pa.table(dict(zip(("reference", "candidate", "label", "subset"), zip(*kept, strict=True), strict=True)))


def make(folder: Path, pairs: int, shared: Path) -> None:
    """Write *pairs* pairs as Parquet parts: each joins two real pairs, text to text; its label is their mean.

    Pair k joins the real pairs k and k + s, modulo their number, where s grows by 1 each time all were taken: no two
    real pairs are joined twice. A larger number of pairs begins with the pairs of a smaller one.
    """
    import pyarrow.compute as pc

    real = real_pairs(shared)
    folder.mkdir(parents=True)
    for start in range(0, pairs, PART):
        path = folder / f"part-{start // PART:04}.parquet"
        writer = None
        for first in range(start, min(start + PART, pairs), SLICE):
            number = np.arange(first, min(first + SLICE, start + PART, pairs))
            one = number % len(real)
            other = (one + 1 + number // len(real)) % len(real)
            left, right = real.take(pa.array(one)), real.take(pa.array(other))
            columns = {
                name: pc.binary_join_element_wise(left.column(name), right.column(name), " ")
                for name in ("reference", "candidate")
            }
            columns["label"] = pc.divide(pc.add(left.column("label"), right.column("label")), 2.0)
            columns["subset"] = left.column("subset")
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()


# What a stage takes: the functions of assay that do it are wrapped in the process that runs it.

_CHILD = '''
import json, sys, threading, time
from pathlib import Path
import importlib

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) * 1024

class Peaks(threading.Thread):
    """The most memory of the stage that is running: all, and without pages of mapped files."""
    def __init__(self):
        super().__init__(daemon=True)
        self.anonymous = 0
    def run(self):
        while True:
            self.look()
            time.sleep(0.05)
    def look(self):
        self.anonymous = max(self.anonymous, status("RssAnon"))

stages, stack, peaks = {}, [], Peaks()
last = [time.process_time()]

def close_slice():
    """Credit what was used since the last change of stage to the stage that was running."""
    peaks.look()
    name = stack[-1] if stack else "other"
    record = stages.setdefault(name, {"cpu": 0.0, "peak_mb": 0.0, "anonymous_mb": 0.0})
    now = time.process_time()
    record["cpu"] += now - last[0]
    record["peak_mb"] = max(record["peak_mb"], status("VmHWM") / 1e6)
    record["anonymous_mb"] = max(record["anonymous_mb"], peaks.anonymous / 1e6)
    peaks.anonymous = 0
    Path("/proc/self/clear_refs").write_text("5")
    last[0] = time.process_time()

def watch(path, stage):
    module, _, name = path.partition(":")
    owner = importlib.import_module(module)
    *outer, name = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    done = getattr(owner, name)
    def watched(*args, **kwargs):
        close_slice()
        stack.append(stage)
        try:
            return done(*args, **kwargs)
        finally:
            close_slice()
            stack.pop()
    setattr(owner, name, watched)

settings = json.loads(sys.argv[1])
from assay.cli import main
import assay.common.processes
assay.common.processes.reset_peak_memory = lambda: None
for path, stage in settings["stages"]:
    watch(path, stage)
peaks.start()
begun = time.perf_counter()
sys.argv[1:] = settings["arguments"]
try:
    main()
except SystemExit as end:
    code = end.code
close_slice()
wall = time.perf_counter() - begun
# the metrics by themselves on a sample of the same texts, in this process
import pyarrow.parquet as pq
from assay.metrics import Batch, load_metric
pairs, bare = 0, {}
sample = []
for part in sorted(Path(settings["data"]).glob("*.parquet")):
    pairs += pq.ParquetFile(part).metadata.num_rows
    for batch in pq.ParquetFile(part).iter_batches(1024, columns=["reference", "candidate"]):
        sample.append(batch)
step = max(1, len(sample) // 40)
for name in settings["metrics"]:
    metric, taken = load_metric(name), 0
    cpu = 0.0
    for batch in sample[::step]:
        texts = Batch(batch.column(0).to_pylist(), batch.column(1).to_pylist())
        start = time.process_time()
        metric.score(texts)
        cpu += time.process_time() - start
        taken += len(texts)
    bare[name] = cpu / taken * pairs
record = {"code": code, "pairs": pairs, "wall": wall, "bare_cpu": bare, "stages": stages}
Path(settings["out"]).write_text(json.dumps(record))
'''
#: Functions of assay, and the stage that each belongs to. One that is called within another counts by itself.
STAGES = (
    ("assay.api.run:plan_run", "reading"),
    ("assay.datasets.pairs:Pairs._digest_of_pairs", "digests"),
    ("assay.benchmark.runner:prepare_datasets", "choosing rows"),
    ("assay.benchmark.singles:Singles.__init__", "distinct pairs"),
    ("assay.benchmark.scoring:Scorer._look_up", "look-up"),
    ("assay.benchmark.singles:Singles.batch", "texts of units"),
    ("assay.benchmark.executor:score_unit", "scoring"),
    ("assay.benchmark.store:ScoreStore.put", "store"),
    ("assay.benchmark.store:ScoreStore.close", "store"),
    ("assay.benchmark.runner:split_into_buckets", "buckets"),
    ("assay.benchmark.kept:tabulate", "agreement"),
    ("assay.api.result:write_run", "folder"),
)


def measure(data: Path, metrics: list[str], cache: Path | None, keep: Path | None, extra: list[str]) -> dict[str, Any]:
    """Return CPU seconds and peaks of each stage of one run into an empty store."""
    with tempfile.TemporaryDirectory(prefix="large-", dir=data.parent) as scratch:
        out = Path(scratch) / "stages.json"
        arguments = ["run", "-d", f"{data}/", *(part for name in metrics for part in ("-m", name)), *extra]
        arguments += ["--out", str(Path(scratch) / "run"), "--bucket", "subset"]
        settings = {"stages": STAGES, "arguments": arguments, "out": str(out), "data": str(data), "metrics": metrics}
        cache = cache or Path(scratch) / "cache"
        environment = os.environ | {"ASSAY_CACHE": str(cache)}
        subprocess.run([sys.executable, "-c", _CHILD, json.dumps(settings)], check=True, env=environment)
        record: dict[str, Any] = json.loads(out.read_text())
        record["store_mb"] = sum(p.stat().st_size for p in cache.rglob("*") if p.is_file()) / 1e6
        if keep is not None:
            shutil.move(Path(scratch) / "run", keep)
    return record


# The figure and the table of docs/large.md.

#: Stages that go through the texts so that metrics can be scored, but for the metrics themselves.
AROUND = ("distinct pairs", "look-up", "texts of units", "store")


def summary(record: dict[str, Any]) -> dict[str, float]:
    """Return the figures of one run that the documentation shows."""
    stages = record["stages"]
    scoring = stages["scoring"]["cpu"]
    with_store = scoring + sum(stages[name]["cpu"] for name in AROUND if name in stages)
    return {
        "pairs": record["pairs"],
        "all": sum(stage["cpu"] for stage in stages.values()),
        "scoring": with_store,
        "bare": sum(record["bare_cpu"].values()),
        "agreement": stages["agreement"]["cpu"],
        "peak": max(stage["peak_mb"] for stage in stages.values()),
        "anonymous": max(stage["anonymous_mb"] for stage in stages.values()),
        # "other" is the start, the tables and, up to 100,000 pairs, the page
        "largest": max(stages, key=lambda name: stages[name]["peak_mb"]),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the runs as a table in Markdown."""
    lines = [
        "| pairs | CPU s | scoring and store | metrics alone | agreement | peak MB | without mapped files | peak in |",
        "|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['pairs']:,} | {row['all']:.0f} | {row['scoring']:.0f} | {row['bare']:.0f} | "
            f"{row['agreement']:.1f} | {row['peak']:.0f} | {row['anonymous']:.0f} | {row['largest']} |"
        )
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], out: Path) -> None:
    """Draw CPU seconds and peak memory over the number of pairs."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    pairs = [row["pairs"] for row in rows]
    for name, label in {"all": "the whole run", "scoring": "scoring and store", "bare": "metrics alone"}.items():
        left.plot(pairs, [row[name] for row in rows], marker="o", label=label)
    left.plot(pairs, [rows[0]["all"] * n / pairs[0] for n in pairs], color="0.6", linestyle=":", label="linear")
    left.set(xscale="log", yscale="log", xlabel="pairs", ylabel="CPU seconds")
    left.legend()
    for name, label in {"peak": "all", "anonymous": "without mapped files"}.items():
        right.plot(pairs, [row[name] / 1000 for row in rows], marker="o", label=label)
    right.set(xscale="log", xlabel="pairs", ylabel="peak memory, GB", ylim=(0, None))
    right.legend()
    figure.savefig(out, dpi=120, metadata={"Software": None})


def main() -> None:
    """Run one of the commands of the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("--pairs", type=int, required=True)
    making.add_argument("--shared", type=Path, default=os.environ.get("ASSAY_SHARED_DATA"))
    running = verbs.add_parser("run")
    running.add_argument("data", type=Path)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--cache", type=Path, help="the cache folder, which may hold scores; empty by default")
    running.add_argument("--keep", type=Path, help="where to move the run folder to")
    running.add_argument("--metrics", default=",".join(METRICS))
    drawing = verbs.add_parser("draw")
    drawing.add_argument("rows", type=Path, nargs="+")
    drawing.add_argument("--out", type=Path, required=True)
    settings, extra = parser.parse_known_args()
    if settings.verb == "make":
        make(settings.folder, settings.pairs, settings.shared)
    elif settings.verb == "draw":
        rows = sorted((summary(json.loads(row.read_text())) for row in settings.rows), key=lambda row: row["pairs"])
        draw(rows, settings.out)
        print(table(rows))
    else:
        record = measure(settings.data, settings.metrics.split(","), settings.cache, settings.keep, extra)
        settings.out.write_text(json.dumps(record, indent=1))
        print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
