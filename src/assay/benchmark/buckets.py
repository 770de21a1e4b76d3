"""Buckets: subsets of pairs by a rule, each named by its condition.

Rules, alone or joined by ``+`` (their cross product):

====================  ==================================================================
``f1``                ``f1=0`` and ``f1>0``: no token, or some, in common
``f1:0,0.5,1``        ``0<=f1<0.5`` and ``0.5<=f1<=1``
``label:(0,1,2]``     ``0<label<=1`` and ``1<label<=2``: each range has its upper edge
``label<0.5``         ``label<0.5`` and the rest, ``label>=0.5``; also with <=, >, >=, =, !=
``subset``            one bucket per value; likewise ``split``, ``language``, or any other column
``length``            words of the longer text: ``length<6``, ``6<=length<16``, ``length>=16``
``number``            ``number=yes``: the reference has a digit, or a sign such as ½; ``number=no``
====================  ==================================================================

With several datasets, a dataset without the column of a rule skips that rule with a note.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.common.tables import exact_number, has_exact_floats
from assay.exceptions import InputError, suggestion_for
from assay.language.texts import flattened_texts, has_number
from assay.statistics.labels import round_labels

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.datasets import Pairs

ALL = "all"
_NUMERIC = ("f1", "label", "length")
#: Names of computed quantities; a column of that name is not read as it is.
QUANTITIES = (*_NUMERIC, "number")
#: The most buckets that one rule may make.
MAX_VALUES = 200
#: The most combinations of joined rules; each bucket stores a mask of all pairs.
MAX_COMBINED = 1_000
#: The edges between short, middle and long texts, in words.
_LENGTH_EDGES = (6, 16)
_TERM = re.compile(r"(?P<name>[^\s<>=!:+]+)(?:(?P<op><=|>=|!=|<|>|=)(?P<value>[^+]+)|:(?P<edges>[^+]+))?")
_NUMBER_RULES = {("=", "yes"), ("=", "no")}
_COMPARE: dict[str, tuple[Callable[..., NDArray[np.bool_]], str]] = {
    "<": (np.less, ">="),
    "<=": (np.less_equal, ">"),
    ">": (np.greater, "<="),
    ">=": (np.greater_equal, "<"),
    "=": (np.equal, "!="),
    "!=": (np.not_equal, "="),
}


@dataclass(frozen=True)
class Bucket:
    """A named subset of the pairs of a dataset.

    Attributes:
        name: the condition, such as ``f1>0``.
        mask: True for each of the n pairs that fulfils it, shape (n,).
        rule: the rule that made the bucket; empty for the bucket of all pairs.
    """

    name: str
    mask: NDArray[np.bool_]
    rule: str = ""


@dataclass(frozen=True)
class Term:
    """One part of a rule, such as ``label<0.5`` or ``f1:0,0.5,1``.

    Attributes:
        text: the part as it was written.
        name: the quantity or column that it reads.
        op: the comparison operator; empty without a condition.
        value: the value after the operator; empty without a condition.
        edges: the rising edges of ranges; empty without ranges.
        has_upper_edges: whether each range includes its upper edge instead of its lower one.
    """

    text: str
    name: str
    op: str
    value: str
    edges: tuple[float, ...]
    has_upper_edges: bool = False


def check_columns(datasets: Sequence[Pairs], rules: Sequence[str]) -> None:
    """Raise InputError for a rule that cannot be parsed, or whose columns no dataset has all of or cannot be read."""
    for rule in rules:
        terms = _column_terms(rule)
        names = [term.name for term in terms]
        with_columns = [pairs for pairs in datasets if set(names) <= set(pairs.source_columns)]
        if not with_columns and len(datasets) > 1:
            raise _missing_column_error(rule, names, datasets)
        # if the only dataset lacks the column, _column_of_term raises the error that names it
        for pairs in with_columns or datasets:
            for term in terms:
                _column_of_term(pairs, term)


def usable_rules(pairs: Pairs, rules: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the rules whose columns and references a dataset has, and a note on each of the others.

    Raises:
        InputError: a rule cannot be parsed.
    """
    usable, notes = [], []
    for rule in rules:
        missing = [term.name for term in _column_terms(rule) if term.name not in pairs.source_columns]
        if missing:
            columns = " and no column ".join(map(repr, missing))
            notes.append(f"no bucket {rule!r}: there is no column {columns}")
        else:
            usable.append(rule)
    if not pairs.has_references:
        of_references = [rule for rule in usable if _reads_references(rule)]
        notes += [f"no bucket {rule!r}: there is no reference" for rule in of_references]
        usable = [rule for rule in usable if rule not in of_references]
    return tuple(usable), notes


def _reads_references(rule: str) -> bool:
    """Tell whether a rule needs the references of the pairs; ``length`` does without them."""
    return rule not in ("none", ALL) and any(term.name in ("f1", "number", "reference") for term in parse_rule(rule))


