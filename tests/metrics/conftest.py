"""What tests of word vectors share."""

from __future__ import annotations

import pytest

from tests.metrics.vector_files import text_of


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_bytes(text_of())
    return path
