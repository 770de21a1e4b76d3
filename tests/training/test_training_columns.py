"""Pairs for training whose columns have other names."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from assay.datasets.columns import columns_text
from assay.exceptions import InputError
from assay.training.data import load_examples
from assay.training.midtuning.reader import read_forms
from assay.training.pairwise.settings import PairSettings

NAMES = {
    "reference": "gold", "candidate": "answer", "label": "score", "reference_graph": "g", "candidate_graph": "a"
}  # fmt: skip
TEXT = "reference=gold,candidate=answer,label=score,reference_graph=g,candidate_graph=a"


@pytest.fixture
def renamed(pairs_file, tmp_path):
    """The path of pairs as they are, and of the same under other names."""
    plain, path = pairs_file(12, 1, reference_graph="(w / want-01 :ARG0 (b / boy))"), tmp_path / "renamed.parquet"
    table = pq.read_table(plain)
    # a second column with a usual name of references, so that none is taken without being told
    table = table.append_column("target", table.column("reference"))
    pq.write_table(table.rename_columns([NAMES.get(name, name) for name in table.column_names]), path)
    return plain, str(path)


def test_the_same_pairs_are_read(renamed):
    plain, other = renamed
    with pytest.raises(InputError, match="has no column reference and no column candidate"):
        load_examples([other], limit=None)
    expected, found = (
        load_examples([plain], limit=None, graphs=True),
        load_examples([other], limit=None, graphs=True, columns=TEXT),
    )
    assert (found.references, found.reference_graphs) == (expected.references, expected.reference_graphs)
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.sources[0].digest == expected.sources[0].digest


def test_datasets_with_a_card_keep_their_reader(renamed):
    found = load_examples([renamed[1], "probe"], limit=None, columns=TEXT)
    assert [source.kind for source in found.sources] == ["own", "probe"]


def test_forms_are_read(renamed):
    plain, other = renamed
    expected = read_forms([plain], limit=None, held_out=set())
    found = read_forms([other], limit=None, held_out=set(), columns=TEXT)
    assert len(found) == 12 and (found.sentences, found.forms) == (expected.sentences, expected.forms)


def test_a_request_has_its_columns():
    asked = PairSettings("bi-encoder", "base", ("pairs.csv", "probe"), "out", columns=TEXT)
    assert asked.training_command() == (
        f"assay train bi-encoder --base base --pairs pairs.csv --pairs probe --columns {TEXT} --out out"
    )
    # of what a stopped training is continued by
    assert asked.plain_values() != PairSettings("bi-encoder", "base", ("pairs.csv", "probe"), "out").plain_values()
    with pytest.raises(InputError, match="`columns` is for files of your own"):
        PairSettings("bi-encoder", "base", ("stsb:train",), "out", columns=TEXT)
    assert (
        PairSettings("bi-encoder", "base", ("stsb:train",), "out", test=("mine.csv:test",), columns=TEXT).columns
        == TEXT
    )


def test_a_mapping_as_text():
    assert columns_text(NAMES) == columns_text(TEXT) == TEXT
    assert columns_text({"label": ["a1", "a2"]}) == "label=a1+a2"
    assert columns_text(None) is None
    with pytest.raises(InputError, match="'gold'"):
        columns_text({"gold": "reference"})
