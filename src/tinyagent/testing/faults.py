"""Faults of models and their servers, by name: scripts for `MockServer`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelResponse, RawToolCall
from tinyagent.testing.apis import Api, failure, reply_of, result_in
from tinyagent.testing.server import Answer, Reply

Mode = Literal["native", "structured", "parsed"]


@dataclass(frozen=True, slots=True)
class Scene:
    """The ingredients of a reply: the right call, how calls are written, how the reply is sent.

    Attributes:
        call: The right call.
        mode: How the tools are offered to the model.
        stream: Whether the request asks for a stream.
        api: The API of the reply.
    """

    call: RawToolCall
    mode: Mode
    stream: bool
    api: Api = "chat"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the right call."""
        arguments: dict[str, Any] = json.loads(self.call.arguments)
        return arguments

    def calling(
        self,
        arguments: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        edit: Callable[[str], str] = str,
    ) -> ModelResponse:
        """A call of the tool; `edit` changes the JSON that the model writes for it."""
        name = name or self.call.name
        arguments = self.arguments if arguments is None else arguments
        if self.mode == "native":
            call = RawToolCall(self.call.id, name, edit(json.dumps(arguments)))
            return ModelResponse(None, (call,))
        action = {"scratchpad": "I need the tool.", "tool": name, "arguments": arguments}
        return ModelResponse(edit(json.dumps(action)))

    def tagged(self) -> str:
        """The call as models without function calling write it."""
        call = json.dumps({"name": self.call.name, "arguments": self.arguments})
        return f"<tool_call>{call}</tool_call>"

    def answering(self, text: str) -> ModelResponse:
        """An answer."""
        if self.mode == "native":
            return ModelResponse(text)
        return ModelResponse(json.dumps({"scratchpad": "I have it.", "answer": text}))

    def broken_off(self) -> Reply:
        """The call, with the connection lost in the middle."""
        whole = reply_of(self.calling(), self.api, stream=self.stream)
        return replace(whole, body=whole.body[: len(whole.body) // 2], ending="cut")

    def failing(self, status: int, message: str, **headers: str) -> Reply:
        """A failure of the server."""
        return failure(self.api, status, message, **headers)


FaultReplies = Callable[[Scene], Sequence[Answer]]

_TOO_LONG: Mapping[Api, str] = {
    "chat": "This model's maximum context length is 8192 tokens; your messages have 9000 tokens.",
    "responses": "Your input exceeds the context window of this model. Please adjust your input.",
    "messages": "prompt is too long: 9000 tokens > 8192 maximum",
}

FAULTS: Mapping[str, FaultReplies] = {
    "cut-off JSON": lambda scene: [scene.calling(edit=lambda text: text[:-2])],
    "wrong types": lambda scene: [scene.calling({name: {"a": []} for name in scene.arguments})],
    "missing argument": lambda scene: [scene.calling(dict([*scene.arguments.items()][:-1]))],
    "fenced JSON": lambda scene: [scene.calling(edit="```json\n{}\n```".format)],
    "unknown tool": lambda scene: [scene.calling(name=f"{scene.call.name}_all")],
    "duplicate ids": lambda scene: [ModelResponse(None, (scene.call, scene.call))],
    "call as text": lambda scene: [scene.tagged()],
    "empty reply": lambda _: [""],
    "null content": lambda _: [ModelResponse(None)],
    "two objects in a row": lambda scene: [scene.calling(edit=lambda text: f"{text}\n{text}")],
    "extra prose": lambda scene: [scene.calling(edit="Here it is:\n{}\nAnything else?".format)],
    "429": lambda scene: [scene.failing(429, "slow down", Retry_After="0")],
    "500": lambda scene: [scene.failing(500, "the model has crashed", Retry_After="0")],
    "connection cut mid-stream": lambda scene: [scene.broken_off()],
    "context overflow": lambda scene: [scene.calling(), scene.failing(400, _TOO_LONG[scene.api])],
    "prose where a schema was asked": lambda _: ["I would say that it is a number."],
}
"""The first replies of a server with that fault. Prose is a fault only for a typed agent."""


def fault(
    name: str, call: RawToolCall, *, mode: Mode = "native", api: Api = "chat"
) -> Callable[[dict[str, Any]], Answer]:
    """A script for `MockServer`: the fault first, then correct replies.

    The correct server requests `call` until it has the result, and answers with that.

    Args:
        name: One of `FAULTS`.
        call: The right call, as `scripted_call(...)` makes it.
        mode: The agent's `tool_calling_mode`.
        api: The API of the model: `"chat"`, `"responses"` or `"messages"` (Anthropic's).

    Raises:
        ConfigurationError: There is no such fault.
    """
    if name not in FAULTS:
        raise ConfigurationError(f"unknown fault {name!r}; use one of: {', '.join(FAULTS)}")
    count = 0

    def answer(body: dict[str, Any]) -> Answer:
        nonlocal count
        count += 1
        own = RawToolCall(f"call_{count}", call.name, call.arguments)
        scene = Scene(own, mode, stream=bool(body.get("stream")), api=api)
        first = FAULTS[name](scene)
        return first[count - 1] if count <= len(first) else _correct_reply(scene, body)

    return answer


def _correct_reply(scene: Scene, body: Mapping[str, Any]) -> ModelResponse:
    """An answer from the last message if that is a result, otherwise the call."""
    result = result_in(body, scene.api)
    failed = result.startswith(("Error: ", "Try again: "))
    return scene.calling() if failed or not result else scene.answering(result)
