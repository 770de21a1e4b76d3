"""Archives that are damaged, encrypted or made to harm: a source that does not have the file, never a crash."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from assay.datasets import archives, load_dataset, sources
from assay.datasets.archives import archive_members, unpacked_members
from assay.datasets.card import FileEntry
from assay.datasets.readers.table import read_table
from assay.datasets.sources import MismatchMiss, SourceMiss, read_member
from assay.exceptions import InputError

CONTENT = b"reference,candidate,label\na,b,1\n" * 50
ANY = FileEntry(name="d.csv")


def zipped(path: Path, content: bytes = CONTENT, way: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", way) as box:
        box.writestr("d.csv", content)
    return path


def taped(path: Path, content: bytes = CONTENT) -> Path:
    with tarfile.open(path, "w:gz") as tape:
        info = tarfile.TarInfo("d.csv")
        info.size = len(content)
        tape.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("make", [zipped, taped])
def test_a_sound_archive_gives_the_file(tmp_path: Path, make) -> None:
    assert read_member(make(tmp_path / "a"), "d.csv", ANY) == CONTENT


@pytest.mark.parametrize("make", [zipped, taped])
def test_damage_anywhere_is_told_or_does_not_matter(tmp_path: Path, make) -> None:
    whole = make(tmp_path / "a").read_bytes()
    dice = random.Random(3)
    for trial in range(300):
        broken = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            broken[dice.randrange(len(whole))] = dice.randrange(256)
        (tmp_path / "a").write_bytes(broken[: dice.randrange(len(whole))] if trial % 3 == 0 else broken)
        try:
            assert read_member(tmp_path / "a", "d.csv", ANY) == CONTENT
        except SourceMiss as miss:
            assert "\n" not in str(miss)


def test_an_encrypted_zip_and_an_unknown_way_of_packing(tmp_path: Path) -> None:
    content = bytearray(zipped(tmp_path / "a").read_bytes())
    directory = content.index(b"PK\x01\x02")
    encrypted = content.copy()
    for place in (6, directory + 8):
        encrypted[place] |= 1
    (tmp_path / "a").write_bytes(encrypted)
    with pytest.raises(SourceMiss, match=r"a cannot be read \(.*encrypted"):
        read_member(tmp_path / "a", "d.csv", ANY)
    for place in (8, directory + 10):
        content[place : place + 2] = struct.pack("<H", 77)
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(SourceMiss, match="packed in a way that is not read; expected deflate"):
        read_member(tmp_path / "a", "d.csv", ANY)


def test_a_zip_that_would_be_unpacked_in_one_piece_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceMiss, match="expected deflate"):
        read_member(zipped(tmp_path / "a", bytes(1 << 24), zipfile.ZIP_BZIP2), "d.csv", ANY)


@pytest.mark.parametrize("make", [zipped, taped])
def test_no_more_is_unpacked_than_the_card_says_or_a_limit(tmp_path: Path, make, monkeypatch) -> None:
    archive = make(tmp_path / "a", bytes(100_000))
    monkeypatch.setattr(sources, "MAX_UNPACKED_BYTES", 99_999)
    with pytest.raises(MismatchMiss, match="has more than 99,999 bytes; write its size into the card"):
        read_member(archive, "d.csv", ANY)
    with pytest.raises(MismatchMiss, match="has 100000 bytes; expected 5"):
        read_member(archive, "d.csv", FileEntry(name="d.csv", bytes=5))


def test_a_tar_whose_headers_hold_for_all_that_follow_ends_soon(tmp_path: Path) -> None:
    """Each member copies the headers that hold for the whole archive: their number times that of the members."""
    with tarfile.open(tmp_path / "a", "w", pax_headers={f"key{i}": "x" for i in range(2000)}) as tape:
        for number in range(3000):
            tape.addfile(tarfile.TarInfo(f"{number}"))
        tape.addfile(tarfile.TarInfo("d.csv"))
    with pytest.raises(SourceMiss, match="more headers or bytes than any dataset needs"):
        read_member(tmp_path / "a", "d.csv", ANY)


def test_a_gzip_file_that_is_damaged(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(CONTENT))
    packed[len(packed) // 2] ^= 255
    (tmp_path / "d.csv.gz").write_bytes(packed)
    with pytest.raises(SourceMiss, match="cannot be unpacked"):
        sources._unpack_into_cache(tmp_path / "d.csv.gz", ANY, _Cache(tmp_path))


class _Cache:
    """A context whose cache is a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def cache_path(self, name: str) -> Path:
        return self.folder / name


