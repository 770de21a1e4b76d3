"""Dataset cards, and the list of cards by name. A card describes a dataset, its files and their sources.

A card is a TOML file. Its ``[[files]]`` give sizes and checksums, its ``[[sources]]`` give addresses in order of
preference. Data that may not be redistributed has ``instructions`` instead of an address.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from assay.common.addresses import is_encrypted_or_local, public_address, split_of_address
from assay.common.transfer import PINNED
from assay.exceptions import AssayError, InputError, suggestion_for, unavailable_on_error, unknown_name
from assay.paths import check_is_no_run, path_exists, read_settings_file, user_path

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
#: A language code such as ``ko``, several codes, or an empty string if it is unknown.
Languages = str | tuple[str, ...]
#: What the candidates of a dataset were written for.
Task = Literal[
    "answers",
    "grading",
    "questions",
    "summaries",
    "dialogue",
    "data-to-text",
    "translation",
    "captions",
    "code",
    "simplification",
    "style",
    "sentences",
    "arguments",
]
TASKS: tuple[str, ...] = get_args(Task)
#: The name that means every split.
ALL_SPLITS = "all"
#: The kinds of sources that are asked over the network.
NETWORK_KINDS = ("hub", "https", "pypi")


def fill_address(template: str, name: str) -> str:
    """Return an address with ``{name}`` replaced by the name of a file, and ``{file}`` by the name without folders."""
    return template.replace("{name}", name).replace("{file}", name.rsplit("/", 1)[-1])


class _CardTable(BaseModel):
    """The base of all tables of a card: an unknown field is an error, and values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Scale(_CardTable):
    """The lowest and the highest possible label (low < high), and what the labels mean."""

    low: float
    high: float
    meaning: str = Field(min_length=1)

    @model_validator(mode="after")
    def _check_order(self) -> Scale:
        # negated, so that NaN is refused as well: every comparison with it is false
        if not self.low < self.high:
            raise ValueError(f"low ({self.low}) must be less than high ({self.high})")
        return self


class FileEntry(_CardTable):
    """One file of the manifest: its name (which may include folders), its size in bytes and its checksum.

    Size and checksum are None if the card does not give them.
    """

    name: str = Field(min_length=1)
    bytes: int | None = Field(default=None, ge=0)
    sha256: Sha256 | None = None

    @field_validator("name")
    @classmethod
    def _check_path_is_relative(cls, name: str) -> str:
        """Return the name unchanged; raise ValueError if it could lead out of the folder of the dataset."""
        parts = name.replace("\\", "/").split("/")
        # a colon may follow the drive of a Windows path, and an empty part is a slash too many
        if name.startswith("/") or ".." in parts or ":" in name or "" in parts:
            raise ValueError(f"{name!r} must be a relative path without '..'")
        return name


