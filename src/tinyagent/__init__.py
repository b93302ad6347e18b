"""tinyagent: a small agent framework. What is named here is public, the rest may change."""

from importlib import import_module
from typing import TYPE_CHECKING

# Each name is loaded when it is first asked for: `import tinyagent` costs next to nothing, and a
# program pays for what it uses only. Type checkers read the imports, Python reads `_PLACES`;
# tests/house/test_public_names.py checks that they say the same.
if TYPE_CHECKING:
    from tinyagent.adapters.base import ToolCallingAdapter, ValidatedAdapter
    from tinyagent.adapters.choose import get_adapter
    from tinyagent.adapters.native import NativeToolAdapter
    from tinyagent.adapters.structured import OpenAIStructuredAdapter, ParsedAdapter
    from tinyagent.agents.base import BaseAgent
    from tinyagent.agents.code import TinyCodeAgent
    from tinyagent.agents.react import ReactAgent
    from tinyagent.core.context import RunContext, RunControl
    from tinyagent.core.cost import Cost, ModelUse
    from tinyagent.core.errors import (
        ArtifactError,
        CallerError,
        ConfigurationError,
        ExecutionError,
        ExecutionTimeout,
        InvalidFinalAnswer,
        MalformedReply,
        ModelAuthenticationError,
        ModelConnectionError,
        ModelContextTooLong,
        ModelError,
        ModelFormatRefused,
        ModelMayRetry,
        ModelRateLimited,
        ModelRefused,
        ModelReplyError,
        ModelServerError,
        ModelTimeout,
        MultipleFinalAnswers,
        NoProgress,
        RecordingMismatch,
        RunEnded,
        SandboxUnavailable,
        StepLimitReached,
        TinyAgentError,
        ToolArgumentsError,
        ToolDefinitionError,
        ToolRetry,
        ToolServerError,
        UnknownToolError,
        UsageLimitReached,
    )
    from tinyagent.core.events import (
        CodeFinished,
        CodeStarted,
        Event,
        ModelRequested,
        ModelResponded,
        OutputDelta,
        ReplyRejected,
        RunFinished,
        RunStarted,
        SignalGiven,
        StepFinished,
        StepStarted,
        TextDelta,
        ToolFinished,
        ToolStarted,
    )
    from tinyagent.core.execution import Artifact, ExecutionResult
    from tinyagent.core.messages import Message, ToolCall
    from tinyagent.core.parts import Document, Image, Opaque, Reasoning, Text
    from tinyagent.core.results import FinalAnswer, Finalizer, ReactStep, RunResult
    from tinyagent.core.signals import (
        Signal,
        SignalType,
        collect_signals,
        commit,
        explore,
        set_signal_collector,
        uncertain,
    )
    from tinyagent.core.types import (
        ModelDelta,
        ModelRequest,
        ModelResponse,
        RawToolCall,
        RequestFormat,
        ToolResult,
        Usage,
        remembered,
    )
    from tinyagent.execution.limits import ExecutionLimits, TrustLevel
    from tinyagent.execution.protocol import Executor, Guarantee
    from tinyagent.execution.sandbox.executor import ProcessExecutor, get_executor
    from tinyagent.memory.items import MemoryItem, MessageGroup
    from tinyagent.memory.memory import Memory, MemoryManager, TokenEstimate
    from tinyagent.memory.pruning import (
        Strategy,
        keep_last_n_steps,
        keep_system_and_recent,
        no_pruning,
        prune_old_observations,
        token_budget,
    )
    from tinyagent.memory.scratchpad import AgentMemory, Unrestored
    from tinyagent.memory.steps import (
        ActionStep,
        ScratchpadStep,
        Step,
        SystemPromptStep,
        TaskStep,
        step_from_dict,
    )
    from tinyagent.memory.summary import summarize
    from tinyagent.middleware.approval import Approval, Decision
    from tinyagent.middleware.base import Middleware, SteeringMiddleware
    from tinyagent.middleware.limits import UsageLimits
    from tinyagent.middleware.tracing import Tracing
    from tinyagent.models.anthropic import AnthropicModel
    from tinyagent.models.base import Model, get_model
    from tinyagent.models.fallback import FallbackModel
    from tinyagent.models.openai import OpenAIModel, OpenAIResponsesModel
    from tinyagent.models.recorded import RecordedModel
    from tinyagent.models.scripted import ScriptedModel, scripted_call
    from tinyagent.prompts import get_prompt_fallback
    from tinyagent.tools.registry import ToolRegistry, get_registry
    from tinyagent.tools.tool import Tool, tool

    __version__: str
