"""tinyagent: a small agent framework.

Here are the names of the first week. The rest is in the rooms, documented in docs/stability.md:
`tinyagent.core` (errors, events, requests and results), `.models`, `.memory`, `.middleware`,
`.execution`, `.adapters`, `.agents`, `.tools`, `.prompts`, `.durable`, `.mcp` and `.testing`.
"""

from typing import TYPE_CHECKING

# Each name is loaded when it is first used, so `import tinyagent` costs almost nothing. Type
# checkers read the imports, Python reads the table; tests/house/test_public_names.py compares them.
if TYPE_CHECKING:
    from tinyagent.agents import ReactAgent, TinyCodeAgent
    from tinyagent.core import (
        AnswerCutOff,
        AnswerRefused,
        Artifact,
        CodeFinished,
        CodeStarted,
        ConfigurationError,
        Document,
        Event,
        Image,
        InvalidFinalAnswer,
        Message,
        ModelError,
        NoProgress,
        OutputDelta,
        RunContext,
        RunEnded,
        RunFinished,
        RunResult,
        RunStarted,
        SandboxUnavailable,
        StepFinished,
        StepLimitReached,
        StepStarted,
        Text,
        TextDelta,
        TinyAgentError,
        ToolCall,
        ToolDefinitionError,
        ToolFinished,
        ToolResult,
        ToolRetry,
        ToolStarted,
        Usage,
        UsageLimitReached,
    )
    from tinyagent.execution import ExecutionLimits, Executor, Sandbox, TrustLevel, get_executor
    from tinyagent.memory import Memory
    from tinyagent.middleware import Approval, Decision, Middleware, Tracing, UsageLimits
    from tinyagent.models import (
        AnthropicModel,
        FallbackModel,
        Model,
        OpenAIModel,
        ScriptedModel,
        scripted_call,
    )
    from tinyagent.tools import Tool
    from tinyagent.tools.registry import tool

    __version__: str
else:
    from tinyagent.core.lazy import lazy_names

    _load, __dir__ = lazy_names(
        __name__,
        {
            "agents": "ReactAgent TinyCodeAgent",
            "core": (
                "AnswerCutOff AnswerRefused Artifact CodeFinished CodeStarted "
                "ConfigurationError Document "
                "Event Image InvalidFinalAnswer Message ModelError NoProgress "
                "OutputDelta RunContext RunEnded RunFinished RunResult RunStarted "
                "SandboxUnavailable StepFinished StepLimitReached StepStarted Text "
                "TextDelta TinyAgentError ToolCall ToolDefinitionError ToolFinished "
                "ToolResult ToolRetry ToolStarted Usage UsageLimitReached"
            ),
            "execution": "ExecutionLimits Executor Sandbox TrustLevel get_executor",
            "memory": "Memory",
            "middleware": "Approval Decision Middleware Tracing UsageLimits",
            "models": (
                "AnthropicModel FallbackModel Model OpenAIModel ScriptedModel scripted_call"
            ),
            "tools": "Tool",
            "tools.registry": "tool",
        },
    )

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415 - slow to load

            return version("tinyagent-skillian")
        return _load(name)


__all__ = [
    "AnswerCutOff",
    "AnswerRefused",
    "AnthropicModel",
    "Approval",
    "Artifact",
    "CodeFinished",
    "CodeStarted",
    "ConfigurationError",
    "Decision",
    "Document",
    "Event",
    "ExecutionLimits",
    "Executor",
    "FallbackModel",
    "Image",
    "InvalidFinalAnswer",
    "Memory",
    "Message",
    "Middleware",
    "Model",
    "ModelError",
    "NoProgress",
    "OpenAIModel",
    "OutputDelta",
    "ReactAgent",
    "RunContext",
    "RunEnded",
    "RunFinished",
    "RunResult",
    "RunStarted",
    "Sandbox",
    "SandboxUnavailable",
    "ScriptedModel",
    "StepFinished",
    "StepLimitReached",
    "StepStarted",
    "Text",
    "TextDelta",
    "TinyAgentError",
    "TinyCodeAgent",
    "Tool",
    "ToolCall",
    "ToolDefinitionError",
    "ToolFinished",
    "ToolResult",
    "ToolRetry",
    "ToolStarted",
    "Tracing",
    "TrustLevel",
    "Usage",
    "UsageLimitReached",
    "UsageLimits",
    "get_executor",
    "scripted_call",
    "tool",
]
