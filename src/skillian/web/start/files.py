"""The files of a key: where they are dropped, what there is, and their deletion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

from nicegui import ui

from skillian.demo.sample import sample_files
from skillian.display import printable
from skillian.uploads.folders import Upload
from skillian.web.comparison.form.fields import select
from skillian.web.shell import text
from skillian.web.shell.activity import reporting_errors, start_task
from skillian.web.shell.buttons import Button, IconButton
from skillian.web.shell.elements import Heading, Time
from skillian.web.shell.frame import Visit
from skillian.web.start.drop_zone import DropZone, size_text, writing_fields
from skillian.web.start.pair import Pair

UNDO_SECONDS = 10.0


class Files:
    """The files, and a zone for more of them.

    Args:
        visit: The visit.

    Attributes:
        pair: Shows two of them.
    """

    def __init__(self, visit: Visit) -> None:
        self.pair: Pair | None = None
        self._visit = visit
        self._sent: set[str] = set()
        self._deleting: dict[str, asyncio.Task[object]] = {}
        settings = visit.service.settings
        days = settings.retention_days
        kept = f"deleted {days} days after their last use" if days else "kept until you delete them"
        with ui.element("section").classes("panel choice stack") as section:
            section.props["aria-label"] = "Two files"
            Heading("Two files", 2)
            self._zone = DropZone(settings.max_upload_bytes, f"Files are {kept}.", self._stored)
            self._waiting = ui.label().classes("waiting").props("role=status")
            with ui.element("div").classes("line"):
                self._sample = Button(
                    "Try it with a sample", self._try_sample, kind="quiet", icon="science"
                )
            writing_fields(self._zone)
            self._list = ui.element("ul").classes("files").props('aria-label="Uploaded files"')

    async def update(self) -> None:
        """Show the files that are stored."""
        uploads = await self._visit.service.uploads.list(self._visit.owner)
        labels = _labels(uploads)
        self._list.clear()
        with self._list:
            for upload in reversed(uploads):
                if upload.id in self._deleting:
                    self._add_deleted(upload.id, labels[upload.id])
                else:
                    self._add(upload, labels[upload.id])
        known = {upload.id: upload for upload in uploads if upload.id not in self._deleting}
        names = [upload.name for upload in known.values()]
        is_alone = len(names) == 1
        waiting = f"{names[0]} is here. Add the file to compare it with." if is_alone else ""
        self._waiting.set_text(printable(waiting))
        self._sample.set_visibility(not known)
        if self.pair is not None:
            shown = {each: labels[each] for each in known}
            self.pair.offer(known, shown, follows=bool(self._sent))

    async def _stored(self, upload_id: str) -> None:
        self._sent.add(upload_id)
        await self.update()

    async def _try_sample(self) -> None:
        """Store a ledger and its planning copy, as if the reader had dropped them."""
        with reporting_errors():
            for name, content in sample_files():
                upload = await self._visit.service.uploads.receive(
                    self._visit.owner, name, _chunks(content), len(content)
                )
                self._sent.add(upload.id)
        await self.update()

    def _add(self, upload: Upload, label: str) -> None:
        with ui.element("li"):
            ui.label(printable(upload.name)).classes("file-name")
            rows = "row" if upload.rows == 1 else "rows"
            columns = "1 column" if len(upload.columns) == 1 else f"{len(upload.columns)} columns"
            extent = f" {rows} · {columns} · {size_text(upload.bytes)} · "
            with ui.element("span").classes("soft small grow"):
                text.sentence(text.amount(upload.rows), extent)
                Time(upload.created)
            IconButton("delete", f"Delete {label}", partial(self._delete, upload.id))
            if upload.id in self._sent and len(upload.sheets) > 1:
                name = printable(f"Sheet of {upload.name}")
                sheet = select(name, list(upload.sheets), upload.sheet).classes("sheet")
                sheet.on_value_change(lambda event: self._zone.read_sheet(upload.id, event.value))
            elif upload.note:
                ui.label(printable(upload.note)).classes("small full")

    def _add_deleted(self, upload_id: str, label: str) -> None:
        with ui.element("li"):
            ui.label(f"{label} is deleted.").classes("soft grow")
            Button("Undo", partial(self._keep, upload_id), kind="quiet", label=f"Keep {label}")

    async def _delete(self, upload_id: str) -> None:
        """Delete a file in ten seconds, also if the reader leaves in the meantime."""
        self._deleting[upload_id] = start_task(self._forget(upload_id), "delete a file", self._list)
        await self.update()

    async def _forget(self, upload_id: str) -> None:
        await asyncio.sleep(UNDO_SECONDS)
        with reporting_errors():
            await self._visit.service.saved.forget_upload(self._visit.owner, upload_id)
        del self._deleting[upload_id]
        if not self._list.is_deleted:
            await self.update()

    async def _keep(self, upload_id: str) -> None:
        task = self._deleting.pop(upload_id, None)
        if task is not None:
            task.cancel()
        await self.update()


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _labels(uploads: Sequence[Upload]) -> dict[str, str]:
    """The name of each file, with its time where two have the same name."""
    names = [upload.name for upload in uploads]
    return {
        upload.id: printable(
            upload.name if names.count(upload.name) == 1 else f"{upload.name} · {_time(upload)}"
        )
        for upload in uploads
    }


def _time(upload: Upload) -> str:
    return upload.created[:19].replace("T", " ") + " UTC"
