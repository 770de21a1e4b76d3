"""The evidence for the choice of a metric: the ranked metrics of each bucket, as a run folder keeps them.

It is computed once and kept as ``evidence.json`` in the run folder, so that every command and page that names a metric
reads the same numbers: the same metrics and pairs, the same tests, and the same limits. A folder that cannot be written
has it computed anew, with the same result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from assay.analysis.compare import used_buckets
from assay.analysis.data import ALL, ScoredDataset, read_datasets
from assay.analysis.folder import RunFolder
from assay.analysis.leaderboard.board import KEPT_FORM, Board, Line
from assay.analysis.leaderboard.join import JoinedDataset
from assay.analysis.leaderboard.kept import kept_boards
from assay.analysis.recommend.advice import Advice, advise_on
from assay.analysis.recommend.settings import NO_LIMITS, Limits
from assay.analysis.settings import PairedTests
from assay.analysis.thresholds.labels import positive_labels_of
from assay.common.output import atomic_write
from assay.exceptions import InputError
from assay.statistics.coefficients import deciding_statistic, have_two_values

#: The name of the file in a run folder.
FILE_NAME = "evidence.json"
#: The version of the file's form; files of another version are computed anew.
VERSION = 1
#: The fields of a board and of its lines in the file; boards of other fields are computed anew, by the kept limits.
_BOARD_FIELDS, _LINE_FIELDS = ({field.name for field in fields(record)} for record in (Board, Line))
#: The bucket of pairs whose texts have no common word, for which a metric is named as well.
NO_COMMON_WORD = "f1=0"
#: The largest number of buckets for which evidence is computed unless others are asked for.
MAX_BUCKETS = 3
#: The largest product of metrics, pairs and resamples that a page computes unasked; more would take over a minute.
MAX_WORK = 1_500_000_000


@dataclass(frozen=True)
class RunEvidence:
    """The evidence on one dataset of a run.

    Attributes:
        joined: the dataset with its scores.
        by: the coefficient that decides.
        tests: the settings of the tests; their only statistic is *by*.
        limits: the limits on cost and loss.
        boards: the ranked metrics by bucket.
        positive: the rule for the labels that mean yes, if metrics are chosen for that decision; *joined* then has the
            labels of :func:`with_decision`. None if the labels decide as they are.
    """

    joined: JoinedDataset
    by: str
    tests: PairedTests
    limits: Limits
    boards: Mapping[str, Board]
    positive: str | None = None

    def advice(self, limits: Limits | None = None, *, with_plan: bool = True) -> dict[str, Advice]:
        """Return the recommendation by bucket.

        Args:
            limits: the limits on cost and loss, if they are not those that the run keeps.
            with_plan: whether to compute the number of pairs that would settle each choice.
        """
        boards_of_run = list(self.boards.values())
        advised = advise_on(self.joined, boards_of_run, limits or self.limits, self.by, self.tests, with_plan=with_plan)
        return dict(zip(self.boards, advised, strict=True))


def with_decision(data: ScoredDataset, rule: str | None) -> tuple[ScoredDataset, str | None]:
    """Return a dataset whose labels are 1 where a rule says yes, else 0, and the rule without spaces.

    Without a rule, or for one that only separates the two labels that the dataset has, they are the dataset as it is
    and None.

    Args:
        data: the dataset.
        rule: the rule for the labels that mean yes, such as ``label>=2``; None for none.

    Raises:
        InputError: the rule cannot be parsed, or puts all labels into one class.
    """
    if rule is None:
        return data, None
    plain_rule, is_yes = positive_labels_of(data, rule)
    if have_two_values(data.labels):
        return data, None
    import pyarrow as pa

    # the annotators' labels are not those of the decision
    kept_columns = [name for name in data.table.column_names if name != "annotations"]
    table = data.table.select(kept_columns)
    table = table.set_column(kept_columns.index("label"), "label", pa.array(is_yes.astype(np.float64)))
    return replace(data, table=table), plain_rule


class EvidenceFiles:
    """The evidence that run folders keep; the file of each folder is read once, and written once by :meth:`write`."""

    def __init__(self) -> None:
        # the plain values by dataset of each folder
        self._kept: dict[Path, dict[str, Any]] = {}
        self._changed: dict[Path, None] = {}

    def read(self, data: ScoredDataset) -> RunEvidence | None:
        """Return the kept evidence on a dataset; None without any, or if it is damaged or of other metrics."""
        folder = data.run.path
        values = None if folder is None else self._of_folder(folder).get(data.name)
        return None if values is None else _evidence_of_values(data, values)

    def keep(self, evidence: RunEvidence) -> None:
        """Keep the evidence on a dataset of a run beside that on other datasets, until it is written."""
        folder = evidence.joined.data.run.path
        if folder is not None:
            self._of_folder(folder)[evidence.joined.data.name] = _to_plain(evidence)
            self._changed[folder] = None

    def write(self) -> None:
        """Write what was added into the folders of the runs, except into one that cannot be written."""
        for folder in self._changed:
            write_evidence(folder, self._kept[folder])
        self._changed.clear()

    def _of_folder(self, folder: Path) -> dict[str, Any]:
        if folder not in self._kept:
            self._kept[folder] = read_evidence(folder)
        return self._kept[folder]


def evidence_of(
    data: ScoredDataset,
    buckets: Sequence[str] = (),
    *,
    positive: str | None = None,
    files: EvidenceFiles | None = None,
) -> RunEvidence:
    """Return the evidence on a dataset of a run: what its folder keeps, and otherwise computed and kept there.

    Args:
        data: the dataset.
        buckets: the buckets that are needed; by default the first :data:`MAX_BUCKETS` of the run. Those that the run
            lacks are left out.
        positive: the rule for the labels that mean yes, if metrics are chosen for that decision; by default what the
            folder keeps. The evidence for another rule than that is computed and not kept.
        files: the files of several datasets, which the caller writes; None to read and write that of the run.

    Raises:
        InputError: the rule cannot be parsed, or puts all labels into one class.
    """
    present = used_buckets(data)
    bucket_names = [name for name in buckets or present[:MAX_BUCKETS] if name in present]
    evidence_files = files or EvidenceFiles()
    evidence = evidence_files.read(data)
    decided, rule = with_decision(data, positive)
    kept_rule = None if evidence is None else evidence.positive
    is_rule_kept = positive is None or rule == kept_rule
    if evidence is None or not is_rule_kept:
        by = deciding_statistic([decided.vote_statistic])
        tests = PairedTests() if evidence is None else evidence.tests
        limits = NO_LIMITS if evidence is None else evidence.limits
        evidence = RunEvidence(
            _join(decided), by=by, tests=replace(tests, statistics=(by,)), limits=limits, boards={}, positive=rule
        )
    absent = [name for name in bucket_names if name not in evidence.boards]
    if absent:
        boards = dict(evidence.boards)
        for board in kept_boards(evidence.joined, evidence.tests, by=evidence.by, buckets=absent):
            boards[board.bucket] = board
        evidence = replace(evidence, boards=boards)
        if is_rule_kept:
            evidence_files.keep(evidence)
            if files is None:
                evidence_files.write()
    return replace(evidence, boards={name: evidence.boards[name] for name in bucket_names})


def takes_long(data: ScoredDataset, buckets: Sequence[str], files: EvidenceFiles | None = None) -> bool:
    """Return whether the evidence on some buckets would take long, over :data:`MAX_WORK`, and is not kept with the run.

    Args:
        data: the dataset.
        buckets: the names of the buckets; those that the run lacks do not count.
        files: the files of several datasets, which are read once; None to read that of the run.
    """
    # the page also has blocks that are no buckets of pairs, such as those with controls
    known_buckets = [name for name in buckets if name in data.buckets]
    if _work(data, known_buckets) <= MAX_WORK:
        return False
    kept_evidence = (files or EvidenceFiles()).read(data)
    absent = [name for name in known_buckets if kept_evidence is None or name not in kept_evidence.boards]
    return _work(data, absent) > MAX_WORK


def _work(data: ScoredDataset, buckets: Sequence[str]) -> int:
    """Return the product of metrics, pairs and resamples on some buckets."""
    pair_count = sum(int(data.buckets[name].sum()) for name in buckets)
    return pair_count * len(data.scores) * PairedTests().resamples


def recommended_metric(data: ScoredDataset, files: EvidenceFiles | None = None) -> str | None:
    """Return the metric to use on all pairs of a dataset by the rule of ``assay recommend``.

    It is None if none can be named, if the labels are not those of people, and where the tests would take long and are
    not kept.

    Args:
        data: the dataset.
        files: the files of several datasets, which the caller writes; None to read and write that of the run.
    """
    if not data.is_by_people or not data.scores or takes_long(data, [ALL], files):
        return None
    line = evidence_of(data, [ALL], files=files).advice(with_plan=False)[ALL].recommended
    return None if line is None else line.metric


def metric_named_on_all(run: RunFolder) -> str | None:
    """Return the metric that ``assay recommend`` names on each dataset of a run with labels from people.

    It is None if they differ, if none is named on one of them, or without such a dataset. The evidence that was
    computed is kept in the run.
    """
    files = EvidenceFiles()
    names: set[str | None] = set()
    for data in read_datasets(run):
        if data.is_by_people:
            names.add(recommended_metric(data, files))
        if len(names) > 1 or None in names:
            break  # what the other datasets need takes seconds each
    files.write()
    return names.pop() if len(names) == 1 else None


def _join(data: ScoredDataset) -> JoinedDataset:
    """Return a dataset of one run in the form that is ranked."""
    scores = {name: data.oriented_scores(name) for name in data.scores}
    return JoinedDataset(data.title, data, scores, dict(data.metrics))


def keep_evidence(evidence: RunEvidence) -> None:
    """Write the evidence on a dataset into the folder of its run, beside that on other datasets.

    Nothing is written if the run has no folder, or one that cannot be written.
    """
    files = EvidenceFiles()
    files.keep(evidence)
    files.write()


def folder_digest(folder: Path) -> str:
    """Return the SHA-256 of the scores, pairs and manifest of a run, which the evidence was computed from."""
    digest = hashlib.sha256()
    for name in ("run.json", "scores.parquet", "pairs.parquet"):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def read_evidence(folder: Path) -> dict[str, Any]:
    """Return the kept evidence by dataset, as plain values; empty without any, or for other scores or versions."""
    contents = read_kept_file(folder, FILE_NAME, VERSION) or {}
    kept_datasets = contents.get("datasets")
    return kept_datasets if isinstance(kept_datasets, dict) else {}


def read_kept_file(folder: Path, name: str, version: int) -> dict[str, Any] | None:
    """Return the JSON object that a run folder keeps in a file; None unless it is of the folder's present scores.

    It is also None if there is no such file, if it is damaged, or if it has another version.

    Args:
        folder: the run folder.
        name: the name of the file.
        version: the version of its form that the caller reads.
    """
    try:
        contents = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(contents, dict) or contents.get("version") != version:
        return None
    return contents if contents.get("digest") == folder_digest(folder) else None


def write_evidence(folder: Path, datasets: Mapping[str, Any]) -> None:
    """Write evidence by dataset, as plain values, into a folder, unless it is one that cannot be written."""
    text = json.dumps({"version": VERSION, "digest": folder_digest(folder), "datasets": datasets}, allow_nan=False)
    # a folder of somebody else, or a full disk: the next reader computes the same evidence again
    with suppress(OSError), atomic_write(folder / FILE_NAME) as file:
        file.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class _PlainEvidence:
    """The evidence on one dataset."""

    by: str
    tests: dict[str, Any]
    limits: Limits
    boards: list[Board]
    positive: str | None = None


# a list, since a class has its own configuration
_ADAPTER = TypeAdapter(list[_PlainEvidence], config=KEPT_FORM)


def _to_plain(evidence: RunEvidence) -> Any:
    """Return the evidence on a dataset as values that JSON can hold."""
    plain = _PlainEvidence(
        evidence.by,
        {field.name: getattr(evidence.tests, field.name) for field in fields(evidence.tests)},
        evidence.limits,
        list(evidence.boards.values()),
        evidence.positive,
    )
    return json.loads(_ADAPTER.dump_json([plain]))[0]


def _evidence_of_values(data: ScoredDataset, values: Any) -> RunEvidence | None:
    """Return the evidence on a dataset from the plain values of its file.

    It is None if they are damaged, or of other metrics or buckets than the dataset has.
    """
    try:
        boards_of_file = values["boards"] if _have_present_fields(values["boards"]) else []
        [plain] = _ADAPTER.validate_python([values | {"boards": boards_of_file}])
        tests = PairedTests(**plain.tests)
        decided, _ = with_decision(data, plain.positive)
    except (ValidationError, AttributeError, TypeError, KeyError, InputError):
        return None
    boards = {board.bucket: board for board in plain.boards}
    for board in boards.values():
        if {line.metric for line in board.lines} != set(data.scores) or board.bucket not in data.buckets:
            return None
    return RunEvidence(
        joined=_join(decided), by=plain.by, tests=tests, limits=plain.limits, boards=boards, positive=plain.positive
    )


def _have_present_fields(boards: list[dict[str, Any]]) -> bool:
    """Return whether boards in a file have the fields that boards and their lines have now."""
    return all(
        board.keys() == _BOARD_FIELDS and all(line.keys() == _LINE_FIELDS for line in board["lines"])
        for board in boards
    )
