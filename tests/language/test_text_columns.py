"""Columns of texts: gold answers laid flat, and numbers in them."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np
import pyarrow as pa

from assay.language.texts import flattened_texts, has_number

GOLDS = [["a", "b 7"], ["c²"], ["one"], ["d", "e"], ["Ⅷ"], ["½ cup", "half"], ["٣"]]
EXPECTED = [True, True, False, False, True, True, True]


def test_numbers_in_gold_answers_of_any_form():
    for type_ in (pa.list_(pa.string()), pa.large_list(pa.large_string())):
        assert has_number(pa.chunked_array([GOLDS[:3], GOLDS[3:]], type_)).tolist() == EXPECTED
    single = pa.chunked_array([[" ".join(golds) for golds in GOLDS]])
    assert has_number(single).tolist() == EXPECTED


def test_a_part_of_a_column_has_rows_of_its_own():
    column = pa.chunked_array([GOLDS])
    assert has_number(column.slice(2)).tolist() == EXPECTED[2:]
    ((texts, rows),) = flattened_texts(column.slice(5))
    assert (texts.to_pylist(), rows.tolist()) == (["½ cup", "half", "٣"], [0, 0, 1])
    chunks = flattened_texts(pa.chunked_array([GOLDS[:6], GOLDS[6:]]))
    assert [rows.tolist() for _, rows in chunks][1] == [6]


def test_a_number_is_the_category_n_of_unicode():
    # characters that Python does not know yet may be numbers to Arrow
    known = [
        letter for letter in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(letter) not in ("Cn", "Cs")
    ]
    expected = [unicodedata.category(letter).startswith("N") for letter in known]
    np.testing.assert_array_equal(has_number(pa.chunked_array([known])), expected)
