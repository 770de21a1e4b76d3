"""Print how often intervals of ``assay rate`` hold, and how wide they are, as the tables of docs/rate.md.

Run ``python -m tests.simulations.rate`` (three minutes of CPU), and with the folder of EVOUNA's file ``TQ.json``,
``python -m tests.simulations.rate FOLDER``, for real answers (two). Every sample has its own seed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.analysis.rate.rating import LEAST_OF_KIND, LEAST_UNITS
from assay.analysis.rate.sampling import draw_answers
from assay.metrics import Batch, load_metric
from assay.metrics.work import open_session
from assay.statistics.expectation import expected_labels
from assay.statistics.prediction_powered import LabelledSample, NewSample, labels_alone, powered_mean

SAMPLES = 1000
NEW = 3000
CONFIDENCE = 0.95

Floats = NDArray[np.float64]
#: A row of a table: what it is of, the share of samples with an estimate, coverage and width, with and without metric.
Row = tuple[str, float, float, float, float, float]


def rate_once(
    labels: Floats, scores: Floats, groups: NDArray[np.intp], labelled: NDArray[np.intp], new: NDArray[np.intp]
) -> tuple[float, float, float, float] | None:
    """Return the interval of the share with the metric and without it; None if there are too few labels of a kind.

    Args:
        labels: labels of 0 and 1, shape (n,).
        scores: scores, shape (n,).
        groups: group codes, shape (n,).
        labelled, new: the rows of the labelled and of the new answers.
    """
    known = labels[labelled]
    if min(known.sum(), (1 - known).sum()) < LEAST_OF_KIND or len(np.unique(groups[labelled])) < LEAST_UNITS:
        return None
    expectation = expected_labels(scores[labelled], known, bounded=True)
    sample = LabelledSample(
        known,
        expectation.of(scores[labelled]),
        np.ones(len(labelled)),
        groups[labelled],
        np.zeros(len(labelled), dtype=np.intp),
    )
    count = int(groups.max()) + 1
    mean = powered_mean(sample, NewSample(expectation.of(scores[new]), groups[new]), group_count=count)
    return *mean.share_interval(CONFIDENCE), *labels_alone(sample, group_count=count).share_interval(CONFIDENCE)


def made_answers(
    rng: np.random.Generator, n: int, share: float, strength: float, group_size: int
) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return labels, scores and groups of n labelled and :data:`NEW` new answers; half of each variance is the group's.

    With *group_size* above 1 groups are unequal: of one to twice that many less one answers.
    """
    total = n + NEW
    sizes = np.ones(total, dtype=int) if group_size == 1 else rng.integers(1, 2 * group_size, total)
    groups = np.repeat(np.arange(total), sizes)[:total]
    latent = rng.normal(size=total) if group_size == 1 else _shared(rng, groups)
    labels = (latent > np.quantile(rng.normal(size=100_000), 1 - share)).astype(float)
    noise = rng.normal(size=total) if group_size == 1 else _shared(rng, groups)
    return labels, noise + strength * labels, groups


def _shared(rng: np.random.Generator, groups: NDArray[np.intp]) -> Floats:
    shared: Floats = np.sqrt(0.5) * (rng.normal(size=groups.max() + 1)[groups] + rng.normal(size=len(groups)))
    return shared


def coverage_rows() -> Iterator[Row]:
    """Yield, for each population, the share of samples whose interval holds the true share, and mean widths."""
    for group_size in (1, 4):
        for strength in (0.0, 1.0, 3.0):
            for share in (0.05, 0.15, 0.5, 0.85):
                for n in (50, 100, 200, 500):
                    held, widths = [], []
                    for seed in range(SAMPLES):
                        rng = np.random.default_rng([group_size, int(10 * strength), int(100 * share), n, seed])
                        labels, scores, groups = made_answers(rng, n, share, strength, group_size)
                        interval = rate_once(labels, scores, groups, np.arange(n), np.arange(n, n + NEW))
                        if interval is None:
                            continue
                        low, high, low_alone, high_alone = interval
                        held.append((low <= share <= high, low_alone <= share <= high_alone))
                        widths.append((high - low, high_alone - low_alone))
                    if len(held) < SAMPLES / 4:
                        continue
                    name = f"{'groups of 1 to 7' if group_size > 1 else 'single'}, {strength:g}, {share:g}, {n}"
                    yield name, len(held) / SAMPLES, *np.mean(held, axis=0), *np.mean(widths, axis=0)


