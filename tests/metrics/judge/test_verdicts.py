"""What a reply is worth on a scale."""

import pytest

from assay.exceptions import InputError
from assay.metrics.judge.parser import Rule
from assay.metrics.judge.replies import Reply
from assay.metrics.judge.verdicts import MIN_MASS, scale_of
from assay.metrics.scores import Flag

YES_NO, GRADES, LEVELS = scale_of("yes-no"), scale_of("1-5"), scale_of("0-2")


def reply(text, first=(), **fields):
    return Reply(text, dict(first), **fields)


def test_the_value_of_what_a_text_states():
    assert YES_NO.read(reply("No.")).score == 0
    assert GRADES.read(reply("Grade: 3")).score == 3
    assert LEVELS.read(reply("perhaps")).score is None


@pytest.mark.parametrize(
    ("text", "token", "first", "score", "rule"),
    [
        ("Yes.", "Yes", {"Yes": 0.6, " yes": 0.2, "No": 0.2}, 0.8, Rule.PROBABILITIES),
        ("No, since the", "No", {"No": 0.9, "Yes": 0.1}, 0.1, Rule.PROBABILITIES),
        # the first token is no verdict, or not all of the first word: the text is read, or there is no score
        ("Sí.", "S", {"S": 0.93, "No": 0.06}, None, Rule.NONE),
        ("**Yes**", "**", {"**": 0.9, "No": 0.1}, 1, Rule.LABEL),
        ("The years differ, so no.", "The", {"The": 0.6, "Yes": 0.3}, 0, Rule.ENDING),
        ("No errors. Verdict: yes", "No", {"No": 0.9, "Yes": 0.1}, 1, Rule.LABEL),
        ("Nothing", "No", {"No": 0.9, "Yes": 0.1}, None, Rule.NONE),
        # verdicts are too unlikely, where a sample was one of them
        ("yes", "yes", {"yes": 0.2, "The": 0.8}, 1, Rule.BEGINNING),
        # the reply takes its beginning back
        ("No. On second thought: yes", "No", {"No": 0.9, "Yes": 0.1}, None, Rule.CONTRADICTION),
        # what earlier versions have stored has no token
        ("Yes.", None, {"Yes": 0.8, "No": 0.2}, 0.8, Rule.PROBABILITIES),
        ("Yes", None, {"<think>": 0.99, "No": 0.01}, 1, Rule.BEGINNING),
    ],
)
def test_probabilities_count_where_the_reply_begins_with_a_verdict_as_its_token(text, token, first, score, rule):
    reading = YES_NO.read(reply(text, first, token=token))
    assert (reading.score, reading.rule) == (pytest.approx(score), rule)


def test_a_judge_that_reads_probabilities_alone_has_no_score_of_the_text():
    assert YES_NO.read(reply("**Yes**", {"**": 0.9}, token="**"), "probability") == (None, Rule.UNLIKELY, None)
    assert YES_NO.read(reply("Yes", {"Yes": 1.0}, token="Yes"), "text") == (1, Rule.BEGINNING, "yes")


def test_a_reply_that_was_refused_or_cut_has_no_score():
    assert YES_NO.read(reply("no", flag=Flag.REFUSED)) == (None, Rule.REFUSED, None)
    assert YES_NO.read(reply("It may be no", is_cut=True)) == (None, Rule.CUT_OFF, None)


def test_the_expected_verdict_is_weighted_by_the_probabilities_of_the_first_token():
    """G-Eval (Liu et al. 2023), equation 1: the sum over grades of probability times grade, here normalised."""
    told = {"4": 0.5, " 5": 0.25, "The": 0.25}
    assert GRADES.expected_score(told) == pytest.approx((4 * 0.5 + 5 * 0.25) / 0.75)
    assert YES_NO.expected_score({"Yes": 0.3, " yes": 0.1, "NO": 0.1, "Nope": 0.5}) == pytest.approx(0.8)


def test_the_beginning_of_a_verdict_counts_where_it_is_that_of_one_only():
    assert YES_NO.expected_score({"y": 0.2, "n": 0.6}) == pytest.approx(0.25)
    assert YES_NO.expected_score({"": 0.9, " ": 0.1}) is None


def test_verdicts_without_most_of_the_mass_are_none():
    assert LEVELS.expected_score({"2": MIN_MASS - 0.01, "The": 0.5}) is None
    assert LEVELS.expected_score({"2": MIN_MASS + 0.01, "The": 0.4}) == 2


def test_an_unknown_scale_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"no scale '1-10'.*Valid: yes-no, 0-2, 1-5"):
        scale_of("1-10")
