"""The judges of answers that come with assay: learned from many sets, and tested on each set that was left out.

python -m tests.answer_judge FOLDER
python -m tests.answer_judge FOLDER encoder

The first writes ``answer-judge`` and ``answer-judge_grade`` to FOLDER, the second ``answer-judge_encoder``, which reads
all-MiniLM-L6-v2. Both write the answers of each set with the score of the judge that was learned from all other sets to
FOLDER/left-out, one file a set; the second also with the score of the same judge without the encoder, in
FOLDER/left-out-encoder. The folders of ``src/assay/metrics/presets`` were made by these commands. The datasets
are downloaded, or read from ``$ASSAY_DATA``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

import assay
from assay.language.answer_features import AGAINST, FEATURES
from assay.language.answer_words import answer_words
from assay.language.properties import properties_of
from assay.language.texts import TextPair
from assay.metrics import Batch, Context, load_metric
from assay.metrics.combination import FILE_NAME, CombinedFile, LinearStep, Member, best_scores
from assay.metrics.provenance import own_version
from assay.perturbations import TextPair as PerturbedPair
from assay.perturbations import load_perturbation
from assay.statistics.learners import calibrate, fit_linear

Floats = NDArray[np.float64]

#: The members of the encoder tier.
ENCODER = (
    "bertscore:all-MiniLM-L6-v2,output=recall,precision=fp32",
    "bi-encoder:all-MiniLM-L6-v2,precision=fp32",
)
#: The features that each tier reads: the encoder tier was learned before the two that are for long answers.
FEATURES_OF_TIER = {
    False: tuple(name for name in FEATURES if name != "gold-characters"),
    True: tuple(name for name in FEATURES if name not in ("characters-beyond-chance", "long-answer-in-gold")),
}
#: The most answers of a set, whole questions at random, that are learned from: without and with the encoder.
SAMPLE, ENCODER_SAMPLE = 4_000, 600
#: The precision of the prior of the weights, in shares of all pairs.
PRIOR = 0.01
#: The share of the perturbed copies in the training of a set with weight 1.
PERTURBED_WEIGHT = 0.2
#: The perturbations of answers to TriviaQA questions, after which an answer is wrong.
PERTURBATIONS = (
    *("denied-gold", "denied-sentence", "answer-denied", "question-as-answer", "names-replaced", "numbers-replaced"),
    *("injected-instruction", "injected-verdict", "injected-role"),
)


@dataclass(frozen=True)
class Source:
    """A set to learn from.

    Attributes:
        datasets: the names of its parts.
        right: the label from which an answer counts as right.
        low, high: the labels of the grades 0 and 1; what is below or above is cut.
        weight: the weight of the set.
        is_balanced: whether right and wrong answers weigh the same; otherwise each answer does.
    """

    datasets: tuple[str, ...]
    right: float
    low: float
    high: float
    weight: float = 1.0
    is_balanced: bool = True

    def rows(self, limit: int) -> pd.DataFrame:
        """Return at most *limit* answers: question, reference (a list), candidate, label and group."""
        parts = [assay.load_dataset(name).to_pandas() for name in self.datasets]
        rows = pd.concat(parts, ignore_index=True)
        rows["reference"] = [[golds] if isinstance(golds, str) else list(golds) for golds in rows["reference"]]
        # SQuALITY has no questions
        rows["question"] = rows["question"].fillna("") if "question" in rows else ""
        groups = rows["group"].drop_duplicates().sample(frac=1, random_state=0)
        sizes = rows["group"].value_counts()
        kept = groups[sizes[groups].to_numpy().cumsum() <= limit]
        rows = rows[rows["group"].isin(set(kept))].reset_index(drop=True)
        return rows[["question", "reference", "candidate", "label", "group"]]


# the answers to TriviaQA questions weigh most: they are answers of language models, judged right or wrong
SOURCES = {
    "evouna-tq": Source(("evouna-tq",), 1, 0, 1, weight=3, is_balanced=False),
    "kpqa:narrativeqa": Source(("kpqa:narrativeqa",), 0.6, 0.2, 1),
    "kpqa:semeval": Source(("kpqa:semeval",), 0.6, 0.2, 1),
    "beetle": Source(("beetle:train", "beetle:unseen-answers", "beetle:unseen-questions"), 2, 0, 2),
    "scientsbank": Source(
        (
            *("scientsbank:train", "scientsbank:unseen-answers"),
            *("scientsbank:unseen-questions", "scientsbank:unseen-domains"),
        ),
        2,
        0,
        2,
    ),
    "saf-en": Source(("saf-en:train", "saf-en:unseen-answers", "saf-en:unseen-questions"), 0.75, 0, 1),
    "mohler": Source(("mohler",), 4, 0, 5),
    "squality": Source(("squality:correctness",), 40, 0, 80),
}
#: The sets with grades, on whose scale the grade is calibrated.
GRADED = ("kpqa:narrativeqa", "kpqa:semeval", "beetle", "scientsbank", "saf-en", "mohler")


def with_few_golds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return answers with one to three gold answers each: the alias that other systems' right answers contain most.

    Up to two others are added at random. Data usually has few gold answers, which are the natural ones, while the
    aliases of TriviaQA are in no useful order.
    """
    rng = np.random.default_rng(0)
    few: list[list[str]] = [[] for _ in range(len(rows))]
    phrases = [f" {' '.join(answer_words(text))} " for text in rows["candidate"]]
    is_right = rows["label"].to_numpy() == 1
    for places in rows.groupby("group").indices.values():
        golds = list(dict.fromkeys(rows["reference"].iloc[places[0]]))
        wanted = [f" {' '.join(answer_words(gold))} " for gold in golds]
        occurs = np.array([[is_right[place] and gold in phrases[place] for gold in wanted] for place in places])
        for index, place in enumerate(places):
            # without the answer itself, whose verdict is to be learned
            counts = occurs.sum(axis=0) - occurs[index]
            order = rng.permutation(len(golds))
            first = max(order, key=lambda gold: counts[gold])
            others = [gold for gold in order if gold != first][: rng.integers(3)]
            few[place] = [golds[gold] for gold in (first, *others)]
    return rows.assign(reference=few)


