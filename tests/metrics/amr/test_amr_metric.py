"""The metric ``amr``: its names, its promises, what it refuses, and that processes change nothing."""

from __future__ import annotations

import re
import sys
import types

import numpy as np
import pytest

from assay.exceptions import InputError, UnavailableError, install_command
from assay.language.amr import ASPECTS
from assay.metrics import Batch, check_metric, load_metric
from assay.metrics.amr.aspect import WITH_VECTORS
from assay.metrics.amr.session import AmrEngine, SmatchppEngine
from assay.metrics.work import open_session, release_sessions
from tests.metrics.amr.amr_data import bamboo

NAMES = (*ASPECTS, "bag-of-nodes", "s2match")
CATS = "(s / see-01 :ARG0 (c / cat :quant 2) :ARG1 (w / window))"
DOG = "(s / see-01 :ARG0 (d / dog) :ARG1 (w / window :mod (b / big)) :polarity -)"


@pytest.fixture
def vectors(tmp_path):
    words = {"cat": (1, 0), "dog": (0.8, 0.6), "see": (0, 1), "window": (0.6, -0.8), "big": (-1, 0.1)}
    path = tmp_path / "words.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in words.items()))
    return path


@pytest.fixture(autouse=True)
def no_session():
    yield
    release_sessions()


def named(aspect, vectors, options=""):
    return load_metric(f"amr:{aspect}{f',vectors={vectors}' if aspect in WITH_VECTORS else ''}{options}")


def of_graphs(*pairs):
    first, second = zip(*pairs, strict=True)
    return Batch(first, second, None, first, second)


@pytest.mark.parametrize("aspect", NAMES)
def test_every_aspect_keeps_its_promises(aspect, vectors):
    findings = check_metric(named(aspect, vectors))
    assert [finding for finding in findings if not finding.passed] == []
    assert len(findings) == 11


@pytest.mark.parametrize("options", [",solver=hill-climbing", ",standardize=false", ",solver=hill-climbing,seed=7"])
def test_other_options_keep_them_too(options):
    assert all(finding.passed for finding in check_metric(f"amr:smatch{options}"))


def test_all_are_the_fifteen_with_the_options_they_take(vectors):
    metrics = load_metric(f"amr:all,vectors={vectors},iterations=3,standardize=false").expand()
    assert [metric.subject for metric in metrics] == list(ASPECTS)
    names = {metric.subject: str(metric) for metric in metrics}
    assert names["smatch"] == "amr:smatch,standardize=false"
    assert names["wlk"] == "amr:wlk,iterations=3"
    assert names["wwlk"] == f"amr:wwlk,vectors={vectors},iterations=3"
    assert names["quantifiers"] == "amr:quantifiers"
    assert [load_metric(name).expand() for name in names.values()] == [(metric,) for metric in metrics]
    assert len({metric.needs() for metric in metrics}) == 1
    held = metrics[6].declaration
    assert (held.aspect, held.whole, held.reads_graphs, held.kind) == ("negation", "amr", True, "amr")
    assert load_metric(f"amr,vectors={vectors}").expand()[0] == load_metric("amr:smatch")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("amr:negatoin", "no aspect 'negatoin'.* Did you mean 'negation'.* Valid: smatch, "),
        ("amr:wwlk", "'amr:wwlk' needs word vectors: write amr:wwlk,vectors=FILE"),
        ("amr:frames,vectors=x", "'amr:frames' does not take vectors; wwlk, max-indegree, .* do"),
        ("amr:wlk,solver=hill-climbing", "does not take solver"),
        ("amr:smatch,concept_weight=3", "does not take concept_weight; s2match do"),
        ("amr:unlabeled,engine=smatchpp", "does not take engine"),
        ("amr:smatch,engine=smatchpp,solver=hill-climbing", "aligns optimally and standardizes only"),
    ],
)
def test_what_cannot_be_is_named_in_one_line(name, message):
    with pytest.raises(InputError, match=message) as caught:
        load_metric(name)
    assert len(str(caught.value).splitlines()) == 1


def test_all_stand_for_several_metrics():
    with pytest.raises(InputError, match="write amr:all,vectors=FILE"):
        load_metric("amr").expand()
    with pytest.raises(InputError, match="means fifteen metrics: name one"):
        load_metric("amr").score(of_graphs((CATS, DOG)))


def test_the_signature_holds_what_changes_the_number(vectors):
    smatch = load_metric("amr:smatch").signature()
    assert (smatch["solver"], smatch["standardize"]) == ("exact", "true")
    assert {"penman", "scipy", "assay"} < smatch.keys()
    assert not {"iterations", "vectors", "cutoff"} & smatch.keys()
    before = named("root", vectors).signature()
    assert before["vectors"].startswith("words.txt@")
    vectors.write_text(vectors.read_text().replace("0.8 0.6", "0.6 0.8"))
    assert named("root", vectors).signature() != before
    assert "POT" in named("wwlk", vectors).signature()
    assert "smatchpp" in load_metric("amr:smatch,engine=smatchpp").signature()


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            Batch(["a", "c"], ["b", "d"], None, None, [CATS, " "]),
            r"2 of 2 references and 1 of 2 candidates .such as 'a'.; .* `graphs=.* reference_graph .* parser=amrlib",
        ),
        (Batch(["a"], ["b"], None, [CATS], [" "]), "no AMR graph for 1 of 1 candidates .such as 'b'.; "),
        (Batch(["a"], ["b"], None, [CATS], ["(d / dog"]), "a graph of the data cannot be read: .*begins: .d / dog"),
        (Batch(["a"], ["b"], None, ["dog"], [CATS]), "a graph of the data cannot be read"),
    ],
)
def test_graphs_that_are_absent_or_broken(batch, message):
    with pytest.raises(InputError, match=message) as caught:
        load_metric("amr:smatch").score(batch)
    assert len(str(caught.value).splitlines()) == 1


