from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from nicegui import ui
from tests.skillian.api.models import HeldModel
from tests.skillian.web.views import sees, viewed
from tests.skillian.web.visits import answer_with, ask, chat_view
from tests.support.waits import soon

from skillian.api.service import Service
from skillian.chat.questions import MOST
from tinyagent import scripted_call

QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"


async def test_the_first_question_starts_a_session(service: Service) -> None:
    async with viewed(lambda: chat_view(service)) as user:
        await sees(user, "What do you want to compare?")
        await sees(user, "Compare amount between fi_reporting and bpc_reporting by company")
        await sees(user, "The offline planner answers: rules, not a language model.")
        ask(user, QUESTION)
        await sees(user, "compare_sources")
        await sees(user, "7 of 12 groups match")
        await sees(user, "Close the comparison")
        await sees(user, "Ask again")
        await sees(user, "Only period 2024004, by account")
        user.find("By account").click()
        await sees(user, "0 of 5 groups match")
        await sees(user, "Only account ")
        assert len(user.find("follow-up").elements) == MOST
        await user.should_not_see("Only period 2024004, by account")
    [session] = await service.store.list("")
    assert session.title == QUESTION[:80]
    assert len(await service.store.messages(session.id)) == 8
    async with viewed(lambda: chat_view(service, session.id)) as user:
        await sees(user, "Only account ")
        assert len(user.find("follow-up").elements) == MOST


async def test_a_stored_conversation_is_shown(service: Service) -> None:
    session = (await service.store.create("")).id
    run = service.turns.start(session, "", "Which sources are there?")
    await run.first()
    await asyncio.wait([run.task])
    async with viewed(lambda: chat_view(service, session)) as user:
        await sees(user, "Which sources are there?")
        await sees(user, "list_sources")
        await sees(user, "bpc_reporting")
        await user.should_not_see("What do you want to compare?")
        await user.should_not_see("Working on it …")


async def test_turns_that_others_start_are_shown(service: Service) -> None:
    session = (await service.store.create("")).id
    async with viewed(lambda: chat_view(service, session)) as user:
        run = service.turns.start(session, "", "Which sources are there?")
        with run.read(60):
            await sees(user, "Which sources are there?")
            await sees(user, "Ask again")
        user.find("Ask again").click()
        await soon(lambda: len(user.find(content="Ask again").elements) == 2)
    assert len(await service.store.messages(session)) == 8


async def test_a_question_is_edited_and_asked_again(service: Service) -> None:
    answer_with(service, "First.", "Second.")
    async with viewed(lambda: chat_view(service)) as user:
        ask(user, "One")
        await sees(user, "First.")
        [edit] = [
            button for button in user.find(ui.button).elements
            if button.props.get("aria-label") == "Edit"
        ]  # fmt: skip
        with user:
            for listener in edit._event_listeners.values():
                edit._handle_event({"listener_id": listener.id, "args": {}})
        [box] = user.find(ui.textarea).elements
        assert box.value == "One"
        ask(user, "Two")
        await sees(user, "Second.")


async def test_an_answer_is_stopped(service: Service) -> None:
    model = HeldModel()
    answer_with(service, model=model)
    async with viewed(lambda: chat_view(service)) as user:
        ask(user, "Go")
        await sees(user, "Wait")
        user.find("Stop").click()
        await sees(user, "This turn was cancelled before it had an answer.")
        await sees(user, "Ask again")
        await user.should_not_see("Working on it …")
        await sees(user, "Wait")
    assert model.cancelled.is_set()


@pytest.mark.parametrize(("button", "decision"), [("Approve", "Approved"), ("Deny", "Denied")])
async def test_a_call_is_approved_or_denied(service: Service, button: str, decision: str) -> None:
    script = (scripted_call("post", text="x"), "Done.")
    answer_with(service, *script, approvals=cast("Any", service.turns)._turns._work.approvals)
    async with viewed(lambda: chat_view(service)) as user:
        ask(user, "Post")
        await sees(user, "Allow this call?")
        user.find(button).click()
        await sees(user, "Done.")
    [session] = await service.store.list("")
    [call] = [
        event for event in await service.store.events(session.id) if event.type == "approval_given"
    ]
    assert call.data["approved"] is (decision == "Approved")


async def test_a_busy_server_is_reported_and_the_question_kept(service: Service) -> None:
    service.slots.free = 0
    async with viewed(lambda: chat_view(service)) as user:
        ask(user, "Which sources are there?")
        await soon(lambda: bool(user.notify.messages))
        assert "This server is busy" in user.notify.messages[0]
        [box] = user.find(ui.textarea).elements
        assert box.value == "Which sources are there?"
    assert await service.store.list("") == []
