"""Files nested deep, or with thousands of digits or keys: refused in one line that names the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.analysis.folder import read_run
from assay.datasets import load_dataset, read_table_file
from assay.exceptions import InputError

# the parser recurses deeply
pytestmark = pytest.mark.usefixtures("nothing_is_finalised")

DEEP = "[" * 5000 + "]" * 5000
DIGITS = "9" * 5000
ROWS = [{"reference": "a", "candidate": "b", "label": 1}, {"reference": "a", "candidate": "a", "label": 2}]


def refusal(file: Path, text: str, read: Callable[[], object]) -> str:
    """Return the one-line message with which *read* refuses a file that contains *text*."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read()
    message = str(caught.value)
    assert file.name in message and "\n" not in message and len(message) < 500
    return message


@pytest.mark.parametrize("value", [DEEP, DIGITS])
def test_toml(tmp_path, value):
    card, suite, space = (tmp_path / f"{name}.toml" for name in ("card", "suite", "space"))
    refusal(card, f"x = {value}", lambda: load_dataset(str(card)))
    refusal(suite, f"x = {value}", lambda: assay.run(str(suite), ["f1"], resamples=0))
    from assay.metrics.judge.prompts import Prompt
    from assay.metrics.judge.spending import read_prices
    from assay.training.tuning.settings import _parse_space_file

    refusal(space, f"x = {value}", lambda: _parse_space_file(space))
    refusal(tmp_path / "prompt.toml", f"x = {value}", lambda: Prompt.load(str(tmp_path / "prompt.toml")))
    refusal(tmp_path / "prices.toml", f"x = {value}", lambda: read_prices(tmp_path / "prices.toml"))


@pytest.mark.parametrize("value", [DEEP, DIGITS])
def test_json(tmp_path, value):
    folder = tmp_path / "run"
    text = f'{{"schema": {value}}}'
    refusal(folder / "run.json", text, lambda: read_run(folder))
    refusal(folder / "run.json", text, lambda: assay.run(ROWS, ["f1"], resamples=0, out=folder))
    rows = tmp_path / "own.jsonl"
    refusal(
        rows, f'{{"reference": "a", "candidate": "b", "label": 1, "x": {value}}}\n', lambda: load_dataset(str(rows))
    )


def test_lines_that_share_no_keys(tmp_path):
    file = tmp_path / "keys.jsonl"
    lines = "".join(f'{{"key{number}": 1}}\n' for number in range(10_000))
    assert "10,000 different keys" in refusal(file, lines, lambda: load_dataset(str(file)))


def test_lines_that_share_few_keys(tmp_path):
    file = tmp_path / "keys.jsonl"
    values = [[1, "a", ["a", None], None, True, 0.5, {"a": 1}][number % 7] for number in range(300)]
    shared = {"reference": "a", "candidate": "b", "label": 1}
    rows = [shared | {f"key{number}": value} for number, value in enumerate(values)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    source = read_table_file(file)
    for number, value in enumerate(values):
        cells = source.table.column(f"key{number}")
        expected = '{"a": 1}' if isinstance(value, dict) else value
        assert cells[number].as_py() == expected and cells.null_count == 300 - (value is not None)
    assert source.misfits["key5"][:2] == (5, "the number 0.5")
