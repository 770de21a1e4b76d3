"""A hyperparameter study as tables, figures and a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup

from assay.analysis.tune import Study, Trial, parse_study
from assay.common.numbers import short, ticks
from assay.reports.layout import elide_middle
from assay.reports.page.render import GENERATOR, asset_text, template_environment
from assay.reports.plots import Figure, Scale, drawing, element, log_ticks, text
from assay.reports.sheets import Column, Document, Sheet, table_rows

_OPTIMISM_NOTE = (
    "The winner was chosen by these values of the development set, so the best of them is optimistic. What the model "
    "is worth is measured on the test set, which no trial has seen."
)


def study_document(parsed: Mapping[str, Any], results: Sheet) -> Document:
    """Return a study as two tables: its trials, and the winner on the test set.

    The records of the document are those of the trials; its JSON is the content of ``study.json``.

    Args:
        parsed: the content of ``study.json``.
        results: the table of the winner on the test set.
    """
    return Document([trial_sheet(parse_study(parsed)), results], list(parsed["trials"]), value=dict(parsed))


def trial_sheet(study: Study) -> Sheet:
    """Return a table with one row per trial, failed ones included, in which the winner is marked.

    A setting that a trial lacks, and a value or duration that it does not have, is a dash.
    """
    columns = [Column("trial", number=True, cell="number")]
    for name, dimension in study.space.items():
        is_number = not any(isinstance(value, str) for value in dimension.get("choices", ()))
        columns.append(Column(_setting_title(name), number=is_number, cell=partial(_trial_setting, name=name)))
    columns += [
        Column("state", cell="state"),
        Column("epochs done", number=True, cell=lambda trial: str(max(trial.epochs, default=0))),
        Column(f"dev {study.title}", number=True, cell=lambda trial: short(trial.final_value, 4)),
        Column("seconds", number=True, cell=lambda trial: "–" if trial.seconds is None else f"{trial.seconds:,.0f}"),
        Column("note", cell="note"),
    ]
    return Sheet(
        f"Study {study.name}: {_evaluated_count(study)} trials of a {study.recipe}",
        columns,
        table_rows(columns, study.trials),
        notes=[_OPTIMISM_NOTE],
        marked=frozenset(row for row, trial in enumerate(study.trials) if trial is study.winner),
    )


def _evaluated_count(study: Study) -> int:
    """Return the number of trials with a value: completed and pruned ones."""
    return sum(trial.state in ("complete", "pruned") for trial in study.trials)


def _setting_title(name: str) -> str:
    """Return the name of a setting as a reader sees it: ``batch_size`` as ``batch size``."""
    return name.replace("_", " ")


def _trial_setting(trial: Trial, name: str) -> str:
    """Return the value of a setting in a trial as text; a dash if the trial lacks it."""
    return setting_text(trial.settings[name]) if name in trial.settings else "–"


def _settings_line(trial: Trial) -> str:
    """Return the settings of a trial in one line, such as ``batch size 32, epochs 2``."""
    return ", ".join(f"{_setting_title(name)} {setting_text(value)}" for name, value in trial.settings.items())


def setting_text(value: object) -> str:
    """Return the value of a setting as text, a fraction with four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# The history of a study: values by trial, by epoch and by setting.

#: The width, height and margins of a figure in pixels.
WIDTH, HEIGHT = 820, 300
LEFT, RIGHT, TOP, BOTTOM = 54, 24, 30, 46
#: The width and height of the panel of one setting in pixels, and the maximum number of panels side by side.
PANEL_WIDTH, PANEL_HEIGHT, MAX_PANELS_PER_ROW = 340, 200, 3
#: The maximum number of tick labels on the axis of a setting, and of characters of a choice in such a label.
MAX_SETTING_TICKS, MAX_CHOICE_CHARACTERS = 12, 9
#: The maximum number of tick labels on the axis of trials or epochs.
MAX_AXIS_NUMBERS = 20


