"""A run against a stand-in that mixes the replies of many servers: ``python -m tests.metrics.judge.mixing [PAIRS]``.

It prints how many pairs were answered in which way, how they were read, how many scores are right and wrong, and what
was spent of the budget.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import assay
from tests.judge_server.mixed import MixedServer, is_right, serve_mixed
from tests.metrics.judge.questions import judge_at, scores_of, write_pairs

#: Prices of a million tokens.
PRICES = {"price_in": 1, "price_out": 4}


@dataclass(frozen=True)
class Outcome:
    """What a run made of the replies: scores that are right, wrong and missing, and the details of its cost."""

    right: int
    wrong: int
    missing: int
    cost: dict[str, Any]
    flags: dict[str, int]
    signature: dict[str, str]


def run_mixed(server: MixedServer, pairs: int, folder: Path, **settings: Any) -> Outcome:
    """Run a judge on pairs against the stand-in, with a budget if one is given."""
    file = write_pairs(folder / "pairs.csv", pairs)
    metric = judge_at(server.url, retries=0, **PRICES)
    assay.run(file, [metric], out=folder / "run", resamples=0, **settings)
    truth = {}
    for text in (call.text for call in server.chats if call.text):
        truth[text.partition("Answer to grade: ")[2].partition("\n")[0]] = is_right(text)
    scores = scores_of(folder / "run")
    found = {name: score for name, score in scores.items() if score == score}
    right = sum((score > 0.5) == truth[name] for name, score in found.items())
    (record,) = json.loads((folder / "run" / "run.json").read_text())["metrics"]
    return Outcome(
        right,
        len(found) - right,
        len(scores) - len(found),
        record["cost"],
        record["flags"],
        record["signature"],
    )


def tokens_spent(server: MixedServer) -> float:
    """Return the price of all answers by the server's own counts."""
    return sum(PRICES["price_in"] * c.tokens_in + PRICES["price_out"] * c.tokens_out for c in server.chats) / 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, serve_mixed() as server:
        os.environ["ASSAY_CACHE"] = f"{name}/cache"
        outcome = run_mixed(server, int(sys.argv[1]) if len(sys.argv) > 1 else 500, Path(name), budget=1.0)
        for way, count in server.counts.most_common():
            print(f"{count:5} {way}")
        print("read by:", outcome.cost["read_by"])
        print(f"{outcome.right} right, {outcome.wrong} wrong, {outcome.missing} without a score: {outcome.flags}")
        print(f"spent {outcome.cost['price']} of 1.0; by the server's counts {tokens_spent(server):.6f}")
