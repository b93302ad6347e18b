"""Reading along: the events of a session for whoever comes back, or comes from elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from skillian.storage import MAX_EVENTS, SessionStore, TurnEvent

POLL_SECONDS = 0.1
# Of a turn in this process the store tells; only its death does not show by itself.
_LOCAL_POLL_SECONDS = 1.0


async def follow(
    store: SessionStore, session_id: str, owner: str, after: int = 0
) -> AsyncGenerator[TurnEvent, None]:
    """The events with a number above `after`: the stored ones, then new ones as they come.

    Ends when no turn is under way, in whatever process; a turn whose process has died ends when
    its lease does.

    Raises:
        SessionNotFound: the owner has no such session.
    """
    await store.get(owner, session_id)
    while True:
        alarm = store.alarm(session_id)
        progress = await store.progress(session_id, after)
        for event in progress.events:
            after = event.number
            yield event
        if len(progress.events) == MAX_EVENTS:
            continue
        if not progress.is_running:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOCAL_POLL_SECONDS if progress.is_here else POLL_SECONDS):
                await alarm.wait()
