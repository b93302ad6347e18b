from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nicegui import ui
from nicegui.testing import User
from tests.skillian.web.views import compared, sees, viewed

from skillian.api.service import Service
from skillian.display import DIFFERS, VERIFIED
from skillian.storage import TurnEvent
from skillian.web.chat.turn import Actions, TurnView


def event(kind: str, /, **data: Any) -> TurnEvent:
    return TurnEvent(1, 7, kind, data)


def delta(text: str, kind: str = "text") -> TurnEvent:
    return event("delta", step=1, kind=kind, text=text)


def tool_started(tool: str = "t") -> TurnEvent:
    return event("tool_started", step=1, id="c1", tool=tool, args={})


def tool_finished(tool: str, result: Any) -> TurnEvent:
    data = {"result": result, "is_error": False, "duration_ms": 1.0}
    return event("tool_finished", step=1, id="c1", tool=tool, **data)


def answer(content: str, *unverified: str) -> TurnEvent:
    return event("answer", content=content, unverified=list(unverified))


@asynccontextmanager
async def turn(service: Service, *events: TurnEvent) -> AsyncGenerator[tuple[User, TurnView]]:
    made = list[TurnView]()

    async def view() -> None:
        actions = Actions(lambda _: None, lambda _: None, lambda *_: None)
        made.append(TurnView(service, "s1", event("turn_started", message="Why <b>?"), actions))
        for each in events:
            made[0].show(each)

    async with viewed(view) as user:
        with user:
            yield user, made[0]


async def test_streamed_text_is_replaced_by_the_answer(service: Service) -> None:
    async with turn(service, delta("One "), delta("two <i>")) as (user, shown):
        await sees(user, "Why <b>?")
        await sees(user, "One two <i>")
        await sees(user, "Working on it …")
        shown.show(delta("", "restart"))
        shown.show(delta("Again"))
        await sees(user, "Again")
        shown.show(answer("**Bold** <i>", "42"))
        shown.show(event("turn_ended"))
        [html] = user.find(ui.html).elements
        assert "<strong>Bold</strong> &lt;i&gt;" in str(html.content)
        await sees(user, "⚠ Not in any tool result: 42")
        await user.should_not_see("Again")
        await user.should_not_see("Working on it …")
        [link] = user.find(ui.link).elements
        assert link.props["href"] == "/runs/s1/7"


async def test_an_answer_to_a_verified_question_is_marked(service: Service) -> None:
    for agrees, mark in ((True, VERIFIED), (False, DIFFERS)):
        answered = event("answer", content="It is 5.", unverified=[], verified=agrees)
        async with turn(service, answered) as (user, _):
            await sees(user, mark)
    async with turn(service, answer("It is 5.")) as (user, _):
        await sees(user, ui.html)
        await user.should_not_see(VERIFIED)
        await user.should_not_see(DIFFERS)


async def test_reasoning_is_folded_and_removed_when_the_answer_restarts(service: Service) -> None:
    async with turn(service, delta("Hm, ", "reasoning"), delta("yes.", "reasoning")) as (
        user,
        shown,
    ):
        await sees(user, "Reasoning (8 characters)")
        [card] = user.find("thought").elements
        assert card.tag == "details"
        assert "open" not in card.props
        shown.show(delta("", "restart"))
        await user.should_not_see("Reasoning")
        shown.show(delta("Well.", "reasoning"))
        shown.show(delta("No."))
        shown.show(answer("No."))
        shown.show(event("turn_ended"))
        await sees(user, "Reasoning (5 characters)")
        await sees(user, "No.")


async def test_text_before_a_call_stays_as_a_remark(service: Service) -> None:
    events = (delta("Let me look."), tool_started(), delta("thinking", "reasoning"))
    async with turn(service, *events) as (user, shown):
        await sees(user, "Let me look.")
        await sees(user, "Reasoning (8 characters)")
        shown.show(event("turn_failed", type="cancelled", message="This turn was cancelled."))
        shown.show(event("turn_ended"))
        await sees(user, "Let me look.")
        await sees(user, "This turn was cancelled.")
        await sees(user, "✕ not finished")


async def test_unknown_events_are_ignored(service: Service) -> None:
    async with turn(service, event("unknown", x=1), answer("So.")) as (user, _):
        await sees(user, "So.")


async def test_a_comparison_opens_and_closes(service: Service) -> None:
    result = {**await service.comparisons.find(await compared(service))}
    events = (tool_started("compare_sources"), tool_finished("compare_sources", result))
    async with turn(service, *events, answer("So."), event("turn_ended")) as (user, shown):
        await sees(user, "Open the comparison")
        shown.open_comparison()
        await sees(user, "Close the comparison")
        await sees(user, "They differ")
        user.find("Close the comparison").click()
        await sees(user, "Open the comparison")
        await user.should_not_see("They differ")