def _column_terms(rule: str) -> list[Term]:
    """Return the terms of a rule that read a column of their name instead of a computed quantity."""
    if rule in ("none", ALL):
        return []
    # a dataset without the column "language" has one language for all pairs
    return [term for term in parse_rule(rule) if term.name not in (*QUANTITIES, "language")]


def first_rule_of_texts(rules: Sequence[str]) -> str | None:
    """Return the first rule that reads references or candidates; None if no rule does."""
    text_names = {*QUANTITIES, "reference", "candidate"} - {"label"}
    for rule in rules:
        if any(term.name in text_names for term in parse_rule(rule)):
            return rule
    return None


def split_into_buckets(
    pairs: Pairs, rules: tuple[str, ...], token_f1: Callable[[], NDArray[np.float64]]
) -> list[Bucket]:
    """Return the bucket ``all`` and then the buckets of each rule in order, including empty ones.

    The rules ``none`` and ``all`` add nothing, nor does a bucket of the same name as an earlier one.

    Args:
        pairs: a table of n pairs.
        rules: the bucket rules, as described in the module.
        token_f1: a function that returns the token F1 of every pair, shape (n,); called only if a rule needs it.

    Raises:
        InputError: a rule that cannot be parsed or makes too many buckets, or a column that is missing or unreadable.
    """
    buckets = {ALL: Bucket(ALL, np.ones(len(pairs), dtype=bool))}
    for rule in rules:
        if rule not in ("none", ALL):
            for bucket in _buckets_of_rule(pairs, rule, token_f1):
                buckets.setdefault(bucket.name, bucket)
    return list(buckets.values())


def _buckets_of_rule(pairs: Pairs, rule: str, token_f1: Callable[[], NDArray[np.float64]]) -> list[Bucket]:
    """Return the buckets of one rule: the cross product of those of its terms.

    Raises:
        InputError: as for :func:`split_into_buckets`.
    """
    product = [Bucket("", np.ones(len(pairs), dtype=bool))]
    for term in parse_rule(rule):
        term_buckets = _partition_pairs(pairs, term, token_f1)
        if len(product) * len(term_buckets) > MAX_COMBINED:
            raise InputError(
                f"bucket {rule!r}: makes {len(product) * len(term_buckets):,} combinations, more than"
                f" {MAX_COMBINED:,}; name one of the values, such as {term_buckets[0].name}"
            )
        product = [
            Bucket(f"{left.name}+{right.name}", left.mask & right.mask) for left in product for right in term_buckets
        ]
    # the bucket before the first term has no name
    return [Bucket(bucket.name.removeprefix("+"), bucket.mask, rule) for bucket in product]


def parse_rule(rule: str) -> list[Term]:
    """Return the terms of a rule, which ``+`` joins.

    Raises:
        InputError: a term that cannot be parsed, edges that are not rising numbers, or a condition that its quantity
            cannot have.
    """
    terms = []
    for text in rule.split("+"):
        match = _TERM.fullmatch(text.strip())
        if match is None:
            raise InputError(
                f"bucket {rule!r}: cannot be read; write f1, f1:0,0.5,1, label<0.5, subset, split, language, length "
                "or number, joined by + where several should hold"
            )
        name, op, value = match["name"], match["op"] or "", match["value"] or ""
        edge_text = match["edges"] or ""
        has_upper_edges = edge_text.startswith("(") and edge_text.endswith("]")
        bounds = edge_text[1:-1] if has_upper_edges else edge_text
        edges = _parse_edges(rule, name, bounds) if edge_text else ()
        has_condition = bool(op or edges)
        if name == "number" and has_condition and (op, value) not in _NUMBER_RULES:
            raise InputError(f"bucket {rule!r}: number has no other conditions than number=yes and number=no")
        if op and name in _NUMERIC:
            # raises an error for a value that is not a number
            _parse_number(rule, value)
        terms.append(Term(text.strip(), name, op, value, edges, has_upper_edges))
    return terms


def _parse_edges(rule: str, name: str, text: str) -> tuple[float, ...]:
    """Return the edges in *text*, the part of *rule* after the quantity *name*.

    Raises:
        InputError: there are fewer than two, they do not rise, or one is not a finite number.
    """
    edges = tuple(_parse_bound(rule, name, edge) for edge in text.split(","))
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise InputError(f"bucket {rule!r}: needs two or more rising edges, such as f1:0,0.5,1")
    return edges


def distinct_numbers(values: Sequence[float]) -> list[str]:
    """Return the texts of distinct numbers: with up to 15 digits, or all with every digit if two would be equal.

    Fifteen digits hide the last one of sums such as .1 + .2; numbers below .0001 and from 1e15 on have an exponent.
    """
    # without the sign of -0
    values = [value + 0 for value in values]
    texts = [f"{value:.15g}" for value in values]
    return texts if len(set(map(float, texts))) == len(texts) else list(map(exact_number, values))


