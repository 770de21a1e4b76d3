"""An executor on the nodes of a Ray cluster: the same units, store and scores as in one process."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.benchmark.executor import EngineUnavailableError, InProcess, Unit, UnitLostError, joined_costs, score_unit
from assay.cluster.connection import Connection
from assay.cluster.files import Content, MissingFilesError, NodeError, sent_copy_path
from assay.cluster.pool import Pool, SharedJob, Work
from assay.cluster.slot import describe_this_node
from assay.common.messages import Setting
from assay.common.processes import free_cores, peak_memory
from assay.exceptions import AssayError, InputError, WorkerDiedError
from assay.metrics import Metric
from assay.metrics.base import Batch, Engine
from assay.metrics.models import LocatedModel, locate, use_model
from assay.metrics.neural.metric import ModelMetric
from assay.metrics.neural.runtime import RemoteMachines, Runtime, use_runtime
from assay.metrics.scores import Scores
from assay.metrics.work import session_if_open
from assay.paths import use_local_copy, user_path

log = logging.getLogger(__name__)


class RayExecutor:
    """Scores units on a Ray cluster, with one process (slot) per GPU or per ``runtime.threads`` CPUs.

    The driver itself scores metrics that must stay with it, such as judges, metrics that cannot be pickled, and metrics
    without a model that are needed after :meth:`close`, such as the token F1 for a bucket.

    Args:
        address: the address of the head node, see :class:`~assay.cluster.connection.Connection`; None for a cluster on
            this machine alone.
        runtime: the settings of the user; ``threads`` is the number of CPUs of a slot, 1 by default.
        most: the largest number of slots, and the number of CPUs of a cluster on this machine alone; None for all that
            are available.
        keep_models: whether models of several engines stay in memory.
        say: receives one line about each retry.

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
                "with ",
                Setting("engine", "ray"),
                " a slot has a GPU or none; use auto, cuda or cpu",
                setting="device",
                value=runtime.device,
            )
        self._in_process = InProcess(keep_models=keep_models)
        self._keep_models, self._most, self._say = keep_models, most, say
        self._threads = runtime.threads or 1
        self._pools: dict[bool, Pool] = {}
        self._was_closed = False
        # the pool and job that scored the last unit; None for this process
        self._last_job: tuple[Pool, SharedJob] | None = None
        # the job of each group of metrics; None for metrics that are scored in this process
        self._jobs: dict[tuple[Metric, ...], SharedJob | None] = {}
        self._connection = Connection(address, most or free_cores())
        try:
            has_gpus = any(node["Resources"].get("GPU", 0) >= 1 for node in self._connection.nodes().values())
            on_gpus = runtime.device in ("cuda", "all") or (runtime.device == "auto" and has_gpus)
            pool = self._open_pool(on_gpus)
        except BaseException:
            self.leave()
            raise
        remote = RemoteMachines("cuda:0" if on_gpus else "cpu", pool.bf16, runtime.threads)
        #: The settings under which metrics are planned.
        self.runtime = replace(runtime, device="auto", threads=self._threads, remote=remote)

    def _open_pool(self, gpus: bool) -> Pool:
        """Return the pool of slots with GPUs or without, which the first call starts."""
        if gpus not in self._pools:
            self._pools[gpus] = Pool(self._connection, gpus=gpus, threads=self._threads, most=self._most, say=self._say)
        return self._pools[gpus]

    def map(self, units: Iterable[Unit]) -> Generator[tuple[int, Scores | Exception]]:
        """Yield (number, scores or the error that was raised) for every unit, as slots finish them.

        Units that must stay with the driver are scored in this process.

        Raises:
            ClusterError: no slot is left.
        """
        for pool, group in groupby(units, key=self._pool_for):
            self._last_job = None
            if pool is None:
                yield from self._in_process.map(group)
                continue
            # the counts of a call are those of its units alone
            pool.done.clear()
            pool.retried.clear()
            for number, result in pool.map(self._works_of_units(pool, group)):
                yield number, _outcome_of_result(result)

    def _pool_for(self, unit: Unit) -> Pool | None:
        """Return the pool whose slots score a unit, which is started if needed; None for this process.

        After :meth:`close` metrics without an engine are scored here, so that they start no slots again.
        """
        if self._job_of_metrics(unit.metrics) is None or (self._was_closed and unit.engine is None):
            return None
        devices = getattr(unit.engine, "devices", ())
        return self._open_pool(any(device.startswith("cuda") for device in devices))

    def _works_of_units(self, pool: Pool, units: Iterable[Unit]) -> Iterator[Work]:
        """Yield the work of each unit for a pool, and remember its job, whose cost :meth:`cost` returns.

        Raises:
            AssayError: a unit cannot be sent to other processes, which :meth:`_pool_for` rules out.
        """
        for unit in units:
            job = self._job_of_metrics(unit.metrics)
            if job is None:
                raise AssayError(f"{unit.metrics}: cannot be sent")  # _pool_for gives such units no pool
            self._last_job = pool, job
            title = f"unit {unit.number + 1} of {', '.join(map(str, unit.metrics))} ({len(unit.batch):,} pairs)"
            yield Work(unit.number, job, unit.batch, title)

    def _job_of_metrics(self, metrics: tuple[Metric, ...]) -> SharedJob | None:
        """Return the cached job with which slots score metrics; None for metrics that this process scores."""
        if metrics not in self._jobs:
            self._jobs[metrics] = None if any(metric.stays_here for metric in metrics) else self._shared_job(metrics)
        return self._jobs[metrics]

    def _shared_job(self, metrics: tuple[Metric, ...]) -> SharedJob | None:
        """Return the pickled job of some metrics with their models and files, for the processes of the cluster.

        It is None if a metric cannot be pickled; the user is told that it is scored in this process.
        """
        from ray import cloudpickle

        models, files = _models_of(metrics), _files_of(metrics)
        signatures = tuple(metric.signature() for metric in metrics)
        job = NodeScoring(metrics, signatures, self.runtime, self._keep_models, models, files)
        try:
            pickled = cloudpickle.dumps(job)
        except Exception as error:  # noqa: BLE001 - pickling can raise any error of the metric's own code
            self._say(f"{', '.join(map(str, metrics))}: scored in this process, since it cannot be sent ({error})")
            return None
        contents = {content.digest: content for content in files.values()}
        contents |= {model.digest: Content(model.folder, model.files, model.digest) for model in models.values()}
        return SharedJob(hashlib.sha256(pickled).hexdigest(), pickled, contents)

    def cost(self, engine: Any) -> dict[str, Any]:
        """Return the cost of the engine that scored last, over all slots.

        It includes the number of units per node, and the units that were retried. If this process scored last, it is
        the cost of the engine here.
        """
        if self._last_job is None:
            return self._in_process.cost(engine)
        pool, job = self._last_job
        details: dict[str, Any] = {"units_by_node": dict(sorted(pool.done.items()))}
        if pool.retried:
            details["done_again"] = list(pool.retried)
        return joined_costs(pool.costs(job)) | details

    def close(self) -> None:
        """Release models and end all slots; the connection to the cluster stays open."""
        self._was_closed = True
        self._last_job = None
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()
        self._in_process.close()

    def leave(self) -> None:
        """Close the executor and disconnect from the cluster."""
        self.close()
        self._connection.close()


