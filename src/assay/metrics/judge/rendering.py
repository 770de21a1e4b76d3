"""Prompts filled in: the statements of a part of Jinja's language, run here, so that no template runs code.

Jinja itself parses a template; :mod:`~assay.metrics.judge.expressions` evaluates its expressions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from assay.exceptions import MissingExtraError
from assay.metrics.judge.expressions import WORK_PER_STEP, Expressions, TemplateError, size_of

#: Longest text of a template, in characters, beyond four times its fields.
MOST_TEXT = 1_000_000


@functools.cache
def template_environment() -> Any:
    """Return the environment that parses all templates, and has their filters; see :class:`PromptTemplate`.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    try:
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise MissingExtraError("jinja2", "judge") from None
    return ImmutableSandboxedEnvironment(keep_trailing_newline=True)


class PromptTemplate:
    """A template of a prompt.

    Args:
        environment: the environment of Jinja, as :func:`template_environment` returns it.
        source: the text of the template.

    Attributes:
        fields: the names that it shows and does not set.

    Raises:
        jinja2.TemplateSyntaxError: the text is not a template.
        TemplateError: it has a statement that prompts do not have.
    """

    def __init__(self, environment: Any, source: str) -> None:
        from jinja2 import nodes

        self._environment, self._nodes = environment, nodes
        parsed = environment.parse(source)
        self._body: Sequence[Any] = parsed.body
        statements = (nodes.Output, nodes.If, nodes.For, nodes.Assign, nodes.With)
        for node in parsed.find_all(nodes.Stmt):
            if not isinstance(node, statements):
                raise TemplateError(f"prompts have no {type(node).__name__.lower()}, line {node.lineno}")
        names = list(parsed.find_all(nodes.Name))
        own_names = {node.name for node in names if node.ctx != "load"} | {"loop", "range"}
        #: The names that the template shows and does not set. Jinja's own search would compute what is constant.
        self.fields = frozenset(node.name for node in names if node.name not in own_names)

    def render(self, values: Mapping[str, str | Sequence[str]]) -> str:
        """Return the template filled in.

        Args:
            values: the value of each field.

        Raises:
            TemplateError: a name in it has no value; it has an expression, call, filter or test that prompts do not
                have; it takes too much work; or its text is too long.
            Exception: an operation does not suit its values.
        """
        return _Rendering(self._environment, self._nodes, values).text_of(self._body)


class _Rendering:
    """One filling in of a template."""

    def __init__(self, environment: Any, nodes: Any, values: Mapping[str, Any]) -> None:
        self._nodes, self._fields = nodes, dict(values)
        self._expressions = Expressions(environment, nodes)
        self._room = MOST_TEXT + 4 * sum(size_of(value) for value in values.values())

    def text_of(self, body: Sequence[Any]) -> str:
        """Return the text of a list of statements."""
        return "".join(self._run(body, self._fields))

    def _run(self, body: Sequence[Any], names: dict[str, Any]) -> Iterator[str]:
        """Yield the texts of statements, in order.

        Args:
            body: the statements.
            names: the variables by name; those that the statements set are added.

        Raises:
            TemplateError, Exception: as for :meth:`PromptTemplate.render`.
        """
        nodes = self._nodes
        for node in body:
            self._expressions.charge(WORK_PER_STEP)
            if isinstance(node, nodes.Output):
                for part in node.nodes:
                    is_plain_text = isinstance(part, nodes.TemplateData)
                    yield self._printed(part.data if is_plain_text else self._expressions.value(part, names))
            elif isinstance(node, nodes.If):
                # one by one, since only a test that is evaluated is counted as work
                branches = chain((node,), node.elif_)
                chosen = next((branch.body for branch in branches if self._expressions.value(branch.test, names)), None)
                yield from self._run(node.else_ if chosen is None else chosen, names)
            elif isinstance(node, nodes.For):
                yield from self._loop(node, names)
            elif isinstance(node, nodes.With):
                self._expressions.charge(len(names))
                values = [self._expressions.value(value, names) for value in node.values]
                inner = names | {
                    self._target(target): value for target, value in zip(node.targets, values, strict=True)
                }
                yield from self._run(node.body, inner)
            else:
                names[self._target(node.target)] = self._expressions.value(node.node, names)

    def _loop(self, node: Any, names: dict[str, Any]) -> Iterator[str]:
        """Yield the texts of a loop; what its body sets is gone after each item, as in Jinja.

        Args:
            node: Jinja's node of the loop.
            names: the variables by name, which stay as they are.

        Raises:
            TemplateError, Exception: as for :meth:`PromptTemplate.render`.
        """
        target = self._target(node.target)
        items = list(self._expressions.value(node.iter, names))
        # the names are copied for each item
        self._expressions.charge(len(items) * len(names))
        if node.test is not None:
            items = [item for item in items if self._expressions.value(node.test, names | {target: item})]
        for index, item in enumerate(items):
            self._expressions.charge(WORK_PER_STEP)
            left = len(items) - index
            loop = {
                "index": index + 1, "index0": index, "revindex": left, "revindex0": left - 1, "first": index == 0,
                "last": left == 1, "length": len(items), "depth": 1, "depth0": 0,
            }  # fmt: skip
            yield from self._run(node.body, names | {target: item, "loop": loop})
        if not items:
            yield from self._run(node.else_, names)

    def _target(self, node: Any) -> str:
        if not isinstance(node, self._nodes.Name):
            raise TemplateError("a variable of a prompt has a plain name")
        return str(node.name)

    def _printed(self, value: Any) -> str:
        """Return a value as it is printed, and count its characters.

        Raises:
            TemplateError: the text of the prompt is too long.
        """
        text = str(value)
        self._expressions.charge(len(text))
        self._room -= len(text)
        if self._room < 0:
            raise TemplateError("its text is too long")
        return text
