"""MockServer: a model's server on loopback that answers, and fails, by a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tinyagent.core.types import ModelResponse
from tinyagent.testing.apis import api_of, failure, reply_of
from tinyagent.testing.http import Ending, HttpServer, Reply, Request, json_reply

__all__ = ["Answer", "Ending", "MockServer", "Reply", "Script", "error_reply", "json_reply"]


def error_reply(status: int, message: str, **headers: str) -> Reply:
    """A failure as chat completions servers send it; `Retry_After="1"` sets that header."""
    return failure("chat", status, message, **headers)


_T = TypeVar("_T")
Answer = Reply | ModelResponse | str
Script = Iterable[Answer] | Callable[[dict[str, Any]], Answer]


class MockServer(HttpServer):
    """Serves chat completions, Responses and Anthropic's messages on a free port of 127.0.0.1.

    Use it as `async with MockServer(script) as server` and pass `server.base_url` to a model, or
    `server.url` to Anthropic's client. The script is a list, one answer for each request (after its
    end the last one is repeated), or a function of the request's body. An answer is a text, a
    `ModelResponse` (sent plain or streamed, in the form of the API that the path selects) or a
    `Reply`. `requests` holds the bodies of the requests, `keys` their API keys.
    """

    def __init__(self, script: Script) -> None:
        super().__init__(self._reply)
        self._script = script if callable(script) else one_after_the_other(script)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []

    @property
    def base_url(self) -> str:
        """Where it listens, `/v1` included."""
        return f"{self.url}/v1"

    def _reply(self, request: Request) -> Reply:
        body: dict[str, Any] = json.loads(request.body or b"{}")
        self.requests.append(body)
        self.keys.append(request.key)
        answer = self._script(body)
        if isinstance(answer, Reply):
            return answer
        response = ModelResponse(answer) if isinstance(answer, str) else answer
        return reply_of(response, api_of(request.path), stream=bool(body.get("stream")))


def one_after_the_other(answers: Iterable[_T]) -> Callable[[Any], _T]:
    """A script from a list: one answer for each request; after the end the last one is repeated."""
    remaining = list(answers)
    position = -1

    def answer(_request: Any) -> _T:
        nonlocal position
        position = min(position + 1, len(remaining) - 1)
        return remaining[position]

    return answer
