"""Views in a simulated browser, and comparisons to show in them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import unescape
from typing import Any, TypeVar

from nicegui import ElementFilter, ui
from nicegui.testing import User, user_simulation
from tests.support.waits import SECONDS

from skillian.api.service import Service
from skillian.data.declare.saved import SavedComparison

T = TypeVar("T", bound=ui.element)
RETRIES = int(SECONDS * 10)  # of a tenth of a second each


@asynccontextmanager
async def viewed(view: Callable[[], Awaitable[object]]) -> AsyncGenerator[User]:
    """A reader of a page that holds only the view."""

    async def root() -> None:
        await view()

    async with user_simulation(root) as user:
        ui.page("/", response_timeout=SECONDS)(root)  # all other addresses lead to it too
        await user.open("/")
        yield user


async def sees(user: User, target: Any) -> None:
    """Wait until the reader sees it."""
    await user.should_see(target, retries=RETRIES)


def written(user: User) -> str:
    """The text of the sentences and tables that the reader sees, without their markup."""
    parts = sorted(user.find(ui.html).elements, key=lambda each: each.id)
    return "\n".join(unescape(re.sub("<[^>]*>", "", str(each.content))) for each in parts)


def open_tab(user: User, name: str) -> None:
    """Open a tab of a result."""
    [tab] = [
        each for each in user.find(ui.element).elements
        if each.props.get("role") == "tab" and name in labels(each)
    ]  # fmt: skip
    listeners = tab._event_listeners.values()
    [listener] = [each for each in listeners if each.type == "click"]
    with user:
        tab._handle_event({"listener_id": listener.id, "args": None})


def labels(element: ui.element) -> list[str]:
    """The texts of the labels in an element."""
    return [each.text for each in element.descendants() if isinstance(each, ui.label)]


def found(user: User, kind: type[T]) -> list[T]:
    """The elements of a kind that the reader sees, in their order; none raises no error."""
    assert user.client is not None
    with user.client:
        elements = [*ElementFilter(kind=kind, only_visible=True, local_scope=False)]
    return sorted(elements, key=lambda each: each.id)


def only(user: User, kind: type[T]) -> T:
    """The one element of a kind."""
    [element] = user.find(kind).elements
    return element


def by_test_id(user: User, name: str) -> ui.element:
    """The element with this `data-testid`."""
    elements = [
        element
        for element in user.find(ui.element).elements
        if element.props.get("data-testid") == name
    ]
    assert len(elements) == 1, name
    return elements[0]


async def compared(service: Service, **options: Any) -> str:
    """Compare the demo's amounts, unless the options say otherwise; returns the key."""
    key: str = (await service.comparisons.compare(asked(**options), ""))["cache_key"]
    return key


def asked(**options: Any) -> SavedComparison:
    """The question about the demo's amounts, unless the options say otherwise."""
    defaults = {"name": "x", "a": "fi_reporting", "b": "bpc_reporting", "measures": ["amount"]}
    return SavedComparison.model_validate({**defaults, **options})


def fire(element: ui.element, event: str, args: Any) -> None:
    """Send an element an event, as a browser would, or a forged one."""
    listeners = element._event_listeners.values()
    [listener] = [each for each in listeners if each.type.partition(".")[0] == event]
    element._handle_event({"listener_id": listener.id, "args": args})


def point(index: object) -> dict[str, Any]:
    """A click on a chart."""
    fields = dict.fromkeys(("seriesType", "seriesName", "name", "data", "value"), "")
    return {**fields, "componentType": "series", "seriesIndex": 0, "dataIndex": index}
