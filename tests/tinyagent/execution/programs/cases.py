"""What an ordinary program is: steps of code that must do here what they do in plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import Any


@dataclass(frozen=True, slots=True)
class Program:
    """Steps of ordinary code.

    Args:
        name: unique.
        steps: source code.
        imports: the modules that the steps import, top names only.
        local: whether it imports only what the list of LOCAL has.
        tools: the names of the tools it calls (`tools.py`).
        files: what it leaves in the working folder that must come back.
        figures: how many open figures must come back as images.
        fails: whether its last step ends with an error that nobody catches.
    """

    name: str
    steps: tuple[str, ...]
    imports: frozenset[str] = frozenset()
    local: bool = False
    tools: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    figures: int = 0
    fails: bool = False


def program(name: str, *steps: str, **options: Any) -> Program:
    """A program; its steps may be indented, and sets of names are given as words."""
    words = {key: frozenset(value.split()) for key, value in options.items() if type(value) is str}
    return Program(name, tuple(dedent(step).strip("\n") for step in steps), **{**options, **words})
