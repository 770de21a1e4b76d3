"""The model of a dataset card, which describes a dataset, its files and their sources.

A card is a TOML file. Its ``[[files]]`` give sizes and checksums, its ``[[sources]]`` give addresses in order of
preference. Data that may not be redistributed has ``instructions`` instead of an address.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from assay.common.addresses import is_encrypted_or_local, public_address
from assay.common.transfer import PINNED

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
        """Return the name unchanged; raise ValueError if it could lead out of the folder, or has an empty part."""
        folders = name.replace("\\", "/").split("/")
        # a colon may follow the drive of a Windows path, and an empty part is a slash too many
        if name.startswith("/") or ".." in folders or ":" in name or "" in folders:
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
        repo, revision: the dataset and its revision, for ``hub``: a commit, unless the files have checksums.
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
        """Return the source; raise ValueError unless the fields of its kind are set, and its download is secure.

        An address needs https unless it is on this machine, and an archive there a size and a checksum; a package
        needs a pinned version. Fields of other kinds are not looked at.
        """
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
        """Return a short description of the source for messages, without secrets of its address.

        Args:
            name: the name of a file in the manifest, of which a source of kind ``path`` gives the path; empty for its
                pattern of paths.
        """
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
        """Raise ValueError if the card names a file or a split that it does not have, or a download cannot be verified.

        Names of files must be unique, and names of splits plain. A card needs sources or instructions.
        """
        file_names = {entry.name for entry in self.files}
        if len(file_names) < len(self.files):
            raise ValueError("two files have the same name")
        if self.default_split not in self.splits:
            raise ValueError(f"default_split {self.default_split!r} is none of the splits {', '.join(self.splits)}")
        self._check_splits(file_names)
        for source in self.sources:
            self._check_source(source, file_names)
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

    def _check_splits(self, file_names: set[str]) -> None:
        """Raise ValueError if the name of a split is not plain, or a split names a file outside the manifest."""
        for split_name, split in self.splits.items():
            if not re.fullmatch(r"[A-Za-z0-9._-]+", split_name):
                raise ValueError(f"the split name {split_name!r} must consist of letters, digits, '.', '_', '-'")
            for name in (*split.files, *split.optional_files):
                if name not in file_names:
                    raise ValueError(f"split {split_name} names the file {name!r}, which is not among [[files]]")

    def _check_source(self, source: SourceEntry, file_names: set[str]) -> None:
        """Raise ValueError if a source names a file outside the manifest, or a download from it cannot be verified."""
        for name in (*source.only, *source.paths):
            if name not in file_names:
                raise ValueError(f"a {source.kind} source names the file {name!r}, which is not among [[files]]")
        if source.kind not in NETWORK_KINDS:
            return
        for file in self.files:
            if source.provides(file.name) and (file.sha256 is None or file.bytes is None):
                raise ValueError(f"the file {file.name!r} needs sha256 and bytes, since it can come over the network")

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
