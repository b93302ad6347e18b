"""Saving a result under a name, and the saved comparisons of a key on the start page."""

from __future__ import annotations

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.display import printable
from skillian.errors import SkillianError
from skillian.web.shell.activity import show_error
from skillian.web.shell.elements import Heading, Time
from skillian.web.shell.frame import Visit


def save_bar(visit: Visit, key: str) -> None:
    """A field for a name, and a button that saves the comparison with this key."""

    async def save() -> None:
        wanted = (name.value or "").strip()
        if not wanted:
            name.error = "Enter a name."
            return
        try:
            record = await visit.service.saved.save_result(visit.owner, wanted, key)
        except (SkillianError, ProblemError) as error:
            show_error(problem_of(error).detail)
            return
        ui.navigate.to(f"/saved/{record.id}")

    with ui.element("form").classes("line save-bar") as form:
        name = ui.input("Save this comparison as").props("dense outlined maxlength=100")
        ui.button("Save", icon="bookmark_add").props("outline no-caps type=submit")
        form.on("submit.prevent", save)


async def saved_list(visit: Visit) -> None:
    """The saved comparisons of this key, newest first; nothing if there are none."""
    records = await visit.service.saved.list(visit.owner)
    if not records:
        return
    with ui.element("section").classes("panel pad stack saved-list") as section:
        section.props["aria-label"] = "Saved comparisons"
        Heading("Saved comparisons", 2)
        with ui.element("ul"):
            for record in records:
                with ui.element("li").classes("line"):
                    ui.link(printable(record.name), f"/saved/{record.id}").classes("grow")
                    question = SavedComparison.model_validate(record.question)
                    sides = await visit.service.comparisons.sides(question, visit.owner)
                    ui.label(printable(sides)).classes("soft small")
                    Time(record.created)
