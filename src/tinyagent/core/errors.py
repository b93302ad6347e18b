"""Every error that tinyagent raises, split by who can act on it.

TinyAgentError
├── ModelMayRetry             told to the model, which tries again
│   ├── MalformedReply        the reply is neither an answer nor a call
│   ├── ToolArgumentsError    the arguments do not fit the tool
│   └── ToolRetry             raised by a tool: advice for the next try
├── CallerError               a mistake in the calling program
│   ├── ConfigurationError    a key, an address or an option is missing or wrong
│   ├── MultipleFinalAnswers  an answer was set twice
│   ├── RecordingMismatch     a request is not the one that was recorded
│   ├── RunConflict           a durable run is not what, or where, the caller takes it to be
│   ├── ToolDefinitionError   something given as a tool is none
│   ├── UnknownRun            no durable run of that id
│   └── UnknownToolError      no tool of that name in the registry
├── RunEnded                  the run stopped without an answer; carries its result
│   ├── InvalidFinalAnswer    the answer never took the wanted type
│   ├── ReplayDiverged        a durable run asks for something else than it did before
│   ├── RunAborted            somebody ended a durable run whose call was in doubt
│   ├── StepLimitReached      `max_steps` are used up
│   └── UsageLimitReached     requests, tokens, tool calls or seconds are used up
│       └── NoProgress        the same call gave the same result again and again
├── ModelError                the model's server failed
│   ├── ModelAuthenticationError   the key is refused
│   ├── ModelConnectionError       no connection, or it broke
│   ├── ModelRateLimited           too many requests
│   ├── ModelRefused               the server refuses this request
│   │   ├── ModelContextTooLong    the conversation is longer than the model can take
│   │   └── ModelFormatRefused     it takes no `tools`, or no `response_format`
│   ├── ModelReplyError            the server's reply cannot be read
│   ├── ModelServerError           the server failed
│   └── ModelTimeout               the server did not answer in time
├── ArtifactError             a file that code made cannot be saved
├── ToolServerError           an MCP server failed or cannot be reached
└── ExecutionError            a model's code could not be run
    ├── ExecutionTimeout      its time is over
    └── SandboxUnavailable    this machine cannot give what the trust level promises
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tinyagent.core.results import RunResult, RunState


class TinyAgentError(Exception):
    """Root of the tree. `result` is what the run had come to, where a run ended with it."""

    result: RunResult[Any] | None = None


class ModelMayRetry(TinyAgentError):
    """Told to the model, which tries again."""


class MalformedReply(ModelMayRetry):
    """The reply holds neither an answer nor a readable tool call; the message says what to send."""


class ToolArgumentsError(ModelMayRetry):
    """The arguments do not fit the tool: which field, what was expected, what came."""


class ToolRetry(ModelMayRetry):
    """Raise it inside a tool to tell the model, in your words, how to call it better."""


class CallerError(TinyAgentError):
    """A mistake in the calling program."""


class ConfigurationError(CallerError):
    """A key, an address or an option is missing or wrong; the message says which and the mend."""


class MultipleFinalAnswers(CallerError):
    """An answer was set twice."""


class RecordingMismatch(CallerError):
    """A request is not the one that was recorded; the message shows the difference."""


class RunConflict(CallerError):
    """A durable run is not what, or where, the caller takes it to be; the message says it."""


class ToolDefinitionError(CallerError):
    """Something given as a tool cannot be one; the message names it and the mend."""


class UnknownRun(CallerError):
    """There is no durable run of that id."""


class UnknownToolError(CallerError):
    """The registry has no tool of that name."""


class RunEnded(TinyAgentError):
    """The run stopped without an answer; `result` is what it had come to."""

    state: ClassVar[RunState] = "error"


class InvalidFinalAnswer(RunEnded):
    """The answer did not take the wanted type within `output_retries` more tries."""


class ReplayDiverged(RunEnded):
    """A durable run that goes on asks for something else than what its journal holds."""


class RunAborted(RunEnded):
    """A call was begun, nobody knows what came of it, and somebody decided to end the run."""


class StepLimitReached(RunEnded):
    """`max_steps` are used up."""

    state: ClassVar[RunState] = "step_limit_reached"


class UsageLimitReached(RunEnded):
    """Requests, tokens, tool calls or seconds of `UsageLimits` are used up."""

    state: ClassVar[RunState] = "usage_limit_reached"


class NoProgress(UsageLimitReached):
    """The same call gave the same result again and again, though the model was told."""


class ModelError(TinyAgentError):
    """The model's server failed. `retryable`: the same request may succeed later."""

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the server asked to wait, where it did."""


class ModelAuthenticationError(ModelError):
    """The key is refused."""


class ModelRefused(ModelError):
    """The server refuses this request, and would again."""


class ModelContextTooLong(ModelRefused):
    """The conversation is longer than the model can take."""


class ModelFormatRefused(ModelRefused):
    """The server or the model takes no `tools`, or no `response_format`."""


class ModelConnectionError(ModelError):
    """No connection, or it broke before the answer was whole."""

    retryable: ClassVar[bool] = True


class ModelRateLimited(ModelError):
    """Too many requests."""

    retryable: ClassVar[bool] = True


class ModelReplyError(ModelError):
    """The server's reply is not what chat completions promises."""

    retryable: ClassVar[bool] = True


class ModelServerError(ModelError):
    """The server failed."""

    retryable: ClassVar[bool] = True


class ModelTimeout(ModelError):
    """The server did not answer in time."""

    retryable: ClassVar[bool] = True


class ToolServerError(TinyAgentError):
    """A server of tools (MCP) cannot be reached, does not answer in time, or sends rubbish."""


class ArtifactError(TinyAgentError, OSError):
    """A file that a model's code made cannot be saved; the message says why."""


class ExecutionError(TinyAgentError):
    """A model's code could not be run, for a reason that lies outside the code."""


class ExecutionTimeout(ExecutionError):
    """The time of `ExecutionLimits.timeout_seconds` is over."""


class SandboxUnavailable(ExecutionError):
    """This machine cannot give what the trust level promises; the message says what to install."""
