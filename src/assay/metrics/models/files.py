"""The files of a model folder: their digest, and checks before loading (safetensors only, complete, no own code)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from assay.exceptions import InputError, UnavailableError
from assay.metrics.provenance import file_digest

#: Patterns of the files that decide scores: weights, and small files such as configurations and vocabularies.
WEIGHT_FILES = ("*.safetensors",)
SMALL_FILES = ("*.json", "*.txt", "*.model", "*.bpe", "*.vocab", "*.tiktoken", "*.jinja")
#: The model card: does not influence scores, but lists the languages of a model.
CARD = "README.md"
#: Files that do not influence scores but are downloaded as well: the card, and the reference scores of an S3BERT model.
ACCOMPANYING_FILES = (CARD, "s3bert-reference.parquet")
_SUFFIXES = frozenset(pattern[1:] for pattern in WEIGHT_FILES + SMALL_FILES)

#: The names under which transformers and sentence-transformers find safetensors; under other names they would load a
#: pickle in the same folder instead.
SINGLE_WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"
_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.pickle")
_CONVERSION_REMEDY = (
    'convert it where you trust it, in a shell of its own: python -c "from transformers import AutoModel; '
    "AutoModel.from_pretrained('MODEL').save_pretrained('FOLDER')\", and copy the tokenizer's files beside it"
)
_LFS_HEADER = b"version https://git-lfs.github.com/spec/"
_LIBRARY_MODULE = re.compile(r"sentence_transformers(\.[A-Za-z_]\w*)+", re.ASCII)
_TORCH_ACTIVATION = re.compile(r"torch\.nn(\.[A-Za-z_]\w*)+", re.ASCII)
#: Fields of a configuration that can name a class to import.
_ACTIVATIONS = ("activation_function", "activation_fn", "sbert_ce_default_activation_function")
#: Files that a tokenizer is read from; one of these sets must be complete. Without any of them the libraries silently
#: make a tokenizer with an empty vocabulary, to which nearly all texts are equal.
_VOCABULARIES = (("tokenizer.json",), ("vocab.txt",), ("*.model",), ("vocab.json", "merges.txt"), ("*.tiktoken",))
#: Tokenizers of bytes or characters, which have no vocabulary.
_WITHOUT_VOCABULARY = frozenset({"ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer"})
_LONGEST_HEADER = 100_000_000  # the limit of safetensors itself


#: Most files and levels of folders in a model's folder; a folder with more is not the folder of one model.
MAX_FILES = 10_000
MAX_FOLDER_LEVELS = 12
#: Most layers, layer groups or experts in a configuration. The largest models have fewer than 200 layers, and the
#: libraries build all layers before they read the weights, so that an absurd number would exhaust the memory.
MAX_LAYERS = 2_000
_LAYER_KEY = re.compile(r"(.*_)?n?_?(layers?|groups?|group_num|experts)", re.ASCII)


class UnsafeModelError(UnavailableError):
    """A model is refused because loading it could run code that comes with it."""


def influences_scores(name: str) -> bool:
    """Tell whether the file with this relative name influences scores; hidden files and folders do not."""
    path = PurePosixPath(name)
    return path.suffix in _SUFFIXES and not any(part.startswith(".") for part in path.parts)


def list_files(folder: Path) -> tuple[str, ...]:
    """Return the relative names of all files below a folder, sorted, with ``/`` as separator.

    Linked folders are followed, each real folder only once.

    Raises:
        InputError: there are too many files or levels for the folder of one model.
    """
    names: list[str] = []
    entered: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        real_path = os.path.realpath(root)
        if real_path in entered:
            # os.walk() reads this list: once it is empty, the folders below are not entered
            folders.clear()
            continue
        entered.add(real_path)
        current = Path(root)
        if len(names) + len(files) > MAX_FILES or len(current.parts) - len(folder.parts) > MAX_FOLDER_LEVELS:
            limit = f"{MAX_FILES:,} files or {MAX_FOLDER_LEVELS} levels of folders"
            raise InputError(f"{folder}: has more than {limit}; name the folder of one model")
        names += [(current / name).relative_to(folder).as_posix() for name in files if _is_file(current / name)]
    return tuple(sorted(names))


def _is_file(path: Path) -> bool:
    """Tell whether a path is a file; a path without permission to access it is treated as none."""
    try:
        return path.is_file()
    except PermissionError:
        return False


def files_digest(folder: Path, names: Iterable[str]) -> str:
    """Return the SHA-256, in hex, of the sorted list of (relative name, SHA-256) of these files."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(f"{name}\0{file_digest(folder / name)}\n".encode())
    return digest.hexdigest()


