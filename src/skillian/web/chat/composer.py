"""The box for a question: Enter sends it, Shift+Enter starts a new line."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files

from nicegui import ui
from nicegui.events import GenericEventArguments

from skillian.web.shell.buttons import Button

# The event carries the text, so that the last characters typed are always part of it.
_ON_ENTER = """(event) => {
  if (event.shiftKey || event.isComposing) return;
  event.preventDefault();
  emit(event.target.value);
}"""

_DELETE_DRAFT = "sessionStorage.removeItem('skillian-draft ' + location.pathname)"


class Composer:
    """Takes questions, and keeps a draft in the browser tab.

    Args:
        send: Gets each question.
        stop: Ends the answer in progress.
    """

    def __init__(self, send: Callable[[str], None], stop: Callable[[], None]) -> None:
        self._send = send
        self._is_busy = False
        with ui.element("div").classes("composer"):
            with ui.element("div").classes("composer-box"):
                self._text = ui.textarea(placeholder="Ask about your sources").classes("grow")
                self._text.props(remove="outlined")  # the box around it has the border
                self._text.props('borderless dense autogrow autofocus rows=1 aria-label="Message"')
                self._text.on("keydown.enter", self._on_enter, js_handler=_ON_ENTER)
                self._stop = Button("Stop", stop, icon="stop")
                self._stop.set_visibility(False)
                Button("Send", self._on_click, kind="primary", icon="send")
            ui.context.client.on_connect(self._restore_draft)  # pyright: ignore[reportUnknownMemberType]
            ui.label("Enter to send, Shift+Enter for a new line").classes("hint small soft")

    def set_text(self, text: str) -> None:
        """Put a text into the box for the reader to change and send."""
        self._text.set_value(text)
        self._text.run_method("focus")

    def set_busy(self, *, busy: bool) -> None:
        """Show or hide the stop button."""
        if busy != self._is_busy:
            self._is_busy = busy
            self._stop.set_visibility(busy)

    def _on_enter(self, event: GenericEventArguments) -> None:
        self._take(str(event.args))

    def _on_click(self) -> None:
        self._take(self._text.value or "")

    def _take(self, text: str) -> None:
        if text.strip():
            self._text.set_value("")
            self._text.client.run_javascript(_DELETE_DRAFT)
            self._send(text)

    def _restore_draft(self) -> None:
        self._text.client.run_javascript(_draft_script())


@cache
def _draft_script() -> str:
    return files("skillian.web.chat").joinpath("draft.js").read_text(encoding="utf-8")
