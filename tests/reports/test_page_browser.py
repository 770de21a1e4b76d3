"""The page in a real browser (chromium), as a reader uses it."""

from __future__ import annotations

import re

import pytest

from assay.analysis.folder import read_run
from assay.reports.page.render import write_page
from tests.browser import PATIENCE, violations
from tests.reports.contrasts import CONTRASTS
from tests.reports.page_run import ODD, dataset, make_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of the same pairs, the second without f1 buckets."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        return [make_run(folder, "first"), make_run(folder, "second", buckets=["number"], statistics=["spearman"])]


@pytest.fixture(scope="module")
def address(runs, tmp_path_factory):
    return write_page([read_run(run) for run in runs], tmp_path_factory.mktemp("page")).as_uri()


#: Opens what is folded, but for the tables behind figures.
UNFOLD = "document.querySelectorAll('.fold').forEach((fold) => { fold.open = true; })"


def visit(context, address, *, unfolded=True):
    page = context.new_page()
    page.goto(address)
    page.locator("#pairs-list > li").first.wait_for(state="attached")
    if unfolded:
        page.evaluate(UNFOLD)
    return page


@pytest.fixture
def page(context, address):
    return visit(context, address)


@pytest.fixture
def pairs(runs):
    return dataset(runs[0])


TABLE = "table.agreement >> nth=1"  # Pearson comes first, Spearman is what is shown


def column(page, number):
    rows = page.locator(f"{TABLE} >> tbody tr").all()
    return [row.locator("th, td").nth(number).inner_text() for row in rows]


def head(page, name):
    return page.locator(f"{TABLE} >> thead th").filter(has_text=re.compile(rf"(^|\s){re.escape(name)}(\s|$)"))


def said(page):
    return page.locator("#pairs-said").inner_text()


def settle(page):
    """Wait until what was typed has been searched for."""
    # by a clock of the page: the search waits by the same clock, for less time
    page.evaluate("new Promise((done) => setTimeout(done, 250))")


def shown_pairs(page):
    """Return number, label and texts of the pairs that are listed."""
    return page.evaluate(
        """() => [...document.querySelectorAll("#pairs-list > li")].map((item) => ({
            id: item.querySelector("bdi").textContent,
            label: Number(item.querySelector("strong").textContent),
            apart: Number(item.querySelectorAll("strong")[1].textContent.replace("−", "-")),
            texts: [...item.querySelectorAll("dd[dir=auto]")].map((one) => one.textContent),
            scores: [...item.querySelectorAll(".scores dd")].map((one) => one.textContent),
        }))"""
    )


# tables


def test_heads_sort_by_click(page, runs):
    values = {
        row.metric: row.value
        for row in read_run(runs[0]).agreement
        if row.statistic == "spearman" and row.bucket == "all"
    }
    best_first = sorted(values, key=lambda name: -values[name])
    assert column(page, 0) == best_first
    assert head(page, "all").get_attribute("aria-sort") == "descending"
    head(page, "all").get_by_role("button").click()
    assert column(page, 0) == sorted(best_first, key=values.__getitem__)
    assert head(page, "all").get_attribute("aria-sort") == "ascending"
    head(page, "metric").get_by_role("button").click()
    assert column(page, 0) == sorted(values)
    assert head(page, "all").get_attribute("aria-sort") is None
    assert page.locator(f"{TABLE} >> tfoot th").inner_text() == "tie-free ceiling"


def test_undefined_values_stand_last_either_way(page):
    button = head(page, "f1=0").get_by_role("button")
    button.click()
    assert head(page, "f1=0").get_attribute("aria-sort") == "descending"
    assert column(page, 2)[-1].startswith("–")
    button.click()
    assert head(page, "f1=0").get_attribute("aria-sort") == "ascending"
    assert column(page, 2)[-1].startswith("–")
    assert not column(page, 2)[0].startswith("–")