def _parse_bound(rule: str, name: str, text: str) -> float:
    """Return the number in *text* with which the quantity *name* is compared; one for labels is rounded as labels are.

    Raises:
        InputError: it is not a finite number.
    """
    number = _parse_number(rule, text)
    return float(round_labels(np.array(number))) if name == "label" else number


def _parse_number(rule: str, text: str) -> float:
    """Return the number that *text*, a part of *rule*, stands for; raise InputError unless it is finite."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isinf(value):
        raise InputError(f"bucket {rule!r}: {text!r} is not a number that is finite")
    if math.isnan(value):
        raise InputError(f"bucket {rule!r}: {text!r} is not a number")
    return value


def _partition_pairs(pairs: Pairs, term: Term, token_f1: Callable[[], NDArray[np.float64]]) -> list[Bucket]:
    """Return the disjoint buckets of one term.

    A pair with a number outside the edges, or with an empty cell in a column of numbers, is in none of them. The empty
    cells of a column of text are a value like any other.

    Raises:
        InputError: too many values, or a column that is missing or cannot be read.
    """
    if term.name == "number":
        has_digit = has_number(pairs.table.column("reference"))
        return [Bucket("number=yes", has_digit), Bucket("number=no", ~has_digit)]
    values = _values_of_term(pairs, term, token_f1)
    if term.op:
        return _condition_buckets(term, values)
    if values.dtype.kind != "f":
        return [Bucket(f"{term.name}={value}", values == value) for value in _distinct_values(values, term)]
    if term.edges:
        return _range_buckets(term, values)
    if term.name == "f1":
        return [Bucket("f1=0", values == 0), Bucket("f1>0", values > 0)]
    if term.name == "length":
        low, high = _LENGTH_EDGES
        return [
            Bucket(f"length<{low}", values < low),
            Bucket(f"{low}<=length<{high}", (values >= low) & (values < high)),
            Bucket(f"length>={high}", values >= high),
        ]
    distinct_values = _distinct_values(values, term)
    texts = distinct_numbers(distinct_values)
    return [Bucket(f"{term.name}={text}", values == value) for text, value in zip(texts, distinct_values, strict=True)]


def _condition_buckets(term: Term, values: NDArray[Any]) -> list[Bucket]:
    """Return the bucket of the pairs that fulfil the condition of a term, and that of the others.

    Args:
        term: a term with an operator.
        values: the value of every pair, shape (n,): floats with NaN for an empty cell, which is in neither; or text.
    """
    compare, opposite = _COMPARE[term.op]
    is_numeric = values.dtype.kind == "f"
    bound = _parse_bound(term.text, term.name, term.value) if is_numeric else term.value
    mask = compare(values, bound)
    opposite_mask = ~mask & ~np.isnan(values) if is_numeric else ~mask
    return [Bucket(term.text, mask), Bucket(f"{term.name}{opposite}{term.value}", opposite_mask)]


def _distinct_values(values: NDArray[Any], term: Term) -> list[Any]:
    """Return the sorted distinct values of a column, without NaN.

    Raises:
        InputError: the column has more than :data:`MAX_VALUES` values.
    """
    # NaN, an empty cell of numbers, is the only value that does not equal itself
    distinct = sorted({value for value in values.tolist() if value == value})
    if len(distinct) > MAX_VALUES:
        raise InputError(
            f"bucket {term.text!r}: the column has {len(distinct):,} values; make ranges of them, such as "
            f"{term.name}:0,1,2, or name one: {term.name}={distinct[0]}"
        )
    return distinct


def _range_buckets(term: Term, values: NDArray[np.float64]) -> list[Bucket]:
    """Return one bucket per range between neighbouring edges.

    A range includes its lower edge, and the last one both edges; with upper edges it includes its upper edge alone.
    """
    buckets = []
    for (low, low_text), (high, high_text) in pairwise(zip(term.edges, distinct_numbers(term.edges), strict=True)):
        if term.has_upper_edges:
            name = f"{low_text}<{term.name}<={high_text}"
            buckets.append(Bucket(name, (values > low) & (values <= high)))
            continue
        is_last = high == term.edges[-1]
        is_below = values <= high if is_last else values < high
        operator = "<=" if is_last else "<"
        name = f"{low_text}<={term.name}{operator}{high_text}"
        buckets.append(Bucket(name, (values >= low) & is_below))
    return buckets


def _missing_column_error(rule: str, columns: Sequence[str], datasets: Sequence[Pairs]) -> InputError:
    """Return the error for a rule if no dataset has all the columns that it reads."""
    column_names = [name for pairs in datasets for name in pairs.table.column_names]
    known_names = list(dict.fromkeys((*QUANTITIES, *column_names)))
    suggestions = [suggestion_for(name, known_names) for name in columns if name not in known_names]
    first_suggestion = next(filter(None, suggestions), "")
    dataset_names = ", ".join(pairs.name for pairs in datasets)
    missing = " and ".join(f"a column {name!r}" for name in columns)
    return InputError(
        f"bucket {rule!r}: none of {dataset_names} has {missing}.{first_suggestion} Buckets can be made of "
        f"{', '.join(known_names)}."
    )


def _column_of_term(pairs: Pairs, term: Term) -> pa.ChunkedArray:
    """Return the column of a term, by its name in the pairs table or in the source, in a type that the term can read.

    Integers that floats cannot hold exactly become text. Text becomes numbers if the term has a condition on numbers.

    Raises:
        InputError: a missing column or one of lists; cells that are not numbers under a condition on numbers; a column
            of numbers that is compared with something else.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column = pairs.column(term.name)
    except InputError:
        known_names = list(dict.fromkeys((*QUANTITIES, *pairs.table.column_names)))
        raise InputError(
            f"bucket {term.text!r}: {pairs.name} has no column {term.name!r}.{suggestion_for(term.name, known_names)} "
            f"Buckets can be made of {', '.join(known_names)}."
        ) from None
    if pa.types.is_nested(column.type):
        raise InputError(f"bucket {term.text!r}: column {term.name!r} holds lists, which make no buckets")
    if pa.types.is_integer(column.type) and not has_exact_floats(column):
        # such as 64-bit identifiers: several would become the same float
        column = column.cast(pa.string())
    if not _is_numeric(column) and (term.edges or term.op not in ("", "=", "!=")):
        # the cells of a CSV are text, so a condition on numbers converts them
        try:
            column = pc.cast(pc.if_else(pc.equal(column, ""), None, column), pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"bucket {term.text!r}: column {term.name!r} holds text, which has only = and != and no edges"
            ) from None
    if _is_numeric(column) and term.op:
        # raises an error for a value that is not a number
        _parse_number(term.text, term.value)
    return column


