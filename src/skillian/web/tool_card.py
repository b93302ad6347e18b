"""A tool call as a card that opens: arguments, SQL, time, result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from skillian.api.service import Service
from skillian.web import results, text

Answer = Callable[[str, bool, str], None]
"""Is called with a call's id, whether it is approved, and the reason."""


class ToolCard:
    """One call, from its start to its result; what the card holds is made as it is opened.

    Args:
        service: knows what results refer to.
        call: as the event `tool_started` tells it.
        answer: takes a person's yes or no.
    """

    def __init__(self, service: Service, call: dict[str, Any], answer: Answer) -> None:
        self._service = service
        self._call = call
        self._answer = answer
        self._finished: dict[str, Any] | None = None
        self._is_filled = False
        with ui.element("div").classes("tool-card panel").mark("tool-card") as self._card:
            self._card.props["data-testid"] = "tool-card"
            self._build_head()
            self._question = ui.element("div").classes("pad line approval")
            self._question.set_visibility(False)
            self._body = ui.element("div").classes("pad stack tool-body")
            self._body.set_visibility(False)

    def finish(self, told: dict[str, Any]) -> None:
        """Show what came of the call, as the event `tool_finished` tells it."""
        self._finished = told
        self._question.set_visibility(False)
        failed = told["is_error"] or results.fault_of(told["result"]) is not None
        self._state.set_text("✕ failed" if failed else "✓ done")
        self._state.classes(remove="running", add="fault" if failed else "soft")
        self._time.set_text(duration(told["duration_ms"]))
        if self._body.visible:
            self._fill()

    def ask(self) -> None:
        """Show the question whether the call may be made."""
        self._state.set_text("? waits for approval")
        self._question.clear()
        self._question.set_visibility(True)
        with self._question:
            ui.label("May this call be made?").classes("grow")
            ui.button("Approve", on_click=lambda: self._decide(approved=True)).props("unelevated")
            ui.button("Deny", on_click=lambda: self._decide(approved=False)).props("outline")

    def answered(self, *, approved: bool, reason: str) -> None:
        """Show what was answered."""
        self._question.clear()
        self._state.set_text("… running" if approved else "✕ denied")
        with self._question:
            ui.label("Approved" if approved else f"Denied: {reason or 'no reason was given'}")

    def stop(self) -> None:
        """The turn has ended without a result of this call."""
        if self._finished is None:
            self._question.set_visibility(False)
            self._state.classes(remove="running")
            self._state.set_text("✕ not finished")

    def _build_head(self) -> None:
        name = self._call["tool"]
        with ui.element("button").classes("tool-head line") as self._head:
            self._head.props("type=button aria-expanded=false")
            self._head.props["aria-label"] = f"{name}: arguments and result"
            self._head.on("click", self._toggle)
            ui.icon("chevron_right").classes("tool-arrow").props("aria-hidden=true")
            ui.label(name).classes("mono tool-name")
            ui.label(text.one_line(self._call["args"])).classes("soft small tool-args grow")
            self._state = ui.label("… running").classes("small running")
            self._time = ui.label("").classes("small soft number")

    def _toggle(self) -> None:
        opened = not self._body.visible
        self._body.set_visibility(opened)
        self._head.props(f"aria-expanded={'true' if opened else 'false'}")
        self._head.classes(toggle="opened")
        if opened:
            self._fill()

    def _fill(self) -> None:
        if self._is_filled:
            return
        self._is_filled = self._finished is not None
        self._body.clear()
        with self._body:
            self._show_arguments()
            if self._finished is not None:
                results.show_statements(self._service, self._finished["result"])
                ui.label("Result").classes("part")
                results.show(self._service, self._call["tool"], self._finished["result"])

    def _show_arguments(self) -> None:
        given = dict(self._call["args"])
        code = given.pop("code", None) if self._call["tool"] == "run_python" else None
        if isinstance(code, str):
            ui.label("Code").classes("part")
            text.code(code, "python")
        if given or code is None:
            ui.label("Arguments").classes("part")
            text.as_json(given)

    def _decide(self, *, approved: bool) -> None:
        self._answer(self._call["id"], approved, "")


def duration(milliseconds: float) -> str:
    """How long something took, for people."""
    if milliseconds < 1000:  # noqa: PLR2004 - a second
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s"
