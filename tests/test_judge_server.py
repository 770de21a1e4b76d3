"""The stand-in for an endpoint: the client of the protocol accepts what it answers, and every fault occurs."""

from __future__ import annotations

import asyncio
import math
import ssl
import time
from collections import Counter

import pytest

from tests.judge_server import serve, serve_apart
from tests.judge_server.protocol import FAULTS, Behaviour, probability, tokens_of
from tests.judge_server.server import Call

openai = pytest.importorskip("openai", reason="openai is not installed")

SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {"type": "object", "properties": {"grade": {"type": "integer", "enum": [1, 2, 3, 4, 5]}}},
    },
}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def ask(url, *texts, key="k", at_once=32, model="stand-in", timeout=10, path="chat", **settings):
    """Return what the client makes of a reply to each text: a completion, or an exception."""

    async def all_of_them():
        async with openai.AsyncOpenAI(base_url=url, api_key=key, max_retries=0, timeout=timeout) as client:
            room = asyncio.Semaphore(at_once)

            async def one(text):
                async with room:
                    messages = [{"role": "system", "content": "Say yes or no."}, {"role": "user", "content": text}]
                    return await client.chat.completions.create(model=model, messages=messages, **settings)

            return await asyncio.gather(*(one(text) for text in texts), return_exceptions=True)

    return asyncio.run(all_of_them())


def test_a_reply_has_verdict_probabilities_usage_and_who_answered():
    with serve(Behaviour(served="stand-in-2026-01-15")) as server:
        (reply,) = ask(server.url, "Is Paris Paris?", logprobs=True, top_logprobs=20, temperature=0, max_tokens=1)
        (other,) = ask(server.url, "Is Paris Paris?")
    assert (reply.model, reply.system_fingerprint) == ("stand-in-2026-01-15", "fp_0123456789")
    chance = probability("Is Paris Paris?")
    choice = reply.choices[0]
    assert choice.message.content == ("yes" if chance > 0.5 else "no")
    assert choice.finish_reason == "stop"
    first = {entry.token: math.exp(entry.logprob) for entry in choice.logprobs.content[0].top_logprobs}
    assert first["yes"] / (first["yes"] + first["no"]) == pytest.approx(chance)
    assert sum(first.values()) == pytest.approx(1)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (9 + 8, 1)  # and 4 for each message
    assert other.choices[0].logprobs is None


def test_a_schema_gives_one_of_its_values_and_the_probabilities_of_all():
    with serve() as server:
        (reply,) = ask(server.url, "Grade it.", response_format=SCHEMA, logprobs=True, top_logprobs=20)
        (cut,) = ask(server.url, "Grade it.", response_format=SCHEMA, max_completion_tokens=3)
    content = reply.choices[0].message.content
    grade = max(range(1, 6), key=lambda i: math.comb(4, i - 1) * probability("Grade it.") ** (5 - i)
                * (1 - probability("Grade it.")) ** (i - 1))  # fmt: skip
    assert content == f'{{"grade": {grade}}}'
    tokens = reply.choices[0].logprobs.content
    assert [token.token for token in tokens] == tokens_of(content)
    (verdict,) = (token for token in tokens if token.token.strip() == str(grade))
    assert {entry.token.strip() for entry in verdict.top_logprobs} >= set("12345")
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ('{"grade', "length")


def test_samples_differ_at_a_temperature_and_come_again_with_the_seed():
    drawn = []
    with serve(probability=lambda text: 0.5) as server:
        for seed in (1, 1, 2):
            (reply,) = ask(server.url, "a", n=20, temperature=1, seed=seed)
            drawn.append([choice.message.content for choice in reply.choices])
        (cold,) = ask(server.url, "a", n=20, temperature=0)
    assert set(drawn[0]) == {"yes", "no"}
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert len({choice.message.content for choice in cold.choices}) == 1


@pytest.mark.parametrize(
    ("behaviour", "settings", "error", "code"),
    [
        (Behaviour(key="right"), {"key": "wrong-key"}, "AuthenticationError", "invalid_api_key"),
        (Behaviour(), {"model": "gpt-9"}, "NotFoundError", "model_not_found"),
        (Behaviour(context=10), {}, "BadRequestError", "context_length_exceeded"),
        (Behaviour(unsupported=("logprobs",)), {"logprobs": True}, "BadRequestError", "unsupported_parameter"),
        (Behaviour(unsupported=("seed",)), {"seed": 1}, "BadRequestError", "unsupported_parameter"),
        (Behaviour(), {"top_logprobs": 5}, "BadRequestError", "invalid_value"),
        (Behaviour(), {"top_logprobs": 21, "logprobs": True}, "BadRequestError", "invalid_value"),
    ],
)  # fmt: skip
def test_what_is_refused_comes_as_the_protocol_says_it(behaviour, settings, error, code):
    with serve(behaviour) as server:
        (refused,) = ask(server.url, "How long is a prompt of more than ten tokens?", **settings)
    assert (type(refused).__name__, refused.code) == (error, code)
    assert [call.outcome for call in server.calls] == ["refusal"]
    if error == "AuthenticationError":
        assert "wrong-key" in str(refused)


def test_an_ignored_parameter_has_no_effect():
    with serve(Behaviour(ignored=("logprobs", "top_logprobs", "response_format"))) as server:
        (reply,) = ask(server.url, "a", logprobs=True, top_logprobs=5, response_format=SCHEMA)
    assert reply.choices[0].message.content in ("yes", "no")
    assert reply.choices[0].logprobs is None


