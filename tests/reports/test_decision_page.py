"""The page for a decision: its numbers are those of recommend and thresholds, and it says what is not known."""

from __future__ import annotations

import html
import re
import shutil
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import assay
from assay.exceptions import InputError
from assay.reports.decision.examples import one_line_excerpt
from assay.reports.decision.limits import labels_needed_sentence
from assay.reports.decision.phrases import natural_frequency, two_digit_text
from assay.reports.decision.write import whole_percentages
from assay.statistics.annotators import krippendorff_alpha
from tests.reports.page_run import ODD, edit

WORDS = ["river", "lake", "bridge", "castle", "harbour", "museum", "theatre", "market", "garden", "tower", "station"]


def rows(n=160, *, grades=2, seed=0):
    """Return pairs whose candidates share a number of words with the references; labels follow it with noise."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(n):
        gold = random.choice(WORDS, 4, replace=False)
        shared = int(random.integers(0, 5))
        others = [f"thing{number}x{place}" for place in range(4 - shared)]
        noisy = (shared + random.normal(0, 1)) / 4
        label = int(np.clip(round(noisy * (grades - 1)), 0, grades - 1))
        if random.random() < 0.1:
            label = grades - 1 - label
        odd = list(ODD.values())[number // 2 % len(ODD)]
        pair = {"question": f"{odd} {number // 2}", "reference": " ".join(gold), "label": label}
        found.append(pair | {"candidate": " ".join([*gold[:shared], *others, odd])})
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a_folder_with_a_long_name_as_those_of_users_often_are")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def recommended(folder):
    """The advice of recommend, which kept its run in a folder."""
    report = assay.recommend(
        rows(), ["f1", "chrf", "em"], out=folder / "two", buckets=["f1"], group_by="question", statistics=["auc"]
    )
    return next(record for record in report.records.to_dict("records") if record["bucket"] == "all")


@pytest.fixture(scope="module")
def run(folder, recommended):
    return folder / "two"


class _Text(HTMLParser):
    """The texts of a page outside of its style, and its tags."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags, self.inside = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside = tag

    def handle_data(self, data):
        if self.inside != "style" and data.strip():
            self.texts.append(" ".join(data.split()))


@pytest.fixture(scope="module")
def page(run, folder):
    return page_of(run, folder / "page.html")


@pytest.fixture(scope="module")
def threshold(run, recommended):
    """What thresholds says of the recommended metric."""
    (record,) = assay.thresholds(run, [recommended["use"]]).records.to_dict("records")
    return record


def page_of(run, out, **settings):
    path = assay.report(run, out, audience="decision", **settings)
    return path.read_text(encoding="utf-8")


def answers(page):
    """Return what the page says of metric, threshold, errors, cost and labels."""
    return dict(re.findall(r"<dt>(\w+)</dt><dd>(.+?)</dd></div>", page))


@pytest.mark.slow
def test_it_names_the_metric_of_recommend_and_the_threshold_of_thresholds(page, recommended, threshold):
    use = recommended["use"]
    head = re.search(r'<h2 id="answer-head">(.+?)</h2>', page).group(1)
    assert head == f"Use {use}, and count a score of at least {threshold['deploy']:.3g} as yes"
    # chrf is about as good, and takes the place of f1 where this machine happened to score it twice as fast
    what_it_measures = {
        "f1": "f1, which measures how many of their words the two texts have in common.",
        "chrf": "chrf, which compares sequences of characters.",
    }
    assert answers(page)["Metric"].startswith(what_it_measures[use])
    assert f"<p>The threshold in full: {threshold['deploy']!r}</p>" in page
    wrong, low, high = 1 - threshold["accuracy"], 1 - threshold["accuracy-high"], 1 - threshold["accuracy-low"]
    assert f"Expect {100 * wrong:.0f} of 100 decisions to be wrong: {wrong:.1%} of those" in page
    assert f"between {low:.1%} and {high:.1%} (95% interval)" in page
    assert f"The metric says no to {1 - threshold['recall']:.1%} of the pairs that people call yes" in page
    value = f"{recommended['use_value']:.3f} [{recommended['use_low']:.2f}, {recommended['use_high']:.2f}]"
    assert f"AUC {value.replace('0.', '.')} on a new sample" in page
    speed = recommended["use_pairs_per_second"]
    assert f"{two_digit_text(speed)} pairs per second" in answers(page)["Cost"]
    yes_and_no = f"{threshold['yes']} of them yes and {160 - threshold['yes']} no"
    assert answers(page)["Labels"].startswith(f"160 labelled pairs, {yes_and_no}, in 80 groups, one per question,")


