"""Prompts: those that are shipped, files of a user's own, and what they must not hold."""

import time
import tracemalloc

import pytest

from assay.exceptions import InputError
from assay.metrics import Batch, load_metric
from assay.metrics.judge.prompts import Prompt, shipped_prompts
from assay.metrics.judge.rendering import PromptTemplate, template_environment

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


def test_a_prompt_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "marked.toml"
    path.write_text('user = "{{ reference }} {{ candidate }}"', encoding="utf-8-sig")
    assert Prompt.load(str(path)).fields == {"reference", "candidate"}


def test_order_mean_asks_both_orders():
    judge = load_metric(f"judge:m,{ENDPOINT},prompt=similarity,order=mean")
    ((first, second),) = judge.conversations(Batch(["a cat"], ["a dog"]))
    assert "First text: a cat" in first[1].content and "First text: a dog" in second[1].content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('user = "{{ reference }} {{ candidat }} {{ candidate }}"', "no field 'candidat'.*'candidate'"),
        ('user = "{{ reference }} {{ candidate }} {{ label }}"', "shows 'label'; what people said"),
        ('user = "{{ reference }}"', "shows no {{ candidate }}, the text to judge"),
        ('user = "{{ candidate }}"\nsymmetric = true', "does not show one {{ reference }}"),
        ('user = "{{ reference }} {{ candidate }} {% if %}"', "the template has an error"),
        ('user = "{{ reference }} {{ candidate }}"\nscale = "1-7"', "prompt mine.toml: there is no scale '1-7'"),
        ('user = "{{ reference }} {{ candidate }}"\nreply_tokens = 0', "mine.toml, reply_tokens: .*equal to 1"),
        ('user = "{{ reference }} {{ candidate }}"\nsclae = "1-5"', "mine.toml, sclae"),
        ('user = "{{ references }} {{ candidate }}"\nsymmetric = true', "cannot have symmetric = true"),
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
        ("judge:m,endpoint=http://localhost/v1,key=sk-1234", "names an environment variable"),
        (f"judge:m,{ENDPOINT},prompt=nope", "no prompt .*'nope'"),
        (f"judge:m,{ENDPOINT},prompt=./absent.toml", "absent.toml: cannot be read"),
        (f"judge:m,{ENDPOINT},prompt=correctness,order=mean", "is not symmetric"),
        (f"judge:m,{ENDPOINT},samples=3", "at temperature 0"),
        (f"judge:m,{ENDPOINT},max_length=5", "cut=N"),
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


HUGE = (
    '"a" * 10**10', "10**10**8", '"%999999999d" % 1', '"%999999999d" | format(1)', '"{:>999999999}".format(1)',
    '"a" | center(999999999)', '"a".zfill(999999999)', '"a".ljust(999999999)', '"a\\\\tb".expandtabs(999999999)',
    "[1] * 10**9", "range(10**9) | list", "range(1001)", "(1, 2) * 10**9", '"a" | indent(10**9)', "1.5 | round(10**9)",
    "[1] | batch(10**9, 0) | list", "[1] | slice(10**9) | list", '["a"] | tojson(indent=10**9)', "lipsum(9999)",
    '["a", "b"] | random', "candidate | random", '"a" | wordwrap(0)', "cycler(1)", "namespace(a=1)", "dict(a=1)",
    'joiner("a")', '["a"] | map("center", 10**9) | list', '["a"] | map("map", "upper") | list', "candidate.encode()",
    'candidate | attr("__class__")', "candidate | pprint", "9999999999 * 9999999999", "[[1]]", "1 << 9", "loop.index",
)  # fmt: skip
LOOPS = (
    "{% for i in range(999) %}{% for j in range(999) %}{% for k in range(999) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% set x = candidate %}" + "{% set x = x ~ x %}" * 60 + "{{ x }}",
    "{% set x = candidate %}" + "{% set x = x + x %}" * 60 + "{{ x }}",
    "{% set x = candidate %}" + '{% set x = x.replace("b", "bb") %}' * 60 + "{{ x }}",
    "{% set x = [1] %}" + "{% set x = x + x %}" * 60,
    "{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x }}",
    "{% set x = candidate %}" + "{% set x = [x, x] | join(x) %}" * 60,
    "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(9) }}",
    "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% filter upper %}a{% endfilter %}",
    '{% include "a" %}',
    '{% import "a" as b %}',
    '{% extends "a" %}',
    "{% set x %}a{% endset %}",
    "{% for i in range(999) %}{% for j in range(999) %}{{ candidate }}{% endfor %}{% endfor %}",
    "{% for i in range(999) %}{% for j in range(999) %}{% if 1 %}a" + "{% elif 0 %}b" * 5000 + "{% endif %}"
    "{% endfor %}{% endfor %}",
    "".join(f"{{% set v{number} = 1 %}}" for number in range(5000))
    + "{% for i in range(999) %}{% for j in range(999) %}"
    "{% with a = 1 %}{% endwith %}{% endfor %}{% endfor %}",
)


