"""The leaderboard in a real browser (chromium), as a reader uses it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import assay
from assay.reports.page.leaderboard import leaderboard_html
from tests.browser import PATIENCE, violations
from tests.reports.board_run import SETS, make_runs, make_sets
from tests.reports.contrasts import CONTRASTS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        text = leaderboard_html(make_sets(make_runs(folder)))
    (folder / "board.html").write_text(text, encoding="utf-8")
    return (folder / "board.html").as_uri()


def visit(context, address):
    page = context.new_page()
    page.goto(address)
    page.locator("body[data-ready]").wait_for()
    return page


@pytest.fixture
def page(context, address):
    return visit(context, address)


def names(page, table="metrics"):
    """Return the heads of the rows of a table, without the mark of the best."""
    return [
        text.split("\n")[0].removesuffix("best?").strip()
        for text in page.locator(f"#{table} tbody th").all_inner_texts()
    ]


def open_matrix(page):
    page.get_by_text("Every metric on every dataset").first.click()
    # the browser says later that it was opened, and only then is it drawn
    page.locator("#cells tbody tr").first.wait_for()


def cell(page, name, head, table="metrics"):
    heads = [text.strip() for text in page.locator(f"#{table} thead th").all_inner_texts()]
    row = page.locator(f"#{table} tbody tr").filter(has=page.get_by_role("rowheader", name=name)).first
    return row.locator("th, td").nth(heads.index(head)).inner_text()


def number(text):
    return float(text.replace("−", "-"))


def address_of(page):
    """Return the address as the page itself knows it; that of the window comes later."""
    return page.evaluate("location.href")


def answer(page):
    return page.locator("#answer").inner_text()


def pick(page, name, value):
    page.locator(f"#filters select[name={name}]").select_option(value)


def test_the_answer_comes_first(page):
    assert answer(page).startswith("4 of 4 metrics on 5 datasets of 5, 400 pairs. The highest is recorded:good, .")
    assert names(page) == ["recorded:good", "recorded:fair", "recorded:<b>odd", "recorded:poor"]
    assert page.locator("#others").inner_text() == "recorded:poor: no comparable score on 1 of 5 datasets."
    assert cell(page, "recorded:poor", "scored") == "4 of 5"
    assert names(page, "sets") == list(SETS)


def test_filters_by_task_language_and_licence(page):
    pick(page, "task", "grading")
    assert names(page, "sets") == ["essays", "news", "forum"]
    pick(page, "language", "en")
    assert names(page, "sets") == ["essays", "news"] and "on 2 datasets of 5, 160 pairs" in answer(page)
    pick(page, "licence", "CC BY 4.0")
    assert names(page, "sets") == ["news"]
    # of a single dataset, no means and no counts
    heads = page.locator("#metrics thead th").all_inner_texts()
    assert "could be best on" not in heads and any(text.strip() == "ρ" for text in heads)
    page.get_by_role("button", name="Clear").click()
    assert names(page, "sets") == list(SETS)


def test_datasets_that_no_test_was_made_for(page):
    pick(page, "task", "sentences")
    pick(page, "licence", "MIT")
    assert names(page, "sets") == [] and "0 of 4 metrics on 0 datasets of 5" in answer(page)


def test_bucket_and_statistic(page):
    before = cell(page, "recorded:good", "mean ρ")
    pick(page, "statistic", "pearson")
    assert cell(page, "recorded:good", "mean r") != before
    pick(page, "bucket", "subset=short")
    assert "100 pairs" in answer(page)


def test_metrics_are_filtered_and_ranked_among_themselves(page):
    page.get_by_label("Metric contains").fill("ODD")
    assert names(page) == ["recorded:<b>odd"]
    assert cell(page, "recorded:<b>odd", "rank") == "1"
    assert cell(page, "recorded:<b>odd", "could be best on") == "5 of 5"
    page.get_by_label("Metric contains").fill("")
    assert cell(page, "recorded:<b>odd", "rank") == "3"


def test_ties_are_marked(page):
    marked = page.locator("#metrics tr.best th").all_inner_texts()
    assert [text.split("best?")[0].strip() for text in marked] == ["recorded:good", "recorded:fair"]
    assert "Could be the best, too: recorded:fair." in answer(page)
    shared = set(cell(page, "recorded:good", "alike")) & set(cell(page, "recorded:fair", "alike"))
    assert shared and not shared & set(cell(page, "recorded:<b>odd", "alike"))
    assert cell(page, "recorded:good", "rank") == "1 (1–2)"


def test_heads_sort(page):
    head = page.locator("#metrics thead th").filter(has_text="metric")
    head.get_by_role("button").click()
    ascending = names(page)
    assert ascending == sorted(ascending) and head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert names(page) == ascending[::-1]
    # what has no rank stands last either way
    rank = page.locator("#metrics thead th").filter(has_text="rank").get_by_role("button")
    rank.click()
    assert names(page)[-1] == "recorded:poor"
    rank.click()
    assert names(page)[-1] == "recorded:poor"


def test_two_metrics_are_compared_by_a_click(page):
    assert not page.locator("#duel").is_visible()
    page.get_by_label("Compare recorded:poor").check()
    # one is compared with the highest
    assert page.locator("#duel-head").inner_text() == "recorded:poor and recorded:good"
    assert names(page, "duels") and "own" not in names(page, "duels"), "it has no score there"
    said = page.locator("#duel-said").inner_text()
    assert said.startswith("recorded:poor is known to be better on 0 of 4 datasets, recorded:good on 4.")
    assert "not across datasets" in said
    assert page.locator("#duel-figure rect.second").count() == 4 + 1, "four datasets, and the legend"
    page.get_by_label("Compare recorded:fair").check()
    assert page.locator("#duel-head").inner_text() == "recorded:poor and recorded:fair"
    page.get_by_label("Compare recorded:good").check()
    assert page.locator("#duel-head").inner_text() == "recorded:fair and recorded:good"
    assert "they cannot be told apart" in page.locator("#duel-said").inner_text()
    differences = [number(text) for text in page.locator("#duels tbody td:nth-child(4)").all_inner_texts()]
    assert differences == sorted(differences, reverse=True) and len(differences) == 5


def test_the_state_is_in_the_address(context, page, address):
    pick(page, "language", "de")
    pick(page, "statistic", "kendall")
    page.get_by_label("Compare recorded:<b>odd").check()
    page.locator("#metrics thead th").filter(has_text="metric").get_by_role("button").click()
    other = visit(context, address_of(page))
    assert names(other) == names(page) and answer(other) == answer(page)
    assert other.locator("#filters select[name=language]").input_value() == "de"
    assert other.locator("#duel-head").inner_text() == page.locator("#duel-head").inner_text()


UNKNOWN = {
    "language": "xx",
    "task": "summaries",
    "licence": "none",
    "set": "stsb",
    "bucket": "f1%3D0",
    "statistic": "auc",
    "kind": "judge",
    "speed": "fast",
    "price": "-1",
    "sort": "nothing",
    "sets": "-nothing",
    "duels": "nothing",
    "cells": "set99",
    "compare": "%5B",
}


@pytest.mark.parametrize("key", UNKNOWN)
def test_a_value_that_the_page_lacks_is_left_out_of_the_address(context, page, address, key):
    other = visit(context, f"{address}#{key}={UNKNOWN[key]}&q=recorded")
    assert names(other) == names(page) and answer(other) == answer(page)
    assert names(other, "sets") == names(page, "sets")
    assert other.get_by_label("Metric contains").input_value() == "recorded", "the rest of the address holds"
    assert other.locator("#metrics th[aria-sort=descending]").inner_text().strip() == "mean ρ"


@pytest.mark.parametrize("compare", ["%5B%22recorded:gone%22%2C3%5D", "%7B%7D", "5", "null"])
def test_metrics_that_the_page_lacks_are_not_compared(context, address, compare):
    assert not visit(context, f"{address}#compare={compare}").locator("#duel").is_visible()


def test_a_metric_is_not_compared_with_itself(context, address):
    page = visit(context, f"{address}#compare=%5B%22recorded:poor%22%2C%22recorded:poor%22%5D")
    assert page.locator("#duel-head").inner_text() == "recorded:poor and recorded:good"


def test_the_cells_of_a_column_that_the_page_lacks_are_in_the_order_of_the_ranks(context, page, address):
    other = visit(context, f"{address}#cells=set99")
    for shown in (page, other):
        open_matrix(shown)
    assert names(other, "cells") == names(page, "cells") == names(page)


def test_a_column_of_means_is_not_there_for_one_dataset(page):
    page.locator("#metrics thead th").filter(has_text="highest on").get_by_role("button").click()
    assert "sort=-highest" in address_of(page)
    pick(page, "set", "news")
    assert page.locator("#metrics th[aria-sort=descending]").inner_text().strip() == "ρ"


@pytest.fixture(scope="module")
def plain_address(tmp_path_factory):
    """A page of one dataset without buckets, tasks and licence, so that most filters are not there."""
    folder = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        make_runs(folder)
        assay.agree(folder / "own.csv", buckets=["none"], resamples=0, out=folder / "plain")
        text = leaderboard_html(make_sets([folder / "plain"]))
    (folder / "board.html").write_text(text, encoding="utf-8")
    return (folder / "board.html").as_uri()


@pytest.mark.parametrize(
    "written",
    [
        "bucket=f1%3D0",
        "bucket=constructor",
        "task=grading",
        "licence=MIT",
        "statistic=auc",
        "speed=5",
        "price=0",
        "set=x",
    ],
)
def test_a_filter_that_the_page_lacks_is_left_out_of_the_address(context, plain_address, written):
    plain = visit(context, plain_address)
    other = visit(context, f"{plain_address}#{written}")
    assert names(other) == names(plain) == ["recorded:good", "recorded:fair", "recorded:<b>odd"]
    assert answer(other) == answer(plain)


def test_an_address_that_is_written_into_the_open_page(context, plain_address):
    page = visit(context, f"{plain_address}#q=odd")
    assert names(page) == ["recorded:<b>odd"]
    page.goto(f"{plain_address}#bucket=f1%3D0&statistic=none")
    page.locator("#metrics tbody tr").nth(2).wait_for()
    assert names(page) == ["recorded:good", "recorded:fair", "recorded:<b>odd"]


def test_the_matrix_has_every_metric_and_dataset(page):
    open_matrix(page)
    assert page.locator("#cells thead th").count() == 6 and page.locator("#cells tbody tr").count() == 4
    page.locator("#cells thead th").filter(has_text="captions").get_by_role("button").click()
    values = [number(text) for text in page.locator("#cells tbody td:nth-child(4)").all_inner_texts()]
    assert values == sorted(values, reverse=True)


def test_the_table_is_saved_as_csv(page):
    pick(page, "language", "de")
    with page.expect_download() as event:
        page.get_by_role("button", name="Download CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(event.value.path()).read_text(encoding="utf-8"))))
    assert event.value.suggested_filename == "leaderboard.csv"
    assert len(rows) == 4 + 2 * 4
    assert {row["dataset"] for row in rows} == {"mean over 2 datasets", "captions", "forum"}
    first = next(row for row in rows if row["metric"] == "recorded:good")
    assert float(first["low"]) < float(first["value"]) < float(first["high"]) and first["n"] == "160"


def test_the_keyboard_is_enough(page):
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'main'")
    box = page.get_by_label("Compare recorded:good")
    for _ in range(60):
        page.keyboard.press("Tab")
        if box.evaluate("(one) => one === document.activeElement"):
            break
    page.keyboard.press("Space")
    assert box.is_checked() and box.evaluate("(one) => one === document.activeElement"), "the focus stays"
    assert page.locator("#duel").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.get_by_label("Compare recorded:fair").check()
    assert page.evaluate(CONTRASTS) == {}


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_it_fits(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_label("Compare recorded:fair").check()
    open_matrix(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_without_scripts_it_names_the_command(browser, address):
    window = browser.new_context(java_script_enabled=False)
    window.set_default_timeout(PATIENCE)
    page = window.new_page()
    page.goto(address)
    assert "assay leaderboard RUNS" in page.locator("noscript").inner_text()
    window.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_rules_of_axe(browser, axe, address, width):
    # the policy of the page allows no other script: it is set aside for this one
    window = browser.new_context(bypass_csp=True, viewport={"width": width, "height": 800})
    window.set_default_timeout(PATIENCE)
    page = visit(window, address)
    page.get_by_label("Compare recorded:fair").check()
    open_matrix(page)
    assert violations(page, axe) == []
    window.close()
