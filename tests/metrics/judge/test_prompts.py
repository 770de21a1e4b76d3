"""Prompts: those that are shipped, files of a user's own, and what they must not hold."""

import pytest

from assay.errors import InputError
from assay.metrics import Batch, load_metric
from assay.metrics.judge.prompts import Prompt, shipped_prompts

ENDPOINT = "endpoint=http://localhost:1/v1"


def written(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", shipped_prompts())
def test_a_shipped_prompt_shows_both_sides_of_a_pair_and_every_verdict(name):
    prompt = Prompt.load(name)
    messages = prompt.messages("Which town?", ["Rouen", "Ruan"], "the town of Rouen", prompt.scale)
    shown = "\n".join(message.content for message in messages)
    assert "Rouen" in shown and "the town of Rouen" in shown
    assert ("Which town?" in shown) == ("question" in prompt.fields)
    assert ("Ruan" in shown) == ("references" in prompt.fields)
    assert all(verdict in shown for verdict in prompt.scale.values)
    # the candidate last, so that a cache of prompts serves all answers to a question
    assert shown.rindex("the town of Rouen") > shown.rindex(
        "Which town?" if "question" in prompt.fields else "text: Rouen"
    )


def test_a_prompt_of_ones_own_decides_what_the_metric_reads(tmp_path):
    path = written(tmp_path, 'user = "{{ question }} {{ references | join(\' / \') }} {{ candidate }}"\nscale = "1-5"')
    judge = load_metric(f"judge:m,{ENDPOINT},prompt={path}")
    assert judge.declaration.reads_question and judge.declaration.reads_all_references
    assert (judge.declaration.low, judge.declaration.high) == (1, 5)
    batch = Batch(["a"], ["x"], ["q?"], gold_answers=[["a", "b"]])
    ((conversation,),) = judge.conversations(batch)
    assert [message.content for message in conversation] == ["q? a / b x"]


def test_another_text_of_the_prompt_is_another_signature(tmp_path):
    path = written(tmp_path, 'user = "{{ reference }} {{ candidate }}"')
    before = load_metric(f"judge:m,{ENDPOINT},prompt={path}").signature()
    written(tmp_path, 'user = "{{ reference }} or {{ candidate }}"')
    after = load_metric(f"judge:m,{ENDPOINT},prompt={path}").signature()
    assert before["prompt_digest"] != after["prompt_digest"]
    assert before["prompt"] == after["prompt"] == "mine.toml"


def test_order_mean_asks_both_orders():
    judge = load_metric(f"judge:m,{ENDPOINT},prompt=similarity,order=mean")
    ((first, second),) = judge.conversations(Batch(["a cat"], ["a dog"]))
    assert "First text: a cat" in first[1].content and "First text: a dog" in second[1].content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('user = "{{ reference }} {{ candidat }} {{ candidate }}"', "no field 'candidat'.*'candidate'"),
        ('user = "{{ reference }} {{ candidate }} {{ label }}"', "shows 'label'; what people said"),
        ('user = "{{ reference }}"', "needs both sides of a pair"),
        ('user = "{{ candidate }}"', "needs both sides of a pair"),
        ('user = "{{ reference }} {{ candidate }} {% if %}"', "the template has an error"),
        ('user = "{{ reference }} {{ candidate }}"\nscale = "1-7"', "no scale '1-7'"),
        ('user = "{{ reference }} {{ candidate }}"\nsclae = "1-5"', "mine.toml, sclae"),
        ('user = "{{ references }} {{ candidate }}"\nsymmetric = true', "cannot be `symmetric`"),
        (f'user = "{{{{ reference }}}} {{{{ candidate }}}} {{{{ {"(" * 3000}"', "the template has an error"),
        ("user = {{", "is not a TOML file"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_refused_in_one_line(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as raised:
        load_metric(f"judge:m,{ENDPOINT},prompt={written(tmp_path, content)}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "shown", ["candidate.__class__.__mro__[1].__subclasses__()", "1 / 0", "range(9999999)", "candidate + 1"]
)
def test_a_template_reaches_nothing_but_the_texts(tmp_path, shown):
    path = written(tmp_path, f'user = "{{{{ reference }}}} {{{{ candidate }}}} {{{{ {shown} }}}}"')
    judge = load_metric(f"judge:m,{ENDPOINT},prompt={path}")
    with pytest.raises(InputError, match=r"mine\.toml: the template cannot be filled in"):
        judge.conversations(Batch(["a"], ["b"]))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("judge:m,endpoint=localhost", "is not an address"),
        ("judge:m,endpoint=http://user:word@localhost/v1", "put the key into the environment"),
        ("judge:m,endpoint=http://localhost/v1?api-key=1", "put the key into the environment"),
        ("judge:m,endpoint=http://localhost/v1,key=sk-1234", "name of an environment variable"),
        (f"judge:m,{ENDPOINT},prompt=nope", "no prompt .*'nope'"),
        (f"judge:m,{ENDPOINT},prompt=./absent.toml", "absent.toml: cannot be read"),
        (f"judge:m,{ENDPOINT},prompt=correctness,order=mean", "is not symmetric"),
        (f"judge:m,{ENDPOINT},samples=3", "at temperature 0"),
        (f"judge:m,{ENDPOINT},max_length=5", "`cut=N`"),
    ],
)
def test_a_judge_that_cannot_be_is_refused(name, message):
    with pytest.raises(InputError, match=message):
        load_metric(name)


def test_a_prompt_that_needs_the_question_says_so_where_there_is_none(tmp_path):
    path = written(tmp_path, 'user = "{{ question }} {{ reference }} {{ candidate }}"')
    judge = load_metric(f"judge:m,{ENDPOINT},prompt={path}")
    with pytest.raises(InputError, match="the data has none: name its column"):
        judge.conversations(Batch(["a"], ["b"]))
