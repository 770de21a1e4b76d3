"""How scores are spread: small multiples, a panel a metric, a strip a label or dataset.

After figures 5 to 7 of Mustafazade and Ebbinghaus (2022), "Evaluation of Semantic Answer Similarity Metrics".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from assay.reports.names import fit
from assay.reports.sheets import Column, Sheet
from assay.reports.strips import BINS, Axis, Strip, axis_of, strip_of, strips_by_label
from assay.reports.svg import Scale, drawing, element, text
from assay.reports.units import Unit
from assay.statistics.concordance import Floats

__all__ = ["Spread", "by_dataset", "by_label"]

WIDTH = 260
HEAD = 22
FOOT = 20
#: Height of the bars of a strip.
TALL = 24


@dataclass(frozen=True)
class Spread:
    """Panels that belong together, and the table behind them."""

    panels: list[Markup]
    table: Sheet


def by_label(unit: Unit, bucket: str) -> Spread:
    """Return the scores of each metric in a bucket, a strip a class of labels; the axis is that of all pairs."""
    panels, rows = [], []
    for number, metric in enumerate(unit.data.scores):
        axis, strips = strips_by_label(unit, metric, bucket)
        key = f"spread-{unit.key}-{list(unit.data.buckets).index(bucket)}-{number}"
        panels.append(_panel(key, unit, metric, strips, axis, "label"))
        rows += _rows(metric, strips, axis)
    return Spread(panels, _table(f"Scores by label, {unit.title}, {bucket}", "label", rows))


def by_dataset(units: Sequence[Unit]) -> Spread:
    """Return the scores of each metric over all pairs, a strip a dataset."""
    metrics = dict.fromkeys(metric for unit in units for metric in unit.data.scores)
    panels, rows = [], []
    for number, metric in enumerate(metrics):
        having = [unit for unit in units if metric in unit.data.scores]
        axis = axis_of(np.concatenate([unit.data.scores[metric] for unit in having]))
        strips = [strip_of(unit.title, unit.data.scores[metric], axis) for unit in having]
        panels.append(_panel(f"datasets-{number}", having[0], metric, strips, axis, "dataset"))
        rows += _rows(metric, strips, axis)
    return Spread(panels, _table("Scores by dataset", "dataset", rows))


def _panel(key: str, unit: Unit, metric: str, strips: Sequence[Strip], axis: Axis, kind: str) -> Markup:
    # labels are short and stand at the left of their strips, names of datasets above
    above = 14 if kind == "dataset" else 0
    gutter = 12 if above else 58
    pitch = TALL + 6 + above
    scale = Scale(axis.marks[0], axis.marks[-1], gutter, WIDTH - 14)
    bottom = HEAD + pitch * len(strips)
    less = unit.data.metrics[metric].higher_is_better is False
    name = fit(unit.names[metric], 36 - 12 * less) + (" (lower is better)" if less else "")
    parts = [text(4, 14, name, element("title", metric), class_="strong")]
    for mark, shown in zip(axis.marks, axis.labels, strict=True):
        x = scale(mark)
        parts.append(element("line", x1=x, x2=x, y1=HEAD, y2=bottom, class_="grid"))
        parts.append(text(x, bottom + 14, shown, class_="muted", anchor="middle"))
    for number, strip in enumerate(strips):
        base = HEAD + pitch * (number + 1)
        count = f"{len(strip.scores):,}"
        if above:
            parts.append(text(gutter, base - TALL - 4, f"{fit(strip.title, 32)}, {count}", class_="small muted"))
        else:
            parts.append(text(gutter - 8, base - 12, fit(strip.title, 7), element("title", strip.title), anchor="end"))
            parts.append(text(gutter - 8, base - 1, count, class_="small muted", anchor="end"))
        parts += _bars(strip, scale, base)
    medians = ", ".join(f"{strip.title}: {_quantiles(strip.scores)[2]}" for strip in strips)
    about = f"A histogram for each {kind} with a line at the median. Medians: {medians}."
    return drawing(key, WIDTH, bottom + FOOT, f"Scores of {metric} by {kind}", about, *parts)


def _bars(strip: Strip, scale: Scale, base: float) -> list[Markup]:
    parts = [element("line", x1=scale.start, x2=scale.end, y1=base, y2=base, class_="axis")]
    if len(strip.scores):
        heights = strip.counts / strip.counts.max() * TALL
        wide = (scale.end - scale.start) / BINS
        steps = np.diff(heights, prepend=0.0, append=0.0)
        outline = f"h{wide:.1f}".join(f"v{-step:.1f}" for step in steps)
        x = scale(float(np.clip(np.median(strip.scores), scale.low, scale.high)))
        parts += [
            element("path", d=f"M{scale.start:.1f} {base:.1f}{outline}z", class_="bars"),
            element("line", x1=x, x2=x, y1=base - TALL, y2=base, class_="median"),
        ]
    return parts


def _quantiles(scores: Floats) -> list[str]:
    if not len(scores):
        return ["–"] * 5
    return [f"{value:.4g}" for value in np.quantile(scores, [0.05, 0.25, 0.5, 0.75, 0.95])]


def _rows(metric: str, strips: Sequence[Strip], axis: Axis) -> list[list[str]]:
    ends = [f"{axis.marks[0]:g}", f"{axis.marks[-1]:g}"]
    return [
        [
            metric,
            strip.title,
            f"{len(strip.scores):,}",
            *_quantiles(strip.scores),
            *ends,
            " ".join(map(str, strip.counts)),
        ]
        for strip in strips
    ]


def _table(title: str, kind: str, rows: list[list[str]]) -> Sheet:
    numbers = ("n", "5%", "25%", "median", "75%", "95%", "from", "to")
    heads = [Column("metric"), Column(kind), *(Column(head, number=True) for head in numbers)]
    return Sheet(
        title,
        [*heads, Column(f"pairs in each of {BINS} bins of equal width")],
        rows,
        notes=["Scores beyond from and to are counted in the first and the last bin."],
    )
