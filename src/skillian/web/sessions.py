"""The sessions in the drawer: search, open, rename, delete."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.api.problems import problem_of
from skillian.errors import SkillianError
from skillian.storage import SessionNotFound, SessionRecord
from skillian.web.frame import Visit
from skillian.web.heading import Heading

SHOWN = 50

# One element for all rows: many pages list many sessions.
_ROW = (
    '<li class="session-row {current}"><a href="{href}" title="{title}"{mark}>{title}</a><button'
    ' type="button" data-session="{id}" aria-label="Rename or delete {title}">⋮</button></li>'
)
_ON_CLICK = """(event) => {
  const button = event.target.closest("button[data-session]");
  if (button) emit(button.dataset.session);
}"""


class Sessions:
    """The visitor's sessions, the one used last first.

    Args:
        visit: who looks.
        current: the session that is open.
    """

    def __init__(self, visit: Visit, current: str | None) -> None:
        self._visit = visit
        self._store = visit.service.store
        self._current = current
        self._shown = SHOWN
        self._search = ""

    async def build(self) -> None:
        """Show them in the current slot."""
        with ui.element("div").classes("stack sessions"):
            new = ui.button("New chat", icon="add", on_click=lambda: ui.navigate.to("/"))
            new.props("outline no-caps")
            search = ui.input(placeholder="Search", on_change=lambda event: self._find(event.value))
            search.props('dense outlined clearable debounce=250 aria-label="Search sessions"')
            self._list = ui.html("", sanitize=False, tag="ul").classes("session-list")
            self._list.props('aria-label="Sessions"')
            self._list.on("click", self._on_click, js_handler=_ON_CLICK)
            self._none = ui.label("None").classes("soft small")
            self._more = ui.button("More", on_click=self._show_more).props("flat dense no-caps")
        await self._fill()

    async def refresh(self, current: str) -> None:
        """Show them anew, with this one open."""
        self._current = current
        await self._fill()

    async def _find(self, search: str | None) -> None:
        self._search, self._shown = search or "", SHOWN
        await self._fill()

    async def _show_more(self) -> None:
        self._shown += SHOWN
        await self._fill()

    async def _fill(self) -> None:
        wanted = self._search, self._shown
        found = await self._store.list(
            self._visit.owner, limit=self._shown + 1, search=self._search
        )
        if wanted != (self._search, self._shown):
            return  # a later look, which was quicker, shows what is wanted now
        self._list.set_content(self._rows(found[: self._shown]))
        self._none.set_visibility(not found)
        self._more.set_visibility(len(found) > self._shown)

    def _rows(self, records: Sequence[SessionRecord]) -> str:
        return "".join(
            _ROW.format(
                id=escape(record.id),
                href=escape(self._visit.address(f"/chat/{record.id}")),
                title=escape(_title(record)),
                current="current" if record.id == self._current else "",
                mark=' aria-current="page"' if record.id == self._current else "",
            )
            for record in records
        )

    async def _on_click(self, event: GenericEventArguments) -> None:
        try:
            record = await self._store.get(self._visit.owner, str(event.args))
        except SessionNotFound:  # deleted on another page
            await self._fill()
            return
        change = await _asked_change(record)
        if change is None or (change.is_end and not await _is_sure(record)):
            return
        try:
            if change.is_end:
                await self._delete(record.id)
            else:
                await self._store.rename(self._visit.owner, record.id, change.title)
        except SkillianError as error:
            ui.notify(problem_of(error).detail, type="negative", position="top")
        await self._fill()

    async def _delete(self, session_id: str) -> None:
        await self._store.delete(self._visit.owner, session_id)
        self._visit.service.turns.cancel(session_id)
        if session_id == self._current:
            ui.navigate.to("/")


class _Change(NamedTuple):
    """What is to become of a session: another title, or its end."""

    title: str
    is_end: bool = False


async def _asked_change(record: SessionRecord) -> _Change | None:
    with ui.dialog() as dialog, ui.card().classes("stack dialog"):
        Heading("Session", 2)
        title = ui.input("Title", value=record.title).props("autofocus maxlength=80 outlined dense")
        title.on("keydown.enter", lambda: dialog.submit(_Change(title.value or "")))
        with ui.element("div").classes("line"):
            rename = ui.button("Rename", on_click=lambda: dialog.submit(_Change(title.value or "")))
            rename.props("unelevated")
            delete = ui.button("Delete", on_click=lambda: dialog.submit(_Change("", is_end=True)))
            delete.props("outline color=negative")
            ui.button("Cancel", on_click=dialog.close).props("flat")
    change: _Change | None = await _answer_of(dialog)
    return change


async def _is_sure(record: SessionRecord) -> bool:
    with ui.dialog() as dialog, ui.card().classes("stack dialog"):
        Heading("Delete this session?", 2)
        ui.label(f"“{_title(record)}”: what was said in it cannot be brought back.")
        with ui.element("div").classes("line"):
            delete = ui.button("Delete for good", on_click=lambda: dialog.submit(result=True))
            delete.props("unelevated color=negative")
            ui.button("Cancel", on_click=dialog.close).props("flat autofocus")
    return bool(await _answer_of(dialog))


async def _answer_of(dialog: ui.dialog) -> Any:
    """What is submitted; None where the dialog, or its page, is closed."""
    answer = await dialog
    if not dialog.is_deleted:
        dialog.delete()
    return answer


def _title(record: SessionRecord) -> str:
    return record.title or "Untitled"
