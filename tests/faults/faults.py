"""The faults beside kills, each a function of a bench and a count that strikes once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.processes import DONE, KILLED, REFUSED, begin, call, end, kill_after
from tests.faults.trials import Bench, Count, kill_and_finish
from tests.faults.works import differ
from tests.server import serve

#: One strike of a fault: what is disturbed, and where to count what came of it.
Strike = Callable[[Bench, Count], None]


def kill(bench: Bench, count: Count) -> None:
    """Signal 9 at random moments, several times before the command may end."""
    kill_and_finish(bench, count, most=6)


def limited_files(bench: Bench, count: Count) -> None:
    """No file can grow beyond a random size: the error of a full disk at the same call, wherever it can be had."""
    sizes = [path.stat().st_size for path in bench.whole.rglob("*") if path.is_file()]
    size = bench.dice.randrange(1000, max(sizes))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    with bench.folder() as folder:
        count.times += 1
        # SQLite calls it an error of the disk
        bench.check_ended(bench.do(folder, limit), count, remedy="disk")
        bench.check_mine(folder, count)
        bench.finish(folder, count)


def full_disk(bench: Bench, count: Count) -> None:
    """A file system of its own that is full at a random size, as root; elsewhere see :func:`limited_files`."""
    needed = sum(path.stat().st_size for path in bench.whole.rglob("*") if path.is_file())
    size = bench.dice.randrange(64 * 1024, needed + 64 * 1024)
    with bench.folder() as folder, tempfile.TemporaryDirectory() as place:
        if not _mounted("-t", "tmpfs", "-o", f"size={size}", "tmpfs", place):
            limited_files(bench, count)
            return
        try:
            disk = Path(place) / "disk"
            with contextlib.suppress(OSError):
                shutil.copytree(folder, disk)
            count.times += 1
            bench.check_ended(bench.do(disk), count, remedy="disk is full")
            bench.check_mine(disk, count)
            _mounted("-o", "remount,size=256m", place)
            bench.finish(disk, count)
        finally:
            subprocess.run(["umount", place], check=True)


def _mounted(*arguments: str) -> bool:
    """Mount something; False where this process may not."""
    return os.geteuid() == 0 and subprocess.run(["mount", *arguments], capture_output=True).returncode == 0


@contextmanager
def _read_only(folder: Path) -> Iterator[None]:
    """Let nothing be written to a folder: for root by a mount, since permissions do not bind it."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    bound = _mounted("--bind", str(folder), str(folder))
    try:
        if not bound or not _mounted("-o", "remount,ro,bind", str(folder)):
            raise RuntimeError("root without permission to mount cannot make a folder read-only")
        yield
    finally:
        if bound:
            subprocess.run(["umount", str(folder)], check=True)


def read_only(bench: Bench, count: Count) -> None:
    """A folder that cannot be written to, after a part of the work was done there."""
    with bench.folder() as folder:
        if kill_after(bench.start(folder), bench.dice.uniform(0, bench.seconds)) != KILLED:
            return
        count.times += 1
        with _read_only(folder):
            code = bench.do(folder)
            bench.check_ended(code, count, remedy="cannot be")
            if code == DONE:
                count.wrong.append("wrote to a read-only folder")
        bench.check_mine(folder, count)
        bench.finish(folder, count, 2)


def locked_store(bench: Bench, count: Count) -> None:
    """Another program holds the store: for a while, which is waited for, or for longer than a command waits."""
    with bench.folder() as folder:
        store = folder / "store.sqlite"
        if kill_after(bench.start(folder), bench.dice.uniform(0.3, 1) * bench.seconds) != KILLED or not store.exists():
            return
        count.times += 1
        long = bench.dice.random() < 0.5
        # a process of its own: a fork of one that holds the lock would take the lock for its own
        holder = begin(lambda: _hold(store, 30 if long else 1), bench.log)
        wait_for = store.with_name("held")
        while not wait_for.exists():
            time.sleep(0.01)
        code = bench.do(folder, _impatient if long else lambda: None)
        os.kill(holder, signal.SIGKILL)
        end(holder)
        wait_for.unlink()
        bench.check_ended(code, count, remedy="locked")
        if not long and code != DONE:
            count.wrong.append(f"did not wait: {bench.said()[:200]}")
        bench.check_mine(folder, count)
        bench.finish(folder, count, 2)


