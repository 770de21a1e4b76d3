"""Downloads against a real local server: cut, resumed, wrong, too long, two at once, disk full."""

from __future__ import annotations

import errno
import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest

from assay.common import transfer as module
from assay.common.transfer import DownloadError, download
from assay.exceptions import InputError

CONTENT = bytes(range(256)) * 2000  # 512,000 bytes
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.time, "sleep", lambda _: None)


def get(site: Any, target: Path, **changes: Any) -> Path:
    """Download ``/f`` of the site to *target*, with the size and the digest of :data:`CONTENT` unless changed."""
    options = {"size": len(CONTENT), "sha256": SHA, **changes}
    return download(f"{site.url}/f", target, **options)


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.part"))


def test_a_file_arrives_whole_and_is_not_fetched_again(site: Any, tmp_path: Path) -> None:
    site.files["/f"] = CONTENT
    steps: list[tuple[str, int, int | None]] = []
    target = tmp_path / "deep" / "f"
    get(site, target, progress=lambda *step: steps.append(step))
    assert target.read_bytes() == CONTENT and parts(target.parent) == []
    assert steps[-1] == ("f", len(CONTENT), len(CONTENT)) and steps == sorted(steps)
    get(site, target)
    assert len(site.requests) == 1


def test_a_cut_connection_is_resumed_where_it_stopped(site: Any, tmp_path: Path) -> None:
    site.files["/f"] = CONTENT
    site.cut_after = [200_000, 100_000]
    get(site, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT
    ranges = [requested_range for _, _, requested_range in site.requests if requested_range]
    starts = [int(requested_range.removeprefix("bytes=").rstrip("-")) for requested_range in ranges]
    assert len(starts) == 2 and 0 < starts[0] < starts[1] <= 300_000


def test_a_later_process_resumes(site: Any, tmp_path: Path) -> None:
    site.files["/f"] = CONTENT
    site.cut_after = [100_000] * module.ATTEMPTS
    with pytest.raises(DownloadError, match="cut"):
        get(site, tmp_path / "f")
    assert not (tmp_path / "f").exists() and len(parts(tmp_path)) == 1
    site.requests.clear()
    get(site, tmp_path / "f")
    assert len(site.requests) == 1 and site.requests[0][2] is not None
    assert (tmp_path / "f").read_bytes() == CONTENT and parts(tmp_path) == []


def test_a_server_without_ranges(site: Any, tmp_path: Path) -> None:
    site.files["/f"], site.ranges, site.cut_after = CONTENT, False, [200_000]
    get(site, tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_the_start_of_another_file_is_thrown_away(site: Any, tmp_path: Path) -> None:
    site.files["/f"] = CONTENT
    for stale in (b"x" * 1000, b"x" * len(CONTENT), b"x" * (len(CONTENT) + 9)):
        target = tmp_path / f"f{len(stale)}"
        target.with_name(f"{target.name}.{SHA[:12]}.part").write_bytes(stale)
        get(site, target)
        assert target.read_bytes() == CONTENT


def test_another_file_is_refused(site: Any, tmp_path: Path) -> None:
    wrong = CONTENT[:-1] + b"!"
    site.files["/f"] = wrong
    with pytest.raises(DownloadError) as caught:
        get(site, tmp_path / "f")
    assert caught.value.mismatch
    assert SHA in str(caught.value) and hashlib.sha256(wrong).hexdigest() in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    site.files["/f"] = CONTENT + b"more"
    with pytest.raises(DownloadError, match="more than the 512000 bytes"):
        get(site, tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_statuses(site: Any, tmp_path: Path) -> None:
    site.files["/f"] = CONTENT
    with pytest.raises(DownloadError, match="404"):
        download(f"{site.url}/absent", tmp_path / "f", size=1, sha256=SHA)
    assert len(site.requests) == 1, "a 404 is not asked again"
    site.status = [503, 500]
    get(site, tmp_path / "f")
    site.status = [503] * 9
    with pytest.raises(DownloadError, match="503"):
        download(f"{site.url}/f", tmp_path / "g", size=1, sha256=SHA)


def test_a_download_of_which_nothing_came_leaves_nothing(site: Any, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="404"):
        get(site, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="refuses the connection"):
        download("http://127.0.0.1:9/f", tmp_path / "f", size=1, sha256=SHA)


def test_two_at_once_do_not_harm_each_other(site: Any, tmp_path: Path) -> None:
    site.files["/f"] = CONTENT
    gate = threading.Barrier(2, timeout=10)
    waiting_threads = []

    def wait(name: str, done: int, size: int | None) -> None:
        if threading.get_ident() not in waiting_threads:
            waiting_threads.append(threading.get_ident())
            gate.wait()  # both are in the middle of the file

    failures: list[BaseException] = []

    def download_file() -> None:
        try:
            get(site, tmp_path / "f", progress=wait)
        except BaseException as error:  # noqa: BLE001 - an assertion shows it below
            failures.append(error)

    threads = [threading.Thread(target=download_file) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and len(waiting_threads) == 2
    assert (tmp_path / "f").read_bytes() == CONTENT and parts(tmp_path) == []


def test_a_full_disk_is_one_line(site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.files["/f"] = CONTENT

    def fail_to_write(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "_append_body", fail_to_write)
    with pytest.raises(InputError, match="the disk is full; free some space or set ASSAY_CACHE"):
        get(site, tmp_path / "f")
    assert list(tmp_path.iterdir()) == []
