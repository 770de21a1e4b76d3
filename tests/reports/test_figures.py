"""Figures for papers: what is drawn is what the run says, and the same run gives the same file."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import assay
from assay.analysis.folder import read_run
from assay.exceptions import InputError, MissingExtraError, install_command
from assay.reports.figure.agreement import draw_agreement
from assay.reports.figure.choice import choose_datasets
from assay.reports.figure.layers import draw_layers
from assay.reports.figure.scores import draw_distributions, draw_labels, draw_scatter, draw_scores
from assay.reports.figure.style import create_panels, figure_style, line_style, metric_labels, save_figure
from tests.reports.page_run import dataset, edit, make_run

pytest.importorskip("matplotlib", reason='figures need pip install "assay[plots]"')


@pytest.fixture
def folder(tmp_path):
    return make_run(tmp_path)


@pytest.fixture
def run(folder):
    return read_run(folder)


def written(run, out, kind="agreement", **settings):
    assay.figure(run.path, out, kind=kind, **settings)


def drawn(panel):
    """Return the points and the bars of a panel of the forest plot, line by line."""
    points = {
        float(line.get_ydata()[0]): float(line.get_xdata()[0]) for line in panel.lines if line.get_marker() == "o"
    }
    bars = {
        float(line.get_ydata()[0]): tuple(map(float, line.get_xdata()))
        for line in panel.lines
        if line.get_color() == "#444444"
    }
    return points, bars


@pytest.mark.slow
def test_a_forest_plot_shows_the_numbers_of_the_run(run):
    with figure_style():
        figure = draw_agreement(choose_datasets(run, [], [], []), "spearman", 6.5)
    values = {(row.bucket, row.metric): row for row in run.agreement if row.statistic == "spearman"}
    assert [panel.get_title(loc="left") for panel in figure.axes] == ["all\nn = 64", "f1=0\nn = 5", "f1>0\nn = 59"]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    whole = [values["all", name].value for name in names]
    assert sorted(names) == ["chrf", "f1", "ter"]
    assert whole == sorted(whole, reverse=True)
    for panel, bucket in zip(figure.axes, ("all", "f1=0", "f1>0"), strict=True):
        points, bars = drawn(panel)
        for line, name in enumerate(names):
            row = values[bucket, name]
            if row.value is None:
                assert line not in points
                continue
            assert points[line] == row.value
            if row.low is not None:
                assert bars[line] == (row.low, row.high)
    undefined = [text for text in figure.axes[1].texts if text.get_text() == "undefined"]
    assert len(undefined) == sum(values["f1=0", name].value is None for name in names)
    # the white behind the word hides no axis
    assert all(text.get_zorder() < figure.axes[1].spines["left"].get_zorder() for text in undefined)
    assert figure.get_supxlabel().replace("\n", " ") == (
        "Spearman ρ; bar: 95% interval; sign turned: ter; dashed: the best a score without ties could reach"
    )


def test_what_is_left_out_is_not_drawn(run):
    (chosen,) = choose_datasets(run, [], ["ter", "f1"], ["f1>0"])
    assert [block.bucket for block in chosen.blocks] == ["f1>0"]
    with figure_style():
        figure = draw_agreement([chosen], "kendall", 3)
    (panel,) = figure.axes
    assert sorted(label.get_text() for label in panel.get_yticklabels()) == ["f1", "ter"]
    assert figure.get_size_inches()[0] == 3


def test_layers_are_a_line_a_bucket(folder):
    names = {"f1": "pooled:m,layer=2,pooling=cls", "chrf": "pooled:m,layer=10,pooling=cls"}
    run = renamed(folder, names)
    with figure_style():
        figure = draw_layers(choose_datasets(run, [], [], []), "pearson", 6.5)
    (panel,) = figure.axes
    assert panel.get_title(loc="left") == "pooled:m,pooling=cls"
    values = {(row.bucket, row.metric): row.value for row in run.agreement if row.statistic == "pearson"}
    for line, bucket in zip(panel.lines, ("all", "f1=0", "f1>0"), strict=True):
        expected = {layer: values[bucket, names[old]] for layer, old in ((2, "f1"), (10, "chrf"))}
        drawn = dict(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))
        # an undefined value is a gap, no bridge
        assert {layer: None if np.isnan(value) else value for layer, value in drawn.items()} == expected
        assert line.get_label() == bucket
    (key,) = figure.legends
    assert [text.get_text() for text in key.get_texts()] == ["all, n = 64", "f1=0, n = 5", "f1>0, n = 59"]
    assert figure.get_supxlabel() == "layer; band: 95% interval; sign turned: ter"


def renamed(folder, names):
    """Return the run with metrics of other names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def rename(value):
        for row in value["metrics"] if isinstance(value, dict) else value:
            row["metric"] = names.get(row["metric"], row["metric"])

    table = pq.read_table(folder / "scores.parquet")
    metrics = pa.array([names.get(name, name) for name in table.column("metric").to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("metric"), "metric", metrics), folder / "scores.parquet")
    edit(folder, "agreement.json", rename)
    return edit(folder, "run.json", rename)


