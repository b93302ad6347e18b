"""The chat view: a conversation, and the box for the next question."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.chat.direct import direct_call
from skillian.chat.opening import read_vocabulary
from skillian.chat.questions import example_questions
from skillian.chat.turns import follow
from skillian.errors import SkillianError
from skillian.offline.planner import NAME as OFFLINE_PLANNER
from skillian.storage import MAX_EVENTS, SessionNotFound, TurnEvent
from skillian.web.chat.composer import Composer
from skillian.web.chat.sessions import SessionList
from skillian.web.chat.turn import Actions, PendingQuestion, TurnView
from skillian.web.shell.activity import start_task
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit
from tinyagent import Decision

UNWATCHED_SECONDS = 120.0
"""How long an answer continues after its page was closed."""
_RETRY_SECONDS = 2.0
_MAX_TITLE = 80

_SCROLL_TO_NEWEST = "document.querySelector('.turn:last-of-type')?.scrollIntoView({block: 'start'})"


class ChatView:
    """A session on a page, built from its events: those that are stored, then new ones.

    Args:
        visit: The visit.
        session_id: The session; None until the first question.
        sessions: The list of sessions next to the conversation.
    """

    def __init__(self, visit: Visit, session_id: str | None, sessions: SessionList) -> None:
        self._visit = visit
        self._service = visit.service
        self._session_id = session_id
        self._sessions = sessions
        self._last_event = 0
        self._turns: dict[int, TurnView] = {}
        self._running: set[int] = set()
        self._pending: list[PendingQuestion] = []
        self._client = ui.context.client
        self._tasks: set[asyncio.Task[object]] = set()
        self._client.on_delete(self._leave)  # pyright: ignore[reportUnknownMemberType] - Callable
        self._actions = Actions(self.ask, self._edit, self._approve)

    async def build(self) -> None:
        """Show the stored events, and follow new ones.

        Raises:
            SessionNotFound: The session does not exist or belongs to somebody else.
        """
        stored = await self._stored_events()
        Heading("Chat", 1).classes("visually-hidden")
        if self._service.work.agent.model_name == OFFLINE_PLANNER:
            _offline_banner()
        self._welcome = ui.element("div").classes("stack welcome")
        self._transcript = ui.element("div").classes("transcript")
        self._transcript.props('role=log aria-label="Conversation"')
        self._composer = Composer(self.ask, self._stop)
        for event in stored:
            self._show(event)
        if self._turns:
            self._welcome.set_visibility(False)
            self._client.on_connect(self._scroll_to_newest)  # pyright: ignore[reportUnknownMemberType]
            self._turns[max(self._turns)].open_comparison()
            await self._offer_follow_ups()
        else:
            await self._build_welcome()
        if self._session_id is not None:
            self._start(self._watch(), "watch")

    def ask(self, question: str) -> None:
        """Ask a question in this session; the first question starts a session."""
        if question.strip():
            self._welcome.set_visibility(False)
            self._withdraw_follow_ups()
            with self._transcript:
                self._pending.append(PendingQuestion(question.strip()))
            self._scroll_to_newest()
            self._start(self._ask(question.strip()), "ask")

    async def _ask(self, question: str) -> None:
        try:
            self._service.slots.check()  # otherwise a new session would stay empty
            if self._session_id is None:
                await self._start_session(question)
            await self._run(question)
        except (SkillianError, ProblemError) as error:
            self._notify(problem_of(error).detail)
            self._drop_pending(question)
            self._welcome.set_visibility(not self._turns)
            await self._offer_follow_ups()
            if direct_call(question) is None:
                self._composer.set_text(question)

    async def _start_session(self, question: str) -> None:
        title = " ".join(question.split())[:_MAX_TITLE]
        record = await self._service.store.create(self._visit.owner, title)
        self._session_id = record.id
        with self._client:
            ui.navigate.history.replace(self._visit.address(f"/chat/{record.id}"))
        self._start(self._watch(), "watch")
        await self._sessions.refresh(record.id)

    async def _run(self, question: str) -> None:
        """Run a turn until it ends, or until this page has been closed for a while."""
        run = self._service.turns.start(self._session(), self._visit.owner, question)
        with run.read(UNWATCHED_SECONDS):
            await run.first()
            await asyncio.wait([run.task])

    def _stop(self) -> None:
        self._service.turns.cancel(self._session())

    def _edit(self, question: str) -> None:
        self._composer.set_text(question)

    def _approve(self, call_id: str, approved: bool, reason: str) -> None:  # noqa: FBT001 - see Actions
        self._start(self._decide(call_id, Decision(approved, reason)), "approval")

    async def _decide(self, call_id: str, decision: Decision) -> None:
        try:
            await self._service.turns.answer(self._session(), call_id, decision)
        except (SkillianError, ProblemError) as error:
            self._notify(problem_of(error).detail)

    async def _watch(self) -> None:
        """Show all events of the session, also of turns that others start."""
        session = self._session()
        while True:
            alarm = self._service.store.alarm(session)
            try:
                with self._service.turns.read(session, UNWATCHED_SECONDS):
                    events = follow(
                        self._service.store, session, self._visit.owner, self._last_event
                    )
                    async with aclosing(events):
                        async for event in events:
                            self._show(event)
                            if event.type == "turn_ended":
                                await self._offer_follow_ups()
            except SessionNotFound:
                self._notify("This session was deleted.")
                return
            except SkillianError as error:
                self._notify(problem_of(error).detail)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            await alarm.wait()

    def _show(self, event: TurnEvent) -> None:
        self._last_event = event.number
        if event.type == "turn_started":
            self._running.add(event.turn)
            self._withdraw_follow_ups()
            self._drop_pending(str(event.data["message"]))
            with self._transcript:
                view = TurnView(
                    self._service, self._session(), event, self._actions, self._visit.owner
                )
            self._turns[event.turn] = view
            self._scroll_to_newest()
        turn = self._turns.get(event.turn)
        if turn is not None:
            turn.show(event)
        if event.type == "turn_ended":
            self._running.discard(event.turn)
            if turn is not None and self._client.has_socket_connection:
                turn.open_comparison()
        self._composer.set_busy(busy=bool(self._running))

    async def _offer_follow_ups(self) -> None:
        """Offer what the newest result can also show, unless a turn runs or waits."""
        try:
            vocabulary = await read_vocabulary(self._service.data, self._service.skills)
        except SkillianError:
            return  # the sources cannot be read now
        if self._turns and not self._running and not self._pending:
            newest = self._turns[max(self._turns)]
            newest.offer(newest.follow_ups(vocabulary))

    def _withdraw_follow_ups(self) -> None:
        for turn in self._turns.values():
            turn.withdraw()

    def _drop_pending(self, question: str) -> None:
        """Remove the first question with this text that is shown before its turn has begun."""
        for pending in self._pending:
            if pending.question == question:
                self._pending.remove(pending)
                pending.delete()
                return

    async def _stored_events(self) -> list[TurnEvent]:
        if self._session_id is None:
            return []
        store, events = self._service.store, list[TurnEvent]()
        await store.get(self._visit.owner, self._session_id)
        while True:
            page = await store.events(self._session_id, events[-1].number if events else 0)
            events += page
            if len(page) < MAX_EVENTS:
                return events

    async def _build_welcome(self) -> None:
        sources = await self._service.data.catalogue.sources()
        with self._welcome:
            ui.label("What do you want to compare?").classes("welcome-title")
            ui.label("Ask in your own words. All numbers come from your databases, never a model.")
            with ui.element("div").classes("line examples").props('aria-label="Examples"'):
                for question in example_questions(sources):
                    Button(question, partial(self.ask, question))

    def _scroll_to_newest(self) -> None:
        if self._client.has_socket_connection:
            self._client.run_javascript(_SCROLL_TO_NEWEST)

    def _notify(self, error: str) -> None:
        with self._client:
            ui.notify(error, type="negative", position="top", timeout=10_000, close_button="Close")

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = start_task(work, name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _leave(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    def _session(self) -> str:
        if self._session_id is None:
            raise AssertionError("the first question starts the session")
        return self._session_id


def _offline_banner() -> None:
    with ui.element("div").classes("banner small").props("role=note"):
        ui.label("The offline planner answers: rules, not a language model.")
        ui.label("To use a language model, run skillian models, or set SKILLIAN_MODEL.").classes(
            "soft"
        )
