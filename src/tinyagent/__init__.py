"""tinyagent: a small agent framework. What is named here is public, the rest may change."""

from importlib import import_module
from typing import TYPE_CHECKING

from tinyagent.adapters import (
    NativeToolAdapter,
    OpenAIStructuredAdapter,
    ParsedAdapter,
    ToolCallingAdapter,
    ValidatedAdapter,
    get_adapter,
)
from tinyagent.agents.base import BaseAgent
from tinyagent.agents.react import ReactAgent
from tinyagent.core.context import RunContext
from tinyagent.core.errors import (
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
from tinyagent.core.finalizer import Finalizer
from tinyagent.core.items import MemoryItem
from tinyagent.core.memory import Memory
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.signals import Signal, SignalType
from tinyagent.core.tokens import TokenEstimate
from tinyagent.core.turns import Turn
from tinyagent.core.types import (
    FinalAnswer,
    ModelDelta,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    ReactStep,
    RequestFormat,
    RunResult,
    ToolResult,
    Usage,
)
from tinyagent.execution.limits import ExecutionLimits, TrustLevel
from tinyagent.execution.protocol import Executor, Guarantee
from tinyagent.memory.manager import MemoryManager
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
from tinyagent.middleware.base import Middleware
from tinyagent.middleware.limits import UsageLimits
from tinyagent.middleware.tracing import Tracing
from tinyagent.models.anthropic import AnthropicModel
from tinyagent.models.base import Model, get_model
from tinyagent.models.fallback import FallbackModel
from tinyagent.models.openai import OpenAIModel
from tinyagent.models.recorded import RecordedModel
from tinyagent.models.scripted import ScriptedModel, scripted_call
from tinyagent.prompts.loader import get_prompt_fallback
from tinyagent.signals.primitives import (
    collect_signals,
    commit,
    explore,
    set_signal_collector,
    uncertain,
)
from tinyagent.tools.registry import ToolRegistry, get_registry
from tinyagent.tools.tool import Tool, tool

# What runs code is loaded when it is asked for: `import tinyagent` would cost half as much again.
if TYPE_CHECKING:
    from tinyagent.agents.code import TinyCodeAgent
    from tinyagent.execution.choose import get_executor
    from tinyagent.execution.local import LocalExecutor
    from tinyagent.execution.process import ProcessExecutor

    __version__: str
else:
    _LATER = {
        "LocalExecutor": "tinyagent.execution.local",
        "ProcessExecutor": "tinyagent.execution.process",
        "TinyCodeAgent": "tinyagent.agents.code",
        "get_executor": "tinyagent.execution.choose",
    }

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415 - slow to load

            return version("tinyagent-skillian")
        if name not in _LATER:
            raise AttributeError(f"module 'tinyagent' has no attribute {name!r}")
        item = globals()[name] = getattr(import_module(_LATER[name]), name)
        return item


__all__ = [
    "ActionStep",
    "AgentMemory",
    "AnthropicModel",
    "Approval",
    "Artifact",
    "BaseAgent",
    "CallerError",
    "CodeFinished",
    "CodeStarted",
    "ConfigurationError",
    "Decision",
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
    "InvalidFinalAnswer",
    "LocalExecutor",
    "MalformedReply",
    "Memory",
    "MemoryItem",
    "MemoryManager",
    "Message",
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
    "MultipleFinalAnswers",
    "NativeToolAdapter",
    "NoProgress",
    "OpenAIModel",
    "OpenAIStructuredAdapter",
    "OutputDelta",
    "ParsedAdapter",
    "ProcessExecutor",
    "RawToolCall",
    "ReactAgent",
    "ReactStep",
    "RecordedModel",
    "RecordingMismatch",
    "ReplyRejected",
    "RequestFormat",
    "RunContext",
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
    "Step",
    "StepFinished",
    "StepLimitReached",
    "StepStarted",
    "Strategy",
    "SystemPromptStep",
    "TaskStep",
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
    "Turn",
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
    "scripted_call",
    "set_signal_collector",
    "step_from_dict",
    "summarize",
    "token_budget",
    "tool",
    "uncertain",
]