def draw_history(study: Study) -> Figure:
    """Return a figure of the final value of each trial with a line of the best so far, and the same as a table.

    Trials without a value, such as failed ones, or without one of the settings are left out. The line is of completed
    trials only.
    """
    trials = _plottable_trials(study)
    last_trial = max(trial.number for trial in trials)
    marks, y_scale = _vertical_axis(_final_values(trials), HEIGHT - BOTTOM, TOP)
    x_scale = Scale(-0.5, last_trial + 0.5, LEFT, WIDTH - RIGHT)
    elements = [
        *_draw_grid(marks, y_scale, x_scale.start, x_scale.end),
        *_draw_axis_labels(study, "trial", range(last_trial + 1), x_scale, y_scale),
    ]
    records = _best_so_far(trials)
    if records:
        elements.append(
            element("polyline", points=_polyline_points(_step_points(records, x_scale, y_scale)), class_="front")
        )
    elements += [_draw_point(study, trial, x_scale(trial.number), y_scale) for trial in trials]
    svg = drawing(
        "history",
        WIDTH,
        HEIGHT,
        f"{study.title} by trial",
        f"One point per trial, hollow if it was pruned, and the best value so far as a line. The best is trial "
        f"{study.winner.number} with {short(study.winner.value or 0.0, 4)}.",
        *elements,
    )
    return Figure(svg, _history_sheet(study, trials))


def _step_points(records: Sequence[tuple[int, float]], x_scale: Scale, y_scale: Scale) -> list[tuple[float, float]]:
    """Return the (x, y) corners of the line of the best value so far, which rises at each trial that is the best yet.

    Args:
        records: the numbers and values of these trials, at least one, see :func:`_best_so_far`.
        x_scale: the axis of trials.
        y_scale: the axis of values.
    """
    (first_number, first_value), *later_records = records
    # twice, so that a single record is a line, too
    corners = [(x_scale(first_number), y_scale(first_value))] * 2
    for number, value in later_records:
        x, (_, height_before) = x_scale(number), corners[-1]
        corners += [(x, height_before), (x, y_scale(value))]
    _, last_height = corners[-1]
    return [*corners, (x_scale.end, last_height)]


def _history_sheet(study: Study, trials: Sequence[Trial]) -> Sheet:
    """Return the table behind :func:`draw_history`, with one row per drawn trial.

    The best value so far is a dash before the first completed trial.
    """
    records = dict(_best_so_far(trials))
    best_so_far: dict[int, float | None] = {}
    best: float | None = None
    for trial in trials:
        best = records.get(trial.number, best)
        best_so_far[trial.number] = best
    columns = [
        Column("trial", number=True, cell="number"),
        Column("state", cell="state"),
        Column(study.title, number=True, cell=lambda trial: short(trial.final_value or 0.0, 4)),
        Column("best so far", number=True, cell=lambda trial: short(best_so_far[trial.number], 4)),
    ]
    return Sheet(f"{study.title} by trial", columns, table_rows(columns, trials))


def draw_epoch_curves(study: Study) -> Figure:
    """Return a figure of the value of each trial at the end of each of its epochs, and the same as a table.

    Trials without a finished epoch are left out; the winner has at least one.
    """
    trials = [trial for trial in study.trials if trial.epochs]
    last_epoch = max(max(trial.epochs) for trial in trials)
    marks, y_scale = _vertical_axis(
        [value for trial in trials for value in trial.epochs.values()], HEIGHT - BOTTOM, TOP
    )
    x_scale = Scale(0.75, last_epoch + 0.5, LEFT, WIDTH - RIGHT)
    elements = [
        *_draw_grid(marks, y_scale, x_scale.start, x_scale.end),
        *_draw_axis_labels(study, "epoch", range(1, last_epoch + 1), x_scale, y_scale),
    ]
    # the winner last, over the others
    for trial in sorted(trials, key=lambda trial: trial is study.winner):
        elements += _draw_epoch_curve(trial, x_scale, y_scale, is_winner=trial is study.winner)
    svg = drawing(
        "courses",
        WIDTH,
        HEIGHT,
        f"{study.title} by epoch",
        f"One line per trial, the winner's filled. Lines of {len(trials)} trials.",
        *elements,
    )
    # a row is a trial and one of its epochs
    columns = [
        Column("trial", number=True, cell=lambda row: str(row[0].number)),
        Column("state", cell=lambda row: row[0].state),
        Column("epoch", number=True, cell=lambda row: str(row[1])),
        Column(study.title, number=True, cell=lambda row: short(row[0].epochs[row[1]], 4)),
    ]
    rows = table_rows(columns, [(trial, epoch) for trial in trials for epoch in sorted(trial.epochs)])
    return Figure(svg, Sheet(f"{study.title} by epoch", columns, rows))


