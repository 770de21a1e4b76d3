"""Errors of every verb as one line with an exit code."""

from __future__ import annotations

import errno
import functools
import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

import typer
from typer.core import TyperGroup

from assay.cli.printing import FLAGS, print_to_stderr
from assay.common.addresses import public_text
from assay.common.messages import Message
from assay.exceptions import AssayError

Arguments = ParamSpec("Arguments")
#: File system errors that a user can fix: permissions, a full or read-only disk, a file in place of a folder, a name
#: that is too long. Others are defects and keep their traceback.
FIXABLE_ERRNOS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    | {errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
)
#: Environment variable, set by ``assay --traceback``: errors are shown with their traceback.
TRACEBACK = "ASSAY_TRACEBACK"


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
    """Return a verb whose expected errors become one line on stderr and an exit code, by typer's Exit.

    The code is that of an AssayError, 130 for Ctrl-C, and 2 for an error of the file system that the user can fix; a
    reader of stdout that ended first is not an error. Other exceptions pass unchanged.

    Args:
        verb: the function of a command.
        flags: the flag of each setting whose flag is not derived from its name; None if all are.
    """

    @functools.wraps(verb)
    def run_guarded(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        """Run the verb, and turn its expected errors into one line and an exit code."""
        token = FLAGS.set(flags or {})
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
            FLAGS.reset(token)

    return run_guarded


def _report_if_fixable(error: OSError) -> None:
    """Report a file system error that the user can fix in one line; raise any other again.

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

        The exit code is 2 for a usage error or an error of the file system that the user can fix, 130 for Ctrl-C, and
        else that of the verb.

        The arguments are those of :meth:`typer.core.TyperGroup.main`.
        """
        # never in standalone mode, in which typer itself would write the errors, in several lines
        run_command = functools.partial(
            super().main,
            args,
            prog_name,
            complete_var,
            standalone_mode=False,
            windows_expand_args=windows_expand_args,
            **extra,
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
        context: the context of the error in typer; None before a verb was found.
    """
    if message.startswith("Usage: "):
        typer.echo(message, err=True)
        return
    verb = context.command_path if context is not None else "assay"
    print_to_stderr(f"assay: {message.replace('Value error, ', '').removesuffix('.')} ({verb} --help)")
