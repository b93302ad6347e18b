"""One sandbox for each session; idle ones are closed, busy ones never."""

from __future__ import annotations

import asyncio

import pytest

from skillian.bundled.sandboxes import Sandboxes
from skillian.errors import UnavailableError


async def run(pool: Sandboxes, session: str, code: str) -> object:
    async with pool.use(session) as sandbox:
        result = await sandbox.executor.run(code)
    return result.error or result.value


async def test_variables_live_within_their_session() -> None:
    pool = Sandboxes()
    await run(pool, "one", "x = 1")
    assert await run(pool, "one", "x + 1") == 2
    assert "NameError" in str(await run(pool, "two", "x"))
    pool.close()
    assert "NameError" in str(await run(pool, "one", "x"))
    pool.close()


async def test_a_call_without_a_session_has_its_own_sandbox() -> None:
    pool = Sandboxes()
    await run(pool, "", "x = 1")
    assert "NameError" in str(await run(pool, "", "x"))
    assert pool._open == {}


async def test_the_sandbox_idle_the_longest_is_closed_for_a_new_one() -> None:
    pool = Sandboxes(most_open=2)
    for session in ("one", "two", "one", "three"):
        await run(pool, session, "x = 1")
    assert set(pool._open) == {"one", "three"}
    pool.close()


class Watched(Sandboxes):
    """Records what it closes."""

    def __init__(self, idle_seconds: float) -> None:
        super().__init__(idle_seconds=idle_seconds)
        self.closed: asyncio.Queue[str] = asyncio.Queue()

    def _close(self, name: str) -> None:
        super()._close(name)
        self.closed.put_nowait(name)


async def test_an_idle_sandbox_is_closed_and_a_busy_one_is_not() -> None:
    pool = Watched(idle_seconds=0.01)
    await run(pool, "busy", "x = 1")
    async with pool.use("busy") as busy:
        await run(pool, "one", "x = 1")
        assert await asyncio.wait_for(pool.closed.get(), 60) == "one"
        assert (await busy.executor.run("x")).value == 1
    assert await asyncio.wait_for(pool.closed.get(), 60) == "busy"


async def test_a_busy_sandbox_is_never_closed_for_another() -> None:
    pool = Sandboxes(most_open=1)
    async with pool.use("one"):
        with pytest.raises(UnavailableError, match="too many sandboxes"):
            async with pool.use("two"):
                pass
    await run(pool, "two", "1")
    pool.close()


async def test_calls_of_one_session_take_turns() -> None:
    pool = Sandboxes()
    await run(pool, "one", "done = []")
    await asyncio.gather(*(run(pool, "one", f"done.append({at})") for at in range(5)))
    assert await run(pool, "one", "sorted(done)") == [0, 1, 2, 3, 4]
    pool.close()