def _draw_epoch_curve(trial: Trial, x_scale: Scale, y_scale: Scale, *, is_winner: bool) -> list[Markup]:
    """Return the line of a trial over its epochs, with a point and a tooltip per epoch.

    Args:
        trial: the trial, with one epoch or more.
        x_scale: the axis of epochs.
        y_scale: the axis of values.
        is_winner: whether to draw the points larger and filled, and the line stronger.
    """
    points = [(x_scale(epoch), y_scale(value)) for epoch, value in sorted(trial.epochs.items())]
    elements = [element("polyline", points=_polyline_points(points), class_="curve" if is_winner else "axis")]
    for epoch, value in trial.epochs.items():
        hint = element("title", f"trial {trial.number}, epoch {epoch}: {short(value, 4)}")
        css_class = "value" if is_winner else "value hollow"
        radius = 4.0 if is_winner else 3.0
        elements.append(element("circle", hint, cx=x_scale(epoch), cy=y_scale(value), r=radius, class_=css_class))
    return elements


def draw_settings(study: Study) -> Figure:
    """Return a figure with one panel per setting, which shows the final values of the trials over it, and a table.

    The table has the same numbers, one row per trial. Trials without a value or without one of the settings are left
    out.
    """
    trials = _plottable_trials(study)
    panels_per_row = min(MAX_PANELS_PER_ROW, len(study.space))
    row_height = PANEL_HEIGHT + TOP + BOTTOM
    panels = []
    for number, name in enumerate(study.space):
        row, column = divmod(number, panels_per_row)
        panels.append(_draw_panel(study, trials, name, column * PANEL_WIDTH, row * row_height))
    names = [_setting_title(name) for name in study.space]
    svg = drawing(
        "settings",
        panels_per_row * PANEL_WIDTH,
        math.ceil(len(names) / panels_per_row) * row_height,
        f"{study.title} by setting",
        f"One panel per setting, one point per trial, hollow if it was pruned: {', '.join(names)}.",
        *panels,
    )
    columns = [
        Column("trial", number=True, cell="number"),
        *(Column(_setting_title(name), cell=partial(_trial_setting, name=name)) for name in study.space),
        Column(study.title, number=True, cell=lambda trial: short(trial.final_value or 0.0, 4)),
    ]
    return Figure(svg, Sheet(f"{study.title} by setting", columns, table_rows(columns, trials)))


def _draw_panel(study: Study, trials: Sequence[Trial], name: str, left: float, top: float) -> Markup:
    """Return the panel of one setting: a point per trial, over the value of the setting.

    Args:
        study: the study.
        trials: the trials to show, which have a value and the setting.
        name: the name of the setting.
        left, top: the coordinates of the upper left corner of the panel in pixels.
    """
    marks, y_scale = _vertical_axis(_final_values(trials), top + TOP + PANEL_HEIGHT, top + TOP)
    start, end = left + LEFT, left + PANEL_WIDTH - RIGHT
    axis = _setting_axis(study.space[name], start, end)
    elements = [text(start, top + 16, _setting_title(name), class_="strong"), *_draw_grid(marks, y_scale, start, end)]
    elements += [text(x, y_scale.start + 17, label, class_="muted", anchor="middle") for x, label in axis.labels]
    elements += [_draw_point(study, trial, axis.position(trial.settings[name]), y_scale) for trial in trials]
    return element("g", *elements)


