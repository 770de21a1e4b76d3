"""Addresses: none is printed or recorded with its secrets, and none of another protocol is opened.

The input is JSON: the words of a command with an address, and the secrets in it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock
from urllib.parse import quote

from tests.fuzz.target import Target

#: Protocols that fsspec or another library may know; those that are read stand among them.
PROTOCOLS = (
    *("file", "http", "https", "s3", "gs", "abfs", "hf", "HTTP", "S3", "File", "local", "memory", "reference", "zip"),
    *("tar", "libarchive", "simplecache", "filecache", "blockcache", "dask", "github", "git", "sftp", "ssh", "ftp"),
    *("smb", "jupyter", "dbfs", "hdfs", "arrow_hdfs", "webhdfs", "data", "dir", "generic", "async_wrapper", "root"),
    *("box", "lakefs", "gitlab", "oci", "asynclocal", "postgresql+psycopg", "mysql", "sqlite", "s3a", "gcs", "az"),
)
#: Characters of passwords that end a part of an address where they are not encoded.
CHARACTERS = "abcXYZ019-_.~!$&'()*+,;=:@/?#%[]{}|\\^ <>\"`é"
SERVERS = ("h", "127.0.0.1:9", "localhost", "[::1]:9", "bucket", "example.org", "user.example.org:8080")
PATHS = ("/x.parquet", "/data/x.parquet", "/parts/", "", "/", "/x.parquet:train", "/a@b/x.parquet", "/x::y.parquet")
WORDS = (
    "{}",
    "--storage={}",
    "mine={}",
    "-d{}",
    "a b {} c",
    "recorded:{}#x",
    "(see {})",
    "'{}'",
    "{}:train",
    "judge:m,endpoint={}",
)


def secret(random: Random) -> str:
    """Return a password or a signature that cannot be part of anything else."""
    middle = "".join(random.choice(CHARACTERS) for _ in range(random.randint(0, 6)))
    return f"QZ{middle}{random.randint(10**7, 10**8)}ZQ"


def make(random: Random) -> bytes:
    """Return words of a command with an address, most of them with secrets: in the user, the password or the query."""
    secrets = []
    user = random.choice(("", "user", ""))
    if random.random() < 0.6:
        password = secret(random)
        if random.random() < 0.3:
            password = quote(password, safe="")
        elif random.random() < 0.6:
            password = "".join(character for character in password if character not in " \"'`<>")
        if user or random.random() < 0.5:
            user = f"{user}:{password}@"
        else:
            # without a colon, what precedes a slash is a server for every library
            password = re.sub("[:/?#]", "", password)
            user = f"{password}@"
        secrets.append(password)
    else:
        user = f"{user}@" if user else ""
    server = random.choice(SERVERS) if user or random.random() < 0.9 else ""
    query = ""
    if random.random() < 0.5:
        signature = "".join(character for character in secret(random) if character.isalnum() or character in "-_.~%+/=")
        secrets.append(signature)
        query = random.choice(("?sig={}", "?a=1&token={}", "#{}", "?{}", ";key={}", "?v=2&sig={}&x=http://a/b")).format(
            signature
        )
    address = f"{random.choice(PROTOCOLS)}://{user}{server}{random.choice(PATHS)}{query}"
    chance = random.random()
    if chance < 0.2:
        address = f"{random.choice(PROTOCOLS)}::{address}"
    elif chance < 0.3:
        address = f"{random.choice(PROTOCOLS)}://x.parquet::{address}"
    elif chance < 0.4:
        address = f"{address}::{random.choice(PROTOCOLS)}://{server}/x.zip"
    return json.dumps({"address": address, "word": random.choice(WORDS), "secrets": secrets}).encode()


def check(content: bytes, folder: Path) -> None:
    """Write the command, the message and the record of an address, and read it with a file system that tells on it."""
    from assay.common.addresses import PROTOCOLS as ALLOWED
    from assay.common.addresses import public_address, public_values
    from assay.common.configuration import Configuration
    from assay.datasets import load_dataset
    from assay.exceptions import AssayError
    from assay.manifest import Environment

    case = _case_of(content)
    if case is None:
        return
    address, word, secrets = case
    written = public_values([word, address])
    assert public_values(written) == written, "written twice it is another one"
    environment = Environment(argv=[word], configured={"datasets": [address], "x": {"y": address}})
    line = Configuration(folder / "assay.toml", {"datasets": [address]}).line
    _assert_absent(secrets, *written, environment.model_dump_json(), line)

    def open_file_system(opened: str, **options: Any) -> Any:
        assert not options
        assert opened == address or public_address(opened) == public_address(address)
        protocol = opened.partition("://")[0]
        assert protocol in ALLOWED and "::" not in opened, f"opened {protocol}"
        raise OSError(f"cannot connect to {opened}, that is {opened.partition('://')[2]!r}")

    with mock.patch("fsspec.core.url_to_fs", open_file_system):
        for spec in (address, f"mine={address}", f"{address}:train"):
            try:
                load_dataset(spec, offline=False)
            except AssayError as error:
                _assert_absent(secrets, _printed(str(error)), str(error) if spec == address else "")


def _case_of(content: bytes) -> tuple[str, str, list[str]] | None:
    """Return the address, the word with it and the secrets; None for an input that was damaged."""
    try:
        case = json.loads(content)
        address, word, secrets = case["address"], case["word"], case["secrets"]
    except (ValueError, KeyError, TypeError):
        return None
    if not all(re.search(r"\d{8}ZQ$", one) and one in address for one in secrets) or "{}" not in word:
        return None
    return address, word.format(address), secrets


def _printed(message: str) -> str:
    """Return what the command line prints of a message."""
    import contextlib
    import io

    from assay.cli.printing import print_to_stderr

    with contextlib.redirect_stderr(io.StringIO()) as printed:
        print_to_stderr(message)
    return printed.getvalue()


def _assert_absent(secrets: list[str], *texts: str) -> None:
    """Check that no text has the digits of a secret, which nothing else has."""
    for text in texts:
        for one in secrets:
            digits = one[-10:-2]
            assert digits not in text, f"{one!r} is in {text!r}"


TARGETS = {"address": Target(make, check)}
