"""The alternative annotator test, against the authors' code, and the labels that scores stand for."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.statistics.alternative_annotator import (
    alignment_of,
    alternative_annotator_test,
    labels_of_scores,
    lack_of_annotations,
    rejections_under_dependency,
)


def votes():
    """60 pairs: a truth of yes and no, the metric wrong on a tenth of it, three annotators on a tenth to a third."""
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, 60)
    drawn = [np.where(rng.random(60) < share, 1 - truth, truth).astype(float) for share in (0.1, 0.1, 0.25, 0.3)]
    return drawn[0], np.stack(drawn[1:], axis=1), "accuracy"


def grades():
    """80 pairs, grades 1 to 5: one annotator lacks a third of them, one has too few; a score is missing."""
    rng = np.random.default_rng(12)
    level = rng.normal(3, 1, 80)
    annotations = np.clip(np.round(level[:, None] + rng.normal(0, 0.8, (80, 4))), 1, 5)
    annotations[::3, 1] = np.nan
    annotations[25:, 3] = np.nan
    predicted = np.round(level + rng.normal(0, 0.3, 80), 1)
    predicted[7] = np.nan
    return predicted, annotations, "neg_rmse"


def five():
    """150 pairs and five annotators from careful to careless."""
    rng = np.random.default_rng(13)
    level = rng.normal(0, 1, 150)
    annotations = np.round(level[:, None] + rng.normal(0, [0.2, 0.5, 0.8, 1.1, 1.4], (150, 5)))
    return np.round(level + rng.normal(0, 0.9, 150)), annotations, "neg_rmse"


@pytest.mark.parametrize(
    ("case", "annotators", "winning_rates", "advantage"),
    [
        (votes, 3, (1 / 3, 1 / 3, 1.0), 0.8666666666666667),
        (grades, 3, (2 / 3, 2 / 3, 2 / 3), 0.5955047062641999),
        (five, 5, (0.4, 0.4, 0.4), 0.6306666666666667),
    ],
)
def test_the_values_of_the_authors_code(case, annotators, winning_rates, advantage):
    """``alt_test`` of github.com/nitaytech/AltTest, at epsilon .1, .15 and .2."""
    result = alternative_annotator_test(*case())
    assert len(result.contests) == annotators
    assert result.winning_rates == pytest.approx(winning_rates, abs=1e-12)
    assert result.advantage == pytest.approx(advantage, abs=1e-12)


def test_distances_that_differ_by_rounding_are_ties():
    others = np.tile([0.1, 0.3], (40, 1))
    annotations = np.column_stack([np.full(40, 0.1 + 0.2), others])
    (first, *_) = alternative_annotator_test(np.full(40, 0.3), annotations, "neg_rmse").contests
    assert (first.advantage, first.annotator_advantage) == (1.0, 1.0)


def test_rejections_follow_the_printed_rule():
    # limits i / 4 * .05 / (1 + 1/2 + 1/3 + 1/4): .006, .012, .018, .024
    for p_values, rejected in (
        ([0.02, 0.001, 0.0181, 0.5], [False, True, False, False]),
        # the third is below its limit, and takes the second along, which is above its own
        ([0.017, 0.001, 0.0179, 0.5], [True, True, True, False]),
        ([0.3], [False]),
        ([0.05], [True]),
    ):
        assert rejections_under_dependency(np.array(p_values), 0.05).tolist() == rejected


def test_a_threshold_is_learned_on_other_pairs():
    scores = np.concatenate([np.arange(50.0), np.arange(100.0, 150.0)])
    annotations = np.repeat((scores >= 100).astype(float)[:, None], 3, axis=1)
    assert alignment_of(annotations) == "accuracy"
    assert (labels_of_scores(scores, annotations, "accuracy") == annotations[:, 0]).all()
    # a group with labels unlike the others is predicted from these, and so wrongly
    groups = np.arange(100) // 10
    annotations[groups == 3] = 1
    predicted = labels_of_scores(scores, annotations, "accuracy", groups)
    assert (predicted[groups == 3] == 0).all()


def test_other_pairs_of_one_label_call_all_scores_alike():
    scores, annotations = np.arange(40.0), np.zeros((40, 3))
    # the only pair with a yes is held out once, and is then predicted from labels of no alone
    annotations[39] = 1
    assert (labels_of_scores(scores, annotations, "accuracy")[:30] == 0).all()
    annotations = 1 - annotations
    assert (labels_of_scores(-scores, annotations, "accuracy")[:30] == 1).all()


def test_graded_labels_follow_the_score_and_not_their_own_pair():
    rng = np.random.default_rng(0)
    annotations = rng.integers(1, 6, (400, 3)).astype(float)
    assert alignment_of(annotations) == "neg_rmse"
    predicted = labels_of_scores(rng.random(400), annotations, "neg_rmse")
    # labels that the score says nothing about: what is learned in sample would correlate with them
    assert abs(np.corrcoef(predicted, annotations.mean(axis=1))[0, 1]) < 0.15
    scores = annotations.mean(axis=1) ** 3
    close = labels_of_scores(scores, annotations, "neg_rmse")
    assert np.abs(close - annotations.mean(axis=1)).max() < 0.1
    scores[5] = np.nan
    assert np.isnan(labels_of_scores(scores, annotations, "neg_rmse")[5])


def test_what_the_annotations_lack():
    rng = np.random.default_rng(3)
    annotations = rng.integers(0, 3, (50, 3)).astype(float)

    def lack(values, columns_are_annotators=True):
        return lack_of_annotations(values, columns_are_annotators=columns_are_annotators)

    assert lack(annotations) is None
    assert lack(annotations[:, :2]) == "annotators"
    assert lack(annotations, columns_are_annotators=False) == "identity"
    assert lack(np.sort(annotations, axis=1)) == "identity"
    assert lack(annotations[:29]) == "pairs"
    # thirty labels each, of which no two are of one pair
    apart = np.full((90, 3), np.nan)
    for annotator in range(3):
        apart[annotator * 30 : annotator * 30 + 30, annotator] = rng.integers(0, 3, 30)
    assert lack(apart) == "pairs"


def rows_of(annotations, texts):
    return [
        {"reference": "a b c d", "candidate": text, **{f"p{column}": label for column, label in enumerate(labels)}}
        for labels, text in zip(annotations.tolist(), texts, strict=True)
    ]


@pytest.mark.parametrize(
    ("annotators", "pairs", "line"),
    [
        (3, 90, "f1 ω 1.00, 1.00, 1.00"),
        (2, 90, "needs three annotators or more"),
        (3, 20, "needs three annotators with at least 30 pairs each"),
    ],
)
def test_table_page_and_recommendation_say_whether_a_metric_may_replace_an_annotator(tmp_path, annotators, pairs, line):
    rng = np.random.default_rng(5)
    level = np.arange(pairs) % 5
    texts = [" ".join("abcd"[:count]) or "x" for count in level.tolist()]
    annotations = level[:, None] + rng.integers(-2, 3, (pairs, annotators))
    columns = "label=" + "+".join(f"p{column}" for column in range(annotators))
    rows = rows_of(annotations, texts)
    result = assay.run([rows], ["f1"], columns=columns, resamples=0, out=tmp_path / "run")
    head = "alternative annotator test (may a metric replace an annotator?)"
    assert head in result.to_markdown() and line in " ".join(result.to_markdown().split())
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert head in page and line in page
    advice = assay.recommend(rows, metrics=["f1"], columns=columns)
    assert line in " ".join(advice.to_markdown().split())


def test_a_table_with_one_label_a_pair_says_nothing_of_annotators():
    rows = [{"reference": "a b", "candidate": "a" * (i % 3), "label": i % 3} for i in range(40)]
    assert "annotator" not in assay.run([rows], ["f1"], resamples=0).to_markdown()


def test_jsick(shared_data):
    """The values of the authors' code on the labels that these scores stand for."""
    path = shared_data / "atlas/jsick/jsick/jsick-all-annotations.tsv"
    labels = "+".join(f"relatedness_score_Ja{number}" for number in (1, 2, 3))
    columns = f"reference=sentence_A_Ja,candidate=sentence_B_Ja,label={labels}"
    result = assay.run([path], ["f1", "chrf"], columns=columns, language="ja", resamples=0, buckets=["all"])
    f1, chrf = result.outcome.buckets[0].alternative.metrics
    assert (f1.advantage, chrf.advantage) == pytest.approx((0.44298135559272334, 0.5444646767838108), abs=1e-12)
    assert f1.winning_rates == pytest.approx([2 / 3] * 3) and chrf.winning_rates == [1.0] * 3
