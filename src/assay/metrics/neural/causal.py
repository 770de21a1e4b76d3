"""The session of a judge that is a causal language model, and the chat template that turns conversations into tokens.

A beginning shared by several prompts is computed once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.common.progress import scaled_shares
from assay.exceptions import UnavailableError
from assay.metrics.base import Batch, Metric
from assay.metrics.judge.readings import ReadReplies
from assay.metrics.judge.reasoning import begins_reasoning, opened_reasoning
from assay.metrics.judge.replies import Reply
from assay.metrics.models import describe
from assay.metrics.neural.backends import open_causal_bodies
from assay.metrics.neural.causal_body import CausalBody, ReplyKey, Sampling
from assay.metrics.neural.limits import text_limit
from assay.metrics.neural.loading import LoadedModel, load_causal_model
from assay.metrics.neural.prefixes import TokenTree, items_of, pack_rows
from assay.metrics.neural.runtime import import_torch
from assay.metrics.neural.session import ModelEngine, ModelSession
from assay.metrics.neural.tokens import Packed, Tokens, to_device
from assay.metrics.scores import Flag, Scores

if TYPE_CHECKING:
    from assay.metrics.judge.judge import Judge
    from assay.metrics.judge.prompts import Message
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
        """
        scored = []
        for index, metric in enumerate(metrics):
            judge = cast("Judge", metric)
            started = time.perf_counter()
            with scaled_shares(index / len(metrics), (index + 1) / len(metrics)):
                replies = self.replies(judge, batch)
            self._read.add_batch(judge, batch, replies)
            scored.append(judge.scores_of(batch, replies, time.perf_counter() - started))
        return Scores.concatenate(scored)

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
        """
        conversations = judge.conversations(batch)
        distinct = list(dict.fromkeys(order for orders in conversations for order in orders))
        prompts = self._chat.tokens(distinct)
        replies = dict(zip(distinct, self._replies_to(judge, prompts), strict=True))
        return [[replies[order] for order in orders] for orders in conversations]

    def _replies_to(self, judge: Judge, prompts: Sequence[list[int]]) -> list[list[Reply]]:
        """Return the replies to each prompt, in the order of the prompts, and count their tokens.

        The judge's option ``verdict`` decides what a reply is: the probabilities of the first token (``probability``),
        a generated text (``text``), or a text only if the first token gives no verdict (``auto``). If the template or
        the first token begins a block of reasoning, the reply is a text with room for it. A prompt that leaves no room
        for a reply within the model's limit gets one empty reply with a flag.

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
                if judge.verdict == "auto" and judge.scale_used.read(reply, "probability").score is None:
                    to_write.append(number)
        direct: dict[int, list[int]] = {}
        thinking: dict[int, list[int]] = {}
        for number in sorted(to_write):
            if self._chat.opened_reasoning or begins_reasoning(replies[number][0].text):
                thinking[number] = prompts[number]
            else:
                direct[number] = prompts[number]
        written = self._generate_replies(judge, direct, limit)
        if thinking:
            room = self._limit - max(map(len, thinking.values()))
            written |= self._generate_replies(judge, thinking, min(judge.reply_limit(reasons=True), room))
        for number, samples in written.items():
            first = replies[number][0]
            texts = self._tokenizer.batch_decode(samples, skip_special_tokens=True)
            prompt_length = len(prompts[number])
            replies[number] = [
                Reply(
                    self._chat.opened_reasoning + text,
                    first.first,
                    tokens_in=prompt_length,
                    tokens_out=len(tokens),
                    token=first.token,
                    is_cut=not self._ends.intersection(tokens[-1:]),
                )
                for text, tokens in zip(texts, samples, strict=True)
            ]
        all_replies = [reply for samples in replies for reply in samples]
        self._tokens_in += sum(reply.tokens_in for reply in all_replies)
        self._tokens_out += sum(reply.tokens_out for reply in all_replies)
        return replies

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
        others = {number: ids for number, ids in prompts.items() if number not in shareable}
        written |= self._generate_uncached(others, max_tokens, sampling)
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
            chosen = self._next_tokens(contexts, unfinished, position, sampling)
            for key, token in chosen.items():
                written[key].append(token)
            unfinished = [key for key in unfinished if chosen[key] not in self._ends]
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
        chosen: dict[ReplyKey, int] = {}

        def step(body: CausalBody, batch: Packed, rows: list[TokenTree]) -> None:
            replies = [keys[item] for item in items_of(rows)]
            tokens = sampling.choose_tokens(body.next_logits(batch, rows), replies, position)
            chosen.update(zip(replies, tokens.tolist(), strict=True))

        self._run_rows(pack_rows(dict(enumerate(contexts)), 0), step)
        return chosen

    def _run_prompts(
        self, prompts: Mapping[int, list[int]], step: Callable[[CausalBody, Packed, list[TokenTree]], None]
    ) -> None:
        """Run prompts through the model in batches: those that may share a row packed, each other one in its own row.

        Args:
            prompts: the token numbers of each prompt, by its number.
            step: the function that computes a batch, see :meth:`_run_rows`.
        """
        shareable = self._shareable_prompts(prompts)
        others = {number: ids for number, ids in prompts.items() if number not in shareable}
        self._run_rows(pack_rows(shareable, ROW_TOKENS), step)
        self._run_rows(pack_rows(others, 0), step)

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


