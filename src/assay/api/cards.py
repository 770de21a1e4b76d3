"""Cards in Markdown: one page on a metric, made from its declaration and the runs that ship with assay."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from importlib import metadata
from statistics import fmean, median
from typing import NamedTuple

from markupsafe import Markup

from assay.common.addresses import command_line
from assay.common.numbers import percent, rate, short
from assay.common.visible import markdown_table
from assay.datasets import list_datasets
from assay.datasets.field import FieldValue, field_agreement, field_stress
from assay.exceptions import UnavailableError
from assay.metrics.base import Declaration
from assay.metrics.load import load_metric
from assay.metrics.name import MetricName
from assay.metrics.presets import preset_languages
from assay.metrics.registry import registry
from assay.reports.plots import drawing, element
from assay.reports.stress import EXPECTED

#: The number of alternatives on a card.
ALTERNATIVES = 3
#: The least share of a metric's sets that an alternative has, too: means over other sets cannot be compared.
MIN_SHARED_SETS = 0.9


def metric_card(name: str) -> str:
    """Return the card of a metric as Markdown: what it computes, sees and promises, and how far it agrees with people.

    Parts of which nothing is known are left out, such as agreement of a metric that was never compared.

    Args:
        name: the name of the metric as a run takes it, with or without a subject, such as ``bertscore``.

    Raises:
        InputError: there is no such metric, or its subject or an option is invalid.
        UnavailableError: a third party's metric cannot be imported.
    """
    parsed = MetricName.parse(name)
    cls = registry().find(parsed.name).load()
    declaration = cls.declaration
    name_in_example = name
    if declaration.subject and ":" not in name:
        # a preset stands in the place of a subject
        has_preset = preset_languages(declaration.name)
        name_in_example = declaration.name if has_preset else f"{declaration.name}:{declaration.subject.upper()}"
    evidence = _evidence(name)
    first_paragraph = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    summary = f"{declaration.summary[0].upper()}{declaration.summary[1:]}"
    sentences = first_paragraph
    if not first_paragraph.startswith(summary):
        sentences = f"{summary}. {first_paragraph}".strip()
    lines = [f"# {name}", "", _plain(sentences), ""]
    if declaration.formula:
        lines += [f"    {declaration.formula}", ""]
    lines += ["```sh", command_line("run", "answers.csv", "-m", name_in_example), "```", ""]
    measured_metric = evidence[0].metric if evidence else name
    if measured_metric != name:
        lines += [f"Speed and agreement below were measured with `{measured_metric}`.", ""]
    lines += markdown_table(
        ("property", "value"), [(head, text) for head, text in _facts(name, declaration, evidence).items() if text]
    )
    signature = _signature(name)
    if signature:
        lines += ["", "```text", signature, "```"]
    lines += _seen_error_lines(evidence)
    lines += _stressed(measured_metric)
    of_sets = [value for value in evidence if not value.category and value.dataset != "probe"]
    if of_sets:
        lines += _agreement(measured_metric, of_sets)
    return "\n".join(lines).rstrip() + "\n"


def _evidence(name: str) -> list[FieldValue]:
    """Return the values of a metric, or else of the first metric of its class that was compared; empty without any."""
    values = field_agreement()
    values_of_metric = [value for value in values if value.metric == name]
    if values_of_metric:
        return values_of_metric
    metrics_of_class = dict.fromkeys(value.metric for value in values if value.metric.startswith(f"{name}:"))
    compared_metric = next(iter(metrics_of_class), None)
    return [value for value in values if value.metric == compared_metric]


def _facts(name: str, declaration: Declaration, evidence: Sequence[FieldValue]) -> dict[str, str]:
    """Return what a metric promises and costs, by head; an empty text where nothing is known.

    Args:
        name: the name of the metric.
        declaration: what its class declares.
        evidence: its values, of which the speeds are used.
    """
    better = "higher is better" if declaration.higher_is_better else "lower is better"
    reads = {
        "reference": declaration.reads_reference,
        "question": declaration.reads_question,
        "context": declaration.reads_context,
        "AMR graphs": declaration.reads_graphs,
    }
    speeds = [value.pairs_per_second for value in evidence if value.pairs_per_second]
    return {
        "range": f"{declaration.low:g} to {declaration.high:g}, {better}".replace("inf", "∞").replace("-", "−"),
        "symmetric": "yes" if declaration.symmetric else "no",
        "reads": ", ".join(["candidate", *(field for field, is_read in reads.items() if is_read)]),
        "languages": "any" if declaration.languages is None else ", ".join(sorted(declaration.languages)),
        "kind": declaration.kind,
        "speed": f"{rate(median(speeds))} pairs/s (median over {len(speeds)} sets, one CPU)" if speeds else "",
        "computed by": ", ".join(declaration.provider) or "assay",
        "licence": "; ".join(_licence(package) for package in declaration.provider or ("assay",)),
        "paper": declaration.citation,
    }


def _licence(package: str) -> str:
    """Return a package with the first line of the licence that its installed version states, or why there is none."""
    try:
        stated = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return f"{package}: not installed here"
    licence_texts = list(stated.get_all("License-Expression", []))
    for line in stated.get_all("Classifier", []):
        if line.startswith("License ::"):
            licence_texts.append(line.rpartition("::")[2].strip())
    licence_texts += stated.get_all("License", [])
    # a package may leave the field empty, or begin it with an empty line
    first_lines = [text.strip().splitlines()[0] for text in licence_texts if text.strip()]
    return f"{package}: {first_lines[0] if first_lines else 'not stated'}"


def _signature(name: str) -> str:
    """Return the signature of a metric on this machine; empty if it lacks a subject that it needs, or is unavailable.

    Raises:
        InputError: there is no such metric, or its subject or an option is invalid.
    """
    parsed = MetricName.parse(name)
    declaration = registry().find(parsed.name).load().declaration
    if declaration.subject and parsed.subject is None:
        return ""
    metric = load_metric(name)
    try:
        metric.check_available()
    except UnavailableError:
        return ""
    return metric.long_signature()


def _seen_error_lines(evidence: Sequence[FieldValue]) -> list[str]:
    """Return the lines on the kinds of errors that a metric sees, cannot see, or is misled by; none without values.

    Kinds without an interval are listed apart.

    Args:
        evidence: the values of the metric, of which those with a category are used.
    """
    words: dict[str, list[str]] = {"sees": [], "cannot see": [], "is misled by": [], "has no interval": []}
    for value in evidence:
        number = value.spearman
        if not value.category:
            continue
        if number.value is None:
            # a constant score orders nothing
            words["cannot see"].append(value.category)
            continue
        verdict = "cannot see"
        if number.low is None or number.high is None:
            verdict = "has no interval"
        elif number.low > 0:
            verdict = "sees"
        elif number.high < 0:
            verdict = "is misled by"
        words[verdict].append(f"{value.category} ({short(number.value, 2)})")
    if not any(words.values()):
        return []
    rows = [(f"**{word}**", ", ".join(categories)) for word, categories in words.items() if categories]
    note = (
        "On the [probe set](../data.md), whose pairs turn on one kind of difference each: Spearman's ρ of score and "
        "label within a category. It sees a difference if the 95 % interval is above 0, is misled if it is below, and "
        "else cannot be shown to see it. Without an interval (too few pairs or too few different "
        "scores) nothing is said."
    )
    return ["", "## What it sees", "", *markdown_table(("", "differences"), rows), "", note]


def _stressed(metric: str) -> list[str]:
    """Return the lines on the changes of answers that fool a metric, the most often first; empty if it has no test."""
    stress_rows = [row for row in field_stress() if row.metric == metric]
    if not stress_rows:
        return []
    stress_rows.sort(key=lambda row: -row.fooled)
    rows = [
        (f"`{row.perturbation}`", EXPECTED[row.expected][0], percent(row.fooled), str(row.n)) for row in stress_rows
    ]
    note = (
        "Changes of the pairs of the probe set ([stress](../stress.md)): how often the verdict is wrong by the change."
    )
    return ["", "## What fools it", "", *markdown_table(("change", "", "fooled", "pairs"), rows), "", note]


def _agreement(name: str, values: Sequence[FieldValue]) -> list[str]:
    """Return the lines on the agreement of a metric with people on every set, with a plot and alternatives.

    Args:
        name: the name of the metric.
        values: its agreement on each set, of which at least one has a coefficient.
    """
    coefficients = [value.spearman.value for value in values if value.spearman.value is not None]
    lowest, highest = short(min(coefficients), 2), short(max(coefficients), 2)
    best_count = sum(value.could_be_best for value in values)
    summary = f"Spearman's ρ on {len(coefficients)} sets, {lowest} to {highest}, mean {short(fmean(coefficients), 2)}; "
    summary += f"it could be the best metric on {best_count} (filled)."
    lines = ["", "## Agreement with people", "", summary, "", str(draw_sets(name, values)), ""]
    similar_metrics = alternatives(values)
    if similar_metrics:
        lines += ["## Nearest alternatives", ""]
        rows = [
            (f"`{other}`", short(difference, 2), short(mean, 2), str(sets))
            for other, difference, mean, sets in similar_metrics
        ]
        lines += markdown_table(("metric", "mean absolute difference in ρ", "its mean ρ", "on sets"), rows)
    return lines


class Alternative(NamedTuple):
    """A metric whose agreement is like that of another one.

    Attributes:
        metric: the name of the metric.
        difference: the mean absolute difference of Spearman's ρ over the sets that have both.
        agreement: its mean ρ on these sets.
        sets: the number of these sets.
    """

    metric: str
    difference: float
    agreement: float
    sets: int


def alternatives(values: Sequence[FieldValue]) -> list[Alternative]:
    """Return the :data:`ALTERNATIVES` metrics whose agreement is most alike, the most alike first.

    Fewer are returned if fewer metrics have a coefficient on at least :data:`MIN_SHARED_SETS` of these sets.

    Args:
        values: the values of one metric on sets, at least one.
    """
    own_values = {value.title: value.spearman.value for value in values if value.spearman.value is not None}
    metric = values[0].metric
    differences: dict[str, list[float]] = {}
    agreements: dict[str, list[float]] = {}
    for value in field_agreement():
        own_value, other_value = own_values.get(value.title), value.spearman.value
        if value.category or value.metric == metric or own_value is None or other_value is None:
            continue
        differences.setdefault(value.metric, []).append(abs(other_value - own_value))
        agreements.setdefault(value.metric, []).append(other_value)
    compared_metrics = [
        Alternative(name, fmean(differences[name]), fmean(agreements[name]), len(differences[name]))
        for name in differences
        if len(differences[name]) >= MIN_SHARED_SETS * len(own_values)
    ]
    return sorted(compared_metrics, key=lambda alternative: alternative.difference)[:ALTERNATIVES]


#: Sizes of the plot, in pixels, for a phone, too: the names of tasks, the axis, a row; the ends of the axis of ρ.
_LABELS, _AXIS, _ROW = 100, 280, 22
_LOW, _HIGH = -0.5, 1.0


def draw_sets(name: str, values: Sequence[FieldValue]) -> Markup:
    """Return a plot of a metric's agreement on every set, one row a task; a set with several tasks is in each.

    Sets on which the metric could be the best are filled. Values below -.5 are drawn at the edge.

    Args:
        name: the metric.
        values: its agreement on each set; sets on which it is undefined are left out.
    """
    values_by_task = _values_by_task(values)
    height = _ROW * len(values_by_task) + 24
    elements: list[Markup] = []
    for tick in (-0.5, 0.0, 0.5, 1.0):
        x, bottom = _x_of(tick), float(height - 22)
        opacity = "0.4" if tick == 0 else "0.15"
        elements.append(element("line", x1=x, x2=x, y1=0.0, y2=bottom, stroke="currentColor", stroke_opacity=opacity))
        text = f"{tick:g}".replace("-", "−")
        elements.append(element("text", text, x=x, y=float(height - 6), text_anchor="middle"))
    for row, (task, values_of_task) in enumerate(sorted(values_by_task.items())):
        middle = _ROW * row + _ROW / 2
        elements.append(element("text", task, x=_LABELS - 10.0, y=middle + 4, text_anchor="end"))
        for value, coefficient in values_of_task:
            title = element("title", f"{value.title}: {value.spearman.text}")
            fill = "currentColor" if value.could_be_best else "none"
            style = {"fill": fill, "fill_opacity": "0.55", "stroke": "currentColor"}
            elements.append(element("circle", title, cx=_x_of(coefficient), cy=middle, r=4.0, **style))
    key = re.sub(r"\W+", "-", name).strip("-")
    svg = drawing(
        f"sets-{key}",
        _LABELS + _AXIS + 20,
        height,
        f"Agreement of {name} on every set",
        "One point is one set.",
        *elements,
    )
    style_of_svg = "max-width: 100%; height: auto; font-size: 12px"
    return Markup(str(svg).replace("<svg ", f'<svg style="{style_of_svg}" fill="currentColor" ', 1))


def _values_by_task(values: Sequence[FieldValue]) -> dict[str, list[tuple[FieldValue, float]]]:
    """Return the values that have a coefficient, each with it, by the tasks of their sets.

    A set with several tasks is in each, one without a task is in ``other``.
    """
    tasks_of_set = {
        entry.name: entry.card.tasks for entry in list_datasets() if entry.card is not None and entry.default
    }
    by_task: dict[str, list[tuple[FieldValue, float]]] = {}
    for value in values:
        coefficient = value.spearman.value
        if coefficient is not None:
            for task in tasks_of_set.get(value.dataset, ()) or ("other",):
                by_task.setdefault(task, []).append((value, coefficient))
    return by_task


def _x_of(coefficient: float) -> float:
    """Return where a coefficient is drawn, in pixels; at the left end if it is below the axis."""
    return _LABELS + _AXIS * (max(coefficient, _LOW) - _LOW) / (_HIGH - _LOW)


def _plain(text: str) -> str:
    """Return a docstring's sentence as Markdown: roles and double backticks become code."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?([\w()]+)`", r"`\1`", text)
    return text.replace("``", "`")