def read_json(path: Path, expected_type: type[dict[str, Any]] | type[list[Any]] = dict) -> Any:
    """Return the JSON object (or list) in a file; an empty one if there is no such file.

    Args:
        path: the path of the file.
        expected_type: the expected type, ``dict`` or ``list``.

    Raises:
        InputError: the file cannot be read, is not valid JSON, or has another type.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return expected_type()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error})") from None
    if not isinstance(value, expected_type):
        raise InputError(f"{path}: expected a JSON {'object' if expected_type is dict else 'list'}")
    return value


def check_model(folder: Path, *, where: str = "", left_out: Collection[str] = ()) -> None:
    """Check that the model in a folder is complete and safe to load.

    The loaders also use ``use_safetensors=True`` and ``trust_remote_code=False``. These checks come earlier and name
    the problem in one line.

    Args:
        folder: the model's folder.
        where: the name of the model in messages; by default the path of the folder.
        left_out: the names of files in the source of the model that were not downloaded, such as pickled weights.

    Raises:
        UnsafeModelError: the model has only pickled weights, or names code or weights that are not allowed.
        InputError: a file is missing, incomplete or invalid, or the model needs files outside the folder.
    """
    model = where or str(folder)
    if not folder.is_dir():
        raise InputError(f"model {model}: there is no such folder")
    names = list_files(folder)
    for name in names:
        if influences_scores(name) and _is_lfs_pointer(folder / name):
            raise InputError(
                f"model {model}: {name} is a Git-LFS pointer, not the file itself; get it with: git lfs pull"
            )
    check_code(folder, where=model)
    _refuse_adapter(folder, model)
    for relative, module_class in module_folders(folder, model):
        _refuse_adapter(folder / relative, model)
        _check_weights(folder, relative, module_class, {*names, *left_out}, model)
        if _is_transformer(module_class):
            _check_tokenizer(folder, relative, names, model)


def check_names(names: Collection[str], *, where: str) -> None:
    """Refuse a model whose weights are all pickled, from the names of its files alone, before any download.

    A model without any weights passes; :func:`check_model` refuses it later.

    Args:
        names: the relative names of all files of the model.
        where: the name of the model, for messages.

    Raises:
        UnsafeModelError: all weights are pickled.
    """
    pickled = sorted(name for name in names if _is_pickle(name))
    if pickled and not any(name.endswith(".safetensors") for name in names):
        raise UnsafeModelError(
            f"model {where} has only pickled weights ({pickled[0]}), which can run code", _CONVERSION_REMEDY
        )


def check_code(folder: Path, *, where: str) -> None:
    """Check that the configurations in a folder name no code outside the installed libraries; only JSON files are read.

    Also refused are absurd numbers of layers, and references to files outside the folder.

    Args:
        folder: the model's folder; the weights need not be there.
        where: the name of the model, for messages.

    Raises:
        UnsafeModelError: a configuration names such code.
        InputError: a configuration is not valid JSON, asks for too many layers, or refers to files outside the folder.
    """
    for relative, module_class in module_folders(folder, where):
        if module_class is not None and not _LIBRARY_MODULE.fullmatch(module_class):
            raise UnsafeModelError(
                f"model {where} has code of its own: modules.json names the class {module_class!r}, "
                f"which is not of sentence_transformers",
                "choose a model that needs none",
            )
        for name in ("config.json", "tokenizer_config.json"):
            _check_config(read_json(folder / relative / name), PurePosixPath(relative, name).as_posix(), where)
        _check_layers(read_json(folder / relative / "config.json"), where)
        for path in sorted((folder / relative).glob("sentence_*_config.json")):
            _refuse_outside_files(read_json(path), path.name, where)
        _check_router(read_json(folder / relative / "router_config.json"), where)


def _check_router(config: dict[str, Any], where: str) -> None:
    """Check the configuration of a router, a module that chooses among other modules; an empty one passes.

    Raises:
        UnsafeModelError: one of these modules is not of sentence_transformers.
    """
    classes = config.get("types")
    if not isinstance(classes, dict):
        return
    for module_class in classes.values():
        if not _LIBRARY_MODULE.fullmatch(str(module_class)):
            raise UnsafeModelError(f"model {where} has code of its own: router_config.json names {module_class!r}")


def _check_config(config: dict[str, Any], name: str, where: str) -> None:
    """Check that a configuration refers to no code outside the installed libraries.

    Args:
        config: the configuration.
        name: its relative path, for messages.
        where: the name of the model, for messages.

    Raises:
        UnsafeModelError: it refers to code of the model, or to an activation that is not of torch.nn.
    """
    if config.get("auto_map"):
        raise UnsafeModelError(
            f"model {where} requires remote code: {name} has an auto_map",
            "choose a model whose architecture transformers knows",
        )
    sections = [config]
    # a cross-encoder has its activation in a section of its own
    if isinstance(config.get("sentence_transformers"), dict):
        sections.append(config["sentence_transformers"])
    for section in sections:
        for key in _ACTIVATIONS:
            value = section.get(key)
            if isinstance(value, str) and "." in value and not _TORCH_ACTIVATION.fullmatch(value):
                raise UnsafeModelError(f"model {where} names code outside torch.nn: {name} has {key} {value!r}")


def _check_layers(config: dict[str, Any], where: str) -> None:
    """Check that a configuration, with the objects nested in it, does not ask for more layers than any model has.

    Raises:
        InputError: it asks for more than :data:`MAX_LAYERS` layers, layer groups or experts.
    """
    for key, value in _config_entries(config):
        if _LAYER_KEY.fullmatch(key) and isinstance(value, int | float) and value > MAX_LAYERS:
            raise InputError(f"model {where}: config.json has {key} {value}; at most {MAX_LAYERS:,} are loaded")


def _refuse_outside_files(config: dict[str, Any], name: str, where: str) -> None:
    """Check that the settings of a module name no other model or tokenizer, whose files the digest would not cover.

    Args:
        config: the settings.
        name: the name of their file, for messages.
        where: the name of the model, for messages.

    Raises:
        InputError: they name one.
    """
    for key, value in _config_entries(config):
        if isinstance(value, str) and key.endswith(("name_or_path", "processor_name", "subfolder", "gguf_file")):
            raise InputError(
                f"model {where}: {name} has {key} {value!r}, which leads out of the folder; copy these files into the "
                f"folder and remove the entry"
            )


def _config_entries(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each key and its value in a JSON object, and in all objects nested in it, but not in its lists."""
    pending = [config]
    while pending:
        for key, value in pending.pop().items():
            yield key, value
            if isinstance(value, dict):
                pending.append(value)


