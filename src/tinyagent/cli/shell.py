"""What the commands share: exit codes, notes on standard error, `module:name` references."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from rich.console import Console

from tinyagent.core.errors import ConfigurationError

_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}

_BROKEN = (
    *(ImportError, AttributeError, ValueError, TypeError, SyntaxError),
    *(NameError, LookupError, OSError, RuntimeError, ArithmeticError, AssertionError),
)
"""What a module may raise while it is imported."""

notes = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
"""Where commands print everything except their results."""


class ExitStatus(IntEnum):
    """How a command ended."""

    ANSWERED = 0
    FAILED = 1
    BAD_USAGE = 2
    LIMIT_REACHED = 3
    INTERRUPTED = 130


def printable(text: str) -> str:
    """The text without control characters: models and tools may send anything."""
    return text.translate(_CONTROLS)


def print_doubt(doubt: str, origins: Sequence[str]) -> None:
    """Print why a call is asked about, and where its values come from."""
    notes.print(printable(f"  {doubt}"), style="yellow")
    for origin in origins:
        notes.print(printable(f"    {origin}"), style="dim")


def load(reference: str, option: str, example: str) -> Any:
    """Load the object that `module:name` refers to; the working folder is searched too.

    Args:
        reference: The reference.
        option: The option that it was passed to, for the error message.
        example: A valid reference, for the error message.

    Raises:
        ConfigurationError: There is no such object, or its module fails.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        # Last: a file of the working folder must not shadow an installed package.
        sys.path.append(folder)
    module_name, _, name = reference.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except _BROKEN as error:
        raise ConfigurationError(
            f"{option} {reference!r} cannot be loaded ({error}); write module:name, for example"
            f" {example}"
        ) from None
