"""Conversations as a causal model reads them: its chat template, and their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.metrics.judge.prompts import Message

#: Reasoning would come before the verdict.
_SETTINGS = {"enable_thinking": False}
#: Templates that write today's date get this one, to which those of Llama 3 fall back: a score must not change
#: overnight.
_DAY = (
    "{%- macro strftime_now(form) -%}{{ {'%Y-%m-%d': '2024-07-26', '%B %d, %Y': 'July 26, 2024'}"
    ".get(form, '26 Jul 2024') }}{%- endmacro -%}"
)
#: Stands for the text of a message in a rendered template.
_MARK = "assaymessage{}text"


class Chat:
    """Turns conversations into tokens, by the chat template of a tokenizer.

    A template that has no place for a system message gets it at the head of the first message of the user. A model
    without a template gets the plain texts of the messages, with a blank line between them, and then ``Reply:``.

    Args:
        tokenizer: of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._has_template = bool(tokenizer.chat_template)
        self._template = tokenizer.get_chat_template() if self._has_template else ""
        if "strftime_now" in self._template:
            self._template = _DAY + self._template
        self._control = [token.content for token in tokenizer.added_tokens_decoder.values() if token.content.strip()]
        self._takes_system = self._has_template and self._shows_system()

    def tokens(self, conversations: Sequence[Sequence[Message]]) -> list[list[int]]:
        """Return the token numbers of each conversation, up to where the reply begins.

        A control token in a message is text like any other: an answer cannot end its own message, nor begin the reply.
        """
        if not conversations:
            return []
        messages = [self._messages(conversation) for conversation in conversations]
        texts = [self._rendered(one) for one in messages]
        encoded = self._tokenizer(texts, add_special_tokens=not self._has_template, verbose=False)["input_ids"]
        tokens: list[list[int]] = list(encoded)
        for number, one in enumerate(messages):
            if any(token in message["content"] for message in one for token in self._control):
                tokens[number] = self._disarmed(one)
        return tokens

    def _messages(self, conversation: Sequence[Message]) -> list[dict[str, str]]:
        """Return the messages as a template takes them, the system's merged into the user's where it must be."""
        messages = [{"role": message.role, "content": message.content} for message in conversation]
        if self._has_template and not self._takes_system and len(messages) > 1 and messages[0]["role"] == "system":
            system, user, *others = messages
            return [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *others]
        return messages

    def _rendered(self, messages: list[dict[str, str]]) -> str:
        if not self._has_template:
            return "\n\n".join([*(message["content"] for message in messages), "Reply:"])
        text: str = self._tokenizer.apply_chat_template(
            messages, chat_template=self._template, add_generation_prompt=True, tokenize=False, **_SETTINGS
        )
        return text

    def _disarmed(self, messages: list[dict[str, str]]) -> list[int]:
        """Return the tokens of messages in which control tokens are encoded as plain text."""
        marks = [_MARK.format(number) for number in range(len(messages))]
        marked = [{"role": one["role"], "content": mark} for one, mark in zip(messages, marks, strict=True)]
        rest, tokens = self._rendered(marked), []
        first = not self._has_template
        for mark, message in zip(marks, messages, strict=True):
            before, _, rest = rest.partition(mark)
            tokens += self._tokenizer.encode(before, add_special_tokens=first)
            tokens += self._tokenizer.encode(message["content"], add_special_tokens=False, split_special_tokens=True)
            first = False
        return tokens + list(self._tokenizer.encode(rest, add_special_tokens=False))

    def _shows_system(self) -> bool:
        """Tell whether the template writes a system message out, and does not refuse it."""
        from jinja2 import TemplateError

        messages = [{"role": "system", "content": _MARK}, {"role": "user", "content": "text"}]
        try:
            return _MARK in self._rendered(messages)
        except TemplateError:
            return False