def _refuse_adapter(folder: Path, where: str) -> None:
    """Check that a folder holds no adapter, whose base model would be loaded from outside the folder.

    Args:
        folder: the folder of the model, or of one of its modules.
        where: the name of the model, for the message.

    Raises:
        InputError: it holds an adapter, or its ``adapter_config.json`` cannot be read.
    """
    if (folder / "adapter_config.json").is_file():
        base = read_json(folder / "adapter_config.json").get("base_model_name_or_path")
        raise InputError(
            f"model {where}: is an adapter (adapter_config.json) of {base or 'another model'}, whose weights are in no "
            f"digest; merge both where you trust them: pip install peft, then merge_and_unload() and save_pretrained()"
        )


def module_folders(folder: Path, where: str) -> list[tuple[str, str | None]]:
    """Return the relative folder and the class of each sentence-transformers module, in order.

    A folder without such modules counts as one module: the result is ``[("", None)]``.

    Args:
        folder: the model's folder.
        where: the name of the model, for messages.

    Raises:
        InputError: modules.json is malformed, or names a path outside the folder.
    """
    folders: list[tuple[str, str | None]] = []
    for module in read_json(folder / "modules.json", list):
        path = module.get("path") if isinstance(module, dict) else None
        module_class = module.get("type") if isinstance(module, dict) else None
        if not isinstance(path, str) or not isinstance(module_class, str):
            raise InputError(f"model {where}: modules.json has an entry without path and type")
        if path.startswith("/") or "\\" in path or ":" in path or ".." in path.split("/"):
            raise InputError(f"model {where}: modules.json leads out of the folder ({path!r})")
        folders.append((path.strip("/"), module_class))
    return folders or [("", None)]


def _check_weights(folder: Path, relative: str, module_class: str | None, names: Collection[str], where: str) -> None:
    """Check that the weights of one module are complete safetensors files; only a transformer must have weights.

    Args:
        folder: the model's folder.
        relative: the folder of the module in it.
        module_class: the class of the module; None for a model without sentence-transformers modules.
        names: the relative names of all files of the model, downloaded or not.
        where: the name of the model in messages.

    Raises:
        UnsafeModelError: the module has only pickled weights, or its index names a file that is not safetensors.
        InputError: a transformer lacks its configuration or its weights, or a file is incomplete.
    """
    siblings = _file_names_in(relative, names)
    needs_weights = _is_transformer(module_class)
    location = f" in {relative}" if relative else ""
    if needs_weights and not (folder / relative / "config.json").is_file():
        raise InputError(
            f"model {where}: there is no config.json{location}; is it a folder that save_pretrained wrote?"
        )
    if SINGLE_WEIGHTS in siblings:
        weight_files = [SINGLE_WEIGHTS]
    elif WEIGHTS_INDEX in siblings:
        weight_files = _shard_names(read_json(folder / relative / WEIGHTS_INDEX), where)
    else:
        weight_files = []
    for name in weight_files:
        check_safetensors(folder / relative / name, where)
    if weight_files:
        return
    pickled = sorted(name for name in siblings if _is_pickle(name))
    if pickled:
        raise UnsafeModelError(
            f"model {where} has only pickled weights{location} ({pickled[0]}), which can run code", _CONVERSION_REMEDY
        )
    if needs_weights:
        raise InputError(f"model {where}: there are no weights{location}: neither {SINGLE_WEIGHTS} nor {WEIGHTS_INDEX}")


