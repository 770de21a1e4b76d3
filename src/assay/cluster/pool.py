"""Distributes work over slots on the nodes of a cluster, with back-pressure, retries and nodes that come and go.

Every slot has at most two pieces of work, one running and one waiting, so that the driver's memory does not grow with
the amount of work. If a process ends, its work is done elsewhere. A piece of work whose process ended twice is given
up, since it is probably the cause; the loss of a whole node is tolerated more often.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.cluster.connection import Connection, import_ray
from assay.cluster.files import Content, MissingFilesError, NodeError, pack_content
from assay.cluster.slot import offered_environment, slot_class, slot_environment
from assay.exceptions import AssayError, ClusterError, WorkerDiedError, summary_of

log = logging.getLogger(__name__)

#: The most pieces of work that a slot has at a time.
WORK_PER_SLOT = 2
#: A piece of work is given up after this many ended processes, or after this many lost nodes.
MOST_DEATHS, MOST_LOST_NODES = 2, 5
#: A node is excluded after this many of its processes ended before they were ready.
MOST_FAILED_STARTS = 3
#: Seconds between two polls of the nodes, and seconds without work for a node that did not answer.
POLL_SECONDS, SUSPECT_SECONDS = 2.0, 30.0
#: Seconds to wait while no slot is ready; and, once one is ready, seconds to wait at the start for the other nodes.
PATIENCE, SPREAD = 60.0, 15.0
#: Seconds that slots have to report the cost of their work.
COST_PATIENCE = 10.0


@dataclass(frozen=True)
class SharedJob:
    """The driver's side of a :class:`assay.cluster.slot.Job`.

    Attributes:
        key: the identity of the job: jobs with equal keys are the same.
        data: the pickled job.
        contents: the files that its work reads, by digest; they are sent to nodes that lack them.
    """

    key: str
    data: bytes
    contents: Mapping[str, Content] = field(default_factory=dict)


@dataclass
class Work:
    """A piece of work.

    Attributes:
        number: a number that is returned with the result.
        job: the job that does the work.
        payload: the argument of the job.
        title: the name of the work in the log.
        deaths: for each process that ended during the work, its node.
        lost_nodes: the nodes that were lost during the work.
    """

    number: int
    job: SharedJob
    payload: Any
    title: str
    deaths: list[str] = field(default_factory=list)
    lost_nodes: list[str] = field(default_factory=list)


@dataclass(eq=False)
class _Slot:
    """The driver's record of a slot.

    Attributes:
        actor: Ray's handle of the process.
        node: the id of its node.
        node_name: the name of its node; the start of the id until the slot has answered.
        is_ready: whether the slot has answered and can work.
        calls: Ray's references to the answers it still owes, the oldest first.
        refused: the files that it could not write, by digest, each with the error.
    """

    actor: Any
    node: str
    node_name: str
    is_ready: bool = False
    calls: list[Any] = field(default_factory=list)
    refused: dict[str, Exception] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Call:
    """A call of a slot: to do *work*, to write files (their *digests*), or, with neither, to report on its node."""

    slot: _Slot
    work: Work | None = None
    digests: tuple[str, ...] = ()


class Pool:
    """Slots on all nodes of a cluster; each has one GPU, or a number of CPUs.

    Args:
        connection: the connection to the cluster.
        gpus: whether a slot has a GPU.
        threads: the CPUs of a slot, or its CPU threads beside a GPU.
        most: the most slots; None for as many as the nodes can hold.
        say: receives a line on each retry, and on each node that gets no work.

    Raises:
        ClusterError: the cluster has no such slot, none is free, or a node lacks assay, has another version or cannot
            report.

    Attributes:
        done: the number of pieces of work done, with a result or an error, by the name of the node.
        retried: one line per retry.
        bf16: whether the GPU of every slot that has answered supports bf16; False for slots without GPUs.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        gpus: bool,
        threads: int,
        most: int | None = None,
        say: Callable[[str], None] = log.info,
    ) -> None:
        self._ray = import_ray()
        self._say = say
        self._connection = connection
        self._gpus, self._threads, self._most = gpus, threads, most
        self._slot_class = self._ray.remote(slot_class())
        self._slots: list[_Slot] = []
        # The calls without an answer, by Ray's reference to the answer.
        self._calls: dict[Any, _Call] = {}
        self._retries: list[Work] = []
        # What is in Ray's object store: references to jobs by key, and parcels of files by digest.
        self._stored_jobs: dict[str, Any] = {}
        self._parcels: dict[str, Any] = {}
        # The nodes that get no work, with the end of their exclusion on the monotonic clock.
        self._excluded_until: dict[str, float] = {}
        self._failed_starts: Counter[str] = Counter()
        # By the monotonic clock; -POLL_SECONDS makes the next _start_slots poll at once.
        self._last_poll = -POLL_SECONDS
        self._is_open = False
        self.done: Counter[str] = Counter()
        self.retried: list[str] = []
        self.bf16 = gpus
        try:
            self._start_first_slots()
        except BaseException:
            self.close()
            raise

    def map(self, works: Iterable[Work]) -> Generator[tuple[int, Any]]:
        """Yield (number, result or exception) for every piece of work, in the order of completion.

        *works* is consumed one by one, as slots become free. Work that is unfinished when the generator is closed or
        raises is dropped, and its slots are killed.

        Raises:
            ClusterError: no slot was ready for :data:`PATIENCE` seconds, or a slot could not report on its node.
            OSError: a file to send to a node cannot be read.
        """
        source = iter(works)
        last_seen = time.monotonic()
        try:
            while True:
                self._start_slots()
                may_have_more = self._hand_out(source)
                is_work_out = any(call.work for call in self._calls.values())
                if not (may_have_more or is_work_out or self._retries):
                    return
                yield from self._collect_answers()
                if any(slot.is_ready for slot in self._slots):
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > PATIENCE:
                    raise self._no_slot_error()
        finally:
            self._drop_work()

    def costs(self, job: SharedJob) -> list[dict[str, Any]]:
        """Return the cost of a job on each slot, as :meth:`assay.cluster.slot.Job.cost` reports it there.

        Slots that are not ready, that fail, or do not answer within :data:`COST_PATIENCE` seconds, are left out.
        """
        ready = [slot for slot in self._slots if slot.is_ready]
        references = [slot.actor.take_step.remote("cost", job.key, self._stored_reference(job), None) for slot in ready]
        answered, _ = self._ray.wait(references, num_returns=len(references), timeout=COST_PATIENCE)
        costs = []
        for reference in answered:
            try:
                has_succeeded, cost = self._ray.get(reference)
            except self._ray.exceptions.RayError:
                continue
            if has_succeeded:
                costs.append(cost)
        return costs

    def close(self) -> None:
        """End all slots, and forget the work to retry and what was put into Ray's store."""
        for slot in list(self._slots):
            self._end_slot(slot)
        self._retries.clear()
        self._stored_jobs.clear()
        self._parcels.clear()

    # Slots.

    def _start_first_slots(self) -> None:
        """Start slots and wait until every node has one ready, or, after :data:`SPREAD` seconds, any node.

        Raises:
            ClusterError: the cluster has no such slot, none is ready in time, or a node lacks assay or has another
                version.
        """
        self._start_slots()
        if not self._slots:
            missing_resource = "no GPU" if self._gpus else f"no node with {self._threads} CPUs"
            raise ClusterError(f"the cluster has {missing_resource} to work on ({self._describe_nodes()})")
        start = time.monotonic()
        while True:
            # No work is out yet, so that all answers are reports, which are handled without a result.
            list(self._collect_answers())
            nodes = {slot.node for slot in self._slots}
            ready_nodes = {slot.node for slot in self._slots if slot.is_ready}
            seconds = time.monotonic() - start
            if ready_nodes == nodes or (ready_nodes and seconds > SPREAD):
                break
            if seconds > PATIENCE:
                raise self._no_slot_error()
            self._start_slots()
        self._is_open = True
        node_names = sorted({slot.node_name for slot in self._slots if slot.is_ready})
        log.info("%s slots, so far on %s", len(self._slots), ", ".join(node_names))

    def _start_slots(self) -> None:
        """Start the slots that are missing on the nodes; do nothing within :data:`POLL_SECONDS` of the last poll."""
        if time.monotonic() - self._last_poll < POLL_SECONDS:
            return
        self._last_poll = time.monotonic()
        missing = self._slots_per_node()
        for slot in self._slots:
            missing[slot.node] -= 1
        for node, number in missing.items():
            for _ in range(number):
                self._start_slot(node)

    def _slots_per_node(self) -> Counter[str]:
        """Return the number of slots that each node should have, by the node's id.

        A limit is spread evenly over the nodes. A node that is excluded has none.
        """
        capacity = {}
        for node, description in self._connection.nodes().items():
            if self._excluded_until.get(node, 0) <= time.monotonic():
                resources = description["Resources"]
                slots = resources.get("GPU", 0) if self._gpus else resources.get("CPU", 0) // self._threads
                capacity[node] = int(slots)
        slots_of_node: Counter[str] = Counter()
        remaining = sum(capacity.values()) if self._most is None else self._most
        while remaining > 0 and any(slots_of_node[node] < capacity[node] for node in capacity):
            for node in capacity:
                if remaining > 0 and slots_of_node[node] < capacity[node]:
                    slots_of_node[node] += 1
                    remaining -= 1
        return slots_of_node

    def _start_slot(self, node: str) -> None:
        """Start a slot on a node, and ask it for a report on the node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # A slot with a GPU reserves no CPUs, so that every GPU of a node can be used, however few CPUs it has.
        needs = {"num_cpus": 0, "num_gpus": 1} if self._gpus else {"num_cpus": self._threads}
        strategy = NodeAffinitySchedulingStrategy(node, soft=False)
        placed_class = self._slot_class.options(**needs, scheduling_strategy=strategy, max_restarts=0)
        actor = placed_class.remote(slot_environment(self._threads), offered_environment())
        slot = _Slot(actor, node, node[:6])
        self._slots.append(slot)
        self._register_call(_Call(slot), actor.report_on_node.remote(self._gpus))

    def _register_call(self, call: _Call, reference: Any) -> None:
        self._calls[reference] = call
        call.slot.calls.append(reference)

    def _end_slot(self, slot: _Slot) -> None:
        """Kill a slot and forget its calls."""
        self._slots.remove(slot)
        for reference in slot.calls:
            del self._calls[reference]
        slot.calls.clear()
        self._ray.kill(slot.actor)

    def _handle_report(self, slot: _Slot, report: Mapping[str, Any]) -> None:
        """Mark a slot as ready by its report on the node, or exclude a node that cannot work.

        The name of the node and :attr:`bf16` are taken from the report, too.

        Args:
            slot: the slot.
            report: what :func:`assay.cluster.slot.slot_class`'s ``report_on_node`` returned.

        Raises:
            ClusterError: the node lacks assay or has another version. Once the pool is open, such a node only gets no
                work, and a line says so.
        """
        slot.node_name = f"{report['host']}/{slot.node[:6]}"
        problem = _problem_of_report(report, slot.node_name)
        if not problem:
            slot.is_ready = True
            self.bf16 = self.bf16 and report["bf16"]
            return
        if not self._is_open:
            raise ClusterError(problem)
        self._say(f"{problem}; it gets no work")
        self._excluded_until[slot.node] = float("inf")
        self._end_slot(slot)

    def _no_slot_error(self) -> ClusterError:
        """Return the error that no slot became ready within :data:`PATIENCE` seconds."""
        resource = "a GPU" if self._gpus else f"{self._threads} CPUs"
        return ClusterError(
            f"no node of the cluster had {resource} free for {PATIENCE:.0f} s ({self._describe_nodes()}); what was "
            "scored is kept, and the same command resumes"
        )

    def _describe_nodes(self) -> str:
        """Return the nodes that are alive with their CPUs and GPUs, for messages."""
        descriptions = []
        for node, description in self._connection.nodes().items():
            resources = description["Resources"]
            cpus, gpus = resources.get("CPU", 0), resources.get("GPU", 0)
            descriptions.append(f"{description['NodeManagerHostname']}/{node[:6]}: {cpus:.0f} CPUs, {gpus:.0f} GPUs")
        return "; ".join(descriptions) or "no node is alive"

    # Work.

    def _hand_out(self, source: Iterator[Work]) -> bool:
        """Give work to slots until every slot is full or no work is left; return whether there may be more work.

        Work to retry goes first.
        """
        while True:
            free = [slot for slot in self._slots if slot.is_ready and len(slot.calls) < WORK_PER_SLOT]
            if not free:
                return True
            slot = min(free, key=lambda slot: len(slot.calls))
            work = self._pop_retry(slot) or next(source, None)
            if work is None:
                return False
            self._send_work(slot, work)

    def _pop_retry(self, slot: _Slot) -> Work | None:
        """Remove work that can be retried on a slot, and return it; None if there is none.

        Work whose process ended on the slot's node is kept for another node, unless that happened on all nodes.
        """
        nodes = {slot.node for slot in self._slots if slot.is_ready}
        for work in self._retries:
            if slot.node not in work.deaths or nodes <= set(work.deaths):
                self._retries.remove(work)
                return work
        return None

    def _send_work(self, slot: _Slot, work: Work) -> None:
        job = self._stored_reference(work.job)
        answer = slot.actor.take_step.remote("process", work.job.key, job, work.payload)
        self._register_call(_Call(slot, work), answer)

    def _stored_reference(self, job: SharedJob) -> Any:
        """Return the reference to a job in Ray's store, from which each node fetches it once."""
        if job.key not in self._stored_jobs:
            self._stored_jobs[job.key] = self._ray.put(job.data)
        return self._stored_jobs[job.key]

    def _collect_answers(self) -> Iterator[tuple[int, Any]]:
        """Yield the results that have arrived; waits at most a second for the first answer of a slot.

        Raises:
            ClusterError: a slot cannot report on its node.
        """
        if not self._calls:
            time.sleep(POLL_SECONDS / 4)  # or the caller, which polls for slots, would spin
            return
        references = list(self._calls)
        first, rest = self._ray.wait(references, num_returns=1, timeout=1.0)
        # The second wait returns at once, with what has arrived besides the first one.
        others, _ = self._ray.wait(rest, num_returns=len(rest), timeout=0) if first and rest else ([], [])
        for reference in [*first, *others]:
            # Handling an earlier answer may have ended its slot, which forgets all of the slot's calls.
            if reference in self._calls:
                yield from self._handle_answer(reference)

    def _handle_answer(self, reference: Any) -> Iterator[tuple[int, Any]]:
        """Handle one answer of a slot: yield the result of its work, or record its report, or that it refused files.

        Raises:
            ClusterError: the call for a report failed.
        """
        call = self._calls[reference]
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            answer = False, AssayError(f"{call.slot.node_name}: {summary_of(error.cause or error)}")
        except self._ray.exceptions.RayError as error:
            yield from self._handle_ended_slot(call.slot, error)
            return
        del self._calls[reference]
        call.slot.calls.remove(reference)
        if call.work is not None:
            yield from self._handle_result(call.slot, call.work, *answer)
        elif call.digests:
            has_succeeded, write_error = answer
            if not has_succeeded:
                call.slot.refused |= dict.fromkeys(call.digests, write_error)
        elif isinstance(answer, dict):
            self._handle_report(call.slot, answer)
        else:
            # The call for a report ended with an error, which a slot never returns of its own accord.
            raise ClusterError(str(answer[1]))

    def _handle_result(self, slot: _Slot, work: Work, has_succeeded: bool, result: Any) -> Iterator[tuple[int, Any]]:
        """Yield the result of a piece of work; if the node lacked files, send them and have the work done again.

        The result is a NodeError if the slot was sent such files before and could not write them.
        """
        if isinstance(result, MissingFilesError):
            for digest in result.digests:
                if digest in slot.refused:
                    error = slot.refused[digest]
                    yield work.number, error if isinstance(error, NodeError) else NodeError(str(error))
                    return
            self._send_files(slot, work.job, result.digests)
            self._send_work(slot, work)
            return
        self.done[slot.node_name] += 1
        log.info("%s: %s on %s", work.title, "done" if has_succeeded else "failed", slot.node_name)
        yield work.number, result

    def _send_files(self, slot: _Slot, job: SharedJob, digests: tuple[str, ...]) -> None:
        """Send files of a job to a slot, by their digests; each is put into Ray's store only once for all slots."""
        for digest in digests:
            if digest not in self._parcels:
                log.info("%s is sent to nodes that lack it", job.contents[digest].path)
                self._parcels[digest] = pack_content(job.contents[digest])
        parcels = [self._parcels[digest] for digest in digests]
        self._register_call(_Call(slot, digests=digests), slot.actor.receive_parcels.remote(parcels))

    def _handle_ended_slot(self, slot: _Slot, error: Exception) -> Iterator[tuple[int, Any]]:
        """Yield the results that an ended slot had finished, and queue the rest of its work for other slots.

        Work that has ended too many processes, or lost too many nodes, is given up: its result is a WorkerDiedError.
        The slot is forgotten, and its node may get no work for a while, see :meth:`_exclude_node`.

        Args:
            slot: the slot, whose process ended or whose node went away.
            error: Ray's error for one of its calls.
        """
        # Ray's error is the same for both causes: its text and the list of nodes tell which one it is.
        only_process_ended = "worker process has died" in str(error) and slot.node in self._connection.nodes()
        cause = "its process ended" if only_process_ended else "the node went away"
        self._exclude_node(slot, only_process_ended)
        log.info("%s: %s (%s)", slot.node_name, cause, summary_of(error))
        unfinished = []
        for reference in slot.calls:
            work = self._calls[reference].work
            if work is None:
                continue
            answer = self._answer_before_end(reference)
            if answer is None:
                unfinished.append(work)
            else:
                _, result = answer
                self.done[slot.node_name] += 1
                yield work.number, result
        if unfinished:
            # Only the oldest unfinished work was running and may be the cause; the others were waiting.
            oldest, *waiting = unfinished
            (oldest.deaths if only_process_ended else oldest.lost_nodes).append(slot.node)
            if len(oldest.deaths) >= MOST_DEATHS or len(oldest.lost_nodes) >= MOST_LOST_NODES:
                yield oldest.number, WorkerDiedError(_give_up_reason(oldest, slot.node_name))
            else:
                self.retried.append(f"{oldest.title}: {cause}, {slot.node_name}")
                self._say(f"{oldest.title} is done again: {cause} ({slot.node_name})")
                self._retries.append(oldest)
            self._retries += waiting
        self._end_slot(slot)
        self._last_poll = -POLL_SECONDS

    def _exclude_node(self, slot: _Slot, only_process_ended: bool) -> None:
        """Exclude the node of an ended slot from work if it went away, or if its processes keep ending at the start.

        A node that went away gets no slots for :data:`SUSPECT_SECONDS`. A node of which :data:`MOST_FAILED_STARTS`
        processes ended before they were ready gets none for good, and a line says so.

        Args:
            slot: the slot.
            only_process_ended: whether only the slot's process ended, and not the whole node.
        """
        if not only_process_ended:
            # Ray takes a while to report a dead node; no new slot should start there meanwhile.
            self._excluded_until[slot.node] = time.monotonic() + SUSPECT_SECONDS
        elif not slot.is_ready:
            self._failed_starts[slot.node] += 1
            if self._failed_starts[slot.node] >= MOST_FAILED_STARTS:
                self._say(f"the node {slot.node_name} gets no work: its processes end before they are ready")
                self._excluded_until[slot.node] = float("inf")

    def _answer_before_end(self, reference: Any) -> tuple[bool, Any] | None:
        """Return the answer to a piece of work that a slot sent before it ended; None if the work must be repeated."""
        try:
            # What was sent is in Ray's store by now; for anything else, get fails or times out.
            answer = self._ray.get(reference, timeout=0.1)
        except self._ray.exceptions.RayError:
            return None
        return None if isinstance(answer[1], MissingFilesError) else answer

    def _drop_work(self) -> None:
        """Kill the slots that are still working, and forget the work to retry."""
        for slot in list(self._slots):
            if any(self._calls[reference].work for reference in slot.calls):
                self._end_slot(slot)
                self._last_poll = -POLL_SECONDS
        self._retries.clear()


def _problem_of_report(report: Mapping[str, Any], node_name: str) -> str:
    """Return why the node of a report cannot work, with the remedy; empty if it can."""
    own_version = sys.modules["assay"].__version__
    if report["problem"]:
        problem, remedy = report["problem"], f"install assay {own_version} there, with its extras"
        return f"the node {node_name} cannot work ({problem}); {remedy}"
    if report["assay"] != own_version:
        return f"the node {node_name} has assay {report['assay']}, not {own_version}; install the same version there"
    return ""


def _give_up_reason(work: Work, node_name: str) -> str:
    """Return the reason for giving up a piece of work, for its error message; *node_name* is where it failed last."""
    if work.deaths:
        return f"ended {len(work.deaths)} processes that scored it, the last on {node_name}"
    return f"{len(work.lost_nodes)} nodes went away while they scored it, the last {node_name}"
