"""What all commands share: options, output, and exit codes."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import threading
from collections.abc import Collection, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer
from rich.console import Console

import tinyagent_commands
from skillian.display import printable, show_mark

if TYPE_CHECKING:
    from pydantic import ValidationError

    from skillian.settings import Settings

R = TypeVar("R")

out = Console(highlight=False, emoji=False)
notes = Console(stderr=True, highlight=False, emoji=False)

SourcesFile = Annotated[
    Path | None,
    typer.Option("--sources", help="The sources file; default SKILLIAN_SOURCES or sources.yaml."),
]
SOURCES = Path("sources.yaml")
"""The default of `Settings.sources`."""
IN_QUOTES = '(?:[^"]|"")+'
"""The pattern of a name within double quotes; one in it is written twice."""
_NAME = re.compile(rf'\s*"({IN_QUOTES})"\s*(?:,|\Z)|([^,]*)(?:,|\Z)')
_QUOTED = re.compile(f'"({IN_QUOTES})"')
_PAIR = re.compile("=".join(rf'(?:"(?P<{s}>{IN_QUOTES})"|(?P<plain_{s}>[^="][^=]*))' for s in "ab"))
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    OK = 0
    FINDINGS = 1
    FAILED = 1
    COULD_NOT = 2
    NOT_UNDERSTOOD = 3
    INTERRUPTED = 130


def listed(entries: Iterable[str]) -> tuple[str, ...]:
    """The names of an option such as `--key a,b`; `"a,b"` in quotes is one name."""
    names = (
        quoted.replace('""', '"') or plain.strip()
        for entry in entries
        for quoted, plain in _NAME.findall(entry)
    )
    return tuple(dict.fromkeys(name for name in names if name))


def unquoted(name: str) -> str:
    """A name that may be in double quotes, as in `"a=b"`, without them and blanks around it."""
    stripped = name.strip()
    quoted = _QUOTED.fullmatch(stripped)
    return quoted[1].replace('""', '"') if quoted else stripped


def column_map(entries: Iterable[str]) -> dict[str, str]:
    """The names in b of columns of a, of entries such as `--map a_name=b_name`.

    Raises:
        BadParameter: An entry has another form, or two name the same column of a.
    """
    mapping: dict[str, str] = {}
    for entry in entries:
        pair = _PAIR.fullmatch(entry)
        if pair is None:
            raise typer.BadParameter(
                f'--map {entry!r} is not of the form a_name=b_name; write "a=b"=b_name for a name'
                " with an equals sign"
            )
        a, b = ((pair[side] or "").replace('""', '"') or pair[f"plain_{side}"] for side in "ab")
        if a in mapping:
            raise typer.BadParameter(f"--map names column {a!r} of A twice")
        mapping[a] = b
    return mapping


def refuse(options: Collection[str], reason: str) -> None:
    """Raise `BadParameter` with the reason for these options, if there are any."""
    if options:
        raise typer.BadParameter(f"{', '.join(options)} {reason}")


def check_output(path: Path | None, option: str = "--output") -> None:
    """Refuse immediately what could not be written after a long run; raises `BadParameter`."""
    if path is None:
        return
    reason = ""
    if str(path) == "-":
        reason = "is not the name of a file; without one the result is printed, also by --format"
    elif path.is_dir():
        reason = "is a folder; name a file in it"
    elif not path.parent.is_dir():
        reason = f"cannot be written: there is no folder {path.parent}"
    elif not os.access(path.parent, os.W_OK):
        reason = f"cannot be written: the folder {path.parent} is read-only"
    if reason:
        raise typer.BadParameter(f"{path} {reason}", param_hint=option)


def run(work: Coroutine[Any, Any, R], interrupted: str = "Interrupted.") -> R:
    """Run a coroutine, and exit with a message on an error that the user can fix or Ctrl-C."""
    with explained(), _terminated_as_interrupted():
        try:
            return tinyagent_commands.run(work)
        except KeyboardInterrupt:
            notes.print(interrupted, style="yellow")
            raise typer.Exit(ExitCode.INTERRUPTED) from None


@contextmanager
def _terminated_as_interrupted() -> Generator[None]:
    """Handle SIGTERM as Ctrl-C, which leaves neither a part of a file nor a statement."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)  # it is ignored in a job in the background
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def explained() -> Generator[None]:
    """Exit with a message instead of a traceback on an error that the user can fix."""
    from skillian.errors import SkillianError
    from tinyagent import TinyAgentError

    try:
        yield
    except (SkillianError, TinyAgentError) as error:
        show_error(error)
        raise typer.Exit(ExitCode.COULD_NOT) from None


def read_settings(**options: object) -> Settings:
    """Read the settings; exit with a message for each invalid one.

    Args:
        **options: Options of the command line, which take precedence; None if not given.
    """
    from pydantic import ValidationError

    from skillian.settings import Settings

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        for fault in settings_faults(error):
            show_error(fault)
        raise typer.Exit(ExitCode.COULD_NOT) from None


def sources_file(stated: Path | None) -> Path:
    """The sources file that the command line names, or else the settings."""
    names = (name.upper() for name in os.environ)
    if any(name.startswith("SKILLIAN_") for name in names) or Path(".env").exists():
        return read_settings(sources=stated).sources
    return stated or SOURCES  # nothing is set, and settings are slow to load


def require(package: str, extra: str) -> None:
    """Check for a package that only some commands need.

    Args:
        package: The name of the package in an import.
        extra: The extra of this distribution that installs it.

    Raises:
        UnavailableError: The package is not installed.
    """
    if importlib.util.find_spec(package) is None:
        from skillian.errors import UnavailableError, missing_extra

        raise UnavailableError(missing_extra("this command", extra))


def settings_faults(error: ValidationError) -> list[str]:
    """A message for each invalid setting, without its value, which may be a secret."""
    from skillian.data.declare.definitions import reason_of

    return [
        f"{_variable(str(fault['loc'][0]))}: {reason_of(fault)}"
        for fault in error.errors(include_url=False, include_input=False)
    ]


def _variable(name: str) -> str:
    """The environment variable of a setting."""
    return name if name.isupper() else f"SKILLIAN_{name.upper()}"


def say(text: str, style: str | None = None, console: Console | None = None) -> None:
    """Print a text that may be from data, in the notes or elsewhere."""
    (console or notes).print(printable(text), style=style, markup=False, soft_wrap=True)


def show_error(error: Exception | str) -> None:
    """Print an error message."""
    say(f"error: {error}", "red")


def show_answer(
    content: str,
    verified: bool | None,  # noqa: FBT001 - the four parts of an answer
    scopes: Iterable[Sequence[str]],
    unverified: Sequence[str],
) -> None:
    """Show an answer, its mark, what it covers, and the numbers that are in no result."""
    from skillian.chat.scope import scope_line

    out.print(printable(f"\n{content}"), markup=False)
    show_mark(out, verified)
    for parts in scopes:
        out.print(printable(scope_line(parts)), style="dim", markup=False)
    if unverified:
        note = printable(f"Not in any tool result: {', '.join(unverified)}")
        notes.print(note, style="yellow", markup=False)


def result_object(result: object) -> dict[str, Any]:
    """The result of a tool; a result that is not a JSON object is an error message."""
    if isinstance(result, dict):
        return cast("dict[str, Any]", result)
    return {"error": True, "type": "runtime_error", "message": str(result)}
