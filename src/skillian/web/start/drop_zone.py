"""The place where files are dropped or chosen; the browser sends them to the service itself."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from nicegui import ui
from nicegui.element import Element

from skillian.api.limits import UPLOADS
from skillian.display import printable
from skillian.uploads.limits import KINDS, SUFFIXES

_STEP = 1000


def size_text(size: int) -> str:
    """The size of a file in a unit that needs few digits."""
    for unit in ("B", "kB", "MB"):
        if size < _STEP:
            return f"{size} {unit}"
        size = round(size / _STEP)
    return f"{size} GB"


class DropZone(Element, component="drop_zone.js"):
    """A zone for files, with the progress of each, its refusal, and a button that cancels it.

    Args:
        max_bytes: The maximum size of a file.
        kept: What the reader should know about how long files are kept.
        stored: Called with the id of a file that the service has stored.
        replaces: The id and the name of the file whose place the next one takes, if there is one.
    """

    def __init__(
        self,
        max_bytes: int,
        kept: str,
        stored: Callable[[str], object],
        replaces: tuple[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.props["url"] = UPLOADS
        self.props["suffixes"] = list(SUFFIXES)
        self.props["maxBytes"] = max_bytes
        *kinds, last = KINDS
        self.props["hint"] = (
            f"{', '.join(kinds)} or {last}, up to {size_text(max_bytes)} each. {kept}"
        )
        self.props["options"] = ""
        self.on("stored", lambda event: stored(event.args["id"]))
        if replaces is not None:
            self.props["replaces"], self.props["replaced"] = replaces[0], printable(replaces[1])

    def read_sheet(self, upload_id: str, sheet: str) -> None:
        """Send a workbook again, to read another one of its sheets.

        Args:
            upload_id: What the service called it when this page had sent it.
            sheet: The name of the sheet.
        """
        self.run_method("again", upload_id, sheet)


_DECIMALS = {".": "1.50", ",": "1,50"}
_ENCODINGS = {"": "UTF-8, or UTF-16 with its mark", "cp1252": "Windows-1252", "latin-1": "Latin-1"}


def writing_fields(zone: DropZone) -> None:
    """Offer how the next text files are written, where their content does not say.

    Args:
        zone: Where the files are dropped.
    """

    def update() -> None:
        stated = {"decimal": decimal.value, "encoding": encoding.value}
        chosen = {key: value for key, value in stated.items() if value not in {"", "."}}
        zone.props["options"] = urlencode(chosen)

    with ui.expansion("How text files are written").classes("full"):
        with ui.element("div").classes("form-grid"):
            decimal = ui.select(_DECIMALS, value=".", label="Decimal numbers", on_change=update)
            encoding = ui.select(_ENCODINGS, value="", label="Encoding", on_change=update)
        for field in (decimal, encoding):
            field.props["aria-label"] = field.props["label"]
        ui.label("This applies to the files that you choose next.").classes("soft small")
