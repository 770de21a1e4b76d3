"""The files of a model folder: their digest, and the checks before they are loaded (safetensors, whole, no code)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from assay.errors import InputError, UnavailableError
from assay.metrics.provenance import file_digest

__all__ = [
    "BESIDE",
    "CARD",
    "SMALL",
    "WEIGHTS",
    "UnsafeModelError",
    "check_code",
    "check_model",
    "check_names",
    "decides",
    "digest_of",
    "list_files",
    "module_folders",
    "read_json",
]


# The files of a model folder: which decide the numbers, their digest, and their JSON.

#: Patterns of the files that decide the numbers: weights, and all that is small.
WEIGHTS = ("*.safetensors",)
SMALL = ("*.json", "*.txt", "*.model", "*.bpe", "*.vocab", "*.tiktoken")
#: Decides no number, but says for which languages a model is.
CARD = "README.md"
#: Files that decide no number and come along: the card, and the scores by which one of S3BERT is called usual.
BESIDE = (CARD, "s3bert-reference.parquet")
_SUFFIXES = frozenset(pattern[1:] for pattern in WEIGHTS + SMALL)


def decides(name: str) -> bool:
    """Tell whether the file of that relative name decides the numbers; hidden files and folders never do."""
    path = PurePosixPath(name)
    return path.suffix in _SUFFIXES and not any(part.startswith(".") for part in path.parts)


def list_files(folder: Path) -> tuple[str, ...]:
    """Return the relative names of all files below a folder, sorted, with ``/``; linked folders are entered once."""
    names: list[str] = []
    entered: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        here = Path(root)
        names += [(here / name).relative_to(folder).as_posix() for name in files if (here / name).is_file()]
    return tuple(sorted(names))


def digest_of(folder: Path, names: Iterable[str]) -> str:
    """Return the SHA-256, in hex, over the sorted (relative name, SHA-256) of files."""
    whole = hashlib.sha256()
    for name in sorted(names):
        whole.update(f"{name}\0{file_digest(folder / name)}\n".encode())
    return whole.hexdigest()


def read_json(path: Path, kind: type[dict[str, Any]] | type[list[Any]] = dict) -> Any:
    """Return the JSON object (or list) of a file; an empty one where there is no such file.

    Raises:
        InputError: it is no JSON, or JSON of another kind.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return kind()
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error})") from None
    if not isinstance(value, kind):
        raise InputError(f"{path}: expected a JSON {'object' if kind is dict else 'list'}")
    return value


# What a model folder must be before anything loads it: safetensors, whole, and without code of its own.
#
# Loaders still have to be told (``use_safetensors=True``, ``trust_remote_code=False``); the checks here say it
# earlier and in one line.

#: What transformers and sentence-transformers load; under any other name they would take the pickle beside it.
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle")
_CONVERT = (
    'convert it where you trust it, in a shell of its own: python -c "from transformers import AutoModel; '
    "AutoModel.from_pretrained('MODEL').save_pretrained('FOLDER')\", and copy the tokenizer's files beside it"
)
_LFS = b"version https://git-lfs.github.com/spec/"
_OWN_TYPE = re.compile(r"sentence_transformers(\.[A-Za-z_]\w*)+", re.ASCII)
_OWN_ACTIVATION = re.compile(r"torch\.nn(\.[A-Za-z_]\w*)+", re.ASCII)
#: Fields of a configuration that name a class to import.
_ACTIVATIONS = ("activation_function", "activation_fn", "sbert_ce_default_activation_function")
#: What a tokenizer is read from, as sets of which one must be there whole; under none of them the libraries make one
#: that knows no word, and nearly all texts look alike.
_VOCABULARIES = (("tokenizer.json",), ("vocab.txt",), ("*.model",), ("vocab.json", "merges.txt"), ("*.tiktoken",))
#: Tokenizers over bytes or characters, which have no vocabulary.
_WITHOUT_VOCABULARY = frozenset({"ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer"})
_LONGEST_HEADER = 100_000_000  # the limit of safetensors itself


class UnsafeModelError(UnavailableError):
    """A model that is refused: loading it would run code that came with it."""


def check_model(folder: Path, *, where: str = "", left_out: Collection[str] = ()) -> None:
    """Return when a folder holds a model that is whole and safe to load.

    Args:
        folder: the model's folder.
        where: what messages call it; by default its path.
        left_out: names of files of its source that were not brought here, such as pickled weights.

    Raises:
        UnsafeModelError: pickled weights only, or code of its own.
        InputError: something is missing or not whole.
    """
    where = where or str(folder)
    if not folder.is_dir():
        raise InputError(f"model {where}: there is no such folder")
    names = list_files(folder)
    for name in names:
        if decides(name) and _is_pointer(folder / name):
            raise InputError(
                f"model {where}: {name} is a Git-LFS pointer, not the file itself; get it with: git lfs pull"
            )
    check_code(folder, where=where)
    modules = module_folders(folder, where)
    for place, kind in modules:
        _check_weights(folder, place, kind, {*names, *left_out}, where)
        if _is_transformer(kind):
            _check_tokenizer(folder, place, names, where)


def check_names(names: Collection[str], *, where: str) -> None:
    """Refuse a listing that has pickled weights and no safetensors at all, before anything is fetched.

    Raises:
        UnsafeModelError: so it is.
    """
    pickled = sorted(name for name in names if _is_pickle(name))
    if pickled and not any(name.endswith(".safetensors") for name in names):
        raise UnsafeModelError(f"model {where} has only pickled weights ({pickled[0]}), which can run code", _CONVERT)


