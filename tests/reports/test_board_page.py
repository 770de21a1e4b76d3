"""The page of a leaderboard: its numbers are those of ``assay leaderboard``, for every filter of datasets."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from itertools import combinations

import pytest

import assay
from assay.analysis.folder import read_run
from assay.analysis.leaderboard import explore as exploring
from assay.analysis.leaderboard.explore import filtered_groups
from assay.analysis.leaderboard.join import Filters, join_runs
from assay.api.leaderboard import with_cards
from assay.datasets import load_card
from assay.exceptions import InputError
from assay.reports.page.leaderboard import OUTCOME_SIGNS, leaderboard_html
from tests.cli.calling import call
from tests.reports.board_run import SETS, make_runs, make_sets


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        return make_runs(folder)


@pytest.fixture(scope="module")
def text(runs):
    return leaderboard_html(make_sets(runs))


def content(text):
    packed = gzip.decompress(base64.b64decode(re.search(r'id="data-board">([^<]*)<', text)[1]))
    length = int.from_bytes(packed[:4], "little")
    return json.loads(packed[4 : 4 + length])


def number_of(board, metric, data):
    at = board["ranked"].index([one["name"] for one in data["metrics"]].index(metric))
    return board["numbers"][3 * at : 3 * at + 3]


@pytest.mark.parametrize(
    "positions",
    [[0], [4], [0, 1], [1, 2], [2, 3], [0, 1, 2, 3, 4]],
    ids=lambda positions: "-".join(map(str, positions)),
)
@pytest.mark.parametrize("bucket", ["all", "subset=long"])
@pytest.mark.parametrize("statistic", ["spearman", "pearson"])
def test_the_numbers_are_those_of_the_command(runs, text, positions, bucket, statistic):
    data = content(text)
    board = data["boards"][bucket][statistic][",".join(map(str, positions))]
    chosen = [runs[position] for position in positions]
    report = assay.leaderboard(chosen, by=statistic, buckets=[bucket], statistics=[statistic], interval="influence")
    records = report.records
    of_means = records["dataset"].str.startswith("fixed mean") if len(positions) > 1 else records["dataset"] != ""
    rows = records[of_means].to_dict("records")
    ranked = [row for row in rows if row["rank"] == row["rank"]]
    assert [data["metrics"][metric]["name"] for metric in board["ranked"]] == [row["metric"] for row in ranked]
    assert len(ranked) == (3 if 4 in positions else 4)
    for row in ranked:
        expected = [row[statistic], row[f"{statistic}_low"], row[f"{statistic}_high"]]
        assert number_of(board, row["metric"], data) == pytest.approx(expected, abs=6e-6)
    # the bounds of the ranks follow from the signs, as the page counts them
    signs = dict(zip(combinations(board["ranked"], 2), board["signs"], strict=True))
    for metric, row in zip(board["ranked"], ranked, strict=True):
        beaten_by = sum(pair[1] == metric and sign == "+" for pair, sign in signs.items())
        beats = sum(pair[0] == metric and sign == "+" for pair, sign in signs.items())
        assert (1 + beaten_by, len(ranked) - beats) == (row["rank_low"], row["rank_high"])
    best = {data["metrics"][metric]["name"] for metric in board["best"]}
    assert best == {row["metric"] for row in rows if row["could_be_best"]}


def test_every_filter_has_a_board_and_nothing_else(runs):
    sets = make_sets(runs)
    names = list(SETS)
    groups = {tuple(names[position] for position in group) for group in filtered_groups(dict(enumerate(sets)))}
    assert groups == {
        *((name,) for name in names),
        tuple(names),
        ("essays", "news", "own"),  # en
        ("captions", "forum"),  # de
        ("essays", "news", "forum"),  # grading
        ("news", "captions"),  # sentences, and CC BY 4.0
        ("essays", "forum"),  # MIT
        ("essays", "news"),  # grading in en
    }


def test_boards_over_several_datasets_have_a_limit(runs, monkeypatch):
    monkeypatch.setattr(exploring, "MAX_TESTS", 3)
    groups = filtered_groups(dict(enumerate(make_sets(runs))))
    # three metrics are on all five, which takes three tests
    assert [len(group) for group in groups] == [1, 1, 1, 1, 1, 5]


def test_a_dataset_without_the_bucket_is_left_out(runs, tmp_path):
    plain = tmp_path / "plain"
    (tmp_path / "captions.csv").write_text((runs[2].parent / "captions.csv").read_text(encoding="utf-8"), "utf-8")
    assay.agree(tmp_path / "captions.csv", resamples=0, out=plain)
    data = content(leaderboard_html(make_sets([runs[0], plain, runs[3]])))
    assert "0,1,2" in data["boards"]["all"]["spearman"]
    assert {"0", "2", "0,2"} == set(data["boards"]["subset=long"]["spearman"])


def test_the_signs_are_the_outcomes(text):
    data = content(text)
    assert {sign for board in data["boards"]["all"]["spearman"].values() for sign in board["signs"]} <= {
        *OUTCOME_SIGNS.values()
    }
    board = data["boards"]["all"]["spearman"]["0"]
    assert data["metrics"][board["ranked"][-1]]["name"] == "recorded:poor" and board["signs"][-1] == "+"


def test_the_page_needs_no_network_and_holds_no_markup_of_others(text):
    assert "default-src 'none'" in text and "http" not in re.sub(r'"http://www.w3.org/2000/svg"|http-equiv', "", text)
    assert "<b>odd" not in text


def test_the_command(runs, tmp_path):
    out = tmp_path / "board.html"
    done = call("report", *runs[:2], "--for", "leaderboard", "--title", "Of ours", "--note", "For <you>", "--out", out)
    assert done.code == 0, done.err
    text = out.read_text(encoding="utf-8")
    assert "<h1>Of ours</h1>" in text and "For &lt;you&gt;" in text
    assert [one["title"] for one in content(text)["sets"]] == ["essays", "news"]
    assert call("report", *runs[:2], "--for", "leaderboard", "-d", "news", "--out", out).code == 0
    assert [one["title"] for one in content(out.read_text(encoding="utf-8"))["sets"]] == ["news"]
    assert call("report", runs[0], "--for", "leaderboard", "--out", tmp_path / "folder").code == 0
    assert (tmp_path / "folder" / "index.html").is_file()
    other = tmp_path / "other.html"
    other.write_text("<p>mine</p>", encoding="utf-8")
    assert "other.html" in call("report", runs[0], "--for", "leaderboard", "--out", other).complaint
    assert other.read_text(encoding="utf-8") == "<p>mine</p>"


def test_a_file_with_the_name_of_a_card_has_not_its_tasks_and_licence(tmp_path):
    (tmp_path / "stsb.csv").write_text("reference,candidate,label\na b,a c,1\nb,b,2\nc d,d e,0\n", encoding="utf-8")
    (tmp_path / "probe.csv").write_text("reference,candidate,label\na b,a c,1\nb,b,2\nc d,d e,0\n", encoding="utf-8")
    for number, data in enumerate([tmp_path / "stsb.csv", tmp_path / "probe.csv", "probe"]):
        assay.run([data], ["f1"], limit=3, resamples=0, buckets=["none"], page=False, out=tmp_path / str(number))
    of_file, of_other, of_card = join_runs([read_run(tmp_path / str(number)) for number in range(3)], Filters())
    card = load_card("probe")
    assert [found for _, found in with_cards([of_file, of_other, of_card])] == [None, None, card]
    facts = of_card.data.facts.model_copy(update={"version": "another"})
    assert next(with_cards([replace(of_card, data=replace(of_card.data, facts=facts))]))[1] is None
    page = assay.report(tmp_path / "0", tmp_path / "page.html", audience="leaderboard")
    [shown] = content(page.read_text(encoding="utf-8"))["sets"]
    assert (shown["tasks"], shown["licence"], shown["terms"]) == ([], "", "")


@pytest.mark.parametrize("setting", [("--budget", "100/s"), ("--no-leaderboard",), ("--no-categories",)])
def test_settings_of_other_pages_are_refused(runs, tmp_path, setting):
    done = call("report", runs[0], "--for", "leaderboard", *setting, "--out", tmp_path / "page")
    assert done.code == 2 and "has no such setting" in done.complaint and not (tmp_path / "page").exists()


def test_labels_that_rank_nothing(tmp_path):
    run = assay.run(["probe"], ["f1", "em"], limit=20, resamples=0, buckets=["none"], out=tmp_path / "run")
    with pytest.raises(InputError, match="no dataset has labels that rank metrics: probe"):
        assay.report(run, tmp_path / "page", audience="leaderboard")
