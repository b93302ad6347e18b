"""Work of a page that goes on beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from nicegui import background_tasks, ui


def start(
    work: Coroutine[Any, Any, None], name: str, slot: ui.element | None = None
) -> asyncio.Task[None]:
    """Start it; what it raises is logged.

    Args:
        work: what is to be done.
        name: of the task.
        slot: what it builds stands in here.
    """
    create = cast("Callable[..., Any]", background_tasks.create)  # pyright: ignore[reportUnknownMemberType]
    return cast("asyncio.Task[None]", create(work, name=name, context=slot))
