"""What a user would pick instead, on the same data: SciPy's bootstrap, mt-metrics-eval's test, mteb's STS Benchmark.

mteb is no part of the environment of the tests (``pip install mteb``). mt-metrics-eval is its repository, whose folder
stands in ``PYTHONPATH``; the package of that name is another project.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy import stats

from assay.statistics.agreement import agreement
from assay.statistics.comparison import compare_all
from tests.performance.ratio import medians

N, DRAWS = 3559, 1000
COEFFICIENTS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
#: SciPy and mt-metrics-eval are timed on so many draws, and their time scaled up.
SAMPLE = 50


@pytest.fixture(scope="module")
def data():
    """Two continuous scores and three labels, as NQ-open has them."""
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=N, p=[0.717, 0.166, 0.117]).astype(float)
    return {name: rng.normal(size=N) + weight * labels for name, weight in (("one", 0.3), ("other", 0.4))}, labels


@pytest.mark.parametrize("statistic", COEFFICIENTS)
def test_interval(statistic, data, benchmark):
    scores, labels = data
    coefficient = COEFFICIENTS[statistic]

    def scipy():
        return stats.bootstrap(
            (scores["one"], labels),
            lambda x, y: coefficient(x, y).statistic,
            paired=True,
            vectorized=False,
            n_resamples=SAMPLE,
            method="percentile",
            rng=np.random.default_rng(0),
        )

    def ours():
        return agreement(
            {"one": scores["one"]}, labels, statistics=[statistic], resamples=DRAWS, confidence=0.95, seed=(0,)
        )

    times = medians({"scipy": scipy, "ours": ours})
    ratio = times["scipy"] * DRAWS / SAMPLE / times["ours"]
    benchmark.extra_info["ratio"] = ratio
    benchmark.pedantic(ours, rounds=1)
    print(f"\n{statistic}, n = {N:,}, {DRAWS:,} resamples: {ratio:.1f} times as fast as scipy.stats.bootstrap")
    assert ratio >= 1


@pytest.mark.parametrize("statistic", COEFFICIENTS)
def test_difference(statistic, data, benchmark):
    """The permutation test of one difference (PERM-BOTH, Deutsch et al. 2021), 1,000 permutations."""
    peer = pytest.importorskip("mt_metrics_eval.stats", reason="the repository of mt-metrics-eval is not in PYTHONPATH")
    scores, labels = data
    one, other = (peer.Correlation(1, labels.tolist(), values.tolist()) for values in scores.values())
    without_stops = peer.PermutationSigDiffParams(block_size=SAMPLE + 1)

    def mt_metrics_eval():
        return peer.PermutationSigDiff(one, other, COEFFICIENTS[statistic], k=SAMPLE, params=without_stops)

    def ours():
        return compare_all(
            scores, labels, statistics=[statistic], permutations=DRAWS, resamples=0, confidence=0.95, seed=(0,)
        )

    [difference] = next(iter(ours().values()))
    assert abs(difference.value) == pytest.approx(abs(mt_metrics_eval()[1]), abs=1e-12)
    times = medians({"mt-metrics-eval": mt_metrics_eval, "ours": ours})
    ratio = times["mt-metrics-eval"] * DRAWS / SAMPLE / times["ours"]
    benchmark.extra_info["ratio"] = ratio
    benchmark.pedantic(ours, rounds=1)
    print(f"\n{statistic}, n = {N:,}, {DRAWS:,} permutations: {ratio:.1f} times as fast as mt-metrics-eval")
    assert ratio >= 1


def test_sts_benchmark(shared_data, real_models, benchmark):
    """The task STSBenchmark of mteb and the same model as a bi-encoder, on one thread, with the model in memory."""
    mteb = pytest.importorskip("mteb", reason="mteb is absent: pip install mteb")
    torch = pytest.importorskip("torch", reason="torch is absent: pip install assay[neural]")
    from datasets import Dataset, DatasetDict
    from sentence_transformers import SentenceTransformer

    from assay.metrics import Batch, load_metric
    from assay.metrics.neural.runtime import Runtime, use_runtime
    from assay.metrics.work import open_session, release_sessions

    torch.set_num_threads(1)
    with (shared_data / "stsbenchmark" / "sts-test.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    left, right, labels = [row[5] for row in rows], [row[6] for row in rows], [float(row[4]) for row in rows]
    task = mteb.get_task("STSBenchmark")
    columns = {"sentence1": left, "sentence2": right, "score": labels}
    task.dataset = DatasetDict({"test": Dataset.from_dict(columns)})
    task.data_loaded = True
    model = SentenceTransformer(str(real_models / "minilm"), device="cpu")
    metric = load_metric(f"bi-encoder:{real_models / 'minilm'}")

    def by_mteb():
        results = mteb.evaluate(model, task, cache=None, overwrite_strategy="always", show_progress_bar=False)
        return results.task_results[0].scores["test"][0]["cosine_spearman"]

    with use_runtime(Runtime(device="cpu", threads=1)):
        session = open_session(metric.needs(), keep=True)

        def ours():
            scores = session.score([metric], Batch(left, right)).values[:, 0]
            [found] = agreement(
                {"bi-encoder": scores},
                np.array(labels),
                statistics=["spearman"],
                resamples=DRAWS,
                confidence=0.95,
                seed=(0,),
            )
            return found.value

        assert ours() == pytest.approx(by_mteb(), abs=1e-3)
        times = medians({"mteb": by_mteb, "ours": ours}, rounds=3)
        benchmark.pedantic(ours, rounds=1)
    release_sessions()
    ratio = times["mteb"] / times["ours"]
    benchmark.extra_info["ratio"] = ratio
    print(
        f"\nSTS Benchmark, {len(rows):,} pairs, all-MiniLM-L6-v2: {ratio:.2f} times as fast as mteb, with an interval"
    )
    assert ratio >= 1
