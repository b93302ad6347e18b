"""The start view: two files that are dropped or chosen, or two sources, and then the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from nicegui import ui

from skillian.api.problems import ProblemError, problem_of
from skillian.data.declare.saved import SavedComparison
from skillian.display import printable
from skillian.errors import ToolError
from skillian.uploads.folders import Upload
from skillian.uploads.tables import PREFIX
from skillian.web.comparison.form.fields import select
from skillian.web.comparison.form.job import SAME, JobControls
from skillian.web.shell import text
from skillian.web.shell.activity import loading, reporting_errors, start_task
from skillian.web.shell.elements import Heading, scroll_to
from skillian.web.shell.frame import Visit
from skillian.web.start.drop_zone import DropZone, size_text, writing_fields
from skillian.web.start.preview import Preview

_PAIR = 2
_FEW_SOURCES = "Declare two sources in sources.yaml to compare them here."


async def start_view(visit: Visit) -> None:
    """Show the two choices, and the files that this key has uploaded."""
    with ui.element("div").classes("stack"):
        Heading("Compare two files or two sources", 1)
        with ui.element("div").classes("choices"):
            files = _Files(visit)
            _Sources(visit)
        files.build_pair()
    await files.update()


class _Sources:
    """Two declared sources: their first measure in common, or else their whole rows."""

    def __init__(self, visit: Visit) -> None:
        self._registry = visit.service.data.registry
        names = list(self._registry.names)
        with ui.element("section").classes("panel choice stack") as section:
            section.props["aria-label"] = "Two sources"
            Heading("Two sources", 2)
            if len(names) < _PAIR:
                ui.label(_FEW_SOURCES)
                return
            self._a = select("Source A, the baseline", names, names[0])
            self._b = select("Source B", names, names[1])
            self._job = JobControls(visit, "Compare sources", self._read)
            ui.link("Choose measures, filters and limits", "/compare")

    def _read(self) -> SavedComparison | None:
        a, b = self._a.value, self._b.value
        if a == b:
            self._job.error.set_text(SAME)
            return None
        shared = self._registry.shared(a, b)
        if not shared.measures or not shared.dimensions:
            return SavedComparison(name="comparison", a=a, b=b)
        align_on = shared.align_on or shared.dimensions
        return SavedComparison(
            name="comparison", a=a, b=b, measures=shared.measures[:1], align_on=align_on
        )


class _Files:
    """The files of this key, two of which are compared."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._known: dict[str, Upload] = {}
        self._preview: Preview | None = None
        self._shown: tuple[str, str] | None = None
        self._sent: set[str] = set()
        settings = visit.service.settings
        days = settings.retention_days
        kept = f"deleted {days} days after their last use" if days else "kept until you delete them"
        with ui.element("section").classes("panel choice stack") as section:
            section.props["aria-label"] = "Two files"
            Heading("Two files", 2)
            self._zone = DropZone(settings.max_upload_bytes, f"Files are {kept}.", self._stored)
            writing_fields(self._zone)
            self._list = ui.element("ul").classes("files").props('aria-label="Uploaded files"')

    def build_pair(self) -> None:
        """Add the choice of the two files, and their preview."""
        with ui.element("section").classes("panel choice stack preview") as self._pair:
            self._pair.props["aria-label"] = "Preview"
            with ui.element("div").classes("form-grid"):
                self._a = select("File A, the baseline", [], None)
                self._b = select("File B", [], None)
            with ui.element("div").classes("line"):
                swap = ui.button("Swap A and B", icon="swap_horiz", on_click=self._swap)
                swap.props("flat dense no-caps")
            self._job = JobControls(self._visit, "Compare", self._read)
            self._room = ui.element("div").classes("stack")
        self._pair.set_visibility(False)
        for field in (self._a, self._b):
            field.on_value_change(self._show)

    async def _stored(self, upload_id: str, replaces: str) -> None:
        self._sent.add(upload_id)
        if replaces:
            await self._visit.service.saved.forget_upload(self._visit.owner, replaces)
        await self.update({replaces: upload_id} if replaces else {})

    async def update(self, replaced: Mapping[str, str] = MappingProxyType({})) -> None:
        """Show the files that are stored; a new pair is previewed.

        Args:
            replaced: The ids of files that others have replaced, and the ids of those.
        """
        before = {*self._known}
        uploads = await self._visit.service.uploads.list(self._visit.owner)
        self._known = {upload.id: upload for upload in uploads}
        labels = _labels(uploads)
        self._list.clear()
        with self._list:
            for upload in reversed(uploads):
                self._add(upload, labels[upload.id])
        ids = [*self._known]
        chosen = [replaced.get(field.value, field.value) for field in (self._a, self._b)]
        if {*ids} - before - {*replaced.values()} or not {*chosen} <= {*ids}:
            chosen = ids[-2:] if len(ids) > 1 else [None, None]
        for field, value in zip((self._a, self._b), chosen, strict=True):
            options: Any = field
            options.set_options(labels, value=value)
        self._show()

    def _add(self, upload: Upload, label: str) -> None:
        with ui.element("li"):
            ui.label(label).classes("file-name")
            rows = "row" if upload.rows == 1 else "rows"
            columns = "1 column" if len(upload.columns) == 1 else f"{len(upload.columns)} columns"
            extent = f" {rows} · {columns} · {size_text(upload.bytes)}"
            text.sentence(text.amount(upload.rows), extent).classes("soft small grow")
            if upload.id in self._sent and len(upload.sheets) > 1:
                name = printable(f"Sheet of {upload.name}")
                sheet = select(name, list(upload.sheets), upload.sheet).classes("sheet")
                sheet.on_value_change(lambda event: self._zone.read_sheet(upload.id, event.value))
            elif upload.note:  # this page no longer has the file
                ui.label(printable(upload.note)).classes("small")
            button = ui.button(icon="delete", on_click=partial(self._delete, upload.id))
            button.props("flat round dense").props["aria-label"] = f"Delete {label}"

    async def _delete(self, upload_id: str) -> None:
        with reporting_errors():
            await self._visit.service.saved.forget_upload(self._visit.owner, upload_id)
        await self.update()

    def _swap(self) -> None:
        a, b = self._a.value, self._b.value
        self._a.value = b  # first shows the same file twice
        self._b.value = a

    def _show(self) -> None:
        """Preview the two chosen files."""
        a, b = self._a.value, self._b.value
        is_pair = a in self._known and b in self._known
        self._pair.set_visibility(is_pair)
        if not is_pair or self._shown == (a, b):
            return
        self._shown, self._preview = (a, b), None
        self._room.clear()
        self._job.error.set_text(SAME if a == b else "")
        if a != b:
            start_task(self._fill(a, b), "preview two files", self._room)

    async def _fill(self, a: str, b: str) -> None:
        service, owner = self._visit.service, self._visit.owner
        files = self._known[a], self._known[b]
        spinner = loading("Reading both files …")
        if self._sent:
            scroll_to(self._pair)
        try:
            with service.slots.taken():
                names = f"{PREFIX}{a}", f"{PREFIX}{b}"
                preview, samples = await service.comparisons.preview(names, owner)
        except (ToolError, ProblemError) as error:
            if self._shown == (a, b):
                self._job.error.set_text(printable(problem_of(error).detail))
            return
        finally:
            spinner.delete()
        if self._shown == (a, b):  # otherwise the reader has chosen others meanwhile
            self._preview = Preview(files, preview, samples)

    def _read(self) -> SavedComparison | None:
        if self._a.value == self._b.value:
            self._job.error.set_text(SAME)
            return None
        how = self._preview.read() if self._preview is not None else {}
        a, b = (f"{PREFIX}{field.value}" for field in (self._a, self._b))
        return SavedComparison(name="comparison", a=a, b=b, **how)


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