class _SettingAxis(NamedTuple):
    """The horizontal axis of a setting.

    Attributes:
        position: a function that returns the horizontal coordinate of a value.
        labels: the (coordinate, text) of each tick label.
    """

    position: Callable[[Any], float]
    labels: list[tuple[float, str]]


def _setting_axis(dimension: Mapping[str, Any], start: float, end: float) -> _SettingAxis:
    """Return the axis of a setting: of choices, logarithmic, of integers or linear.

    Args:
        dimension: ``choices``, or ``low``, ``high`` and ``log``.
        start, end: the horizontal coordinates of the ends of the axis.
    """
    if "choices" in dimension:
        return _choice_axis(list(dimension["choices"]), start, end)
    low, high = dimension["low"], dimension["high"]
    if dimension["log"]:
        return _log_axis(low, high, start, end)
    if isinstance(low, int) and isinstance(high, int):
        return _integer_axis(low, high, start, end)
    return _linear_axis(low, high, start, end)


def _choice_axis(choices: list[Any], start: float, end: float) -> _SettingAxis:
    """Return an axis with the choices of a setting at equal distances, in their order.

    If there are many, only every n-th has a label.

    Args:
        choices: the choices; the axis shows no other value.
        start, end: where the axis begins and ends, in pixels.
    """
    scale = Scale(-0.5, len(choices) - 0.5, start, end)
    labels = [
        (scale(index), elide_middle(setting_text(choice), MAX_CHOICE_CHARACTERS))
        for index, choice in enumerate(choices)
    ]
    return _SettingAxis(
        lambda value: scale(choices.index(value)), labels[:: _tick_stride(len(labels), MAX_SETTING_TICKS)]
    )


def _log_axis(low: float, high: float, start: float, end: float) -> _SettingAxis:
    """Return a logarithmic axis with a tick at each power of ten.

    Args:
        low, high: the range of values, above 0.
        start, end: where the axis begins and ends, in pixels.
    """
    decades = log_ticks([low, high])
    scale = Scale(math.log10(decades[0]), math.log10(decades[-1]), start, end)
    labels = []
    for decade in decades:
        label = f"{decade:.0e}" if decade < 1e-3 else f"{decade:g}"
        labels.append((scale(math.log10(decade)), label))
    return _SettingAxis(lambda value: scale(math.log10(value)), labels)


def _integer_axis(low: int, high: int, start: float, end: float) -> _SettingAxis:
    """Return a linear axis with ticks at integers."""
    scale = Scale(low - 0.5, high + 0.5, start, end)
    numbers = range(low, high + 1, _tick_stride(high - low + 1, MAX_SETTING_TICKS))
    return _SettingAxis(scale, [(scale(number), str(number)) for number in numbers])


def _linear_axis(low: float, high: float, start: float, end: float) -> _SettingAxis:
    """Return a linear axis with round numbers as ticks."""
    marks = ticks(low, high, 5)
    scale = Scale(marks[0], marks[-1], start, end)
    return _SettingAxis(scale, [(scale(mark), f"{mark:g}") for mark in marks])


def _tick_stride(count: int, limit: int) -> int:
    """Return the smallest n such that every n-th of *count* items are at most *limit* items."""
    return math.ceil(count / limit)


def _plottable_trials(study: Study) -> list[Trial]:
    """Return the trials that have a value and all settings."""
    setting_names = study.space.keys()
    return [trial for trial in study.trials if trial.final_value is not None and trial.settings.keys() >= setting_names]


def _final_values(trials: Sequence[Trial]) -> list[float]:
    """Return the final values of the trials, without failed ones."""
    return [trial.final_value for trial in trials if trial.final_value is not None]


