"""Code that a model wrote and what came of it: output, value, tables, plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui
from starlette.responses import Response

from skillian.api.auth import PAGE
from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.display import printable
from skillian.web import text

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})
PLOTS = "/plots"
"""Where the page serves what `run_python` has drawn."""

# An SVG is a document of its own: opened by itself it runs nothing and loads nothing.
_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


def code_result(service: Service, told: Mapping[str, Any]) -> None:
    """Show the result of `run_python`; its pictures are shown by `plots`."""
    if told.get("output"):
        _part("Output", str(told["output"]))
    if told.get("value"):
        _part("Value", str(told["value"]))
    if told.get("code_error"):
        ui.label("Error").classes("part fault")
        text.code(str(told["code_error"]), "text").classes("fault")
    for grid in told.get("tables", ()):
        with ui.element("div").classes("scroll-x"):
            caption = f"{len(grid['rows'])} of {grid['total_rows']} rows"
            text.table(grid["columns"], grid["rows"], caption)
    for file in told.get("artifacts", ()):
        _artifact(service, file)


def plots(service: Service, told: Mapping[str, Any]) -> None:
    """Show the pictures among the files of a result of `run_python`."""
    for file in told.get("artifacts", ()):
        found = file.get("id")
        if file["media_type"] not in IMAGES or found is None:
            continue
        if service.skills.find_artifact(found) is None:
            ui.label(f"{file['name']} is not kept any more; run the code again").classes("soft")
            continue
        picture = ui.element("img").classes("plot")
        picture.props["src"] = f"{PAGE}{PLOTS}/{found}"
        picture.props["alt"] = f"Plot {file['name']}, drawn by the code above"


def plot_response(service: Service, name: str) -> Response:
    """A picture that `run_python` has made.

    Raises:
        ProblemError: there is none of this id any more, or it is no picture (404).
    """
    found = service.skills.find_artifact(name)
    if found is None or found.media_type not in IMAGES:
        raise ProblemError(404, "artifact_not_found", "There is no such picture (any more).")
    return Response(found.data, media_type=found.media_type, headers=_HEADERS)


class CodeCard:
    """A block of a code agent, and its output as it comes.

    Args:
        code: the block.
    """

    def __init__(self, code: str) -> None:
        self._written = ""
        with ui.element("div").classes("tool-card panel pad stack").mark("code-card"):
            text.code(code, "python")
            self._output = ui.label("").classes("mono output")

    def write(self, output: str) -> None:
        """Show more output."""
        self._written = printable(self._written + output)[-text.LONGEST :]
        self._output.set_text(self._written)

    def finish(self, told: Mapping[str, Any]) -> None:
        """Show how it ended."""
        self._output.set_text(str(told.get("output") or self._written))
        if told.get("error"):
            with self._output.parent_slot or ui.element("div"):
                text.code(str(told["error"]), "text").classes("fault")


def _part(title: str, content: str) -> None:
    ui.label(title).classes("part")
    text.code(content, "text")


def _artifact(service: Service, file: Mapping[str, Any]) -> None:
    name, found = str(file["name"]), file.get("id")
    if found is None or service.skills.find_artifact(found) is None:
        ui.label(f"{name} is not kept any more; run the code again").classes("soft")
        return
    link = ui.element("a").classes("small")
    link.props["href"] = f"/artifacts/{found}"
    link.props["download"] = name
    with link:
        ui.label(f"Download {name} ({file['bytes']} bytes)")
