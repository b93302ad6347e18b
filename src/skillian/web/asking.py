"""Work that a page asks for: counted among what the server does at once, its faults told."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.errors import ToolError


@contextmanager
def asking(service: Service) -> Generator[None]:
    """Do the block's work; where it cannot be done, the rest of the block is left out.

    The reader is told why, in words that hold no path and no connection string.
    """
    try:
        with service.slots.taken():
            yield
    except (ToolError, ProblemError) as error:
        tell(str(error))


def tell(fault: str) -> None:
    """Show a fault at the foot of the page until it is closed."""
    ui.notify(fault, type="negative", timeout=0, close_button="Close", multi_line=True)