class SourceEntry(_CardTable):
    """One source of files.

    ``{name}`` in an address stands for the file's name, ``{file}`` for its last part without folders.

    Attributes:
        kind: the kind of source, which determines the fields that are used.
        path: the path of each file at this source.
        paths: the paths of single files that have another path at this source, by name.
        only: the names of the files that this source provides; empty for all files of the card.
        folder: the folder below $ASSAY_DATA, for ``data``.
        url: the address of a file or of an archive, for ``https``.
        repo, revision: the dataset and its pinned revision, for ``hub``.
        requirement: the pinned package, NAME==VERSION, for ``pypi``.
        archive: the kind of archive at the address; empty if it is the file itself.
        archive_sha256, archive_bytes: the checksum and the size of the archive or wheel.
        note: a remark for readers of the card.
    """

    kind: Literal["path", "bundled", "data", "cache", "hub", "https", "pypi"]
    path: str = "{name}"
    paths: dict[str, str] = {}
    only: tuple[str, ...] = ()
    folder: str = ""
    url: str = ""
    repo: str = ""
    revision: str = ""
    requirement: str = ""
    archive: Literal["", "tar", "zip"] = ""
    archive_sha256: Sha256 | None = None
    archive_bytes: int | None = Field(default=None, ge=0)
    note: str = ""

    @model_validator(mode="after")
    def _check_fields_of_kind(self) -> SourceEntry:
        """Raise ValueError unless the fields of this kind are set, the address is secure and the version is pinned."""
        needs = {"hub": ("repo", "revision"), "https": ("url",), "pypi": ("requirement", "archive_sha256")}
        for field in needs.get(self.kind, ()):
            if not getattr(self, field):
                raise ValueError(f"a source of kind {self.kind!r} needs {field}")
        # plain http only on this machine, where nobody in between can change what is sent
        if self.kind == "https" and not is_encrypted_or_local(self.url):
            raise ValueError(f"{public_address(self.url)!r} must begin with https:// and hold no user and no password")
        if self.kind == "https" and self.archive and (self.archive_sha256 is None or self.archive_bytes is None):
            raise ValueError("an archive at an https address needs archive_sha256 and archive_bytes")
        if self.kind == "pypi" and not PINNED.fullmatch(self.requirement):
            raise ValueError(f"{self.requirement!r} must pin a version, as NAME==VERSION and nothing else")
        return self

    def path_of(self, name: str) -> str:
        """Return the path at this source of the file called *name* in the manifest."""
        return fill_address(self.paths.get(name, self.path), name)

    def address_of(self, name: str) -> str:
        """Return the address, for ``https``, of the file called *name* in the manifest.

        What an address may not hold, such as a blank, is encoded. A path that is encoded already stays as it is.
        """
        return fill_address(self.url, quote(self.path_of(name), safe="/%?=&!$'()*+,:;@~"))

    def provides(self, name: str) -> bool:
        """Tell whether this source provides a file: its name is in ``only``, or ``only`` is empty."""
        return not self.only or name in self.only

    def describe(self, name: str = "") -> str:
        """Return a short description of the source for messages, if *name* is given of that file there."""
        return {
            "path": f"local path {self.path_of(name) if name else self.path}",
            "bundled": "inside the package assay",
            "data": f"$ASSAY_DATA, folder {self.folder}" if self.folder else "$ASSAY_DATA",
            "cache": "the cache",
            "hub": f"Hugging Face dataset {self.repo}@{self.revision}",
            "https": public_address(self.url.replace("/{name}", "").replace("/{file}", "")),
            "pypi": f"pypi:{self.requirement}",
        }[self.kind]


class Split(_CardTable):
    """One split of a dataset.

    Attributes:
        files: the names of its files, in the order in which they are read.
        rows: the number of pairs; None if the card does not give it.
        options: options of the card's reader, beside those of the card or in place of them.
        optional_files: files that the reader can do without.
        language: its language, if that is not the language of the card.
        scale: the range of its labels, if that is not the range of the card.
        aspect: the quality that people judged, such as ``fluency``, if splits are the same pairs with other labels.
    """

    files: tuple[str, ...] = Field(min_length=1)
    rows: int | None = Field(default=None, ge=1)
    options: dict[str, Any] = {}
    optional_files: tuple[str, ...] = ()
    language: Languages = ""
    scale: Scale | None = None
    aspect: str = ""


class PublishedFigure(_CardTable):
    """A figure printed by the authors of a dataset or of a metric, which assay computes again.

    Attributes:
        metric: the metric, as ``--metric`` takes it.
        statistic: the coefficient, as ``--statistic`` takes it.
        value: the figure with the digits that were printed.
        source: where it was printed.
        split: the split, or ``all``; the default split if empty.
        bucket: the bucket of pairs.
    """

    metric: str = Field(min_length=1)
    statistic: str = Field(min_length=1)
    value: str = Field(pattern=r"^-?\d*\.\d+$")
    source: str = Field(min_length=1)
    split: str = ""
    bucket: str = "all"


