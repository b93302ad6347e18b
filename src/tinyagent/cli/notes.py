"""What the commands print beside their results."""

from __future__ import annotations

from rich.console import Console

_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}

notes = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def printable(text: str) -> str:
    """The text without what would steer a terminal: models and tools may send anything."""
    return text.translate(_CONTROLS)
