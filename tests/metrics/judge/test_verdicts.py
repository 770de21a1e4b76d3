"""What a reply is worth on a scale."""

import pytest

from assay.exceptions import InputError
from assay.metrics.judge.verdicts import scale_of

YES_NO, GRADES, LEVELS = scale_of("yes-no"), scale_of("1-5"), scale_of("0-2")


@pytest.mark.parametrize(
    ("reply", "worth"),
    [
        ("yes", 1),
        ("No.", 0),
        ("**Yes**, since both name Paris. There is no doubt.", 1),
        ('{"verdict": "no"}', 0),
        ('```json\n{"verdict": "YES"}\n```', 1),
        ('{"verdict": "perhaps"}', None),
        ("The first names a city. Verdict: no", 0),
        ("Is it? Answer: no. On second thought, answer: yes", 1),
        ("I would say yes.", 1),
        ("It could be yes or no.", None),
        ("no-one knows", None),
        ("Yesterday", None),
        ("", None),
        ("{" * 10_000, None),
    ],
)
def test_a_reply_is_read_as_one_verdict_or_none(reply, worth):
    assert YES_NO.score_in(reply) == worth


@pytest.mark.parametrize(
    ("reply", "worth"),
    [
        ("4", 4),
        ("Grade: 3.", 3),
        ("4.5", None),
        ("14", None),
        ("4/5", 4),
        ("5/5", 5),
        ("4/10", None),
        ("3 to 4", 3),
        ("Score: **2**", 2),
        ("0", None),
    ],
)
def test_a_grade_stands_alone(reply, worth):
    assert GRADES.score_in(reply) == worth


def test_the_expected_verdict_is_weighted_by_the_probabilities_of_the_first_token():
    """G-Eval (Liu et al. 2023), equation 1: the sum over grades of probability times grade, here normalised."""
    told = {"4": 0.5, " 5": 0.25, "The": 0.25}
    assert GRADES.expected_score(told) == pytest.approx((4 * 0.5 + 5 * 0.25) / 0.75)
    assert YES_NO.expected_score({"Yes": 0.3, " yes": 0.1, "NO": 0.1, "Nope": 0.5}) == pytest.approx(0.8)


def test_the_beginning_of_a_verdict_counts_where_it_is_that_of_one_only():
    assert YES_NO.expected_score({"y": 0.2, "n": 0.6}) == pytest.approx(0.25)
    assert YES_NO.expected_score({"": 0.9, " ": 0.1}) is None


def test_verdicts_with_nearly_no_mass_are_none():
    assert LEVELS.expected_score({"2": 0.04, "The": 0.96}) is None
    assert LEVELS.expected_score({"2": 0.06, "The": 0.94}) == 2


def test_an_unknown_scale_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"no scale '1-10'.*Valid: yes-no, 0-2, 1-5"):
        scale_of("1-10")
