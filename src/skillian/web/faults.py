"""What went wrong, told to the reader."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.display import printable
from skillian.errors import ToolError


@contextmanager
def telling() -> Generator[None]:
    """Do the block; where it cannot be done, its rest is left out and the reader told why.

    The words hold no path and no connection string.
    """
    try:
        yield
    except (ToolError, ProblemError) as error:
        tell(str(error))


def tell(fault: str) -> None:
    """Show a fault at the foot of the page until it is closed."""
    ui.notify(printable(fault), type="negative", timeout=0, close_button="Close", multi_line=True)
