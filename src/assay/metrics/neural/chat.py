"""Conversations as the tokens that a causal language model reads, by its chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.metrics.judge.reasoning import opened_reasoning

if TYPE_CHECKING:
    from assay.metrics.judge.prompts import Message

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

        Raises:
            jinja2.TemplateError: the template does not support a conversation.
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
            system, user, *further_messages = messages
            return [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *further_messages]
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
        text = self._render_messages(marked)
        tokens: list[int] = []
        # only the first part may get the special token at the start, which a template writes itself
        adds_special = not self._has_template
        for mark, message in zip(marks, messages, strict=True):
            before, _, text = text.partition(mark)
            tokens += self._tokenizer.encode(before, add_special_tokens=adds_special)
            tokens += self._tokenizer.encode(message["content"], add_special_tokens=False, split_special_tokens=True)
            adds_special = False
        return tokens + list(self._tokenizer.encode(text, add_special_tokens=False))

    def _renders_system_messages(self) -> bool:
        """Tell whether the template writes system messages; others raise an error, or leave the message out."""
        from jinja2 import TemplateError

        messages = [{"role": "system", "content": _MARK}, {"role": "user", "content": "text"}]
        try:
            return _MARK in self._render_messages(messages)
        except TemplateError:
            return False