class Classification(_CardTable):
    """How a dataset is a task for encoders: which classes of its texts are to be told apart, and in which parts.

    Attributes:
        suites: the groups of tasks that it belongs to.
        column: the column with the class of each row; ``label`` for the label.
        train: the split to train on, or several; empty if folds of the test split are trained on and tested.
        test: the split to test on.
        measures: the measures of its decisions, the one of tables first.
    """

    suites: tuple[Literal["probing", "transfer", "fine-tuning", "validation"], ...] = Field(min_length=1)
    column: str = Field(default="class", min_length=1)
    train: str | tuple[str, ...] = ""
    test: str
    measures: tuple[Literal["accuracy", "matthews", "f1", "f1-macro"], ...] = Field(default=("accuracy",), min_length=1)

    @property
    def train_splits(self) -> tuple[str, ...]:
        """The splits to train on; empty if folds of the test split are trained on and tested."""
        return _as_tuple(self.train)


class Card(_CardTable):
    """The description of one version of a dataset.

    Attributes:
        name, version: the name and the version by which the dataset is requested.
        title: the name for readers.
        language: the language code, several codes, or an empty string if it is unknown or each split has its own.
        task: what the candidates were written for, one of :data:`TASKS`, or several; empty if unknown.
        reference: the kind of reference: ``gold`` (texts by people that say what is right), ``peer`` (a text of equal
            standing, so that either may be the reference), ``source`` (the text that the candidate was made from),
            ``post-edit`` (the candidate corrected by people), ``machine`` (by a model or a rule); empty if unknown.
        annotators: the number of people who judged each pair, the smallest where it varies; None if unknown.
        group: what pairs of one group share, such as ``question``; empty if pairs have no group.
        system: the column that names the system of each candidate; empty if there is none.
        published: figures that others printed.
        classification: how it is a task for encoders; None if it is none.
        kind: ``human`` (labels by people), ``probe`` (labels by a rule, one category per pair) or ``machine`` (labels
            by a model or a rule, for training).
        scale: the range of the labels and their meaning.
        licence, citation, homepage, description: what a user should know about the data.
        reader: the name of the reader of the files.
        options: options of the reader for all splits.
        default_split: the split that is read if none is requested.
        splits: the splits by name.
        files: the manifest.
        sources: where the files come from, in order of preference.
        instructions: how to obtain data that has no address.
        supersedes, superseded_by: the earlier or later version that this one replaces or is replaced by.
        preferred: whether the name without a version means this card.
        notes: facts that a reader of results should know.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    title: str = Field(min_length=1)
    language: Languages = ""
    task: Task | Literal[""] | Annotated[tuple[Task, ...], Field(min_length=1)] = ""
    reference: Literal["", "gold", "peer", "source", "post-edit", "machine"] = ""
    annotators: int | None = Field(default=None, ge=1)
    group: str = ""
    system: str = ""
    kind: Literal["human", "probe", "machine"] = "human"
    scale: Scale
    licence: str = Field(min_length=1)
    citation: str = Field(min_length=1)
    homepage: str = ""
    description: str = ""
    reader: str
    options: dict[str, Any] = {}
    default_split: str
    splits: dict[str, Split] = Field(min_length=1)
    files: tuple[FileEntry, ...] = Field(min_length=1)
    sources: tuple[SourceEntry, ...] = ()
    instructions: str = ""
    supersedes: str = ""
    superseded_by: str = ""
    preferred: bool = False
    notes: tuple[str, ...] = ()
    published: tuple[PublishedFigure, ...] = ()
    classification: Classification | None = None
    #: The path that the card was read from; empty for a card made in memory.
    origin: str = ""

    @model_validator(mode="after")
    def _check_consistency(self) -> Card:
        """Raise ValueError if a split or source names a file outside the manifest, or a download cannot be verified.

        Names of files must be unique, names of splits plain, and the default split must exist. A card needs sources or
        instructions.
        """
        file_names = {entry.name for entry in self.files}
        if len(file_names) < len(self.files):
            raise ValueError("two files have the same name")
        if self.default_split not in self.splits:
            raise ValueError(f"default_split {self.default_split!r} is none of the splits {', '.join(self.splits)}")
        for split_name, split in self.splits.items():
            if not re.fullmatch(r"[A-Za-z0-9._-]+", split_name):
                raise ValueError(f"the split name {split_name!r} must consist of letters, digits, '.', '_', '-'")
            for name in (*split.files, *split.optional_files):
                if name not in file_names:
                    raise ValueError(f"split {split_name} names the file {name!r}, which is not among [[files]]")
        for source in self.sources:
            for name in (*source.only, *source.paths):
                if name not in file_names:
                    raise ValueError(f"a {source.kind} source names the file {name!r}, which is not among [[files]]")
            provided = [file for file in self.files if source.provides(file.name)]
            unpinned = [file.name for file in provided if file.sha256 is None or file.bytes is None]
            if source.kind in NETWORK_KINDS and unpinned:
                raise ValueError(f"the file {unpinned[0]!r} needs sha256 and bytes, since it can come over the network")
        for figure in self.published:
            if figure.split not in ("", ALL_SPLITS, *self.splits):
                raise ValueError(f"a published figure names the split {figure.split!r}, which does not exist")
        if self.classification is not None:
            for split_name in (*self.classification.train_splits, self.classification.test):
                if split_name not in self.splits:
                    raise ValueError(f"classification names the split {split_name!r}, which does not exist")
        if not self.sources and not self.instructions:
            raise ValueError("a card needs [[sources]] or instructions")
        return self

    def file(self, name: str) -> FileEntry:
        """Return the manifest's entry of a file.

        Raises:
            StopIteration: the manifest has no such file.
        """
        return next(entry for entry in self.files if entry.name == name)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks; empty if unknown."""
        return _as_tuple(self.task)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of all splits, each once, in the order of the card."""
        all_languages = [*_as_tuple(self.language)]
        for split in self.splits.values():
            all_languages.extend(_as_tuple(split.language))
        return tuple(dict.fromkeys(all_languages))

    def languages_of(self, split: str) -> tuple[str, ...]:
        """Return the languages of the texts of a split; empty if unknown."""
        return _as_tuple(self.splits[split].language or self.language)

    def options_of(self, split: str) -> dict[str, Any]:
        """Return the options with which the reader reads a split."""
        return self.options | self.splits[split].options

    def scale_of(self, split: str) -> Scale:
        """Return the range of the labels of a split."""
        return self.splits[split].scale or self.scale


def _as_tuple(values: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return a text as a tuple of it, empty for an empty text; a tuple is returned as it is."""
    if isinstance(values, tuple):
        return values
    return (values,) if values else ()


