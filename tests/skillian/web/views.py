"""Views in a simulated browser, and comparisons to look at."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from nicegui import ui
from nicegui.testing import User, user_simulation

from skillian.api.service import Service
from skillian.data.declare.saved import SavedComparison

T = TypeVar("T", bound=ui.element)
RETRIES = 300  # of a tenth of a second: a busy machine is slow, and no fault


@asynccontextmanager
async def viewed(view: Callable[[], Awaitable[object]]) -> AsyncGenerator[User]:
    """A reader before a page that holds the view alone."""

    async def root() -> None:
        await view()

    async with user_simulation(root) as user:
        await user.open("/")
        yield user


async def sees(user: User, target: Any) -> None:
    """Wait until the reader sees it."""
    await user.should_see(target, retries=RETRIES)


def only(user: User, kind: type[T]) -> T:
    """The one element of a kind."""
    [element] = user.find(kind).elements
    return element


def by_test_id(user: User, name: str) -> ui.element:
    """The element that browser tests know by this name."""
    found = [
        element
        for element in user.find(ui.element).elements
        if element.props.get("data-testid") == name
    ]
    assert len(found) == 1, name
    return found[0]


async def compared(service: Service, **given: Any) -> str:
    """The key of a comparison, if nothing else is said of the demo's amounts."""
    asked = {"name": "x", "a": "fi_reporting", "b": "bpc_reporting", "measures": ["amount"]}
    told = await service.comparisons.compare(SavedComparison.model_validate({**asked, **given}))
    key: str = told["cache_key"]
    return key


def fire(element: ui.element, event: str, args: Any) -> None:
    """Tell an element what a browser would, or one that forges."""
    listeners = element._event_listeners.values()
    [listener] = [each for each in listeners if each.type.partition(".")[0] == event]
    element._handle_event({"listener_id": listener.id, "args": args})


def point(index: object) -> dict[str, Any]:
    """A click on a chart."""
    known = dict.fromkeys(("seriesType", "seriesName", "name", "data", "value"), "")
    return {**known, "componentType": "series", "seriesIndex": 0, "dataIndex": index}
