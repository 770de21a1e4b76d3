"""BLEU, chrF, ROUGE and METEOR against a plain loop of their libraries: in how many of many pairs a digit differs.

python -m tests.performance.equality atlas --without NAME …      all pairs of the sets of the suite that are at hand
python -m tests.performance.equality made --pairs 1000000        real words, and texts that break a count
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Callable, Iterator

from nltk.translate.meteor_score import single_meteor_score
from rouge_score.rouge_scorer import RougeScorer

import assay
from assay.benchmark.suite import load_suite
from assay.exceptions import AssayError
from assay.language.wordnet import open_wordnet
from assay.metrics import Batch, load_metric
from assay.metrics.text import empty_score, words
from tests.performance.test_string_speed import PLAIN

#: Pairs that are scored at a time.
BLOCK = 2_000
#: What made texts consist of besides words: combining marks, CJK, emoji, punctuation, white space, markup.
UNITS = [
    *[
        "e\u0301",
        "\u00e9",
        "\u1100\u1161\u11a8",
        "\uac01",
        "\u0915\u093f",
        "\u0643\u0650",
        "\u0130",
        "\u03c2",
        "\u00df",
    ],
    *["\u6771\u4eac", "\u30bf\u30ef\u30fc", "\u4f60\u597d\u3002", "\uff0c", "\u0e01\u0e33"],
    *["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "\ud800"],
    *[".", ",", "...", "!?", "-", "3,5", ".5", "1-", "U.S.", "don't", "\u2019", "&quot;", "&amp;lt;", "<skipped>"],
    *["\t", "\n", "-\n", "\r\n", "\u00a0", "\u2028", "\u3000", "\u200b", "\u00ad"],
]


def atlas_pairs(without: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each gold answer and the candidate of all pairs of the sets of the suite that are on this machine."""
    for name in load_suite("atlas").datasets:
        if name in without:
            continue
        try:
            pairs = assay.load_dataset(name, offline=True)
        except AssayError as error:
            print(f"{name}: left out, {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            continue
        for row in pairs.table.select(["reference", "candidate"]).to_pylist():
            golds = row["reference"] if isinstance(row["reference"], list) else [row["reference"]]
            yield from ((gold, row["candidate"]) for gold in golds)


def made_pairs(n: int) -> Iterator[tuple[str, str]]:
    """Yield pairs of made texts, the same in each run: one in two of words alone, one in ten of two unlike texts."""
    rng = random.Random(0)
    words = [
        f"{rng.choice(['un', 're', 'Be', ''])}{rng.choice('abcdef')}{int(rng.paretovariate(0.8))}" for _ in range(5000)
    ]
    few = ["a", "b", "A", "a.", "the"]

    def tokens() -> list[str]:
        kind = rng.randrange(20)
        if kind < 11:
            return rng.choices(words, k=rng.randint(1, 15))
        if kind < 15:
            return rng.choices(words + UNITS * 100, k=rng.randint(1, 12))
        if kind < 17:
            return rng.choices(few, k=rng.randint(0, 20))
        if kind < 19:
            return rng.choices(UNITS, k=rng.randint(0, 10))
        return rng.choices(words, k=3000) if rng.random() < 0.001 else []

    for _ in range(n):
        reference = tokens()
        candidate = reference.copy() if rng.random() < 0.9 else tokens()
        for _ in range(rng.randint(0, 4)):
            place = rng.randint(0, len(candidate))
            candidate[place : place + rng.randint(0, 3)] = rng.choices(
                rng.choice([words, few, UNITS]), k=rng.randint(0, 3)
            )
        glue = rng.choice([" ", " ", " ", "", "\t", "\n"])
        yield glue.join(reference), glue.join(candidate)


def plain_meteor() -> Callable[[str, str], float]:
    """Return NLTK's METEOR of assay's words; without words in a text it would be 0 even for equal texts."""
    reader = open_wordnet()

    def score(reference: str, candidate: str) -> float:
        tokens = words(reference), words(candidate)
        if not all(tokens):
            return float(reference.strip() == candidate.strip())
        meteor: float = single_meteor_score(*tokens, wordnet=reader)
        return meteor

    return score


def library_scores(chosen: list[str]) -> dict[tuple[str, ...], Callable[[str, str], tuple[float, ...]]]:
    """Return, by the metrics, the function (reference, candidate) -> their scores by the library."""
    rouge = RougeScorer(["rouge1", "rouge2", "rougeL"])
    by_rouge = tuple(name for name in PLAIN if name.startswith("rouge"))

    def rouge_scores(reference: str, candidate: str) -> tuple[float, ...]:
        return tuple(score.fmeasure for score in rouge.score(reference, candidate).values())

    def unless_blank(plain: Callable[[str, str], float]) -> Callable[[str, str], tuple[float, ...]]:
        def score(reference: str, candidate: str) -> tuple[float, ...]:
            blank = empty_score(reference, candidate)
            return (plain(reference, candidate) if blank is None else blank,)

        return score

    makers = {"bleu": PLAIN["bleu"], "chrf": PLAIN["chrf"], "meteor": plain_meteor}
    libraries = {(name,): unless_blank(make()) for name, make in makers.items() if name in chosen}
    return libraries | ({by_rouge: rouge_scores} if "rouge" in chosen else {})


def compare(pairs: Iterator[tuple[str, str]], done: int, chosen: list[str]) -> dict[str, int]:
    """Print and return how many scores of each metric differ from its library; print the first that does."""
    libraries = library_scores(chosen)
    metrics = {name: load_metric(name) for names in libraries for name in names}
    unequal = dict.fromkeys(metrics, 0)
    while block := list(itertools.islice(pairs, BLOCK)):
        references, candidates = map(list, zip(*block, strict=True))
        for names, by_library in libraries.items():
            columns = [metrics[name].score(Batch(references, candidates)).tolist() for name in names]
            for pair, *scores in zip(block, *columns, strict=True):
                for name, score, expected in zip(names, scores, by_library(*pair), strict=True):
                    if score != expected:
                        unequal[name] += 1
                        if unequal[name] == 1:
                            print(f"{name}: {score!r}, its library has {expected!r}: {pair!r}")
        done += len(block)
        counts = ", ".join(f"{name.split(',')[0]} {count}" for name, count in unequal.items())
        print(f"{done:,} pairs; unequal: {counts}", flush=True)
    return unequal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["atlas", "made"])
    parser.add_argument("--pairs", type=int, default=1_000_000, help="how many pairs are made")
    parser.add_argument("--start", type=int, default=0, help="pairs to pass over, which an earlier run compared")
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME", help="sets of the suite to leave out")
    metrics = ["bleu", "chrf", "rouge", "meteor"]
    parser.add_argument("--metrics", nargs="+", choices=metrics, default=metrics)
    settings = parser.parse_args()
    pairs = atlas_pairs(settings.without) if settings.kind == "atlas" else made_pairs(settings.pairs)
    unequal = compare(itertools.islice(pairs, settings.start, None), settings.start, settings.metrics)
    return int(any(unequal.values()))


if __name__ == "__main__":
    sys.exit(main())
