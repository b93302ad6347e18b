"""What was compared, to be changed and compared again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.display import printable
from skillian.errors import ToolError
from skillian.storage import StorageError
from skillian.web.shell.activity import start_task
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit

Control = Literal["columns", "filters", "limits"]
"""What the fields change: what is compared, which rows take part, within which limits."""

# A constant. The fields come when the question is read.
_SHOW = """
(async () => {
  for (let tries = 0; tries < 100; tries++) {
    const control = document.querySelector('[data-control~="CONTROL"]');
    if (control?.checkVisibility()) {
      control.scrollIntoView({ block: "center" });
      control.querySelector('[tabindex="0"], input, button')?.focus({ preventScroll: true });
      return;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
})()
"""


def show_control(control: Control) -> None:
    """Scroll to the fields that change this, once they are there, and put the focus on them."""
    _ = ui.run_javascript(_SHOW.replace("CONTROL", control))


def change_panel(visit: Visit, cache_key: str, show: Callable[[SavedComparison], object]) -> None:
    """Show the question of a comparison in the fields that asked it.

    Args:
        visit: Who asks.
        cache_key: The key of the comparison.
        show: Shows the fields.
    """
    with ui.element("section").classes("stack") as room:
        room.props["aria-label"] = "Change and compare again"
        start_task(_fill(visit, cache_key, show), "change a comparison", room)


async def _fill(visit: Visit, cache_key: str, show: Callable[[SavedComparison], object]) -> None:
    try:
        question = await visit.service.comparisons.question(cache_key, visit.owner)
    except (ToolError, StorageError, ProblemError) as error:
        ui.label(printable(problem_of(error).detail)).classes("fault").props("role=alert")
        return
    Heading("Change and compare again", 2)
    show(question)
