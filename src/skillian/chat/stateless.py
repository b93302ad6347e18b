"""Turns for clients that keep the conversation themselves, such as those of `/v1` and `/ag-ui`."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Iterable

from cachetools import TTLCache

from skillian.chat.agent import Conversation
from skillian.chat.answer_check import check_answer
from skillian.chat.turn_events import Batches, TurnRecord
from skillian.chat.turns import FAILED, StreamingAgent
from skillian.storage import Draft
from tinyagent import RunResult

logger = logging.getLogger("skillian")

MAX_BYTES = 64 * 1024 * 1024
SECONDS = 3600.0

Transcript = Iterable[tuple[str, str]]
"""The role and the text of each message, oldest first."""


class StatelessTurn:
    """One message to one agent. Read `events` once.

    Args:
        agent: The agent that answers.
        message: The question.
        conversation: The messages before it.

    Attributes:
        result: The result of the run, once it has ended.
    """

    def __init__(
        self, agent: StreamingAgent, message: str, conversation: Conversation | None = None
    ) -> None:
        self._agent = agent
        self._message = message
        self._conversation = conversation
        self.result: RunResult[str] | None = None

    async def events(self) -> AsyncGenerator[Draft, None]:
        """The turn as it happens; the last event is `answer` or `turn_failed`.

        Leaving early, or cancelling the task, cancels the run.
        """
        record = TurnRecord(self._message)
        try:
            stream = self._agent.stream(self._message, self._conversation)
            async with Batches(stream) as batches:
                while not record.is_answered and (batch := await batches.next()):
                    record.read(batch)
                    for draft in record.taken()[1]:
                        yield draft
        except Exception:
            logger.exception("a turn failed")
        self.result = record.result
        if record.is_answered:
            yield Draft("answer", record.answer(check_answer))
        else:
            yield Draft("turn_failed", {"type": "runtime_error", "message": FAILED})


class Recall:
    """The tool results of conversations whose clients keep only the texts.

    A follow-up question ("why?") needs the results that came before. Conversations are found by
    their texts; the oldest are forgotten first. Of a conversation that is not known here, because
    another process answered it or it is too old, there are only the texts.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._known: TTLCache[str, str] = TTLCache[str, str](max_bytes, SECONDS, getsizeof=len)

    def remember(self, owner: str, transcript: Transcript, conversation: Conversation) -> None:
        """Keep the conversation with these texts, if it holds results and is not too large."""
        messages = [one for one in conversation.to_list() if one["role"] != "system"]
        text = json.dumps(messages)
        if any(one["role"] == "tool" for one in messages) and len(text) <= self._known.maxsize:
            self._known[_key(owner, transcript)] = text

    def find(self, owner: str, transcript: Transcript) -> Conversation:
        """The conversation with the results of its tools if known, otherwise only its texts."""
        transcript = list(transcript)
        text = self._known.get(_key(owner, transcript))
        if text is not None:
            return Conversation.from_list(json.loads(text))
        plain = [{"role": role, "content": content} for role, content in transcript]
        return Conversation.from_list(plain)


def _key(owner: str, transcript: Transcript) -> str:
    words = json.dumps([owner, *([role, text.strip()] for role, text in transcript)])
    return hashlib.sha256(words.encode()).hexdigest()
