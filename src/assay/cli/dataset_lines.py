"""What ``assay datasets`` prints: the description of a dataset, and the findings of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.cli.printing import print_line
from assay.common.messages import Message
from assay.common.numbers import Number
from assay.common.tables import exact_number

if TYPE_CHECKING:
    from assay.datasets import Pairs
    from assay.datasets.checks import DataFinding


def print_description(description: dict[str, Any]) -> None:
    """Print the description of a card or a file, one line per fact; empty values are left out."""
    for key, value in description.items():
        if value not in ("", [], None):
            for line in _lines_on(key, value):
                print_line(line)


def _lines_on(key: str, value: Any) -> Iterator[str]:
    """Yield the lines on one fact of a description, by its name there and its value."""
    if key == "split_facts":
        for split, facts in value.items():
            yield f"split {split}: {', '.join(_split_fact(fact) for fact in facts.values())}"
    elif key == "measured":
        yield from _lines_on_measures(value)
    elif key == "annotation_graph":
        from assay.datasets.annotation_graph import graph_line

        yield graph_line(value)
    elif key == "problem":
        yield Message("problem: ", value)
    elif key in _LINE_OF_ITEM:
        for item in value:
            yield _LINE_OF_ITEM[key](item)
    elif isinstance(value, list):
        for item in value:
            yield Message(f"{key.removesuffix('s')}: ", item)
    elif isinstance(value, dict):
        facts = ", ".join(f"{name} {_number_text(fact)}" for name, fact in value.items())
        yield f"{key}: {facts}"
    else:
        yield f"{key}: {value}"


def _file_line(file: Mapping[str, Any]) -> str:
    """Return the line on a file of a card."""
    digest = f", sha256 {file['sha256']}" if file["sha256"] else ""
    size = f"{file['bytes']:,} bytes" if file["bytes"] else "size not fixed"
    return f"file: {file['name']}, {size}{digest}"


def _published_line(figure: Mapping[str, Any]) -> str:
    """Return the line on a published figure."""
    where = "".join(f", {figure[name]}" for name in ("split", "bucket") if figure[name] not in ("", "all"))
    return f"published: {figure['metric']}, {figure['statistic']}{where}: {figure['value']} ({figure['source']})"


def _lines_on_measures(measures: dict[str, Any]) -> Iterator[str]:
    """Yield what was measured on the labels of a split, one line per measure."""
    if "error" in measures:
        yield Message("problem: ", measures["error"])
        return
    counts = ", ".join(f"{label}: {count:,}" for label, count in measures["labels"].items())
    yield f"labels of {measures['split']}: {counts}"
    if "distinct" in measures:
        distinct = measures["distinct"]
        shares = ", ".join(f"{label}: {100 * share:.1f} %" for label, share in distinct["label_shares"].items())
        yield (
            f"distinct pairs of {measures['split']}: {distinct['pairs']:,}, {distinct['no_common_token']:,} of them "
            f"without a common token (F1 = 0); labels {shares}; mean length {distinct['reference_length']:.1f} "
            f"characters (reference), {distinct['candidate_length']:.1f} (candidate)"
        )
    if "ceiling" in measures:
        yield f"ceiling of a score without ties: {_values_text(measures['ceiling'])}"
    if "reliability" in measures:
        facts = measures["reliability"]
        reliability = _values_text({"r": facts["pearson"], "ρ": facts["spearman"]})
        bound = _values_text({"r": facts["bound_pearson"], "ρ": facts["bound_spearman"]})
        alpha = _values_text({"Krippendorff's α": facts["alpha_interval"]})
        sizes = sorted({facts["fewest_labels"], facts["most_labels"]})
        yield f"{' to '.join(map(str, sizes))} labels a pair: {alpha}, reliability of their mean {reliability}"
        yield f"upper bound for a metric: {bound}"


def _values_text(values: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {'–' if value is None else f'{value:.3f}'}" for name, value in values.items())


#: The number of characters that are shown of each text of a sample.
MAX_SAMPLE_LENGTH = 120


def _sample_line(sample: Mapping[str, Any]) -> str:
    """Return the line on a pair: its texts, shortened, and the label.

    Of several gold answers the first is shown, with the number of the others.
    """
    fields = []
    for name, value in sample.items():
        texts: list[Any] = value if isinstance(value, list) else [value]
        more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
        first = texts[0]
        if isinstance(first, str) and len(first) > MAX_SAMPLE_LENGTH:
            first = f"{first[:MAX_SAMPLE_LENGTH]}…"
        fields.append(f"{name} {_example_value(first)}{more}")
    return f"sample: {' | '.join(fields)}"


def _split_fact(fact: Any) -> str:
    """Return the language, the scale or the aspect of a split as text."""
    if isinstance(fact, dict):
        return f"{fact['low']:g} to {fact['high']:g} ({fact['meaning']})"
    return fact if isinstance(fact, str) else "+".join(fact)


def _number_text(fact: object) -> str:
    return exact_number(fact) if isinstance(fact, float) else str(fact)


def print_check(
    splits: Mapping[str, Pairs], notes: Sequence[DataFinding], findings: Sequence[DataFinding], *, has_splits: bool
) -> None:
    """Print the sizes of the splits, notes and findings with their examples, one per line.

    Args:
        splits: the pairs of each split.
        notes: facts that are not faults.
        findings: the faults.
        has_splits: whether lines begin with the name of the split.
    """

    def prefix_split(split: str, line: str) -> str:
        return f"{split}: {line}" if has_splits else line

    for split, pairs in splits.items():
        for line in (f"{len(pairs):,} pairs", *pairs.notes, *pairs.hints):
            print_line(prefix_split(split, line))
    for note in notes:
        print_line(prefix_split(note.split, note.message))
    for finding in findings:
        print_line(f"{finding.severity}: {prefix_split(finding.split, finding.message)}")
        for example in finding.examples:
            print_line(f"    {_example_line(example)}")


def count_phrase(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 error``, ``2 errors``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _example_line(example: dict[str, Any]) -> str:
    """Return the columns of a row with their values, on one line."""
    return ", ".join(f"{key}={_example_value(value)}" for key, value in example.items())


#: Number of gold answers that are shown of a long list.
MAX_SHOWN_ANSWERS = 3


def _example_value(value: Any) -> str:
    """Return a cell as text: a long list is shortened to its first items, a fraction has six significant digits."""
    if isinstance(value, list) and len(value) > MAX_SHOWN_ANSWERS + 1:
        first_answers = ", ".join(map(repr, value[:MAX_SHOWN_ANSWERS]))
        return f"[{first_answers}, … {len(value):,} in all]"
    if not isinstance(value, float):
        return repr(value)
    text = f"{value:g}"
    # a whole number with all its digits, and a number near one is not shown as one
    return exact_number(value) if float(text).is_integer() else text


def _best_metric_line(best: Mapping[str, Any]) -> str:
    """Return the line on the best metric of a split, its agreement, and the metrics that could be the best, too."""
    number = Number(best["spearman"], best["low"], best["high"])
    as_good = f"; as good may be {', '.join(best['as_good'])}" if best["as_good"] else ""
    of_split = f" of {best['split']}" if best["split"] else ""
    return (
        f"best metric{of_split}: {best['metric']}, Spearman ρ {number.text} on a sample of {best['n']} pairs{as_good}"
    )


#: The function that returns the line on an item, by the key of a list in a description.
_LINE_OF_ITEM: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "files": _file_line,
    "published": _published_line,
    "best_metrics": _best_metric_line,
    "samples": _sample_line,
}