def perturbed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return wrong answers made from answers: denials, other names and numbers, the question, injected verdicts."""
    changed = []
    for name in PERTURBATIONS:
        perturbation = load_perturbation(name)
        for row in rows.itertuples():
            if perturbation.pairs == ("wrong" if row.label else "right"):
                continue
            pair = perturbation.apply(PerturbedPair(tuple(row.reference), row.candidate, row.question, "en"), 0)
            if pair is not None:
                changed.append((pair.question, list(pair.references), pair.candidate, 0.0, row.group))
    return pd.DataFrame(changed, columns=["question", "reference", "candidate", "label", "group"])


def inputs_of(rows: pd.DataFrame, members: Sequence[str]) -> Floats:
    """Return the scores of the members and the features of answers, shape (n, inputs)."""
    pairs = [TextPair(row.reference, row.candidate, row.question) for row in rows.itertuples()]
    features = properties_of(pairs, FEATURES_OF_TIER[bool(members)])
    golds = rows["reference"].tolist()
    batch = Batch([texts[0] for texts in golds], rows["candidate"].tolist(), gold_answers=golds)
    return np.column_stack([*best_scores([load_metric(member) for member in members], batch), features])


@dataclass(frozen=True)
class Part:
    """Answers to learn from.

    Attributes:
        rows: the answers.
        inputs: their inputs, shape (n, inputs).
        is_right: 1 for a right answer, else 0, shape (n,).
        grades: their grades from 0 to 1, shape (n,).
        counts: the weight of each, shape (n,).
    """

    rows: pd.DataFrame
    inputs: Floats
    is_right: Floats
    grades: Floats
    counts: Floats


def part_of(source: Source, rows: pd.DataFrame, weight: float, members: Sequence[str]) -> Part:
    """Return the answers of a set with their inputs, targets and weights, which sum to *weight*."""
    labels = rows["label"].to_numpy(float)
    is_right = (labels >= source.right).astype(float)
    counts = np.ones(len(rows))
    if source.is_balanced:
        counts = np.where(is_right == 1, 0.5 / max(1, is_right.sum()), 0.5 / max(1, (1 - is_right).sum()))
    grades = np.clip((labels - source.low) / (source.high - source.low), 0, 1)
    return Part(rows, inputs_of(rows, members), is_right, grades, weight * counts / counts.sum())


def parts_of(members: Sequence[str]) -> dict[str, list[Part]]:
    """Return the parts of each set; TriviaQA has all gold answers, few gold answers, and perturbed copies."""
    parts: dict[str, list[Part]] = {}
    for name, source in SOURCES.items():
        rows = source.rows(ENCODER_SAMPLE if members else SAMPLE)
        if name != "evouna-tq":
            parts[name] = [part_of(source, rows, source.weight, members)]
            continue
        few = with_few_golds(rows)
        copies = perturbed(few[few["group"].isin(few["group"].drop_duplicates()[:300])])
        parts[name] = [
            part_of(source, rows, source.weight / 2, members),
            part_of(source, few, source.weight / 2, members),
            part_of(source, copies, PERTURBED_WEIGHT, members),
        ]
    return parts


@dataclass(frozen=True)
class Judge:
    """A logistic function of inputs.

    Attributes:
        intercept, weights: the function, in the units of the inputs.
        means: the mean of each input.
    """

    intercept: float
    weights: Floats
    means: Floats

    def margins(self, inputs: Floats) -> Floats:
        """Return the log-odds of each answer, shape (n,)."""
        return self.intercept + inputs @ self.weights


def signs_of(members: Sequence[str]) -> Floats:
    """Return 1 for each input that speaks for an answer and -1 for each that speaks against it, shape (inputs,)."""
    features = FEATURES_OF_TIER[bool(members)]
    return np.array([1.0] * len(members) + [-1.0 if name in AGAINST else 1.0 for name in features])


def learn(parts: Sequence[Part], signs: Floats) -> Judge:
    """Return the judge learned from answers; an input that speaks for an answer never lowers it, nor the reverse."""
    inputs = np.concatenate([part.inputs for part in parts]) * signs
    counts = np.concatenate([part.counts for part in parts])
    counts *= len(counts) / counts.sum()
    means = np.average(inputs, axis=0, weights=counts)
    spreads = np.sqrt(np.average((inputs - means) ** 2, axis=0, weights=counts))
    # a constant input has no spread to divide by
    spreads[spreads < 1e-9] = 1.0
    intercept, weights = fit_linear(
        (inputs - means) / spreads,
        np.concatenate([part.is_right for part in parts]),
        (True,) * inputs.shape[1],
        is_class=True,
        prior=PRIOR * len(counts),
        counts=counts,
    )
    return Judge(intercept - float(weights / spreads @ means), signs * weights / spreads, signs * means)


def left_out_margins(parts: Mapping[str, Sequence[Part]], signs: Floats) -> dict[str, list[Floats]]:
    """Return the log-odds of the answers of each set under the judge learned from all others."""
    margins = {}
    for left_out in parts:
        judge = learn([part for name in parts if name != left_out for part in parts[name]], signs)
        margins[left_out] = [judge.margins(part.inputs) for part in parts[left_out]]
    return margins


def grade_calibration(
    parts: Mapping[str, Sequence[Part]], margins: Mapping[str, Sequence[Floats]]
) -> tuple[float, float]:
    """Return the offset and slope that make grades of left-out log-odds, each graded set with the same weight."""
    rng = np.random.default_rng(0)
    drawn = [(name, rng.integers(len(margins[name][0]), size=2_000)) for name in GRADED]
    return calibrate(
        np.concatenate([margins[name][0][rows] for name, rows in drawn]),
        np.concatenate([parts[name][0].grades[rows] for name, rows in drawn]),
        is_class=True,
    )


def file_of(
    judge: Judge, members: Sequence[str], parts: Mapping[str, Sequence[Part]], step: LinearStep
) -> CombinedFile:
    """Return the file of a judge."""
    bound = [load_metric(member).bind(Context(None, list)) for member in members]
    content = CombinedFile(
        format=1,
        members=tuple(
            Member(metric=str(metric), higher_is_better=True, signature=metric.signature()) for metric in bound
        ),
        properties=FEATURES_OF_TIER[bool(members)],
        means=tuple(judge.means.tolist()),
        levels=(0.0, 1.0),
        low=0.0,
        high=1.0,
        steps=(step,),
        learned_from={
            "data": ", ".join(parts),
            "digests": [assay.load_dataset(name).digest for source in SOURCES.values() for name in source.datasets],
            "pairs": sum(len(part.rows) for kept in parts.values() for part in kept),
            "learner": "linear, signs fixed",
            "prior": PRIOR,
            "assay": own_version(),
        },
    )
    return content.model_copy(update={"digest": content.own_digest()})


def judges(parts: Mapping[str, Sequence[Part]], members: Sequence[str]) -> Iterator[tuple[str, CombinedFile]]:
    """Yield the name and the file of each judge that is learned from answers with the scores of these members."""
    signs = signs_of(members)
    judge = learn([part for kept in parts.values() for part in kept], signs)
    step = LinearStep(
        kind="linear", intercept=judge.intercept, weights=tuple(judge.weights.tolist()), offset=0.0, slope=1.0
    )
    yield "answer-judge_encoder" if members else "answer-judge", file_of(judge, members, parts, step)
    if not members:
        offset, slope = grade_calibration(parts, left_out_margins(parts, signs))
        step = step.model_copy(update={"offset": offset, "slope": slope})
        yield "answer-judge_grade", file_of(judge, members, parts, step)


def main(folder: Path, members: Sequence[str]) -> None:
    """Write the judges and the scores of left-out sets to the folder."""
    parts = parts_of(members)
    for name, content in judges(parts, members):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / FILE_NAME).write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {content.digest[:16]}")
    signs = signs_of(members)
    margins = {"left_out": left_out_margins(parts, signs)}
    if members:
        margins["without_encoder"] = left_out_margins(without_members(parts, len(members)), signs[len(members) :])
    left_out = folder / ("left-out-encoder" if members else "left-out")
    left_out.mkdir(parents=True, exist_ok=True)
    for name, kept in parts.items():
        # of TriviaQA the answers with few gold answers, as most data has
        place = 1 if name == "evouna-tq" else 0
        part = kept[place]
        scores = {column: expit(of_sets[name][place]) for column, of_sets in margins.items()}
        rows = part.rows.assign(label=part.is_right, grade=part.grades, **scores)
        rows.to_json(left_out / f"{name.replace(':', '-')}.jsonl", orient="records", lines=True)


def without_members(parts: Mapping[str, Sequence[Part]], member_count: int) -> dict[str, list[Part]]:
    """Return the same answers with their features alone as inputs."""
    return {
        name: [replace(part, inputs=part.inputs[:, member_count:]) for part in kept] for name, kept in parts.items()
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), ENCODER if "encoder" in sys.argv[2:] else ())
