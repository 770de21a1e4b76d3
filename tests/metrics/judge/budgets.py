"""``python -m tests.metrics.judge.budgets [--runs N] [--seed S]``: what judges with a budget cost a counting server.

Each trial is a random budget for random texts of one byte to twenty thousand, at a server that fails at random: one
command; one that is killed and made again; two at once with one cache; two of which one is killed. Prints a table, and
ends with 1 if a command cost more than its budget, or a reply was paid for twice that was not in flight at a kill.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

# before anything imports a library that starts threads by them
os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

from tests.faults.processes import DONE, KILLED, begin, end, kill_after, preload
from tests.metrics.judge.counting import PRICE_IN, PRICE_OUT, TOKENIZERS, CountedCall, Trial
from tests.promises import REPOSITORY

SCENES = ("one", "killed", "two", "two, one killed")
TIMEOUT, SLOW, CONCURRENCY = 1.5, 1.8, 8
#: Seconds before a kill in which an answer that was sent may not have been read and stored, on a busy machine.
IN_FLIGHT = 1.0
ALPHABETS = ("a", "word ", "ﷺ", "😀", "é", "字", "ﬃ", "½ ", "\u0301", "가")


@dataclass
class Result:
    """What came of the trials; *exceeded*, *repeated* and *wrong* should stay 0.

    Attributes:
        trials, commands, kills, calls: how many there were.
        stopped: the commands that ended at their budget.
        failed: the calls that the server owed nothing good for: slow, cut, unreadable, without counts.
        exceeded: the commands that cost more than their budget.
        repeated: the replies that were paid for again and were not in flight at a kill.
        lost: the replies that were in flight at a kill and were paid for again.
        share: of its budget, the most that a command cost.
        wrong: anything else.
    """

    trials: int = 0
    commands: int = 0
    kills: int = 0
    calls: int = 0
    stopped: int = 0
    failed: int = 0
    exceeded: int = 0
    repeated: int = 0
    lost: int = 0
    share: float = 0.0
    wrong: list[str] = field(default_factory=list)


def write_rows(dice: random.Random, path: Path) -> int:
    """Write pairs whose texts have very different sizes, and return how many bytes all of them have."""
    rows = []
    for number in range(dice.randint(3, 25)):
        size = int(10 ** dice.uniform(0, 4.3 if dice.random() < 0.3 else 2))
        text = (dice.choice(ALPHABETS) * size)[:size]
        rows.append({"reference": f"r {number}", "candidate": f"{number} {text}", "label": number % 2})
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return sum(len(json.dumps(row, ensure_ascii=False).encode()) for row in rows)


def command(url: str, folder: Path, name: str, budget: float, concurrency: int) -> Callable[[], None]:
    """Return a run of a judge with a budget, under a key of its own."""

    def work() -> None:
        import assay
        from assay.metrics.judge import calls

        calls.FIRST_PAUSE = 0.02
        os.environ |= {"ASSAY_CACHE": str(folder / "cache"), "OPENAI_API_KEY": name}
        judge = f"judge:m,endpoint={url}/v1,verdict=text,concurrency={concurrency},timeout={TIMEOUT},retries=2"
        judge += f",price_in={PRICE_IN},price_out={PRICE_OUT}"
        result = assay.run(folder / "pairs.jsonl", [judge, "em"], budget=budget, resamples=0, page=False)
        print("stopped" if "has no room for another call" in str(result.failures) else f"ended {result.failures}")

    return work


def run_trial(url: str, dice: random.Random, result: Result) -> None:
    """Make one trial and count what came of it."""
    trial = Trial(dice.randrange(10**9), dice.choice(list(TOKENIZERS)), dice.choice((0, 0.2, 0.5)), SLOW)
    fetch(f"{url}/trial", asdict(trial))
    scene, budgets, kills = dice.choice(SCENES), {}, {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        folder = Path(made)
        size = write_rows(dice, folder / "pairs.jsonl")
        log = folder / "log"

        def start() -> tuple[str, int]:
            name = f"command-{len(budgets)}-of-a-trial"
            budgets[name] = size * PRICE_IN / 1e6 * 10 ** dice.uniform(-0.5, 1.8)
            return name, begin(command(url, folder, name, budgets[name], dice.randint(1, CONCURRENCY)), log)

        def kill(name: str, process: int) -> None:
            # while it calls, or a little before
            code = kill_after(process, dice.uniform(0.15, 0.8))
            if code == KILLED:
                kills[name] = time.monotonic()
            elif code != DONE:
                result.wrong.append(f"exit {code}: {log.read_text()[-300:]}")

        running = [start() for _ in range(2 if "two" in scene else 1)]
        if "killed" in scene:
            kill(*running.pop())
            running.append(start())
        for _, process in running:
            if end(process) != DONE:
                result.wrong.append(log.read_text()[-300:])
        # what was served slowly is counted when it begins
        calls = [CountedCall(**call) for call in fetch(f"{url}/record")]
        result.stopped += log.read_text().count("stopped")
    result.trials += 1
    result.commands += len(budgets)
    result.kills += len(kills)
    result.calls += len(calls)
    result.failed += sum(call.outcome != "answer" for call in calls)
    spent: Counter[str] = Counter()
    for call in calls:
        spent[call.caller.removeprefix("Bearer ")] += call.price
    for name, price in spent.items():
        result.share = max(result.share, price / budgets[name])
        result.exceeded += price > budgets[name] * (1 + 1e-9)
    count_repeats(calls, kills, result)


def count_repeats(calls: list[CountedCall], kills: dict[str, float], result: Result) -> None:
    """Count the requests that were made again although an answer that could be used had been sent."""
    answered: dict[str, CountedCall] = {}
    for call in calls:
        earlier = answered.get(call.request)
        if earlier is not None:
            killed = kills.get(earlier.caller.removeprefix("Bearer "))
            if killed is not None and earlier.ended > killed - IN_FLIGHT:
                result.lost += 1
            elif earlier.caller != call.caller or call.begun - earlier.begun < TIMEOUT:
                # later, and the client of a busy machine may have given up before it read the answer
                result.repeated += 1
        if call.outcome in ("answer", "uncounted", "absurd"):
            answered[call.request] = call


def fetch(url: str, body: object = None) -> list[dict[str, object]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = None if body is None else json.dumps(body).encode()
    with opener.open(urllib.request.Request(url, data)) as reply:
        return json.load(reply)


def main() -> int:
    """Make the trials, print what came of them, and return 1 where anything should not have."""
    parser = argparse.ArgumentParser(prog="python -m tests.metrics.judge.budgets", description=main.__doc__)
    parser.add_argument("--runs", type=int, default=500, help="trials (default 500)")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    dice, result, started = random.Random(asked.seed), Result(), time.monotonic()
    pipe = subprocess.PIPE
    server = [sys.executable, "-m", "tests.metrics.judge.counting"]
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made,
        subprocess.Popen(server, cwd=REPOSITORY, stdin=pipe, stdout=pipe, text=True) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        url = process.stdout.readline().strip()
        write_rows(random.Random(0), Path(made) / "pairs.jsonl")
        preload(command(url, Path(made), "preloaded", 1.0, 2), Path(made))
        for _ in range(asked.runs):
            run_trial(url, dice, result)
        process.stdin.close()
    print(json.dumps(asdict(result) | {"seconds": round(time.monotonic() - started)}))
    return int(bool(result.exceeded or result.repeated or result.wrong))


if __name__ == "__main__":
    sys.exit(main())