else:
    _PLACES = {
        "tinyagent.adapters.base": "ToolCallingAdapter ValidatedAdapter",
        "tinyagent.adapters.choose": "get_adapter",
        "tinyagent.adapters.native": "NativeToolAdapter",
        "tinyagent.adapters.structured": "OpenAIStructuredAdapter ParsedAdapter",
        "tinyagent.agents.base": "BaseAgent",
        "tinyagent.agents.code": "TinyCodeAgent",
        "tinyagent.agents.react": "ReactAgent",
        "tinyagent.core.context": "RunContext RunControl",
        "tinyagent.core.cost": "Cost ModelUse",
        "tinyagent.core.errors": (
            "ArtifactError CallerError ConfigurationError ExecutionError ExecutionTimeout "
            "InvalidFinalAnswer MalformedReply ModelAuthenticationError ModelConnectionError "
            "ModelContextTooLong ModelError ModelFormatRefused ModelMayRetry ModelRateLimited "
            "ModelRefused ModelReplyError ModelServerError ModelTimeout MultipleFinalAnswers "
            "NoProgress RecordingMismatch RunEnded SandboxUnavailable StepLimitReached "
            "TinyAgentError ToolArgumentsError ToolDefinitionError ToolRetry ToolServerError "
            "UnknownToolError UsageLimitReached"
        ),
        "tinyagent.core.events": (
            "CodeFinished CodeStarted Event ModelRequested ModelResponded OutputDelta "
            "ReplyRejected RunFinished RunStarted SignalGiven StepFinished StepStarted "
            "TextDelta ToolFinished ToolStarted"
        ),
        "tinyagent.core.execution": "Artifact ExecutionResult",
        "tinyagent.core.messages": "Message ToolCall",
        "tinyagent.core.parts": "Document Image Opaque Reasoning Text",
        "tinyagent.core.results": "FinalAnswer Finalizer ReactStep RunResult",
        "tinyagent.core.signals": (
            "Signal SignalType collect_signals commit explore set_signal_collector uncertain"
        ),
        "tinyagent.core.types": (
            "ModelDelta ModelRequest ModelResponse RawToolCall RequestFormat ToolResult Usage "
            "remembered"
        ),
        "tinyagent.execution.limits": "ExecutionLimits TrustLevel",
        "tinyagent.execution.sandbox.executor": "ProcessExecutor get_executor",
        "tinyagent.execution.protocol": "Executor Guarantee",
        "tinyagent.memory.items": "MemoryItem MessageGroup",
        "tinyagent.memory.memory": "Memory MemoryManager TokenEstimate",
        "tinyagent.memory.pruning": (
            "Strategy keep_last_n_steps keep_system_and_recent no_pruning "
            "prune_old_observations token_budget"
        ),
        "tinyagent.memory.scratchpad": "AgentMemory Unrestored",
        "tinyagent.memory.steps": (
            "ActionStep ScratchpadStep Step SystemPromptStep TaskStep step_from_dict"
        ),
        "tinyagent.memory.summary": "summarize",
        "tinyagent.middleware.approval": "Approval Decision",
        "tinyagent.middleware.base": "Middleware SteeringMiddleware",
        "tinyagent.middleware.limits": "UsageLimits",
        "tinyagent.middleware.tracing": "Tracing",
        "tinyagent.models.anthropic": "AnthropicModel",
        "tinyagent.models.base": "Model get_model",
        "tinyagent.models.fallback": "FallbackModel",
        "tinyagent.models.openai": "OpenAIModel OpenAIResponsesModel",
        "tinyagent.models.recorded": "RecordedModel",
        "tinyagent.models.scripted": "ScriptedModel scripted_call",
        "tinyagent.prompts": "get_prompt_fallback",
        "tinyagent.tools.registry": "ToolRegistry get_registry",
        "tinyagent.tools.tool": "Tool tool",
    }
    _MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415 - slow to load

            return version("tinyagent-skillian")
        if name not in _MODULES:
            raise AttributeError(f"module 'tinyagent' has no attribute {name!r}")
        item = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return item

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
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
