"""Recorded conversations, played against a policy: the calls and results of the record, no tools.

A run for each task of the conversation asks a `ScriptedModel`, which repeats the recorded calls; a
layer below the policy answers them with the recorded results.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinyagent.agents.react import ReactAgent
from tinyagent.agents.run import READ_RESULT
from tinyagent.core.context import Decision
from tinyagent.core.errors import ConfigurationError
from tinyagent.core.messages import MATERIAL, Material, Message, Task, ToolCall
from tinyagent.core.parts import ContentPart, Text
from tinyagent.core.provenance import USER
from tinyagent.core.types import ModelResponse, RawToolCall, ToolResult, Usage
from tinyagent.core.untrusted import as_array, as_object, describe
from tinyagent.memory.items import SUMMARY_MARK
from tinyagent.memory.memory import Memory
from tinyagent.middleware.approval import Approval
from tinyagent.middleware.base import Middleware, ToolCallHandler
from tinyagent.models.scripted import ScriptedModel
from tinyagent.provenance import explain

if TYPE_CHECKING:
    from tinyagent.provenance import Provenance
    from tinyagent.tools.tool import Tool

_NO_TOOL = "Error: there is no tool"
_NO_RESULT = Message("tool", "Error: not finished: the run ended", is_error=True)
_ANSWER = "(the recorded answer)"


@dataclass(slots=True)
class PlayedCall:
    """A recorded call.

    Attributes:
        call: The call, with an id of its own.
        result: The recorded message with its result.
        is_made: Whether the policy let it through, with a person's yes if it asked.
        doubt: Why a person would be asked, or, if it is not made, why nobody is.
        fault: Why it is not a call that the agent can make.
    """

    call: ToolCall
    result: Message
    is_made: bool = False
    doubt: str = ""
    fault: str = ""


@dataclass(slots=True)
class _Turn:
    """A task, the messages before it that belong to no other, and the calls of each reply."""

    before: list[Message] = field(default_factory=list[Message])
    task: list[Message] = field(default_factory=list[Message])
    replies: list[list[PlayedCall]] = field(default_factory=list[list[PlayedCall]])
    is_answered: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """A conversation that was played: its calls in order, and the explanation of each run."""

    calls: Sequence[PlayedCall]
    explanations: Sequence[str]


def read_conversation(file: Path) -> Sequence[Message]:
    """The messages in a file, the JSON form of a `Memory`.

    Raises:
        ConfigurationError: The file cannot be read, or holds something else.
    """
    try:
        return messages_of(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{str(file)!r}: {error}") from None


def messages_of(data: object) -> Sequence[Message]:
    """The messages of a conversation, from the JSON form of a `Memory`.

    Raises:
        ValueError: It is something else, or holds no calls.
    """
    entries = as_array(data)
    if entries is None:
        raise ValueError(
            f"it holds {describe(data)}, not a list of messages; write it with"
            " json.dumps(result.memory.to_list())"
        )
    objects = [as_object(entry) or {} for entry in entries]
    if any("kind" in entry and "role" not in entry for entry in objects):
        raise ValueError(
            "it is the conversation of a code agent, whose messages hold code and no calls; only"
            " those of a ReactAgent can be played"
        )
    try:
        messages = Memory.from_list(objects).messages
    except KeyError as error:
        raise ValueError(f"a message has no {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"a message cannot be read: {error}") from None
    if not any(message.tool_calls for message in messages):
        raise ValueError(
            "it holds no calls of tools, so there is nothing to check; the messages of a code agent"
            " hold code and no calls"
        )
    return messages


async def play(
    messages: Sequence[Message], policy: Provenance, tools: Mapping[str, Tool]
) -> Played:
    """Play a conversation against a policy; a person who is asked says yes.

    Raises:
        ConfigurationError: A call is of an unknown tool, or the conversation cannot be played.
    """
    turns = _turns(messages)
    calls = [call for turn in turns for reply in turn.replies for call in reply]
    _check_tools(calls, tools)
    record = _Record({each.call.id: each for each in calls}, tools)
    played = [replace(tool, **_ALONE) for tool in tools.values()]
    memory, explanations = Memory(), list[str]()
    for turn in turns:
        for message in turn.before:
            memory.add(message.role, message.content, label=message.label)
        agent = ReactAgent(
            ScriptedModel(_script(turn)),
            played,
            tool_calling_mode="native",
            max_steps=len(turn.replies) + 1,
            answer_at_limit=False,
            middleware=[policy, Approval(record.approve), record],
        )
        result = await agent.run(_task(turn.task), memory=memory, return_result=True)
        if result.state != "completed":
            raise ConfigurationError(f"the conversation cannot be played: {result.error}")
        for called in result.calls:
            record.note(called)
        memory = result.memory
        explanations.append(explain(result))
    return Played(calls, explanations)


def _never(**_: object) -> None:
    raise AssertionError("a tool is never called while a conversation is played")


_ALONE: Mapping[str, Any] = {
    "fn": _never,
    "context_name": None,
    "deps_type": None,
    "requires_approval": False,
}
"""What a tool of a played conversation has instead of its own."""


class _Record(Middleware):
    """Answers calls with their recorded results, and notes what becomes of each."""

    def __init__(self, calls: Mapping[str, PlayedCall], tools: Mapping[str, Tool]) -> None:
        self._calls, self._tools = calls, tools

    async def approve(self, call: ToolCall) -> Decision:
        """Note why a person is asked, and say yes."""
        self._calls[call.id].doubt = call.doubt
        return Decision(approved=True)

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """The recorded result."""
        del call_next
        played = self._calls[call.id]
        message = played.result
        if call.name in self._tools or call.name == READ_RESULT:
            played.is_made = True
        else:
            played.fault = message.text.removeprefix("Error: ")
        parts = tuple(part for part in message.parts if isinstance(part, ContentPart))
        return ToolResult(
            call,
            message.describe(),
            is_error=message.is_error,
            value=_value(self._tools.get(call.name), message.text),
            parts=() if isinstance(message.content, str) else parts,
        )

    def note(self, result: ToolResult) -> None:
        """Note why a call that came to no result of the record was not made."""
        played = self._calls[result.call.id]
        if isinstance(result.error, PermissionError):
            played.doubt = result.content.removeprefix("Error: ")
        elif not played.is_made:
            played.fault = result.content.removeprefix("Error: ")


def _value(tool: Tool | None, text: str) -> object:
    """The value of a recorded result: read as JSON, unless the tool returns texts."""
    if tool is None or tool.returns is None or tool.returns is str:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _check_tools(calls: Iterable[PlayedCall], tools: Mapping[str, Tool]) -> None:
    """Refuse calls of tools that are not there, except of those that never were."""
    for each in calls:
        name = each.call.name
        was_there = not (each.result.is_error and each.result.text.startswith(_NO_TOOL))
        if name not in tools and name != READ_RESULT and was_there:
            known = ", ".join(sorted(tools)) or "none"
            raise ConfigurationError(
                f"the conversation calls {name!r}, which is not a tool; tools: {known}"
            )


def _turns(messages: Sequence[Message]) -> list[_Turn]:
    """The tasks of a conversation, with the replies to each.

    Of what the agent itself wrote for the model, only summaries stay: they stand before the task
    that they are in, so that what they are made of is not forgotten.
    """
    is_labelled = any(each.role == "user" and each.label is not None for each in messages)
    turns, ids = [_Turn()], count(1)
    for at, message in enumerate(messages):
        turn = turns[-1]
        if message.role == "assistant" and message.tool_calls:
            turn.replies.append(list(_calls_of(message, messages[at + 1 :], ids)))
        elif message.role == "assistant":
            turn.is_answered = bool(turn.task)
        elif message.role == "user" and message.text.startswith(SUMMARY_MARK):
            turn.before.append(message)
        elif message.role == "user" and _is_task(message, is_labelled=is_labelled):
            if turn.replies or turn.is_answered:
                turn = _Turn()
                turns.append(turn)
            turn.task.append(message if is_labelled else replace(message, label=USER))
    if not turns[0].task:
        raise ConfigurationError("the conversation has no task of a user before its calls")
    return turns


def _is_task(message: Message, *, is_labelled: bool) -> bool:
    """Whether the user wrote or handed over a message; other ones are of the agent itself."""
    if not is_labelled:
        return True
    sources = message.label.sources if message.label is not None else frozenset[str]()
    return bool(sources) and (
        sources <= USER.sources or all(each.startswith(MATERIAL) for each in sources)
    )


def _calls_of(
    message: Message, after: Sequence[Message], ids: Iterator[int]
) -> Iterator[PlayedCall]:
    """The calls of a message with their results, which follow it."""
    results: dict[str, list[Message]] = {}
    for each in after:
        if each.role != "tool":
            break
        results.setdefault(str(each.tool_call_id), []).append(each)
    for call in message.tool_calls:
        own = results.get(call.id) or [_NO_RESULT]
        yield PlayedCall(replace(call, id=f"played_{next(ids)}"), own.pop(0))


def _script(turn: _Turn) -> list[ModelResponse]:
    replies = [
        ModelResponse(None, tuple(_raw(each.call) for each in reply), Usage(1), "tool_calls")
        for reply in turn.replies
    ]
    return [*replies, ModelResponse(_ANSWER, usage=Usage(1))]


def _raw(call: ToolCall) -> RawToolCall:
    unreadable = call.arguments.get("_unreadable")
    is_text = call.fault is not None and isinstance(unreadable, str)
    text = str(unreadable) if is_text else json.dumps(dict(call.arguments))
    return RawToolCall(call.id, call.name, text)


def _task(messages: Iterable[Message]) -> Task:
    """The task as its user gave it, with the material of others."""
    task: list[str | ContentPart | Material] = []
    for message in messages:
        source = "" if message.label is None else min(message.label.sources)
        for part in message.parts:
            if not isinstance(part, ContentPart):
                continue
            if source.startswith(MATERIAL):
                task.append(Material(part, source.removeprefix(MATERIAL)))
            else:
                task.append(part)
    if len(task) == 1 and isinstance(task[0], Text):
        return task[0].text
    return task