def test_its_picture_has_the_decisions_of_thresholds(page, threshold):
    counts = [int(number) for number in re.findall(r"</svg> [^<]+?: (\d+) of 160</li>", page)]
    hits, rests, alarms, misses = counts
    assert sum(counts) == 160
    assert hits / (hits + alarms) == pytest.approx(threshold["precision"])
    assert hits / (hits + misses) == pytest.approx(threshold["recall"])
    assert (hits + rests) / 160 == pytest.approx(threshold["accuracy"])
    picture = page[page.index("One hundred decisions") : page.index('<ul class="legend">')]
    assert len(re.findall(r"<(?:circle|rect) ", picture)) == 100


def test_always_saying_yes_may_be_wrong_less_often(tmp_path):
    pairs, random = rows(300), np.random.default_rng(3)
    for pair in pairs:
        shared = len(set(pair["reference"].split()) & set(pair["candidate"].split()))
        pair["label"] = int(random.random() > (0.25 if shared <= 1 else 0.04))
    assay.run(pairs, ["f1", "em"], out=tmp_path / "run", buckets=["f1"])
    errors = answers(page_of(tmp_path / "run", tmp_path / "page.html"))["Errors"]
    always = 1 - np.mean([pair["label"] for pair in pairs])
    assert (
        f"Always saying yes would be wrong on {always:.1%} of these pairs and never find a “no”: the metric" in errors
    )


@pytest.mark.slow
def test_another_criterion_is_that_of_thresholds(run, recommended, tmp_path):
    page = page_of(run, tmp_path / "page.html", cost="fp=5,fn=1")
    (threshold,) = assay.thresholds(run, [recommended["use"]], cost="fp=5,fn=1").records.to_dict("records")
    assert f"count a score of at least {threshold['deploy']:.3g} as yes" in page
    assert "chosen for the lowest cost, if a false yes costs 5 and a false no 1" in page
    assert f"a decision costs {threshold['cost']:.3g} on average" in page
    page = page_of(run, tmp_path / "page.html", precision=0.97)
    (threshold,) = assay.thresholds(run, [recommended["use"]], precision=0.97).records.to_dict("records")
    reached = f"{threshold['precision']:.3f}".removeprefix("0")
    assert threshold["precision"] < 0.97
    assert f"Target missed: precision 0.97 is not reached: it has {reached} on the pairs tested" in page
    assert "while people agree with at least 97% of its decisions for yes" in page


def test_it_says_what_the_metric_does_not_see(run, page):
    frame = assay.leaderboard(run, buckets=["f1=0"], statistics=["auc"]).records
    n = int(frame["n"].iloc[0])
    assert re.search(rf"<li>{n} pairs have no word in common: \d+\.\d% of the decisions on them are wrong\.", page)
    assert ": there it may do no better than guessing" in page
    assert "The data does not show how well people agree with each other" in page
    assert "All of this holds for pairs like these" in page


@pytest.mark.slow
def test_annotators_of_graded_labels_are_compared_in_their_order(folder, tmp_path):
    # two annotators that differ by one grade at most: as names their labels disagree, as grades hardly
    random = np.random.default_rng(1)
    graded = rows(grades=3)
    for row in graded:
        mean = row.pop("label")
        row["a1"], row["a2"] = mean, int(np.clip(mean + random.integers(-1, 2), 0, 2))
    columns = "label=a1+a2"
    assay.run(graded, ["f1", "chrf"], columns=columns, resamples=0, group_by="question", out=folder / "annotated")
    text = page_of(folder / "annotated", tmp_path / "page.html", positive="label>=1")
    annotations = np.array([[row["a1"], row["a2"]] for row in graded], dtype=float)
    ordinal, nominal = (krippendorff_alpha(annotations, level) for level in ("ordinal", "nominal"))
    assert ordinal > nominal + 0.1
    assert f"Krippendorff's α {ordinal:.2f},".replace(" 0.", " .") in html.unescape(text)


@pytest.mark.slow
def test_texts_of_the_data_and_of_the_user_are_shown_as_they_are(run, tmp_path):
    page = page_of(run, tmp_path / "page.html", title="<b>A & B</b>", note="<script>alert(1)</script>")
    parsed = _Text(page)
    assert "<b>A & B</b>" in parsed.texts and "<script>alert(1)</script>" in parsed.texts
    assert not {"script", "b", "img", "iframe"} & set(parsed.tags)
    assert "default-src 'none'" in page and "http" not in page.replace("http-equiv", "")
    assert "\u202e" not in page and "\u0007" not in page


def test_the_examples_agree_with_the_threshold(page):
    right, wrong = page.split("<h3>Judged as people do</h3>")[1].split("<h3>Judged differently from people</h3>")
    for part, same in ((right, True), (wrong, False)):
        people = re.findall(r"<dt>People</dt><dd><strong>(yes|no) \(label [01]\)", part)
        metric = re.findall(r"<dt>Metric</dt><dd><strong>(yes|no) \(score [\d.]+\)", part)
        assert len(people) == len(metric) == 3
        assert all((one == other) is same for one, other in zip(people, metric, strict=True))
        assert {"yes", "no"} == set(metric), "of both kinds"


