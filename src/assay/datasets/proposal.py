"""A complete proposal for reading a table whose columns have other names: labels and separators by what cells hold.

A proposal is read without asking by ``assay recommend`` alone, and only if nothing in it is in doubt. What cells hold
does not tell who labelled, a person or a program, so that names have to say it; and a second column that could be a
label leaves open which one is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from statistics import fmean

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
#: Names of columns with the labels of people, with a number or a letter where there are several people.
_PEOPLE = re.compile(
    r"((annotat(or|ion)|assessor|expert|human|labell?er|person|rater)( ?([0-9]{1,2}|[a-h]))?"
    r"|(ann|coder|grader|judge|worker) ?[0-9]{1,2}|human (grade|judge?ment|label|rating|score))"
)
#: Parts of names of columns that say that people, or a program, gave what they hold.
_SAYS_PEOPLE = re.compile(r"\b(annotat|assessor|crowd|expert|human|labell?er|people|person|rater|worker)")
_SAYS_PROGRAM = re.compile(
    r"\b(ai|auto|automatic|baseline|bard|chatgpt|claude|command|deepseek|gemini|gemma|gpt|grok|haiku|judge|llama|llm"
    r"|metric|mistral|mixtral|model|openai|opus|parsed|predicted|prometheus|qwen|ragas|sonnet|system)([0-9]| |$)"
)
#: Names that a column of verdicts has if it is the label of its table.
_PLAIN_LABEL = re.compile(r"(gold )?labels?|(is )?(correct|right)|verdict")
#: Parts of names of columns that may be labels whatever their cells are.
_LIKE_A_LABEL = re.compile(
    r"\b(annotat|assess|grade|human|judg|label|mark|points|rater|rating|score|verdict)|\b(ann|expert|person|worker)\b"
)
#: Names of columns of few values that describe a pair, and do not judge it.
_DESCRIPTION = re.compile(
    r"(answer |question |source )?(batch|category|dataset|difficulty|domain|fold|group|language|lang|model|source|split"
    r"|subset|system|task|topic|type)( ?(id|name))?"
)
#: A name such as Anna: one word.
_GIVEN_NAME = re.compile(r"[^\W\d_]{2,}")
#: Cohen's kappa of two people, at least; columns that agree less hold different things.
MIN_KAPPA = 0.4
#: A separator is clear if this many references, at least, have an answer that occurs in the candidate and one that does
#: not, and ten times as many as those whose answers all occur there: the parts of one answer do so in right candidates.
MIN_ALIASES, MIN_ALIAS_RATIO = 10, 10
#: The mean label of these, from 0 for the lowest to 1 for the highest, at least, and what it may lack to that of
#: candidates with all the answers: one of several parts that are all required is mostly not enough.
MIN_ALIAS_LABEL, MAX_ALIAS_LOSS = 2 / 3, 0.15


def complete_proposal(error: MissingColumnsError, source: SourceTable, reading: Reading) -> MissingColumnsError:
    """Return an error for missing columns that proposes the labels, what is missing among them, and a separator.

    Its ``clear_settings`` are set if nothing in the proposal is in doubt. A proposal of column numbers stays as it is.

    Args:
        error: the error, which proposes columns by their names alone.
        source: the table as it was read.
        reading: the user's settings; what they say is not proposed.
    """
    proposal = parse_columns(error.columns)
    if all(name.isdecimal() for name in chain.from_iterable(proposal.values())):
        # numbers of columns: the first row is one of data, and names none
        return error
    table = source.table
    present_columns = {field: names for field, names in proposal.items() if set(names) <= set(table.column_names)}
    missing: list[str] = []
    if "label" in proposal and "label" not in present_columns:
        labels, missing = _label_columns(table, used_columns=set(chain.from_iterable(present_columns.values())))
        if labels:
            proposal["label"] = labels
    text_names = set(chain.from_iterable(names for field, names in present_columns.items() if field != "label"))
    texts_are_clear = {*error.unclear} <= {"label"}
    is_clear = texts_are_clear and not missing and _are_labels(proposal.get("label", []), table, text_names)
    separator = None
    if reading.separator is None and {"reference", "candidate"} <= present_columns.keys():
        separator = _separator(table, present_columns)
    if is_clear and separator is not None:
        is_clear = _divides_aliases(table, present_columns, proposal["label"], separator)
    options = {"separator": separator, "missing": ",".join(missing) if reading.missing is None and missing else None}
    columns = ",".join(f"{field}={'+'.join(names)}" for field, names in proposal.items())
    return MissingColumnsError(error.problem, columns, remark=error.remark, options=options, is_clear=is_clear)


def _are_labels(names: Sequence[str], table: pa.Table, used_columns: set[str]) -> bool:
    """Tell whether columns are beyond doubt the labels of people: no other column could be one, and their names say so.

    Two or more columns of verdicts may have names such as Anna and Ben, each one capitalised word. These do not say
    that people labelled, which the reader of the table is told; so their verdicts have to agree, and none may follow
    from the others, as an adjudicated label does.

    Args:
        names: the columns.
        table: the source's columns.
        used_columns: the columns that the pair has for its texts.
    """
    candidates = [
        name for name in table.column_names if name not in used_columns and _may_be_label(name, table.column(name))
    ]
    if [*names] != candidates or [*names] != _label_columns(table, used_columns)[0]:
        return False
    if all(_PEOPLE.fullmatch(_plain_name(name)) for name in names):
        return True
    words = [[normalised_word(str(cell or "")) for cell in table.column(name).to_pylist()] for name in names]
    words_in_every_column = set.intersection(*(set(column) for column in words))
    if not any(words_in_every_column.issuperset(pair) for pair in VERDICTS):
        return False
    if len(names) == 1:
        return bool(_PLAIN_LABEL.fullmatch(_plain_name(names[0])))
    if not all(_GIVEN_NAME.fullmatch(name) and name == name.title() for name in names):
        return False
    if any(_LIKE_A_LABEL.search(name.casefold()) or _PLAIN_LABEL.fullmatch(name.casefold()) for name in names):
        return False
    if any(_kappa(first, second) < MIN_KAPPA for first, second in combinations(words, 2)):
        return False
    return not _has_agreed_label(words)


def _has_agreed_label(words: Sequence[Sequence[str]]) -> bool:
    """Tell whether one of three or more columns never differs from the others where these agree with each other.

    Args:
        words: the cells of each column, all of one length.
    """
    if len(words) < 3:
        return False
    for index, column in enumerate(words):
        other_columns = [*words[:index], *words[index + 1 :]]
        if not any(_contradicts(word, cells) for word, *cells in zip(column, *other_columns, strict=True)):
            return True
    return False


def _contradicts(word: str, other_words: Sequence[str]) -> bool:
    """Tell whether a word differs from those of the others, which are all the same; missing words say nothing."""
    first = other_words[0]
    return len({*other_words}) == 1 and MISSING_WORDS.isdisjoint((word, first)) and word != first


def _plain_name(name: str) -> str:
    """Return a name in lower case with spaces between its words, also those of ``camelCase``."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)).strip().casefold()