def test_the_tables_are_filtered(page):
    tools = page.get_by_role("search", name="Filter the agreement tables")
    tools.get_by_label("Metric contains").fill("CHR")
    rows = page.locator(f"{TABLE} >> tbody tr")
    assert [row.is_visible() for row in rows.all()] == [
        row.get_attribute("data-metric") == "chrf" for row in rows.all()
    ]
    assert tools.get_by_role("status").inner_text() == "1 of 3 metrics"
    assert page.locator("#agreement svg:visible g.dim[data-metric=f1]").count() > 0
    tools.get_by_label("Metric contains").fill("")
    tools.get_by_label("Bucket").select_option("f1>0")
    heads = page.locator(f"{TABLE} >> thead th:visible").all_inner_texts()
    assert [text.split()[0] for text in heads] == ["metric", "f1>0"]
    panels = page.locator("#agreement article >> nth=0 >> svg:visible")
    assert [one.get_attribute("data-bucket") for one in panels.all()] == ["f1>0"]
    tools.get_by_label("Dataset").select_option(index=2)
    articles = page.locator("#agreement article")
    assert [one.is_visible() for one in articles.all()] == [False, True]


def test_statistics_are_chosen(page):
    figures = page.locator("#agreement article").first.locator("figure svg")
    # a panel for each of three buckets
    assert [one.is_visible() for one in figures.all()] == [False] * 3 + [True] * 3 + [False] * 3
    page.locator("#agreement-statistic").select_option("kendall")
    assert [one.is_visible() for one in figures.all()] == [False] * 6 + [True] * 3
    second = page.locator("#agreement article").last
    assert second.get_by_text("Kendall τ-b was not computed in this run.").is_visible()
    page.locator("#agreement-statistic").select_option("spearman")
    assert second.get_by_text("was not computed").filter(visible=True).count() == 0


def test_a_list_offers_what_the_dataset_has(page):
    page.locator("#distributions-bucket").select_option("f1=0")
    page.locator("#distributions-unit").select_option("unit-1")
    assert page.locator("#distributions-bucket").input_value() == "all"
    options = page.locator("#distributions-bucket option")
    enabled = [one.inner_text() for one in options.all() if one.is_enabled()]
    assert enabled == ["all", "number=yes", "number=no"]
    assert page.locator("#distributions figure.view:visible").count() == 1


# pairs


def test_pages(page):
    assert said(page) == "Pairs 1 to 20 of 64."
    pages = page.get_by_role("navigation", name="Pages of pairs")
    assert pages.get_by_role("button", name="Previous").is_disabled()
    seen = [one["id"] for one in shown_pairs(page)]
    for _ in range(3):
        pages.get_by_role("button", name="Next").click()
        seen += [one["id"] for one in shown_pairs(page)]
    assert len(seen) == len(set(seen)) == 64
    assert said(page) == "Pairs 61 to 64 of 64."
    assert pages.get_by_role("button", name="Last").is_disabled()
    pages.get_by_label("Page").fill("2")
    pages.get_by_label("Page").press("Enter")
    assert said(page) == "Pairs 21 to 40 of 64."
    pages.get_by_role("button", name="First").click()
    assert said(page).startswith("Pairs 1 to 20")


def test_the_largest_disagreement_comes_first(page, pairs):
    from scipy.stats import rankdata

    for metric in ("chrf", "ter"):
        page.locator("#pairs-metric").select_option(metric)
        apart = (rankdata(pairs.oriented_scores(metric)) - rankdata(pairs.labels)) / 64
        shown = [one["apart"] for one in shown_pairs(page)]
        assert shown == pytest.approx(sorted(apart, key=lambda value: -abs(value))[:20], abs=0.0051)
    page.locator("#pairs-sort").select_option("below")
    assert [one["apart"] for one in shown_pairs(page)] == pytest.approx(sorted(apart)[:20], abs=0.0051)


def test_scores_stand_beside_each_pair(page, pairs):
    page.locator("#pairs-sort").select_option("order")
    for row, shown in enumerate(shown_pairs(page)):
        assert shown["label"] == pairs.labels[row]
        expected = [f"{pairs.scores[metric][row]:.3f}" for metric in ("f1", "chrf", "ter")]
        assert shown["scores"] == expected


