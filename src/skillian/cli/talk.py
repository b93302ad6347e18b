"""The conversation of `skillian chat`: its lines, its answers, its interruptions."""

from __future__ import annotations

import asyncio
import importlib
import sys
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Any, NamedTuple

from skillian.chat.answer_check import check_answer
from skillian.chat.opening import open_agent
from skillian.chat.turns import LocalTurns, TurnWork
from skillian.cli.shell import ExitCode, notes, out, show_error
from skillian.display import printable, show_call, show_result
from skillian.errors import SkillianError
from skillian.settings import Settings
from skillian.storage import SessionStore, TurnEvent, open_store

OWNER = ""
"""Whose the sessions are: of the service without keys, too."""

_TITLE = 80


class Parts(NamedTuple):
    """What a conversation needs while it is open."""

    store: SessionStore
    turns: LocalTurns
    model: str


class Talk:
    """The conversation: lines in, answers out.

    Args:
        parts: what answers, and where it is kept.
        opened: closes them.
        session: its id; None until the first line is said.
    """

    def __init__(self, parts: Parts, opened: AsyncExitStack, session: str | None) -> None:
        self.opened = opened
        self._parts = parts
        self._session = session
        self._is_leaving = False

    def go_on(self, runner: asyncio.Runner) -> ExitCode:
        """Answer line after line, until there are no more, or two interruptions on end."""
        out.print(f"Answered by: {self._parts.model}", style="dim", markup=False)
        code = ExitCode.INTERRUPTED
        with suppress(KeyboardInterrupt):
            code = self._lines(runner)
        if self._session is not None:
            told = f"\nGo on with: skillian chat --session {self._session}"
            notes.print(told, style="dim", markup=False, soft_wrap=True)
        return code

    def _lines(self, runner: asyncio.Runner) -> ExitCode:
        while True:
            try:
                line = _read_line()
                if line.strip():
                    self._is_leaving = False
                    runner.run(self._answer(line))
            except EOFError:
                return ExitCode.OK
            except KeyboardInterrupt:
                if self._is_leaving:
                    raise
                self._is_leaving = True
                notes.print("\nInterrupted. Ctrl-C again leaves.", style="yellow")

    async def _answer(self, line: str) -> None:
        store, turns, _ = self._parts
        try:
            if self._session is None:
                title = " ".join(line.split())[:_TITLE]
                self._session = (await store.create(OWNER, title)).id
            async with aclosing(turns.run(self._session, OWNER, line)) as events:
                async for event in events:
                    _show(event)
        except SkillianError as error:  # the store's: perhaps it works again for the next line
            show_error(error)


async def open_talk(settings: Settings, session: str | None) -> Talk:
    """The store and what answers, opened.

    Args:
        settings: name them.
        session: to go on with.

    Raises:
        SessionNotFound: there is no such session.
    """
    async with AsyncExitStack() as opening:
        url = settings.database_url.get_secret_value()
        store = await opening.enter_async_context(open_store(url))
        agent = await opening.enter_async_context(
            open_agent(settings.sources, settings.model, settings.skills)
        )
        if session is not None:
            record = await store.get(OWNER, session)
            told = printable(f"Going on with: {record.title}")
            out.print(told, style="dim", markup=False, soft_wrap=True)
        work = TurnWork(
            lambda: agent, store, check=check_answer, turn_seconds=settings.turn_seconds
        )
        parts = Parts(store, LocalTurns(work), agent.model_name)
        return Talk(parts, opening.pop_all(), session)


def _read_line() -> str:
    """The next line; half a character, which a terminal may send, becomes a question mark.

    Raises:
        EOFError: there are no more.
    """
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with suppress(ImportError):  # editing and history, where it is there
            importlib.import_module("readline")
    return input("\n> " if is_terminal else "").encode(errors="replace").decode()


def _show(event: TurnEvent) -> None:
    data = event.data
    match event.type:
        case "tool_started":
            show_call(out, data["tool"], data["args"])
        case "tool_finished":
            show_result(out, data["tool"], _as_result(data["result"]))
        case "answer":
            out.print(printable(f"\n{data['content']}"), markup=False)
            if data["unverified"]:
                told = ", ".join(data["unverified"])
                notes.print(
                    printable(f"In no result of a tool: {told}"), style="yellow", markup=False
                )
        case "turn_failed":
            notes.print(printable(data["message"]), style="red", markup=False)
        case _:
            pass


def _as_result(result: Any) -> dict[str, Any]:
    """A tool's result; a text that is no JSON object is an error in words."""
    if isinstance(result, dict):
        return result  # pyright: ignore[reportUnknownVariableType] - JSON
    return {"error": True, "type": "runtime_error", "message": str(result)}
