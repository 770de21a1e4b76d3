"""METEOR on the NQ-open pairs: at least three times the speed of the plain library call, same values.

Within one run the two ways alternate; CPU time, median of the rounds. The tokens that the library is given
are made beforehand, while assay's time holds the splitting of the texts as well. Both ways run once before
they are timed, so that neither reads WordNet from the disk; the ratio without that (a new process, empty
memory) is measured by ``test_first_use``.
"""

from __future__ import annotations

import csv
import statistics
import subprocess
import sys
import time

import pytest

from assay.metrics import Batch, load_metric

FIRST_USE = """
import csv, sys, time
from nltk.translate.meteor_score import single_meteor_score
from assay.metrics import Batch, load_metric
from assay.metrics.meteor import sentence_splitter, treebank_tokens
from assay.language.wordnet import open_wordnet
with open(sys.argv[1], encoding="utf-8", newline="") as stream:
    rows = list(csv.DictReader(stream))
pairs = [(row["answer1"], row["answer2"]) for row in rows]
wordnet, sentences, metric = open_wordnet(), sentence_splitter(), load_metric("meteor:paper")
tokens = [[treebank_tokens(text, sentences) for text in pair] for pair in pairs]
start = time.process_time()
if sys.argv[2] == "plain":
    for gold, other in tokens:
        single_meteor_score(other, gold, wordnet=wordnet)
else:
    metric.score(Batch(*zip(*pairs, strict=True)))
print(time.process_time() - start)
"""


@pytest.fixture(scope="module")
def metric(wordnet):
    return load_metric("meteor:paper")


@pytest.fixture
def file(shared_data):
    return shared_data / "sas" / "NQ-open_SAS.csv"


def test_meteor_against_the_plain_call(metric, file, benchmark):
    from nltk.translate.meteor_score import single_meteor_score

    from assay.language.wordnet import open_wordnet
    from assay.metrics.meteor import sentence_splitter, treebank_tokens

    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    pairs = [(row["answer1"], row["answer2"]) for row in rows]
    batch = Batch(*zip(*pairs, strict=True))
    wordnet, sentences = open_wordnet(), sentence_splitter()
    tokens = [[treebank_tokens(text, sentences) for text in pair] for pair in pairs]

    def plain():
        return [single_meteor_score(other, gold, wordnet=wordnet) for gold, other in tokens]

    def ours():
        return metric.score(batch).tolist()

    assert plain() == ours()
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(7):
        for name, way in (("plain", plain), ("ours", ours)):
            start = time.process_time()
            way()
            times[name].append(time.process_time() - start)
    ratio = statistics.median(times["plain"]) / statistics.median(times["ours"])
    benchmark.extra_info["ratio"] = ratio
    benchmark(ours)
    print(f"\nMETEOR, {len(pairs)} NQ-open pairs: {ratio:.2f} times the plain library call")
    assert ratio >= 3


def test_first_use(metric, file):
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(3):
        for name, found in times.items():
            command = [sys.executable, "-c", FIRST_USE, str(file), name]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            found.append(float(run.stdout))
    ratio = statistics.median(times["plain"]) / statistics.median(times["ours"])
    print(f"\nMETEOR in a new process: {ratio:.2f} times the plain library call")
    assert ratio >= 3
