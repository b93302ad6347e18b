"""The conversation: what was said, what is being said, and the box to say more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.chat.examples import example_questions
from skillian.chat.turns import follow
from skillian.errors import SkillianError
from skillian.storage import MAX_EVENTS, SessionNotFound, TurnEvent
from skillian.web.composer import Composer
from skillian.web.frame import Visit
from skillian.web.heading import Heading
from skillian.web.sessions import Sessions
from skillian.web.turn import Actions, TurnView
from skillian.web.work import start
from tinyagent import Decision

UNWATCHED_SECONDS = 120.0
"""How long an answer goes on while its page is not open."""
_AGAIN_SECONDS = 2.0
_MAX_TITLE = 80

_TO_NEWEST = "document.querySelector('.turn:last-of-type')?.scrollIntoView({block: 'start'})"


class Chat:
    """A session on a page; built from its events, stored or as they come.

    Args:
        visit: who looks.
        session_id: None until the first question.
        sessions: the list of sessions beside it.
    """

    def __init__(self, visit: Visit, session_id: str | None, sessions: Sessions) -> None:
        self._visit = visit
        self._service = visit.service
        self._session_id = session_id
        self._sessions = sessions
        self._number = 0
        self._turns: dict[int, TurnView] = {}
        self._running: set[int] = set()
        self._client = ui.context.client
        self._tasks: set[asyncio.Task[None]] = set()
        self._client.on_delete(self._leave)  # pyright: ignore[reportUnknownMemberType] - Callable
        self._actions = Actions(self.ask, self._edit, self._answer)

    async def build(self) -> None:
        """Show what there is, and read along from then on.

        Raises:
            SessionNotFound: it is nobody's, or another's.
        """
        stored = await self._stored()
        Heading("Chat", 1).classes("visually-hidden")
        if self._service.settings.model is None:
            _offline_banner()
        self._welcome = ui.element("div").classes("stack welcome")
        self._transcript = ui.element("div").classes("transcript")
        self._transcript.props('role=log aria-label="Conversation"')
        self._composer = Composer(self.ask, self._stop)
        for event in stored:
            self._show(event)
        if self._turns:
            self._welcome.set_visibility(False)
            self._client.on_connect(self._to_newest)  # pyright: ignore[reportUnknownMemberType]
            self._turns[max(self._turns)].open_comparison()
        else:
            await self._build_welcome()
        if self._session_id is not None:
            self._start_watching()

    def ask(self, question: str) -> None:
        """Ask a question in this session, or in a new one."""
        if question.strip():
            self._work(self._ask(question.strip()), "ask")

    async def _ask(self, question: str) -> None:
        try:
            self._service.slots.check()  # else the session would stay empty
            if self._session_id is None:
                await self._begin(question)
            await self._run(question)
        except (SkillianError, ProblemError) as error:
            self._tell(problem_of(error).detail)
            self._composer.set_text(question)

    async def _begin(self, question: str) -> None:
        title = " ".join(question.split())[:_MAX_TITLE]
        record = await self._service.store.create(self._visit.owner, title)
        self._session_id = record.id
        self._welcome.set_visibility(False)
        with self._client:
            ui.navigate.history.replace(self._visit.address(f"/chat/{record.id}"))
        self._start_watching()
        await self._sessions.refresh(record.id)

    async def _run(self, question: str) -> None:
        """Run a turn as long as this page is open, and a while longer."""
        session = self._known()
        run = self._service.turns.start(session, self._visit.owner, question)
        with run.read(UNWATCHED_SECONDS):
            await run.first()
            await asyncio.wait([run.task])

    def _stop(self) -> None:
        self._service.turns.cancel(self._known())

    def _edit(self, question: str) -> None:
        self._composer.set_text(question)

    def _answer(self, call_id: str, approved: bool, reason: str) -> None:  # noqa: FBT001 - as told
        self._work(self._decide(call_id, Decision(approved, reason)), "approval")

    async def _decide(self, call_id: str, decision: Decision) -> None:
        try:
            await self._service.turns.answer(self._known(), call_id, decision)
        except (SkillianError, ProblemError) as error:
            self._tell(problem_of(error).detail)

    async def _watch(self) -> None:
        """Show all that happens in the session, by whomever it is asked."""
        session = self._known()
        while True:
            alarm = self._service.store.alarm(session)
            try:
                with self._service.turns.read(session, UNWATCHED_SECONDS):
                    events = follow(self._service.store, session, self._visit.owner, self._number)
                    async with aclosing(events):
                        async for event in events:
                            self._show(event)
            except SessionNotFound:
                self._tell("This session has been deleted.")
                return
            except SkillianError as error:
                self._tell(problem_of(error).detail)
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            await alarm.wait()

    def _show(self, event: TurnEvent) -> None:
        self._number = event.number
        if event.type == "turn_started":
            self._running.add(event.turn)
            with self._transcript:
                view = TurnView(self._service, self._known(), event, self._actions)
            self._turns[event.turn] = view
            self._to_newest()
        shown = self._turns.get(event.turn)
        if shown is not None:
            shown.show(event)
        if event.type == "turn_ended":
            self._running.discard(event.turn)
            if shown is not None and self._client.has_socket_connection:
                shown.open_comparison()
        self._composer.set_busy(busy=bool(self._running))

    async def _stored(self) -> list[TurnEvent]:
        if self._session_id is None:
            return []
        store, found = self._service.store, list[TurnEvent]()
        await store.get(self._visit.owner, self._session_id)
        while True:
            page = await store.events(self._session_id, found[-1].number if found else 0)
            found += page
            if len(page) < MAX_EVENTS:
                return found

    async def _build_welcome(self) -> None:
        sources = await self._service.data.catalogue.sources()
        with self._welcome:
            ui.label("What should be compared?").classes("welcome-title")
            ui.label("Ask in words. Every number comes from the databases, none from a model.")
            with ui.element("div").classes("line examples").props('aria-label="Examples"'):
                for question in example_questions(sources):
                    example = ui.button(question).props("outline no-caps")
                    example.on_click(lambda _, asked=question: self.ask(asked))

    def _start_watching(self) -> None:
        self._work(self._watch(), "watch")

    def _to_newest(self) -> None:
        if self._client.has_socket_connection:
            self._client.run_javascript(_TO_NEWEST)

    def _tell(self, fault: str) -> None:
        with self._client:
            ui.notify(fault, type="negative", position="top", timeout=10_000, close_button="Close")

    def _work(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = start(work, name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _leave(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    def _known(self) -> str:
        if self._session_id is None:
            raise AssertionError("a session begins with its first question")
        return self._session_id


def _offline_banner() -> None:
    with ui.element("div").classes("banner small").props("role=note"):
        ui.label("Answers come from the offline planner: rules, no language model.")
        ui.label("SKILLIAN_MODEL names a model.").classes("soft")
