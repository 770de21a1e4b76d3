"""An executor on the nodes of a Ray cluster: the same units, store and scores as in one process."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.benchmark.executor import EngineUnavailableError, InProcess, Unit, UnitLostError, joined_costs, score_unit
from assay.benchmark.memory import peak_memory
from assay.cluster.connection import Connection
from assay.cluster.files import Content, MissingFilesError, NodeError, sent_to
from assay.cluster.pool import Pool, SharedJob, Work
from assay.cluster.slot import here
from assay.errors import AssayError, InputError, WorkerDiedError
from assay.metrics import Metric
from assay.metrics.base import Batch
from assay.metrics.models import LocatedModel, locate, use_model
from assay.metrics.neural.metric import ModelMetric
from assay.metrics.neural.runtime import Elsewhere, Runtime, free_cores, use_runtime
from assay.metrics.work import Scores, session_if_open
from assay.paths import use_copy, user_path

log = logging.getLogger(__name__)


class RayExecutor:
    """Scores units on a Ray cluster, in one process for each GPU or for each so many CPUs.

    A metric that stays in the driver, such as a judge, is scored here; so is one that cannot be pickled, and what is
    asked for after :meth:`close` and needs no model, such as the F1 of a bucket.

    Args:
        address: of the head node, see :class:`~assay.cluster.connection.Connection`.
        runtime: of the user's settings: ``threads`` are the CPUs of a slot, 1 by default.
        most: slots at most; on this machine alone, where no address is given, its CPUs. None for all there are.
        keep_models: whether models of several engines stay in memory.
        say: receives a line on what is tried again.

    Raises:
        ClusterError: the cluster cannot be used.
        InputError: a device that a slot cannot have.
        MissingExtraError: Ray is not installed.
    """

    def __init__(
        self,
        address: str | None,
        runtime: Runtime,
        *,
        most: int | None = None,
        keep_models: bool = False,
        say: Callable[[str], None] = log.info,
    ) -> None:
        if runtime.device not in ("auto", "cpu", "cuda", "all"):
            raise InputError(
                f"`device={runtime.device}`: with `engine=ray` a slot has a GPU or none; take auto, cuda or cpu"
            )
        self._here = InProcess(keep_models=keep_models)
        self._keep_models, self._most, self._say = keep_models, most, say
        self._threads = runtime.threads or 1
        self._pools: dict[bool, Pool] = {}
        self._was_closed = False
        # what scored last; None for this process
        self._last: tuple[Pool, SharedJob] | None = None
        # by metrics: the job, or None for metrics that are scored here
        self._jobs: dict[tuple[Metric, ...], SharedJob | None] = {}
        self._connection = Connection(address, most or free_cores())
        try:
            has_gpus = any(node["Resources"].get("GPU", 0) >= 1 for node in self._connection.nodes().values())
            on_gpus = runtime.device in ("cuda", "all") or (runtime.device == "auto" and has_gpus)
            pool = self._pool(on_gpus)
        except BaseException:
            self.leave()
            raise
        elsewhere = Elsewhere("cuda:0" if on_gpus else "cpu", pool.bf16, runtime.threads)
        #: The settings under which metrics are planned.
        self.runtime = replace(runtime, device="auto", threads=self._threads, elsewhere=elsewhere)

    def _pool(self, gpus: bool) -> Pool:
        if gpus not in self._pools:
            self._pools[gpus] = Pool(self._connection, gpus=gpus, threads=self._threads, most=self._most, say=self._say)
        return self._pools[gpus]

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """See :meth:`Executor.map`.

        Raises:
            ClusterError: no slot is left.
        """
        for pool, group in groupby(units, key=self._pool_for):
            self._last = None
            if pool is None:
                yield from self._here.map(group)
                continue
            pool.done.clear()
            pool.retried.clear()
            for number, result in pool.map(self._works(pool, group)):
                yield number, _as_outcome(result)

    def _pool_for(self, unit: Unit) -> Pool | None:
        """Return the pool whose slots score a unit; None where this process does."""
        if self._job(unit.metrics) is None or (self._was_closed and unit.engine is None):
            return None
        devices = getattr(unit.engine, "devices", ())
        return self._pool(any(device.startswith("cuda") for device in devices))

    def _works(self, pool: Pool, units: Iterable[Unit]) -> Iterator[Work]:
        for unit in units:
            job = self._job(unit.metrics)
            if job is None:
                raise AssayError(f"{unit.metrics}: cannot be sent")  # _pool_for gives such units no pool
            self._last = pool, job
            title = f"unit {unit.number + 1} of {', '.join(map(str, unit.metrics))} ({len(unit.batch):,} pairs)"
            yield Work(unit.number, job, unit.batch, title)

    def _job(self, metrics: tuple[Metric, ...]) -> SharedJob | None:
        """Return what slots need to score with some metrics, made once; None for metrics that are scored here."""
        if metrics not in self._jobs:
            self._jobs[metrics] = None if any(metric.stays_here for metric in metrics) else self._shared(metrics)
        return self._jobs[metrics]

    def _shared(self, metrics: tuple[Metric, ...]) -> SharedJob | None:
        from ray import cloudpickle

        models, files = _models_of(metrics), _files_of(metrics)
        signatures = tuple(metric.signature() for metric in metrics)
        job = NodeScoring(metrics, signatures, self.runtime, self._keep_models, models, files)
        try:
            data = cloudpickle.dumps(job)
        except Exception as error:  # noqa: BLE001 - what cannot be pickled raises whatever it likes
            self._say(f"{', '.join(map(str, metrics))}: scored in this process, since it cannot be sent ({error})")
            return None
        contents = {content.digest: content for content in files.values()}
        contents |= {model.digest: Content(model.folder, model.files, model.digest) for model in models.values()}
        return SharedJob(hashlib.sha256(data).hexdigest(), data, contents)

    def cost(self, engine: Any) -> dict[str, Any]:
        """See :meth:`Executor.cost`; with the nodes and the number of units that each scored."""
        if self._last is None:
            return self._here.cost(engine)
        pool, job = self._last
        details: dict[str, Any] = {"units_by_node": dict(sorted(pool.done.items()))}
        if pool.retried:
            details["done_again"] = list(pool.retried)
        return joined_costs(pool.cost(job)) | details

    def close(self) -> None:
        """See :meth:`Executor.close`."""
        self._was_closed = True
        self._last = None
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()
        self._here.close()

    def leave(self) -> None:
        """Close, and leave the cluster."""
        self.close()
        self._connection.close()


def _as_outcome(result: Any) -> Scores | Exception:
    """Return a result of a pool as an executor gives it."""
    if isinstance(result, WorkerDiedError):
        return UnitLostError(str(result))
    if isinstance(result, NodeError):
        return EngineUnavailableError(result.reason, result.remedy)
    outcome: Scores | Exception = result
    return outcome


def _models_of(metrics: tuple[Metric, ...]) -> dict[str, LocatedModel]:
    """Return the models of metrics, by the names that the metrics have for them."""
    return {
        metric.subject: metric.located()
        for metric in metrics
        if isinstance(metric, ModelMetric) and metric.subject is not None
    }


def _files_of(metrics: tuple[Metric, ...]) -> dict[str, Content]:
    """Return the files that metrics name, by the names that they have for them."""
    return {named: Content.of(user_path(named)) for metric in metrics for named in metric.files()}


@dataclass
class NodeScoring:
    """What a slot needs to score with some metrics; see :class:`assay.cluster.slot.Job`.

    Attributes:
        metrics: bound, all of one engine.
        signatures: theirs, as the driver has them.
        runtime: the settings in force.
        keep_models: whether models of several engines stay in memory.
        models, files: what they read, as the driver has it, by the names that the metrics have for it.
    """

    metrics: tuple[Metric, ...]
    signatures: tuple[Mapping[str, str], ...]
    runtime: Runtime
    keep_models: bool
    models: Mapping[str, LocatedModel]
    files: Mapping[str, Content]

    def open(self) -> None:
        """Find the models and files here, and compare the signatures.

        Raises:
            MissingFilesError: the driver has to send some.
            NodeError: something is here in another state.
        """
        missing = []
        for named, model in self.models.items():
            folder = _folder_here(named, model)
            if folder is None:
                missing.append(model.digest)
            else:
                use_model(named, replace(model, folder=folder))
                use_copy(named, folder)
        for named, content in self.files.items():
            path = _file_here(named, content)
            if path is None:
                missing.append(content.digest)
            else:
                use_copy(named, path)
        if missing:
            raise MissingFilesError(missing)
        with use_runtime(self.runtime):
            for metric, expected in zip(self.metrics, self.signatures, strict=True):
                _compare(metric, expected)
            self._engine = self.metrics[0].needs()

    def do(self, payload: Batch) -> Scores:
        """Return the scores of a batch."""
        with use_runtime(self.runtime):
            return score_unit(Unit(0, self._engine, self.metrics, payload), keep_models=self.keep_models)

    def cost(self) -> dict[str, Any]:
        """Return what the session of this process has cost, and the most memory that it had."""
        session = None if self._engine is None else session_if_open(self._engine)
        return ({} if session is None else session.cost()) | {"peak_memory_mb": peak_memory()}


def _folder_here(named: str, model: LocatedModel) -> Path | None:
    """Return the folder of a model on this node; None where the driver has to send it.

    Raises:
        NodeError: the folder that was named has other weights here.
    """
    try:
        own = locate(named, offline=True)
    except AssayError:
        own = None
    if own is not None and own.digest == model.digest:
        return own.folder
    if own is not None and model.reference.kind == "folder":
        raise NodeError(
            f"{here()} has another model at {own.folder} (digest {own.digest[:12]}, not {model.digest[:12]})",
            "remove it there, or copy that of the driver",
        )
    content = Content(model.folder, model.files, model.digest)
    return sent_to(content) if content.is_at(sent_to(content)) else None


def _file_here(named: str, content: Content) -> Path | None:
    """Return the path of a file or folder on this node; None where the driver has to send it.

    Raises:
        NodeError: the one that was named is another here.
    """
    path = user_path(named)
    if path.exists():
        if not content.is_at(path):
            raise NodeError(f"{here()} has another {path} than the driver", "remove it there, or copy the driver's")
        return path
    return sent_to(content) if content.is_at(sent_to(content)) else None


def _compare(metric: Metric, expected: Mapping[str, str]) -> None:
    """Raise NodeError where a metric would not give the driver's scores on this node."""
    try:
        signature = metric.signature()
    except AssayError as error:
        raise NodeError(f"{here()}: {error}") from error
    kind = type(metric)
    was_sent = getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is not kind
    for key in {**expected, **signature}:
        if was_sent and key == "code":
            # of a class that came with its code, there is no file here
            continue
        there, driver = signature.get(key, "nothing"), expected.get(key, "nothing")
        if there != driver:
            raise NodeError(f"{here()} has {key} {there}, not {driver}", "install there what the driver has")
