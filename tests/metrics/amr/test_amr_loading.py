"""What an amr: metric loads before it can compare is not part of its seconds."""

from __future__ import annotations

import sys
import types

import pytest

from assay.metrics import Batch, load_metric
from assay.metrics.amr import comparison as comparing
from assay.metrics.amr import parsing as given
from assay.metrics.amr import session
from assay.metrics.amr import session as library
from assay.metrics.work import open_session, release_sessions

CATS = "(s / see-01 :ARG0 (c / cat :quant 2) :ARG1 (w / window))"
DOG = "(s / see-01 :ARG0 (d / dog) :ARG1 (w / window :mod (b / big)) :polarity -)"
TEXTS = Batch(["cat", "cat", "dog"], ["cat", "dog", "cow"])


class Clock:
    """Stands where it is until something that takes time moves it."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (comparing, given, library, session):
        monkeypatch.setattr(module, "time", clock)
    yield clock
    release_sessions()


@pytest.fixture
def parser(monkeypatch, tmp_path, clock):
    """A parser of amrlib that takes a hundred seconds to load, and one a text."""
    from assay.metrics.amr import parsing

    class Model:
        def parse_sents(self, texts):
            clock.now += len(texts)
            return [f"(x / {text})" for text in texts]

    def load_stog_model(model_dir):
        clock.now += 100
        return Model()

    parsing._load_model.cache_clear()
    module = types.ModuleType("amrlib")
    module.load_stog_model = load_stog_model
    monkeypatch.setitem(sys.modules, "amrlib", module)
    yield f"amrlib:{tmp_path}"
    parsing._load_model.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["assay", "smatchpp"])
def test_a_parser_is_loaded_apart(parser, engine):
    if engine == "smatchpp":
        pytest.importorskip("smatchpp")
    metric = load_metric(f"amr:smatch,engine={engine},parser={parser}")
    opened = open_session(metric.needs())
    found = opened.score([metric], TEXTS)
    # cat, cow and dog are parsed once each
    assert found.seconds.tolist() == [3]
    assert opened.cost()["load_seconds"] == 100
    assert opened.score([metric], TEXTS).seconds.tolist() == [3]
    assert opened.cost()["load_seconds"] == 100


def test_a_parser_that_no_text_needs_is_not_loaded(parser):
    metric = load_metric(f"amr:smatch,parser={parser}")
    opened = open_session(metric.needs())
    found = opened.score([metric], Batch(["a"], ["b"], None, [CATS], [DOG]))
    assert (found.seconds.tolist(), opened.cost()["load_seconds"]) == ([0], 0)


def test_word_vectors_are_read_apart(clock, monkeypatch, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("cat 1 0\ndog 0.8 0.6\nsee 0 1\nwindow 0.6 -0.8\nbig -1 0.1\n")

    class Slow(comparing.NodeVectors):
        def __init__(self, source):
            clock.now += 50
            super().__init__(source)

    def compare(*graphs):
        clock.now += 1
        return 0.5

    monkeypatch.setattr(comparing, "NodeVectors", Slow)
    monkeypatch.setitem(comparing._NODE_SIMILARITIES, "root", compare)
    metric = load_metric(f"amr:root,vectors={path}")
    opened = open_session(metric.needs())
    batch = Batch(["a", "b"], ["b", "b"], None, [CATS, DOG], [DOG, DOG])
    assert opened.score([metric], batch).seconds.tolist() == [2]
    # the pair at which it was read is answered again
    assert opened.cost()["load_seconds"] == 51
    assert opened.score([metric], batch).seconds.tolist() == [2]
    assert opened.cost() == {"load_seconds": 51, "graph_pairs": 4, "processes": opened.cost()["processes"]}
