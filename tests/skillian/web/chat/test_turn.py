from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from nicegui import ui
from nicegui.testing import User
from tests.skillian.web.views import compared, sees, viewed, written

from skillian.api.service import Service
from skillian.chat.opening import read_vocabulary
from skillian.chat.questions import FollowUp
from skillian.display import DIFFERS, VERIFIED
from skillian.offline.calls import PlannedCall
from skillian.offline.wording import word_result
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
        await sees(user, "Reasoning (")
        assert "Reasoning (8 characters)" in written(user)
        [card] = user.find("thought").elements
        assert card.tag == "details"
        assert "open" not in card.props
        shown.show(delta("", "restart"))
        await user.should_not_see("Reasoning")
        shown.show(delta("Well.", "reasoning"))
        shown.show(delta("No."))
        shown.show(answer("No."))
        shown.show(event("turn_ended"))
        await sees(user, "Reasoning (")
        assert "Reasoning (5 characters)" in written(user)
        await sees(user, "No.")


async def test_text_before_a_call_stays_as_a_remark(service: Service) -> None:
    events = (delta("Let me look."), tool_started(), delta("thinking", "reasoning"))
    async with turn(service, *events) as (user, shown):
        await sees(user, "Let me look.")
        await sees(user, "Reasoning (")
        assert "Reasoning (8 characters)" in written(user)
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


REFERENCES = [
    {"number": "1,234.50", "call": 0, "path": "$.rows[0][1]", "is_rounded": False},
    {"number": "-0.50", "call": 0, "path": "$.rows[1][1]", "is_rounded": False},
    {"number": "2,024.50", "call": 0, "path": "$.rows[0][0]", "is_rounded": False},
]


async def test_only_amounts_of_an_answer_are_in_the_readers_locale(service: Service) -> None:
    result = {
        "source": "s",
        "columns": ["version", "amount"],
        "measures": ["amount"],
        "rows": [["2,024.50", "1234.50"], ["3.11", "-0.50"]],
        "truncated": False,
        "scope": ["s", "amount", "the first 2,000 rows", "as of 2026-01-01T00:00:00+00:00"],
    }
    said = "1,234.50 and -0.50 of 2,024.50 in 3.11, account 4711, year 2025, `1,234.50`"
    done = event(
        "answer", content=said, unverified=[], references=REFERENCES, scope=[result["scope"]]
    )
    events = (tool_started("run_python"), tool_finished("t", result), done, event("turn_ended"))
    async with turn(service, *events) as (user, _):
        await sees(user, "account 4711, year 2025")
        shown = "".join(str(each.content) for each in user.find(ui.html).elements)
        marked = {*re.findall('<exact-number value="([^"]*)"', shown)}
        assert {"1234.50", "-0.50", "2000"} == marked
        assert "<code>1,234.50</code>" in shown


async def test_rows_behind_a_group_are_tables_in_place_of_a_list(service: Service) -> None:
    sides = {
        side: {"source": side, "columns": ["v"], "rows": [["1234.50"]], "truncated": False}
        for side in ("a", "b")
    }
    result = {"key": {"company": "1001"}, **sides}
    said = word_result("drill_down", result, "")
    events = (tool_started("drill_down"), tool_finished("drill_down", result), answer(said))
    async with turn(service, *events) as (user, _):
        await sees(user, "The rows behind company: 1001:")
        assert written(user).count("1234.50") == 2
        await user.should_not_see("- v: 1234.50")


async def test_buttons_ask_what_the_result_can_also_show(service: Service) -> None:
    asked = list[str]()
    made = list[TurnView]()

    async def view() -> None:
        actions = Actions(asked.append, lambda _: None, lambda *_: None)
        made.append(TurnView(service, "s1", event("turn_started", message="?"), actions))
        made[0].offer([FollowUp("By <i>", "Same by <i>", PlannedCall("t", {}))])

    async with viewed(view) as user:
        await sees(user, "By <i>")
        user.find("By <i>").click()
        assert asked == ["Same by <i>"]
        with user:
            made[0].withdraw()
        await user.should_not_see("By <i>")


async def test_a_turn_without_an_answer_offers_nothing(service: Service) -> None:
    vocabulary = await read_vocabulary(service.data)
    result = await service.comparisons.find(await compared(service))
    result = {**result, "scope": ["a and b", "amount", "by company, period"]}
    begun = tool_started("compare_sources")
    begun.data["args"] = {
        "source_a": "fi_reporting",
        "source_b": "bpc_reporting",
        "measures": ["amount"],
    }
    done = tool_finished("compare_sources", result)
    unfinished = event("answer", content="Stopped.", unverified=[], finished=False)
    failed = event("turn_failed", type="cancelled", message="Cancelled.")
    for last, offers in ((answer("So."), True), (unfinished, False), (failed, False)):
        async with turn(service, begun, done, last, event("turn_ended")) as (_, shown):
            assert bool(shown.follow_ups(vocabulary)) == offers
