"""The file and the command that make a saved comparison part of CI."""

from __future__ import annotations

import re
import shlex

from nicegui import ui

from skillian.data.declare.saved import SavedComparison, saved_text
from skillian.display import printable
from skillian.uploads.tables import upload_ids
from skillian.web.shell import text
from skillian.web.shell.buttons import IconButton
from skillian.web.shell.elements import Heading

_LONGEST = 60


def command_panel(name: str, question: SavedComparison, sources: str) -> None:
    """Show how the comparison runs in CI, or why it cannot.

    Args:
        name: The name of the saved comparison.
        question: What it compares.
        sources: The name of the server's `sources.yaml`.
    """
    with ui.element("section").classes("panel pad stack") as section:
        section.props["aria-label"] = "Run it in CI"
        Heading("Run it in CI", 2)
        if upload_ids((question.a, question.b)):
            ui.label(
                "A comparison of uploaded files cannot run in CI, which does not have them. Put the"
                " files into the repository, and save their comparison there:"
            )
            _copied("skillian compare a.csv b.csv --save NAME", "text", "Copy the command")
            return
        file = f"{_file_name(name)}.yaml"
        content = saved_text(sources, [question.model_copy(update={"name": name})])
        ui.label(f"1. Save this as {file} next to {printable(sources)}:")
        _copied(content, "yaml", "Copy the file")
        ui.label("2. Run it. The exit code is 1 if there are findings that are not known:")
        _copied(f"skillian compare {shlex.quote(file)} --fail-on new", "text", "Copy the command")


def _copied(content: str, language: str, label: str) -> None:
    with ui.element("div").classes("line copied"):
        text.code(content, language).classes("grow")
        IconButton("content_copy", label, lambda: _copy(content))


def _copy(content: str) -> None:
    ui.clipboard.write(content)
    ui.notify("Copied", position="top")


def _file_name(name: str) -> str:
    """The name as that of a file."""
    plain = re.sub(r"[^\w.-]+", "-", name.casefold())[:_LONGEST].strip("-.")
    return plain or "comparison"
