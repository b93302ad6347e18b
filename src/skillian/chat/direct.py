"""Direct calls: a message that states a call itself, which is made and answered without a model.

The page sends one when a reader changes a part of an answer's scope. Its first lines are for
readers; its last line is a `/`, the name of the tool and the arguments as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from skillian.offline.earlier import COMPARE, QUERY, as_object
from skillian.offline.wording import word_result
from tinyagent import Usage
from tinyagent.core import ModelDelta, ModelRequest, ModelResponse, RawToolCall

NAME = "no model"
_CALL = re.compile(rf"({COMPARE}|{QUERY}) (\{{.*\}})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DirectCall:
    """A call that a message states.

    Attributes:
        words: What a reader sees in place of the call.
        tool: The tool: one that only reads the sources.
        arguments: Its arguments, as the message has them.
    """

    words: str
    tool: str
    arguments: Mapping[str, Any]


def direct_message(words: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """The message that states this call."""
    return f"{words}\n/{tool} {json.dumps(arguments, ensure_ascii=False)}"


def direct_call(message: str) -> DirectCall | None:
    """The call that a message states; None if it is a question in words."""
    words, line_end, call = message.strip().rpartition("\n/")
    match = _CALL.fullmatch(call)
    if not line_end or match is None:
        return None
    try:
        arguments: object = json.loads(match[2])
    except ValueError:
        return None
    if not isinstance(arguments, dict):
        return None
    return DirectCall(words.strip(), match[1], cast("dict[str, Any]", arguments))


class DirectModel:
    """Makes the call of a direct message, and words its result; it decides nothing."""

    @property
    def name(self) -> str:
        """A name that says that no model answers."""
        return NAME

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The call, or its result in words."""
        asked = max(i for i, message in enumerate(request.messages) if message.role == "user")
        last = request.messages[-1]
        call = direct_call(request.messages[asked].text)
        if call is None:
            raise AssertionError("only direct messages come here")
        if last.role != "tool":
            text = json.dumps(call.arguments, ensure_ascii=False)
            calls = (RawToolCall("", call.tool, text),)
            return ModelResponse(None, calls, Usage(), "tool_calls", NAME)
        result = as_object(last.text)
        return ModelResponse(word_result(call.tool, result, last.text), (), Usage(), "stop", NAME)

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The same as a stream of one part."""
        response = await self.complete(request)
        if response.content:
            yield ModelDelta(response.content)
        yield response
