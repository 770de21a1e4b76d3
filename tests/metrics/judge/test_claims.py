"""Claims in the store of replies: one session at a time, and none that has ended."""

from __future__ import annotations

import threading

import pytest

import assay
from assay.metrics import Batch
from assay.metrics.judge.replies import Reply, ReplyStore
from assay.metrics.judge.spending import Purse, use_purse
from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour
from tests.metrics.judge.questions import judge_at


@pytest.fixture
def place(tmp_path):
    pytest.importorskip("fcntl", reason="there are no locks here")
    return tmp_path / "replies.sqlite"


def test_a_claim_is_respected_until_it_is_given_up_or_answered(place):
    with ReplyStore(place) as one, ReplyStore(place) as other:
        assert one.claim(b"a") and one.claim(b"a") and not other.claim(b"a")
        other.release(b"a")
        assert not other.claim(b"a"), "it is not its own"
        one.release(b"a")
        assert other.claim(b"a") and not one.claim(b"a")
        other.put(b"a", Reply("yes"))
        assert not one.claim(b"a") and one.get(b"a") == Reply("yes")


def test_the_claim_of_a_session_that_has_ended_is_taken_over(place, monkeypatch):
    monkeypatch.setattr("assay.metrics.judge.replies.SECONDS_BETWEEN_LOOKS", 0)
    one = ReplyStore(place)
    assert one.claim(b"a")
    with ReplyStore(place) as other:
        assert not other.claim(b"a")
        # as a kill does: the lock is gone, the claim is not
        one._connection.close()
        one._resources.close()
        assert other.claim(b"a")
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_claim_without_end_is_taken_over(place, monkeypatch):
    with ReplyStore(place) as one, ReplyStore(place) as other:
        assert one.claim(b"a")
        monkeypatch.setattr("assay.metrics.judge.replies.LONGEST_CLAIM", -1.0)
        assert other.claim(b"a")


@pytest.mark.parametrize("behaviour", [Behaviour(delay=0.05), Behaviour(delay=0.05, unsupported=("logprobs",))])
def test_two_sessions_ask_once(behaviour, monkeypatch, tmp_path):
    pytest.importorskip("openai", reason="openai is not installed")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    texts = [f"text {number}" for number in range(40)]
    scores = {}

    def ask(name: str) -> None:
        with use_purse(Purse()):
            session = judge.needs().open()
            scores[name] = session.score([judge], Batch(texts, texts)).values[:, 0].tolist()
            session.close()

    with serve(behaviour) as server:
        judge = assay.load_metric(judge_at(server.url, concurrency=8))
        threads = [threading.Thread(target=ask, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.outcomes["answer"] == 40 and server.repeated == 0
    assert scores["a"] == scores["b"]


def test_equal_prompts_of_a_run_are_sent_once(monkeypatch, tmp_path):
    pytest.importorskip("openai", reason="openai is not installed")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    prompt = tmp_path / "mine.toml"
    prompt.write_text('user = "{{ reference }} {{ candidate }} yes or no"')
    with serve() as server:
        judge = assay.load_metric(judge_at(server.url, prompt=prompt))
        session = judge.needs().open()
        scores = session.score([judge], Batch(["a"] * 9, ["b"] * 8 + ["c"], [str(i) for i in range(9)])).values
        session.close()
        assert server.outcomes == {"answer": 2}
    assert len(set(scores[:8, 0].tolist())) == 1
