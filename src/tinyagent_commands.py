"""The commands `tinyagent` and `skillian`: how they start, how they end, and Ctrl-C at any time.

On import nothing is loaded that the interpreter has not loaded already: from the first line on, an
interruption is answered by an exit code instead of a traceback.
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
INTERRUPTED = 130

# What skillian imports of the extra of its name, which may not be installed.
_EXTRA = {
    *("cachetools", "duckdb", "jinja2", "pyarrow", "pydantic_settings", "python_calamine"),
    *("rapidfuzz", "sqlglot", "yaml"),
}


def tinyagent() -> NoReturn:
    """The entry point of the command `tinyagent`."""
    _start("tinyagent.cli")


def skillian() -> NoReturn:
    """The entry point of the command `skillian`."""
    _start("skillian.cli")


def _start(module: str) -> NoReturn:
    try:
        import signal
        from importlib import import_module

        code = call(import_module(module).app)
        signal.signal(signal.SIGINT, _end_now)  # no traceback while the interpreter ends
    except KeyboardInterrupt:
        _tell("Interrupted.")
        _end_now()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        _tell(
            f"error: skillian needs the package {error.name!r}, which is not installed; in the"
            " folder of the clone, run: pip install '.[skillian]'"
        )
        code = BAD_USAGE
    sys.exit(code)


def call(app: typer.Typer, arguments: list[str] | None = None) -> int:
    """Run a command line; what is wrong with it is one sentence on standard error.

    Args:
        app: the commands.
        arguments: what follows the command's name; without them those of this process.

    Returns:
        The exit code.
    """
    import typer

    # A model may write what no encoding can say.
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    try:
        code = app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        told = describe(error)
        if told:
            _tell(told)
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def describe(error: typer.TyperException) -> str:
    """The sentence for a mistake on the command line, and where to read more; empty for help."""
    message = error.format_message().strip().removeprefix("Invalid value: ")
    context: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return ""  # the help was shown
    hint = f"\nRead: {context.command_path} --help" if context is not None else ""
    return f"error: {message}{hint}"


def run(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine: Ctrl-C cancels it, and a second Ctrl-C ends the process at once.

    Raises:
        KeyboardInterrupt: it was cancelled that way, and has ended.
    """
    import asyncio

    return asyncio.run(_until_interrupted(work))


async def _until_interrupted(work: Coroutine[Any, Any, R]) -> R:
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        return await work
    cancel = signal.getsignal(signal.SIGINT)  # asyncio's own

    def pressed(number: int, frame: FrameType | None) -> None:
        # What runs is being closed; whoever presses again does not wait for that.
        signal.signal(signal.SIGINT, _end_now)
        if callable(cancel):
            cancel(number, frame)

    signal.signal(signal.SIGINT, pressed)
    try:
        return await work
    finally:
        if signal.getsignal(signal.SIGINT) is pressed:
            signal.signal(signal.SIGINT, cancel)


def _end_now(*_: object) -> NoReturn:
    """End without unwinding: threads of a statement may go on, and would end in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, RuntimeError, ValueError):  # nobody reads it, or it is just being written
            continue
    if os.isatty(2):
        os.write(2, b"\x1b[?25h")  # a progress line hides the cursor
    os._exit(INTERRUPTED)


def _tell(text: str) -> None:
    printable = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)
    sys.stderr.write(f"{printable}\n")