@pytest.mark.parametrize("source", [*(f"{{{{ {shown} }}}}" for shown in HUGE), *LOOPS])
def test_a_template_takes_bounded_time_and_memory(tmp_path, source):
    path = tmp_path / "mine.toml"
    path.write_text(f"user = '''{{{{ reference }}}} {{{{ candidate }}}} {source}'''", encoding="utf-8")
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(InputError, match=r"mine\.toml") as raised:
            load_metric(f"judge:m,{ENDPOINT},prompt={path}").conversations(Batch(["a"], ["bbb" * 300]))
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 10 and len(str(raised.value)) < 500


#: What templates of prompts use, and nothing else is needed to rank, number and shorten.
USUAL = (
    "{% if question %}Q: {{ question }}{% else %}none{% endif %}",
    '{{ references | join(" or ") }} {{ references | length }} {{ references[0] }} {{ references[-1:] | first }}',
    "{% for r in references %}{{ loop.index }}/{{ loop.length }}. {{ r }}{% if loop.first %}, {% endif %}{% endfor %}",
    "{% for r in references if r != candidate %}{{ r | upper }}{% else %}all{% endfor %}",
    "{%- for v in verdicts -%} {{ v }}{{ ' or ' if not loop.last }} {%- endfor -%}",
    "{% set n = references | length %}{{ n + 1 }} {{ n * 2 - 1 }} {{ n / 2 }} {{ 7 // 2 }} {{ 7 % 2 }} {{ -n }}",
    "{% set n = 1 %}{% for r in references %}{% set n = 5 %}{{ n }}{% endfor %}{{ n }}",
    '{{ "ABC"[1] }} {% for r in references %}{{ "ABC"[loop.index0] }}) {{ r }} {% endfor %}',
    "{{ candidate[:5] }}{{ candidate | truncate(7) }} {{ candidate.strip().lower() }} {{ candidate.split()[0] }}",
    "{{ candidate ~ 1 ~ question }} {{ candidate + question }} {{ 'x' in candidate }} {{ 1 < 2 <= 2 }}",
    "{{ references }} {{ references | tojson }} {{ candidate | tojson }} {{ candidate | e }} {{ [1, 2.5, 'a', none] }}",
    "{{ question | default('none') }} {{ question is defined }} {{ candidate is string }} {{ 3 is odd }}",
    "{{ references | map('upper') | join(',') }} {{ references | sort | list }} {{ references | unique | list }}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %} {# note #} {% raw %}{{ raw }}{% endraw %}",
    "{{ candidate.replace('a', 'bb') }} {{ candidate | replace('a', '') }} {{ candidate | wordcount }}",
    "{{ true and question or candidate }} {{ not question }} {{ (1, 2) }} {{ candidate | indent(2) }}",
    "{% for i in range(1, 4) %}{{ i }}{% endfor %} {{ 2.345 | round(1) }} {{ '7' | int }} {{ [3, 1] | max }}",
)


@pytest.mark.parametrize("source", USUAL)
def test_what_prompts_use_is_filled_in_as_jinja_does(source):
    """Compared with Jinja's own rendering."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    for question in ("", "Which town?"):
        for references in (["Rouen"], ["Rouen", "Ruan", "a <b>\n c"]):
            for candidate in ('  It is Rouen, a "town"\nof the north ', "x", "Rouen"):
                values = {"question": question, "reference": references[0], "references": references}
                values |= {"candidate": candidate, "verdicts": ["yes", "no"]}
                expected = environment.from_string(source).render(values)
                assert PromptTemplate(template_environment(), source).render(values) == expected
