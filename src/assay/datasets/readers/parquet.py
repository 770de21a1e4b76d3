"""Reads Parquet batch by batch: a file or a folder of parts, on a disk or at an address."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from assay.common.addresses import LOCAL_PROTOCOLS, is_address, protocol_of, public_address, public_reason
from assay.common.batches import ROWS, table_of_batches
from assay.common.messages import Setting
from assay.common.tables import damage_message, first_repeated, part_with_known_types
from assay.datasets.columns import SourceTable
from assay.exceptions import AssayError, InputError, MissingExtraError, OfflineError, UnavailableError

#: The packages that fsspec needs for addresses, by protocol.
_PACKAGE_BY_PROTOCOL = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "abfs": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "hf": "huggingface_hub",
}


def is_folder(path: str | Path) -> bool:
    """Tell whether this is a folder that may hold parts: a text that ends with a slash, or the path of a folder.

    A text without any slash is never a folder, so that it can name a dataset.
    """
    if isinstance(path, str) and path.endswith(("/", "\\")):
        return True
    may_be_folder = isinstance(path, Path) or "/" in path or "\\" in path
    try:
        return may_be_folder and Path(path).is_dir()
    except OSError:  # a name that no folder can have, such as a very long one
        return False


@dataclass(frozen=True)
class _ParquetFile:
    """A Parquet file on a disk or at an address.

    Attributes:
        name: its path or public address, for messages.
        open: a function that opens it as a binary stream.
        address: the address that the user typed; empty for a file on a disk.
    """

    name: str
    open: Callable[[], BinaryIO]
    address: str = ""


def parts_of(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder, sorted by name; names that begin with ``.`` or ``_`` are ignored.

    Raises:
        InputError: the folder has no such file.
    """
    parts = sorted(path for path in folder.glob("*.parquet") if path.name[0] not in "._" and path.is_file())
    if not parts:
        raise InputError(f"{folder}: is a folder without a file *.parquet; name a file, or a folder of Parquet parts")
    return parts


def read_parquet(path: str | Path, *, offline: bool = False) -> SourceTable:
    """Read a Parquet file, or the parts of a folder as one table, from a disk or an address.

    A large table is written to a file in the cache instead of memory, see
    :func:`assay.common.batches.table_of_batches`.

    Args:
        path: the path, or as a text also the address, of a file or a folder of parts.
        offline: whether the network is forbidden.

    Raises:
        InputError: a part is not a Parquet file, has another schema, duplicate columns or text that is not UTF-8, or
            there are no rows; the message names the part. Or the protocol of an address is not read.
        OfflineError: *path* is an address and the network is forbidden.
        UnavailableError: an address cannot be reached, or needs a package that is not installed.
        OSError: a file on a disk is missing or may not be read.
    """
    if isinstance(path, str) and is_address(path):
        name, parts = public_address(path), _remote_parts(path, offline=offline)
    else:
        paths = parts_of(Path(path)) if Path(path).is_dir() else [Path(path)]
        name = str(path)
        parts = [_ParquetFile(str(part_path), _local_opener(part_path)) for part_path in paths]
    schema, row_counts = _common_schema(parts)
    if not sum(row_counts):
        raise InputError(f"{name}: the table has no rows")
    table = table_of_batches(part_with_known_types(schema.empty_table(), name).schema, _iterate_batches(parts, schema))
    first_rows = tuple((part.name, sum(row_counts[:index])) for index, part in enumerate(parts))
    return SourceTable(table, name, first=1, parts=first_rows if len(parts) > 1 else ())


def _local_opener(path: Path) -> Callable[[], BinaryIO]:
    # as a stream, since PyArrow cannot open a path that is not UTF-8
    return lambda: path.open("rb")


def _remote_parts(address: str, *, offline: bool) -> list[_ParquetFile]:
    """Return the file at an address, or the parts of the folder there, sorted by name.

    Raises:
        InputError: the protocol is none of those that are read, or there is no part.
        OfflineError: the network is needed and forbidden.
        UnavailableError: the address cannot be reached, or needs a package that is not installed.
    """
    address_text = public_address(address)
    file_system, root = _resolve_address(address, address_text, offline=offline)
    if urlsplit(root).path.endswith(".parquet"):
        files = [root]
    else:
        with _errors_with_name(address_text, address):
            matches = file_system.glob(f"{root.rstrip('/')}/*.parquet")
        files = sorted(file for file in matches if file.rpartition("/")[2][0] not in "._")
    if not files:
        raise InputError(f"{address_text}: there is no file *.parquet; name a file, or a folder of Parquet parts")
    parts = []
    for file in files:
        file_address = str(file_system.unstrip_protocol(file))
        parts.append(_ParquetFile(public_address(file_address), partial(file_system.open, file, "rb"), address))
    return parts


def _resolve_address(address: str, address_text: str, *, offline: bool) -> tuple[Any, str]:
    """Return the fsspec file system of an address and the path in it.

    Args:
        address: the address.
        address_text: the address without secrets, for messages.
        offline: whether the network is forbidden.

    Raises:
        InputError: the protocol is none of those that are read.
        OfflineError: the network is needed and forbidden.
        UnavailableError: a package is not installed, or the address cannot be resolved.
    """
    protocol = protocol_of(address)
    if offline and protocol not in LOCAL_PROTOCOLS:
        raise OfflineError(
            f"{address_text}: would be read over the network, which ",
            Setting("offline"),
            " forbids; give a file instead",
        )
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtraError("fsspec", "remote") from None
    with _errors_with_name(address_text, address):
        try:
            file_system, path = url_to_fs(address)
        except ImportError as error:
            package = _PACKAGE_BY_PROTOCOL.get(protocol)
            remedy = f"pip install {package}" if package else public_reason(error, address)
            raise UnavailableError(
                f"{address_text}: {protocol} addresses need a package that is not installed", remedy
            ) from error
    return file_system, path


