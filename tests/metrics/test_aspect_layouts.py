"""Layouts of embeddings: what is refused, the published file read and not executed, the reference set."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.exceptions import InputError
from assay.language.amr import ASPECTS
from assay.metrics.aspects.layout import Layout, even_layout, read_layout, read_layout_file, write_layout
from assay.metrics.aspects.reference import read_reference, write_reference

#: As the published models' file of settings is made: names of its own, blanks after some, a sum in another setting.
PUBLISHED = """\
BATCH_SIZE = 64
LEARNING_RATE = 2e-5

# a model
BASE = "all-MiniLM-L12-v2"
SAVE_PATH = "s3bert_" + BASE + "/"

FEATURES = ['input1', 'input2']
FEATURES += ['Concepts ', 'Frames ', 'Named Ent. ',
             'Negations ', 'Reentrancies ', 'SRL ', 'Smatch ', 'Unlabeled ',
             'max_indegree_sim', 'max_outdegree_sim', 'max_degree_sim',
             'root_sim', 'quant_sim', 'score_wlk', 'score_wwlk']
N = 15
FEATURE_DIM = 16
"""


def test_an_even_layout_gives_ranges_side_by_side():
    layout = even_layout(["negation", "srl"], 16, 40)
    assert layout.aspects == (("negation", 0, 16), ("srl", 16, 32))
    assert layout.residual_range == (32, 40)
    assert layout.parts == ("negation", "srl", "residual")
    assert layout.range_of("srl") == (16, 32)
    assert even_layout(["a", "b"], 4, 8).parts == ("a", "b")


@pytest.mark.parametrize(
    ("aspects", "message"),
    [
        ((("a", 0, 17), ("b", 16, 32)), "b begins at dimension 16, inside a, which ends at 17"),
        ((("b", 16, 32), ("a", 0, 17)), "b begins at dimension 16, inside a"),
        ((("a", 0, 16), ("b", 16, 33)), "b ends at dimension 33, the embedding has 32"),
        ((("a", 0, 16), ("b", 17, 32)), "b begins at dimension 17, and 16 belongs to no aspect"),
        ((("a", 0, 0),), "the first must be below the end"),
        ((("a", -4, 4),), "a begins at dimension -4; dimensions count from 0"),
        ((("a", 0, 4), ("a", 4, 8)), "the aspect a occurs twice"),
        ((("residual", 0, 4),), "'residual' is not a name of an aspect"),
        ((("a#b", 0, 4),), "'a#b' is not a name of an aspect"),
        ((), "it has no aspect"),
    ],
)
def test_what_is_no_partition_is_refused(aspects, message):
    with pytest.raises(InputError, match=message) as caught:
        Layout(aspects, 32)
    assert "\n" not in str(caught.value)


def test_a_written_layout_is_read_again(tmp_path):
    layout = even_layout(ASPECTS, 16, 384)
    write_layout(layout, tmp_path)
    assert read_layout(tmp_path, 384) == layout
    assert json.loads((tmp_path / "s3bert.json").read_text())["aspects"]["quantifiers"] == [224, 240]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ("[]", "expected"),
        ('{"schema": 2, "dimensions": 8, "aspects": {"a": [0, 4]}}', "schema 2 is unknown"),
        ('{"schema": 1, "dimensions": 9, "aspects": {"a": [0, 4]}}', "is for 9 dimensions, the embedding has 8"),
        ('{"schema": 1, "dimensions": 8, "aspects": {"a": [0, true]}}', "no range of two whole numbers"),
        ('{"schema": 1, "dimensions": 8, "aspects": {"a": [0, 9]}}', "ends at dimension 9"),
        ('{"schema": 1, "dimensions": 8, "aspects": {"a": [0, 4], "a": [4, 8]}}', "twice"),
    ],
)
def test_a_broken_layout_file_names_the_file(tmp_path, text, message):
    (tmp_path / "s3bert.json").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_layout(tmp_path, 8)
    assert "s3bert.json" in str(caught.value)


def test_a_folder_without_a_layout_says_how_to_give_one(tmp_path):
    with pytest.raises(InputError, match=r"there is no s3bert\.json.*layout=FILE"):
        read_layout(tmp_path, 8)


def test_the_published_settings_are_read(tmp_path):
    path = tmp_path / "config.py"
    path.write_text(PUBLISHED)
    layout = read_layout_file(path, 384)
    assert layout.range_of("negation") == (48, 64)
    assert layout.range_of("coreference") == (64, 80)
    assert layout.range_of("quantifiers") == (192, 208)
    assert layout.residual_range == (240, 384)
    assert set(layout.names) == set(ASPECTS)
    # mpnet: the same settings, more dimensions
    assert read_layout_file(path, 768).residual_range == (240, 768)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("N = 15", "N = 14"), "line 13: N is 14, but FEATURES names 15"),
        (("N = 15", "N = '15'"), "line 13: N must be a whole number"),
        (("N = 15", "N = 3 * 5"), "line 13: not a literal"),
        (("N = 15", ""), "does not set N"),
        (("'Frames '", "'Frame '"), "line 9: 'Frame ' is none of the known names"),
        (("'input1', ", ""), "must begin with input1, input2"),
        (("DIM = 16", "DIM = 48"), "line 14: layout: max-indegree ends"),
        (("BATCH_SIZE = 64", "import os"), "line 1: neither an assignment"),
        (("BATCH_SIZE = 64", "BATCH_SIZE = [x for x in 'a']"), "line 1: neither"),
        (("BATCH_SIZE = 64", "BATCH_SIZE ="), "line 1: no Python"),
        (("BATCH_SIZE = 64", "N += [1]"), "line 1: neither"),
    ],
)
def test_other_settings_are_refused_with_the_line(tmp_path, change, message):
    path = tmp_path / "config.py"
    path.write_text(PUBLISHED.replace(*change))
    with pytest.raises(InputError, match=message) as caught:
        read_layout_file(path, 384)
    assert "config.py" in str(caught.value)


@pytest.mark.parametrize("place", ["FEATURE_DIM = {}", "OTHER = {}", "{}", "FEATURES += [{}]", "N = 15 if {} else 15"])
def test_nothing_of_the_settings_is_executed(tmp_path, place):
    trace = tmp_path / "executed"
    call = f"open({str(trace)!r}, 'w').close()"
    path = tmp_path / "config.py"
    path.write_text(PUBLISHED + place.format(call) + "\n")
    with pytest.raises(InputError, match=r"line 15: .*nothing of such a file is executed"):
        read_layout_file(path, 384)
    assert not trace.exists()


def test_a_reference_set_is_written_and_read(tmp_path):
    assert read_reference(tmp_path) is None
    scores = np.array([[0.5, 0.25, -1.0], [1.0, 0.0, 0.75]], dtype=np.float32)
    write_reference(tmp_path, ["overall", "negation", "residual"], scores)
    found = read_reference(tmp_path)
    assert found is not None
    assert found.names == ("overall", "negation", "residual")
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.scores, scores)


@pytest.mark.parametrize(
    ("names", "scores"),
    [
        (["overall"], np.zeros((0, 1))),
        (["negation", "overall"], np.zeros((3, 2))),
        (["overall", "srl", "srl"], np.zeros((3, 3))),
        (["overall", "srl"], np.zeros((3, 3))),
        (["overall"], np.array([[1.2]])),
        (["overall"], np.array([[np.nan]])),
    ],
)
def test_what_is_no_reference_set_is_not_written(tmp_path, names, scores):
    with pytest.raises(InputError, match="reference set"):
        write_reference(tmp_path, names, scores)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_reference_set_names_the_file(tmp_path):
    (tmp_path / "s3bert-reference.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"s3bert-reference\.parquet: no reference set"):
        read_reference(tmp_path)
