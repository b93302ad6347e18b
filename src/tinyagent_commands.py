"""The entry points of the commands `tinyagent` and `skillian`: errors, exit codes, and Ctrl-C.

This module imports nothing that the interpreter has not loaded already, so that Ctrl-C ends the
process with an exit code instead of a traceback from the first line on.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import FrameType
    from typing import Any, NoReturn, TypeVar

    import typer

    R = TypeVar("R")

BAD_USAGE = 2
_COLLECTED = 200_000, 20, 20
INTERRUPTED = 130
_CANCEL_SECONDS = 2.0

# The packages of the extra `skillian`, which may not be installed.
_EXTRA = {
    *("cachetools", "duckdb", "jinja2", "numpy", "pyarrow", "pydantic_settings"),
    *("python_calamine", "rapidfuzz", "sqlalchemy", "sqlglot", "yaml"),
}


def tinyagent() -> NoReturn:
    """The entry point of the command `tinyagent`."""
    _start("tinyagent.cli")


def skillian() -> NoReturn:
    """The entry point of the command `skillian`."""
    _start("skillian.cli")


def _start(module: str) -> NoReturn:
    code: int | None = None
    try:
        import atexit
        import gc
        import signal
        from importlib import import_module

        atexit.register(lambda: _end_after(code))  # runs last
        # What is loaded stays, and a statement about thousands of columns is a tree of millions of
        # objects, which the collector would otherwise search again and again while it grows.
        gc.set_threshold(*_COLLECTED)
        code = call(import_module(module).app)
        signal.signal(signal.SIGINT, _end_now)  # no traceback while the interpreter ends
    except KeyboardInterrupt:
        _print_error("Interrupted.")
        _end_now()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        from tinyagent.core import missing_extra

        _print_error(f"error: {missing_extra('skillian', 'skillian')}")
        code = BAD_USAGE
    sys.exit(code)


def call(app: typer.Typer, arguments: list[str] | None = None) -> int:
    """Run a command line; an error in it is one message on standard error.

    Args:
        app: The commands.
        arguments: The arguments after the name of the command; default those of this process.

    Returns:
        The exit code.
    """
    import typer

    _open_closed_streams()
    # A model may write characters that the encoding of the terminal does not have.
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    try:
        code = app(arguments, standalone_mode=False)
        sys.stdout.flush()  # at the end of the process an error would be a traceback
    except OSError as error:
        if not _is_about_space(error):
            raise
        _print_error(f"error: {error.strerror}: the output is not complete")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where the rest of it goes
        return BAD_USAGE
    except typer.TyperException as error:
        message = describe(error)
        if message:
            _print_error(message)
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _open_closed_streams() -> None:
    """Open the null device for each standard stream that the caller has closed.

    Otherwise the next file that is opened, such as a database, has its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - `pathlib` is slow


def _is_about_space(error: OSError) -> bool:
    """Whether a disk is full, or a file is larger than a limit."""
    import errno

    return error.errno in {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


def describe(error: typer.TyperException) -> str:
    """The message for an error on the command line, with a hint; empty if the help was shown."""
    context: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return ""  # the help is already on the terminal
    message = _with_suggestion(error, context)
    hint = f"\nSee: {context.command_path} --help" if context is not None else ""
    return f"error: {message}{hint}"


def _with_suggestion(error: typer.TyperException, context: Any) -> str:
    """The message; for an option that does not exist, with the nearest one of any command."""
    option: Any = getattr(error, "option_name", None)
    if option is None or context is None:
        return error.format_message().strip().removeprefix("Invalid value: ")
    from tinyagent.options import Place, suggestion

    root = context.find_root()
    known = _options(context.command)
    places = [
        Place(name, f"{path} {name}")
        for path, command in _commands(root.command, root.info_name)
        if command is not context.command
        for name in _options(command)
    ]
    hint = suggestion(option, known, places)
    return f"there is no option {option} here{f'; {hint}' if hint else ''}"


def _options(command: Any) -> list[str]:
    return [name for each in command.params for name in each.opts if name.startswith("--")]


def _commands(command: Any, path: str) -> list[tuple[str, Any]]:
    """A command and those below it, each with the words that call it."""
    below: dict[str, Any] = getattr(command, "commands", {})
    nested = (_commands(each, f"{path} {name}") for name, each in below.items())
    return [(path, command), *(pair for pairs in nested for pair in pairs)]


def run(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine. Ctrl-C cancels it, and a second Ctrl-C ends the process.

    The second one ends it immediately, but not before two seconds after the first, in which
    statements are cancelled in their databases.

    Raises:
        KeyboardInterrupt: Ctrl-C cancelled it, and it has ended.
    """
    import asyncio

    return asyncio.run(_until_interrupted(work))


async def _until_interrupted(work: Coroutine[Any, Any, R]) -> R:
    import signal
    import threading
    from time import monotonic

    if threading.current_thread() is not threading.main_thread():
        return await work
    cancel = signal.getsignal(signal.SIGINT)  # asyncio's own

    deadline = 0.0

    def pressed_again(*_: object) -> None:
        # The coroutine is being cancelled; who presses again does not wait for long.
        seconds = deadline - monotonic()
        if seconds <= 0:
            _end_now()
        timer = threading.Timer(seconds, _end_now)
        timer.daemon = True
        timer.start()

    def pressed(number: int, frame: FrameType | None) -> None:
        nonlocal deadline
        deadline = monotonic() + _CANCEL_SECONDS
        signal.signal(signal.SIGINT, pressed_again)
        if callable(cancel):
            cancel(number, frame)

    signal.signal(signal.SIGINT, pressed)
    try:
        return await work
    finally:
        handler = signal.getsignal(signal.SIGINT)
        if handler is pressed:
            signal.signal(signal.SIGINT, cancel)
        elif handler is pressed_again:
            signal.signal(signal.SIGINT, _end_now)


def _end_after(code: int | None) -> None:
    """End with this code at once; with None, as the interpreter does after an error.

    It would free each object by itself, which takes a sixth of the time of a short command, and
    has no handlers meanwhile, so that Ctrl-C would change the code.
    """
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if code is not None:
        _end_now(code=code)


def _end_now(*_: object, code: int = INTERRUPTED) -> NoReturn:
    """End without cleaning up: threads that run a statement would end in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, RuntimeError, ValueError):  # closed, or in use by another thread
            continue
    if code == INTERRUPTED and os.isatty(2):
        os.write(2, b"\x1b[?25h")  # show the cursor, which a progress line hides
    os._exit(code)


def _print_error(text: str) -> None:
    printable = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)
    sys.stderr.write(f"{printable}\n")
