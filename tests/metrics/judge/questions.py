"""Pairs that a judge at an endpoint is asked about, and what its scores must be by the replies of the stand-in."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.judge_server.protocol import probability
from tests.judge_server.server import Record

CITIES = ("Paris", "Lagos", "Lima", "Oslo", "Quito", "Rabat", "Sofia", "Tunis")


def write_pairs(path: Path, n: int, first: int = 0) -> Path:
    """Write n distinct pairs with a question and a label of 0 or 1; their candidates end with numbers from *first*."""
    lines = ["question,reference,candidate,label"]
    for i in range(first, first + n):
        gold, answer = CITIES[i % 8], CITIES[(i * 5 + i // 16) % 8]
        lines.append(f"which city has number {i}?,{gold},it is {answer} says source {i},{int(gold == answer)}")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def judge_at(url: str, **options: object) -> str:
    """Return the name of a judge at an endpoint."""
    settings = {"endpoint": url, "prompt": "correctness", **options}
    return "judge:stand-in," + ",".join(f"{name}={value}" for name, value in settings.items())


def scores_of(folder: Path) -> dict[str, float]:
    """Return the scores of a run's only metric by candidate; missing ones are NaN."""
    scores = pd.read_parquet(folder / "scores.parquet")
    pairs = pd.read_parquet(folder / "pairs.parquet")
    joined = scores.merge(pairs, on="pair_id")
    return dict(zip(joined["candidate"], joined["score"], strict=True))


def scores_by_protocol(record: Record, candidates: list[str]) -> dict[str, float]:
    """Return what the stand-in's probabilities say of each candidate, by the prompts that it received."""
    texts = {call.text for call in record.chats if call.outcome == "answer"}
    by_candidate = {}
    for text in texts:
        candidate = text.partition("Answer to grade: ")[2].partition("\n")[0]
        by_candidate[candidate] = probability(text)
    return {candidate: by_candidate[candidate] for candidate in candidates}
