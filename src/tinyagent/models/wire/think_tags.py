"""Reasoning that a model writes into its text, between `<think>` and `</think>` at the start."""

from __future__ import annotations

THINK, END_THINK = "<think>", "</think>"


class ThinkSplitter:
    """Splits a streamed text into the reasoning at its start and the text after it.

    Only a text that begins with the tag, white space aside, begins with reasoning: a tag in the
    middle is a quotation.
    """

    def __init__(self) -> None:
        self._state = "start"
        self._held: str = ""
        self.gap: str = ""
        """The white space between the end of the reasoning and the text."""

    @property
    def is_plain(self) -> bool:
        """Whether everything that follows is text, with nothing held back."""
        return self._state == "text"

    def feed(self, piece: str) -> tuple[str, str]:
        """Take a piece; return the reasoning and the text that are certain now."""
        self._held += piece
        if self._state == "start":
            beginning = self._held.lstrip()
            if beginning.startswith(THINK):
                self._state, self._held = "reasoning", beginning.removeprefix(THINK)
            elif not THINK.startswith(beginning):
                self._state = "text"
            else:
                return "", ""
        thought = self._take_reasoning() if self._state == "reasoning" else ""
        if self._state == "gap":
            text = self._held.lstrip()
            self.gap += self._held[: len(self._held) - len(text)]
            self._held = text
            if text:
                self._state = "text"
        text = self._held if self._state == "text" else ""
        if self._state in {"text", "gap"}:
            self._held = ""
        return thought, text

    def rest(self) -> tuple[str, str]:
        """The reasoning and the text that were held back, once all pieces have come."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "reasoning" else ("", held)

    def _take_reasoning(self) -> str:
        thought, tag, behind = self._held.partition(END_THINK)
        if tag:
            self._state, self._held = "gap", behind
            return thought
        sizes = range(len(END_THINK) - 1, 0, -1)
        keep = next((size for size in sizes if thought.endswith(END_THINK[:size])), 0)
        self._held = thought[len(thought) - keep :]
        return thought[: len(thought) - keep]