def test_a_pair_depends_on_nothing_else(shared_data, vectors):
    pairs = bamboo(shared_data, "sts")[::100]
    for metric in load_metric(f"amr:all,vectors={vectors}").expand():
        whole = metric.score(of_graphs(*pairs))
        swapped = metric.score(of_graphs(*pairs).swapped())
        alone = [metric.score(of_graphs(pair))[0] for pair in reversed(pairs)][::-1]
        assert whole.tolist() == swapped.tolist() == alone, str(metric)
        assert ((whole >= 0) & (whole <= 1)).all()


@pytest.mark.slow
def test_processes_give_the_same_numbers(shared_data, vectors, monkeypatch):
    monkeypatch.setattr("assay.metrics.amr.session.MIN_PAIRS_FOR_PROCESSES", 10)
    pairs = bamboo(shared_data, "sick")[:60]
    metrics = load_metric(f"amr:all,vectors={vectors}").expand()
    one = open_session(AmrEngine(1)).score(metrics, of_graphs(*pairs))
    session = open_session(AmrEngine(2))
    two = session.score(metrics, of_graphs(*pairs, *pairs[:20]))
    assert one.values.tolist() == two.values[:60].tolist()
    assert two.values[60:].tolist() == two.values[:20].tolist()
    cost = session.cost()
    assert cost.pop("load_seconds") >= 0
    assert cost == {"graph_pairs": len({tuple(sorted(pair)) for pair in pairs}), "processes": 2}
    with pytest.raises(InputError, match="cannot be read"):
        session.score(metrics, of_graphs(*pairs[:50], (CATS, "(d / dog")))
    # the processes that were lost with the error come again
    assert session.score(metrics, of_graphs(*pairs)).values.tolist() == one.values.tolist()


def test_hill_climbing_stays_below_the_optimum(shared_data):
    pairs = bamboo(shared_data, "para")[::60]
    exact = load_metric("amr:smatch").score(of_graphs(*pairs))
    climbed = load_metric("amr:smatch,solver=hill-climbing").score(of_graphs(*pairs))
    assert (climbed <= exact).all()
    assert np.mean(exact - climbed) < 0.02


def test_the_package_itself(shared_data):
    pytest.importorskip("smatchpp")
    pairs = bamboo(shared_data, "sts")[::150]
    ours = load_metric("amr:smatch").score(of_graphs(*pairs))
    assert ours == pytest.approx(load_metric("amr:smatch,engine=smatchpp").score(of_graphs(*pairs)), abs=1e-12)
    assert len(load_metric("amr:smatch,engine=smatchpp").score(Batch([], []))) == 0


def test_a_package_that_is_absent(monkeypatch):
    monkeypatch.setattr("assay.metrics.declaration.version_of", lambda package: "absent")
    with pytest.raises(
        UnavailableError, match="the package penman is not installed: " + re.escape(install_command("amr"))
    ):
        load_metric("amr:smatch").check_available()


def test_the_engine_that_is_absent_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "smatchpp", None)
    with pytest.raises(UnavailableError, match=r"the package smatchpp is not installed: pip install smatchpp$"):
        open_session(SmatchppEngine())


class Parser:
    """Stands in for a model of amrlib."""

    asked: list[list[str]]

    def __init__(self):
        self.asked = []

    def parse_sents(self, texts):
        self.asked.append(texts)
        return [None if text == "?" else f"(x / {text})" for text in texts]


@pytest.fixture
def parser(monkeypatch, tmp_path):
    from assay.metrics.amr import parsing

    parsing._load_model.cache_clear()
    model = Parser()
    module = types.ModuleType("amrlib")
    module.load_stog_model = lambda model_dir: model
    monkeypatch.setitem(sys.modules, "amrlib", module)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("1")
    yield model
    parsing._load_model.cache_clear()


def test_texts_without_a_graph_are_parsed(parser, tmp_path):
    metric = load_metric(f"amr:smatch,parser=amrlib:{tmp_path / 'model'}")
    assert metric.score(Batch(["cat", "cat", "dog"], ["cat", "dog", "cat"])).tolist() == [1, 0, 0]
    assert parser.asked == [["cat", "dog"]]
    assert metric.score(Batch(["cat"], ["cow"], None, ["(c / cow)"], [""])).tolist() == [1]
    assert parser.asked[1] == ["cow"]
    with pytest.raises(InputError, match="no graph for 1 of 1 texts, such as"):
        metric.score(Batch(["?"], ["?"]))
    before = metric.signature()
    assert before["parser"].startswith("model@")
    (tmp_path / "model" / "weights").write_text("2")
    assert metric.signature() != before


def test_a_parser_that_cannot_be_had(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "amrlib", None)
    with pytest.raises(UnavailableError, match="the package amrlib is not installed: pip install amrlib"):
        load_metric(f"amr:smatch,parser=amrlib:{tmp_path}").check_available()
    with pytest.raises(InputError, match="write parser=amrlib:FOLDER"):
        load_metric("amr:smatch,parser=x").check_available()
