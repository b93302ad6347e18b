"""Another process at a session: `turn_process.py URL SESSION LEASE say COUNT | hang`.

It prints a line when it is at work. `say` runs turns; `hang` stays in a tool of its first turn.
"""

from __future__ import annotations

import asyncio
import sys

from tests.skillian.chat.turn_agents import ToolAgent, echo, hang, local_turns

from skillian.storage import open_store


async def main(url: str, session: str, lease: float, does: str, count: int = 1) -> None:
    async with open_store(url, lease_seconds=lease) as store:
        turns = local_turns(lambda: ToolAgent(hang if does == "hang" else echo), store)
        for number in range(count):
            async for event in turns.run(session, "me", f"{does} {number}"):
                if event.type == "tool_started":
                    sys.stdout.write("at work\n")
                    sys.stdout.flush()


if __name__ == "__main__":
    url, session, lease, does, *count = sys.argv[1:]
    asyncio.run(main(url, session, float(lease), does, *map(int, count)))
