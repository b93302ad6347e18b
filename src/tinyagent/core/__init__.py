"""What all rooms share: errors, events, messages, requests, results, signals."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinyagent.core.context import Finalizer, RunContext, RunControl
    from tinyagent.core.cost import Cost, ModelUse
    from tinyagent.core.errors import (
        AnswerCutOff,
        AnswerRefused,
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
        WorkspaceConflict,
        how_to_install,
        missing_extra,
    )
    from tinyagent.core.events import (
        CodeFinished,
        CodeStarted,
        Event,
        ModelRequested,
        ModelResponded,
        NetworkRequestFinished,
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
    from tinyagent.core.execution import Artifact, Change, ExecutionResult, NetworkRequest
    from tinyagent.core.messages import Message, ToolCall
    from tinyagent.core.parts import Document, Image, Opaque, Reasoning, Text
    from tinyagent.core.results import FinalAnswer, ReactStep, RunResult
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
else:
    from tinyagent.core.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "context": "Finalizer RunContext RunControl",
            "cost": "Cost ModelUse",
            "errors": (
                "AnswerCutOff AnswerRefused ArtifactError CallerError "
                "ConfigurationError ExecutionError "
                "ExecutionTimeout InvalidFinalAnswer MalformedReply "
                "ModelAuthenticationError ModelConnectionError ModelContextTooLong "
                "ModelError ModelFormatRefused ModelMayRetry ModelRateLimited "
                "ModelRefused ModelReplyError ModelServerError ModelTimeout "
                "MultipleFinalAnswers NoProgress RecordingMismatch RunEnded "
                "SandboxUnavailable StepLimitReached TinyAgentError "
                "ToolArgumentsError ToolDefinitionError ToolRetry ToolServerError "
                "UnknownToolError UsageLimitReached WorkspaceConflict "
                "how_to_install missing_extra"
            ),
            "events": (
                "CodeFinished CodeStarted Event ModelRequested ModelResponded "
                "NetworkRequestFinished OutputDelta ReplyRejected RunFinished RunStarted "
                "SignalGiven StepFinished StepStarted TextDelta ToolFinished ToolStarted"
            ),
            "execution": "Artifact Change ExecutionResult NetworkRequest",
            "messages": "Message ToolCall",
            "parts": "Document Image Opaque Reasoning Text",
            "results": "FinalAnswer ReactStep RunResult",
            "signals": (
                "Signal SignalType collect_signals commit explore set_signal_collector uncertain"
            ),
            "types": (
                "ModelDelta ModelRequest ModelResponse RawToolCall RequestFormat "
                "ToolResult Usage remembered"
            ),
        },
    )

__all__ = [
    "AnswerCutOff",
    "AnswerRefused",
    "Artifact",
    "ArtifactError",
    "CallerError",
    "Change",
    "CodeFinished",
    "CodeStarted",
    "ConfigurationError",
    "Cost",
    "Document",
    "Event",
    "ExecutionError",
    "ExecutionResult",
    "ExecutionTimeout",
    "FinalAnswer",
    "Finalizer",
    "Image",
    "InvalidFinalAnswer",
    "MalformedReply",
    "Message",
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
    "NetworkRequest",
    "NetworkRequestFinished",
    "NoProgress",
    "Opaque",
    "OutputDelta",
    "RawToolCall",
    "ReactStep",
    "Reasoning",
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
    "Signal",
    "SignalGiven",
    "SignalType",
    "StepFinished",
    "StepLimitReached",
    "StepStarted",
    "Text",
    "TextDelta",
    "TinyAgentError",
    "ToolArgumentsError",
    "ToolCall",
    "ToolDefinitionError",
    "ToolFinished",
    "ToolResult",
    "ToolRetry",
    "ToolServerError",
    "ToolStarted",
    "UnknownToolError",
    "Usage",
    "UsageLimitReached",
    "WorkspaceConflict",
    "collect_signals",
    "commit",
    "explore",
    "how_to_install",
    "missing_extra",
    "remembered",
    "set_signal_collector",
    "uncertain",
]
