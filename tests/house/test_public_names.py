"""The names that programs may rely on."""

from __future__ import annotations

import inspect

import pytest

import tinyagent

NAMES = [
    "BaseAgent",
    "CallerError",
    "ConfigurationError",
    "Event",
    "FinalAnswer",
    "Finalizer",
    "InvalidFinalAnswer",
    "MalformedReply",
    "Memory",
    "Message",
    "Middleware",
    "Model",
    "ModelAuthenticationError",
    "ModelConnectionError",
    "ModelDelta",
    "ModelError",
    "ModelMayRetry",
    "ModelRateLimited",
    "ModelRefused",
    "ModelReplyError",
    "ModelRequest",
    "ModelRequested",
    "ModelResponded",
    "ModelResponse",
    "ModelServerError",
    "ModelTimeout",
    "MultipleFinalAnswers",
    "NativeToolAdapter",
    "OpenAIModel",
    "RawToolCall",
    "ReactAgent",
    "ReactStep",
    "ReplyRejected",
    "RequestFormat",
    "RunContext",
    "RunEnded",
    "RunFinished",
    "RunResult",
    "RunStarted",
    "ScriptedModel",
    "StepFinished",
    "StepLimitReached",
    "StepStarted",
    "TextDelta",
    "TinyAgentError",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolCallingAdapter",
    "ToolDefinitionError",
    "ToolFinished",
    "ToolRegistry",
    "ToolResult",
    "ToolRetry",
    "ToolStarted",
    "UnknownToolError",
    "Usage",
    "UsageLimitReached",
    "UsageLimits",
    "get_adapter",
    "get_prompt_fallback",
    "get_registry",
    "scripted_call",
    "tool",
]


def test_the_exported_names_are_these() -> None:
    assert tinyagent.__all__ == NAMES


def test_the_names_are_sorted_and_there() -> None:
    assert sorted(NAMES) == NAMES
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Event"])
def test_each_name_says_what_it_is(name: str) -> None:
    item = getattr(tinyagent, name)
    doc = inspect.getdoc(item)
    assert doc, f"{name} has no docstring"
    assert doc != inspect.getdoc(type(item))
    assert not doc.startswith(f"{name}("), f"{name} has only the docstring that dataclass makes up"


def test_the_package_says_what_it_is() -> None:
    assert tinyagent.__doc__
