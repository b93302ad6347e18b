"""What all commands share: where they print, and how they end."""

import asyncio
import importlib.util
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console

import tinyagent
from skillian.display import printable
from skillian.errors import SkillianError, UnavailableError

R = TypeVar("R")

out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

SourcesFile = Annotated[
    Path | None, typer.Option("--sources", help="A sources.yaml; default SKILLIAN_SOURCES.")
]


class ExitCode(IntEnum):
    """What the process says to the shell."""

    OK = 0
    FINDINGS = 1
    FAILED = 1
    COULD_NOT = 2
    INTERRUPTED = 130


def run(work: Coroutine[Any, Any, R], interrupted: str = "Interrupted.") -> R:
    """Run it; what the user can mend ends the process with a sentence, not a traceback."""
    with explained():
        try:
            return asyncio.run(work)
        except KeyboardInterrupt:
            notes.print(interrupted, style="yellow")
            raise typer.Exit(ExitCode.INTERRUPTED) from None


@contextmanager
def explained() -> Generator[None]:
    """What the user can mend ends the process with a sentence, not a traceback."""
    try:
        yield
    except (SkillianError, tinyagent.TinyAgentError) as error:
        show_error(error)
        raise typer.Exit(ExitCode.COULD_NOT) from None


def require(package: str, extra: str) -> None:
    """Say how to get what a command needs.

    Raises:
        UnavailableError: the package is not installed.
    """
    if importlib.util.find_spec(package) is None:
        raise UnavailableError(
            f"this needs the package {package!r}; install it with:"
            f" pip install 'tinyagent-skillian[{extra}]'"
        )


def settings_faults(error: ValidationError) -> list[str]:
    """What is wrong with which setting; no value is repeated, for it may be a secret."""
    return [
        f"{_variable(str(fault['loc'][0]))}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _variable(name: str) -> str:
    """The environment variable of a setting."""
    return name if name.isupper() else f"SKILLIAN_{name.upper()}"


def show_error(error: Exception | str) -> None:
    """The sentence of an error."""
    notes.print(printable(f"Error: {error}"), style="red", markup=False, soft_wrap=True)