def _vertical_axis(values: Sequence[float], start: float, end: float) -> tuple[list[float], Scale]:
    """Return the ticks that cover some values, and the vertical scale from the lowest to the highest tick.

    Args:
        values: the values to show, at least one.
        start, end: the vertical coordinates of the lowest and the highest tick.
    """
    marks = ticks(min(values), max(values), 6)
    return marks, Scale(marks[0], marks[-1], start, end)


def _draw_axis_labels(study: Study, unit: str, numbers: range, x_scale: Scale, y_scale: Scale) -> list[Markup]:
    """Return the labels of a figure: the numbers below it, their unit, and the objective at the top.

    Args:
        study: the study, whose title is the objective.
        unit: the unit of the numbers, such as ``epoch``.
        numbers: the numbers; if there are more than :data:`MAX_AXIS_NUMBERS`, only every n-th is shown.
        x_scale, y_scale: the horizontal and the vertical scale.
    """
    labels = [
        text(x_scale(number), y_scale.start + 17, str(number), class_="muted", anchor="middle")
        for number in numbers[:: _tick_stride(len(numbers), MAX_AXIS_NUMBERS)]
    ]
    labels.append(text(x_scale.end, y_scale.start + 36, unit, class_="muted", anchor="end"))
    labels.append(text(4, 14, f"{study.title}, development set", class_="muted"))
    return labels


def _draw_grid(marks: Sequence[float], y_scale: Scale, start: float, end: float) -> list[Markup]:
    """Return one horizontal line per tick with its number on the left.

    Args:
        marks: the values of the ticks.
        y_scale: the vertical scale.
        start, end: the horizontal coordinates of the ends of the lines.
    """
    elements = []
    for mark in marks:
        elements.append(element("line", x1=start, x2=end, y1=y_scale(mark), y2=y_scale(mark), class_="grid"))
        elements.append(text(start - 8, y_scale(mark) + 4, f"{mark:g}", class_="muted", anchor="end"))
    return elements


def _best_so_far(trials: Sequence[Trial]) -> list[tuple[int, float]]:
    """Return the (number, value) of each completed trial that is better than all earlier ones, in order."""
    records: list[tuple[int, float]] = []
    for trial in trials:
        if trial.value is not None and (not records or trial.value > records[-1][1]):
            records.append((trial.number, trial.value))
    return records


def _draw_point(study: Study, trial: Trial, x: float, y_scale: Scale) -> Markup:
    """Return the point of a trial with a tooltip: hollow unless it completed, larger and numbered for the winner.

    Args:
        study: the study, for its winner.
        trial: the trial, which has a value.
        x: the horizontal coordinate.
        y_scale: the vertical scale.
    """
    value = trial.final_value or 0.0
    hint = element("title", f"trial {trial.number}, {trial.state}: {short(value, 4)}; {_settings_line(trial)}")
    is_winner = trial is study.winner
    css_class = "value" if trial.state == "complete" else "value hollow"
    point = element("circle", hint, cx=x, cy=y_scale(value), r=5.5 if is_winner else 4.0, class_=css_class)
    if not is_winner:
        return point
    return element("g", point, text(x, y_scale(value) - 10, str(trial.number), class_="name strong", anchor="middle"))


def _polyline_points(points: Sequence[tuple[float, float]]) -> str:
    """Return the ``points`` attribute of an SVG polyline."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


# A study as one self-contained HTML page.


def study_html(parsed: Mapping[str, Any], results: Sheet) -> str:
    """Return a study as an HTML page that needs no other file, no network and no script.

    Args:
        parsed: the content of ``study.json``.
        results: the table of the winner on the test set.
    """
    study = parse_study(parsed)
    page: str = (
        template_environment()
        .get_template("study.html")
        .render(
            generator=Markup(GENERATOR),
            style=Markup(asset_text("page.css")),
            study=study,
            over=_evaluated_count(study),
            failed=[trial for trial in study.trials if trial.state == "fail"],
            trials=trial_sheet(study),
            results=results,
            winner=_settings_line(study.winner),
            history=draw_history(study),
            courses=draw_epoch_curves(study),
            settings=draw_settings(study),
        )
    )
    return page
