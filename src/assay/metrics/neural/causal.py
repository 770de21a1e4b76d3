"""The session of a judge that is a causal language model; a beginning shared by several prompts is computed once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.common.progress import scaled_shares
from assay.exceptions import UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.judge.readings import ReadReplies
from assay.metrics.judge.reasoning import answer_start, begins_reasoning, split_reasoning
from assay.metrics.judge.replies import Reply
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_causal_bodies
from assay.metrics.neural.causal_body import CausalBody, ReplyKey, Sampling
from assay.metrics.neural.chat import Chat
from assay.metrics.neural.limits import text_limit
from assay.metrics.neural.loading import LoadedModel, load_causal_model
from assay.metrics.neural.prefixes import TokenTree, items_of, pack_rows
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import ModelEngine, ModelSession
from assay.metrics.neural.tokens import Packed, Tokens, to_device
from assay.metrics.scores import Flag, Scores

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Judge
    from assay.metrics.judge.verdicts import VerdictScale

#: Tokens in a row that several prompts share. In a longer row attention costs more, with the square of the length, and
#: the tokens saved are hardly more.
ROW_TOKENS = 512


@dataclass(frozen=True)
class CausalEngine(ModelEngine):
    """The settings that decide the replies of a causal language model."""

    @property
    def pairs(self) -> int:
        """The number of pairs in a unit of work; in most files the pairs of a question are neighbours."""
        return 128 if self.devices == ("cpu",) else 4096

    def open(self) -> CausalSession:
        """Load the model and return its session.

        Raises:
            MissingExtraError: a package is not installed.
            UnavailableError: the model cannot be loaded, or has no language-modelling head.
        """
        return CausalSession(self)


class CausalSession(ModelSession[LoadedModel, CausalBody]):
    """A causal language model in memory.

    Args:
        engine: the settings.

    Raises:
        MissingExtraError: a package is not installed.
        UnavailableError: the model cannot be loaded, or has no language-modelling head.
    """

    # rows that prompts share rarely have equal lengths, so batches without padding would be tiny
    pads_on_cpu = True
    #: The tokens that end a reply, and the temperature that the model declares; set by :meth:`_keep_parts`.
    _ends: frozenset[int]
    _temperature: float

    def __init__(self, engine: CausalEngine) -> None:
        folder = Path(engine.folder)
        architecture = describe(folder).architecture or ""
        if not architecture.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")):
            raise UnavailableError(
                f"model {folder}: is a {architecture or 'model without a named class'}, which writes no text",
                "name a causal language model (…ForCausalLM), best one tuned to follow instructions",
            )
        super().__init__(engine, load_causal_model, open_causal_bodies)
        self._chat = Chat(self._tokenizer)
        self._limit = text_limit(folder)
        self._verdict_tokens: dict[str, tuple[NDArray[np.int64], list[str]]] = {}
        self._tokens_in = self._tokens_out = 0
        self._read = ReadReplies()

    def _keep_parts(self, copies: Sequence[LoadedModel]) -> None:
        """Keep the tokens that end a reply, and the temperature that the model declares (1 if it declares none)."""
        model, tokenizer = copies[0].model, copies[0].tokenizer
        end = model.generation_config.eos_token_id
        ends = end if isinstance(end, list) else [end]
        self._ends = frozenset(token for token in [*ends, tokenizer.eos_token_id] if token is not None)
        self._temperature = float(model.generation_config.temperature or 1.0)

    def score(self, metrics: Sequence[Metric], batch: Batch, again: Collection[str] = ()) -> Scores:
        """Return the scores of n pairs under m judges, which are computed one judge after the other.

        A pair without a verdict has NaN and a flag with the reason. *again* is not used.

        Raises:
            InputError: a prompt shows the question, and the batch has none; or a prompt cannot be filled in.
            UnavailableError: the model fails on a prompt.
        """
        scores_of_judges = []
        for index, metric in enumerate(metrics):
            judge = cast("Judge", metric)
            started = time.perf_counter()
            with scaled_shares(index / len(metrics), (index + 1) / len(metrics)):
                replies = self.replies(judge, batch)
            self._read.add_batch(judge, batch, replies)
            scores_of_judges.append(judge.scores_of(batch, replies, time.perf_counter() - started))
        return Scores.concatenate(scores_of_judges)

    def cost(self) -> dict[str, Any]:
        """Return the counts of :meth:`ModelSession.cost` and those of tokens, as values for JSON by name.

        ``tokens`` counts what the model computed, where a shared beginning counts once; ``tokens_in`` and
        ``tokens_out`` count prompts and replies in full.
        """
        tokens = {"tokens_in": self._tokens_in, "tokens_out": self._tokens_out}
        return super().cost() | tokens | self._read.details()

    def replies(self, judge: Judge, batch: Batch) -> list[list[list[Reply]]]:
        """Return the replies of a judge on a batch, as nested lists with the indices ``[pair][order][sample]``.

        The order is that of the texts of the pair. Equal conversations get the same replies, computed once.

        Raises:
            InputError: a prompt shows the question, and the batch has none; or a prompt cannot be filled in.
            UnavailableError: the model fails on a prompt.
        """
        conversations_of_pairs = judge.conversations(batch)
        distinct = list(dict.fromkeys(chain.from_iterable(conversations_of_pairs)))
        prompts = self._chat.tokens(distinct)
        replies = dict(zip(distinct, self._replies_to(judge, prompts), strict=True))
        return [[replies[conversation] for conversation in of_pair] for of_pair in conversations_of_pairs]

    def _replies_to(self, judge: Judge, prompts: Sequence[list[int]]) -> list[list[Reply]]:
        """Return the replies to each prompt, in the order of the prompts, and count their tokens.

        The judge's option ``verdict`` decides what a reply is: the probabilities of the first token (``probability``),
        a generated text (``text``), or a text only if the first token gives no verdict (``auto``). If the template or
        the first token begins a block of reasoning, the reply is a text with room for it, and its first token that of
        the answer. A prompt that leaves no room for a reply within the model's limit gets one empty reply with a flag.

        Args:
            judge: the metric.
            prompts: the token numbers of each prompt.
        """
        limit = judge.reply_limit(reasons=False)
        replies = [[Reply("", flag=Flag.TOO_LONG)] for _ in prompts]
        to_write = [number for number, ids in enumerate(prompts) if len(ids) + limit <= self._limit]
        if judge.verdict != "text" and not self._chat.opened_reasoning:
            fitting = {number: prompts[number] for number in to_write}
            to_write = []
            for number, reply in self._first_token_replies(judge.scale_used, fitting):
                replies[number] = [reply]
                # the text of such a reply is its first token alone
                has_score = judge.scale_used.read(reply, "probability").score is not None
                if begins_reasoning(reply.text) or (judge.verdict == "auto" and not has_score):
                    to_write.append(number)
        first_texts = {number: replies[number][0].text for number in sorted(to_write)}
        written = self._written_replies(judge, prompts, first_texts)
        for number, samples in written.items():
            replies[number] = self._replies_of_samples(samples, replies[number][0], len(prompts[number]))
        if judge.verdict != "text":
            self._read_after_reasoning(judge.scale_used, prompts, written, replies)
        all_replies = [reply for samples in replies for reply in samples]
        self._tokens_in += sum(reply.tokens_in for reply in all_replies)
        self._tokens_out += sum(reply.tokens_out for reply in all_replies)
        return replies

    def _written_replies(
        self, judge: Judge, prompts: Sequence[list[int]], first_texts: Mapping[int, str]
    ) -> dict[int, list[list[int]]]:
        """Generate replies, and return the tokens of each sample of each prompt, by the number of the prompt.

        A reply that begins a block of reasoning, by the template or with its first token, has room for it.

        Args:
            judge: the metric, whose options set the lengths and the sampling.
            prompts: the token numbers of each prompt.
            first_texts: the text of the most probable first token, by the number of each prompt to reply to; empty if
                it was not computed.
        """
        direct: dict[int, list[int]] = {}
        thinking: dict[int, list[int]] = {}
        for number, text in first_texts.items():
            reasons = bool(self._chat.opened_reasoning) or begins_reasoning(text)
            if reasons:
                thinking[number] = prompts[number]
            else:
                direct[number] = prompts[number]
        written = self._generate_replies(judge, direct, judge.reply_limit(reasons=False))
        if thinking:
            room = self._limit - max(map(len, thinking.values()))
            written |= self._generate_replies(judge, thinking, min(judge.reply_limit(reasons=True), room))
        return written

    def _replies_of_samples(self, samples: Sequence[list[int]], first_token: Reply, prompt_length: int) -> list[Reply]:
        """Return the replies that were generated for one prompt.

        Args:
            samples: the token numbers of each reply.
            first_token: the reply of the first token alone, if there is one; its probabilities are kept.
            prompt_length: the number of tokens of the prompt.
        """
        texts = self._tokenizer.batch_decode(samples, skip_special_tokens=True)
        return [
            Reply(
                self._chat.opened_reasoning + text,
                first_token.first,
                tokens_in=prompt_length,
                tokens_out=len(tokens),
                token=first_token.token,
                is_cut=not self._ends.intersection(tokens[-1:]),
            )
            for text, tokens in zip(texts, samples, strict=True)
        ]

    def _read_after_reasoning(
        self,
        scale: VerdictScale,
        prompts: Sequence[list[int]],
        written: Mapping[int, list[list[int]]],
        replies: list[list[Reply]],
    ) -> None:
        """Give each reply with reasoning the probabilities of the token that begins its answer, if it is found.

        Args:
            scale: the verdicts.
            prompts: the token numbers of each prompt.
            written: the token numbers of each sample, by the number of the prompt.
            replies: the replies of all prompts, which are replaced in place.
        """
        contexts: dict[int, list[int]] = {}
        samples_with_answer: list[tuple[int, int, str]] = []
        for number, samples in written.items():
            for sample, ids in enumerate(samples):
                text = replies[number][sample].text
                answer = split_reasoning(text).text
                if answer in ("", text.strip()):
                    continue
                tokens = self._tokenizer.batch_decode([[token] for token in ids], skip_special_tokens=True)
                start = answer_start(tokens, answer)
                if start is not None:
                    contexts[len(contexts)] = prompts[number] + ids[:start]
                    samples_with_answer.append((number, sample, tokens[start]))
        for context, reply in self._first_token_replies(scale, contexts):
            number, sample, token = samples_with_answer[context]
            replies[number][sample] = replace(replies[number][sample], first=reply.first, token=token)

    def _first_token_replies(
        self, scale: VerdictScale, prompts: Mapping[int, list[int]]
    ) -> Iterator[tuple[int, Reply]]:
        """Yield the number of each prompt with a reply that is only a first token, in the order of computation.

        The text of the reply is the most probable first token; ``first`` has the probability of each token that
        begins a verdict of the scale, by the token's text.

        Args:
            scale: the verdicts.
            prompts: the token numbers of each prompt, by its number.
        """
        ids, texts = self._tokens_of_scale(scale)
        computed: list[tuple[list[int], Any, Any]] = []

        def step(body: CausalBody, batch: Packed, rows: list[TokenTree]) -> None:
            # normalised over the whole vocabulary: a sum far below 1 tells that the model begins something else
            probabilities = body.next_logits(batch, rows).float().softmax(-1)
            of_verdicts = probabilities[:, to_device(ids, body.device)]
            computed.append((items_of(rows), of_verdicts, probabilities.argmax(-1)))

        self._run_prompts(prompts, step)
        for items, of_verdicts, best_tokens in computed:
            # copied after the last batch: each copy waits for the GPU
            for item, row, token in zip(items, of_verdicts.tolist(), best_tokens.tolist(), strict=True):
                first: dict[str, float] = {}
                # several tokens may have the same text: their probabilities add up
                for text, probability in zip(texts, row, strict=True):
                    first[text] = first.get(text, 0.0) + probability
                best_text = self._tokenizer.decode([token], skip_special_tokens=True)
                yield item, Reply(best_text, first, tokens_in=len(prompts[item]), tokens_out=1, token=best_text)

    def _tokens_of_scale(self, scale: VerdictScale) -> tuple[NDArray[np.int64], list[str]]:
        """Return the numbers of the k tokens that begin a verdict of a scale, shape (k,), and their texts.

        The result is cached by scale.
        """
        if scale.name not in self._verdict_tokens:
            pieces = self._tokenizer.convert_ids_to_tokens(list(range(len(self._tokenizer))))
            ids = [number for number, piece in enumerate(pieces) if piece and scale.verdict_begun_by(piece) is not None]
            # byte-level BPE and SentencePiece write a leading space as these characters
            texts = [pieces[number].replace("Ġ", " ").replace("▁", " ") for number in ids]
            self._verdict_tokens[scale.name] = np.array(ids, dtype=np.int64), texts
        return self._verdict_tokens[scale.name]

    def _generate_replies(
        self, judge: Judge, prompts: Mapping[int, list[int]], max_tokens: int
    ) -> dict[int, list[list[int]]]:
        """Generate replies, and return the tokens of each sample of each prompt, by the number of the prompt.

        Args:
            judge: the metric, whose options set the sampling; without an option for the temperature, that of the model
                applies.
            prompts: the token numbers of each prompt, by its number.
            max_tokens: the length at which a reply is cut.
        """
        temperature = self._temperature if judge.temperature is None else judge.temperature
        sampling = Sampling.for_inputs(prompts, max_tokens, judge.samples, temperature, judge.seed)
        written: dict[ReplyKey, list[int]] = {}

        def step(body: CausalBody, batch: Packed, rows: list[TokenTree]) -> None:
            written.update(body.generate_replies(batch, rows, max_tokens, self._ends, sampling))

        # only a model that can share rows may generate from cached keys and values, within its attention window
        shareable = self._shareable_prompts(prompts, extra=max_tokens)
        self._run_rows(pack_rows(shareable, ROW_TOKENS), step)
        unshared_prompts = {number: ids for number, ids in prompts.items() if number not in shareable}
        written |= self._generate_uncached(unshared_prompts, max_tokens, sampling)
        return {number: [written[key] for key in sampling.keys([number])] for number in prompts}

    def _generate_uncached(
        self, prompts: Mapping[int, list[int]], max_tokens: int, sampling: Sampling
    ) -> dict[ReplyKey, list[int]]:
        """Generate replies without a cache of keys and values, and return the tokens of each reply, by its key.

        Each token takes a pass over the prompt and the whole reply so far: slow, but right for every architecture.

        Args:
            prompts: the token numbers of each prompt, by its number.
            max_tokens: the length at which a reply is cut.
            sampling: the choice of tokens.
        """
        written: dict[ReplyKey, list[int]] = {key: [] for key in sampling.keys(prompts)}
        unfinished = list(written)
        for position in range(max_tokens):
            contexts = [[*prompts[key[0]], *written[key]] for key in unfinished]
            next_tokens = self._next_tokens(contexts, unfinished, position, sampling)
            for key, token in next_tokens.items():
                written[key].append(token)
            unfinished = [key for key in unfinished if next_tokens[key] not in self._ends]
        return written

    def _next_tokens(
        self, contexts: Sequence[list[int]], keys: Sequence[ReplyKey], position: int, sampling: Sampling
    ) -> dict[ReplyKey, int]:
        """Return the next token of each reply, by its key.

        Args:
            contexts: the tokens before it, that is, the prompt and the reply so far, one list per reply.
            keys: the keys of the replies.
            position: the index of the next token in its reply.
            sampling: the choice of tokens.
        """
        next_tokens: dict[ReplyKey, int] = {}

        def step(body: CausalBody, batch: Packed, rows: list[TokenTree]) -> None:
            replies = [keys[item] for item in items_of(rows)]
            tokens = sampling.choose_tokens(body.next_logits(batch, rows), replies, position)
            next_tokens.update(zip(replies, tokens.tolist(), strict=True))

        self._run_rows(pack_rows(dict(enumerate(contexts)), 0), step)
        return next_tokens

    def _run_prompts(
        self, prompts: Mapping[int, list[int]], step: Callable[[CausalBody, Packed, list[TokenTree]], None]
    ) -> None:
        """Run prompts through the model in batches: those that may share a row packed, each other one in its own row.

        Args:
            prompts: the token numbers of each prompt, by its number.
            step: the function that computes a batch, see :meth:`_run_rows`.
        """
        shareable = self._shareable_prompts(prompts)
        unshared_prompts = {number: ids for number, ids in prompts.items() if number not in shareable}
        self._run_rows(pack_rows(shareable, ROW_TOKENS), step)
        self._run_rows(pack_rows(unshared_prompts, 0), step)

    def _shareable_prompts(self, prompts: Mapping[int, list[int]], extra: int = 0) -> dict[int, list[int]]:
        """Return the prompts that may share a row, by number; none if the model does not allow it.

        These are the prompts that fit in the attention window with *extra* more tokens.
        """
        body = self._bodies[0]
        if not body.can_share_rows:
            return {}
        window = body.attention_window
        return {number: ids for number, ids in prompts.items() if window is None or len(ids) + extra <= window}

    def _run_rows(self, rows: Sequence[TokenTree], step: Callable[[CausalBody, Packed, list[TokenTree]], None]) -> None:
        """Run rows through the model in batches; *step* gets the body, the batch and the trees of its rows."""
        torch = import_torch()

        def compute(number: int, body: CausalBody, batch: Packed) -> None:
            with torch.inference_mode():
                step(body, batch, [rows[item] for item in batch.items])

        if rows:
            self._run([Tokens(row.ids) for row in rows], compute, texts=len(items_of(rows)))
