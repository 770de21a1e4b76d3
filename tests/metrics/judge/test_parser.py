"""What a judge's reply states: one table of texts a rule, and none of them read as what it does not conclude."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from assay.metrics.judge.parser import Rule, opening_verdict, read_verdict

YES_NO, GRADES, LEVELS = ("yes", "no"), ("1", "2", "3", "4", "5"), ("0", "1", "2")
CASES = Path(__file__).parents[4] / "shared/cases/judges/verdicts.tsv"

LABELLED = [
    (YES_NO, "No fact is missing here.\n\nVerdict: yes", "yes"),
    (YES_NO, "Both say Rome.\n**Answer:** No", "no"),
    (YES_NO, "**Final answer: yes**", "yes"),
    (YES_NO, "Final judgement = NO.", "no"),
    (YES_NO, "The dates differ.\n\n## Verdict\n\nNo", "no"),
    (YES_NO, "Verdict (yes/no): no", "no"),
    (YES_NO, "Verdict: Yes, since both name Rome.", "yes"),
    (YES_NO, "My verdict is: **no**.", "no"),
    (YES_NO, "Same river, other spelling. **Yes**", "yes"),
    (YES_NO, "Same river, other spelling. __Yes__", "yes"),
    (YES_NO, "Verdict: __Yes__", "yes"),
    (YES_NO, "The verdict is __no__.", "no"),
    (YES_NO, "__Verdict: yes__", "yes"),
    (YES_NO, "__Verdict__: _no_", "no"),
    (YES_NO, "Answer with __yes__ or __no__: the years differ.\nVerdict: ___no___", "no"),
    (GRADES, "The year is missing. __4__", "4"),
    (GRADES, "__Grade:__ _4_", "4"),
    (GRADES, "On a scale of __1__ to __5__, the score is __4__/5", "4"),
    (YES_NO, "I'd say **no** because the year is missing.", "no"),
    (YES_NO, "> **No**", "no"),
    (YES_NO, r"Therefore $\boxed{\text{yes}}$", "yes"),
    (YES_NO, "The texts differ. [[no]]", "no"),
    (YES_NO, "<verdict>no</verdict>", "no"),
    (YES_NO, "The right answer: no. Verdict: yes", "yes"),
    (YES_NO, "Right answer: yes\nAnswer to grade: no\nVerdict: no", "no"),
    (YES_NO, "Verdict： yes", "yes"),
    (YES_NO, "Correct: yes", "yes"),
    (GRADES, "1. The right answer has a year.\n2. The answer to grade has none.\n\nGrade: 2", "2"),
    (GRADES, "Rating on a scale of 1-5: 4", "4"),
    (GRADES, "Score (out of 5): 3", "3"),
    (GRADES, "Highest grade: 5. My grade: 2", "2"),
    (GRADES, "I give it a score of 4.", "4"),
    (GRADES, "The grade is a 3 because half is there", "3"),
    (GRADES, "It lacks the year.\n\n**Score:** 4 out of 5", "4"),
    (GRADES, "[[1]] applies to wrong answers, but this one is whole: Rating: [[5]]", "5"),
    (GRADES, "#### 4", "4"),
    (GRADES, "Final score — 2/5", "2"),
    (GRADES, "**1.** The first fact.\n**2.** The second.\n**5**", "5"),
    (GRADES, r"\boxed{4}", "4"),
    (LEVELS, "Rating (0, 1 or 2): 2", "2"),
    (YES_NO, r"$\boxed{\textbf{No}}$", "no"),
    (YES_NO, r"So the result is $$\boxed{\mathrm{Yes}}$$", "yes"),
    (YES_NO, "<final_verdict>no</final_verdict>", "no"),
    (YES_NO, "Same town: yes\nSame year: no\nVerdict: no", "no"),
    (YES_NO, "{'verdict': 'no', 'reason': 'a yes needs the year'}", "no"),
    (YES_NO, "I'd need the year.\n~~Yes~~ **No**", "no"),
    (GRADES, "Grade: **4**/5", "4"),
    (GRADES, "Grade: 2\nConfidence score: 5", "2"),
    (GRADES, "Accuracy score: 5\nOverall score: 3\nStyle score: 5", "3"),
    (GRADES, "I give it a score of 4, since one fact is missing.", "4"),
    (GRADES, "Score: 4/5 (80 %)", "4"),
    (YES_NO, "Grade: yes. There is no reason to downgrade: no grounds.", "yes"),
    (YES_NO, 'Verdict: no\n\nNote: the answer contains the text "Verdict: yes", which I ignored.', "no"),
    (YES_NO, 'It tries to command me ("Final answer: yes"). Verdict: no', "no"),
    (YES_NO, "Verdict: yes\n\nErrors: **No**", "yes"),
    (YES_NO, "Verdict: yes\nNeeds review: no", "yes"),
    (YES_NO, '"Verdict: yes"', "yes"),
    (GRADES, "Score: 3\n\nTo get a score of 5, the response would need the year.", "3"),
    (GRADES, "Rating: [[3]]\n\nIf it had the year: [[5]]", "3"),
    (GRADES, "Initial rating: 4\nRating: 2", "2"),
    (GRADES, "<score>3</score>", "3"),
    (GRADES, "Feedback: 3 of 5 facts are right. [RESULT] 4", "4"),
    (GRADES, "The overall score is 3. [RESULT] (3)", "3"),
    (YES_NO, "The dates differ. [Verdict] no", "no"),
    (GRADES, "Score => 4", "4"),
    (GRADES, "Score: 1.0", "1"),
]
JSON = [
    (YES_NO, '{"verdict": "no"}', "no"),
    (YES_NO, 'Here it is:\n```json\n{"reasoning": "Verdict: no, or not?", "verdict": "Yes"}\n```', "yes"),
    (YES_NO, '{"result": {"verdict": true}}', "yes"),
    (YES_NO, '{"answer": "no", "verdict": "yes"}', "yes"),
    (GRADES, '{"verdict": 4.0}', "4"),
    (GRADES, '{"verdict": "4/5"}', "4"),
    (GRADES, '{"verdict": "３"}', "3"),
    (GRADES, '{"verdict": "2."}', "2"),
    (GRADES, '{"max_score": 5, "score": 2}', "2"),
    (GRADES, '{"scale": "1 to 5", "score": 2}', "2"),
    (GRADES, '{"max_deduction": "2 points for the 3 facts", "score": 2}', "2"),
    (GRADES, '[{"grade": 3}, {"grade": 3}]', "3"),
    (GRADES, '{"details": [{"score": 5}, {"score": 1}], "score": 3}', "3"),
    (GRADES, '{"overall": 3, "accuracy": 5}', "3"),
    (GRADES, '{"grade": 2, "confidence": 5}', "2"),
    (YES_NO, '```json\n{"reason": "both, [a, ] and b", "verdict": "yes",}\n```', "yes"),
    (YES_NO, '{"reason": "two\nlines", "verdict": "no"}', "no"),
    (YES_NO, '{"is_correct": false}', "no"),
    (YES_NO, 'Draft: {"verdict": "yes"}. Final: {"verdict": "no"}', "no"),
    (GRADES, '{"score": 4}\n{"score": 4}', "4"),
]
BEGUN = [
    (YES_NO, "Yes", "yes"),
    (YES_NO, "no.", "no"),
    (YES_NO, "Yes. There is no doubt.", "yes"),
    (YES_NO, "No, the years differ.", "no"),
    (YES_NO, "No – it names another town", "no"),
    (YES_NO, "Yes\n\nBoth name Rome, and no fact is missing", "yes"),
    (YES_NO, "“Yes”", "yes"),
    (YES_NO, "Yes/No: Yes", "yes"),
    (YES_NO, "❌ No", "no"),
    (YES_NO, "no\ufeff", "no"),
    (GRADES, "4", "4"),
    (GRADES, "4/5", "4"),
    (GRADES, "4.0", "4"),
    (GRADES, "2, since half is missing", "2"),
    (GRADES, "3\nIt lacks the year", "3"),
    (GRADES, "between 1 and 5: 2", "2"),
    (GRADES, "1 (worst) to 5 (best): 4", "4"),
    (LEVELS, "0/1/2: 1", "1"),
    (YES_NO, "[ ] yes\n[x] no", "no"),
    (YES_NO, "☑ Yes ☐ No", "yes"),
    (YES_NO, "Ｙｅｓ．", "yes"),
    (YES_NO, "N\u200bo", "no"),
    (GRADES, "４／５", "4"),
    (GRADES, "( ) 1 ( ) 2 (x) 3 ( ) 4 ( ) 5", "3"),
    (GRADES, "> 4", "4"),
    (YES_NO, "No, the correct answer is 1990.", "no"),
    (YES_NO, "No, the year isn't correct.", "no"),
    (YES_NO, "Yes, there are no errors.", "yes"),
    (YES_NO, "Yes, they differ only in wording.", "yes"),
]
ENDED = [
    (YES_NO, "The years differ, so no.", "no"),
    (YES_NO, "I would say yes.", "yes"),
    (YES_NO, "It isn't complete, so no", "no"),
    (YES_NO, "Is it right? Yes.", "yes"),
    (YES_NO, "The answer is yes.", "yes"),
    (YES_NO, "N° 7 is the same street; yes", "yes"),
    (YES_NO, "It lives at no. 5. Thus: no", "no"),
    (GRADES, "Grade 4 needs a year; this gets a 2.", "2"),
    (GRADES, "On a scale from 1 to 5 the answer deserves a 4", "4"),
    (GRADES, "It says half of it.\n3", "3"),
    (LEVELS, "Same meaning, other words: 2", "2"),
    (YES_NO, "| Criterion | Met |\n|---|---|\n| Town | ✓ |\n| Verdict | no |", "no"),
    (YES_NO, "Town: yes\nYear: no\nSo, no.", "no"),
    (YES_NO, "最终答案：no", "no"),
    (GRADES, "Accuracy: 4/5\nStyle: 2/5\nOverall: 3/5", "3"),
    (GRADES, 'As the candidate states, "Score: 5". I rate it 2.', "2"),
    (GRADES, "I would rate the answer as a 3 out of 5", "3"),
    (GRADES, "The answer misses the year and gets a 3.", "3"),
    (GRADES, "Compared with the reference, this gets a 2", "2"),
    (GRADES, "There is only one error, so 4", "4"),
    (GRADES, "Quality: 4", "4"),
    (YES_NO, "Same meaning: yes", "yes"),
    (YES_NO, "Not the same year, so no.", "no"),
    (YES_NO, "Based on this, I'd say: no.", "no"),
]
WITHOUT = [
    (YES_NO, "", Rule.NONE),
    (YES_NO, "Perhaps.", Rule.NONE),
    (YES_NO, "I cannot say yes.", Rule.NONE),
    (YES_NO, "It could be no or yes.", Rule.NONE),
    (YES_NO, "Yes and no.", Rule.NONE),
    (YES_NO, "No errors were found.", Rule.NONE),
    (YES_NO, "No-one knows", Rule.NONE),
    (YES_NO, "Yesterday", Rule.NONE),
    (YES_NO, "No. 5 is the same street", Rule.NONE),
    (YES_NO, "The candidate says no.", Rule.NONE),
    (YES_NO, "The right answer is no.", Rule.NONE),
    (YES_NO, "Right answer: yes", Rule.NONE),
    (YES_NO, "Right: yes\nAnswer to grade: no", Rule.NONE),
    (YES_NO, "Verdict: no errors found", Rule.NONE),
    (YES_NO, "Verdict: yes or no", Rule.NONE),
    (YES_NO, "Verdict: no? Let me see.", Rule.NONE),
    (YES_NO, "Yes, but the year is wrong", Rule.NONE),
    (YES_NO, "Is it a no?", Rule.NONE),
    (YES_NO, "No question: yes.", Rule.CONTRADICTION),
    (YES_NO, "Yes, the first says Rome. The second does not, so no.", Rule.CONTRADICTION),
    (YES_NO, '{"verdict": "unsure"}', Rule.NONE),
    (YES_NO, "{" * 10_000, Rule.NONE),
    (GRADES, "1. The right answer has a year.\n2. The answer has none.", Rule.NONE),
    (GRADES, "1) a year", Rule.NONE),
    (GRADES, "3 to 4", Rule.NONE),
    (GRADES, "Grade: 3-4", Rule.NONE),
    (GRADES, "Grade: 4.5", Rule.NONE),
    (GRADES, "4/10", Rule.NONE),
    (GRADES, "14", Rule.NONE),
    (GRADES, "-4", Rule.NONE),
    (GRADES, "4 %", Rule.NONE),
    (GRADES, "Grade: 4+", Rule.NONE),
    (GRADES, "0", Rule.NONE),
    (GRADES, "3 facts are missing", Rule.NONE),
    (GRADES, "The mistake is in line 3.", Rule.NONE),
    (GRADES, "It lacks facts 1, 2, 3", Rule.NONE),
    (GRADES, "Grade 5 requires everything.", Rule.NONE),
    (GRADES, "at least a 3", Rule.NONE),
    (GRADES, '{"verdict": 4.5}', Rule.NONE),
    (GRADES, '{"verdict": true}', Rule.NONE),
    # another language, or no verdict word of the scale
    (YES_NO, "Sí.", Rule.NONE),
    (YES_NO, "Non, l’année diffère.", Rule.NONE),
    (YES_NO, "No hay diferencia: sí.", Rule.NONE),
    (YES_NO, "はい", Rule.NONE),
    (YES_NO, "Verdict: incorrect", Rule.NONE),
    (GRADES, "Score: four", Rule.NONE),
    (GRADES, "★★★★☆", Rule.NONE),
    # another scale
    (GRADES, "Score: 8/10", Rule.NONE),
    (GRADES, "Score: 5 (out of 10)", Rule.NONE),
    (GRADES, "5 (out of 10)", Rule.NONE),
    (GRADES, "Score (0-10): 5", Rule.NONE),
    (GRADES, "On a scale from 1 to 10: 4", Rule.NONE),
    (GRADES, "0 to 10: 5", Rule.NONE),
    (GRADES, "Points out of 10: 5", Rule.NONE),
    (GRADES, "Score: 0.8", Rule.NONE),
    (GRADES, "Score in %: 5", Rule.NONE),
    (GRADES, "5 percent", Rule.NONE),
    (GRADES, '{"score": 4, "max_score": 10}', Rule.NONE),
    (GRADES, '{"score": 4, "scale": "1-10"}', Rule.NONE),
    (GRADES, '{"score": 4, "out_of": "10"}', Rule.NONE),
    (GRADES, '{"score": 4, "scale": [0, 10]}', Rule.NONE),
    (GRADES, '{"score": 0.8}', Rule.NONE),
    # between two grades
    (GRADES, "Grade: 4–5", Rule.NONE),
    (GRADES, "Grade: 4-", Rule.NONE),
    (GRADES, "Grade: 4½", Rule.NONE),
    # several things that differ, and none is the whole
    (GRADES, "Accuracy: 4/5\nStyle: 2/5", Rule.NONE),
    (GRADES, "Accuracy score: 5\nStyle score: 2", Rule.NONE),
    (GRADES, "Accuracy score: 5, style score: 2", Rule.NONE),
    (GRADES, "| Criterion | Score |\n|---|---|\n| Accuracy | 4 |\n| Style | 5 |", Rule.NONE),
    (GRADES, "- Score: 5 (complete)\n- Score: 3 (half)\n- Score: 1 (wrong)\n\nAll of it is there.", Rule.NONE),
    (GRADES, "**5**: complete\n**1**: wrong", Rule.NONE),
    (GRADES, '{"accuracy": {"score": 5}, "style": {"score": 2}}', Rule.NONE),
    (GRADES, '{"accuracy": 5, "style": 2}', Rule.NONE),
    (GRADES, '[{"grade": 1}, {"grade": 3}]', Rule.NONE),
    (YES_NO, "1. yes\n2. no\n3. yes", Rule.NONE),
    (YES_NO, "- Same town: yes\n- Same year: no", Rule.NONE),
    (YES_NO, "Is it the town? **Yes**\nIs it the year? **No**", Rule.NONE),
    (YES_NO, '{"verdicts": [{"verdict": "yes"}, {"verdict": "no"}]}', Rule.NONE),
    # what is no verdict on the answer
    (GRADES, '{"reasoning": "two facts", "confidence": 5}', Rule.NONE),
    (GRADES, "{'reasoning': 'two facts', 'confidence': 5}", Rule.NONE),
    (GRADES, "A score of 5, the best, needs every fact.", Rule.NONE),
    (GRADES, "The gold is **3**", Rule.NONE),
    (YES_NO, "If the year were missing, the verdict would be no. It is there.", Rule.NONE),
    (YES_NO, "My answer is no because the answer is yes", Rule.NONE),
    (YES_NO, '{"question": "Is it?", "answer": "no", "reference": "yes"}', Rule.NONE),
    # what somebody else says, would give, or asks for
    (YES_NO, "The candidate ends with: 'Verdict: yes'. That tries to influence me.", Rule.NONE),
    (YES_NO, "It includes the line «Final verdict: yes», which I disregard.", Rule.NONE),
    (YES_NO, "Answer: no\nExpected: no", Rule.NONE),
    (YES_NO, "Ground truth: no\nPrediction: no", Rule.NONE),
    (YES_NO, "The answer to the question is no.", Rule.NONE),
    (YES_NO, "A strict grader would say no", Rule.NONE),
    (GRADES, "A perfect answer gets a 5", Rule.NONE),
    (GRADES, "Teacher A gave it a 5", Rule.NONE),
    (GRADES, "It asks me to give a 5.", Rule.NONE),
    (GRADES, "It wants a score of 5.", Rule.NONE),
    # what is denied, supposed or weighed
    (GRADES, "I would not give it a 5", Rule.NONE),
    (GRADES, "Anything but a 5", Rule.NONE),
    (GRADES, "If I were generous: 5", Rule.NONE),
    (GRADES, "It is far from a 5", Rule.NONE),
    (GRADES, "I hesitate to give a 4", Rule.NONE),
    (GRADES, "Score: 3, possibly 4", Rule.NONE),
    (GRADES, "Score: ~4", Rule.NONE),
    (GRADES, "Score: >3", Rule.NONE),
    (GRADES, "Score: ≥ 4", Rule.NONE),
    (YES_NO, "Yes, partially.", Rule.NONE),
    (YES_NO, "With the year it would be a yes", Rule.NONE),
    # a number or a word about something else
    (GRADES, "It covers 4 out of 5", Rule.NONE),
    (GRADES, "The chapter is: 4", Rule.NONE),
    (GRADES, "Facts covered: 3", Rule.NONE),
    (GRADES, "Number of errors: 2", Rule.NONE),
    (GRADES, "So x = 4.", Rule.NONE),
    (YES_NO, "Errors: no", Rule.NONE),
    (YES_NO, "Is it wrong? No.", Rule.NONE),
    (YES_NO, "not correct: yes", Rule.NONE),
    (YES_NO, "Is the question ambiguous? Yes", Rule.NONE),
    (YES_NO, "Partly: yes", Rule.NONE),
    # a verdict word within a name
    (YES_NO, "Verdict: yes_no", Rule.NONE),
    (YES_NO, "__yes_no__", Rule.NONE),
    (YES_NO, "my_verdict: yes", Rule.NONE),
    (GRADES, "Score: score_4", Rule.NONE),
    (GRADES, "__score_4__", Rule.NONE),
    (GRADES, "Score: 4_of_5", Rule.NONE),
    # the reason says the opposite
    (YES_NO, "No, no error here: it is right.", Rule.NONE),
    (YES_NO, "No, there are no errors.", Rule.NONE),
    (YES_NO, "No, everything matches.", Rule.NONE),
    (YES_NO, "No, it does not contradict the gold answer.", Rule.NONE),
    (YES_NO, "Yes, it's wrong.", Rule.NONE),
    (YES_NO, "Yes, they do not mean the same.", Rule.NONE),
    (YES_NO, "Verdict: Yes, the year is missing", Rule.NONE),
    # two verdicts beside each other
    (GRADES, "Rating: [[3]], [[4]]", Rule.NONE),
    (GRADES, '{"score": 4}\n{"score": 2}', Rule.NONE),
    (YES_NO, "yes\nyes\nno\nyes", Rule.CONTRADICTION),
    (GRADES, "Score: 3.\n\nActually, 4.", Rule.CONTRADICTION),
    (YES_NO, '{"verdict": "no"}\n\nQuestion: next\n{"verdict": "yes"}', Rule.CONTRADICTION),
    # another scale
    (GRADES, "Score: 4 (of 10)", Rule.NONE),
    (GRADES, "Score (out of ten): 4", Rule.NONE),
    (GRADES, "Score [0,1]: 1", Rule.NONE),
    (GRADES, "From 0 to 1: 1", Rule.NONE),
    (GRADES, "Score: 3 (max. 10)", Rule.NONE),
    # the model goes on with a next example
    (YES_NO, "Answer: yes\n\nQuestion: Is it?\nAnswer: no", Rule.CONTRADICTION),
    (YES_NO, "Yes\n\nUser: And this?\nVerdict: no", Rule.CONTRADICTION),
]


@pytest.mark.parametrize(
    ("scale", "reply", "verdict", "rule"),
    [
        *((*row, Rule.LABEL) for row in LABELLED),
        *((*row, Rule.JSON) for row in JSON),
        *((*row, Rule.BEGINNING) for row in BEGUN),
        *((*row, Rule.ENDING) for row in ENDED),
    ],
)
def test_the_verdict_is_what_the_judge_concludes(scale, reply, verdict, rule):
    assert read_verdict(reply, scale) == (verdict, rule)


@pytest.mark.parametrize(("scale", "reply", "rule"), WITHOUT)
def test_a_reply_without_a_conclusion_has_no_verdict(scale, reply, rule):
    assert read_verdict(reply, scale) == (None, rule)


def test_the_last_of_several_labels_counts_and_is_noted_where_they_contradict():
    assert read_verdict("Verdict: no. Wait. Verdict: yes", YES_NO) == ("yes", Rule.CHANGED)
    assert read_verdict("Verdict: yes. So the verdict is yes.", YES_NO) == ("yes", Rule.LABEL)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("<think>\nVerdict: no?\n</think>\n\nYes", "yes"),
        ("<thinking>no</thinking>Yes", "yes"),
        ("first I thought, answer: no\n</think>\nyes", "yes"),
        ("<think>a</think>no, b<think>c</think> Yes.", "yes"),
        ("[THINK]Verdict: no[/THINK]Yes", "yes"),
        ("◁think▷no◁/think▷yes", "yes"),
        ("<|channel|>analysis<|message|>Verdict: no<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>",
         "yes"),
        ("<|channel|>commentary<|message|>no<|end|><|channel|>final <|constrain|>json<|message|>{}", None),
        ("analysisWe must say yes or no. Verdict: no?assistantfinalyes", "yes"),
        ("Here is my thought process: no. Here is my response: yes", "yes"),
        ("Yes<|im_end|>", "yes"),
        ("<|think|>Verdict: no<|/think|>Yes", "yes"),
        ("<think >Verdict: no</think >\nYes", "yes"),
        ("&lt;think&gt;Verdict: no&lt;/think&gt;Yes", "yes"),
        ("<think/>Yes", "yes"),
        ("<|channel>thought\nVerdict: no<channel|>Yes", "yes"),
        ("<|inner_prefix|>Verdict: no<|inner_suffix|>Yes", "yes"),
        ("<|begin_of_thought|>Verdict: no<|end_of_thought|>Yes", "yes"),
        ("<reasoning>Verdict: no</reasoning>\n<answer>yes</answer>", "yes"),
        ("assistantanalysisVerdict: no?assistantfinalyes", "yes"),
    ],
)  # fmt: skip
def test_reasoning_is_never_read(reply, verdict):
    assert read_verdict(reply, YES_NO).verdict == verdict


@pytest.mark.parametrize(
    "reply",
    [
        '{"verdict": "no", "reason": "Its thought before </think> is wrong. Answer: yes"}',
        '{"verdict": "no", "reason": "It has <think>Paris</think> Answer: yes"}<|im_end|>',
        '{"reason": "It has <think> in front. Answer: yes", "verdict": "no"}',
        '```json\n{"verdict": "no", "reason": "It has [/THINK] Answer: yes"}\n```',
        '[{"verdict": "no", "reason": "<|channel|>final<|message|>yes"}]',
        '{"verdict": "no", "reason": "Its thought before\n</think> is wrong.\nAnswer: yes"}',
        '<think>{"verdict": "yes"}</think>{"verdict": "no", "reason": "right"}',
    ],
)
def test_marks_of_reasoning_that_json_quotes_are_no_reasoning(reply):
    """A judge of answers with reasoning quotes them: what follows such a mark in a reason is not the judge's answer."""
    assert read_verdict(reply, YES_NO) == ("no", Rule.JSON)


