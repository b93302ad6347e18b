"""Runs blocking functions in threads that never delay the end of the process."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

_T = TypeVar("_T")


async def run_in_thread(fn: Callable[..., _T], /, **kwargs: Any) -> _T:
    """Call `fn(**kwargs)` in a new thread, in the caller's context, and await its result.

    `asyncio.to_thread` is not used because its pool is joined when the loop and the interpreter
    end: one tool that never returns would then hang the program. When the awaiting task is
    cancelled, the thread continues and its result is dropped.

    Raises:
        BaseException: Whatever `fn` raises.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((result, error))

    def work() -> None:
        result: Any = None
        raised: BaseException | None = None
        try:
            result = context.run(fn, **kwargs)
        except BaseException as error:  # noqa: BLE001 - all of it is raised again in the awaiting task
            raised = error
        with suppress(RuntimeError):  # the loop is closed: nothing waits for the result
            loop.call_soon_threadsafe(settle, result, raised)

    threading.Thread(target=work, name="tinyagent-tool", daemon=True).start()
    result, error = await outcome
    if error is not None:
        raise error
    return cast("_T", result)
