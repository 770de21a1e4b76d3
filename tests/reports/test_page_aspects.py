"""The aspect view: numbers against their definition, what is escaped, what is drawn where; and in a real browser."""

from __future__ import annotations

import re
import shutil
from html import unescape

import numpy as np
import pytest
from scipy.stats import rankdata

from assay.analysis.aspects import RESIDUAL
from assay.analysis.errors.tags import tag_pairs
from assay.analysis.folder import read_run
from assay.cli import app
from assay.exceptions import InputError
from assay.reports.page.aspects import aspect_models, draw_aspects, draw_profile
from assay.reports.page.render import page_html
from assay.reports.units import read_units
from tests.reports.aspect_run import ASPECTS, WHOLE, N, make_aspect_run, metrics
from tests.reports.page_run import edit, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aspects")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        return make_aspect_run(folder / "run")


@pytest.fixture(scope="module")
def units(run):
    return read_units([read_run(run)])


@pytest.fixture(scope="module")
def html(run):
    return page_html([read_run(run)], leaderboard=False)


@pytest.mark.slow
def test_the_manifest_says_which_metric_is_an_aspect_of_which(run, units):
    facts = units[0].data.metrics
    assert [(record.declared.aspect, record.declared.whole) for record in facts.values()] == [
        ("", ""),
        *((name, WHOLE) for name in ASPECTS),
    ]
    (model,) = aspect_models(units)
    assert (model.whole_metric, model.title) == (WHOLE, "s3bert:…/s3bert")
    assert model.aspects == {name: f"{WHOLE}#{name}" for name in ASPECTS}
    assert len(model.units) == 2


