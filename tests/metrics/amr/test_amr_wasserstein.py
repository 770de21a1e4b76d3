"""The Wasserstein Weisfeiler-Leman kernel by hand, by brute force, and on BAMBOO; vectors of node labels."""

from __future__ import annotations

import itertools
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings

from assay.metrics.amr.kernels import DRAWS, compare_embeddings, embed_nodes, unfold_constants, wwlk
from assay.metrics.amr.node_vectors import NodeVectors, draw_uniform, label_words
from tests.metrics.amr.amr_kernels import graph, graphs, pair_accuracy, parsed, pearson, same_graphs, write_vectors

pytest.importorskip("ot")

TABLE = {
    "cat": [1.0, 0.0],
    "dog": [0.0, 1.0],
    "run": [3.0, 4.0],
    "not": [1.0, 1.0],
    "false": [3.0, 0.0],
    "1": [2.0, 0.0],
    "7": [0.0, 4.0],
    "york": [0.0, 2.0],
}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        return NodeVectors(write_vectors(tmp_path_factory.mktemp("vectors"), TABLE))


@pytest.fixture(scope="module")
def glove(tmp_path_factory, real_models):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        return NodeVectors(real_models / "glove")


def test_label_words():
    assert label_words("run-01") == ("run",)
    assert label_words("look-up-05") == ("look", "up")
    assert label_words('"New_York"') == ("new", "york")
    assert label_words("have-rel-role-91") == ("have", "rel", "role")
    assert label_words("-5") == ("5",)
    assert label_words("-") == ("false", "not", "untrue")


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("run-01", [3, 4]),
        # the mean of the known words
        ("dog-run", [1.5, 2.5]),
        ("new_york", [0, 2]),
        # false and not; untrue is unknown
        ("-", [2, 0.5]),
        # 7 by itself; 17 by its digits: (1: (2, 0) / 1 + 7: (0, 4) / 2) / 2
        ("7", [0, 4]),
        ("17", [1, 1]),
        ("Cat", [1, 0]),
    ],
)
def test_labels(vectors, label, expected):
    assert vectors.label_vector(label).tolist() == expected
    assert vectors.known_vector(label).tolist() == expected


def test_unknown_labels(vectors):
    assert vectors.word_vector("zebra") is None
    assert vectors.known_vector("zebra") is None
    assert vectors.label_vector("zebra").tolist() == draw_uniform("zebra", 2, -0.05, 0.05).tolist()
    assert (vectors.label_vector("zebra") != vectors.label_vector("gnu")).all()


def test_a_draw_is_the_digest():
    # printf Qfoo | openssl dgst -shake256 -xoflen 16: 4f4e7b85620943c8964094be6d7b00bd
    expected = [0xC8430962857B4E4F / 2**64, 0xBD007B6DBE944096 / 2**64]
    assert draw_uniform("Qfoo", 2, 0.0, 1.0).tolist() == expected
    assert draw_uniform("Qfoo", 2, -0.05, 0.05) == pytest.approx([0.1 * each - 0.05 for each in expected])


# Places at length 1: run (.6, .8), cat (1, 0), dog (0, 1); distances: run-cat sqrt(2 - 1.2), run-dog sqrt(2 - 1.6),
# cat-dog sqrt(2).
@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        # run to run, cat to dog costs 0 + 1.414, crosswise .632 + .894: the first is the cheaper; each has mass 1/2
        ("(r / run-01 :ARG0 (c / cat))", "(r / run-01 :ARG0 (d / dog))", sqrt(2) / 2),
        # half the mass stays, half goes from run to cat
        ("(r / run-01 :ARG0 (c / cat))", "(c / cat)", sqrt(0.8) / 2),
        # two thirds are cat on the left, half on the right: a sixth goes from cat to run, a third is run already
        ("(r / run-01 :ARG0 (c / cat) :ARG1 (d / cat))", "(r / run-01 :ARG0 (c / cat))", sqrt(0.8) / 6),
        # farther than 1: cut off
        ("(c / cat)", "(d / dog)", 1),
    ],
)
def test_labels_alone_by_hand(vectors, one, other, distance):
    assert wwlk(graph(one), graph(other), vectors, iterations=0) == pytest.approx(1 - distance, abs=1e-9)


