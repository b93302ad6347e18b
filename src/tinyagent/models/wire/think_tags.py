"""Reasoning that comes in the text, between `<think>` and `</think>` at its start."""

from __future__ import annotations


def end_of(tag: str) -> str:
    """The closing tag for an opening one."""
    return f"</{tag[1:]}"


class ThinkSplitter:
    """Splits a streamed text into the reasoning at its start and the text after it.

    Only a text that begins with the tag, white space aside, begins with reasoning: a tag in the
    middle is a quotation.

    Args:
        tag: The opening tag.
    """

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._end = end_of(tag)
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
            if beginning.startswith(self.tag):
                self._state, self._held = "reasoning", beginning.removeprefix(self.tag)
            elif not self.tag.startswith(beginning):
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
        thought, tag, behind = self._held.partition(self._end)
        if tag:
            self._state, self._held = "gap", behind
            return thought
        sizes = range(len(self._end) - 1, 0, -1)
        keep = next((size for size in sizes if thought.endswith(self._end[:size])), 0)
        self._held = thought[len(thought) - keep :]
        return thought[: len(thought) - keep]