def test_pairs_are_filtered(page, pairs):
    labels, f1 = pairs.labels, pairs.scores["f1"]
    page.locator("#pairs-class").select_option("2")
    assert said(page) == f"Pairs 1 to {(labels == 2).sum()} of {(labels == 2).sum()}; 64 in all."
    page.locator("#pairs-bucket").select_option("f1=0")
    both = (labels == 2) & (f1 == 0)
    assert said(page) == (
        "None of 64 pairs fits." if not both.any() else f"Pairs 1 to {both.sum()} of {both.sum()}; 64 in all."
    )
    page.get_by_role("button", name="Clear").click()
    settle(page)
    assert said(page) == "Pairs 1 to 20 of 64."
    page.locator("#pairs-metric").select_option("f1")
    page.locator("#pairs-low").fill("0.4")
    page.locator("#pairs-high").fill("0.9")
    settle(page)
    inside = ((f1 >= 0.4) & (f1 <= 0.9)).sum()
    assert f"of {inside}; 64 in all." in said(page)


def test_categories_are_filtered_and_say_why(page):
    page.locator("#pairs-category").select_option(label="date and temporal (4)")
    assert said(page) == "Pairs 1 to 4 of 4; 64 in all."
    tags = page.locator("#pairs-list dd.tag").all_inner_texts()
    assert tags == ["date and temporal: annotated in the data"] * 4
    assert "People gave a category to 4 of 64 pairs" in page.locator("#tagged-unit-0").inner_text()


def test_texts_are_searched(page):
    page.locator("#pairs-text").fill("RIVER number 17")
    settle(page)
    (found,) = shown_pairs(page)
    assert found["texts"][1] == "river number 17"
    assert page.locator("#pairs-list mark").all_inner_texts() == ["river number 17"]
    page.locator("#pairs-text").fill("עולם")
    settle(page)
    assert said(page) == "Pairs 1 to 1 of 1; 64 in all."
    page.locator("#pairs-text").fill("no such text")
    settle(page)
    assert said(page) == "None of 64 pairs fits."
    assert page.locator("#pairs-list > li").count() == 0


def test_odd_texts_are_shown_as_text(page):
    page.locator("#pairs-sort").select_option("order")
    visible = {**ODD, "override": "abc[U+202E]def", "control": "bell␇ and line[U+2028]end"}
    for shown, text in zip(shown_pairs(page), visible.values(), strict=False):
        assert shown["texts"][:2] == [text, text]
    assert page.title().startswith("Agreement with people")
    assert page.locator("#pairs-list script, #pairs-list b").count() == 0
    hebrew = page.locator("#pairs-list dd[dir=auto]", has_text="שלום").first
    assert hebrew.evaluate("(one) => getComputedStyle(one).direction") == "rtl"


def test_another_dataset(page):
    page.locator("#pairs-unit").select_option("unit-1")
    page.locator("#pairs-bucket option", has_text="number=yes").wait_for(state="attached")
    assert said(page) == "Pairs 1 to 20 of 64."


# two metrics


def test_the_scatter_draws_every_pair(page):
    page.wait_for_selector("#scatter-figure svg")
    assert page.locator("#scatter-said").inner_text().startswith("All 64 pairs.")
    page.locator("#scatter-x").select_option("f1")
    page.locator("#scatter-y").select_option("ter")
    assert page.locator("#scatter-figure title").text_content() == "ter against f1"
    page.locator("#scatter-behind summary").click()
    rows = page.locator("#scatter-behind tbody tr")
    rows.first.wait_for()
    assert rows.count() == 64
    page.locator("#scatter-bucket").select_option("f1=0")
    few = rows.count()
    assert 0 < few < 64
    assert set(page.locator("#scatter-behind tbody td:nth-child(2)").all_inner_texts()) == {"0"}
    circles = page.locator("#scatter-figure path.points").first.get_attribute("d").count("M")
    zeros = page.locator("#scatter-behind tbody td:nth-child(4)").all_inner_texts().count("0")
    assert circles == zeros


# by keyboard, in the dark, without scripts, on paper


