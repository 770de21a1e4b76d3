from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.exceptions import InputError
from assay.metrics import MetricName, option
from assay.metrics.name import options_of

names = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,8}", fullmatch=True)
keys = st.from_regex(r"[a-z_][a-z0-9_-]{0,6}", fullmatch=True)
loose = st.text(alphabet="ab1:,=#/@. é", max_size=10)


@given(name=names, subject=st.none() | loose, options=st.lists(st.tuples(keys, loose), max_size=3))
def test_what_can_be_written_can_be_read(name, subject, options):
    try:
        made = MetricName(name, subject, tuple(options))
    except InputError:
        return  # parts that would be read otherwise are refused
    read = MetricName.parse(str(made))
    assert (read.name, read.subject, read.options) == (name, subject, tuple(options))
    assert read == made
    assert hash(read) == hash(made)


@given(st.text(alphabet="ab:,=#/ -", max_size=14))
def test_text_is_kept_as_typed(text):
    try:
        name = MetricName.parse(text)
    except InputError:
        return
    assert name.text == text and str(name) == (name.alias or text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("f1", ("f1", None, ())),
        ("bleu,smoothing=exp", ("bleu", None, (("smoothing", "exp"),))),
        ("bleu:paper", ("bleu", "paper", ())),
        ("recorded:a,b", ("recorded", "a,b", ())),
        ("recorded:out/s.csv#a, b:c", ("recorded", "out/s.csv#a, b:c", ())),
        ("evaluate:./m,key=a=b", ("evaluate", "./m", (("key", "a=b"),))),
        (
            "bi-encoder:org/name@rev,layer=2,pool=a,b",
            ("bi-encoder", "org/name@rev", (("layer", "2"), ("pool", "a,b"))),
        ),
    ],
)
def test_parts(text, parts):
    name = MetricName.parse(text)
    assert (name.name, name.subject, name.options) == parts
    assert pickle.loads(pickle.dumps(name)) == name


@pytest.mark.parametrize("alias", [" ", "a b", "a=b", "-a", "é"])
def test_bad_aliases_are_refused(alias):
    with pytest.raises(InputError, match="cannot be read back"):
        MetricName("f1", alias=alias)


@pytest.mark.parametrize("text", ["", " f1", "f1 ", "f1:", "f1,", "f1,paper", ":x", "f1:,a=b", "f1,a=1,a=2"])
def test_bad_names_are_refused(text):
    with pytest.raises(InputError):
        MetricName.parse(text)


def test_a_subject_that_looks_like_an_option_is_refused():
    with pytest.raises(InputError, match="read back"):
        MetricName("recorded", "a,b=c")


def test_an_option_has_one_type():
    """By the first of two types, values of the other would be refused, or changed."""

    @dataclass(frozen=True)
    class Two:
        limit: int | str = option(3)

    @dataclass(frozen=True)
    class Nothing:
        limit: None = option(None)

    for cls in (Two, Nothing):
        with pytest.raises(TypeError, match=r"option 'limit': the type .* cannot be written in a metric name"):
            options_of(cls)