def test_layers_that_are_left_out(folder):
    layers = {"f1": "pooled:m,layer=1", "chrf": "pooled:m,layer=2", "ter": "pooled:m,layer=3"}
    run = renamed(folder, layers)
    with figure_style():
        figure = draw_layers(
            choose_datasets(run, [], ["pooled:m,layer=1", "pooled:m,layer=3"], ["all"]), "pearson", 6.5
        )
    assert figure.axes[0].lines[0].get_xdata().tolist() == [1, 3]
    with pytest.raises(InputError, match="leaves no two layers of one model"):
        draw_layers(choose_datasets(run, [], ["pooled:m,layer=1"], []), "pearson", 6.5)


def test_a_run_without_layers_says_what_makes_one(run):
    with pytest.raises(InputError, match=r"no layers of one model to draw; assay sweep DATA"):
        draw_layers(choose_datasets(run, [], [], []), "spearman", 6.5)


def test_scores_are_spread_by_label(folder, run):
    data = dataset(folder)
    with figure_style():
        figure = draw_scores(choose_datasets(run, [], ["f1"], ["all"]), 6.5)
    (panel,) = figure.axes
    labels = [0.0, 1.0, 2.0]
    assert [label.get_text() for label in panel.get_yticklabels()] == [
        f"{label:g} ({int((data.labels == label).sum())})" for label in labels
    ]
    # the line of a strip is at its median; a score of 1 is at the end of the axis
    medians = [line.get_xdata()[0] for line in panel.lines]
    assert medians == [float(np.median(data.scores["f1"][data.labels == label])) for label in labels]
    for strip, label in zip(panel.patches, labels, strict=True):
        counts, _ = np.histogram(data.scores["f1"][data.labels == label], bins=20, range=(0, 1))
        tops = strip.get_data().values - strip.get_data().baseline
        assert tops == pytest.approx(0.8 * counts / counts.max())


def test_scores_of_all_metrics_stand_on_one_axis(folder, run):
    data = dataset(folder)
    with figure_style():
        figure = draw_distributions(choose_datasets(run, [], ["f1", "chrf"], ["all", "f1>0"]), 6.5)
    names = ["f1", "chrf"]
    for panel, bucket in zip(figure.axes, ["all", "f1>0"], strict=True):
        assert [label.get_text() for label in panel.get_yticklabels()] == names[::-1]
        assert panel.get_title(loc="left").endswith(bucket)
        medians = [line.get_xdata()[0] for line in panel.lines]
        scores = [data.scores[name][data.buckets[bucket]] for name in names[::-1]]
        assert medians == [float(np.median(values)) for values in scores]
        ends = {tuple(strip.get_data().edges[[0, -1]]) for strip in panel.patches}
        assert len(ends) == 1 and max(values.max() for values in scores) <= next(iter(ends))[1]


def test_labels_by_bucket(folder, run):
    data = dataset(folder)
    with figure_style():
        figure = draw_labels(choose_datasets(run, [], [], ["all", "f1>0"]), 6.5)
    (panel,) = figure.axes
    buckets = ["f1>0", "all"]
    assert [label.get_text() for label in panel.get_yticklabels()] == [
        f"{bucket} ({int(data.buckets[bucket].sum())})" for bucket in buckets
    ]
    assert [line.get_xdata()[0] for line in panel.lines] == [
        float(np.median(data.labels[data.buckets[bucket]])) for bucket in buckets
    ]


def test_a_dot_is_the_score_and_the_label_of_a_pair(folder, run, tmp_path):
    data = dataset(folder)
    with figure_style():
        figure = draw_scatter(choose_datasets(run, [], ["f1", "chrf"], ["f1>0"]), 6.5)
    mask = data.buckets["f1>0"]
    for panel, name in zip(figure.axes, ["f1", "chrf"], strict=True):
        (dots,) = panel.collections
        assert dots.get_offsets().data == pytest.approx(np.column_stack([data.scores[name][mask], data.labels[mask]]))
    written(run, tmp_path / "out.svg", "scatter", metrics=["f1"])
    assert {"f1", "label"} <= texts(tmp_path / "out.svg")
    written(run, tmp_path / "labels.svg", "labels")
    assert "label; a line at the median, each strip scaled to its own highest bar" in texts(tmp_path / "labels.svg")


