"""Files of rows that are compressed, in an archive, or in another encoding than UTF-8, as plain files of UTF-8."""

from __future__ import annotations

import codecs
import functools
import lzma
import shutil
from pathlib import Path

import pyarrow as pa

from assay.common.messages import Setting
from assay.datasets.archives import (
    archive_members,
    copy_bounded,
    is_archive,
    temporary_folder,
    unpacked_limit,
    unpacked_members,
)
from assay.exceptions import InputError

#: Arrow's name of the compression that a suffix means; None for one that Arrow does not know.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".xz": None}
#: Bytes of which the encoding is guessed, and the fewest bytes beyond ASCII for a guess.
_SAMPLE_BYTES, _MIN_GUESS_BYTES = 1 << 20, 32
#: The share of characters beyond ASCII that are UTF-8 in a file in which only some bytes are damaged. Bytes of other
#: encodings are UTF-8 by chance, hardly ever most of them.
_MIN_UTF8_SHARE = 0.9
#: The encoding of a file whose bytes say too little: that of Windows in Western Europe.
_USUAL_ENCODING = "cp1252"
#: The encodings that are guessed: those that Windows and its spreadsheet programs write, and two of Unix.
_GUESSED_ENCODINGS = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("cp932", "cp949", "big5", "gb18030", "euc_jp", "koi8_r"),
)
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def inner_name(path: str | Path) -> str:
    """Return the name of a file without the suffix of its compression: ``pairs.csv`` for ``pairs.csv.gz``."""
    path = Path(path)
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


def is_packed(path: Path) -> bool:
    """Tell whether a name is that of a compressed file or an archive."""
    return path.suffix.lower() in COMPRESSIONS or is_archive(path)


def unpacked_file(path: Path, member: str | None) -> Path:
    """Return the path of the content of a compressed file or archive; of any other file its own path.

    Args:
        path: the path of the file.
        member: the file in an archive; None if there is one.

    Raises:
        InputError: the file is damaged or unpacks to too much, or the archive has no such file; or, if *member* is
            None, no file or several.
    """
    if is_archive(path):
        name = _chosen_member(path, member)
        return unpacked_members(path, [name])[name]
    if path.suffix.lower() not in COMPRESSIONS:
        return path
    status = path.stat()
    return _unpack(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _unpack(path: Path, _changed: int, size: int) -> Path:
    """Return the path of the content of a compressed file, which is deleted when the process ends.

    Cached by the time of the last change and the size, since a file is read more than once.

    Raises:
        InputError: see :func:`unpacked_file`.
    """
    codec = COMPRESSIONS[path.suffix.lower()]
    target = temporary_file(path.stem)
    try:
        with lzma.open(path) if codec is None else pa.CompressedInputStream(pa.OSFile(str(path)), codec) as stream:
            copy_bounded(path, stream, target, unpacked_limit(size))
    except (lzma.LZMAError, pa.ArrowException, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise InputError(f"{path}: cannot be unpacked ({error or type(error).__name__}); get the file again") from None
    return target


def _chosen_member(path: Path, member: str | None) -> str:
    """Return the name of the file in an archive that is to be read.

    Args:
        path: the archive.
        member: the name that the user gives; None for the only file.

    Raises:
        InputError: the archive is damaged, or has no such file, none or several.
    """
    names = archive_members(path)
    if member is not None:
        if member not in names:
            raise InputError(
                f"{path}: has no file {member!r}; it has {', '.join(names[:8])}", setting="member", value=member
            )
        return member
    if len(names) != 1:
        if not names:
            raise InputError(f"{path}: has no file")
        names_text = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        problem = f"{path}: has {len(names)} files ({names_text}); say which one: "
        raise InputError(problem, Setting("member", names[0]))
    return names[0]


def check_no_member(name: str | Path, member: str | None) -> None:
    """Raise InputError if *member* is not None: data of this name has no members, as CSV has none."""
    if member is not None:
        problem = f"{name}: has no members to choose from, as an archive, a workbook or a JSON object has"
        raise InputError(problem, setting="member", value=member)


def temporary_file(name: str) -> Path:
    """Return the path of a new file of this name, which is deleted with its folder when the process ends."""
    return temporary_folder() / name


def utf8_file(path: Path, encoding: str | None) -> tuple[Path, str]:
    """Return the path of a text file as UTF-8, and a note on the encoding that was found.

    The path is that of the file itself if it is UTF-8 without a mark, or is said to be, else that of a copy, which is
    deleted when the process ends. The note is empty if the encoding was given or is UTF-8.

    Args:
        path: the path of the file.
        encoding: the name of its encoding, as Python knows it; None to find it.

    Raises:
        InputError: there is no such encoding, or the file has bytes that it does not know.
    """
    name = encoding or encoding_of(path)
    try:
        if codecs.lookup(name).name in ("utf-8", "ascii"):
            return path, ""
        target = temporary_file(path.name)
        with path.open(encoding=name, newline="") as source, target.open("w", encoding="utf-8", newline="") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    except LookupError:
        raise InputError("is no encoding; expected one such as cp1252", setting="encoding", value=name) from None
    except UnicodeError as error:
        raise InputError(
            f"{path}: is not {name} ({getattr(error, 'reason', error)}); say what it is: ",
            Setting("encoding", "NAME"),
        ) from None
    option = Setting("encoding", "NAME").with_flag({})
    # a mark at its beginning leaves no doubt about UTF-8
    is_clear = encoding is not None or name == "utf-8-sig"
    note = "" if is_clear else f"read as {name}, since it is not UTF-8; {option} for another encoding"
    return target, note


def encoding_of(path: Path) -> str:
    """Return the name of the encoding of a text file, as Python knows it.

    It is that of the mark at its beginning, UTF-16 if zero bytes are there, UTF-8 if all bytes are, else the likeliest:
    that of Windows in Western Europe if few bytes tell, or it is as likely as the likeliest.

    Raises:
        InputError: some bytes are not UTF-8, and nearly all others beyond ASCII are, which another encoding would turn
            into other characters.
    """
    with path.open("rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    for mark, name in _MARKS.items():
        if sample.startswith(mark):
            return name
    if sample[:4].count(0) >= 2:
        return "utf-16-be" if sample.startswith(b"\0") else "utf-16-le"
    if is_utf8(path):
        return "utf-8"
    _refuse_damaged_utf8(path, sample)
    if sum(byte > 127 for byte in sample) < _MIN_GUESS_BYTES:
        return _USUAL_ENCODING
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, cp_isolation=[*_GUESSED_ENCODINGS])
    best = matches.best()
    if best is None:
        return _USUAL_ENCODING
    likeliest = [match.encoding for match in matches if (match.chaos, match.coherence) == (best.chaos, best.coherence)]
    return _USUAL_ENCODING if _USUAL_ENCODING in likeliest else best.encoding


def _refuse_damaged_utf8(path: Path, sample: bytes) -> None:
    """Raise InputError with the first line of a file that is not UTF-8 if its *sample* is, but for few characters."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(sample)
    invalid_count = text.count("\ufffd")
    valid_count = sum(character > "\x7f" for character in text) - invalid_count
    if valid_count < _MIN_UTF8_SHARE * max(1, invalid_count + valid_count):
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}, line {number}: holds the byte 0x{line[error.start]:02x}, which is not UTF-8 as the rest"
                    " is; correct it, or say what the encoding is: ",
                    Setting("encoding", "NAME"),
                ) from None


def is_utf8(path: Path) -> bool:
    """Tell whether all bytes of a file are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        try:
            while block := file.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True