def test_a_reply_without_what_is_optional():
    with serve(Behaviour(sparse=True)) as server:
        (reply,) = ask(server.url, "a")
    assert (reply.usage, reply.model, reply.system_fingerprint) == (None, None, None)
    assert reply.choices[0].message.content in ("yes", "no")


def test_refusals_of_the_filter_and_of_the_model():
    with serve(Behaviour(filtered="poison", refused="weapon")) as server:
        filtered, refused, fine = ask(server.url, "a poison", "a weapon", "a rose")
    assert filtered.choices[0].finish_reason == "content_filter"
    assert (refused.choices[0].message.content, refused.choices[0].message.refusal[:9]) == (None, "I'm sorry")
    assert fine.choices[0].message.content in ("yes", "no")


def test_models_are_listed():
    async def names(url):
        async with openai.AsyncOpenAI(base_url=url, api_key="k") as client:
            return [model.id async for model in client.models.list()]

    with serve(Behaviour(model="llama")) as server:
        assert asyncio.run(names(server.url)) == ["llama"]


#: What the client raises for each fault; the others it returns as they are.
RAISED = {
    "rate limit": "RateLimitError", "rate limit unsaid": "RateLimitError", "error": "InternalServerError",
    "unavailable": "InternalServerError", "cut": "APIConnectionError", "closed": "APIConnectionError",
    "slow": "APITimeoutError", "no http": "APIConnectionError",
}  # fmt: skip


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("slow", "huge")]


@pytest.mark.parametrize("kind", [*(kind for kind in FAULTS if kind not in ("slow", "huge")), *SLOW])
def test_each_fault_comes_once_and_then_the_answer(kind):
    with serve(Behaviour(faults={kind: 1}, failures=1, slow=60)) as server:
        first, then = ask(server.url, "a", "a", at_once=1, timeout=1 if kind == "slow" else 10)
    chats = [call.outcome for call in server.chats]
    assert chats == [{"slow": "gone"}.get(kind, kind), "answer"]
    assert then.choices[0].message.content in ("yes", "no")
    if kind in RAISED:
        assert type(first).__name__ == RAISED[kind]
    if kind.startswith("rate"):
        assert first.response.headers.get("retry-after") == ("0.05" if kind == "rate limit" else None)
    if kind == "huge":
        assert len(first.choices[0].message.content) == 10_000_000
    if kind == "other model":
        assert first.model == "another-model"
    if kind == "redirect":
        assert [call.path for call in server.calls][1] == "/elsewhere"
        assert "It works!" in str(first)


@pytest.mark.slow
def test_faults_have_their_rates_and_come_again_with_the_seed():
    outcomes = []
    for seed in (1, 1, 2):
        with serve(Behaviour(faults={"unavailable": 0.4, "rate limit": 0.2}, failures=1, seed=seed)) as server:
            ask(server.url, *(f"text {i}" for i in range(100)))
        calls = sorted(server.chats, key=lambda call: call.digest)
        outcomes.append([call.outcome for call in calls])
    assert outcomes[0] == outcomes[1] != outcomes[2]
    seen = Counter(outcomes[0])
    # four standard deviations of the binomial
    assert abs(seen["unavailable"] - 40) < 4 * 4.9
    assert abs(seen["rate limit"] - 20) < 4 * 4
    assert seen.total() == 100


def test_the_record_counts_repeated_answers_and_how_many_were_in_flight():
    with serve(Behaviour(delay=0.05)) as server:
        ask(server.url, *"abcdefgh", at_once=4)
        assert (server.greatest, server.repeated) == (4, 0)
        ask(server.url, "a", "b", "a")
    assert server.repeated == 3
    assert all(0.05 <= call.ended - call.begun < 5 for call in server.chats)
    assert server.chats[0].headers["authorization"] == "Bearer k"


def test_a_client_that_leaves_has_had_no_answer():
    with serve(Behaviour(delay=60)) as server:
        begun = time.monotonic()
        ask(server.url, "a", timeout=0.2)
        while not server.outcomes["gone"] and time.monotonic() - begun < 30:
            time.sleep(0.01)
        assert server.outcomes == {"gone": 1}


def test_a_certificate_that_nobody_vouches_for(certificate):
    with serve(certificate=certificate) as server:
        (refused,) = ask(server.url, "a")
        assert server.url.startswith("https://127.0.0.1")
        reached = ssl.get_server_certificate(("127.0.0.1", int(server.url.split(":")[2].removesuffix("/v1"))))
    assert type(refused).__name__ == "APIConnectionError"
    assert "CERTIFICATE_VERIFY_FAILED" in str(refused.__cause__)
    assert reached in certificate.read_text()


@pytest.mark.slow
def test_a_server_of_its_own_process_keeps_up_with_many_calls():
    with serve_apart(Behaviour(delay=0.2)) as (url, record):
        begun = time.monotonic()
        replies = ask(url, *(f"text {i}" for i in range(96)), at_once=32)
        taken = time.monotonic() - begun
        kept = record()
    assert {reply.choices[0].message.content for reply in replies} == {"yes", "no"}
    assert (len(kept.chats), kept.greatest, kept.repeated) == (96, 32, 0)
    assert isinstance(kept.calls[0], Call)
    # one after the other they would take 19 seconds
    assert 0.6 <= taken < 10
