"""What all commands share: where they print, and how they end."""

import asyncio
from collections.abc import Coroutine
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

import tinyagent
from skillian.display import printable
from skillian.errors import SkillianError

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
    try:
        return asyncio.run(work)
    except (SkillianError, tinyagent.TinyAgentError) as error:
        notes.print(printable(f"Error: {error}"), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(ExitCode.COULD_NOT) from None
    except KeyboardInterrupt:
        notes.print(interrupted, style="yellow")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