def _outcome_of_result(result: Any) -> Scores | Exception:
    """Return the result of a pool with errors of the cluster converted to errors of an executor."""
    if isinstance(result, WorkerDiedError):
        return UnitLostError(str(result))
    if isinstance(result, NodeError):
        return EngineUnavailableError(result.reason, result.remedy)
    outcome: Scores | Exception = result
    return outcome


def _models_of(metrics: tuple[Metric, ...]) -> dict[str, LocatedModel]:
    """Return the models of metrics by the names under which the metrics refer to them."""
    return {
        metric.subject: metric.located()
        for metric in metrics
        if isinstance(metric, ModelMetric) and metric.subject is not None
    }


def _files_of(metrics: tuple[Metric, ...]) -> dict[str, Content]:
    """Return the contents of the files that metrics read, by the names under which the metrics refer to them."""
    return {name: Content.from_path(user_path(name)) for metric in metrics for name in metric.files()}


@dataclass
class NodeScoring:
    """The job of scoring with some metrics in a slot; see :class:`assay.cluster.slot.Job`.

    Attributes:
        metrics: the bound metrics, all of one engine.
        signatures: the signatures of the metrics in the driver.
        runtime: the runtime settings.
        keep_models: whether models of several engines stay in memory.
        models, files: the driver's models and files that the metrics read, by the names that the metrics use.
    """

    metrics: tuple[Metric, ...]
    signatures: tuple[Mapping[str, str], ...]
    runtime: Runtime
    keep_models: bool
    models: Mapping[str, LocatedModel]
    files: Mapping[str, Content]
    #: the engine of the metrics, once the job is open
    _engine: Engine | None = field(default=None, init=False)

    def open(self) -> None:
        """Let the metrics use the models and files of this node, and compare the signatures with those of the driver.

        Raises:
            MissingFilesError: models or files that the driver has to send.
            NodeError: a model, file or library differs from the driver's.
        """
        missing = []
        for name, model in self.models.items():
            folder = _model_folder_on_node(name, model)
            if folder is None:
                missing.append(model.digest)
            else:
                use_model(name, replace(model, folder=folder))
                use_local_copy(name, folder)
        for name, content in self.files.items():
            path = _path_on_node(name, content)
            if path is None:
                missing.append(content.digest)
            else:
                use_local_copy(name, path)
        if missing:
            raise MissingFilesError(missing)
        with use_runtime(self.runtime):
            for metric, expected in zip(self.metrics, self.signatures, strict=True):
                _check_signature(metric, expected)
            self._engine = self.metrics[0].needs()

    def process(self, payload: Batch) -> Scores:
        """Return the scores of a batch of texts under the metrics; any error of scoring is raised."""
        with use_runtime(self.runtime):
            return score_unit(Unit(0, self._engine, self.metrics, payload), keep_models=self.keep_models)

    def cost(self) -> dict[str, Any]:
        """Return the cost of this process's session, if one is open, and the peak memory of the process in MB."""
        session = None if self._engine is None else session_if_open(self._engine)
        return ({} if session is None else session.cost()) | {"peak_memory_mb": peak_memory()}


