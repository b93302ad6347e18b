"""What all commands share: where they print, and how they end."""

from __future__ import annotations

import importlib.util
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

import tinyagent_commands
from skillian.display import printable

if TYPE_CHECKING:
    from pydantic import ValidationError

    from skillian.settings import Settings

R = TypeVar("R")

out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

SourcesFile = Annotated[
    Path | None, typer.Option("--sources", help="A sources.yaml; default SKILLIAN_SOURCES.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class ExitCode(IntEnum):
    """What the process says to the shell."""

    OK = 0
    FINDINGS = 1
    FAILED = 1
    COULD_NOT = 2
    NOT_UNDERSTOOD = 3
    INTERRUPTED = 130


def run(work: Coroutine[Any, Any, R], interrupted: str = "Interrupted.") -> R:
    """Run it; a mistake of the user ends the process with a sentence, not a traceback."""
    with explained():
        try:
            return tinyagent_commands.run(work)
        except KeyboardInterrupt:
            notes.print(interrupted, style="yellow")
            raise typer.Exit(ExitCode.INTERRUPTED) from None


@contextmanager
def explained() -> Generator[None]:
    """A mistake of the user ends the process with a sentence, not a traceback."""
    from skillian.errors import SkillianError
    from tinyagent import TinyAgentError

    try:
        yield
    except (SkillianError, TinyAgentError) as error:
        show_error(error)
        raise typer.Exit(ExitCode.COULD_NOT) from None


def read_settings(**given: object) -> Settings:
    """The settings of this process; wrong ones end it with a sentence each.

    Args:
        **given: what the command line says; None where it says nothing.
    """
    from pydantic import ValidationError

    from skillian.settings import Settings

    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**named)
    except ValidationError as error:
        for fault in settings_faults(error):
            show_error(fault)
        raise typer.Exit(ExitCode.COULD_NOT) from None


def require(package: str, extra: str) -> None:
    """Check for a package that only some commands need.

    Raises:
        UnavailableError: the package is not installed.
    """
    if importlib.util.find_spec(package) is None:
        from skillian.errors import UnavailableError, how_to_install

        raise UnavailableError(
            f"this needs the package {package!r}, which is not installed; {how_to_install(extra)}"
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
    notes.print(printable(f"error: {error}"), style="red", markup=False, soft_wrap=True)
