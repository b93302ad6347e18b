"""What tools gave in conversations whose clients keep only what was said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from cachetools import TTLCache

from skillian.chat.conversation import Conversation

MAX_BYTES = 64 * 1024 * 1024
SECONDS = 3600.0

Said = Iterable[tuple[str, str]]
"""Role and text of each message, oldest first."""


class Recall:
    """Conversations of this process by what was said in them: the oldest are forgotten first.

    A follow-up ("why?") needs the results that came before. A conversation that is not known, of
    another process or too long ago, is just what was said.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, seconds: float = SECONDS) -> None:
        self._known: TTLCache[str, str] = TTLCache[str, str](max_bytes, seconds, getsizeof=_size)

    def remember(self, owner: str, said: Said, conversation: Conversation) -> None:
        """Keep the conversation in which this was said, if it holds results and has room."""
        messages = [one for one in conversation.to_list() if one["role"] != "system"]
        text = json.dumps(messages)
        if any(one["role"] == "tool" for one in messages) and len(text) <= self._known.maxsize:
            self._known[_key(owner, said)] = text

    def find(self, owner: str, said: Said) -> Conversation:
        """The conversation with the results of its tools; else only what was said."""
        said = list(said)
        text = self._known.get(_key(owner, said))
        if text is not None:
            return Conversation.from_list(json.loads(text))
        plain = [{"role": role, "content": content} for role, content in said]
        return Conversation.from_list(plain)


def _size(text: str) -> int:
    return len(text)


def _key(owner: str, said: Said) -> str:
    words = json.dumps([owner, *([role, text.strip()] for role, text in said)])
    return hashlib.sha256(words.encode()).hexdigest()
