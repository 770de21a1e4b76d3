"""One input of one target: whether it fails and why, a smaller one that fails alike, and where it is kept."""

from __future__ import annotations

import hashlib
import signal
import traceback
from dataclasses import dataclass
from pathlib import Path

from assay.exceptions import AssayError
from tests.fuzz.target import one_line
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
#: Seconds of CPU that one small input may take.
SLOW = 2.0
#: Attempts to make an input smaller.
ATTEMPTS = 300
#: Targets of which this process has read an input.
_READY: set[str] = set()


class TooSlow(BaseException):
    """An input took longer than :data:`SLOW`; no ``Exception``, which a reader might catch."""


@dataclass(frozen=True)
class Failure:
    """Why an input fails; failures of one kind have one cause.

    Attributes:
        kind: the type of what was raised, and where.
        message: of it.
    """

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message[:300]}"


def failure_of(target: str, content: bytes, folder: Path) -> Failure | None:
    """Return why an input fails; None where it is read, or refused in one line by an error of assay's own."""

    def stop(*_: object) -> None:
        raise TooSlow(f"more than {SLOW:g} s")

    # the first input of a process may have to load something
    limit = SLOW if target in _READY else 0
    _READY.add(target)
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        TARGETS[target].check(content, folder)
    except AssayError as error:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        try:
            one_line(error, content)
        except AssertionError as wrong:
            return _failure(wrong, error)
    except (Exception, TooSlow, SystemExit) as error:  # noqa: BLE001  each one is a failure
        return _failure(error, error)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        # not the default: a signal that another thread has not taken yet would end the process
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    return None


def _failure(error: BaseException, raised: BaseException) -> Failure:
    """Return the failure of what was raised, at the last line of assay's own that it passed."""
    frames = traceback.extract_tb(raised.__traceback__)
    own = [frame for frame in frames if "/assay/" in frame.filename] or list(frames)
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "nowhere"
    return Failure(f"{type(error).__name__} at {where}", str(error))


def smaller(target: str, content: bytes, why: Failure, folder: Path) -> bytes:
    """Return an input that fails alike, with pieces left out as long as it does."""
    if why.kind.startswith("TooSlow"):
        return content
    size = len(content) // 2
    attempts = 0
    while size and attempts < ATTEMPTS:
        start = 0
        while start < len(content) and attempts < ATTEMPTS:
            attempts += 1
            less = content[:start] + content[start + size :]
            found = failure_of(target, less, folder)
            if found is not None and found.kind == why.kind:
                content = less
            else:
                start += size
        size //= 2
    return content


def keep(target: str, content: bytes) -> Path:
    """Write an input that failed into the corpus and return its path."""
    path = CORPUS / target.replace(" ", "-") / hashlib.sha256(content).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