def _shard_names(index: dict[str, Any], where: str) -> list[str]:
    """Return the names of the weight files in an index, sorted; empty if it lists none.

    Raises:
        UnsafeModelError: a name is not that of a safetensors file beside the index.
    """
    weight_map = index.get("weight_map")
    shards = sorted({str(shard) for shard in weight_map.values()}) if isinstance(weight_map, dict) else []
    for shard in shards:
        if "/" in shard or "\\" in shard or not shard.endswith(".safetensors"):
            raise UnsafeModelError(
                f"model {where}: {WEIGHTS_INDEX} names {shard!r}, which is not a safetensors file beside it"
            )
    return shards


def _check_tokenizer(folder: Path, relative: str, names: Collection[str], where: str) -> None:
    """Check that a transformer has the files of its tokenizer.

    Args:
        folder: the model's folder.
        relative: the folder of the transformer in it.
        names: the relative names of all files of the model.
        where: the name of the model, for messages.

    Raises:
        InputError: it lacks them.
    """
    siblings = _file_names_in(relative, names)
    for vocabulary in _VOCABULARIES:
        if all(any(fnmatchcase(name, pattern) for name in siblings) for pattern in vocabulary):
            return
    if read_json(folder / relative / "tokenizer_config.json").get("tokenizer_class") in _WITHOUT_VOCABULARY:
        return
    forms = ", ".join(" with ".join(vocabulary) for vocabulary in _VOCABULARIES)
    location = f" in {relative}" if relative else ""
    raise InputError(f"model {where}: there is no tokenizer{location}; expected one of {forms}")


def _file_names_in(relative: str, names: Iterable[str]) -> set[str]:
    """Return the names, without folder, of those files in *names* that are directly in the folder *relative*."""
    paths = map(PurePosixPath, names)
    return {path.name for path in paths if path.parent == PurePosixPath(relative)}


def _is_transformer(module_class: str | None) -> bool:
    """Tell whether the class of a module is Transformer; None, for a folder without modules, counts as one."""
    return module_class is None or module_class.rpartition(".")[2] == "Transformer"


def check_safetensors(path: Path, where: str) -> None:
    """Check that a safetensors file has the size that its header declares; no tensor is read.

    Args:
        path: the file.
        where: the name of the model, for messages.

    Raises:
        InputError: the file is missing, has another size, or is not a safetensors file.
    """
    if not path.is_file():
        raise InputError(f"model {where}: the weights {path.name} are missing")
    size = path.stat().st_size
    with path.open("rb") as stream:
        header_length = int.from_bytes(stream.read(8), "little")
        try:
            # even a header without tensors is {}, which has 2 bytes
            if not 2 <= header_length <= min(size - 8, _LONGEST_HEADER):
                raise ValueError
            header = json.loads(stream.read(header_length))
            ends = [int(entry["data_offsets"][1]) for key, entry in header.items() if key != "__metadata__"]
        # whatever a header raises that is not JSON, or JSON of another form
        except (ValueError, OverflowError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
            raise InputError(f"model {where}: {path.name} is not a complete safetensors file ({size} bytes)") from None
    # the length of the header in 8 bytes, the header, the tensors
    expected = 8 + header_length + max(ends, default=0)
    if size != expected:
        raise InputError(f"model {where}: {path.name} has {size} bytes; its header says {expected}")


def _is_pickle(name: str) -> bool:
    return any(fnmatchcase(PurePosixPath(name).name, pattern) for pattern in _PICKLES)


def _is_lfs_pointer(path: Path) -> bool:
    """Tell whether a file is a pointer of Git LFS in place of the actual file."""
    # a pointer has about 130 bytes: larger files are not opened
    if path.stat().st_size > 1024:
        return False
    with path.open("rb") as stream:
        return stream.read(len(_LFS_HEADER)) == _LFS_HEADER