def real_answers(folder: Path) -> tuple[Floats, Floats, NDArray[np.intp], NDArray[np.intp]]:
    """Return labels, scores of ``token-recall``, questions and systems of EVOUNA-TQ's answers."""
    questions = json.loads((folder / "TQ.json").read_text(encoding="utf-8"))
    references: list[str] = []
    candidates: list[str] = []
    starts: list[int] = []
    labels, groups, systems = [], [], []
    for number, question in enumerate(questions):
        if question["improper"]:
            continue
        for code, system in enumerate(("fid", "gpt35", "chatgpt", "gpt4", "newbing")):
            gold_answers = question["golden_answer"].split("/")
            starts.append(len(references))
            references += gold_answers
            candidates += [question[f"answer_{system}"]] * len(gold_answers)
            labels.append(float(question[f"judge_{system}"]))
            groups.append(number)
            systems.append(code)
    metric = load_metric("token-recall")
    result = open_session(metric.needs()).score([metric], Batch(references, candidates))
    # the best gold answer counts
    best = np.maximum.reduceat(result.values[:, 0], starts)
    return np.array(labels), best, np.array(groups), np.array(systems)


def real_rows(folder: Path, n: int = 200, repeats: int = 500) -> Iterator[Row]:
    """Yield the same for each system of EVOUNA-TQ: n of its answers are labelled, and all others are new."""
    labels, scores, groups, systems = real_answers(folder)
    for code, name in enumerate(("FiD", "GPT-3.5", "ChatGPT", "GPT-4", "Bing")):
        rows = np.flatnonzero(systems == code)
        truth = labels[rows].mean()
        held, widths = [], []
        for seed in range(repeats):
            rng = np.random.default_rng([code, seed])
            order = rng.permutation(rows)
            interval = rate_once(labels, scores, groups, order[:n], order[n:])
            if interval is None:
                continue
            low, high, low_alone, high_alone = interval
            held.append((low <= truth <= high, low_alone <= truth <= high_alone))
            widths.append((high - low, high_alone - low_alone))
        yield f"{name}, {truth:.3f}", len(held) / repeats, *np.mean(held, axis=0), *np.mean(widths, axis=0)


def drawn_rows(folder: Path, repeats: int = 500) -> Iterator[Row]:
    """Yield the same for answers of all systems drawn by ``assay annotate`` (alone: as many drawn at random)."""
    labels, scores, groups, _ = real_answers(folder)
    truth = labels.mean()
    everything = np.arange(len(labels))
    for n in (50, 100, 200, 500):
        held, widths = [], []
        for seed in range(repeats):
            rng = np.random.default_rng([n, seed])
            pilot = rng.choice(everything, 100, replace=False)
            first = expected_labels(scores[pilot], labels[pilot], bounded=True)
            drawn = draw_answers(first.of(scores), None, n, kind="share", doubles=0, seed=seed)
            plain = rate_once(labels, scores, groups, rng.choice(everything, n, replace=False), everything)
            known = labels[drawn.rows]
            if plain is None or min(known.sum(), (1 - known).sum()) < LEAST_OF_KIND:
                continue
            codes = np.unique(list(drawn.strata), return_inverse=True)[1]
            expectation = expected_labels(scores[drawn.rows], known, bounded=True)
            predictions = expectation.of(scores)
            sample = LabelledSample(known, predictions[drawn.rows], drawn.weights, groups[drawn.rows], codes)
            mean = powered_mean(sample, NewSample(predictions, groups), group_count=int(groups.max()) + 1)
            low, high = mean.share_interval(CONFIDENCE)
            held.append((low <= truth <= high, plain[0] <= truth <= plain[1]))
            widths.append((high - low, plain[1] - plain[0]))
        yield f"{n} drawn, {truth:.3f}", len(held) / repeats, *np.mean(held, axis=0), *np.mean(widths, axis=0)


def main() -> None:
    """Print the tables as Markdown."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        tables = [("system, true share", real_rows(folder)), ("answers, true share", drawn_rows(folder))]
    else:
        tables = [("answers, strength of the metric, share of yes, labels", coverage_rows())]
    for title, rows in tables:
        print(f"| {title} | samples with an estimate | holds | holds, labels alone | width | width, labels alone |")
        print("|---|---:|---:|---:|---:|---:|")
        for name, used, *numbers in rows:
            print(f"| {name} | {used:.2f} | " + " | ".join(f"{number:.3f}" for number in numbers) + " |", flush=True)


if __name__ == "__main__":
    main()