def test_every_aspect_has_its_agreement_and_its_place_on_every_dataset(run, units):
    (model,) = aspect_models(units)
    figure = draw_aspects(model, "spearman")
    values = {
        (row.metric, row.dataset): (row.value, row.low, row.high)
        for row in read_run(run).agreement
        if row.statistic == "spearman" and row.bucket == "all"
    }
    assert len(figure.table.rows) == 2 * 18
    for aspect, dataset, *shown, note in figure.table.rows:
        name = WHOLE if aspect == "(whole)" else f"{WHOLE}#{aspect}"
        assert [float(number) for number in shown] == pytest.approx(values[name, dataset], abs=6e-5)
        assert note == ""
    assert figure.svg.count("<circle") == 2 * 17
    # a line's dot stands where the axis says: from two marks of the first panel
    marks = dict(re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle">(0|\.4)</text>', figure.svg)[:2])
    (zero, at_zero), (four, at_four) = [(float(x), label) for x, label in marks.items()]
    assert (at_zero, at_four) == ("0", ".4")
    first = float(re.search(r'<circle cx="([\d.]+)"', figure.svg)[1])
    value = values[f"{WHOLE}#smatch", "data-0"][0]
    assert first == pytest.approx(zero + (four - zero) * value / 0.4, abs=0.11)


def test_a_profile_is_the_mean_of_the_diverging_pairs_of_a_category(units):
    unit, (model,) = units[0], aspect_models(units)
    profile = draw_profile(unit, model, tag_pairs(unit.data, 0))
    labels = unit.data.labels
    residual = (rankdata(unit.data.scores[WHOLE]) - rankdata(labels)) / N
    chosen = (np.abs(residual) >= RESIDUAL) & (np.arange(N) % 12 == 5)
    assert 3 <= chosen.sum() <= N / 12
    rows = {(row[0], row[3]): row for row in profile.figure.table.rows}
    for aspect in ASPECTS:
        scores = unit.data.scores[f"{WHOLE}#{aspect}"]
        _, n, too_high, _, mean, less, apart = rows["negation", aspect]
        assert (int(n), int(too_high)) == (chosen.sum(), (chosen & (residual > 0)).sum())
        assert float(mean) == pytest.approx(scores[chosen].mean(), abs=6e-5)
        assert float(less) == pytest.approx(scores[chosen].mean() - scores.mean(), abs=6e-5)
        assert float(apart) == pytest.approx((scores[chosen].mean() - scores.mean()) / scores.std(), abs=6e-3)
        assert float(rows["all pairs", aspect][4]) == pytest.approx(scores.mean(), abs=6e-5)
    # negation alone is low where a word is negated
    assert profile.figure.svg.count('class="below"') == 1
    assert "negation: negation." in profile.figure.svg


@pytest.mark.slow
def test_without_categories_or_diverging_pairs_there_is_no_profile(units, tmp_path):
    unit, (model,) = units[0], aspect_models(units)
    tagged = tag_pairs(unit.data, 0)
    nothing = tagged.__class__([], [], np.zeros(N + 1, dtype="<u4"), np.array([], dtype="<u2"), [])
    assert draw_profile(unit, model, nothing) is None
    perfect = make_aspect_run(tmp_path / "few", datasets=1, limit=5)
    (small,) = read_units([read_run(perfect)])
    (model,) = aspect_models([small])
    assert draw_profile(small, model, tag_pairs(small.data, 0)) is None
    assert 'id="aspects"' in page_html([read_run(perfect)], leaderboard=False)


def test_aspects_whose_whole_was_not_scored(tmp_path):
    folder = make_aspect_run(tmp_path / "run", datasets=1, metrics=metrics(ASPECTS[:3], whole=False), resamples=0)
    (unit,) = read_units([read_run(folder)])
    (model,) = aspect_models([unit])
    figure = draw_aspects(model, "pearson")
    assert [row[0] for row in figure.table.rows] == list(ASPECTS[:3])
    assert "ceiling" not in figure.svg
    assert draw_profile(unit, model, tag_pairs(unit.data, 0)).metric == f"{WHOLE}#smatch"
    assert draw_aspects(model, "auc") is None


def test_the_same_aspect_under_other_options_keeps_its_name(run, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)

    def rename(manifest):
        for one in manifest["metrics"]:
            if one["metric"].endswith("#wlk"):
                one["declared"]["aspect"] = "smatch"

    (model,) = aspect_models(read_units([edit(copy, "run.json", rename)]))
    assert list(model.aspects)[:3] == ["smatch", "s3bert:…/s3bert#wlk", "wwlk"]


def test_two_runs_with_the_same_aspect_under_other_options_lose_none(run, units):
    others = read_units([read_run(run)])
    for unit in others:
        facts = unit.data.metrics
        facts[f"{WHOLE}#smatch,vectors=x"] = facts.pop(f"{WHOLE}#smatch")
        unit.names[f"{WHOLE}#smatch,vectors=x"] = "smatch with x"
    (model,) = aspect_models([*units, *others])
    own = {name: f"{WHOLE}#{name}" for name in ASPECTS}
    assert model.aspects == own | {"smatch with x": f"{WHOLE}#smatch,vectors=x"}


@pytest.mark.slow
def test_a_profile_shows_at_once_where_the_first_model_has_none(run, tmp_path):
    few = make_aspect_run(tmp_path / "few", datasets=1, limit=5)

    def rename(manifest):
        for one in manifest["metrics"][1:]:
            one["declared"]["whole"] = "s3bert:/models/other"

    page = page_html([edit(few, "run.json", rename), read_run(run)], leaderboard=False)
    figures = re.findall(r'<figure class="view" data-model="(.)" data-unit="[^"]*"( data-alternative)?>', page)
    assert figures == [("1", ""), ("1", " data-alternative")]


@pytest.mark.slow
def test_the_page_has_the_view_and_escapes_names(html):
    assert '<li><a href="#aspects">Aspects</a></li>' in html
    assert "svg .below" in html
    assert "<b>&odd" not in html
    assert "&lt;b&gt;&amp;odd" in html
    assert html.count('<figure class="view" data-model="0" data-statistic=') == 3
    assert html.count('<figure class="view" data-model="0" data-unit=') == 2
    assert "undefined" not in unescape(html[html.index('<section id="aspects"') : html.index('<section id="cost"')])


def test_a_page_without_aspects_has_no_trace_of_them(tmp_path):
    page = page_html([read_run(make_run(tmp_path))], leaderboard=False).lower()
    assert "aspect" not in re.sub(r'<script type="application/octet-stream".*?</script>', "", page)


def test_a_declaration_of_another_kind_is_one_line(run, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    with pytest.raises(InputError, match=r"run.json: metrics.1.declared.aspect: Input should be a valid string"):
        edit(copy, "run.json", lambda manifest: manifest["metrics"][1]["declared"].update(aspect=3))


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        ("compare", "-m", WHOLE, "-m", f"{WHOLE}#negation", "--permutations", "100", "--resamples", "100"),
        ("errors", "-m", f"{WHOLE}#negation"),
        ("thresholds", "-m", f"{WHOLE}#negation", "--positive", "label>=0.5"),
    ],
)
def test_verbs_take_names_with_a_hash(run, given, capsys):
    with pytest.raises(SystemExit) as ended:
        app([given[0], str(run), *given[1:], "--format", "md"], prog_name="assay")
    out = capsys.readouterr()
    assert ended.value.code in (0, None), out.err
    assert f"{WHOLE}#negation" in out.out.replace("\\", "")


@pytest.mark.slow
def test_the_view_in_a_browser(html, browser, tmp_path):
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    address = (tmp_path / "page.html").as_uri()
    heard = []
    page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
    page.on("console", lambda message: heard.append(message.text))
    page.goto(address)
    view = page.locator("#aspects")
    figures = view.locator("figure")
    assert [one.is_visible() for one in figures.all()] == [False, True, False, True, False]
    page.locator("#aspects-statistic").select_option("kendall")
    page.locator("#aspects-unit").select_option("unit-1")
    assert [one.is_visible() for one in figures.all()] == [False, False, True, False, True]
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    # names of aspects in the heads of columns stay apart and inside of the drawing
    boxes = view.locator("figure:visible svg").last.evaluate(
        """(svg) => [...svg.querySelectorAll("text[transform]")].map((one) => {
            const box = one.getBoundingClientRect(), all = svg.getBoundingClientRect();
            return [box.left - all.left, box.top - all.top, all.right - box.right];
        })"""
    )
    assert len(boxes) == 17
    assert all(min(box) >= 0 for box in boxes)
    assert heard == []