def _impatient() -> None:
    from assay.common import database

    database.PATIENCE = 0.2


def _hold(store: Path, seconds: float) -> None:
    """Hold the lock of a database for some seconds; a file beside it says from when."""
    other = sqlite3.connect(store, timeout=5, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.with_name("held").touch()
    time.sleep(seconds)
    other.execute("ROLLBACK")


def damaged_store(bench: Bench, count: Count) -> None:
    """Bytes of the store are overwritten, or its end is gone: no wrong number, and a line with the remedy."""
    dice = bench.dice
    with bench.folder() as folder:
        if bench.do(folder) != DONE:
            raise RuntimeError(bench.said())
        shutil.rmtree(folder / "out")
        store = folder / "store.sqlite"
        content = bytearray(store.read_bytes())
        count.times += 1
        if dice.random() < 0.2:
            del content[dice.randrange(len(content)) :]
        else:
            start = dice.randrange(len(content))
            length = dice.choice((1, 8, 100, 4096))
            content[start : start + length] = dice.randbytes(min(length, len(content) - start))
        store.write_bytes(content)
        code = bench.do(folder)
        bench.check_ended(code, count, remedy="move the file away")
        if code == DONE:
            count.different += differ(bench.work.tables(folder), bench.tables)
        for path in folder.glob("store.sqlite*"):
            path.unlink()
        bench.finish(folder, count, 1000)  # everything may be scored again


def at_once(processes: int) -> Strike:
    """The same command several times at once, on one store and one ``out``."""

    def strike(bench: Bench, count: Count) -> None:
        with bench.folder() as folder:
            count.times += 1
            started = [bench.start(folder) for _ in range(processes)]
            codes = [end(process) for process in started]
            allowed = (DONE, REFUSED) if bench.work.once else (DONE,)
            if DONE not in codes or not set(codes) <= set(allowed):
                count.wrong.append(f"exits {codes}: {bench.said()[:200]}")
            bench.finish(folder, count, 1000)  # each may score all

    strike.__doc__ = at_once.__doc__
    return strike


def clock(bench: Bench, count: Count) -> None:
    """After a kill the clock goes back: files are of the day after tomorrow, and the time runs backwards."""
    with bench.folder() as folder:
        if kill_after(bench.start(folder), bench.dice.uniform(0, bench.seconds)) != KILLED:
            return
        count.times += 1
        later = time.time() + 2 * 86400
        for path in folder.rglob("*"):
            os.utime(path, (later, later))
        code = bench.do(folder, _run_back)
        bench.check_ended(code, count, remedy="is not an empty folder")
        bench.check_mine(folder, count)
        bench.finish(folder, count, 2)


def _run_back() -> None:
    now = time.time_ns()

    def back() -> int:
        nonlocal now
        now -= 10**9
        return now

    time.time_ns = back
    time.time = lambda: back() / 1e9


def changed_data(bench: Bench, count: Count) -> None:
    """A cell of the data changes between the kill and the next command: never a mixture of both."""
    file = next(path for path in bench.work.inputs.iterdir() if path.name in ("pairs.csv", "train.parquet"))
    before = file.read_bytes()
    with bench.folder() as folder, bench.folder() as fresh:
        if kill_after(bench.start(folder), bench.dice.uniform(0.2, 1) * bench.seconds) != KILLED:
            return
        count.times += 1
        ended = (folder / "out").exists()
        try:
            _change_cell(file)
            code = bench.do(folder)
            if bench.work.once:
                begun = (folder / ".out.training/request.json").exists()
                bench.check_ended(code, count, remedy="is not an empty folder" if ended else "another request")
                if begun and code == DONE:
                    count.wrong.append("a training went on with other data")
            elif ended:
                bench.check_ended(code, count, remedy="holds another run")
            elif bench.do(fresh) != DONE or code != DONE:
                count.wrong.append(f"exit {code}: {bench.said()[:200]}")
            else:
                count.different += differ(bench.work.tables(folder), bench.work.tables(fresh))
        finally:
            file.write_bytes(before)
        if code == DONE:
            shutil.rmtree(folder / "out")
        bench.finish(folder, count, 3)


def _change_cell(file: Path) -> None:
    if file.suffix == ".csv":
        file.write_text(file.read_text().replace("text 7,", "text seven,"))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(file).to_pylist()
    rows[3]["candidate"] += " again"
    pq.write_table(pa.Table.from_pylist(rows), file)


def cut_download(bench: Bench, count: Count) -> None:
    """A server that cuts its answers at random places, and a process that is killed meanwhile."""
    from assay.common.transfer import download

    content = bench.dice.randbytes(2_000_000)
    digest = hashlib.sha256(content).hexdigest()
    with bench.folder() as folder, serve() as site:
        site.files["/file"] = content
        target = folder / "got/file"

        def fetch() -> None:
            from assay.common import transfer

            transfer.time.sleep = lambda _: None
            download(f"{site.url}/file", target, size=len(content), sha256=digest)

        count.times += 1
        site.cut_after = [bench.dice.randrange(len(content)) for _ in range(bench.dice.randrange(1, 12))]
        kill_after(begin(fetch, bench.log), bench.dice.uniform(0, 0.1))
        site.cut_after = []
        if target.exists() and target.read_bytes() != content:
            count.different += 1
        if call(fetch, bench.log) != DONE:
            count.wrong.append(bench.said()[:200])
        count.different += not target.exists() or target.read_bytes() != content
        count.left += len(list(target.parent.iterdir())) - 1
        bench.check_mine(folder, count)


def dead_worker(bench: Bench, count: Count) -> None:
    """One of the processes that compare graphs is killed: the others go on, and the scores are the same."""
    import numpy as np

    from assay.metrics.amr.session import Workers
    from assay.metrics.load import load_metric

    dice = bench.dice
    words = ["want", "go", "see", "boy", "girl", "book"]
    graphs = [f"({w[0]} / {w}-0{i % 9 + 1} :ARG0 (x / {words[i % 6]}))" for i in range(40) for w in words]
    pairs = [(graph, dice.choice(graphs)) for graph in graphs]
    aspects = [load_metric("amr:smatch").settings()]  # type: ignore[attr-defined]
    delay = dice.uniform(0, 1.5)

    def compare() -> None:
        expected, _ = Workers(1).compare(aspects, pairs)
        workers = Workers(2)
        with contextlib.ExitStack() as stack:
            stack.callback(workers.close)
            _kill_a_child(delay)
            for _ in range(3):
                again, _ = workers.compare(aspects, pairs)
                if not np.array_equal(again, expected):
                    raise RuntimeError("other scores after a worker died")

    with bench.folder() as folder:
        count.times += 1
        code = call(compare, bench.log)
        if code != DONE:
            count.wrong.append(f"exit {code}: {bench.said()[:200]}")
        bench.check_mine(folder, count)


def dead_scorer(bench: Bench, count: Count) -> None:
    """One of the workers of a run is killed: the run ends all the same, with the same result."""
    from tests.faults.works import Run

    delay = bench.dice.uniform(0, 1.5)

    def with_workers() -> None:
        from assay.benchmark import executor

        Run.workers, executor.MIN_PAIRS = 2, 0
        _kill_a_child(delay)

    with bench.folder() as folder:
        count.times += 1
        if (code := bench.do(folder, with_workers)) != DONE:
            count.wrong.append(f"exit {code}: {bench.said()[:200]}")
            return
        count.different += differ(bench.work.tables(folder), bench.tables)
        # the store has all, so that the same command scores nothing
        bench.finish(folder, count)


def _kill_a_child(delay: float) -> None:
    """Kill a process that this one starts, some seconds after it is there."""
    import multiprocessing
    import threading

    def strike() -> None:
        until = time.monotonic() + 10
        while not (children := multiprocessing.active_children()) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(delay)
        for child in children[:1]:
            if child.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)

    threading.Thread(target=strike, daemon=True).start()
