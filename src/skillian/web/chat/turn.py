"""One turn of a conversation: the question, the steps, the answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui

from skillian.api.service import Service
from skillian.chat.answer_check import amounts_of
from skillian.chat.direct import direct_call
from skillian.chat.questions import FollowUp, PastCall, follow_ups
from skillian.chat.scope import scope_of, without_unused
from skillian.data.for_models import hidden_among
from skillian.display import DIFFERS, VERIFIED, printable
from skillian.offline.earlier import COMPARE, QUERY
from skillian.offline.language.vocabulary import Vocabulary
from skillian.offline.wording import word_result
from skillian.storage import TurnEvent
from skillian.web.chat import results
from skillian.web.chat.query_table import QueryTable
from skillian.web.chat.scope_line import ScopeLine, stated
from skillian.web.chat.tool_card import OnApproval, ToolCard
from skillian.web.comparison.view import comparison_view
from skillian.web.shell import text
from skillian.web.shell.activity import start_task
from skillian.web.shell.buttons import Button, IconButton

WORKING = "Working on it …"
_DOING = {
    "compare_sources": "Comparing both sources …",
    "query_source": "Reading the source …",
    "explain_difference": "Looking for the reason …",
    "drill_down": "Reading the rows of both sides …",
    "run_python": "Running the code …",
}
_BEHIND = "drill_down"
_AGAIN = "Ask again, or change the question. If it fails again, look into the log of skillian."


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
        owner: Who reads it.
    """

    def __init__(
        self,
        service: Service,
        session_id: str,
        started: TurnEvent,
        actions: Actions,
        owner: str = "",
    ) -> None:
        self._service = service
        self._owner = owner
        self._actions = actions
        self._question = str(started.data["message"])
        self._direct = direct_call(self._question)
        self._calls: dict[str, dict[str, Any]] = {}
        self._queries: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._scoped: list[tuple[list[str], str, dict[str, Any]]] = []
        self._timeline = f"/runs/{session_id}/{started.turn}"
        self._tools: dict[str, ToolCard] = {}
        self._text = self._said = ""
        self._is_answered, self._offers = False, list[str]()
        self._past: list[PastCall] = []
        self._results: list[Any] = []
        self._thought: ThoughtCard | None = None
        self._compared: tuple[str, dict[str, Any]] | None = None
        self._comparison: ComparisonCard | None = None
        with ui.element("article").classes("turn").props("aria-busy=true") as self._turn:
            self._build_question()
            self._steps = ui.element("div").classes("stack steps")
            self._streamed = ui.label("").classes("answer streamed")
            self._answer = ui.element("div").classes("stack answer-room")
            self._working = ui.label(WORKING).classes("soft small working")
            self._working.props("role=status")
            self._offered = ui.element("div").classes("line follow-ups")
            self._offered.props["role"] = "group"
            self._offered.props["aria-label"] = "What this result can also show"
            self._offered.set_visibility(False)
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
                self._calls[data["id"]] = data
                self._working.set_text(_DOING.get(data["tool"], f"Running {data['tool']} …"))
            case "tool_finished":
                self._finish_tool(data)
                self._working.set_text(WORKING)
            case "approval_wanted":
                self._tools[data["id"]].request_approval(data)
                self._working.set_text("Waiting for your approval …")
            case "approval_given":
                self._working.set_text(WORKING)
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

    def follow_ups(self, vocabulary: Vocabulary) -> tuple[FollowUp, ...]:
        """The readings of a question that was not answered, or what its result can also show."""
        if self._offers:
            return tuple(FollowUp(each, each) for each in self._offers)
        if not self._is_answered:
            return ()
        hidden = hidden_among(self._service.data.registry, vocabulary.sources)
        return follow_ups(self._past, vocabulary, hidden)

    def offer(self, offered: Sequence[FollowUp]) -> None:
        """Show a button for each of these questions."""
        self.withdraw()
        self._offered.set_visibility(bool(offered))
        with self._offered:
            for each in offered:
                ask = partial(self._actions.ask, each.question)
                Button(printable(each.label), ask).mark("follow-up")

    def withdraw(self) -> None:
        """Offer nothing."""
        self._offered.clear()
        self._offered.set_visibility(False)

    def open_comparison(self) -> None:
        """Open the comparison of this turn, if it made one."""
        if self._comparison is not None:
            self._comparison.open()

    def _build_question(self) -> None:
        with ui.element("div").classes("question"):
            words = self._question if self._direct is None else self._direct.words
            ui.label(printable(words)).classes("question-text grow")
            if self._direct is None:
                edit = IconButton("edit", "Edit", lambda: self._actions.edit(self._question))
                edit.props("size=sm")

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
        result: Any = data["result"]
        self._results.append(result)
        arguments = dict(self._calls[data["id"]]["args"])
        if _is_map(result) and results.error_of(result) is None:
            self._past.append(PastCall(data["tool"], arguments, result))
        key = results.comparison_key(data["tool"], result)
        if key is not None:
            self._compared = key, result
        scope = scope_of(result)
        if scope is None or data["tool"] not in {COMPARE, QUERY}:
            return
        self._scoped.append((scope, data["tool"], arguments))
        if data["tool"] == QUERY and "rows" in result:
            self._queries.append((arguments, result))

    def _show_answer(self, data: dict[str, Any]) -> None:
        self._streamed.set_text("")
        with self._answer:
            with ui.element("div").classes("answer") as answer:
                answer.props["data-testid"] = "answer"
                self._said = str(data["content"])
                self._fill_answer(amounts_of(data.get("references", ()), self._results))
            self._is_answered = data.get("finished") is not False
            self._offers = data.get("offers", [])
            if not self._is_answered:
                ui.label(_AGAIN).classes("small soft")
            if data.get("verified") is not None:
                agrees = data["verified"]
                mark = ui.label(VERIFIED if agrees else DIFFERS).props("role=note")
                mark.classes("small verified" if agrees else "small differs")
            for parts in data.get("scope", ()):
                ScopeLine(self._service, parts, self._call_of(parts), self._actions.ask)
            if data.get("unverified"):
                numbers = ", ".join(data["unverified"])
                note = ui.label(printable(f"⚠ Not in any tool result: {numbers}"))
                note.classes("small unverified").props("role=note")

    def _fill_answer(self, amounts: Collection[str]) -> None:
        """Show the answer; rows are a table, in place of a list of them."""
        content = self._said
        query = self._queries[-1] if self._queries else None
        last = self._past[-1] if self._past else None
        if last is not None and last.tool == _BEHIND and _is_list_of(content, last):
            ui.label(printable(content.partition("\n")[0]))
            results.show_sides(last.result)
        elif query is None or content != word_result(QUERY, query[1], ""):
            text.markdown(content, amounts)
        if query is not None:
            QueryTable(*query, self._actions.ask)

    def _call_of(self, parts: list[str]) -> tuple[str, dict[str, Any]] | None:
        """The call with this scope, with its defaults stated, so that a part can be changed."""
        for scope, tool, arguments in self._scoped:
            if without_unused(scope) == without_unused(parts):
                return tool, stated(self._service, tool, arguments)
        return None

    def _show_failure(self, message: str) -> None:
        self._keep_remark()
        with self._answer:
            ui.label(printable(message)).classes("fault answer").props("role=alert")
            ui.label(_AGAIN).classes("small soft")

    def _end(self) -> None:
        self._turn.props(remove="aria-busy")
        self._working.set_visibility(False)
        self._streamed.set_text("")
        for card in self._tools.values():
            card.stop()
        with self._below:
            with ui.element("div").classes("line turn-end"):
                again = Button(
                    "Ask again",
                    lambda: self._actions.ask(self._question),
                    kind="quiet",
                    icon="refresh",
                )
                again.classes("small")
                ui.link("Timeline", self._timeline).classes("small")
            if self._compared is not None:
                key, result = self._compared
                self._comparison = ComparisonCard(
                    self._service, key, result, self._said, self._owner
                )


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _is_list_of(content: str, call: PastCall) -> bool:
    """Whether an answer only lists the rows of a result."""
    return content == word_result(call.tool, call.result, "", call.arguments.get("limit"))


