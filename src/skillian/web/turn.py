"""One turn of a conversation: the question, what was done, the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from skillian.api.service import Service
from skillian.display import printable
from skillian.storage import TurnEvent
from skillian.web import results, text
from skillian.web.code_card import CodeCard, plots
from skillian.web.comparison import comparison_view
from skillian.web.tool_card import Answer, ToolCard
from skillian.web.work import start

_SIGNALS = {"uncertain": "? uncertain", "explore": "⌕ exploring", "commit": "✓ decided"}


@dataclass(frozen=True, slots=True)
class Actions:
    """What a turn's buttons do.

    Attributes:
        ask: Asks a question.
        edit: Puts a question where it can be changed.
        answer: Takes the answer to a call that waits for approval.
    """

    ask: Callable[[str], None]
    edit: Callable[[str], None]
    answer: Answer


class TurnView:
    """A turn, built from its events in their order.

    Args:
        service: knows what results refer to.
        session_id: whose turn it is.
        opened: the event `turn_started`.
        actions: what its buttons do.
    """

    def __init__(
        self, service: Service, session_id: str, opened: TurnEvent, actions: Actions
    ) -> None:
        self._service = service
        self._actions = actions
        self._question = str(opened.data["message"])
        self._run = f"/runs/{session_id}/{opened.turn}"
        self._tools: dict[str, ToolCard] = {}
        self._code: CodeCard | None = None
        self._text = ""
        self._compared: tuple[str, dict[str, Any]] | None = None
        self._comparison: ComparisonCard | None = None
        with ui.element("article").classes("turn").props("aria-busy=true") as self._turn:
            self._build_question()
            self._steps = ui.element("div").classes("stack steps")
            self._streamed = ui.label("").classes("answer streamed")
            self._answer = ui.element("div").classes("stack answer-room")
            self._waiting = ui.label("Working on it …").classes("soft small working")
            self._waiting.props("role=status")
            self._below = ui.element("div").classes("stack below")
        self._answer.props["aria-live"] = "polite"

    def show(self, event: TurnEvent) -> None:  # noqa: C901 - a case an event
        """Show what happened next."""
        data = event.data
        match event.type:
            case "delta":
                self._add_text(data)
            case "tool_started":
                self._keep_remark()
                with self._steps:
                    self._tools[data["id"]] = ToolCard(self._service, data, self._actions.answer)
            case "tool_finished":
                self._finish_tool(data)
            case "approval_wanted":
                self._tools[data["id"]].ask()
            case "approval_given":
                given = self._tools[data["id"]]
                given.answered(approved=data["approved"], reason=data["reason"])
            case "code_started" | "code_output" | "code_finished":
                self._show_code(event)
            case "signal":
                with self._steps, ui.element("div").classes("line small signal"):
                    ui.label(_SIGNALS.get(str(data["type"]), "signal")).classes("part")
                    ui.label(printable(str(data["message"])))
            case "answer":
                self._show_answer(data)
            case "turn_failed":
                self._keep_remark()
                with self._answer:
                    ui.label(printable(str(data["message"]))).classes("fault answer").props(
                        "role=alert"
                    )
            case "turn_ended":
                self._end()
            case _:
                pass

    def open_comparison(self) -> None:
        """Open the comparison that the turn came to, if there is one."""
        if self._comparison is not None:
            self._comparison.open()

    def _build_question(self) -> None:
        with ui.element("div").classes("question"):
            ui.label(printable(self._question)).classes("question-text grow")
            edit = ui.button(icon="edit", on_click=lambda: self._actions.edit(self._question))
            edit.props('flat dense round size=sm aria-label="Edit"').tooltip("Edit and ask")

    def _add_text(self, data: dict[str, Any]) -> None:
        if data["kind"] == "restart":
            self._text = ""
        elif data["kind"] == "text":
            self._text += data["text"]
        else:
            return  # what a model thinks is in the run's timeline
        self._streamed.set_text(printable(self._text[: text.LONGEST]))

    def _keep_remark(self) -> None:
        """What was said before a call, or before the turn was stopped, is no answer."""
        if self._text.strip():
            with self._steps:
                ui.label(printable(self._text)).classes("soft remark")
        self._text = ""
        self._streamed.set_text("")

    def _finish_tool(self, data: dict[str, Any]) -> None:
        self._tools[data["id"]].finish(data)
        if data["tool"] == "run_python" and results.fault_of(data["result"]) is None:
            with self._steps:
                plots(self._service, data["result"])
        key = results.comparison_key(data["tool"], data["result"])
        if key is not None:
            self._compared = key, data["result"]

    def _show_code(self, event: TurnEvent) -> None:
        if event.type == "code_started":
            self._keep_remark()
            with self._steps:
                self._code = CodeCard(event.data["code"])
        elif self._code is not None and event.type == "code_output":
            self._code.write(event.data["text"])
        elif self._code is not None:
            self._code.finish(event.data)

    def _show_answer(self, data: dict[str, Any]) -> None:
        self._streamed.set_text("")
        with self._answer:
            with ui.element("div").classes("answer") as shown:
                shown.props["data-testid"] = "answer"
                text.markdown(str(data["content"]))
            if data.get("unverified"):
                told = ", ".join(data["unverified"])
                note = ui.label(printable(f"⚠ In no result of a tool: {told}")).classes(
                    "small unverified"
                )
                note.props("role=note")

    def _end(self) -> None:
        self._turn.props(remove="aria-busy")
        self._waiting.set_visibility(False)
        self._streamed.set_text("")
        for card in self._tools.values():
            card.stop()
        with self._below:
            with ui.element("div").classes("line turn-end"):
                again = ui.button("Ask again", on_click=lambda: self._actions.ask(self._question))
                again.props("flat dense no-caps icon=refresh").classes("small")
                ui.link("Timeline", self._run).classes("small")
            if self._compared is not None:
                key, result = self._compared
                self._comparison = ComparisonCard(self._service, key, result)


class ComparisonCard:
    """A comparison in an answer; the view is made as the card is opened.

    Args:
        service: knows it.
        key: its cache key.
        result: what the tool told of it.
    """

    def __init__(self, service: Service, key: str, result: dict[str, Any]) -> None:
        self._service = service
        self._key = key
        title = f"{result['source_a']} and {result['source_b']}"
        with ui.element("section").classes("comparison-card panel") as card:
            card.props["aria-label"] = f"Comparison of {title}"
            with ui.element("div").classes("line pad comparison-head"):
                self._button = ui.button("Open the comparison", on_click=self._toggle)
                self._button.props("flat dense icon=table_chart aria-expanded=false")
                ui.space()
                ui.link("On its own page", f"/compare/{key}").classes("small")
            self._room = ui.element("div").classes("comparison-room")
            self._room.set_visibility(False)
        self._is_filled = False

    def open(self) -> None:
        """Show it."""
        if not self._room.visible:
            self._toggle()

    def _toggle(self) -> None:
        opened = not self._room.visible
        self._room.set_visibility(opened)
        self._button.set_text("Close the comparison" if opened else "Open the comparison")
        self._button.props(f"aria-expanded={'true' if opened else 'false'}")
        if opened and not self._is_filled:
            self._is_filled = True
            work = comparison_view(self._service, self._key, level=2)
            start(work, "comparison", self._room)