# Turns conversations into the tokens that a causal model reads, by the model's chat template.


#: Variables of chat templates. Reasoning would precede the verdict, so models that can switch it off do.
_SETTINGS = {"enable_thinking": False}
#: Overrides the function with which templates write today's date: scores must not change overnight. The date is the one
#: that the templates of Llama 3 fall back to.
_DAY = (
    "{%- macro strftime_now(form) -%}{{ {'%Y-%m-%d': '2024-07-26', '%B %d, %Y': 'July 26, 2024'}"
    ".get(form, '26 Jul 2024') }}{%- endmacro -%}"
)
#: Placeholder for the text of a message in a rendered template; any text that a template writes unchanged would do.
_MARK = "assaymessage{}text"


class Chat:
    """Turns conversations into tokens, by the chat template of a tokenizer.

    If the template does not support system messages, a system message is put before the text of the first user
    message. A model without a template gets the plain texts of the messages, separated by blank lines, and
    then ``Reply:``.

    Args:
        tokenizer: transformers' tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._has_template = bool(tokenizer.chat_template)
        self._template = tokenizer.get_chat_template() if self._has_template else ""
        if "strftime_now" in self._template:
            self._template = _DAY + self._template
        self._control_tokens = [
            token.content for token in tokenizer.added_tokens_decoder.values() if token.content.strip()
        ]
        self._supports_system = self._has_template and self._renders_system_messages()
        #: The begin of a block of reasoning that the template opens for each reply; empty if it opens none.
        self.opened_reasoning = opened_reasoning(self._render_messages([{"role": "user", "content": "text"}]))

    def tokens(self, conversations: Sequence[Sequence[Message]]) -> list[list[int]]:
        """Return the token numbers of each conversation, up to the start of the reply.

        A control token inside a message is encoded as plain text, so that an answer cannot end its own message or begin
        the reply.
        """
        if not conversations:
            return []
        messages = [self._messages_for_template(conversation) for conversation in conversations]
        texts = [self._render_messages(turns) for turns in messages]
        encoded = self._tokenizer(texts, add_special_tokens=not self._has_template, verbose=False)["input_ids"]
        tokens: list[list[int]] = list(encoded)
        for number, turns in enumerate(messages):
            if any(token in message["content"] for message in turns for token in self._control_tokens):
                tokens[number] = self._encode_as_plain_text(turns)
        return tokens

    def _messages_for_template(self, conversation: Sequence[Message]) -> list[dict[str, str]]:
        """Return the messages as templates expect them; an unsupported system message is put before the user's text."""
        messages = [{"role": message.role, "content": message.content} for message in conversation]
        begins_with_system = len(messages) > 1 and messages[0]["role"] == "system"
        must_merge = begins_with_system and self._has_template and not self._supports_system
        if must_merge:
            system, user, *others = messages
            return [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *others]
        return messages

    def _render_messages(self, messages: list[dict[str, str]]) -> str:
        """Return the text of a conversation up to the start of the reply, by the template if there is one.

        A template that does not support the conversation raises an error of Jinja.
        """
        if not self._has_template:
            return "\n\n".join([*(message["content"] for message in messages), "Reply:"])
        text: str = self._tokenizer.apply_chat_template(
            messages, chat_template=self._template, add_generation_prompt=True, tokenize=False, **_SETTINGS
        )
        return text

    def _encode_as_plain_text(self, messages: list[dict[str, str]]) -> list[int]:
        """Return the tokens of a conversation whose messages contain control tokens, encoded as plain text.

        The template is rendered with a placeholder per message. Then the template's own text and the messages are
        encoded separately, each part in its own way.
        """
        marks = [_MARK.format(number) for number in range(len(messages))]
        marked = [{"role": message["role"], "content": mark} for message, mark in zip(messages, marks, strict=True)]
        rest = self._render_messages(marked)
        tokens: list[int] = []
        # only the first part may get the special token at the start, which a template writes itself
        adds_special = not self._has_template
        for mark, message in zip(marks, messages, strict=True):
            before, _, rest = rest.partition(mark)
            tokens += self._tokenizer.encode(before, add_special_tokens=adds_special)
            tokens += self._tokenizer.encode(message["content"], add_special_tokens=False, split_special_tokens=True)
            adds_special = False
        return tokens + list(self._tokenizer.encode(rest, add_special_tokens=False))

    def _renders_system_messages(self) -> bool:
        """Tell whether the template writes system messages; others raise an error, or leave the message out."""
        from jinja2 import TemplateError

        messages = [{"role": "system", "content": _MARK}, {"role": "user", "content": "text"}]
        try:
            return _MARK in self._render_messages(messages)
        except TemplateError:
            return False
