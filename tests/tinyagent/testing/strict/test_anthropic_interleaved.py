"""Anthropic's thinking between calls."""

from __future__ import annotations

import pytest
from anthropic import BadRequestError
from tests.tinyagent.testing.strict.support import ADD, ANSWER, Json
from tests.tinyagent.testing.strict.test_anthropic import (
    BOUND,
    MODEL,
    QUESTION,
    answered,
    ask,
    client_of,
)

from tinyagent.testing import Output, StrictServer

INTERLEAVED = Output(reasoning="One.", calls=[ADD], then=Output(reasoning="Two.", calls=[ADD]))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [MODEL, BOUND])
async def test_thoughts_between_calls_come_back_in_their_order(model: str, *, stream: bool) -> None:
    options: Json = {"model": model, "stream": stream, "thinking": {"type": "adaptive"}}
    async with (
        StrictServer("anthropic", [INTERLEAVED, ANSWER, ANSWER]) as server,
        client_of(server) as client,
    ):
        response = await ask(client, messages=[QUESTION], **options)
        kinds = [block.type for block in response.content]
        assert kinds == ["thinking", "tool_use", "thinking", "tool_use"]
        turn = answered(response)
        await ask(client, messages=[QUESTION, *turn], **options)
        assert (server.refusals, server.losses) == ([], [])
        blocks = turn[0]["content"]
        turn[0]["content"] = [blocks[0], blocks[2], blocks[1], blocks[3]]
        with pytest.raises(BadRequestError):
            await ask(client, messages=[QUESTION, *turn], **options)
