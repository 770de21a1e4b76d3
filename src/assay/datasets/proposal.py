"""A complete proposal for reading a table whose columns have other names: labels and separators by what cells hold.

A proposal is read without asking by ``assay recommend`` alone, and only if nothing in it is in doubt. A column of yes
and no need not be a label, but one of right and wrong is hardly anything else; a column with the name of a model may
hold the verdicts of a judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from assay.common.tables import finite_number, is_text
from assay.datasets.columns import MissingColumnsError, SourceTable, parse_columns
from assay.datasets.gold_answers import likely_separator
from assay.datasets.labels import BINARY_WORD_PAIRS, MAX_PROPOSED_WORDS, MAX_SCALE_LABELS
from assay.datasets.reading import MISSING_WORDS, Reading, normalised_word

#: The share of the cells of a column that must be words of yes and no, so that the others are taken for missing labels.
MIN_SHARE_OF_WORDS = 0.8
#: Each label occurs this often on average, at least, or the numbers are identifiers, years or lengths.
MIN_REPEATS = 3
#: Words that only verdicts on an answer have: a column of them is a label.
VERDICTS = (("incorrect", "correct"), ("wrong", "right"))
#: Names of numbered columns that belong to annotators.
_ANNOTATOR_NAME = re.compile(
    r"(a|ann|annotators?|annotations?|assessor|coder|expert|grader|human|labell?er|person|rater|worker) ?[0-9]{1,2}"
)
#: Parts of names of columns that are not the label of one annotator: verdicts of programs, several labels in one, and
#: aspects that are labelled beside others.
_NO_ANNOTATOR = re.compile(
    "|".join(
        (
            r"\b(ai|auto|automatic|bert|bleu|chat|claude|em|f1|gemini|gpt|judge|llama|llm|machine|match|metric|mistral)",
            r"\b(model|pred|predicted|prediction|qwen|rouge|system)",
            r"\b(adjudicated|agreed|agreement|consensus|final|gold|majority|mean|overall|resolved|total|truth|vote|votes)\b",
            r"\b(accura|citation|coheren|complete|conten|correctness|fact|faithful|fluen|form|gramma|ground|help|informat)",
            r"\b(language|logic|quality|reason|relevan|safe|spelling|style|support|tone|usefu)",
        )
    )
)
#: A separator is clear if this many references, at least, have an answer that occurs in the candidate and one that does
#: not, and ten times as many as those whose answers all occur there: the parts of one answer do so in right candidates.
MIN_ALIASES, MIN_ALIAS_RATIO = 10, 10


def completed(error: MissingColumnsError, source: SourceTable, reading: Reading) -> MissingColumnsError:
    """Return an error for missing columns that proposes the labels, what is missing among them, and a separator."""
    guess = parse_columns(error.columns)
    if all(source.isdecimal() for sources in guess.values() for source in sources):
        # numbers of columns: the first row is one of data, and names none
        return error
    table = source.table
    known = {name: sources for name, sources in guess.items() if set(sources) <= set(table.column_names)}
    missing: list[str] = []
    if "label" in guess and "label" not in known:
        labels, missing = _label_columns(table, {name for sources in known.values() for name in sources})
        if labels:
            guess["label"] = labels
    texts = {name for key, sources in known.items() if key != "label" for name in sources}
    is_clear = not missing and {*error.unclear} <= {"label"} and _are_labels(guess.get("label", []), table, texts)
    separator = None
    if reading.separator is None and {"reference", "candidate"} <= known.keys():
        separator = _separator(table, known)
        is_clear = is_clear and (separator is None or _divides_aliases(table, known, separator))
    options = {"separator": separator, "missing": ",".join(missing) if reading.missing is None and missing else None}
    columns = ",".join(f"{name}={'+'.join(sources)}" for name, sources in guess.items())
    return MissingColumnsError(error.problem, columns, remark=error.remark, options=options, is_clear=is_clear)


def _are_labels(names: Sequence[str], table: pa.Table, used: set[str]) -> bool:
    """Tell whether columns are beyond doubt the labels of people: all that look like labels, and nothing else.

    They hold words that only verdicts have, or their names are those of numbered annotators.

    Args:
        names: the columns.
        table: the source's columns.
        used: the columns that the pair has for its texts.
    """
    if names != _label_columns(table, used)[0]:
        return False
    plain_names = [re.sub(r"[\W_]+", " ", name.casefold()) for name in names]
    if any(_NO_ANNOTATOR.search(name) for name in plain_names):
        return False
    if all(_ANNOTATOR_NAME.fullmatch(name) for name in plain_names):
        return True
    words = [{normalised_word(str(cell)) for cell in table.column(name).unique().to_pylist()} for name in names]
    return all(any({*pair} <= of_column for pair in VERDICTS) for of_column in words)


def _divides_aliases(table: pa.Table, known: Mapping[str, Sequence[str]], separator: str) -> bool:
    """Tell whether a separator stands between answers of which each is enough, as candidates show."""
    references, candidates = (table.column(known[name][0]).to_pylist() for name in ("reference", "candidate"))
    some = whole = 0
    for reference, candidate in zip(references, candidates, strict=True):
        answers = [answer.strip().casefold() for answer in str(reference or "").split(separator) if answer.strip()]
        occurring = sum(answer in str(candidate or "").casefold() for answer in answers)
        some += 0 < occurring < len(answers)
        whole += occurring == len(answers) > 1
    return some >= max(MIN_ALIASES, MIN_ALIAS_RATIO * whole)


def _separator(table: pa.Table, known: Mapping[str, Sequence[str]]) -> str | None:
    columns = [table.column(known[name][0]) for name in ("reference", "candidate")]
    if not all(is_text(column.type) for column in columns):
        return None
    references, candidates = (column.cast(pa.string()).fill_null("") for column in columns)
    return likely_separator(references, candidates)


def _label_columns(table: pa.Table, used: set[str]) -> tuple[list[str], list[str]]:
    """Return the unused columns that look like the labels of people, and their words that are no labels.

    They have words of yes and no, else few numbers of overlapping scales. If two kinds of columns do, none is returned.
    """
    words: dict[tuple[str, str], list[str]] = {}
    numbers: dict[str, tuple[float, float]] = {}
    missing: dict[str, str] = {}
    for name in table.column_names:
        if name in used:
            continue
        cells = Counter(str(cell) for cell in table.column(name).to_pylist() if cell is not None)
        counts: Counter[str] = Counter()
        for cell, count in cells.items():
            if normalised_word(cell) not in MISSING_WORDS:
                counts[normalised_word(cell)] += count
        total = sum(counts.values())
        if not total:
            continue
        pair = max(BINARY_WORD_PAIRS, key=lambda pair: sum(counts[word] for word in pair))
        if sum(counts[word] for word in pair) >= MIN_SHARE_OF_WORDS * total and len(counts) <= MAX_PROPOSED_WORDS:
            words.setdefault(pair, []).append(name)
            missing |= {word: word for word in counts if word not in pair}
            continue
        values = [number for word in counts if (number := finite_number(word)) is not None]
        if 2 <= len(values) == len(counts) <= min(MAX_SCALE_LABELS, total / MIN_REPEATS):
            numbers[name] = (min(values), max(values))
    if words:
        return (next(iter(words.values())), list(missing)) if len(words) == 1 else ([], [])
    lowest_top = min((high for _, high in numbers.values()), default=0.0)
    overlap = all(low < lowest_top for low, _ in numbers.values())
    return (list(numbers), []) if overlap else ([], [])
