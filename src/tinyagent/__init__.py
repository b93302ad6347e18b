"""tinyagent: a small agent framework. What is named here is public, the rest may change."""

from tinyagent.adapters import NativeToolAdapter, ToolCallingAdapter, get_adapter
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
    ModelError,
    ModelMayRetry,
    ModelRateLimited,
    ModelRefused,
    ModelReplyError,
    ModelServerError,
    ModelTimeout,
    MultipleFinalAnswers,
    RunEnded,
    StepLimitReached,
    TinyAgentError,
    ToolArgumentsError,
    ToolDefinitionError,
    ToolRetry,
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
from tinyagent.core.memory import Memory
from tinyagent.core.messages import Message, ToolCall
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
from tinyagent.middleware.base import Middleware
from tinyagent.middleware.limits import UsageLimits
from tinyagent.models.base import Model
from tinyagent.models.openai import OpenAIModel
from tinyagent.models.scripted import ScriptedModel, scripted_call
from tinyagent.prompts.loader import get_prompt_fallback
from tinyagent.tools.registry import ToolRegistry, get_registry
from tinyagent.tools.tool import Tool, tool

__all__ = [
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
