"""Slots on the nodes of a cluster, and which of them gets which work: back-pressure, retries, nodes that come and go.

Every slot has at most two pieces of work, one that it does and one that waits, so that the driver holds little whatever
there is to do. What a process had when it ended is done elsewhere. A piece of work whose process ended twice is given
up, since it is probably the cause; that a node went away is not held against what it had.
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
from assay.cluster.files import Content, MissingFilesError, NodeError, pack
from assay.cluster.slot import environment, offered_environment, slot_class
from assay.errors import AssayError, ClusterError, WorkerDiedError, summary_of

log = logging.getLogger(__name__)

#: Pieces of work that a slot has at most.
DEPTH = 2
#: Processes that a piece of work may end, and nodes that may go away while they have it.
MOST_DEATHS, MOST_MOVES = 2, 5
#: Processes of a node that may end before they are ready; the node is then left out.
MOST_FAILED_STARTS = 3
#: Seconds between two looks at the nodes, and in which a node that did not answer gets no work.
POLL, SUSPECT = 2.0, 30.0
#: Seconds to wait for the first slot, or for another one where none is left; and, with one, for those of other nodes.
PATIENCE, SPREAD = 60.0, 15.0
#: Seconds that slots have to report what their work cost.
COST_PATIENCE = 10.0


@dataclass(frozen=True)
class SharedJob:
    """A job as the driver has it; see :class:`assay.cluster.slot.Job`.

    Attributes:
        key: two jobs with the same one are the same.
        data: the job, pickled.
        contents: files that its work reads, by digest; sent to nodes that lack them.
    """

    key: str
    data: bytes
    contents: Mapping[str, Content] = field(default_factory=dict)


@dataclass
class Work:
    """A piece of work.

    Attributes:
        number: comes back with the result.
        job: what does it.
        payload: the job's argument.
        title: for the log.
        deaths, moves: nodes whose process ended during the work, and nodes that went away.
    """

    number: int
    job: SharedJob
    payload: Any
    title: str
    deaths: list[str] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)


@dataclass(eq=False)
class _Slot:
    """A slot as the driver has it.

    Attributes:
        actor: Ray's handle.
        node: id.
        place: name of the node; the id alone until the slot has answered.
        is_ready: whether it has answered.
        calls: what it was asked and has not answered, the oldest first.
        refused: files, by digest, that it could not write, with the error.
    """

    actor: Any
    node: str
    place: str
    is_ready: bool = False
    calls: list[Any] = field(default_factory=list)
    refused: dict[str, Exception] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Call:
    """What a slot was asked: to do a piece of work, to write files (their digests), or, with neither, to look about."""

    slot: _Slot
    work: Work | None = None
    digests: tuple[str, ...] = ()


class Pool:
    """Slots on all nodes; each is a GPU, or a number of CPUs.

    Args:
        connection: to the cluster.
        gpus: whether a slot is a GPU.
        threads: CPUs of a slot, or threads beside a GPU.
        most: slots at most; None for as many as there are.
        say: receives a line on what is tried again, and on nodes that get no work.

    Raises:
        ClusterError: the cluster has no such slot, none is free, or a node has no assay or another version.

    Attributes:
        done: pieces of work done, by node.
        retried: a line for each piece that was tried again.
        bf16: whether every GPU computes in bf16.
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
        self._class = self._ray.remote(slot_class())
        self._slots: list[_Slot] = []
        # by Ray's reference to the answer
        self._calls: dict[Any, _Call] = {}
        self._retries: list[Work] = []
        # what is in Ray's store: jobs by key, files by digest
        self._stored_jobs: dict[str, Any] = {}
        self._parcels: dict[str, Any] = {}
        # nodes that get no work, with the time until when
        self._left_out: dict[str, float] = {}
        self._failed_starts: Counter[str] = Counter()
        self._polled = -POLL
        self._is_open = False
        self.done: Counter[str] = Counter()
        self.retried: list[str] = []
        self.bf16 = gpus
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def map(self, works: Iterable[Work]) -> Generator[tuple[int, Any]]:
        """Yield (number, result or exception) for every piece of work, as they come; works are taken one by one.

        Raises:
            ClusterError: no slot is left.
        """
        source = iter(works)
        last_seen = time.monotonic()
        try:
            while True:
                self._start_slots()
                is_more = self._hand_out(source)
                if not is_more and not self._retries and not any(call.work for call in self._calls.values()):
                    return
                yield from self._answers()
                if any(slot.is_ready for slot in self._slots):
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > PATIENCE:
                    raise self._no_slot()
        finally:
            self._drop_work()

    def cost(self, job: SharedJob) -> list[dict[str, Any]]:
        """Return what each slot reports of the cost of a job; slots that do not answer are left out."""
        ready = [slot for slot in self._slots if slot.is_ready]
        references = [slot.actor.call.remote("cost", job.key, self._stored(job), None) for slot in ready]
        answered, _ = self._ray.wait(references, num_returns=len(references), timeout=COST_PATIENCE)
        costs = []
        for reference in answered:
            try:
                is_well, cost = self._ray.get(reference)
            except self._ray.exceptions.RayError:
                continue
            if is_well:
                costs.append(cost)
        return costs

    def close(self) -> None:
        """End all slots."""
        for slot in list(self._slots):
            self._end(slot)
        self._retries.clear()
        self._stored_jobs.clear()
        self._parcels.clear()

    # Slots.

    def _open(self) -> None:
        """Start slots, and wait for one, and a while for one on every node."""
        self._start_slots()
        if not self._slots:
            what = "no GPU" if self._gpus else f"no node with {self._threads} CPUs"
            raise ClusterError(f"the cluster has {what} to work on ({self._nodes_in_words()})")
        begun = time.monotonic()
        while True:
            list(self._answers())
            ready = {slot.node for slot in self._slots if slot.is_ready}
            seconds = time.monotonic() - begun
            if ready == {slot.node for slot in self._slots} or (ready and seconds > SPREAD):
                break
            if seconds > PATIENCE:
                raise self._no_slot()
            self._start_slots()
        self._is_open = True
        places = sorted({slot.place for slot in self._slots if slot.is_ready})
        log.info("%s slots, so far on %s", len(self._slots), ", ".join(places))

    def _start_slots(self) -> None:
        """Start what is missing of the slots that the nodes have room for; looks at the nodes now and then only."""
        if time.monotonic() - self._polled < POLL:
            return
        self._polled = time.monotonic()
        missing = self._wanted()
        for slot in self._slots:
            missing[slot.node] -= 1
        for node, number in missing.items():
            for _ in range(number):
                self._start(node)

    def _wanted(self) -> Counter[str]:
        """Return how many slots each node should have, as evenly as they allow where there is a limit."""
        room = {}
        for node, description in self._connection.nodes().items():
            if self._left_out.get(node, 0) <= time.monotonic():
                resources = description["Resources"]
                room[node] = int(resources.get("GPU", 0) if self._gpus else resources.get("CPU", 0) // self._threads)
        wanted: Counter[str] = Counter()
        left = sum(room.values()) if self._most is None else self._most
        while left > 0 and any(wanted[node] < room[node] for node in room):
            for node in room:
                if left > 0 and wanted[node] < room[node]:
                    wanted[node] += 1
                    left -= 1
        return wanted

    def _start(self, node: str) -> None:
        """Start a slot on a node, and ask it to look around."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        needs = {"num_cpus": 0, "num_gpus": 1} if self._gpus else {"num_cpus": self._threads}
        there = NodeAffinitySchedulingStrategy(node, soft=False)
        options = self._class.options(**needs, scheduling_strategy=there, max_restarts=0)
        actor = options.remote(environment(self._threads), offered_environment())
        slot = _Slot(actor, node, node[:6])
        self._slots.append(slot)
        self._ask(_Call(slot), actor.look.remote(self._gpus))

    def _ask(self, call: _Call, reference: Any) -> None:
        self._calls[reference] = call
        call.slot.calls.append(reference)

    def _end(self, slot: _Slot) -> None:
        """End a slot, and forget what it was asked."""
        self._slots.remove(slot)
        for reference in slot.calls:
            del self._calls[reference]
        slot.calls.clear()
        self._ray.kill(slot.actor)

    def _looked(self, slot: _Slot, found: Mapping[str, Any]) -> None:
        """Take what a slot found on its node.

        Raises:
            ClusterError: assay is not there, or in another version; of a node that came later the log has it.
        """
        slot.place = f"{found['host']}/{slot.node[:6]}"
        own = sys.modules["assay"].__version__
        problem = ""
        if found["problem"]:
            problem = (
                f"the node {slot.place} cannot work ({found['problem']}); install assay {own} there, with its extras"
            )
        elif found["assay"] != own:
            problem = f"the node {slot.place} has assay {found['assay']}, not {own}; install the same version there"
        if not problem:
            slot.is_ready = True
            self.bf16 = self.bf16 and found["bf16"]
            return
        if not self._is_open:
            raise ClusterError(problem)
        self._say(f"{problem}; it gets no work")
        self._left_out[slot.node] = float("inf")
        self._end(slot)

    def _no_slot(self) -> ClusterError:
        what = "a GPU" if self._gpus else f"{self._threads} CPUs"
        return ClusterError(
            f"no node of the cluster had {what} free for {PATIENCE:.0f} s ({self._nodes_in_words()}); what was scored "
            "is kept, and the same command resumes"
        )

    def _nodes_in_words(self) -> str:
        parts = []
        for node, description in self._connection.nodes().items():
            resources = description["Resources"]
            cpus, gpus = resources.get("CPU", 0), resources.get("GPU", 0)
            parts.append(f"{description['NodeManagerHostname']}/{node[:6]}: {cpus:.0f} CPUs, {gpus:.0f} GPUs")
        return "; ".join(parts) or "no node is alive"

    # Work.

    def _hand_out(self, source: Iterator[Work]) -> bool:
        """Give work to slots with room for it; return whether there may be more."""
        while True:
            free = [slot for slot in self._slots if slot.is_ready and len(slot.calls) < DEPTH]
            if not free:
                return True
            slot = min(free, key=lambda slot: len(slot.calls))
            work = self._retry_for(slot) or next(source, None)
            if work is None:
                return False
            self._send(slot, work)

    def _retry_for(self, slot: _Slot) -> Work | None:
        """Return work to be tried again, which a process on that node did not end with if there are others."""
        nodes = {slot.node for slot in self._slots if slot.is_ready}
        for work in self._retries:
            if slot.node not in work.deaths or nodes <= set(work.deaths):
                self._retries.remove(work)
                return work
        return None

    def _send(self, slot: _Slot, work: Work) -> None:
        call = slot.actor.call.remote("do", work.job.key, self._stored(work.job), work.payload)
        self._ask(_Call(slot, work), call)

    def _stored(self, job: SharedJob) -> Any:
        """Return the reference to a job in Ray's store, from where each node takes it once."""
        if job.key not in self._stored_jobs:
            self._stored_jobs[job.key] = self._ray.put(job.data)
        return self._stored_jobs[job.key]

    def _answers(self) -> Iterator[tuple[int, Any]]:
        """Yield the results that are there; waits a second at most for the first one."""
        if not self._calls:
            time.sleep(POLL / 4)
            return
        references = list(self._calls)
        first, rest = self._ray.wait(references, num_returns=1, timeout=1.0)
        more, _ = self._ray.wait(rest, num_returns=len(rest), timeout=0) if first and rest else ([], [])
        for reference in [*first, *more]:
            # a slot that ended takes its other calls with it
            if reference in self._calls:
                yield from self._answer(reference)

    def _answer(self, reference: Any) -> Iterator[tuple[int, Any]]:
        """Yield the result of a piece of work, where an answer is one."""
        call = self._calls[reference]
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            answer = False, AssayError(f"{call.slot.place}: {summary_of(error.cause or error)}")
        except self._ray.exceptions.RayError as error:
            yield from self._slot_ended(call.slot, error)
            return
        del self._calls[reference]
        call.slot.calls.remove(reference)
        if call.work is not None:
            yield from self._done(call.slot, call.work, *answer)
        elif call.digests:
            is_well, problem = answer
            if not is_well:
                call.slot.refused |= dict.fromkeys(call.digests, problem)
        elif isinstance(answer, dict):
            self._looked(call.slot, answer)
        else:
            raise ClusterError(str(answer[1]))

    def _done(self, slot: _Slot, work: Work, is_well: bool, result: Any) -> Iterator[tuple[int, Any]]:
        """Yield a result; where files were missing, have them sent and the work done again there."""
        if isinstance(result, MissingFilesError):
            for digest in result.digests:
                if digest in slot.refused:
                    error = slot.refused[digest]
                    yield work.number, error if isinstance(error, NodeError) else NodeError(str(error))
                    return
            self._send_files(slot, work.job, result.digests)
            self._send(slot, work)
            return
        self.done[slot.place] += 1
        log.info("%s: %s on %s", work.title, "done" if is_well else "failed", slot.place)
        yield work.number, result

    def _send_files(self, slot: _Slot, job: SharedJob, digests: tuple[str, ...]) -> None:
        for digest in digests:
            if digest not in self._parcels:
                log.info("%s is sent to nodes that lack it", job.contents[digest].path)
                self._parcels[digest] = pack(job.contents[digest])
        parcels = [self._parcels[digest] for digest in digests]
        self._ask(_Call(slot, digests=digests), slot.actor.receive.remote(parcels))

    def _slot_ended(self, slot: _Slot, error: Exception) -> Iterator[tuple[int, Any]]:
        """Yield what a slot that ended had done, and have the rest of its work done elsewhere."""
        is_process = "worker process has died" in str(error) and slot.node in self._connection.nodes()
        if not is_process:
            # Ray takes a while to call a node dead
            self._left_out[slot.node] = time.monotonic() + SUSPECT
        elif not slot.is_ready:
            self._failed_starts[slot.node] += 1
            if self._failed_starts[slot.node] >= MOST_FAILED_STARTS:
                self._say(f"the node {slot.place} gets no work: its processes end before they are ready")
                self._left_out[slot.node] = float("inf")
        what = "its process ended" if is_process else "the node went away"
        log.info("%s: %s (%s)", slot.place, what, summary_of(error))
        is_first = True
        for reference in slot.calls:
            work = self._calls[reference].work
            result = self._result_if_there(reference)
            if work is None or result is not None:
                if work is not None and result is not None:
                    self.done[slot.place] += 1
                    yield work.number, result[1]
                continue
            # it did the oldest one; the others waited
            if is_first:
                (work.deaths if is_process else work.moves).append(slot.node)
                if len(work.deaths) >= MOST_DEATHS or len(work.moves) >= MOST_MOVES:
                    yield work.number, WorkerDiedError(_in_words(work, slot.place))
                    is_first = False
                    continue
                self.retried.append(f"{work.title}: {what}, {slot.place}")
                self._say(f"{work.title} is done again: {what} ({slot.place})")
            is_first = False
            self._retries.append(work)
        self._end(slot)
        self._polled = -POLL

    def _result_if_there(self, reference: Any) -> tuple[bool, Any] | None:
        """Return an answer that a slot gave before it ended; None where there is none, or files were missing."""
        try:
            answer = self._ray.get(reference, timeout=0.1)
        except self._ray.exceptions.RayError:
            return None
        return None if isinstance(answer, dict) or isinstance(answer[1], MissingFilesError) else answer

    def _drop_work(self) -> None:
        """End the slots that still work, and forget what is to be tried again."""
        for slot in list(self._slots):
            if any(self._calls[reference].work for reference in slot.calls):
                self._end(slot)
                self._polled = -POLL
        self._retries.clear()


def _in_words(work: Work, place: str) -> str:
    """Return why a piece of work was given up."""
    if work.deaths:
        return f"ended {len(work.deaths)} processes that scored it, the last on {place}"
    return f"{len(work.moves)} nodes went away while they scored it, the last {place}"
