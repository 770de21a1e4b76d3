"""``python -m tests.metrics.judge.killing FOLDER``: kill a run of a judge ten times at random, then let it end.

Prints as JSON how often it was killed, how many answers were given twice, in all and because of one kill, how many of
them the process had had for a second or longer, how many calls a kill cut off, how many were made in all, and how many
were in flight at a time. A process of its own, since it forks: the one of the tests may have threads.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

from tests.faults.processes import DONE, KILLED, begin, call, kill_after, preload
from tests.judge_server import serve_apart
from tests.judge_server.protocol import Behaviour
from tests.judge_server.server import Call, Record
from tests.metrics.judge.questions import judge_at, scores_by_protocol, scores_of, write_pairs

PAIRS, KILLS, CONCURRENCY, DELAY = 300, 10, 16, 0.2


def main(folder: Path) -> None:
    dice = random.Random(19)
    pairs = write_pairs(folder / "pairs.csv", PAIRS)
    with serve_apart(Behaviour(delay=DELAY, jitter=0.5)) as (url, record):
        metric = judge_at(url, concurrency=CONCURRENCY)

        def work(file: Path = pairs, place: str = "killed") -> None:
            import assay

            os.environ["ASSAY_CACHE"] = str(folder / place / "cache")
            assay.run(file, [metric], out=folder / place / "out", resamples=0, page=False)

        others = write_pairs(folder / "others.csv", 3, first=PAIRS)
        preload(lambda: work(others, "preloaded"), folder)
        before = len(record().chats)
        kills: list[float] = []
        while len(kills) < KILLS:
            started = begin(work, folder / "log")
            # it is killed while it calls, not while it starts
            while len(record().chats) == before:
                time.sleep(0.005)
            ended = kill_after(started, dice.uniform(0, 0.7))
            if ended != KILLED:
                raise RuntimeError(f"ended with {ended}: {(folder / 'log').read_text()}")
            kills.append(time.monotonic())
            before = len(record().chats)
        if call(work, folder / "log") != DONE:
            raise RuntimeError((folder / "log").read_text())
        calls = record()
    scores = scores_of(folder / "killed/out")
    expected = scores_by_protocol(calls, list(scores))
    lost = lost_answers(calls, kills)
    print(json.dumps({
        "kills": len(kills),
        "repeated": calls.repeated,
        "repeated by one kill": max(Counter(kill for kill, _ in lost).values(), default=0),
        "forgotten": sum(age >= 1 for _, age in lost),
        "cut off": calls.outcomes["gone"],
        "calls": len(calls.chats) - 3,
        "greatest": calls.greatest,
        "wrong": sum(abs(scores[candidate] - expected[candidate]) > 1e-9 for candidate in scores),
        "pairs": len(scores),
    }))  # fmt: skip


def lost_answers(record: Record, kills: list[float]) -> list[tuple[float, float]]:
    """Return for each answer that was given again the kill that lost it, and how many seconds before it was given.

    The seconds are negative where the server sent the answer before it saw that the process was gone.
    """
    answers: dict[str, list[Call]] = {}
    for chat in record.chats:
        if chat.outcome == "answer":
            answers.setdefault(chat.digest, []).append(chat)
    lost = []
    for *earlier, _ in answers.values():
        for chat in earlier:
            kill = min(moment for moment in kills if moment >= chat.begun)
            lost.append((kill, kill - chat.ended))
    return lost


if __name__ == "__main__":
    main(Path(sys.argv[1]))
