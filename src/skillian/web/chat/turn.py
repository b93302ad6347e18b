"""One turn of a conversation: the question, the steps, the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from skillian.api.service import Service
from skillian.display import DIFFERS, VERIFIED, printable
from skillian.storage import TurnEvent
from skillian.web.chat import results
from skillian.web.chat.tool_card import OnApproval, ToolCard
from skillian.web.comparison.view import comparison_view
from skillian.web.shell import text
from skillian.web.shell.activity import start_task


@dataclass(frozen=True, slots=True)
class Actions:
    """What the buttons of a turn do.

    Attributes:
        ask: Asks a question.
        edit: Puts a question into the composer.
        approve: Answers a call that waits for approval.
    """

    ask: Callable[[str], None]
    edit: Callable[[str], None]
    approve: OnApproval


class TurnView:
    """A turn, built from its events in order.

    Args:
        service: Resolves what results refer to.
        session_id: The session of the turn.
        started: The event `turn_started`.
        actions: What the buttons do.
    """

    def __init__(
        self, service: Service, session_id: str, started: TurnEvent, actions: Actions
    ) -> None:
        self._service = service
        self._actions = actions
        self._question = str(started.data["message"])
        self._timeline = f"/runs/{session_id}/{started.turn}"
        self._tools: dict[str, ToolCard] = {}
        self._text = ""
        self._thought: ThoughtCard | None = None
        self._compared: tuple[str, dict[str, Any]] | None = None
        self._comparison: ComparisonCard | None = None
        with ui.element("article").classes("turn").props("aria-busy=true") as self._turn:
            self._build_question()
            self._steps = ui.element("div").classes("stack steps")
            self._streamed = ui.label("").classes("answer streamed")
            self._answer = ui.element("div").classes("stack answer-room")
            self._working = ui.label("Working on it …").classes("soft small working")
            self._working.props("role=status")
            self._below = ui.element("div").classes("stack below")
        self._answer.props["aria-live"] = "polite"

    def show(self, event: TurnEvent) -> None:
        """Show the next event; types that this page does not know are ignored."""
        data = event.data
        match event.type:
            case "delta":
                self._add_text(data)
            case "tool_started":
                self._keep_remark()
                with self._steps:
                    card = ToolCard(self._service, data, self._actions.approve)
                self._tools[data["id"]] = card
            case "tool_finished":
                self._finish_tool(data)
            case "approval_wanted":
                self._tools[data["id"]].request_approval()
            case "approval_given":
                card = self._tools[data["id"]]
                card.show_decision(approved=data["approved"], reason=data["reason"])
            case "answer":
                self._show_answer(data)
            case "turn_failed":
                self._show_failure(str(data["message"]))
            case "turn_ended":
                self._end()
            case _:
                pass

    def open_comparison(self) -> None:
        """Open the comparison of this turn, if it made one."""
        if self._comparison is not None:
            self._comparison.open()

    def _build_question(self) -> None:
        with ui.element("div").classes("question"):
            ui.label(printable(self._question)).classes("question-text grow")
            edit = ui.button(icon="edit", on_click=lambda: self._actions.edit(self._question))
            edit.props('flat dense round size=sm aria-label="Edit"').tooltip("Edit and ask again")

    def _add_text(self, data: dict[str, Any]) -> None:
        if data["kind"] == "restart":
            self._text = ""
            self._drop_thought()
        elif data["kind"] == "text":
            self._text += data["text"]
        else:
            self._add_thought(data["text"])
            return
        self._streamed.set_text(printable(self._text[: text.LONGEST]))

    def _add_thought(self, thought: str) -> None:
        if self._thought is None:
            with self._steps:
                self._thought = ThoughtCard()
        self._thought.write(thought)

    def _drop_thought(self) -> None:
        if self._thought is not None:
            self._thought.delete()
            self._thought = None

    def _keep_remark(self) -> None:
        """Keep text that turned out not to be the answer: a call followed, or the turn ended."""
        self._thought = None
        if self._text.strip():
            with self._steps:
                ui.label(printable(self._text)).classes("soft remark")
        self._text = ""
        self._streamed.set_text("")

    def _finish_tool(self, data: dict[str, Any]) -> None:
        self._tools[data["id"]].finish(data)
        if data["tool"] == "run_python" and results.error_of(data["result"]) is None:
            with self._steps:
                results.show_plots(self._service, data["result"])
        key = results.comparison_key(data["tool"], data["result"])
        if key is not None:
            self._compared = key, data["result"]

    def _show_answer(self, data: dict[str, Any]) -> None:
        self._streamed.set_text("")
        with self._answer:
            with ui.element("div").classes("answer") as answer:
                answer.props["data-testid"] = "answer"
                text.markdown(str(data["content"]))
            if data.get("verified") is not None:
                agrees = data["verified"]
                mark = ui.label(VERIFIED if agrees else DIFFERS).props("role=note")
                mark.classes("small verified" if agrees else "small differs")
            for parts in data.get("scope", ()):
                with ui.element("div").classes("line scope") as scope:
                    scope.props["aria-label"] = "Scope of the answer"
                    for part in parts:
                        ui.badge(printable(part)).props("outline").classes("small")
            if data.get("unverified"):
                numbers = ", ".join(data["unverified"])
                note = ui.label(printable(f"⚠ Not in any tool result: {numbers}"))
                note.classes("small unverified").props("role=note")

    def _show_failure(self, message: str) -> None:
        self._keep_remark()
        with self._answer:
            ui.label(printable(message)).classes("fault answer").props("role=alert")

    def _end(self) -> None:
        self._turn.props(remove="aria-busy")
        self._working.set_visibility(False)
        self._streamed.set_text("")
        for card in self._tools.values():
            card.stop()
        with self._below:
            with ui.element("div").classes("line turn-end"):
                again = ui.button("Ask again", on_click=lambda: self._actions.ask(self._question))
                again.props("flat dense no-caps icon=refresh").classes("small")
                ui.link("Timeline", self._timeline).classes("small")
            if self._compared is not None:
                key, result = self._compared
                self._comparison = ComparisonCard(self._service, key, result)


class ThoughtCard:
    """The reasoning of a model, folded: its length is visible, its text after a click."""

    def __init__(self) -> None:
        self._written = ""
        self._size = 0
        with ui.element("details").classes("thought small soft") as self._card:
            self._card.mark("thought")
            with ui.element("summary"):
                self._title = ui.label("Reasoning").style("display: inline")
            self._label = ui.label("").classes("thought-text")

    def write(self, thought: str) -> None:
        """Add to the reasoning."""
        self._size += len(thought)
        self._written = (self._written + thought)[: text.LONGEST]
        self._title.set_text(f"Reasoning ({self._size:,} characters)")
        self._label.set_text(printable(self._written))

    def delete(self) -> None:
        """Remove the card: the model starts its answer again."""
        self._card.delete()


class ComparisonCard:
    """A comparison below an answer; its view is built when the card is opened.

    Args:
        service: Holds the comparison.
        key: The key of the comparison.
        result: The result of the tool call that made it.
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
                ui.link("Open on a separate page", f"/compare/{key}").classes("small")
            self._room = ui.element("div").classes("comparison-room")
            self._room.set_visibility(False)
        self._is_filled = False

    def open(self) -> None:
        """Open the card."""
        if not self._room.visible:
            self._toggle()

    def _toggle(self) -> None:
        is_open = not self._room.visible
        self._room.set_visibility(is_open)
        self._button.set_text("Close the comparison" if is_open else "Open the comparison")
        self._button.props(f"aria-expanded={'true' if is_open else 'false'}")
        if is_open and not self._is_filled:
            self._is_filled = True
            work = comparison_view(self._service, self._key, level=2)
            start_task(work, "comparison", self._room)
