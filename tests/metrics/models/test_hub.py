"""Models of the hub, from a local stand-in for it: a real HTTP server, asked by processes of their own."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from assay.exceptions import install_command
from assay.metrics.models import describe, list_models, locate
from assay.metrics.models.files import list_files
from tests.metrics.models.made import model_files, safetensors, write

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Next(list[int]):
    """What the next answers to one kind of request shall be; it looks empty to all others."""

    def __init__(self, hub: Hub, command: str, ending: str, values: list[int]) -> None:
        super().__init__(values)
        self.site, self.command, self.ending = hub.site, command, ending

    def __bool__(self) -> bool:
        command, path, _ = self.site.requests[-1]
        return len(self) > 0 and command == self.command and path.endswith(self.ending)


class Hub:
    """A stand-in for the hub with one repository, asked from processes of their own."""

    def __init__(self, site: Any, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.site, self.home, self.patch = site, home, patch

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

    def mark_errors(self, ending: str, code: str) -> None:
        """Send what the hub says beside a status, for addresses that end so."""
        end = BaseHTTPRequestHandler.end_headers

        def end_headers(handler: BaseHTTPRequestHandler) -> None:
            if handler.path.split("?")[0].endswith(ending):
                handler.send_header("X-Error-Code", code)
            end(handler)

        self.patch.setattr(BaseHTTPRequestHandler, "end_headers", end_headers)

    def reset_connections(self) -> None:
        """Let every connection that the server ends be reset instead of closed."""

        def accept(server: ThreadingHTTPServer) -> tuple[socket.socket, Any]:
            connection, address = server.socket.accept()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return connection, address

        self.patch.setattr(ThreadingHTTPServer, "get_request", accept)

    def ask(self, text: str = "me/tiny", offline: bool = False, before: str = "", **env: str) -> tuple[str, str]:
        """Return the last lines of stdout and stderr."""
        self.site.requests.clear()
        line = (
            f"{before}\nimport sys; from assay.metrics.models import locate; m = locate({text!r}, offline={offline}); "
        )
        line += "print(m.revision, m.digest, ' '.join(p.name for p in m.folder.iterdir()))"
        base = {"HF_ENDPOINT": self.site.url, "HF_HUB_OFFLINE": "0", "HF_HOME": str(self.home)}
        quiet = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
        done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, **base, **quiet, **env})  # fmt: skip
        return done.stdout.strip(), (done.stderr.strip().splitlines() or [""])[-1]

    def gets(self, ending: str) -> list[str | None]:
        """Return the Range of each GET of addresses that end so."""
        return [asked for command, path, asked in self.site.requests if command == "GET" and path.endswith(ending)]

    def asked(self, ending: str) -> bool:
        return any(path.endswith(ending) for _, path, _ in self.site.requests)


@pytest.fixture
def hub(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    pytest.importorskip("huggingface_hub")
    return Hub(site, tmp_path / "hf", monkeypatch)


@pytest.mark.slow
def test_a_hub_model(hub: Hub, tmp_path: Path) -> None:
    hub.serve({**model_files(), "pytorch_model.bin": b"pickle", "code.py": b"x"})
    assert "OfflineError" in hub.ask(offline=True)[1] and not hub.site.requests
    out, err = hub.ask("me/tiny@v1")
    assert out.split()[:2] == [COMMIT, locate(str(write(tmp_path / "same", model_files()))).digest], err
    assert "README.md" in out and not hub.asked(".bin") and not hub.asked(".py")
    for text, offline in (("me/tiny@v1", True), (f"me/tiny@{COMMIT}", True), ("me/tiny@v1", False)):
        assert hub.ask(text, offline) == (out, "") and not hub.site.requests, "what is here needs no network"
    assert [item.model for item in list_models() if item.here] == ["me/tiny@v1"]
    other = {"ASSAY_CACHE": str(tmp_path / "other")}
    assert hub.ask(f"me/tiny@{COMMIT}", True, **other)[0] == out, "the hub's own cache serves as well"
    err = hub.ask("me/tiny@v2", HF_HUB_OFFLINE="1")[1]
    assert "OfflineError" in err and "unset HF_HUB_OFFLINE" in err and err.endswith("assay models fetch me/tiny@v2")
    assert not hub.site.requests


@pytest.mark.slow
def test_hub_models_that_are_refused(hub: Hub) -> None:
    files = model_files()
    pickled = {name: content for name, content in files.items() if name != "model.safetensors"}
    hub.serve({**pickled, "pytorch_model.bin": b"pickle"})
    assert "pickled weights" in hub.ask()[1] and not hub.asked(".bin")
    hub.serve({**files, "config.json": b'{"auto_map": {"AutoModel": "m.M"}}', "m.py": b"x"})
    assert "requires remote code" in hub.ask()[1] and not hub.asked(".safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_wrong_checksum(hub: Hub, name: str) -> None:
    hub.serve(model_files(), wrong=name)
    for _ in range(2):
        out, err = hub.ask()
        assert out == "" and "ChecksumError" in err and name in err
    assert not list(hub.home.glob(f"hub/*/snapshots/*/{name}")), "what is wrong does not stay"


def test_a_real_model(hub: Hub, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tests.metrics.models.tiny import make_bert

    source = make_bert(tmp_path / "source", pooling="cls")
    hub.serve({name: (source / name).read_bytes() for name in list_files(source)})
    assert hub.ask()[0], "it comes"
    found = locate("me/tiny", offline=True)
    assert found.digest == locate(str(source)).digest and describe(found.folder).pooling == "cls"
    options = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": True}
    vectors = []
    for folder in (found.folder, source):
        words = transformers.AutoTokenizer.from_pretrained(folder)(
            ["Berlin", "the cat"], padding=True, return_tensors="pt"
        )
        with torch.inference_mode():
            vectors.append(transformers.AutoModel.from_pretrained(folder, **options)(**words).last_hidden_state[:, 0])
    assert torch.equal(*vectors) and not torch.allclose(*vectors[0], atol=0.1), "one model, and it tells texts apart"


@pytest.mark.slow
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_a_cut_connection(hub: Hub, reset: bool) -> None:
    # huggingface_hub writes in pieces of 10 MiB: what came of the second one is lost, the first is not asked for again
    weights = safetensors(bytes(range(256)) * (11 << 12))
    hub.serve({**model_files(), "model.safetensors": weights})
    hub.site.cut_after = Next(hub, "GET", "model.safetensors", [(10 << 20) + 5000, 100])
    if reset:
        hub.reset_connections()
    out, err = hub.ask()
    assert out.startswith(COMMIT), err
    ranges = hub.gets("model.safetensors")
    assert len(ranges) == 3 and (reset or ranges[1:] == [f"bytes={10 << 20}-"] * 2), ranges
    assert (locate("me/tiny", offline=True).folder / "model.safetensors").read_bytes() == weights
    assert not list(hub.home.rglob("*.incomplete"))


@pytest.mark.slow
def test_a_server_in_trouble(hub: Hub) -> None:
    hub.serve(model_files())
    hub.site.status = Next(hub, "GET", "me/tiny", [500])
    out, err = hub.ask()
    assert out == "" and "UnavailableError" in err and "(it answers 500)" in err
    assert err.endswith("complete files are kept; continue with: assay models fetch me/tiny")
    hub.site.status = Next(hub, "GET", "model.safetensors", [500] * 3)
    out, err = hub.ask()
    assert out == "" and "(it answers 500)" in err and len(hub.gets("model.safetensors")) == 3
    assert not list(hub.home.rglob("*.safetensors")) and "OfflineError" in hub.ask(offline=True)[1], "no half a model"
    hub.site.status = Next(hub, "GET", "model.safetensors", [503])
    out, err = hub.ask()
    assert out and len(hub.gets("model.safetensors")) == 2 and not hub.asked("config.json"), "it went on from there"


@pytest.mark.slow
def test_no_connection(hub: Hub) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    out, err = hub.ask(HF_ENDPOINT=url)
    assert out == "" and "could not be downloaded from the hub (ConnectError" in err and "assay models fetch" in err


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(("command", "ending"), [("GET", "me/tiny"), ("HEAD", "config.json")])
def test_a_gated_repository(hub: Hub, status: int, command: str, ending: str) -> None:
    hub.serve(model_files())
    hub.mark_errors(ending, "GatedRepo")
    hub.site.status = Next(hub, command, ending, [status] * 9)
    out, err = hub.ask()
    assert out == "" and "UnavailableError: model me/tiny: it is gated, and its owner has not granted access: " in err
    assert err.endswith("accept the terms on the page of me/tiny, then: hf auth login") and not hub.asked(
        ".safetensors"
    )


@pytest.mark.slow
def test_access_refused_without_a_reason(hub: Hub) -> None:
    hub.serve(model_files())
    hub.site.status = Next(hub, "HEAD", "model.safetensors", [403])
    assert hub.ask()[1].endswith("model me/tiny: the hub refuses access (403): if it is private: hf auth login")


@pytest.mark.slow
def test_what_the_hub_does_not_have(hub: Hub) -> None:
    hub.serve(model_files())
    hub.mark_errors("/revision/v9", "RevisionNotFound")
    assert hub.ask("me/tiny@v9")[1].endswith("UnavailableError: model me/tiny@v9: me/tiny has no revision v9")
    hub.mark_errors("/me/absent", "RepoNotFound")
    assert "nor such a repository on the hub: if it is private: hf auth login" in hub.ask("me/absent")[1]


def test_without_huggingface_hub(hub: Hub) -> None:
    hub.serve(model_files())
    out, err = hub.ask(before="import sys; sys.modules['huggingface_hub'] = None")
    assert out == "" and not hub.site.requests
    assert err.endswith(f"MissingExtraError: the package huggingface_hub is not installed: {install_command('hf')}")
