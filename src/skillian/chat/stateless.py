"""A turn that is kept nowhere: the events of `chat.turns` for clients that keep what was said."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

from skillian.chat.batches import Batches
from skillian.chat.conversation import Conversation
from skillian.chat.grounding_check import check_answer
from skillian.chat.turn_events import TurnRecord
from skillian.chat.turns import FAILED, Streams
from skillian.storage import Draft
from tinyagent import RunResult

logger = logging.getLogger("skillian")


class StatelessTurn:
    """One message to one agent. `events` is read once.

    Args:
        agent: what answers.
        message: what is asked.
        conversation: what was said before.

    Attributes:
        result: what the run came to, once it has ended.
    """

    def __init__(
        self, agent: Streams, message: str, conversation: Conversation | None = None
    ) -> None:
        self._agent = agent
        self._message = message
        self._conversation = conversation
        self.result: RunResult[str] | None = None

    async def events(self) -> AsyncGenerator[Draft, None]:
        """The turn as it happens; the last is `answer`, or `turn_failed`.

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
