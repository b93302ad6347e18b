from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nicegui import ui
from nicegui.testing import User
from tests.skillian.web.views import compared, fire, sees, viewed, written

from skillian.api.service import Service
from skillian.web.chat.tool_card import ToolCard, duration

Decisions = list[tuple[str, bool, str]]


@asynccontextmanager
async def card(
    service: Service, call: dict[str, Any], taken: Decisions | None = None
) -> AsyncGenerator[tuple[User, ToolCard]]:
    made = list[ToolCard]()
    decisions: Decisions = [] if taken is None else taken

    async def view() -> None:
        made.append(ToolCard(service, {"id": "c1", **call}, lambda *one: decisions.append(one)))

    async with viewed(view) as user:
        with user:
            yield user, made[0]


def finished(result: Any, *, is_error: bool = False) -> dict[str, Any]:
    return {"result": result, "duration_ms": 12.3, "is_error": is_error}


def open_card(user: User) -> None:
    """Click the head of the card."""
    [head] = [one for one in user.find(ui.element).elements if one.tag == "button"]
    fire(head, "click", {})


def html(user: User) -> str:
    return "".join(str(one.content) for one in user.find(ui.html).elements)


async def test_a_card_opens_to_arguments_sql_and_result(service: Service) -> None:
    key = await compared(service)
    result = await service.comparisons.find(key)
    result = {name: value for name, value in result.items() if name != "proof"}
    async with card(service, {"tool": "compare_sources", "args": {"x": "<b>"}}) as (user, made):
        await sees(user, "… running")
        await user.should_not_see("Arguments")
        made.finish(finished(result))
        await sees(user, "✓ done")
        await sees(user, "12 ms")
        open_card(user)
        await sees(user, "Arguments")
        await sees(user, "SQL")
        await sees(user, "groups match")
        assert '<span class="k">WITH</span>' in html(user)
        assert "&lt;b&gt;" in html(user)
        assert "<b>" not in html(user)


async def test_a_comparison_of_rows_has_its_sql_too(customers: Service) -> None:
    options = {"a": "customers", "b": "customers_copy", "measures": (), "key": ["id"]}
    result = await customers.comparisons.find(await compared(customers, **options))
    result = {name: value for name, value in result.items() if name != "proof"}
    async with card(customers, {"tool": "compare_sources", "args": {}}) as (user, made):
        made.finish(finished(result))
        open_card(user)
        await sees(user, "SQL")
        assert '<span class="k">WITH</span>' in html(user)


@pytest.mark.parametrize(
    ("result", "is_error"),
    [
        ({"error": True, "type": "query_error", "message": "No <such> column"}, False),
        ("Error: No <such> column", True),
    ],
)
async def test_a_failure_is_shown(service: Service, result: Any, is_error: bool) -> None:  # noqa: FBT001
    async with card(service, {"tool": "query_source", "args": {}}) as (user, made):
        made.finish(finished(result, is_error=is_error))
        await sees(user, "✕ failed")
        open_card(user)
        await sees(user, "No <such> column")


async def test_rows_are_a_table_and_the_rest_is_json(service: Service) -> None:
    result = {"source": "s", "columns": ["<k>"], "rows": [["1.5"]], "sql": "SELECT 1"}
    async with card(service, {"tool": "query_source", "args": {}}) as (user, made):
        made.finish(finished(result))
        open_card(user)
        await sees(user, "SQL")
        assert '<th scope="col">&lt;k&gt;</th>' in html(user)
        assert '<td class="number"><exact-number value="1.5">1.5</exact-number></td>' in html(user)
        with user:
            for closed in user.find(ui.expansion).elements:
                closed.open()
        await sees(user, ui.html)
        assert '"columns"' in html(user)


async def test_a_call_that_waits_for_approval_is_decided_by_a_button(service: Service) -> None:
    taken = Decisions()
    async with card(service, {"tool": "post", "args": {}}, taken) as (user, made):
        fault = "`to` comes from query_source\u202e; it may come from the user's request"
        origins = [
            {"path": "to", "from": "", "fault": fault},
            {"path": "text", "from": "user", "fault": ""},
        ]
        made.request_approval({"doubt": fault, "origins": origins})
        await sees(user, "Allow this call?")
        await sees(user, r"`to` comes from query_source\u202e; it may come from")
        await sees(user, "`text`: your question")
        user.find("Deny").click()
        user.find("Approve").click()
        assert taken == [("c1", False, ""), ("c1", True, "")]
        made.show_decision(approved=False, reason="late")
        await sees(user, "Denied: late")
        made.stop()
        await sees(user, "✕ not finished")


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0.4, "0 ms"), (999, "999 ms"), (1000, "1.0 s"), (65000, "65.0 s")]
)
async def test_durations(milliseconds: float, text: str) -> None:
    async def view() -> None:
        duration(milliseconds)

    async with viewed(view) as user:
        await sees(user, ui.html)
        assert written(user) == text
