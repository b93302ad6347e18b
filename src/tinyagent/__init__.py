"""tinyagent: a small agent framework. What is named here is public, the rest may change."""

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
    Event,
    ModelRequested,
    ModelResponded,
    ReplyRejected,
    RunFinished,
    RunStarted,
    StepFinished,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
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
from tinyagent.tools.registry import ToolRegistry, get_registry
from tinyagent.tools.tool import Tool, tool

__all__ = [
    "ActionStep",
    "AgentMemory",
    "AnthropicModel",
    "Approval",
    "BaseAgent",
    "CallerError",
    "ConfigurationError",
    "Decision",
    "Event",
    "FallbackModel",
    "FinalAnswer",
    "Finalizer",
    "InvalidFinalAnswer",
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
    "ParsedAdapter",
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
    "ScratchpadStep",
    "ScriptedModel",
    "Signal",
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
    "Turn",
    "UnknownToolError",
    "Unrestored",
    "Usage",
    "UsageLimitReached",
    "UsageLimits",
    "ValidatedAdapter",
    "get_adapter",
    "get_model",
    "get_prompt_fallback",
    "get_registry",
    "keep_last_n_steps",
    "keep_system_and_recent",
    "no_pruning",
    "prune_old_observations",
    "scripted_call",
    "step_from_dict",
    "summarize",
    "token_budget",
    "tool",
]
