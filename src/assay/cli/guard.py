"""Code that every verb shares: errors as one line with an exit code, progress on stderr, tables and data on stdout."""

from __future__ import annotations

import errno
import functools
import io
import logging
import os
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec

import typer
from typer.core import TyperGroup

from assay.common.addresses import public_text
from assay.common.messages import Message, text_with_flags
from assay.common.visible import brief_text, visible_text
from assay.exceptions import AssayError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import Task, TaskID

    from assay.api.values import Tables
    from assay.cli.options import ReportFormat
    from assay.common.progress import Progress

Arguments = ParamSpec("Arguments")
#: Width of tables, in characters, when stdout is not a terminal and ``COLUMNS`` is not set.
WIDTH_WITHOUT_TERMINAL = 100
#: Seconds before the first line of progress, and between lines, when stderr is not a terminal.
SECONDS_TO_FIRST_LINE = 1.0
SECONDS_BETWEEN_LINES = 10.0
#: File system errors that a user can fix: permissions, a full or read-only disk, a file in place of a folder, a name
#: that is too long. Others are defects and keep their traceback.
FIXABLE_ERRNOS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    | {errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
)


#: Environment variable, set by ``assay --traceback``: errors are shown with their traceback.
TRACEBACK = "ASSAY_TRACEBACK"


#: The flags of the verb that runs, by the name of the setting, for settings whose flag is not derived from the name.
_FLAGS: ContextVar[Mapping[str, str]] = ContextVar("flags")


def print_to_stderr(line: str) -> None:
    """Write one line to stderr: without secrets in addresses, control characters escaped, overlong words shortened."""
    typer.echo(brief_text(public_text(text_with_flags(line, _FLAGS.get({})))), err=True)


def report_failures(failures: Sequence[str], notes: Sequence[str] = ()) -> None:
    """Write failures and notes to stderr, and exit with code 1 if there are failures.

    A verb calls this last, since it may not return.

    Raises:
        Exit: there are failures.
    """
    for failure in failures:
        print_to_stderr(Message("assay: ", failure))
    for note in notes:
        print_to_stderr(note)
    if failures:
        raise typer.Exit(1)


def guarded(verb: Callable[Arguments, None], flags: Mapping[str, str] | None = None) -> Callable[Arguments, None]:
    """Return a verb whose expected errors become one line on stderr and an exit code.

    The code is that of an AssayError, 130 for Ctrl-C, and 2 for an error of the file system that the user can fix; a
    reader of stdout that ended first is not an error. Other exceptions pass unchanged.

    Args:
        verb: the function of a command.
        flags: the flag of each setting whose flag is not derived from its name.
    """

    @functools.wraps(verb)
    def run_guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        token = _FLAGS.set(flags or {})
        try:
            verb(*args, **kwargs)
        except AssayError as error:
            if os.environ.get(TRACEBACK):
                typer.echo(public_text(traceback.format_exc()), err=True, nl=False)
            notes = "".join(getattr(error, "__notes__", ()))
            print_to_stderr(Message("assay: ", error.message, notes))
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as stop:
            print_to_stderr(f"assay: stopped; {str(stop) or 'what was scored so far is kept'}")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # the reader of stdout ended first, as in `| head`, which is not an error; with stderr closed, Python cannot
            # report at exit that it failed to flush stdout
            sys.stderr.close()
            raise typer.Exit(0) from None
        except OSError as error:
            _report_if_fixable(error)
            raise typer.Exit(2) from error
        finally:
            _FLAGS.reset(token)

    return run_guarded


def _report_if_fixable(error: OSError) -> None:
    """Report a file system error that the user can fix in one line, and raise any other again.

    This is the fallback for errors that no code closer to the file turned into a better message.
    """
    # raised by tempfile with the code of a missing file, so that only the message tells it
    if "temporary directory" in str(error):
        print_to_stderr(
            "assay: there is no folder for temporary files that can be written; free some space, or set TMPDIR"
        )
        return
    if error.errno not in FIXABLE_ERRNOS:
        raise error
    print_to_stderr(f"assay: {error.filename or 'the output'}: {error.strerror}; fix this, or give another path")