def test_the_keyboard_is_enough(page):
    page.keyboard.press("Tab")
    skip = page.evaluate("document.activeElement.textContent")
    assert skip == "Skip to the content"
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'main'")
    button = head(page, "f1>0").get_by_role("button")
    for _ in range(60):
        page.keyboard.press("Tab")
        if button.evaluate("(one) => one === document.activeElement"):
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert head(page, "f1>0").get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert head(page, "f1>0").get_attribute("aria-sort") == "ascending"
    page.locator("#pairs-text").focus()
    page.keyboard.type("number 12")
    settle(page)
    assert "64 in all" in said(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settle(page)
    assert said(page) == "Pairs 1 to 20 of 64."


def test_everything_to_fill_in_has_a_name(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, svg, .scroll, nav")].filter((one) =>
            one.checkVisibility() && !one.labels?.length && !one.textContent.trim() && !one.ariaLabel).length"""
    )
    assert unnamed == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(page, scheme):
    page.emulate_media(color_scheme=scheme)
    assert page.evaluate(CONTRASTS) == {}


def test_dark_colours(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark colours").click()
    dark = page.evaluate(paper)
    assert dark == "rgb(21, 24, 28)"
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(paper) == "rgb(255, 255, 255)"


def test_dark_by_preference(page):
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    page.get_by_role("button", name="Light colours").wait_for()


def test_without_scripts_tables_and_figures_can_be_read(browser, address):
    window = browser.new_context(java_script_enabled=False)
    window.set_default_timeout(PATIENCE)
    page = window.new_page()
    page.goto(address)
    for summary in page.locator(".fold > summary").all():
        summary.click()
    # both datasets, three statistics and one, of three buckets each
    assert page.locator("table.agreement:visible").count() == 4
    assert page.locator("#agreement figure svg:visible").count() == 12
    assert page.locator("#distributions figure:visible").count() == 7
    assert page.locator("form:visible, #theme:visible, #pairs-pages:visible").count() == 0
    assert "needs JavaScript" in page.locator("#pairs noscript").inner_text()
    window.close()


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_it_fits(page, width):
    page.set_viewport_size({"width": width, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    """The page of a run of five metrics on one dataset with three buckets."""
    folder = tmp_path_factory.mktemp("five")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        run = make_run(folder, metrics=["f1", "chrf", "ter", "bleu", "levenshtein"])
    return (run / "report.html").as_uri()


def test_on_a_phone_the_answer_is_first_and_the_page_is_short(context, five):
    page = visit(context, five, unfolded=False)
    page.set_viewport_size({"width": 390, "height": 844})
    tops = {
        name: page.locator(name).first.bounding_box()["y"]
        for name in ("#summary dd", "#agreement svg:visible", "#distributions", "#pairs")
    }
    assert list(tops) == sorted(tops, key=tops.__getitem__)
    assert tops["#summary dd"] < 844, "the first answer is in sight"
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    # the panels stand below each other, and each fits
    boxes = [one.bounding_box() for one in page.locator("#agreement svg:visible").all()]
    assert len(boxes) == 3 and len({box["x"] for box in boxes}) == 1
    assert all(box["x"] + box["width"] <= 390 for box in boxes)
    page.set_viewport_size({"width": 1280, "height": 800})
    assert len({one.bounding_box()["y"] for one in page.locator("#agreement svg:visible").all()}) == 1


def test_what_is_folded_opens_where_a_link_leads(context, five):
    page = visit(context, five, unfolded=False)
    row = page.locator("#pairs-list > li").first
    assert not row.is_visible() and not page.locator("table.agreement").first.is_visible()
    link = page.get_by_role("navigation", name="Contents").get_by_role("link", name="Pairs")
    link.click()
    row.wait_for()
    page.locator("#pairs > .fold > summary").click()
    assert not row.is_visible()
    link.click()
    row.wait_for()
    visit(context, f"{five}#distributions", unfolded=False).locator("#distributions svg").first.wait_for()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_of_axe(browser, axe, five, width, scheme):
    # the policy of the page allows no other script: it is set aside for this one
    window = browser.new_context(bypass_csp=True, viewport={"width": width, "height": 800}, color_scheme=scheme)
    window.set_default_timeout(PATIENCE)
    page = visit(window, five, unfolded=False)
    for _ in ("folded", "unfolded"):
        assert violations(page, axe) == []
        page.evaluate(UNFOLD)
    window.close()


def test_on_paper(context, address):
    page = visit(context, address, unfolded=False)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("form:visible, header nav:visible").count() == 0
    assert page.locator("table.agreement:visible").count() == 2
    assert page.pdf()[:4] == b"%PDF"