def test_lower_is_better_and_scores_beyond_the_axis_are_said(tmp_path):
    # most scores lie between 0 and .5, a few at 500: the last bin holds them, and its end says so
    rows = [
        {"reference": "a", "candidate": "b", "label": i % 3, "far": 500.0 if i % 400 == 7 else (i % 100) / 200}
        for i in range(2000)
    ]
    assay.run([rows], ["recorded:far", "ter"], buckets=["none"], resamples=0, out=tmp_path / "run")
    with figure_style():
        figure = draw_scores(choose_datasets(read_run(tmp_path / "run"), [], [], ["all"]), 6.5)
    far, ter = figure.axes
    last = [label.get_text() for label in far.get_xticklabels()][-1]
    assert last.startswith("≥") and float(last[1:]) < 1
    assert ter.get_title(loc="left") == "ter (lower is better)"


@pytest.mark.slow
@pytest.mark.parametrize("width", [3, 6.5])
def test_many_buckets_stand_below_each_other(tmp_path, width):
    rows = [
        {"reference": f"river {i}", "candidate": f"river {i * 3}", "label": i % 3, "kind": "abcdefg"[i % 7]}
        for i in range(84)
    ]
    run = run_on(rows, tmp_path, ["f1", "chrf"])
    with figure_style():
        figure = draw_agreement(choose_datasets(run, [], [], []), "spearman", width)
        figure.draw_without_rendering()
    # all, seven kinds, and the mean over them
    shown = [panel for panel in figure.axes if panel.get_visible()]
    assert len(shown) == 9
    size = figure.get_size_inches()
    assert min(panel.get_position().width for panel in shown) * size[0] > 1
    words = next(text for text in figure.texts if text.get_text().startswith("Spearman"))
    box = words.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= size[0] * figure.dpi


def run_on(rows, folder, metrics):
    assay.run([rows], metrics, buckets=["kind"], resamples=100, out=folder / "run")
    return read_run(folder / "run")


def test_names_that_would_look_alike_stand_whole():
    shared = "a-name-that-is-far-too-long-for-a-line-of-the-figure"
    names = {"one": f"{shared}1{shared}", "two": f"{shared}2{shared}", "three": "short"}
    found = metric_labels(list(names.values()), 2.0)
    assert [one.replace("\n", "") for one in found] == list(names.values())
    assert max(len(line) for one in found for line in one.split("\n")) <= 2 / 0.064
    (alone,) = metric_labels([names["one"]], 2.0)
    assert "…" in alone and "\n" not in alone


def test_twenty_eight_lines_are_told_apart():
    assert len({tuple(line_style(number).values()) for number in range(28)}) == 28


@pytest.mark.slow
def test_what_would_break_an_svg_is_spelt_out(tmp_path):
    kinds = ["x\x01y", "\u202eabc", "two\nlines"]
    rows = [{"reference": "a", "candidate": "b" * (i % 4), "label": i % 3, "kind": kinds[i % 3]} for i in range(60)]
    written(run_on(rows, tmp_path, ["f1", "levenshtein"]), tmp_path / "out.svg")
    found = texts(tmp_path / "out.svg")
    assert {"kind=x\\x01y", "kind=\\u202eabc", "kind=two lines"} <= found


@pytest.mark.slow
def test_letters_that_no_font_has(tmp_path):
    # of the private use area: no font that is looked for has it
    rows = [
        {"reference": "a b", "candidate": "a" * (i % 3), "label": i % 4, "kind": "\ue123" if i % 2 else "x"}
        for i in range(40)
    ]
    run = run_on(rows, tmp_path, ["levenshtein"])
    with pytest.raises(InputError, match=r"no font here has U\+E123"):
        written(run, tmp_path / "out.png")
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".png", ".part")]
    written(run, tmp_path / "out.svg")


@pytest.mark.slow
def test_what_is_no_figure_of_assay_is_not_replaced(run, tmp_path):
    for ending in ("pdf", "svg", "png"):
        mine = tmp_path / f"mine.{ending}"
        mine.write_bytes(b"%PDF-1.4 a paper of mine")
        with pytest.raises(InputError, match="holds something else than a figure of assay"):
            written(run, mine)
        assert mine.read_bytes() == b"%PDF-1.4 a paper of mine"
        mine.unlink()
        written(run, mine, buckets=["all"])
        before = mine.read_bytes()
        written(run, mine, buckets=["f1>0"])
        assert mine.read_bytes() != before


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_the_same_run_gives_the_same_file(run, tmp_path, ending):
    one, other = tmp_path / f"one.{ending}", tmp_path / "new" / f"other.{ending}"
    written(run, one)
    written(run, other)
    assert one.read_bytes() == other.read_bytes()
    begins = {"pdf": b"%PDF-", "svg": b"<?xml", "png": b"\x89PNG"}
    assert one.read_bytes().startswith(begins[ending])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_is_text_stays_text(run, tmp_path):
    written(run, tmp_path / "out.svg", "scores", metrics=["chrf"], buckets=["all", "f1=0"])
    assert {"chrf", "all", "f1=0", "label (pairs)"} <= texts(tmp_path / "out.svg")


