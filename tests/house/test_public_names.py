"""The names that programs may rely on."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import tinyagent

NAMES = [
    "ActionStep",
    "AgentMemory",
    "AnthropicModel",
    "Approval",
    "Artifact",
    "ArtifactError",
    "BaseAgent",
    "CallerError",
    "CodeFinished",
    "CodeStarted",
    "ConfigurationError",
    "Cost",
    "Decision",
    "Document",
    "Event",
    "ExecutionError",
    "ExecutionLimits",
    "ExecutionResult",
    "ExecutionTimeout",
    "Executor",
    "FallbackModel",
    "FinalAnswer",
    "Finalizer",
    "Guarantee",
    "Image",
    "InvalidFinalAnswer",
    "MalformedReply",
    "Memory",
    "MemoryItem",
    "MemoryManager",
    "Message",
    "MessageGroup",
    "Middleware",
    "Model",
    "ModelAuthenticationError",
    "ModelConnectionError",
    "ModelContextTooLong",
    "ModelDelta",
    "ModelError",
    "ModelFormatRefused",
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
    "ModelUse",
    "MultipleFinalAnswers",
    "NativeToolAdapter",
    "NoProgress",
    "Opaque",
    "OpenAIModel",
    "OpenAIResponsesModel",
    "OpenAIStructuredAdapter",
    "OutputDelta",
    "ParsedAdapter",
    "ProcessExecutor",
    "RawToolCall",
    "ReactAgent",
    "ReactStep",
    "Reasoning",
    "RecordedModel",
    "RecordingMismatch",
    "ReplyRejected",
    "RequestFormat",
    "RunContext",
    "RunControl",
    "RunEnded",
    "RunFinished",
    "RunResult",
    "RunStarted",
    "SandboxUnavailable",
    "ScratchpadStep",
    "ScriptedModel",
    "Signal",
    "SignalGiven",
    "SignalType",
    "SteeringMiddleware",
    "Step",
    "StepFinished",
    "StepLimitReached",
    "StepStarted",
    "Strategy",
    "SystemPromptStep",
    "TaskStep",
    "Text",
    "TextDelta",
    "TinyAgentError",
    "TinyCodeAgent",
    "TokenEstimate",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolCallingAdapter",
    "ToolDefinitionError",
    "ToolFinished",
    "ToolRegistry",
    "ToolResult",
    "ToolRetry",
    "ToolServerError",
    "ToolStarted",
    "Tracing",
    "TrustLevel",
    "UnknownToolError",
    "Unrestored",
    "Usage",
    "UsageLimitReached",
    "UsageLimits",
    "ValidatedAdapter",
    "collect_signals",
    "commit",
    "explore",
    "get_adapter",
    "get_executor",
    "get_model",
    "get_prompt_fallback",
    "get_registry",
    "keep_last_n_steps",
    "keep_system_and_recent",
    "no_pruning",
    "prune_old_observations",
    "remembered",
    "scripted_call",
    "set_signal_collector",
    "step_from_dict",
    "summarize",
    "token_budget",
    "tool",
    "uncertain",
]


def test_the_exported_names_are_these() -> None:
    assert tinyagent.__all__ == NAMES


def test_type_checkers_read_the_names_that_python_loads() -> None:
    tree = ast.parse(Path(tinyagent.__file__).read_text(encoding="utf-8"))
    read = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tinyagent.")
        for alias in node.names
    }
    assert read == vars(tinyagent)["_MODULES"]
    assert sorted(read) == NAMES
    assert set(NAMES) <= set(dir(tinyagent))


def test_a_name_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match="module 'tinyagent' has no attribute 'Nothing'"):
        _ = tinyagent.Nothing  # type: ignore[attr-defined]


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
