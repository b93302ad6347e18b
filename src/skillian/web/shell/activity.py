"""What a view does over time: tasks in the background, a spinner while they run, their errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, cast

from nicegui import background_tasks, ui

from skillian.api.problems import ProblemError
from skillian.display import printable
from skillian.errors import ToolError


def start_task(
    work: Coroutine[Any, Any, object], name: str, slot: ui.element | None = None
) -> asyncio.Task[object]:
    """Start a background task. An exception that it raises is logged.

    Args:
        work: The coroutine to run.
        name: The name of the task.
        slot: The element in which the task builds its elements.
    """
    create = cast("Callable[..., Any]", background_tasks.create)  # pyright: ignore[reportUnknownMemberType]
    return cast("asyncio.Task[object]", create(work, name=name, context=slot))


def loading(text: str) -> ui.element:
    """Show a spinner and a text until the returned element is deleted."""
    with ui.element("div").classes("line").props("role=status") as row:
        ui.spinner()
        ui.label(text)
    return row


@contextmanager
def reporting_errors() -> Generator[None]:
    """Run the block. If it raises an error that the reader may see, show the error instead.

    The messages of these errors hold no path and no connection string.
    """
    try:
        yield
    except (ToolError, ProblemError) as error:
        show_error(str(error))


def show_error(message: str) -> None:
    """Show an error at the bottom of the page until the reader closes it."""
    ui.notify(printable(message), type="negative", timeout=0, close_button="Close", multi_line=True)