def brute_force(one, other, vectors, weights):
    """Embed in so many words and try every assignment; graphs with one role and equally many nodes."""

    def places(which, weight):
        labels, edges = unfold_constants(which)
        now = [vectors.label_vector(label) for label in labels]
        rows = [now]
        for _ in range(2):
            came = [[] for _ in labels]
            for source, _, target in edges:
                came[source].append(weight * now[target])
                came[target].append(weight * now[source])
            now = [own + (np.mean(some, axis=0) if some else 0) for own, some in zip(now, came, strict=True)]
            rows.append(now)
        whole = np.concatenate(rows, axis=1)
        return whole / np.linalg.norm(whole, axis=1, keepdims=True)

    cost = np.mean([np.linalg.norm(places(one, w)[:, None] - places(other, w)[None], axis=2) for w in weights], axis=0)
    size = len(cost)
    return 1 - min(
        sum(cost[row, column] for row, column in enumerate(chosen)) / size
        for chosen in itertools.permutations(range(size))
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(r / run-01 :ARG0 (c / cat))", "(r / run-01 :ARG0 (d / dog))"),
        (
            "(r / run-01 :ARG0 (c / cat) :ARG0 (d / dog :ARG0 -))",
            "(d / dog :ARG0 (r / run-01) :ARG0 (e / cat :ARG0 17))",
        ),
        ("(r / run-01 :ARG0 (c / cat :ARG0 r))", "(r / run-01 :ARG0 (c / run-02))"),
        ("(r / run-01 :ARG0 zebra)", "(r / run-01 :ARG0 gnu)"),
    ],
)
def test_by_brute_force(vectors, one, other):
    # the smallest of ten uniform draws has the quantile .2 + .15 * (1 - (1 - p) ** (1 / 10)); with one role their order
    # is of no matter
    weights = [0.2 + 0.15 * (1 - (1 - (draw + 0.5) / DRAWS) ** 0.1) for draw in range(DRAWS)]
    expected = brute_force(graph(one), graph(other), vectors, weights)
    assert wwlk(graph(one), graph(other), vectors) == pytest.approx(expected, abs=1e-9)


def test_roles_count(vectors):
    one = graph("(r / run-01 :ARG0 (c / cat) :ARG1 (d / dog))")
    other = graph("(r / run-01 :ARG0 (d / dog) :ARG1 (c / cat))")
    assert 0.9 < wwlk(one, other, vectors) < 1
    assert wwlk(one, one, vectors) == 1


@settings(max_examples=50)
@given(one=graphs(), other=graphs())
def test_range_and_symmetry(vectors, one, other):
    score = wwlk(one, other, vectors)
    assert 0 <= score <= 1
    assert score == pytest.approx(wwlk(other, one, vectors), abs=1e-11)
    assert score == compare_embeddings(embed_nodes(one, vectors), embed_nodes(other, vectors))


@settings(max_examples=50)
@given(pair=same_graphs())
def test_names_and_order_do_not_matter(vectors, pair):
    assert wwlk(*pair, vectors) == 1


# BAMBOO's table of 2023-12-07, made with GloVe of 100 dimensions; here it has 50, with which the authors' program gives
# 66.7, 67.5 and 37.9.
@pytest.mark.slow
@pytest.mark.parametrize(("name", "published"), [("sts", 67.31), ("sick", 67.53), ("para", 38.37)])
def test_bamboo(shared_data, glove, name, published):
    scores = [wwlk(*pair, glove) for pair in parsed(shared_data, name, "main")]
    assert pearson(shared_data, name, scores) == pytest.approx(published, abs=1.5)


# The table again. The program draws weights at random, so that chance makes one role's mean weight greater than
# another's and outweighs what tells a foil. On PARA, for which the table has 86.53, it gave 72.6 to 87.5 in five runs,
# and 85.3 where it means the distances of sixteen draws. Here all roles have one mean weight: more foils are told.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least", "most"), [("sts", 92.41 - 1.5, 92.41 + 1.5), ("sick", 99.16 - 1.5, 100), ("para", 87.5, 100)]
)
def test_bamboo_role_confusion(shared_data, glove, name, least, most):
    scores = [wwlk(*pair, glove) for pair in parsed(shared_data, name, "role_confusion")]
    assert least <= pair_accuracy(scores) <= most