@pytest.mark.slow
def test_the_same_run_gives_the_same_page(run, page, tmp_path):
    assert page_of(run, tmp_path / "page.html") == page


@pytest.mark.slow
def test_as_markdown_and_in_a_folder(run, tmp_path):
    text = page_of(run, tmp_path / "page.md", title="For the board", note="Draft")
    assert "### For the board\n\nDraft\n" in text
    assert "\n- Errors: Expect " in text and "| question | reference | candidate | people | metric |" in text
    assert assay.report(run, tmp_path / "folder", audience="decision") == tmp_path / "folder" / "index.html"
    assert assay.report(run, tmp_path / "folder", audience="decision").is_file(), "an earlier page is replaced"
    assert page_of(run, tmp_path / "page.md", title="Again").count("Again") == 1


@pytest.mark.slow
def test_one_metric_leaves_no_choice(folder, tmp_path):
    assay.run([rows()], ["f1"], out=folder / "one", resamples=0)
    page = page_of(folder / "one", tmp_path / "page.html")
    assert "There was nothing to choose from: the run has one metric." in page


@pytest.mark.slow
def test_graded_labels_need_a_rule_for_a_threshold(folder, tmp_path):
    assay.run([rows(grades=5)], ["f1", "chrf"], out=folder / "graded", resamples=0)
    page = page_of(folder / "graded", tmp_path / "page.html")
    assert answers(page)["Threshold"].startswith("None yet. The labels have 5 values from 0 to 4")
    assert "--positive &#39;label&gt;=4&#39;" in page
    assert "Errors" not in answers(page) and "One hundred decisions" not in page
    assert "<h3>Ranked as people do</h3>" in page
    frame = assay.leaderboard(folder / "graded", statistics=["somers-d"], by="somers-d").records
    use = re.search(r"Use ([\w-]+)</h2>", page).group(1)
    d = float(frame.loc[frame["metric"] == use, "somers-d"].iloc[0])
    assert f"gives the better one the higher score in {100 * (1 + d) / 2:.0f} of 100 cases" in page
    page = page_of(folder / "graded", tmp_path / "page.html", positive="label>=3")
    (threshold,) = assay.thresholds(folder / "graded", [use], positive="label>=3").records.to_dict("records")
    assert f"score of at least {threshold['deploy']:.3g} as yes" in page
    assert "Yes means a label of at least 3." in answers(page)["Threshold"]
    with pytest.raises(InputError, match=r"makes all pairs of .* no"):
        page_of(folder / "graded", tmp_path / "page.html", positive="label>=9")


@pytest.mark.slow
def test_too_few_pairs_and_labels_of_no_people(folder, tmp_path):
    assay.run([rows(8)], ["f1", "chrf"], out=folder / "few", resamples=0)
    page = page_of(folder / "few", tmp_path / "page.html")
    assert "No metric can be recommended" in page and "too few pairs for an interval" in page
    assert "Examples" not in page
    assay.run(["probe"], ["f1", "chrf"], out=folder / "probe", resamples=0, limit=60)
    assert "labels follow a rule, not several annotators" in page_of(folder / "probe", tmp_path / "page.html")


@pytest.mark.slow
def test_a_metric_for_which_lower_is_better(folder, tmp_path):
    assay.run([rows()], ["ter"], out=folder / "ter", resamples=0)
    page = page_of(folder / "ter", tmp_path / "page.html")
    (threshold,) = assay.thresholds(folder / "ter").records.to_dict("records")
    assert f"count a score of at most {threshold['deploy']:.3g} as yes" in page
    assert f"at most {threshold['deploy']:.3g} (a low score is better)" in page


def test_what_a_page_for_a_decision_refuses(run, folder, tmp_path):
    out = tmp_path / "page.html"
    other = shutil.copytree(run, tmp_path / "copy")
    with pytest.raises(InputError, match="2 runs: a page for a decision is about one"):
        assay.report([run, other], out, audience="decision")
    assay.run([rows(20), rows(20, seed=1)], ["f1"], out=tmp_path / "both", resamples=0)
    with pytest.raises(InputError, match='a page for a decision is about one of them, such as `datasets="data"`'):
        assay.report(tmp_path / "both", out, audience="decision")
    with pytest.raises(InputError, match='positive: only the page for a decision has it; add `audience="decision"`'):
        assay.report(run, tmp_path / "page", positive="label>=1")
    with pytest.raises(InputError, match="leaderboard: the page for a decision rests on the ranks"):
        assay.report(run, out, audience="decision", leaderboard=False)
    with pytest.raises(InputError, match="budget=fast: cannot be read"):
        assay.report(run, out, audience="decision", budget="fast")
    out.write_text("mine")
    with pytest.raises(InputError, match="holds something else than a page of assay"):
        assay.report(run, out, audience="decision")
    assert out.read_text() == "mine"


