"""`skillian chat`: a conversation in the terminal, kept in the session store."""

from __future__ import annotations

import asyncio
import importlib
import shlex
import sys
from contextlib import AsyncExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from skillian.cli.shell import (
    ExitCode,
    SourcesFile,
    explained,
    notes,
    out,
    read_settings,
    require,
    result_object,
    say,
    show_answer,
    show_error,
)
from skillian.display import printable, show_call, show_result

if TYPE_CHECKING:
    from skillian.chat.turns import LocalTurns
    from skillian.settings import Settings
    from skillian.storage import SessionStore, TurnEvent

OWNER = ""
"""The owner of the sessions, the same as in a service without keys."""

_TITLE = 80


def chat(
    session: Annotated[str | None, typer.Option(help="Continue the session with this id.")] = None,
    sources: SourcesFile = None,
) -> None:
    """Talk about the configured sources. The conversation is stored; continue it with --session.

    Ctrl-C cancels an answer. Ctrl-C twice, or Ctrl-D, ends the conversation.
    """
    settings = read_settings(sources=sources)
    with explained(), asyncio.Runner() as runner:
        require("sqlalchemy", "service")
        try:
            conversation = runner.run(_open(settings, session))
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        try:
            code = conversation.run(runner)
        finally:
            runner.run(conversation.resources.aclose())
    raise typer.Exit(code)


class _ChatParts(NamedTuple):
    store: SessionStore
    turns: LocalTurns
    model: str


class _TerminalChat:
    """Reads lines and prints answers.

    Args:
        parts: What answers, and where the conversation is stored.
        resources: Closes the parts.
        session: The id of the session; None until the first line.
    """

    def __init__(self, parts: _ChatParts, resources: AsyncExitStack, session: str | None) -> None:
        self.resources = resources
        self._parts = parts
        self._session = session
        self._was_interrupted = False
        self._has_failed = False

    def run(self, runner: asyncio.Runner) -> ExitCode:
        """Answer each line until there are no more, or until two interruptions in a row."""
        out.print(f"Answered by: {self._parts.model}", style="dim", markup=False)
        code = ExitCode.INTERRUPTED
        with suppress(KeyboardInterrupt):
            code = self._answer_lines(runner)
        if self._has_failed:  # the session may be lost
            return ExitCode.FAILED
        if self._session is not None:
            hint = f"\nContinue with: skillian chat --session {shlex.quote(self._session)}"
            notes.print(hint, style="dim", markup=False, soft_wrap=True)
        return code

    def _answer_lines(self, runner: asyncio.Runner) -> ExitCode:
        while True:
            try:
                line = _read_line()
                if line.strip():
                    self._was_interrupted = False
                    runner.run(self._answer(line))
            except EOFError:
                return ExitCode.OK
            except KeyboardInterrupt:
                if self._was_interrupted:
                    raise
                self._was_interrupted = True
                notes.print("\nInterrupted. Press Ctrl-C again to leave.", style="yellow")

    async def _answer(self, line: str) -> None:
        from skillian.errors import SkillianError

        store, turns, _ = self._parts
        self._has_failed = False
        try:
            if self._session is None:
                title = " ".join(line.split())[:_TITLE]
                self._session = (await store.create(OWNER, title)).id
            async with aclosing(turns.run(self._session, OWNER, line)) as events:
                async for event in events:
                    _show(event)
        except SkillianError as error:  # of the store, which may work again for the next line
            self._has_failed = True
            show_error(error)


async def _open(settings: Settings, session: str | None) -> _TerminalChat:
    """Open the store and the agent.

    Raises:
        SessionNotFound: There is no session with this id.
        UnavailableError: The database of the sessions cannot be used.
    """
    from skillian.chat.answer_check import check_answer
    from skillian.chat.opening import open_agent
    from skillian.chat.turns import LocalTurns, TurnWork
    from skillian.errors import UnavailableError
    from skillian.evaluation.marking import open_verified
    from skillian.storage import StoreUnavailable, open_store

    async with AsyncExitStack() as opening:
        url = settings.database_url.get_secret_value()
        try:
            store = await opening.enter_async_context(open_store(url))
        except StoreUnavailable:
            raise UnavailableError(_unusable(url)) from None
        agent = await opening.enter_async_context(
            open_agent(settings.sources, settings.model, settings.skills)
        )
        if session is not None:
            record = await store.get(OWNER, session)
            say(f"Continuing: {record.title}", "dim", console=out)
        verified = open_verified(settings.questions, settings.sources, agent.skills)
        work = TurnWork(
            agent,
            store,
            check=check_answer,
            verify=None if verified is None else verified.agrees_event,
            turn_seconds=settings.turn_seconds,
        )
        parts = _ChatParts(store, LocalTurns(work), agent.model_name)
        return _TerminalChat(parts, opening.pop_all(), session)


def _unusable(url: str) -> str:
    """The message for a database that cannot hold sessions; the reason is logged."""
    from sqlalchemy import make_url

    place = make_url(url)
    name = place.database if place.host is None else f"{place.database} on {place.host}"
    return (
        f"sessions cannot be kept in {name}, for the reason above; repair or start it, or set"
        " DATABASE_URL to another database, such as sqlite:///chat.db"
    )


def _read_line() -> str:
    """The next line; an incomplete character, which a terminal may send, becomes `?`.

    Raises:
        EOFError: There are no more lines.
    """
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with suppress(ImportError):  # for editing and history, if available
            importlib.import_module("readline")
    return input("\n> " if is_terminal else "").encode(errors="replace").decode()


def _show(event: TurnEvent) -> None:
    data = event.data
    match event.type:
        case "tool_started":
            show_call(out, data["tool"], data["args"])
        case "tool_finished":
            show_result(out, data["tool"], result_object(data["result"]))
        case "answer":
            scopes = data.get("scope", ())
            show_answer(data["content"], data.get("verified"), scopes, data["unverified"])
        case "turn_failed":
            notes.print(printable(data["message"]), style="red", markup=False)
        case _:
            pass