class PendingQuestion:
    """A question that was sent, until its turn begins.

    Args:
        question: The question.
    """

    def __init__(self, question: str) -> None:
        self.question = question
        direct = direct_call(question)
        with ui.element("article").classes("turn pending").props("aria-busy=true") as self._turn:
            with ui.element("div").classes("question"):
                words = question if direct is None else direct.words
                ui.label(printable(words)).classes("question-text grow")
            ui.label("Sending the question …").classes("soft small working").props("role=status")

    def delete(self) -> None:
        """Remove it."""
        self._turn.delete()


class ThoughtCard:
    """The reasoning of a model, folded: its length is visible, its text after a click."""

    def __init__(self) -> None:
        self._written = ""
        self._size = 0
        with ui.element("details").classes("thought small soft") as self._card:
            self._card.mark("thought")
            with ui.element("summary"):
                self._title = text.sentence("Reasoning")
            self._label = ui.label("").classes("thought-text")

    def write(self, thought: str) -> None:
        """Add to the reasoning."""
        self._size += len(thought)
        self._written = (self._written + thought)[: text.LONGEST]
        self._title.set_content(f"Reasoning ({text.amount(self._size)} characters)")
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
        said: The answer.
        owner: Who reads it.
    """

    def __init__(
        self, service: Service, key: str, result: dict[str, Any], said: str, owner: str = ""
    ) -> None:
        self._service = service
        self._owner = owner
        self._key = key
        self._said = said
        title = f"{result['source_a']} and {result['source_b']}"
        with ui.element("section").classes("comparison-card panel") as card:
            card.props["aria-label"] = f"Comparison of {title}"
            with ui.element("div").classes("line pad comparison-head"):
                self._button = Button(
                    "Open the comparison", self._toggle, kind="quiet", icon="table_chart"
                )
                self._button.props("aria-expanded=false")
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
            work = comparison_view(
                self._service, self._key, level=2, owner=self._owner, said=self._said
            )
            start_task(work, "comparison", self._room)
