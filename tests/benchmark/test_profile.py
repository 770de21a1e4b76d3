"""Measuring of metrics: the fit against known exponents, the texts that grow, the process of its own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.benchmark import profile, profile_worker
from assay.benchmark.profile import Fit, MetricProfile, fit_power, profile_metric
from assay.benchmark.profile_worker import lengthen
from assay.benchmark.settings import ProfileSettings
from assay.exceptions import InputError
from assay.metrics import Batch
from assay.metrics.judge.spending import Price
from assay.metrics.work import release_sessions
from assay.reports.profile import document
from tests.judge_server import serve
from tests.paid import Paid

PAIRS = Batch(["Berlin", "7 km", "the NFL", ""], ["berlin", "seven km", "National Football League", "None"])


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.37, 2.0])
def test_a_power_law_is_found(exponent):
    sizes = [64, 256, 1024, 4096]
    found = fit_power(sizes, [3e-4 * size**exponent for size in sizes])
    assert found is not None and found.points == 4
    assert found.exponent == pytest.approx(exponent, abs=1e-6)
    if exponent:
        assert found.r_squared == pytest.approx(1, abs=1e-6)


def test_the_fit_equals_numpys_under_noise():
    rng = np.random.default_rng(0)
    sizes = np.geomspace(10, 1e5, 30)
    seconds = 1e-5 * sizes**1.5 * np.exp(rng.normal(scale=0.3, size=30))
    found = fit_power(sizes, seconds)
    assert found is not None
    assert found.exponent == pytest.approx(np.polyfit(np.log(sizes), np.log(seconds), 1)[0], abs=1e-6)
    assert found.r_squared == pytest.approx(np.corrcoef(np.log(sizes), np.log(seconds))[0, 1] ** 2, abs=1e-6)
    assert 1.4 < found.exponent < 1.6 and found.r_squared < 1


def test_a_fit_says_no_more_than_it_knows():
    assert fit_power([64], [1.0]) is None
    assert fit_power([64, 64], [1.0, 2.0]) is None
    assert fit_power([1, 2], [0.0, 1.0]) is None
    assert fit_power([1, 2], [1.0, 4.0]) == Fit(2.0, None, 2), "two points always lie on a line"


def test_texts_grow_and_stay_distinct():
    texts = [f"text {i}" for i in range(7)]
    assert lengthen(texts, 5) == texts[:5], "as they are while there are enough"
    assert lengthen(texts, 3, 2) == ["text 0 text 1", "text 1 text 2", "text 2 text 3"]
    for times in (1, 2, 8):
        found = lengthen(texts, 50, times)
        assert len(set(found)) == len(found) == 50
    assert lengthen([""], 3) == ["", "1", "2"]


def test_a_plan_measures_cheap_points_first_and_none_twice():
    plan = ProfileSettings(pairs=(1024, 64, 256, 64), lengths=(4, 1, 2))
    assert plan.middle == 256
    assert plan.points() == [(64, 1), (256, 1), (1024, 1), (256, 2), (256, 4)]
    for bad in ({"pairs": ()}, {"pairs": (0,)}, {"lengths": (-1, 2)}, {"repeats": 0}):
        with pytest.raises(InputError, match=f"{next(iter(bad))}=.*at least 1"):
            ProfileSettings(**bad)


def test_a_metric_in_a_process_of_its_own():
    told = []
    found = profile_metric(
        "f1", PAIRS, ProfileSettings(pairs=(2, 4, 3000), lengths=(1, 3), repeats=2), advance=told.append
    )
    assert (found.status, found.reason, found.parameters, found.device) == ("done", "", None, "")
    assert [(point.pairs, point.length) for point in found.points] == [(2, 1), (4, 1), (3000, 1), (4, 3)]
    assert sum(told) == 4
    assert found.points[0].characters == (len("Berlin") * 2 + len("7 km") + len("seven km")) / 2
    assert all(one.seconds > 0 and one.pairs_per_second > 0 and one.truncated == 0 for one in found.points)
    assert found.load_seconds > 0 and found.peak_memory_mb > 1 and found.signature.startswith("f1|")
    assert found.over_pairs.points == 3 and found.over_length.points == 2
    json.dumps(found.as_dict())


def test_the_price_of_a_metric_that_pays_for_pairs_is_measured_and_shown():
    told = []
    job = {"language": None, "points": [(2, 1), (4, 1)], "repeats": 1, "device": "cpu", "threads": None, "prices": {}}
    rows = [[*pair, ""] for pair in PAIRS.pairs()]
    for metric in (Paid(price=0.5), Paid(price=-1), Paid(price=0.25, remembers=True)):
        release_sessions()
        answers = {}
        profile_worker._measure(job | {"metric": metric}, rows, answers.update)
        told.append(answers.get("price_per_1000"))
    assert told == [0.5, None, 0.25]
    paid, unpriced = MetricProfile("judge", price_per_1000=0.5), MetricProfile("f1")
    machine = {"processor": "p", "cores": 1, "system": "s", "python": "3", "assay": "1"}
    made = document(
        {"metrics": [paid.as_dict(), unpriced.as_dict()], "dataset": "d", "distinct": 4, "machine": machine}
    )
    costs = made.sheets[0]
    heads = [column.head for column in costs.columns]
    assert heads.index("price per 1,000") == heads.index("GPU MB") + 1
    assert [row[heads.index("price per 1,000")] for row in costs.rows] == ["0.50", "–"]
    assert [record["price_per_1000"] for record in made.records] == [0.5, None]
    made = document({"metrics": [unpriced.as_dict()], "dataset": "d", "distinct": 4, "machine": machine})
    assert "price per 1,000" not in [column.head for column in made.sheets[0].columns]


@pytest.mark.slow
def test_a_judge_at_a_server_is_asked_once_a_pair_and_its_process_ends():
    pytest.importorskip("openai")
    with serve() as server:
        judge = f"judge:stand-in,endpoint={server.url},key=none"
        prices = {"stand-in": Price(input=2, output=8)}
        for _ in range(2):
            found = profile_metric(judge, PAIRS, ProfileSettings(pairs=(2, 4), lengths=1, repeats=3), prices=prices)
            assert (found.status, found.reason) == ("done", "")
            assert found.price_per_1000 > 0 and len(found.points) == 2
        # one pair while it is loaded, then those of two points; no reply of the first process is read in the second
        assert len(server.chats) == 2 * (1 + 2 + 4)


@pytest.mark.slow
def test_what_goes_wrong_is_in_the_result(tmp_path):
    absent = profile_metric("static:nowhere.txt", PAIRS, ProfileSettings(pairs=2))
    assert absent.status in ("unavailable", "failed") and "nowhere.txt" in absent.reason and not absent.points
    unknown = profile_metric("no-such-metric", PAIRS, ProfileSettings(pairs=2))
    assert unknown.status == "failed" and "no-such-metric" in unknown.reason


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.kill(os.getpid(), 9)", "its process was ended by signal 9 (out of memory?)"),
        ("raise SystemExit('no more handles')", "its process ended with code 1: no more handles"),
        ("print('{\"load_seconds\": 2.5}')", "its process ended with code 0"),
    ],
)
def test_a_process_that_dies(code, reason, monkeypatch):
    monkeypatch.setattr(profile, "WORKER", ("-c", code))
    found = profile_metric("f1", PAIRS, ProfileSettings(pairs=2))
    assert (found.status, found.reason) == ("failed", reason)
    assert (found.over_pairs, found.over_length) == (None, None)