def test_a_name_is_no_formula(tmp_path):
    # matplotlib sets what stands between two dollars as mathematics
    with figure_style():
        figure, ((panel,),) = create_panels(1, 1, 2, 2)
        panel.set_title("a$x_1$b")
        save_figure(figure, tmp_path / "out.svg")
    assert "a$x_1$b" in texts(tmp_path / "out.svg")


def texts(path):
    return {node.text for node in ET.parse(path).iter() if node.tag.endswith("text")}


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"kind": "pie"}, "kind=pie: must be agreement, layers, scores, distributions, labels, scatter or costs"),
        ({"width": 0.0}, "width=0: must be from 1 to 100 inches"),
        ({"width": float("nan")}, "width=nan: must be from 1 to 100 inches"),
        ({"statistic": "auc"}, "has no statistic 'auc'. Valid: pearson, spearman, kendall."),
        ({"metrics": ["chr"]}, "has no metric 'chr'. Did you mean 'chrf'? Valid: f1, chrf, ter."),
        ({"datasets": ["sick"]}, "has no dataset 'sick'"),
        ({"buckets": ["f1=1"]}, "has no bucket 'f1=1'"),
        ({"kind": "distributions", "statistic": "kendall"}, 'has no effect beside `kind="distributions"`'),
        ({"kind": "scores", "statistic": "kendall"}, 'statistic=kendall: has no effect beside `kind="scores"`'),
    ],
)
def test_what_the_run_does_not_have(run, tmp_path, settings, complaint):
    with pytest.raises(InputError) as caught:
        written(run, tmp_path / "out.png", **settings)
    assert complaint in str(caught.value)
    assert not (tmp_path / "out.png").exists()


def test_a_place_that_cannot_be_written(run, tmp_path):
    with pytest.raises(InputError, match=r"out\.jpg: the name must end in \.pdf, \.svg, \.png"):
        written(run, tmp_path / "out.jpg")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        written(run, tmp_path / "folder.png")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        written(run, tmp_path / "file" / "out.png")
    assert (tmp_path / "file").read_text() == "mine"


def test_without_matplotlib_the_line_that_brings_it(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_command("plots"))):
        written(run, tmp_path / "out.png")


def test_plots_are_drawn_on_axes_of_the_caller(run):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    result = assay.run(str(run.path / "pairs.parquet"), ["f1", "chrf"], resamples=100, fresh=True)
    ax, other, third = Figure().subplots(3)
    assert result.plot(ax=ax) is ax
    values = result.agreement.query("bucket == 'all' and statistic == 'spearman'").set_index("metric")["value"]
    points, _ = drawn(ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(values.sort_values(ascending=False).index)
    assert list(points.values()) == values.sort_values(ascending=False).tolist()
    assert result.plot("scores", metrics="f1", ax=other) is other
    assert len(other.get_yticklabels()) == result.pairs["label"].nunique()
    assert result.plot("costs", ax=third) is third
    assert sorted(text.get_text() for text in third.texts) == ["chrf", "f1"]
    with pytest.raises(InputError, match=r"one panel shows one of `metrics`, not f1, chrf; name one"):
        result.plot("scores", ax=other)
    panels = result.plot()
    assert [panel.get_title(loc="left").partition("\n")[0] for panel in panels] == ["all", "f1=0", "f1>0"]
    adjusted = assay.run(str(run.path / "pairs.parquet"), ["f1"], resamples=100, controls=["length"], page=False)
    for kind in ("scores", "distributions", "scatter", "labels"):
        with pytest.raises(InputError, match="made of other buckets and has no pairs"):
            adjusted.plot(kind, buckets="all given length", ax=other)
    with pytest.raises(InputError, match="this result has no plot"):
        assay.compare(result, resamples=100, permutations=100).plot()


def test_systems_and_profiles_have_a_plot():
    import matplotlib as mpl

    mpl.use("Agg")
    rows = []
    for system, right in (("a", 9), ("b", 3)):
        for item in range(12):
            rows.append({"reference": f"x{item}", "candidate": f"x{item * (item < right)}", "label": int(item < right)})
            rows[-1] |= {"system": system, "question": f"q{item}"}
    panel = assay.systems(assay.run(rows, ["em"], resamples=100), resamples=100).plot()
    points, bars = drawn(panel)
    assert points == {0: 0.75, 1: 0.25}
    assert [text.get_text() for text in panel.get_yticklabels()] == ["a", "b"]
    assert all(bars[row][0] < points[row] < bars[row][1] for row in points)
    profile = assay.profile(metrics=["f1"], pairs=[8, 16], lengths=[1])
    (line,) = profile.plot().lines
    assert list(line.get_xdata()) == [8, 16]
    assert "f1" in repr(profile)