class OneLineErrors(TyperGroup):
    """A group of commands in which usage errors, too, are one line on stderr."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit, with usage errors in one line; without *standalone_mode*, return or raise.

        The arguments are those of :meth:`typer.core.TyperGroup.main`.
        """
        # never in standalone mode, in which typer itself would write the errors, in several lines
        run_command = functools.partial(
            super().main, args, prog_name, complete_var, False, windows_expand_args, **extra
        )
        if not standalone_mode:
            return run_command()
        # a terminal in Latin-1 shows ρ as \u03c1, as it does on stderr; programs that read a file or pipe expect UTF-8,
        # where an escape would change the text, or break JSON
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace", encoding=None if sys.stdout.isatty() else "utf-8")
        try:
            exit_code = run_command()
            sys.stdout.flush()
        except typer.Abort:
            print_to_stderr("assay: stopped")
            sys.exit(130)
        except BrokenPipeError:
            # as in guarded
            sys.stderr.close()
            sys.exit(0)
        except OSError as error:
            _report_if_fixable(error)
            # otherwise Python would flush stdout again at exit, and fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(2)
        except Exception as error:
            # usage errors are known by this method: their class has no public name that all versions of typer share
            message = error.format_message() if hasattr(error, "format_message") else ""
            if not message:
                raise
            _report_usage_error(message, getattr(error, "ctx", None))
            sys.exit(2)
        sys.exit(exit_code if isinstance(exit_code, int) else 0)


def _report_usage_error(message: str, context: Any) -> None:
    """Report a usage error in one line that names the command whose help to read.

    Args:
        message: typer's message; without any arguments it is the whole help text, which is written as it is.
        context: the context of the error in typer, or None.
    """
    if message.startswith("Usage: "):
        typer.echo(message, err=True)
        return
    verb = context.command_path if context is not None else "assay"
    print_to_stderr(f"assay: {message.replace('Value error, ', '').removesuffix('.')} ({verb} --help)")


def _print_renderable(renderable: Any) -> None:
    """Print a Rich renderable to stdout; in a file or pipe it is made wide enough that no word is broken."""
    from rich.measure import Measurement

    stdout_console = console()
    if not stdout_console.is_terminal:
        # measured as if there were space for any table
        wide_options = stdout_console.options.update(max_width=10_000)
        needed_width = Measurement.get(stdout_console, wide_options, renderable).minimum
        stdout_console.width = max(stdout_console.width, needed_width)
    stdout_console.print(renderable)


def print_line(line: str) -> None:
    """Print a line to stdout with control characters escaped; a terminal gets it wrapped, with a hanging indent."""
    line = brief_text(text_with_flags(line, _FLAGS.get({})))
    if sys.stdout.isatty():
        line = textwrap.fill(
            line, console().width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
        )
    typer.echo(line)


def print_data(text: str) -> None:
    """Print text for programs, such as JSON or CSV, to stdout; unchanged, except that a terminal gets escapes."""
    typer.echo(visible_text(text, keep="\n\t") if sys.stdout.isatty() else text, nl=False)


def print_report(report: Tables, output: ReportFormat, *, explain: bool = False) -> None:
    """Print the tables of a run or of a report to stdout.

    Args:
        report: the tables to print.
        output: the output format.
        explain: whether tables are printed with every column and note, method and signatures, as in other formats.
    """
    from assay.reports.formats import format_document
    from assay.reports.sheets import change_lines
    from assay.reports.terminal import TerminalReport

    flags = _FLAGS.get({})
    document = change_lines(report.document, lambda line: text_with_flags(line, flags))
    if output.value == "table":
        console().print(TerminalReport(document, None if explain else "--explain"), crop=False)
    else:
        print_data(format_document(document, output.value))


