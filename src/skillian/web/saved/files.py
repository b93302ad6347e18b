"""The uploaded files of a saved comparison, each with a zone for a newer one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from nicegui import ui

from skillian.data.declare.saved import SavedComparison
from skillian.display import printable
from skillian.uploads.limits import UploadNotFound
from skillian.uploads.tables import upload_ids
from skillian.web.shell import text
from skillian.web.shell.elements import Heading, Time
from skillian.web.shell.frame import Visit
from skillian.web.start.drop_zone import DropZone, size_text


class ReplaceableFiles:
    """The files that are compared; what is dropped on one takes its place.

    Args:
        visit: The visit of their owner.
        question: What is compared.
        on_replaced: Called when a file has a new content.
    """

    def __init__(
        self, visit: Visit, question: SavedComparison, on_replaced: Callable[[], object]
    ) -> None:
        self._visit = visit
        self._ids = dict.fromkeys(upload_ids((question.a, question.b)))
        self._on_replaced = on_replaced
        with ui.element("section").classes("panel pad stack") as self._section:
            self._section.props["aria-label"] = "Files"
            Heading("Files", 2)
            self._room = ui.element("div").classes("choices")
        self._section.set_visibility(False)

    async def show(self) -> None:
        """Show the files that are still there."""
        self._room.clear()
        with self._room:
            for upload_id in self._ids:
                with suppress(UploadNotFound):
                    await self._add(upload_id)
                    self._section.set_visibility(True)

    async def _add(self, upload_id: str) -> None:
        upload = await self._visit.service.uploads.get(self._visit.owner, upload_id)
        with ui.element("div").classes("stack"):
            with ui.element("div").classes("line"):
                ui.label(printable(upload.name)).classes("file-name")
                with ui.element("span").classes("soft small"):
                    extent = f" rows · {size_text(upload.bytes)} · "
                    text.sentence(text.amount(upload.rows), extent)
                    Time(upload.created)
            DropZone(
                self._visit.service.settings.max_upload_bytes,
                "All comparisons with this file read the new one.",
                self._replaced,
                (upload.id, upload.name),
            )

    async def _replaced(self, _: str) -> None:
        await self.show()
        self._on_replaced()
