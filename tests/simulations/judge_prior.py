"""How well the judge's probabilities hold on sets that it was not learned from, as they are and with labels of the set.

python -m tests.answer_judge FOLDER
python -m tests.simulations.judge_prior FOLDER/left-out

Of each set, answers are drawn at random and labelled; the others are tested. ``recommend`` learns a curve from the
labels (``statistics/expectation.py``), and ``combine`` a function of the judge's log odds
(``statistics/combination.py``): from nothing, or from the judge's probabilities, worth a few labels.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from assay.statistics.combination import MIN_PAIRS, Inputs, Options, learn_combination
from assay.statistics.concordance import Floats
from assay.statistics.expectation import expected_labels

#: How many labels there are, how often they are drawn, and the bins of the calibration error.
LABELS, REPEATS, BINS = (30, 50, 100, 300), 40, 10
#: In how many of the draws combine learns, which takes longer.
COMBINE_REPEATS = 10


def calibration_error(probabilities: Floats, right: Floats) -> float:
    """Return the expected calibration error, in bins of equal numbers of answers."""
    parts = np.array_split(np.argsort(probabilities), BINS)
    return sum(abs((probabilities[part] - right[part]).sum()) for part in parts) / len(right)


def measures(probabilities: Floats, right: Floats) -> tuple[float, float]:
    """Return the calibration error, and the share of answers whose probability is on the right side of .5."""
    return calibration_error(probabilities, right), float(((probabilities > 0.5) == (right == 1)).mean())


def with_labels(probabilities: Floats, right: Floats, count: int) -> dict[str, Floats]:
    """Return the mean measures of unlabelled answers by way of making probabilities, for *count* labels."""
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, float]]] = {"as it is": [], "labels alone": [], "with the judge": []}
    for repeat in range(REPEATS):
        order = rng.permutation(len(right))
        known, rest = order[:count], order[count:]
        scores = probabilities[known]
        alone = expected_labels(scores, right[known], bounded=True)
        begun = expected_labels(scores, right[known], bounded=True, probabilities=scores)
        found["as it is"].append(measures(probabilities[rest], right[rest]))
        found["labels alone"].append(measures(alone.of(probabilities[rest]), right[rest]))
        found["with the judge"].append(measures(begun.of(probabilities[rest]), right[rest]))
        if repeat < COMBINE_REPEATS and count >= MIN_PAIRS:
            margins = np.log(probabilities / (1 - probabilities))[:, None]
            inputs = Inputs(("judge",), margins[known], (True,), right[known], np.arange(count))
            for name, prior in (("combine, labels alone", None), ("combine, with the judge", "judge")):
                learned = learn_combination(inputs, Options("auc", learners=("linear",), prior=prior)).learned
                found.setdefault(name, []).append(measures(learned.scores(margins[rest]), right[rest]))
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def main(folder: Path) -> None:
    """Print the measures on each set without labels, and their means over the sets for each number of labels."""
    sets = {file.stem: pd.read_json(file, lines=True) for file in sorted(folder.glob("*.jsonl"))}
    columns = {name: (rows["left_out"].to_numpy(float), rows["label"].to_numpy(float)) for name, rows in sets.items()}
    print("| left out | share right | mean probability | calibration error | accuracy at .5 |")
    for name, (probabilities, right) in columns.items():
        error, accuracy = measures(probabilities, right)
        print(f"| {name} | {right.mean():.2f} | {probabilities.mean():.2f} | {error:.3f} | {accuracy:.3f} |")
    print("\n| labels | sets | probabilities | calibration error | worst set | accuracy at .5 |")
    for count in LABELS:
        large = {name: values for name, values in columns.items() if len(values[1]) >= 1.5 * count}
        of_sets = [with_labels(*values, count) for values in large.values()]
        for way in of_sets[0]:
            errors, accuracies = np.transpose([found[way] for found in of_sets])
            values = f"{errors.mean():.3f} | {errors.max():.3f} | {accuracies.mean():.3f}"
            print(f"| {count} | {len(large)} | {way} | {values} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
