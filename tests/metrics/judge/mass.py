"""How much of the mass of a first token verdicts must hold: ``python -m tests.metrics.judge.mass MODEL PAIRS.csv``.

A judge in this process is asked in three ways, which leave it more or less free in how it begins its reply. For each
pair the ratio of the verdicts' probabilities at the first token is compared with the share of *yes* among whole replies
that are sampled at temperature 1 and read by the rules of the parser. Where verdicts hold little mass, most replies
begin with something else, and the ratio says little of what they conclude.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.metrics import Batch, load_metric
from assay.metrics.judge.judge import Judge
from assay.metrics.work import open_session

SAMPLES = 8
PROMPTS = {
    "one word": "Is the answer correct? Reply with one word: yes or no.",
    "free": "Is the answer correct, yes or no?",
    "open": "Say whether the answer is correct, and why.",
}
BINS = (0.0, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
TEMPLATE = '''scale = "yes-no"
reply_tokens = 24
user = """
Right answer: {{ reference }}
Answer to grade: {{ candidate }}

%s"""
'''


def compare(model: str, batch: Batch) -> pd.DataFrame:
    """Return one row per pair and prompt: the mass and the ratio of verdicts, and those of sampled replies."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, question in PROMPTS.items():
            prompt = Path(folder) / f"{name.replace(' ', '-')}.toml"
            prompt.write_text(TEMPLATE % question)
            first = _replies(f"judge:{model},prompt={prompt},verdict=probability", batch)
            sampled: Any = _replies(
                f"judge:{model},prompt={prompt},verdict=text,temperature=1,samples={SAMPLES}", batch
            )
            scale = load_metric(f"judge:{model},prompt={prompt}").scale_used  # type: ignore[attr-defined]
            for begun, replies in zip(first, sampled, strict=True):
                verdicts = scale.probabilities(begun[0].first)
                mass = sum(verdicts.values())
                values = [scale.read(reply, "text").score for reply in replies]
                stated = [value for value in values if value is not None]
                share = np.mean(stated) if len(stated) >= 4 else np.nan
                rows.append((name, mass, verdicts["yes"] / mass, len(stated) / SAMPLES, share))
    return pd.DataFrame(rows, columns=["prompt", "mass", "ratio", "with verdict", "share of yes"])


def _replies(name: str, batch: Batch) -> list[Any]:
    metric = load_metric(name)
    assert isinstance(metric, Judge)
    session: Any = open_session(metric.needs())
    return [orders[0] for orders in session.replies(metric, batch)]


def table(compared: pd.DataFrame) -> pd.DataFrame:
    """Return the difference between ratio and share of yes, and how often they lie on two sides of .5, by mass."""
    compared = compared.assign(bin=pd.cut(compared["mass"], BINS))
    compared["difference"] = (compared["ratio"] - compared["share of yes"]).abs()
    share, ratio = compared["share of yes"], compared["ratio"]
    compared["other side"] = ((share - 0.5) * (ratio - 0.5) < 0).where(share.notna())
    # the standard error of the share alone
    compared["noise"] = np.sqrt(share * (1 - share) / (SAMPLES * compared["with verdict"]))
    grouped = compared.groupby("bin", observed=True)
    counts = grouped.size().rename("pairs")
    columns = ["with verdict", "difference", "noise", "other side"]
    return pd.concat([counts, grouped[columns].mean().astype(float).round(2)], axis=1)


if __name__ == "__main__":
    pairs = pd.read_csv(sys.argv[2], dtype=str).dropna().head(int(sys.argv[3]) if len(sys.argv) > 3 else 100)
    compared = compare(sys.argv[1], Batch(pairs["reference"].tolist(), pairs["candidate"].tolist()))
    print(compared.groupby("prompt")["mass"].describe().round(2).to_string())
    print(table(compared).to_string())