@pytest.mark.slow
def test_a_file_of_scores_has_no_examples_and_no_cost(tmp_path):
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 80)
    lines = [f"{label},{label + random.normal():.3f}" for label in labels]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(["label,judge_score", *lines]))
    page = page_of(file, tmp_path / "page.html")
    assert "Examples" not in page and "drawn at random" not in page
    assert answers(page)["Cost"] == "Unknown: its scores came with the data."
    assert "How well it does on pairs without a word in common is unknown: the run did not separate them." in page


@pytest.mark.slow
def test_prices_are_said_where_pairs_are_paid_for(run, page, tmp_path):
    def priced(price, **costs):
        """Return a copy of the run with one speed, in which f1 has this price and the metrics named these costs."""

        def change(manifest):
            for metric in manifest["metrics"]:
                if price and metric["metric"] == "f1":
                    metric["declared"]["kind"], metric["signature"] = "judge", {"metric": "judge"}
                metric["cost"] |= {"pairs_per_second": 20_000.0}
                metric["cost"] |= {"price_per_1000": price} if metric["metric"] == "f1" else {}
                metric["cost"] |= costs.get(metric["metric"], {})

        copy = tmp_path / f"{price}{len(costs)}"
        shutil.copytree(run, copy)
        return edit(copy, "run.json", change).path

    assert "free" not in answers(page)["Cost"], "no metric has a price"
    free = answers(page_of(priced(None, chrf={"price_per_1000": 0.9}), tmp_path / "free.html"))
    assert free["Cost"].endswith("pairs per second). It is free.")
    paid = priced(0.421, chrf={"price_per_1000": 0.3}, em={"price_per_1000": 0.5})
    assert answers(page_of(paid, tmp_path / "paid.html"))["Cost"].endswith(
        "The price of 1,000 pairs is 0.42, in the currency of the prices given to the run."
    )
    said = answers(page_of(paid, tmp_path / "paid.html"))["Metric"]
    assert said.startswith("f1, a language model that is asked for its verdict on each pair.")
    limited = page_of(paid, tmp_path / "limited.html", max_price=0.35)
    assert "Higher, but more expensive than the limit of 0.35 per 1,000 pairs: f1" in limited
    assert ">Use chrf" in limited and "chrf agrees with people better than" not in limited
    cheap = page_of(priced(0.421), tmp_path / "cheap.html", max_loss=0.5)
    assert re.search(
        r"f1 has the higher value on these pairs \([^)]*\), but a loss of more than 0.5 can be excluded, and chrf is "
        r"free, where 1,000 pairs cost 0.42 with f1. If money does not matter, use f1.",
        cheap,
    )


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        ({"hits": 343, "rests": 47, "alarms": 20, "misses": 190}, {"hits": 57, "rests": 8, "alarms": 3, "misses": 32}),
        ({"hits": 1, "rests": 1, "alarms": 1, "misses": 0}, {"hits": 34, "rests": 33, "alarms": 33, "misses": 0}),
    ],
)
def test_a_hundred_marks_by_the_largest_remainders(counts, shares):
    assert whole_percentages(counts) == shares and sum(shares.values()) == 100


def test_numbers_as_a_sentence_has_them():
    assert [natural_frequency(share) for share in (0.0, 0.004, 0.243, 1.0)] == [
        "0 of 100",
        "4 of 1,000",
        "24 of 100",
        "100 of 100",
    ]
    assert [two_digit_text(number) for number in (0.6, 2.54, 33.4, 1815.0)] == ["0.6", "2.5", "33", "1,800"]
    assert one_line_excerpt("a\u202eb \n c" + "d" * 300, 10) == "a[U+202E]b cdddd…"


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (1375, "It takes about 1,375 labelled pairs, not 600, to tell a from b."),
        (
            80_082_184,
            "The difference is so small that it would take more than 100,000 labelled pairs to tell a from b.",
        ),
        (None, "The difference is so small that no number of pairs is known to tell a from b."),
    ],
)
def test_how_many_labels_would_settle_it(needed, said):
    size = SimpleNamespace(
        first="a", second="b", pilot=object(), plan=SimpleNamespace(needed=needed), pair_count=lambda units: units
    )
    assert labels_needed_sentence(size, {}, 600) == said


# In a real browser


@pytest.mark.slow
def test_it_fits_a_telephone_and_two_sheets_of_paper(page, folder, context):
    tab = context.new_page()
    tab.set_viewport_size({"width": 360, "height": 740})
    tab.goto((folder / "page.html").as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert tab.locator("figure > svg").bounding_box()["width"] <= 360
    printed = tab.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2