@contextmanager
def _errors_with_name(name: str, address: str = "") -> Iterator[None]:
    """Turn exceptions raised while a part is read into errors with one line that begins with its name.

    Errors of assay pass unchanged, and so does a FileNotFoundError or PermissionError of a file on a disk. The
    libraries write whole addresses into their messages, so that an error about an address has neither its secrets nor
    the exception of the library.

    Args:
        name: the path of the part, or its public address.
        address: the address that the user typed; empty for a file on a disk.

    Raises:
        InputError: the part is not a readable Parquet file, the system cannot read it, or memory ran out.
        UnavailableError: the address cannot be read.
    """
    try:
        yield
    except AssayError:
        raise
    except MemoryError as error:
        # PyArrow's message has the size; a damaged file may claim any
        raise InputError(
            f"{name}: does not fit into memory ({damage_message(error)}); free some, or write the file again if it is "
            "damaged"
        ) from None
    except Exception as error:
        if address:
            raise _error_at_address(name, public_reason(error, address), error) from None
        # whoever opens a file on a disk tells what is missing or may not be read
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        # only the system numbers its errors: PyArrow raises an OSError for some damage, too
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"{name}: cannot be read ({error.strerror})") from None
        raise InputError(
            f"{name}: is not a readable Parquet file ({damage_message(error)}); copy or write it again"
        ) from error


def _error_at_address(name: str, reason: str, error: Exception) -> AssayError:
    """Return the error to raise for an exception while a part at an address is read.

    Args:
        name: the public address of the part.
        reason: the exception in words, without secrets.
        error: the exception.
    """
    if isinstance(error, pa.ArrowException | UnicodeDecodeError):
        return InputError(f"{name}: is not a readable Parquet file ({reason}); copy or write it again")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return InputError(f"{name}: cannot be read ({reason}); close other files, or allow more (ulimit -n)")
    # every file system of fsspec has its own types of exceptions
    return UnavailableError(f"{name}: cannot be read ({reason})", "check the address and its access")


def _common_schema(parts: list[_ParquetFile]) -> tuple[pa.Schema, list[int]]:
    """Return the schema that all parts share, and the number of rows of each part.

    A column without any value (type null) is compatible with every type.

    Raises:
        InputError: a part is not a Parquet file, has duplicate columns, or differs from the first one in columns or
            types.
        UnavailableError: a part at an address cannot be read.
    """
    schemas, row_counts = [], []
    for part in parts:
        schema, row_count = _schema_of(part)
        schemas.append(schema)
        row_counts.append(row_count)
    names = schemas[0].names
    # by name, the field of the first part that has a value in the column, and the name of that part
    known_fields: dict[str, tuple[pa.Field, str]] = {}
    for part, schema in zip(parts, schemas, strict=True):
        _check_same_names(part, schema.names, parts[0], names)
        for field in part_with_known_types(schema.empty_table(), part.name).schema:
            first_field, first_part = known_fields.setdefault(field.name, (field, part.name))
            if pa.types.is_null(first_field.type):
                known_fields[field.name] = field, part.name
            elif field.type != first_field.type and not pa.types.is_null(field.type):
                raise InputError(
                    f"{part.name}: the column {field.name} holds {field.type}, in {first_part} {first_field.type}; "
                    "all parts need the same types"
                )
    return pa.schema([known_fields[name][0].with_nullable(True) for name in names]), row_counts


def _schema_of(part: _ParquetFile) -> tuple[pa.Schema, int]:
    """Return the columns of a part, without metadata, and its number of rows.

    Raises:
        InputError: the part is not a readable Parquet file, or has duplicate columns.
        UnavailableError: it is at an address and cannot be read.
    """
    with _errors_with_name(part.name, part.address), part.open() as stream:
        file = pq.ParquetFile(stream)
        schema = file.schema_arrow.remove_metadata()
        row_count = file.metadata.num_rows
    duplicate = first_repeated(schema.names)
    if duplicate is not None:
        raise InputError(f"{part.name}: the column {duplicate!r} appears twice; rename one")
    return schema, row_count


def _check_same_names(part: _ParquetFile, names: list[str], first_part: _ParquetFile, first_names: list[str]) -> None:
    """Raise InputError if a part has other columns than the first one, in any order."""
    missing_names = [name for name in first_names if name not in names]
    further_names = [name for name in names if name not in first_names]
    if missing_names:
        difference = f"lacks the column {', '.join(missing_names)}"
    elif further_names:
        difference = f"has a further column {', '.join(further_names)}"
    else:
        return
    raise InputError(f"{part.name}: {difference}, unlike {first_part.name}; all parts need the same columns")


def _iterate_batches(parts: list[_ParquetFile], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all parts in order, as batches with the columns and types of *schema*.

    Raises:
        InputError: a part is damaged, or has text that is not UTF-8.
        UnavailableError: a part at an address cannot be read.
    """
    for part in parts:
        rows_before = 0
        with _errors_with_name(part.name, part.address), part.open() as stream:
            # reads small pieces, rather than whole columns of a row group, to save memory
            file = pq.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)
            for batch in file.iter_batches(batch_size=ROWS):
                table = part_with_known_types(pa.Table.from_batches([batch]), part.name, rows_before)
                table = table.select(schema.names)
                rows_before += len(batch)
                yield from table.replace_schema_metadata(None).cast(schema).combine_chunks().to_batches()
            # with a damaged column the batches may end early, without an exception
            if rows_before != file.metadata.num_rows:
                readable_rows = f"{rows_before:,} of {file.metadata.num_rows:,} rows"
                raise InputError(f"{part.name}: is damaged ({readable_rows} can be read); write it anew")