def _may_be_label(name: str, column: pa.ChunkedArray) -> bool:
    """Tell whether a column could be a label: it has the name of one, or few values, but for odd cells.

    It has few values if :data:`MIN_SHARE_OF_WORDS` of its cells have one of the commonest, of which there are up to
    :data:`MAX_SCALE_LABELS` if most cells are numbers, else up to :data:`MAX_PROPOSED_WORDS`, and each occurs at least
    :data:`MIN_REPEATS` times. Cells that say that a value is missing do not count. A column called ``topic``, say, is
    no label.
    """
    if _DESCRIPTION.fullmatch(_plain_name(name)):
        return False
    counts = Counter(normalised_word(str(cell)) for cell in column.to_pylist() if cell is not None)
    for word in MISSING_WORDS:
        counts.pop(word, None)
    total = counts.total()
    if _LIKE_A_LABEL.search(_plain_name(name)):
        return total > 0
    if len(counts) < 2:
        return False
    number_cells = sum(count for word, count in counts.items() if finite_number(word) is not None)
    max_values = MAX_SCALE_LABELS if 2 * number_cells > total else MAX_PROPOSED_WORDS
    repeated_cells = sum(count for _, count in counts.most_common(max_values) if count >= MIN_REPEATS)
    return repeated_cells >= MIN_SHARE_OF_WORDS * total


