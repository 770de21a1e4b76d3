"""Folders, files and wheels of models that are made for a test; too small to load, see tiny.py for one that loads."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from pathlib import Path
from typing import Any


def safetensors(values: bytes = bytes(8)) -> bytes:
    """Return a safetensors file with one tensor."""
    entry = {"dtype": "F32", "shape": [len(values) // 4], "data_offsets": [0, len(values)]}
    header = json.dumps({"w": entry}).encode()
    return len(header).to_bytes(8, "little") + header + values


def model_files() -> dict[str, bytes]:
    """Return the files of a tiny sentence-transformers model."""
    parts = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in parts]
    values: dict[str, Any] = {
        "config.json": {
            "architectures": ["BertModel"],
            "hidden_size": 8,
            "num_hidden_layers": 2,
            "max_position_embeddings": 64,
        },
        "modules.json": modules,
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
        "sentence_bert_config.json": {"max_seq_length": 32},
        "config_sentence_transformers.json": {"prompts": {"query": "query: "}, "default_prompt_name": "query"},
    }
    card = b"---\nlanguage:\n- en\n- 'de'\ntags:\n- x\n---\n# Tiny\n"
    return {name: json.dumps(value).encode() for name, value in values.items()} | {
        "model.safetensors": safetensors(),
        "vocab.txt": b"[UNK]\n",
        "README.md": card,
    }


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def make_wheel(index: Path, files: dict[str, bytes], link: str = "", name: str = "tiny_model-1.0") -> str:
    """Write a wheel with the files in ``PACKAGE/m``, and a symbolic link if asked; return its pinned reference."""
    path = index / f"{name}-py3-none-any.whl"
    info = f"{name}.dist-info"
    package, version = name.split("-")
    with zipfile.ZipFile(path, "w") as box:
        for name, content in files.items():
            box.writestr(f"{package}/m/{name}", content)
        if link:
            member = zipfile.ZipInfo(f"{package}/m/{link}")
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            box.writestr(member, "/etc/passwd")
        box.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        box.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        box.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"pypi:{package.replace('_', '-')}=={version}#{package}/m@sha256:{digest}"
