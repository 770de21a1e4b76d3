"""A causal language model in memory, asked for verdicts: what a conversation begins with is computed once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.judge.replies import Reply
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_causal_bodies
from assay.metrics.neural.causal_body import CausalBody, ReplyKey, Sampling
from assay.metrics.neural.chat import Chat
from assay.metrics.neural.loading import LoadedModel, load_causal
from assay.metrics.neural.prefixes import TokenTree, items_of, rows_of
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import ModelEngine, ModelSession
from assay.metrics.neural.tokens import Packed, Tokens, to_device
from assay.metrics.work import Flag, Scores
from assay.progress import portion

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Judge
    from assay.metrics.judge.verdicts import VerdictScale

#: Tokens of a row that several conversations share: attention grows with its square, and what is saved hardly grows.
ROW = 512


@dataclass(frozen=True)
class CausalEngine(ModelEngine):
    """A causal language model: what decides a reply."""

    @property
    def pairs(self) -> int:
        """Pairs in a unit of work; those of one question are neighbours in most files."""
        return 128 if self.devices == ("cpu",) else 4096

    def open(self) -> CausalSession:
        """Load the model."""
        return CausalSession(self)


class CausalSession(ModelSession[LoadedModel, CausalBody]):
    """A causal language model in memory.

    Raises:
        UnavailableError: the model writes no text.
    """

    # rows of packed prompts rarely have one length
    pads_on_cpu = True

    def __init__(self, engine: CausalEngine) -> None:
        folder = Path(engine.folder)
        architecture = describe(folder).architecture or ""
        if not architecture.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")):
            raise UnavailableError(
                f"model {folder}: is a {architecture or 'model without a named class'}, which writes no text",
                "name a causal language model (…ForCausalLM), best one tuned to follow instructions",
            )
        super().__init__(engine, load_causal, open_causal_bodies)
        self._chat = Chat(self._tokenizer)
        self._verdict_tokens: dict[str, tuple[NDArray[np.int64], list[str]]] = {}
        self._tokens_in = self._tokens_out = 0

    def _keep_parts(self, copies: Sequence[LoadedModel]) -> None:
        """Keep the tokens that end a reply, and what replies are sampled with by default."""
        model, tokenizer = copies[0].model, copies[0].tokenizer
        end = model.generation_config.eos_token_id
        ends = end if isinstance(end, list) else [end]
        self._ends = frozenset(token for token in [*ends, tokenizer.eos_token_id] if token is not None)
        self._temperature = float(model.generation_config.temperature or 1.0)

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """See :meth:`assay.metrics.work.Session.score`."""
        scored = []
        for number, metric in enumerate(metrics):
            judge = cast("Judge", metric)
            started = time.perf_counter()
            with portion(number / len(metrics), (number + 1) / len(metrics)):
                replies = self.replies(judge, batch)
            scored.append(judge.scores_of(batch, replies, time.perf_counter() - started))
        return Scores.joined(scored)

    def cost(self) -> dict[str, Any]:
        """See :meth:`assay.metrics.work.Session.cost`; ``tokens`` are those that went through the model."""
        return super().cost() | {"tokens_in": self._tokens_in, "tokens_out": self._tokens_out}

    def replies(self, judge: Judge, batch: Batch) -> list[list[list[Reply]]]:
        """Return for each pair, for each order of the texts, the replies."""
        conversations = judge.conversations(batch)
        distinct = list(dict.fromkeys(order for orders in conversations for order in orders))
        replies = dict(zip(distinct, self._answered(judge, self._chat.tokens(distinct)), strict=True))
        return [[replies[order] for order in orders] for orders in conversations]

    def _answered(self, judge: Judge, prompts: Sequence[list[int]]) -> list[list[Reply]]:
        """Return the replies to each prompt: by the first token, by their text, or by the text where the first fails.

        A prompt that leaves no room for a reply gets none, and a flag.
        """
        most = judge.loaded_prompt.reply_tokens
        replies = [[Reply("", flag=Flag.TOO_LONG)] for _ in prompts]
        fitting = {number: ids for number, ids in enumerate(prompts) if len(ids) + most <= judge.limit()}
        to_write = fitting
        if judge.verdict != "text":
            for number, reply in self._first_tokens(judge.scale_used, fitting):
                replies[number] = [reply]
            to_write = {}
            if judge.verdict == "auto":
                to_write = {number: ids for number, ids in fitting.items() if judge.worth(replies[number][0]) is None}
        for number, samples in self._written(judge, to_write).items():
            first = replies[number][0].first
            texts = self._tokenizer.batch_decode(samples, skip_special_tokens=True)
            size = len(prompts[number])
            replies[number] = [
                Reply(text, first, tokens_in=size, tokens_out=len(tokens))
                for text, tokens in zip(texts, samples, strict=True)
            ]
        given = [reply for samples in replies for reply in samples]
        self._tokens_in += sum(reply.tokens_in for reply in given)
        self._tokens_out += sum(reply.tokens_out for reply in given)
        return replies

    def _first_tokens(self, scale: VerdictScale, prompts: Mapping[int, list[int]]) -> Iterator[tuple[int, Reply]]:
        """Yield (prompt, reply): the most probable first token, and the probability of those that begin a verdict."""
        ids, texts = self._tokens_of(scale)
        computed: list[tuple[list[int], Any, Any]] = []

        def step(body: CausalBody, batch: Packed, rows: list[TokenTree]) -> None:
            # over the whole vocabulary: what the verdicts lack of 1 tells whether one comes
            probabilities = body.next_logits(batch, rows).float().softmax(-1)
            of_verdicts = probabilities[:, to_device(ids, body.device)]
            computed.append((items_of(rows), of_verdicts, probabilities.argmax(-1)))

        self._through(prompts, step)
        for items, of_verdicts, best in computed:
            # copied after the last batch: each copy waits for the GPU
            for item, row, token in zip(items, of_verdicts.tolist(), best.tolist(), strict=True):
                first: dict[str, float] = {}
                for text, probability in zip(texts, row, strict=True):
                    first[text] = first.get(text, 0.0) + probability
                said = self._tokenizer.decode([token], skip_special_tokens=True)
                yield item, Reply(said, first, tokens_in=len(prompts[item]), tokens_out=1)

    def _tokens_of(self, scale: VerdictScale) -> tuple[NDArray[np.int64], list[str]]:
        """Return the tokens that are a verdict of a scale or its beginning, and their texts, found once."""
        if scale.name not in self._verdict_tokens:
            pieces = self._tokenizer.convert_ids_to_tokens(list(range(len(self._tokenizer))))
            found = [number for number, piece in enumerate(pieces) if piece and scale.begun_by(piece) is not None]
            texts = [pieces[number].replace("Ġ", " ").replace("▁", " ") for number in found]
            self._verdict_tokens[scale.name] = np.array(found, dtype=np.int64), texts
        return self._verdict_tokens[scale.name]

    def _written(self, judge: Judge, prompts: Mapping[int, list[int]]) -> dict[int, list[list[int]]]:
        """Return for each prompt the tokens of its replies, one for each sample."""
        most = judge.loaded_prompt.reply_tokens
        temperature = self._temperature if judge.temperature is None else judge.temperature
        sampling = Sampling.of(prompts, most, judge.samples, temperature, judge.seed)
        written: dict[ReplyKey, list[int]] = {}

        def step(body: CausalBody, batch: Packed, rows: list[TokenTree]) -> None:
            written.update(body.write(batch, rows, most, self._ends, sampling))

        together = self._sharing(prompts, room=most)
        self._through_rows(rows_of(together, ROW), step)
        alone = {number: ids for number, ids in prompts.items() if number not in together}
        written |= self._written_anew(alone, most, sampling)
        return {number: [written[key] for key in sampling.keys([number])] for number in prompts}

    def _written_anew(
        self, prompts: Mapping[int, list[int]], most: int, sampling: Sampling
    ) -> dict[ReplyKey, list[int]]:
        """Return the tokens of replies, each by a pass over all before it: right for every model, and slow."""
        written: dict[ReplyKey, list[int]] = {key: [] for key in sampling.keys(prompts)}
        going_on = list(written)
        for place in range(most):
            so_far = [[*prompts[key[0]], *written[key]] for key in going_on]
            chosen = self._next_tokens(so_far, going_on, place, sampling)
            for key, token in chosen.items():
                written[key].append(token)
            going_on = [key for key in going_on if chosen[key] not in self._ends]
        return written

    def _next_tokens(
        self, so_far: Sequence[list[int]], keys: Sequence[ReplyKey], place: int, sampling: Sampling
    ) -> dict[ReplyKey, int]:
        """Return the token at a place of each reply, of what comes before it: prompt and reply so far."""
        chosen: dict[ReplyKey, int] = {}

        def step(body: CausalBody, batch: Packed, rows: list[TokenTree]) -> None:
            replies = [keys[item] for item in items_of(rows)]
            tokens = sampling.choose(body.next_logits(batch, rows), replies, place)
            chosen.update(zip(replies, tokens.tolist(), strict=True))

        self._through_rows(rows_of(dict(enumerate(so_far)), 0), step)
        return chosen

    def _through(
        self, prompts: Mapping[int, list[int]], step: Callable[[CausalBody, Packed, list[TokenTree]], None]
    ) -> None:
        """Run prompts through the model, those together that can share a row."""
        together = self._sharing(prompts)
        alone = {number: ids for number, ids in prompts.items() if number not in together}
        self._through_rows(rows_of(together, ROW), step)
        self._through_rows(rows_of(alone, 0), step)

    def _sharing(self, prompts: Mapping[int, list[int]], room: int = 0) -> dict[int, list[int]]:
        """Return the prompts that can share a row with others, and *room* tokens that follow them."""
        body = self._bodies[0]
        if not body.shares:
            return {}
        return {number: ids for number, ids in prompts.items() if not body.window or len(ids) + room <= body.window}

    def _through_rows(
        self, rows: Sequence[TokenTree], step: Callable[[CausalBody, Packed, list[TokenTree]], None]
    ) -> None:
        """Run rows through the model, in batches."""
        torch = import_torch()

        def compute(number: int, body: CausalBody, batch: Packed) -> None:
            with torch.inference_mode():
                step(body, batch, [rows[item] for item in batch.items])

        if rows:
            self._run([Tokens(row.ids) for row in rows], compute, texts=len(items_of(rows)))