def test_the_files_of_a_table_are_unpacked_within_limits(tmp_path: Path, monkeypatch) -> None:
    """No links and no other special files of a tar archive, no bytes and no headers beyond the limits."""
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as tape:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo(f"special-{kind.decode()}")
            info.type, info.linkname = kind, "/etc/passwd"
            tape.addfile(info)
        for name in ("one/../../d.csv", "two/d.csv"):
            info = tarfile.TarInfo(name)
            info.size = len(CONTENT)
            tape.addfile(info, io.BytesIO(CONTENT))
    names = archive_members(path)
    assert names == ["one/../../d.csv", "two/d.csv"]
    unpacked = unpacked_members(path, names)
    assert {file.read_bytes() for file in unpacked.values()} == {CONTENT}
    assert len({file.parent for file in unpacked.values()}) == 2
    assert all(".." not in file.parts and file.name == "d.csv" for file in unpacked.values())
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", len(CONTENT) + 1)
    monkeypatch.setattr(archives, "MAX_UNPACKED_RATIO", 1)
    path.touch()
    archives._unpack.cache_clear()
    with pytest.raises(InputError, match=r"a.tar.gz: (unpacks to|holds) more than"):
        unpacked_members(path, names)


def test_headers_that_hold_for_all_members_are_counted(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, pax_headers={f"x{n}": "y" for n in range(50)}) as tape:
        for number in range(10):
            tape.addfile(tarfile.TarInfo(f"{number}.csv"))
    assert len(archive_members(path)) == 10
    monkeypatch.setattr(archives, "MAX_TAR_HEADERS", 100)
    archives._members.cache_clear()
    with pytest.raises(InputError, match=r"a.tar: holds more than .* 100 headers"):
        archive_members(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("end", ["zip", "tar", "tgz"])
def test_two_files_of_one_name_are_refused_where_they_are_read(tmp_path: Path, end: str) -> None:
    """Which of them counts, only the person knows who packed them."""
    path = tmp_path / f"a.{end}"
    rows = "reference,candidate,label\na,b,{}\n"
    files = [("d.csv", rows.format(1)), ("d.csv", rows.format(0)), ("e.csv", rows.format(1))]
    if end == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files:
                archive.writestr(name, text)
    else:
        with tarfile.open(path, "w:gz" if end == "tgz" else "w") as tape:
            for name, text in files:
                info = tarfile.TarInfo(name)
                info.size = len(text)
                tape.addfile(info, io.BytesIO(text.encode()))
    assert load_dataset(path, member="e.csv").labels.tolist() == [1]
    with pytest.raises(InputError, match=r"has 2 files \(d.csv, e.csv\)"):
        load_dataset(path)
    message = rf"a.{end}: has several files of the name 'd.csv'"
    with pytest.raises(InputError, match=message):
        load_dataset(path, member="d.csv")
    for member in ("d.csv", "{name}.csv"):
        with pytest.raises(InputError, match=message):
            read_table({path.name: path}, {"member": member})


@pytest.mark.parametrize("end", ["tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_joined_and_damaged_tars_are_no_shorter_ones(tmp_path: Path, end: str) -> None:
    """Python's tarfile ends at the zeros behind the first of joined archives, and at a damaged header."""
    pack = {"tar": bytes, "tar.gz": gzip.compress, "tar.bz2": bz2.compress, "tar.xz": lzma.compress}[end]
    tapes = []
    for name in ("one.csv", "two.csv"):
        tape = io.BytesIO()
        with tarfile.open(fileobj=tape, mode="w") as archive:
            for member in (name, f"further-{name}"):
                info = tarfile.TarInfo(member)
                info.size = len(CONTENT)
                archive.addfile(info, io.BytesIO(CONTENT))
        tapes.append(tape.getvalue())
    damaged = bytearray(tapes[0])
    damaged[damaged.index(b"further-")] ^= 255
    path = tmp_path / f"a.{end}"
    for content in (pack(tapes[0] + tapes[1]), pack(tapes[0]) + pack(tapes[1]), pack(bytes(damaged))):
        path.write_bytes(content)
        archives._members.cache_clear()
        with pytest.raises(InputError, match=r"a\.tar.*: has further bytes behind the end of its last file"):
            archive_members(path)
    # zeros fill a tape up, or are absent
    for content in (tapes[0] + bytes(99_999), tapes[0].rstrip(b"\0") + bytes(-len(CONTENT) % 512)):
        path.write_bytes(pack(content))
        archives._members.cache_clear()
        assert archive_members(path) == ["one.csv", "further-one.csv"]
