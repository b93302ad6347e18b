"""Results too long for a conversation: cut in the middle, the full text behind a handle."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from functools import cache
from typing import Any

from tinyagent.core.errors import ToolRetry
from tinyagent.tools.tool import Tool

MAX_CHARS = 20_000
PAGE_CHARS = 10_000
READ_RESULT = "read_result"
_OTHER_NAME = "read_cut_off_result"


class ResultStore:
    """The long results of one run.

    Args:
        max_chars: how many characters of a result go into the conversation.
        taken: names that the tool that reads more must not have.
    """

    def __init__(self, max_chars: int = MAX_CHARS, taken: Container[str] = ()) -> None:
        self._max_chars = max_chars
        self._texts: dict[str, str] = {}
        self._name = READ_RESULT if READ_RESULT not in taken else _OTHER_NAME

    @property
    def tool(self) -> Tool:
        """The tool that reads more; created on demand, as most runs never need it."""
        return replace(_declaration(self._name), fn=_reader(self._texts))

    @property
    def is_used(self) -> bool:
        """Whether a result was cut, so that the model needs the tool that reads more."""
        return bool(self._texts)

    def bounded(self, text: str) -> str:
        """The text, or its beginning and end with a handle for the full text between them."""
        if len(text) <= self._max_chars:
            return text
        # The content determines the handle: one from an earlier run must never match another text.
        import hashlib  # noqa: PLC0415 - only for long results, and it loads OpenSSL

        handle = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]
        self._texts[handle] = text
        half = self._max_chars // 2
        left_out = len(text) - 2 * half
        note = (
            f"\n[... {left_out:,} of {len(text):,} characters are left out here; read them with"
            f' {self._name}(handle="{handle}", offset={half}) ...]\n'
        )
        return text[:half] + note + text[len(text) - half :]


@cache
def _declaration(name: str) -> Tool:
    """The tool without its texts: making the schema for each run would take a fifth of its time."""
    return Tool.from_function(_reader({}), name=name)


def _reader(texts: dict[str, str]) -> Callable[..., dict[str, Any]]:
    def read_result(handle: str, offset: int = 0, limit: int = PAGE_CHARS) -> dict[str, Any]:
        """Read a part of a long tool result that was cut.

        Args:
            handle: as the cut result names it.
            offset: the first character to read, from 0.
            limit: how many characters, at most 10000.
        """
        if handle not in texts:
            raise ToolRetry(
                f"this run has no result {handle!r}, only: {', '.join(texts)};"
                " to see one of an earlier run, make its call again"
            )
        text = texts[handle]
        start = max(offset, 0)
        end = start + min(max(limit, 1), PAGE_CHARS)
        more = {"next_offset": end} if end < len(text) else {}
        return {"text": text[start:end], "total_characters": len(text), **more}

    return read_result