def check_code(folder: Path, *, where: str) -> None:
    """Refuse configurations that name code other than that of the installed libraries; reads JSON only.

    Raises:
        UnsafeModelError: a configuration asks for such code.
        InputError: a configuration is no JSON.
    """
    for place, kind in module_folders(folder, where):
        if kind is not None and not _OWN_TYPE.fullmatch(kind):
            raise UnsafeModelError(
                f"model {where} brings code of its own: modules.json names the class {kind!r}, "
                f"which is not of sentence_transformers",
                "choose a model that needs none",
            )
        for name in ("config.json", "tokenizer_config.json"):
            _check_config(read_json(folder / place / name), PurePosixPath(place, name).as_posix(), where)
        router = read_json(folder / place / "router_config.json").get("types")
        for value in router.values() if isinstance(router, dict) else ():
            if not _OWN_TYPE.fullmatch(str(value)):
                raise UnsafeModelError(f"model {where} brings code of its own: router_config.json names {value!r}")


def _check_config(config: dict[str, Any], name: str, where: str) -> None:
    if config.get("auto_map"):
        raise UnsafeModelError(
            f"model {where} asks for remote code: {name} has an auto_map",
            "choose a model whose architecture transformers knows",
        )
    own = config.get("sentence_transformers")
    for part in (config, own if isinstance(own, dict) else {}):
        for key in _ACTIVATIONS:
            value = part.get(key)
            if isinstance(value, str) and "." in value and not _OWN_ACTIVATION.fullmatch(value):
                raise UnsafeModelError(f"model {where} names code outside torch.nn: {name} has {key} {value!r}")


def module_folders(folder: Path, where: str) -> list[tuple[str, str | None]]:
    """Return (relative folder, class) of each sentence-transformers module; ``[("", None)]`` where there are none.

    Raises:
        InputError: modules.json has another form, or leads out of the folder.
    """
    found: list[tuple[str, str | None]] = []
    for module in read_json(folder / "modules.json", list):
        path = module.get("path") if isinstance(module, dict) else None
        kind = module.get("type") if isinstance(module, dict) else None
        if not isinstance(path, str) or not isinstance(kind, str):
            raise InputError(f"model {where}: modules.json has an entry without path and type")
        if path.startswith("/") or "\\" in path or ":" in path or ".." in path.split("/"):
            raise InputError(f"model {where}: modules.json leads out of the folder ({path!r})")
        found.append((path.strip("/"), kind))
    return found or [("", None)]


def _check_weights(folder: Path, place: str, kind: str | None, names: Collection[str], where: str) -> None:
    """Check the weights in one folder of the model; only a transformer must have some."""
    here = {path.name for path in map(PurePosixPath, names) if path.parent == PurePosixPath(place)}
    needed = _is_transformer(kind)
    inside = f" in {place}" if place else ""
    if needed and not (folder / place / "config.json").is_file():
        raise InputError(f"model {where}: there is no config.json{inside}; is it a folder that save_pretrained wrote?")
    if INDEX in here and SINGLE not in here:
        shards = read_json(folder / place / INDEX).get("weight_map")
        wanted = sorted({str(shard) for shard in shards.values()}) if isinstance(shards, dict) else []
        for shard in wanted:
            if "/" in shard or "\\" in shard or not shard.endswith(".safetensors"):
                raise UnsafeModelError(
                    f"model {where}: {INDEX} names {shard!r}, which is no safetensors file beside it"
                )
    else:
        wanted = [SINGLE] if SINGLE in here else []
    for name in wanted:
        _check_safetensors(folder / place / name, where)
    if wanted:
        return
    pickled = sorted(name for name in here if _is_pickle(name))
    if pickled:
        raise UnsafeModelError(
            f"model {where} has only pickled weights{inside} ({pickled[0]}), which can run code", _CONVERT
        )
    if needed:
        raise InputError(f"model {where}: there are no weights{inside}: neither {SINGLE} nor {INDEX}")


def _check_tokenizer(folder: Path, place: str, names: Collection[str], where: str) -> None:
    """Refuse a transformer without the files of its tokenizer."""
    here = [path.name for path in map(PurePosixPath, names) if path.parent == PurePosixPath(place)]
    for vocabulary in _VOCABULARIES:
        if all(any(fnmatchcase(name, pattern) for name in here) for pattern in vocabulary):
            return
    if read_json(folder / place / "tokenizer_config.json").get("tokenizer_class") in _WITHOUT_VOCABULARY:
        return
    forms = ", ".join(" with ".join(vocabulary) for vocabulary in _VOCABULARIES)
    inside = f" in {place}" if place else ""
    raise InputError(f"model {where}: there is no tokenizer{inside}; expected one of {forms}")


def _is_transformer(kind: str | None) -> bool:
    """Tell whether a module is a transformer, as every folder without sentence-transformers modules is."""
    return kind is None or kind.rpartition(".")[2] == "Transformer"


def _check_safetensors(path: Path, where: str) -> None:
    """Hold the length of a file against its header; a cut or foreign file is named, no tensor is read."""
    if not path.is_file():
        raise InputError(f"model {where}: the weights {path.name} are missing")
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        try:
            if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
                raise ValueError
            header = json.loads(stream.read(length))
            ends = [int(entry["data_offsets"][1]) for key, entry in header.items() if key != "__metadata__"]
        except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
            raise InputError(f"model {where}: {path.name} is no whole safetensors file ({size} bytes)") from None
    if size != 8 + length + max(ends, default=0):
        expected = 8 + length + max(ends, default=0)
        raise InputError(f"model {where}: {path.name} has {size} bytes; its header says {expected}")


def _is_pickle(name: str) -> bool:
    return any(fnmatchcase(PurePosixPath(name).name, pattern) for pattern in _PICKLES)


def _is_pointer(path: Path) -> bool:
    if path.stat().st_size > 1024:
        return False
    with path.open("rb") as stream:
        return stream.read(len(_LFS)) == _LFS
