"""The list of sessions in the drawer: search, open, rename, delete."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.api.problems import problem_of
from skillian.errors import SkillianError
from skillian.storage import SessionNotFound, SessionRecord
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import Visit

PAGE_SIZE = 50
_NO_SESSIONS = "Your conversations are listed here. Ask a question to start the first."
_NO_MATCH = "No title contains this. Change or clear the search."

# One element holds all rows, because many pages list many sessions.
_ROW = (
    '<li class="session-row {current}"><a href="{href}" title="{title}"{mark}>{title}</a><button'
    ' type="button" data-session="{id}" aria-label="Rename or delete {title}">⋮</button></li>'
)
_ON_CLICK = """(event) => {
  const button = event.target.closest("button[data-session]");
  if (button) emit(button.dataset.session);
}"""


class SessionList:
    """The visitor's sessions, the most recently used first.

    Args:
        visit: The visit.
        current: The id of the open session, if any.
    """

    def __init__(self, visit: Visit, current: str | None) -> None:
        self._visit = visit
        self._store = visit.service.store
        self._current = current
        self._limit = PAGE_SIZE
        self._search = ""

    async def build(self) -> None:
        """Build the list in the current slot."""
        with ui.element("div").classes("stack sessions"):
            Button("New chat", lambda: ui.navigate.to("/"), icon="add")
            search = ui.input(placeholder="Search", on_change=lambda event: self._find(event.value))
            search.props('clearable debounce=250 aria-label="Search sessions"')
            self._list = ui.html("", sanitize=False, tag="ul").classes("session-list")
            self._list.props('aria-label="Sessions"')
            self._list.on("click", self._on_click, js_handler=_ON_CLICK)
            self._none = ui.label().classes("soft small")
            self._more = Button("More", self._show_more, kind="quiet")
        await self._fill()

    async def refresh(self, current: str) -> None:
        """Update the list.

        Args:
            current: The id of the open session.
        """
        self._current = current
        await self._fill()

    async def _find(self, search: str | None) -> None:
        self._search, self._limit = search or "", PAGE_SIZE
        await self._fill()

    async def _show_more(self) -> None:
        self._limit += PAGE_SIZE
        await self._fill()

    async def _fill(self) -> None:
        query = self._search, self._limit
        records = await self._store.list(
            self._visit.owner, limit=self._limit + 1, search=self._search
        )
        if query != (self._search, self._limit):
            return  # the reader has changed the search since
        self._list.set_content(self._rows(records[: self._limit]))
        self._none.set_text(_NO_MATCH if self._search else _NO_SESSIONS)
        self._none.set_visibility(not records)
        self._more.set_visibility(len(records) > self._limit)

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
        change = await _ask_change(record)
        if change is None or (change.is_deletion and not await _confirm_deletion(record)):
            return
        try:
            if change.is_deletion:
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


class _SessionChange(NamedTuple):
    """A change of a session: a new title, or its deletion."""

    title: str
    is_deletion: bool = False


async def _ask_change(record: SessionRecord) -> _SessionChange | None:
    with ui.dialog() as dialog, ui.card().classes("stack dialog"):
        dialog.props["aria-label"] = "Session"
        Heading("Session", 2)
        title = ui.input("Title", value=record.title).props("autofocus maxlength=80")
        title.on("keydown.enter", lambda: dialog.submit(_SessionChange(title.value or "")))
        with ui.element("div").classes("line"):
            Button(
                "Rename", lambda: dialog.submit(_SessionChange(title.value or "")), kind="primary"
            )
            Button(
                "Delete",
                lambda: dialog.submit(_SessionChange("", is_deletion=True)),
                kind="danger",
            )
            Button("Cancel", dialog.close, kind="quiet")
    change: _SessionChange | None = await _result_of(dialog)
    return change


async def _confirm_deletion(record: SessionRecord) -> bool:
    with ui.dialog() as dialog, ui.card().classes("stack dialog"):
        dialog.props["aria-label"] = "Delete this session?"
        Heading("Delete this session?", 2)
        ui.label(f"“{_title(record)}”: you cannot restore this conversation.")
        with ui.element("div").classes("line"):
            Button("Delete permanently", lambda: dialog.submit(result=True), kind="danger")
            Button("Cancel", dialog.close, kind="quiet").props("autofocus")
    return bool(await _result_of(dialog))


async def _result_of(dialog: ui.dialog) -> Any:
    """The value that the dialog submits; None if the dialog or its page is closed."""
    result: Any = await dialog
    if not dialog.is_deleted:
        dialog.delete()
    return result


def _title(record: SessionRecord) -> str:
    return record.title or "Untitled"