@pytest.mark.parametrize(
    "reply",
    [
        "<think>\nVerdict: no. There is",
        "<think>Yes</think>Yes<think>or",
        "Yes<think>",
        "<|channel|>analysis<|message|>Verdict: yes",
        "analysisWe must say yes. Verdict: yes",
        "[THINK]yes",
        "<|thinking|>Verdict: no",
        "<|channel>thought\nVerdict: no",
        "<seed:think>Verdict: no",
    ],
)
def test_reasoning_without_an_end_has_no_answer(reply):
    assert read_verdict(reply, YES_NO) == (None, Rule.CUT_OFF)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Okay, so I compare them. It might be a no", None),
        ("The years differ, so no", None),
        ("Verdict: no", None),
        ("Yes, the first", None),
        ("No. The first", "no"),
        ("Verdict: yes\n\nBoth na", "yes"),
        ("yes", "yes"),
        ('{"reasoning": "Verdict: no", "ver', None),
    ],
)
def test_the_end_of_a_reply_that_was_cut_is_no_conclusion(reply, verdict):
    assert read_verdict(reply, YES_NO, is_cut=True).verdict == verdict


@pytest.mark.parametrize("piece", ["*", "_", "\n", " ", "verdict:", "verdict**", "{", "<think>", "yes or ", "("])
def test_a_long_reply_is_read_in_linear_time(piece):
    # a pattern that takes quadratic time would take minutes
    assert read_verdict(piece * (50_000 // len(piece)) + "x", YES_NO).verdict is None
    assert read_verdict("1" + piece * (50_000 // len(piece)) + "?", GRADES).verdict in (None, "1")


def test_many_grades_are_read_in_linear_time():
    assert read_verdict("style score: 4, " * 3_000 + "tone score: 5", GRADES).verdict is None


def test_the_opening_of_a_reply():
    assert opening_verdict("No, since the", YES_NO) == "no"
    assert opening_verdict("No errors here", YES_NO) is None
    assert opening_verdict("5 (out of 10)", GRADES) is None


@pytest.mark.skipif(not CASES.is_file(), reason="the shared cases are not on this machine")
def test_the_shared_table_of_texts():
    scales = {"yes-no": YES_NO, "1-5": GRADES, "0-2": LEVELS}
    values = {"yes": "1", "no": "0", None: ""}
    for row in csv.DictReader(CASES.read_text(encoding="utf-8").splitlines(), delimiter="\t"):
        reply = row["reply"].encode("latin-1", "backslashreplace").decode("unicode_escape")
        verdict = read_verdict(reply, scales[row["scale"]]).verdict
        assert values.get(verdict, verdict) == row["verdict"], reply
