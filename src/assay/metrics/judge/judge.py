"""Judge: a language model is asked for a verdict on each pair; at an endpoint, or in this process."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from assay.errors import InputError, UnavailableError
from assay.messages import Message as UserMessage
from assay.messages import Setting
from assay.metrics.base import Batch, Declaration, Metric, option
from assay.metrics.judge.prompts import Message, Prompt
from assay.metrics.judge.verdicts import PARSER, VerdictScale, scale_of
from assay.metrics.name import options_of
from assay.metrics.neural.metric import ModelMetric, default_value

if TYPE_CHECKING:
    from assay.metrics.judge.replies import Reply
    from assay.metrics.work import Engine, Scores

#: Options that decide how replies are obtained, not what they are; they are not in the signature.
_DELIVERY_OPTIONS = frozenset({"key", "concurrency", "timeout", "retries", "price_in", "price_out"})
#: Options that only a judge in this process has.
_LOCAL_OPTIONS = frozenset({"precision"})
#: Options of :class:`ModelMetric` that no judge has.
_UNUSED_OPTIONS = frozenset({"backend", "max_length", "question"})


@dataclass(frozen=True)
class Judge(ModelMetric):
    """The verdict of a language model on a pair.

    By default the score is the mean of the verdicts, weighted by the probabilities of the first token of the reply
    (G-Eval, Liu et al. 2023, section 2.1); for *yes* and *no* that is the probability of *yes*. If the model gives no
    probabilities, the score is that of the verdict that the reply states. A reply without a verdict gives no score.

    Raises:
        InputError: an option is invalid, or the options contradict each other.
    """

    endpoint: str | None = option(
        None,
        "address of a server with OpenAI's chat completions, such as http://localhost:8000/v1; none: this process",
        reaches_out=True,
    )
    key: str | None = option(
        "OPENAI_API_KEY", "environment variable with the key of the endpoint; none for no key", reaches_out=True
    )
    prompt: str = option("equivalence", "correctness, equivalence, grade-1-5, similarity, or a file: ./mine.toml")
    scale: Literal["prompt", "yes-no", "0-2", "1-5"] = option("prompt", "the verdicts; prompt for those of the prompt")
    verdict: Literal["auto", "probability", "json", "text"] = option(
        "auto", "what the score is read from: probabilities of the first token, JSON, text; auto: the first that comes"
    )
    order: Literal["reference-first", "mean"] = option("reference-first", "mean asks both orders of a symmetric prompt")
    samples: int = option(1, "replies a pair, averaged; needs a temperature above 0", minimum=1, maximum=100)
    temperature: float | None = option(0.0, "of sampling; none for the server's own", minimum=0, maximum=2)
    seed: int | None = option(0, "of sampling; none for the server's own")
    cut: int | None = option(None, "characters at which a text is cut; none for never", minimum=1)
    concurrency: int = option(16, "calls in flight at a time", minimum=1, maximum=1000)
    timeout: float = option(60.0, "seconds to wait for a reply", minimum=0.01)
    retries: int = option(6, "further tries of a call that failed", minimum=0, maximum=100)
    price_in: float | None = option(None, "price of a million tokens of prompts", minimum=0)
    price_out: float | None = option(None, "price of a million tokens of replies", minimum=0)

    declaration = Declaration(
        name="judge",
        kind="judge",
        summary="the verdict of a language model, at an endpoint or in this process",
        citation="Zheng et al. 2023, Judging LLM-as-a-Judge; Liu et al. 2023, G-Eval",
        subject="MODEL",
        provider=("torch", "transformers"),
        # probabilities of 32-bit floats, in batches of other shapes
        tolerance=1e-3,
        extra="neural",
    )

    #: never sent to workers: the budget and the store of replies belong to the process that the user started
    stays_here: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.endpoint is None:
            super().__post_init__()
        else:
            # not ModelMetric's: the model of an endpoint may have any name
            Metric.__post_init__(self)
            self._check_endpoint(self.endpoint)
        self._check_options()
        prompt, scale = self.loaded_prompt, self.scale_used
        self.redeclare(
            low=scale.low,
            high=scale.high,
            reads_question="question" in prompt.fields,
            reads_all_references="references" in prompt.fields,
            symmetric=self.order == "mean",
        )
        if self.endpoint is not None:
            self.redeclare(provider=("openai",), extra="judge")
            # each reply is stored on its own and read by every run, so that its cost stays known
            object.__setattr__(self, "is_stored", False)

    def _check_options(self) -> None:
        """Raise InputError if an option does not fit the engine, the prompt or another option."""
        if self.endpoint is None and self.verdict == "json":
            raise InputError(f"metric {self}: verdict=json is for endpoints; a local model has probabilities and text")
        if self.backend != "torch" or self.max_length is not None:
            raise InputError(f"metric {self}: a judge has no backend and no max_length; cut=N cuts texts")
        if self.order == "mean" and not self.loaded_prompt.symmetric:
            raise InputError(
                f"metric {self}: the prompt {self.prompt} is not symmetric; order=mean is for those that are"
            )
        if self.samples > 1 and self.temperature == 0:
            raise InputError(
                f"metric {self}: at temperature 0 all {self.samples} samples are the same; set temperature=1"
            )

    def _check_endpoint(self, endpoint: str) -> None:
        """Check the address of the endpoint and the name of the key's variable.

        Raises:
            InputError: the address is invalid or holds a secret, which would be recorded in the name of the metric; or
                *key* is not a name of a variable.
        """
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(endpoint)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise InputError(f"metric judge: endpoint {endpoint!r} is not an address ({error})") from None
        if parts.scheme not in ("http", "https") or not host:
            raise InputError(
                f"metric judge: endpoint {endpoint!r} is not an address; write it as http://localhost:8000/v1"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InputError(
                "metric judge: the endpoint holds a user name, a password or a query, and names of metrics are "
                "recorded; put the key into the environment, and name its variable with key=NAME"
            )
        if self.key is not None and not self.key.isidentifier():
            raise InputError(
                "metric judge: key=NAME names an environment variable, such as OPENAI_API_KEY; it is not the key itself"
            )

    @property
    def loaded_prompt(self) -> Prompt:
        """The prompt, cached until its file changes."""
        return _cached_prompt(self.prompt)

    @property
    def scale_used(self) -> VerdictScale:
        """The verdicts that the model chooses from."""
        return self.loaded_prompt.scale if self.scale == "prompt" else scale_of(self.scale)

    @property
    def orders(self) -> int:
        """The number of orders in which the texts of a pair are shown, 1 or 2."""
        return 2 if self.order == "mean" else 1

    def takes(self, name: str) -> bool:
        """Tell whether an option changes the replies of this judge.

        The other options say how replies are obtained, are only for judges of the other kind (at an endpoint or in this
        process), or are used by no judge.
        """
        other_engine = frozenset({"endpoint"}) if self.endpoint is None else _LOCAL_OPTIONS
        return name not in _UNUSED_OPTIONS | _DELIVERY_OPTIONS | other_engine

    def obtain(self, *, offline: bool = False) -> None:
        """Download a local model that is missing, or check that an endpoint has a key; the endpoint is not called.

        Raises:
            UnavailableError: the local model cannot be downloaded, there is no API key, or *offline* forbids calls to
                an endpoint.
        """
        if self.endpoint is None:
            super().obtain(offline=offline)
        elif offline:
            raise UnavailableError(
                f"the endpoint {self.endpoint} is not called", UserMessage("leave ", Setting("offline"), " away")
            )
        else:
            from assay.metrics.judge.client import api_key

            api_key(self.endpoint, self.key)

    def check_available(self) -> None:
        """Check that the packages are installed, and that the API key is set or the model is on this machine.

        No endpoint is called.

        Raises:
            UnavailableError: a package, the key or the model is missing.
        """
        if self.endpoint is None:
            super().check_available()
            return
        self.declaration.check_packages()
        # for an endpoint this only checks the key
        self.obtain()

    def foreign_code(self) -> str:
        """Return the endpoint, which the run of somebody else may name: it is called only if the user trusts it."""
        return "" if self.endpoint is None else f"the endpoint {self.endpoint}"

    def price_per_1000(self) -> float | None:
        """Return 0 for a model in this process, which is free; None for an endpoint, whose session counts tokens."""
        return 0.0 if self.endpoint is None else None

    def says(self) -> str:
        """Return a note that names a local model; empty for an endpoint."""
        return super().says() if self.endpoint is None else ""

    def needs(self) -> Engine:
        """Return the engine of the endpoint or of the local model.

        Raises:
            UnavailableError: the local model is not on this machine.
            InputError: only one of the two token prices is set, or this machine cannot run the model as asked.
        """
        if self.endpoint is None:
            from assay.metrics.neural.causal import CausalEngine

            return self.engine_of(CausalEngine)
        from assay.metrics.judge.endpoint import Endpoint

        return Endpoint.of_judge(self)

    def conversations(self, batch: Batch) -> list[tuple[Conversation, ...]]:
        """Return the conversations for each pair, one per order of its texts, with the texts cut if the user asked.

        Raises:
            InputError: the prompt shows the question and the data has none, or a template cannot be filled in.
        """
        prompt, scale = self.loaded_prompt, self.scale_used
        if batch.questions is None and "question" in prompt.fields - prompt.optional:
            raise InputError(
                f"metric {self}: the prompt {self.prompt} shows the question, and the data has none: name its column (",
                Setting("columns", "question=…"),
                "), or use another prompt",
            )
        conversations = []
        for row, (reference, candidate) in enumerate(batch.pairs()):
            question = "" if batch.questions is None else self._shortened_text(batch.questions[row])
            answers = [reference] if batch.gold_answers is None else batch.gold_answers[row]
            shown_answers = [self._shortened_text(answer) for answer in answers]
            shown_candidate = self._shortened_text(candidate)
            orders = [prompt.messages(question, shown_answers, shown_candidate, scale)]
            if self.order == "mean":
                orders.append(prompt.messages(question, [shown_candidate], shown_answers[0], scale))
            conversations.append(tuple(orders))
        return conversations

    def _shortened_text(self, text: str) -> str:
        return text if self.cut is None else text[: self.cut]

    def worth(self, reply: Reply) -> float | None:
        """Return the score of a reply on the scale; None if it has no verdict or has a flag (refused, too long).

        The probabilities of the first token are read first, and then the text; the option *verdict* may restrict this
        to one of them.
        """
        if reply.flag:
            return None
        if self.verdict in ("auto", "probability"):
            # None if the first token is not a verdict: then the text may state one later
            expected = self.scale_used.expected_score(reply.first)
            if expected is not None or self.verdict == "probability":
                return expected
        return self.scale_used.score_in(reply.text)

    def scores_of(self, batch: Batch, replies: Sequence[Sequence[Sequence[Reply]]], seconds: float) -> Scores:
        """Return the scores of n pairs, computed from their replies, as :class:`Scores` of one metric.

        A pair has a score if each order of its texts has a reply with a verdict. Otherwise it has NaN, and a flag with
        the reason. The asymmetry is the distance between the scores of the two orders, NaN if only one is asked.

        Args:
            batch: the pairs.
            replies: the replies, as ``[pair][order of its texts][sample]``.
            seconds: the time that the replies took.
        """
        import numpy as np

        from assay.metrics.neural.session import flags_of
        from assay.metrics.work import Flag, Scores

        values, distances = np.full(len(batch), np.nan), np.full(len(batch), np.nan)
        reasons = np.zeros(len(batch), dtype=np.uint8)
        for row, orders in enumerate(replies):
            means = [self._mean_score(samples) for samples in orders]
            valid_means = [mean for mean in means if mean is not None]
            if len(valid_means) == len(means):
                values[row] = sum(valid_means) / len(valid_means)
                if self.order == "mean":
                    distances[row] = max(valid_means) - min(valid_means)
                continue
            pair_replies = [reply for samples in orders for reply in samples]
            reply_flags = [reply.flag for reply in pair_replies if reply.flag]
            reasons[row] = max(reply_flags) if reply_flags else Flag.NO_VERDICT
        limit = self.cut or np.inf
        references_cut = [len(text) > limit for text in batch.references]
        candidates_cut = [len(text) > limit for text in batch.candidates]
        flags = flags_of(batch, references_cut, candidates_cut) | reasons
        return Scores(values[:, None], flags[:, None], np.array([seconds]), distances[:, None])

    def _mean_score(self, samples: Sequence[Reply]) -> float | None:
        """Return the mean score of the samples that have a verdict; None if none has one."""
        verdicts = [worth for worth in map(self.worth, samples) if worth is not None]
        return sum(verdicts) / len(verdicts) if verdicts else None

    def signature(self) -> dict[str, str]:
        """Return everything that changes the score, in a fixed order, without the options that change no reply."""
        return self._drop_indecisive_options(super().signature())

    def short_signature(self) -> str:
        """Return the signature without the options that have their default values, or change no reply."""
        defaults = {name: default_value(self, name) for name in _DELIVERY_OPTIONS}
        # a default value is not written; super(), since this method would call itself without end
        return super(Judge, replace(self, **defaults)).short_signature()

    def _drop_indecisive_options(self, parts: dict[str, str]) -> dict[str, str]:
        """Return the parts of a signature without the options that change no reply."""
        options = options_of(type(self))
        return {name: value for name, value in parts.items() if name not in options or self.takes(name)}

    def data_signature(self) -> dict[str, str]:
        """Return what changes scores beyond the options: the prompt and its digest, the scale, the parser, the model.

        What it says of a model at an endpoint is what the last session learned from the server.

        Raises:
            UnavailableError: the model is not on this machine.
            InputError: the prompt cannot be read, or this machine has no such device.
            StoreError: what is known of the server cannot be read.
        """
        prompt = self.loaded_prompt
        signature = {
            "prompt": prompt.name,
            "scale": self.scale_used.name,
            "prompt_digest": prompt.digest[:16],
            "parser": PARSER,
        }
        if self.endpoint is None:
            model_signature = super().data_signature()
            # a judge has no max_length: its option cut shortens texts
            del model_signature["max_length"]
            return signature | model_signature
        from assay.metrics.judge.replies import known_server

        server = known_server(self.endpoint, str(self.subject))
        return signature | {"served": server.served, "fingerprint": server.fingerprint or "none", "gives": server.gives}


#: The messages to a model, in order.
Conversation = tuple[Message, ...]


@functools.lru_cache(maxsize=32)
def _load_prompt(name: str, stamp: tuple[int, int] | None) -> Prompt:
    """Return the prompt with a name, from the cache or else from its file.

    *stamp*, the size and the time of the file, is only a part of the cache's key, so that a changed file is read again.
    """
    return Prompt.load(name)


def _cached_prompt(name: str) -> Prompt:
    """Return the prompt with a name, from the cache unless its file has changed; see :meth:`Prompt.load` for errors."""
    from assay.paths import user_path

    stamp = None
    if "/" in name or "." in name:
        path = user_path(name)
        if path.is_file():
            stamp = path.stat().st_size, path.stat().st_mtime_ns
    return _load_prompt(name, stamp)
