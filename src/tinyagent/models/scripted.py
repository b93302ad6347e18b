"""ScriptedModel: prepared answers, for tests and examples without a network."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelDelta, ModelRequest, ModelResponse, RawToolCall, Usage
from tinyagent.options import checks_options

Answer = str | RawToolCall | ModelResponse | Exception
Script = Iterable[Answer | list[RawToolCall]] | Callable[[ModelRequest], Answer | list[RawToolCall]]


def scripted_call(name: str, /, *, call_id: str = "", **arguments: Any) -> RawToolCall:
    """A tool call for a script, with its arguments as keywords."""
    return RawToolCall(call_id, name, json.dumps(arguments))


@checks_options()
class ScriptedModel:
    """Answers from a list, one for each request, or from a function of the request.

    An answer is a text, a `scripted_call(...)` or a list of them, a whole `ModelResponse`, or an
    exception to raise. `requests` holds the requests so far. A function serves any number of
    concurrent runs; a list is shared by all runs of this object.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._name = name
        self._answer = script if callable(script) else _next_of(iter(script))
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The name passed to the constructor."""
        return self._name

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The next answer.

        Raises:
            ConfigurationError: The script is used up.
            Exception: An exception in the script.
        """
        self.requests.append(request)
        return self._as_response(self._answer(request))

    async def stream(
        self, request: ModelRequest
    ) -> AsyncGenerator[ModelDelta | ModelResponse, None]:
        """The next answer, word by word; raises as `complete`."""
        response = await self.complete(request)
        for piece in re.findall(r"\s*\S+|\s+", response.content or ""):
            yield ModelDelta(piece)
        yield response

    def _as_response(self, answer: Answer | list[RawToolCall]) -> ModelResponse:
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ModelResponse):
            return answer
        if isinstance(answer, str):
            return ModelResponse(answer, usage=Usage(1), model=self._name)
        calls = (answer,) if isinstance(answer, RawToolCall) else tuple(answer)
        return ModelResponse(None, calls, Usage(1), "tool_calls", self._name)

    def __repr__(self) -> str:
        return f"ScriptedModel({self._name!r})"


def _next_of(
    answers: Any,
) -> Callable[[ModelRequest], Answer | list[RawToolCall]]:
    def answer(_request: ModelRequest) -> Answer | list[RawToolCall]:
        try:
            return next(answers)  # type: ignore[no-any-return]
        except StopIteration:
            raise ConfigurationError(
                "the script of the ScriptedModel has no more answers, and the run requested one"
            ) from None

    return answer
