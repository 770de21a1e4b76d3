"""Values of expressions in prompts: a part of Jinja's language, evaluated with bounded work.

Values are texts, numbers, truth values and flat lists of these. What could make a value of any size from a few
characters (formats, powers, repetition, macros) is not part of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: Work that one template may take: one for each character or item of a value, and so many for each step.
MOST_WORK, WORK_PER_STEP = 20_000_000, 500
#: Largest number, most items of ``range`` and widest indent.
MOST_NUMBER, MOST_RANGE, MOST_INDENT = 10**15, 1000, 100

#: Filters by the most arguments that they take.
_FILTERS = {
    **dict.fromkeys(("abs", "capitalize", "count", "e", "escape", "first", "float", "last", "length", "list"), 0),
    **dict.fromkeys(("lower", "reverse", "sort", "string", "title", "tojson", "unique", "upper", "wordcount"), 0),
    **dict.fromkeys(("d", "default", "int", "join", "max", "min", "trim"), 1),
    "indent": 2,
    "replace": 3,
    "round": 1,
    "sum": 0,
    "truncate": 4,
    "map": 1,
}
_TESTS = frozenset((
    *("boolean", "defined", "divisibleby", "eq", "equalto", "even", "false", "float", "ge", "gt", "greaterthan", "in"),
    *("integer", "iterable", "le", "lessthan", "lower", "lt", "ne", "none", "number", "odd", "sequence", "string"),
    *("true", "undefined", "upper"),
))  # fmt: skip
_METHODS = frozenset((
    *("capitalize", "casefold", "count", "endswith", "find", "lower", "lstrip", "removeprefix", "removesuffix"),
    *("replace", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper"),
))  # fmt: skip
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "lteq": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "gteq": lambda a, b: a >= b, "in": lambda a, b: a in b, "notin": lambda a, b: a not in b,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
    "FloorDiv": lambda a, b: a // b, "Mod": lambda a, b: a % b,
}  # fmt: skip


class TemplateError(Exception):
    """A template uses what prompts do not have, or takes too much work."""


class Expressions:
    """The expressions of one filling in of a template, and the work that it has taken.

    Args:
        environment: the environment of Jinja, which has the filters and tests.
        nodes: the module with Jinja's node classes.
    """

    def __init__(self, environment: Any, nodes: Any) -> None:
        self._environment, self._nodes = environment, nodes
        self._work = 0

    def charge(self, size: int) -> None:
        """Count work before it is done.

        Raises:
            TemplateError: the prompt takes too much work.
        """
        self._work += size
        if self._work > MOST_WORK:
            raise TemplateError("it takes too much work")

    def value(self, node: Any, names: dict[str, Any]) -> Any:
        """Return the value of an expression: a text, a number, a truth value, None, or a flat list of these.

        Args:
            node: Jinja's node of the expression.
            names: the values of the variables by name; that of ``loop`` is a dict.

        Raises:
            TemplateError: prompts do not have such an expression, a number is too large, or it takes too much work.
            Exception: an operation does not suit its values.
        """
        self.charge(WORK_PER_STEP)
        # the method for a node Compare is _compare_value, and so on
        kind = type(node).__name__
        evaluate = getattr(self, f"_{kind.lower()}_value", None)
        if evaluate is None and kind in _ARITHMETIC:
            evaluate = self._arithmetic_value
        if evaluate is None:
            raise TemplateError(f"prompts have no {kind.lower()}, line {node.lineno}")
        value = evaluate(node, names)
        if isinstance(value, list | tuple) and not all(isinstance(item, str | int | float | None) for item in value):
            raise TemplateError("a list in a prompt has no lists in it")
        if isinstance(value, int | float) and abs(value) > MOST_NUMBER:
            raise TemplateError(f"a number is larger than {MOST_NUMBER:,}")
        self.charge(size_of(value))
        return value

    def _values(self, nodes: Sequence[Any], names: dict[str, Any]) -> list[Any]:
        return [self.value(node, names) for node in nodes]

    def _const_value(self, node: Any, _: dict[str, Any]) -> Any:
        return node.value

    def _name_value(self, node: Any, names: dict[str, Any]) -> Any:
        if node.name == "loop" or node.name not in names:
            raise TemplateError(f"{node.name} has no value here")
        return names[node.name]

    def _list_value(self, node: Any, names: dict[str, Any]) -> Any:
        return self._values(node.items, names)

    def _tuple_value(self, node: Any, names: dict[str, Any]) -> Any:
        return tuple(self._values(node.items, names))

    def _getattr_value(self, node: Any, names: dict[str, Any]) -> Any:
        is_loop = isinstance(node.node, self._nodes.Name) and node.node.name == "loop"
        if not is_loop or node.attr not in names.get("loop", {}):
            raise TemplateError(f"there is no .{node.attr}, line {node.lineno}")
        return names["loop"][node.attr]

    def _getitem_value(self, node: Any, names: dict[str, Any]) -> Any:
        """Return an item or a slice of a value."""
        value = self.value(node.node, names)
        if isinstance(node.arg, self._nodes.Slice):
            bounds = [
                None if part is None else self.value(part, names)
                for part in (node.arg.start, node.arg.stop, node.arg.step)
            ]
            return value[slice(*bounds)]
        return value[self.value(node.arg, names)]

    def _concat_value(self, node: Any, names: dict[str, Any]) -> Any:
        parts = self._values(node.nodes, names)
        self.charge(sum(map(size_of, parts)))
        return "".join(map(str, parts))

    def _arithmetic_value(self, node: Any, names: dict[str, Any]) -> Any:
        """Return a sum, difference, product and so on of two numbers, or two joined texts.

        Raises:
            TemplateError: the operands are neither, or it takes too much work.
            ZeroDivisionError: a number is divided by 0.
        """
        left, right = self._values((node.left, node.right), names)
        kind = type(node).__name__
        are_numbers = all(isinstance(value, int | float) for value in (left, right))
        if not are_numbers and not (kind == "Add" and isinstance(left, str) and isinstance(right, str)):
            raise TemplateError(f"{node.operator} is for numbers, line {node.lineno}")
        self.charge(size_of(left) + size_of(right))
        return _ARITHMETIC[kind](left, right)

    def _neg_value(self, node: Any, names: dict[str, Any]) -> Any:
        return -self.value(node.node, names)

    def _not_value(self, node: Any, names: dict[str, Any]) -> Any:
        return not self.value(node.node, names)

    def _and_value(self, node: Any, names: dict[str, Any]) -> Any:
        return self.value(node.left, names) and self.value(node.right, names)

    def _or_value(self, node: Any, names: dict[str, Any]) -> Any:
        return self.value(node.left, names) or self.value(node.right, names)

    def _condexpr_value(self, node: Any, names: dict[str, Any]) -> Any:
        if self.value(node.test, names):
            return self.value(node.expr1, names)
        return "" if node.expr2 is None else self.value(node.expr2, names)

    def _compare_value(self, node: Any, names: dict[str, Any]) -> Any:
        """Return whether all comparisons of a chain, such as ``1 < a < 5``, are true."""
        left = self.value(node.expr, names)
        for operand in node.ops:
            right = self.value(operand.expr, names)
            if not _COMPARISONS[operand.op](left, right):
                return False
            left = right
        return True

    def _test_value(self, node: Any, names: dict[str, Any]) -> Any:
        if node.name not in _TESTS or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise TemplateError(f"prompts have no test {node.name}, line {node.lineno}")
        return self._environment.call_test(node.name, self.value(node.node, names), self._values(node.args, names))

    def _call_value(self, node: Any, names: dict[str, Any]) -> Any:
        """Return the value of ``range`` or of a method of a text.

        Raises:
            TemplateError: there is no such call, it has other arguments than prompts allow, or takes too much work.
            Exception: the arguments do not suit the call.
        """
        if node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise TemplateError(f"a call in a prompt has plain arguments, line {node.lineno}")
        arguments = self._values(node.args, names)
        called = node.node
        if isinstance(called, self._nodes.Name) and called.name == "range" and "range" not in names:
            numbers = range(*arguments)
            if len(numbers) > MOST_RANGE:
                raise TemplateError(f"a range has more than {MOST_RANGE:,} numbers")
            return list(numbers)
        if not isinstance(called, self._nodes.Getattr) or called.attr not in _METHODS:
            raise TemplateError(f"prompts have no such call, line {node.lineno}")
        text = self.value(called.node, names)
        if not isinstance(text, str):
            raise TemplateError(f".{called.attr}() is for texts, line {node.lineno}")
        if called.attr == "replace":
            self._charge_replacement(text, arguments)
        return getattr(text, called.attr)(*arguments)

    def _filter_value(self, node: Any, names: dict[str, Any]) -> Any:
        """Return a value after a filter, or with ``map`` each item of a list after it.

        Raises:
            TemplateError: there is no such filter, it has other arguments than prompts allow, or takes too much work.
            Exception: the filter does not suit the value.
        """
        if node.node is None or node.name not in _FILTERS or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise TemplateError(f"prompts have no filter {node.name} with such arguments, line {node.lineno}")
        value, arguments = self.value(node.node, names), self._values(node.args, names)
        if node.name != "map":
            return self._filtered(node.name, value, arguments)
        if len(arguments) != 1:
            raise TemplateError(f"map has the name of a filter, line {node.lineno}")
        return [self._filtered(arguments[0], item, []) for item in value]

    def _filtered(self, name: str, value: Any, arguments: list[Any]) -> Any:
        """Return what one of Jinja's filters makes of a value, its work counted before.

        Args:
            name: the name of the filter.
            value: the value to filter; with a filter of lists, as Jinja expects it.
            arguments: the further arguments of the filter, by position.

        Raises:
            TemplateError: there is no such filter, it has other arguments than prompts allow, or it takes too much
                work.
            Exception: the filter does not suit the value.
        """
        is_filter = name in _FILTERS and name != "map"
        if not is_filter or len(arguments) > _FILTERS[name]:
            raise TemplateError(f"prompts have no filter {name} with such arguments")
        if name == "replace":
            self._charge_replacement(str(value), arguments)
        if name == "join":
            self.charge(sum(map(size_of, value)) + len(value) * sum(map(size_of, arguments)))
        if name in ("indent", "round") and arguments and not 0 <= arguments[0] <= MOST_INDENT:
            raise TemplateError(f"{name} takes a number up to {MOST_INDENT}")
        if name == "indent":
            self.charge(MOST_INDENT * (1 + str(value).count("\n")))
        # at most six characters for each, as in &quot; or \u0022
        self.charge(6 * size_of(value))
        result = self._environment.call_filter(name, value, arguments)
        return list(result) if name in ("reverse", "unique", "list") and not isinstance(result, str) else result

    def _charge_replacement(self, text: str, arguments: list[Any]) -> None:
        old, new = (str(argument) for argument in arguments[:2])
        self.charge(len(text) + text.count(old) * len(new))


def size_of(value: Any) -> int:
    """Return the size of a value in characters; a list has those of its items and one more for each."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | tuple):
        return len(value) + sum(map(size_of, value))
    # about the length of a number
    return 20