def print_grid(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table to stdout in which overlong words, such as a command to copy, are wrapped and not cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    from assay.reports.terminal import rich_text

    columns = (Column(heading, overflow="fold") for heading in headings)
    table = Table(*columns, box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    for row in rows:
        table.add_row(*map(rich_text, row))
    _print_renderable(table)


def console() -> Console:
    """Return a Rich console for stdout; without a terminal or ``COLUMNS`` it is :data:`WIDTH_WITHOUT_TERMINAL` wide."""
    from rich.console import Console

    default_console = Console(soft_wrap=False)
    has_width = default_console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return default_console if has_width else Console(width=WIDTH_WITHOUT_TERMINAL)


class _ProgressBars:
    """Progress on a terminal: one bar of Rich, which shows the current step.

    Args:
        bar: the display, already started.
    """

    def __init__(self, bar: Bar) -> None:
        self._progress_bar = bar
        self._task: TaskID | None = None

    def begin(self, what: str, total: int) -> None:
        """Replace the bar of the last step by a bar for this one."""
        if self._task is not None:
            self._progress_bar.remove_task(self._task)
        # Rich expects None for an unknown number of units
        self._task = self._progress_bar.add_task(brief_text(public_text(what)), total=total or None)

    def advance(self, units: int) -> None:
        if self._task is not None:
            self._progress_bar.advance(self._task, units)

    def say(self, line: str) -> None:
        self._progress_bar.console.print(brief_text(public_text(line)), markup=False, highlight=False)


class _ProgressLines:
    """Progress as occasional lines, for a file or pipe: ``chrf on tq, pairs: 320/600, 63/s, 5 s left``.

    The rate is measured from the first units on, since the time to load a model says nothing about the time left.
    """

    def __init__(self) -> None:
        self.begin("", 0)

    def begin(self, what: str, total: int) -> None:
        """Start counting a step anew; its first line is written after :data:`SECONDS_TO_FIRST_LINE` at the earliest."""
        self._work_name, self._total_units, self._done_units = what, total, 0
        # the time of the first report, and the units done by then
        self._first_report: tuple[float, int] | None = None
        self._next_line_time = time.monotonic() + SECONDS_TO_FIRST_LINE

    def advance(self, units: int) -> None:
        """Count units as done, and write a line if the last one is long enough ago."""
        self._done_units += units
        time_now = time.monotonic()
        if self._done_units:
            self._first_report = self._first_report or (time_now, self._done_units)
        # work without a name, such as a short query of the store, is not reported
        if not self._work_name or time_now < self._next_line_time:
            return
        self._next_line_time = time_now + SECONDS_BETWEEN_LINES
        parts = [f"{self._done_units:,}/{self._total_units:,}" if self._total_units else f"{self._done_units:,}"]
        first_time, first_done = self._first_report or (time_now, 0)
        # of the first few units one may be much slower than the rest, such as one that warms up a model: 7 hours left
        if self._done_units - first_done >= max(1, self._total_units / 100) and time_now > first_time:
            rate = (self._done_units - first_done) / (time_now - first_time)
            parts.append(f"{_rate_text(rate)}/s")
            if self._total_units:
                parts.append(f"{_duration_text((self._total_units - self._done_units) / rate)} left")
        print_to_stderr(f"{self._work_name}: {', '.join(parts)}")

    def say(self, line: str) -> None:
        print_to_stderr(line)


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def _duration_text(seconds: float) -> str:
    """Return a duration in a unit that suits its length: ``45 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def progress_on_stderr(quiet: bool) -> Iterator[Progress]:
    """Yield a progress that is shown on stderr: as bars on a terminal, else as lines; a silent one if *quiet*."""
    from assay.common.progress import Silent, reported_here

    with reported_here():
        if quiet:
            yield Silent()
        elif not sys.stderr.isatty() or logging.getLogger("assay").isEnabledFor(logging.INFO):
            # bars and lines of the log would overwrite each other
            yield _ProgressLines()
        else:
            from rich.console import Console

            with _make_progress_bar(Console(stderr=True)) as bar:
                yield _ProgressBars(bar)


def _make_progress_bar(console: Console) -> Bar:
    """Return a progress bar with n/N, rate and time left; only the name of the work is shortened if space is short."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """The units done per second."""

        def render(self, task: Task) -> Text:
            return Text(f"{_rate_text(task.speed)}/s" if task.speed else "")

    name_column = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return Progress(
        # a name such as static:v[/x].txt must not be read as markup
        TextColumn("{task.description}", markup=False, table_column=name_column),
        BarColumn(bar_width=12),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        RateColumn(table_column=Column(no_wrap=True)),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
        expand=True,
    )


class _OneLineFormatter(logging.Formatter):
    """Formats a log record as one line with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        return brief_text(public_text(super().format(record)))


def log_to_stderr() -> None:
    """Send the log of assay from level INFO on to stderr, and no longer to the handlers of the root logger."""
    logger = logging.getLogger("assay")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLineFormatter("%(relativeCreated)7.0f ms  %(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