def _model_folder_on_node(name: str, model: LocatedModel) -> Path | None:
    """Return the folder of a model on this node; None if the driver has to send it.

    Raises:
        NodeError: the metric names a folder, and it contains other weights on this node.
    """
    try:
        own_model = locate(name, offline=True)
    except AssayError:
        own_model = None
    if own_model is not None and own_model.digest == model.digest:
        return own_model.folder
    if own_model is not None and model.reference.kind == "folder":
        raise NodeError(
            f"{describe_this_node()} has another model at {own_model.folder} "
            f"(digest {own_model.digest[:12]}, not {model.digest[:12]})",
            "remove it there, or copy that of the driver",
        )
    return _sent_copy(Content(model.folder, model.files, model.digest))


def _path_on_node(name: str, content: Content) -> Path | None:
    """Return the path of a file or folder on this node; None if the driver has to send it.

    Raises:
        NodeError: the path exists on this node with other content.
    """
    path = user_path(name)
    if path.exists():
        if not content.is_at(path):
            raise NodeError(
                f"{describe_this_node()} has another {path} than the driver", "remove it there, or copy the driver's"
            )
        return path
    return _sent_copy(content)


def _sent_copy(content: Content) -> Path | None:
    """Return the path of the copy that the driver has sent to this node; None if it has sent none."""
    path = sent_copy_path(content)
    return path if content.is_at(path) else None


def _check_signature(metric: Metric, expected: Mapping[str, str]) -> None:
    """Raise NodeError if the signature of a metric cannot be made on this node, or differs from the driver's.

    The entry ``code`` is not compared for a class that was sent with its code.
    """
    try:
        signature = metric.signature()
    except AssayError as error:
        raise NodeError(f"{describe_this_node()}: ", error.message) from error
    kind = type(metric)
    # a class that this node has installed is found under its name; a class that was sent with its code is another one
    was_sent = getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is not kind
    for key in {**expected, **signature}:
        if was_sent and key == "code":
            # the file of a class that was sent with its code does not exist on this node
            continue
        on_node, on_driver = signature.get(key, "nothing"), expected.get(key, "nothing")
        if on_node != on_driver:
            problem = f"{describe_this_node()} has {key} {on_node}, not {on_driver}"
            raise NodeError(problem, "install there what the driver has")
