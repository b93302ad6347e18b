"""A tool call as a card that opens: arguments, SQL, duration, result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nicegui import ui

from skillian.api.service import Service
from skillian.display import printable
from skillian.web.chat import results
from skillian.web.shell import text
from skillian.web.shell.buttons import Button

OnApproval = Callable[[str, bool, str], None]
"""Called with the id of a call, whether it is approved, and the reason."""


class ToolCard:
    """One call, from its start to its result; the content is built when the card is opened.

    Args:
        service: Resolves what results refer to.
        call: The data of the event `tool_started`.
        on_approval: Gets the decision if the call waits for approval.
    """

    def __init__(self, service: Service, call: dict[str, Any], on_approval: OnApproval) -> None:
        self._service = service
        self._call = call
        self._on_approval = on_approval
        self._finished: dict[str, Any] | None = None
        self._is_filled = False
        with ui.element("div").classes("tool-card panel").mark("tool-card") as self._card:
            self._card.props["data-testid"] = "tool-card"
            self._build_head()
            self._approval = ui.element("div").classes("pad line approval")
            self._approval.set_visibility(False)
            self._body = ui.element("div").classes("pad stack tool-body")
            self._body.set_visibility(False)

    def finish(self, finished: dict[str, Any]) -> None:
        """Show the result of the call.

        Args:
            finished: The data of the event `tool_finished`.
        """
        self._finished = finished
        self._approval.set_visibility(False)
        failed = finished["is_error"] or results.error_of(finished["result"]) is not None
        self._state.set_text("✕ failed" if failed else "✓ done")
        self._state.classes(remove="running", add="fault" if failed else "soft")
        with self._time:
            duration(finished["duration_ms"])
        if self._body.visible:
            self._fill()

    def request_approval(self, wanted: dict[str, Any]) -> None:
        """Ask whether the call may run.

        Args:
            wanted: The data of the event `approval_wanted`.
        """
        self._state.set_text("? waiting for approval")
        self._approval.clear()
        self._approval.set_visibility(True)
        with self._approval:
            ui.label("Allow this call?").classes("grow")
            _show_origins(wanted.get("origins", ()))
            Button("Approve", lambda: self._decide(approved=True), kind="primary")
            Button("Deny", lambda: self._decide(approved=False))

    def show_decision(self, *, approved: bool, reason: str) -> None:
        """Show whether the call was approved."""
        self._approval.clear()
        self._state.set_text("… running" if approved else "✕ denied")
        with self._approval:
            ui.label("Approved" if approved else f"Denied: {reason or 'no reason given'}")

    def stop(self) -> None:
        """Mark a call that has no result when the turn ends."""
        if self._finished is None:
            self._approval.set_visibility(False)
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
            self._time = ui.element("span").classes("small soft number")

    def _toggle(self) -> None:
        is_open = not self._body.visible
        self._body.set_visibility(is_open)
        self._head.props(f"aria-expanded={'true' if is_open else 'false'}")
        self._head.classes(toggle="opened")
        if is_open:
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
                results.show_result(self._service, self._call["tool"], self._finished["result"])

    def _show_arguments(self) -> None:
        arguments = dict(self._call["args"])
        code = arguments.pop("code", None) if self._call["tool"] == "run_python" else None
        if isinstance(code, str):
            ui.label("Code").classes("part")
            text.code(code, "python")
        if arguments or code is None:
            ui.label("Arguments").classes("part")
            text.as_json(arguments)

    def _decide(self, *, approved: bool) -> None:
        self._on_approval(self._call["id"], approved, "")


def _show_origins(origins: Iterable[Mapping[str, str]]) -> None:
    """Show of each value why it is not allowed, or who vouches for it."""
    for origin in origins:
        by = "your question" if origin["from"] == "user" else origin["from"] or "allowed"
        words = origin["fault"] or f"`{origin['path']}`: {by}"
        ui.label(printable(words)).classes(f"small origin {'fault' if origin['fault'] else 'soft'}")


def duration(milliseconds: float, words: str = "") -> ui.html:
    """Show a duration, and words after it."""
    if milliseconds < 1000:  # noqa: PLR2004 - a second
        return text.sentence(f"{milliseconds:.0f} ms{words}")
    return text.sentence(text.amount(f"{milliseconds / 1000:.1f}"), f" s{words}")