def _kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Return Cohen's kappa of two columns of words over the rows where both have one; 0 if it is undefined.

    It is undefined if no row has both, or all words are the same.
    """
    pairs = [pair for pair in zip(first, second, strict=True) if MISSING_WORDS.isdisjoint(pair)]
    first_counts = Counter(word for word, _ in pairs)
    second_counts = Counter(word for _, word in pairs)
    # both times the number of rows squared, so that sums of whole numbers are exact
    agreed_by_chance = sum(first_counts[word] * second_counts[word] for word in first_counts)
    if agreed_by_chance == len(pairs) ** 2:
        return 0.0
    agreed = sum(first_word == second_word for first_word, second_word in pairs) * len(pairs)
    return (agreed - agreed_by_chance) / (len(pairs) ** 2 - agreed_by_chance)


def _divides_aliases(
    table: pa.Table, present_columns: Mapping[str, Sequence[str]], label_names: Sequence[str], separator: str
) -> bool:
    """Tell whether a separator stands between answers of which each is enough, as candidates and their labels show.

    It does if many candidates have some of the answers and few have all, see :data:`MIN_ALIASES`, and if the labels of
    the former are high and hardly below those of the latter, see :data:`MIN_ALIAS_LABEL`.

    Args:
        table: the source's columns.
        present_columns: the columns of ``reference`` and ``candidate``.
        label_names: the columns of labels.
        separator: the separator.
    """
    references = table.column(present_columns["reference"][0]).to_pylist()
    candidates = table.column(present_columns["candidate"][0]).to_pylist()
    # labels of candidates with some of several answers, and with all of them
    of_some: list[float | None] = []
    of_all: list[float | None] = []
    for reference, candidate, label in zip(references, candidates, _relative_labels(table, label_names), strict=True):
        answers = [answer.strip().casefold() for answer in str(reference or "").split(separator) if answer.strip()]
        occurring = sum(answer in str(candidate or "").casefold() for answer in answers)
        if 0 < occurring < len(answers):
            of_some.append(label)
        elif occurring == len(answers) > 1:
            of_all.append(label)
    if len(of_some) < max(MIN_ALIASES, MIN_ALIAS_RATIO * len(of_all)):
        return False
    labels_of_some = [label for label in of_some if label is not None]
    labels_of_all = [label for label in of_all if label is not None]
    if not labels_of_some:
        return False
    min_label = MIN_ALIAS_LABEL
    if labels_of_all:
        min_label = max(min_label, fmean(labels_of_all) - MAX_ALIAS_LOSS)
    return fmean(labels_of_some) >= min_label


def _relative_labels(table: pa.Table, names: Sequence[str]) -> list[float | None]:
    """Return the mean label of each row in some columns, from 0 for the lowest to 1 for the highest; None without one.

    Words of yes and no are 1 and 0. If all labels are equal, every row has None.
    """
    label_of_word = {word: float(label) for pair in BINARY_WORD_PAIRS for label, word in enumerate(pair)}
    labels_of_rows: list[list[float]] = [[] for _ in range(table.num_rows)]
    for name in names:
        for labels, cell in zip(labels_of_rows, table.column(name).to_pylist(), strict=True):
            word = normalised_word(str(cell))
            label = label_of_word.get(word, finite_number(word))
            if cell is not None and label is not None:
                labels.append(label)
    all_labels = list(chain.from_iterable(labels_of_rows))
    lowest = min(all_labels, default=0.0)
    width = max(all_labels, default=0.0) - lowest
    if not width:
        return [None] * table.num_rows
    return [(fmean(labels) - lowest) / width if labels else None for labels in labels_of_rows]


def _separator(table: pa.Table, present_columns: Mapping[str, Sequence[str]]) -> str | None:
    """Return the separator that references seem to have between gold answers; None without one."""
    columns = [table.column(present_columns[field][0]) for field in ("reference", "candidate")]
    if not all(is_text(column.type) for column in columns):
        return None
    references, candidates = (column.cast(pa.string()).fill_null("") for column in columns)
    return likely_separator(references, candidates)


def _label_columns(table: pa.Table, used_columns: set[str]) -> tuple[list[str], list[str]]:
    """Return the unused columns that look like the labels of people, and their words that are no labels.

    They have words of yes and no, else few numbers, and by their names come from people, see :func:`_by_people`. If
    they differ in the pair of words, or scales of numbers do not overlap, none is returned.

    Args:
        table: the source's columns.
        used_columns: the columns that hold something else.
    """
    word_pairs: dict[str, tuple[str, str]] = {}
    other_words: dict[str, list[str]] = {}
    ranges: dict[str, tuple[float, float]] = {}
    for name in table.column_names:
        counts = _word_counts(table.column(name)) if name not in used_columns else Counter[str]()
        total = counts.total()
        if not total:
            continue
        word_pair = max(BINARY_WORD_PAIRS, key=lambda pair: sum(counts[word] for word in pair))
        covered = sum(counts[word] for word in word_pair)
        if covered >= MIN_SHARE_OF_WORDS * total and len(counts) <= MAX_PROPOSED_WORDS:
            word_pairs[name] = word_pair
            other_words[name] = [word for word in counts if word not in word_pair]
            continue
        numbers = [number for number in map(finite_number, counts) if number is not None]
        are_all_numbers = len(numbers) == len(counts)
        if are_all_numbers and 2 <= len(numbers) <= min(MAX_SCALE_LABELS, total / MIN_REPEATS):
            ranges[name] = (min(numbers), max(numbers))
    if word_pairs:
        names = _by_people(list(word_pairs))
        missing = list(dict.fromkeys(chain.from_iterable(other_words[name] for name in names)))
        return (names, missing) if len({word_pairs[name] for name in names}) == 1 else ([], [])
    names = _by_people(list(ranges))
    # ranges have a number in common if each begins below the end of every other
    lowest_end = min((ranges[name][1] for name in names), default=0.0)
    do_overlap = all(ranges[name][0] < lowest_end for name in names)
    return (names, []) if do_overlap else ([], [])


def _word_counts(column: pa.ChunkedArray) -> Counter[str]:
    """Return how often each word occurs in a column, without those that stand for a missing value."""
    counts: Counter[str] = Counter()
    for cell, count in Counter(str(cell) for cell in column.to_pylist() if cell is not None).items():
        word = normalised_word(cell)
        if word not in MISSING_WORDS:
            counts[word] += count
    return counts


def _by_people(names: Sequence[str]) -> list[str]:
    """Return the columns whose names say that people gave them; if none does, those that name no program; else all."""
    plain = {name: _plain_name(name) for name in names}
    by_people = [name for name in names if _SAYS_PEOPLE.search(plain[name]) or _PEOPLE.fullmatch(plain[name])]
    not_by_programs = [name for name in names if not _SAYS_PROGRAM.search(plain[name])]
    return by_people or not_by_programs or [*names]