def _is_numeric(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type))


def _values_of_term(pairs: Pairs, term: Term, token_f1: Callable[[], NDArray[np.float64]]) -> NDArray[Any]:
    """Return the quantity or column cell of every pair, shape (n,): floats with NaN for an empty cell, or text.

    Without a column of languages, each pair has the language of the dataset, or ``unknown``. The quantity ``number`` is
    not read here.

    Raises:
        InputError: the column of the term is missing or cannot be read.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    name = term.name
    if name == "f1":
        return token_f1()
    if name == "label":
        return pairs.labels
    if name == "length":
        longest = np.maximum(_word_counts(pairs, "reference"), _word_counts(pairs, "candidate"))
        return longest.astype(np.float64)
    if name == "language" and "language" not in pairs.table.column_names:
        return np.full(len(pairs), pairs.language or "unknown", dtype=object)
    column = _column_of_term(pairs, term)
    if _is_numeric(column):
        return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))
    # an empty one first, for a column without chunks
    chunks: list[NDArray[Any]] = [np.zeros(0, dtype=object)]
    for chunk in pc.fill_null(pc.cast(column, pa.string()), "").chunks:
        # the dictionary makes equal cells of a chunk share one string object
        encoded = chunk.dictionary_encode()
        chunks.append(np.array(encoded.dictionary.to_pylist(), dtype=object)[np.asarray(encoded.indices)])
    return np.concatenate(chunks)


def quantity_values(pairs: Pairs, term: Term, token_f1: Callable[[], NDArray[np.float64]]) -> NDArray[Any]:
    """Return the value of a term for every pair, shape (n,): floats with NaN for an empty cell, or text as objects.

    A text column whose cells are all numbers or empty is returned as floats. ``number`` is 1 for a reference with a
    digit or a sign such as ½, and 0 for any other.

    Raises:
        InputError: the column of the term is missing or cannot be read.
    """
    if term.name == "number":
        return has_number(pairs.table.column("reference")).astype(np.float64)
    values = _values_of_term(pairs, term, token_f1)
    if values.dtype.kind == "f":
        return values
    cells = ["nan" if cell == "" else cell for cell in values.tolist()]
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return values


def _word_counts(pairs: Pairs, name: str) -> NDArray[np.int64]:
    """Return the number of words of each text in a column, shape (n,); for several gold answers the largest number."""
    import pyarrow.compute as pc

    counts = np.zeros(len(pairs), dtype=np.int64)
    for texts, rows in flattened_texts(pairs.table.column(name)):
        np.maximum.at(counts, rows, np.asarray(pc.count_substring_regex(texts, r"\S+"), dtype=np.int64))
    return counts