def read_card(path: str | Path) -> Card:
    """Read and validate a card from a TOML file, whose path becomes its origin.

    Raises:
        InputError: the file cannot be read or is not a valid card; one line with file, field and expectation.
    """
    path = user_path(path)
    try:
        data = tomllib.loads(read_settings_file(path).decode("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such dataset card") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not valid TOML ({error})") from None
    return card_from_fields(data, str(path))


def card_from_fields(data: dict[str, Any], origin: str) -> Card:
    """Return the card with this content; *origin* is recorded in it and begins error messages.

    Raises:
        InputError: the content is not a valid card; one line with the first error.
    """
    try:
        return Card.model_validate({**data, "origin": origin})
    except ValidationError as error:
        # a misspelt field causes two errors, an unknown and a missing field: the unknown one helps more
        unknown_field_errors = [details for details in error.errors() if details["type"] == "extra_forbidden"]
        # of a value that may be one or a list, the error of an item says more
        item_errors = [details for details in error.errors() if not isinstance(details.get("input"), list)]
        shown_error = (unknown_field_errors or item_errors or error.errors())[0]
        # one part of the location of a value of several types is the type
        names = [str(part) for part in shown_error["loc"] if "[" not in str(part) and part != "str"]
        location = ".".join(names) or "card"
        if unknown_field_errors:
            unknown_field = str(shown_error["loc"][-1])
            message = f"there is no such field.{suggestion_for(unknown_field, _valid_field_names(shown_error['loc']))}"
        elif shown_error["type"] == "literal_error":
            values = re.findall(r"'([\w-]+)'", shown_error["ctx"]["expected"])
            message = unknown_name("there is no value", str(shown_error["input"]), values)
        elif shown_error["type"] == "missing":
            message = "is missing"
        else:
            # pydantic puts this before the text of a ValueError
            message = shown_error["msg"].removeprefix("Value error, ")
        # a value of several types has an error of each
        others = {details["loc"][0] for details in error.errors() if details["loc"]} - {*shown_error["loc"][:1]}
        further = f" (and {len(others)} more)" if others else ""
        raise InputError(f"{origin}: {location}: {message}{further}") from None


def _valid_field_names(location: tuple[int | str, ...]) -> list[str]:
    """Return the valid field names of the table in which a validation error is located.

    Args:
        location: the path of the faulty field as pydantic gives it, such as ``("files", 0, "nmae")``.
    """
    tables: dict[str, type[BaseModel]] = {
        "scale": Scale,
        "splits": Split,
        "files": FileEntry,
        "sources": SourceEntry,
        "published": PublishedFigure,
        "classification": Classification,
    }
    model: type[BaseModel] = tables.get(str(location[0]), Card) if len(location) > 1 else Card
    return list(model.model_fields)


#: The entry point group with which other packages add cards.
GROUP = "assay.datasets"


@dataclass(frozen=True)
class DatasetEntry:
    """One card in the list of datasets.

    Attributes:
        name: the dataset's name.
        version: the card's version; empty if the card cannot be read.
        origin: the package that provides the card.
        card: the card; None if it cannot be used.
        error: the reason why the card cannot be used; empty if it can.
        default: whether the dataset's name without a version means this card.
    """

    name: str
    version: str
    origin: str
    card: Card | None
    error: str = ""
    default: bool = True


def parse_spec(spec: str) -> tuple[str, str | None, tuple[str, ...] | None]:
    """Return the name, the version and the splits of ``NAME[@VERSION][:SPLIT[+SPLIT]]``.

    The version or the splits are None if they are not given. NAME may be the path of a .toml card.

    Raises:
        InputError: nothing follows the colon or the ``@``.
    """
    address = split_of_address(spec)
    if address is not None:
        split = address[1]
        return address[0], None, None if split is None else tuple(split.split("+"))
    name_and_version, colon, splits = spec.rpartition(":")
    # a colon or an @ within a path, such as C:\cards\x.toml, separates nothing
    if not colon or "/" in splits or "\\" in splits or splits.endswith(".toml"):
        name_and_version, splits = spec, ""
    elif not splits:
        raise InputError(f"{spec!r}: expected a split after the colon, as in {name_and_version}:test")
    name, at, version = name_and_version.rpartition("@")
    if not at or "/" in version or "\\" in version or version.endswith(".toml"):
        name, version = name_and_version, ""
    elif not version:
        raise InputError(f"{spec!r}: expected a version after the @")
    split_names = tuple(splits.split("+")) if splits else None
    return name, version or None, split_names


def list_datasets() -> list[DatasetEntry]:
    """Return every known card, sorted by name and version; a card that cannot be used is listed with its error."""
    entries = [
        DatasetEntry(bundled_card.name, bundled_card.version, "assay", bundled_card)
        for bundled_card in _bundled_cards()
    ]
    for entry_point in _installed_entry_points(tuple(sys.path)):
        origin = entry_point.dist.name if entry_point.dist is not None else "unknown"
        try:
            card = _card_from_entry_point(entry_point)
        except AssayError as error:
            entries.append(DatasetEntry(entry_point.name, "", origin, None, error=error.message))
            continue
        if any(e.name == card.name and e.version == card.version for e in entries):
            problem = f"{card.name}@{card.version} is already there"
            entries.append(DatasetEntry(card.name, card.version, origin, None, error=problem, default=False))
        else:
            entries.append(DatasetEntry(card.name, card.version, origin, card))
    entries.sort(key=lambda e: (e.name, e.version, e.origin))
    versions: defaultdict[str, list[Card]] = defaultdict(list)
    for entry in entries:
        if entry.card is not None:
            versions[entry.name].append(entry.card)
    default_cards = {name: _default_card(cards) for name, cards in versions.items()}
    marked_entries = []
    for entry in entries:
        is_default = entry.card is not None and entry.card is default_cards[entry.name]
        marked_entries.append(replace(entry, default=is_default))
    return marked_entries


def load_card(name: str | Path, version: str | None = None) -> Card:
    """Return the card called ``NAME`` or ``NAME@VERSION``, or the card in a TOML file.

    Without a version, the default one is returned: the preferred card, or the last one, among those that are not
    superseded.

    Args:
        name: the name, with or without a version, or the path of a .toml file.
        version: the version; it takes precedence over the one in *name*, and is ignored for a file.

    Raises:
        InputError: there is no such name or version (the message lists similar ones), or the card is invalid.
    """
    card_name = str(name)
    if card_name.endswith(".toml"):
        return read_card(card_name)
    card_name, spec_version, _ = parse_spec(card_name)
    version = version or spec_version
    all_entries = list_datasets()
    entries = [entry for entry in all_entries if entry.name == card_name]
    cards = [entry.card for entry in entries if entry.card is not None]
    if not cards:
        if entries:
            raise InputError(f"dataset {card_name!r} (from {entries[0].origin}): {entries[0].error}")
        if path_exists(card_name) and Path(card_name).is_file():
            raise InputError(f"{card_name}: is a file, and no card; a card is a .toml file")
        check_is_no_run(user_path(card_name))
        if path_exists(card_name) and Path(card_name).is_dir():
            raise InputError(
                f"{card_name}: is a folder, and no card; a card is a .toml file, "
                f"a folder of Parquet parts is written {card_name}/"
            )
        known_names = sorted({entry.name for entry in all_entries})
        raise InputError(unknown_name("there is no file and no dataset", card_name, known_names))
    if version is None:
        return _default_card(cards)
    for card in cards:
        if card.version == version:
            return card
    raise InputError(unknown_name(f"dataset {card_name!r} has no version", version, [card.version for card in cards]))


def _default_card(cards: list[Card]) -> Card:
    """Return the card that a name without a version means.

    This is the first preferred card, or else the last card, among those that are not superseded (among all cards if
    each is superseded).

    Args:
        cards: the cards of one name, sorted by version; at least one.
    """
    current = [card for card in cards if not card.superseded_by] or cards
    return next((card for card in current if card.preferred), current[-1])


@cache
def _installed_entry_points(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of installed packages for dataset cards.

    Cached, since reading the metadata of all packages is slow.

    Args:
        path: ``sys.path`` as a tuple; only the key of the cache, so that a changed path is searched anew.
    """
    return tuple(entry_points(group=GROUP))


@cache
def _bundled_cards() -> tuple[Card, ...]:
    """Return the cards in the package, sorted by file name; cached, since they cannot change while assay runs."""
    folder = Path(__file__).parent / "cards"
    return tuple(read_card(path) for path in sorted(folder.glob("*.toml")))


def _card_from_entry_point(point: Any) -> Card:
    """Return the card behind an entry point.

    The entry point is a card, the content of one as a dict, the path of a TOML file, or a callable that returns one of
    these.

    Raises:
        AssayError: it cannot be loaded, or is something else.
        InputError: the card is invalid.
    """
    with unavailable_on_error(f"entry point {point.value} cannot be loaded"):
        value = point.load()
        if callable(value) and not isinstance(value, Card):
            value = value()
    if isinstance(value, Card):
        return value
    if isinstance(value, dict):
        return card_from_fields(value, f"entry point {point.name}")
    if isinstance(value, str | Path):
        return read_card(value)
    raise AssayError(f"entry point {point.value} gives {type(value).__name__}; expected a path to a card")
