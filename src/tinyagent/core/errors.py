"""Every error that tinyagent raises, split by who can act on it.

TinyAgentError
├── ModelMayRetry             reported to the model, which tries again
│   ├── MalformedReply        the reply is neither an answer nor a call
│   ├── ToolArgumentsError    the arguments do not fit the tool
│   └── ToolRetry             raised by a tool: advice for the next try
├── CallerError               an error in the calling program
│   ├── ConfigurationError    a key, an address or an option is missing or wrong
│   ├── MultipleFinalAnswers  an answer was set twice
│   ├── RecordingMismatch     a request differs from the recorded one
│   ├── RunConflict           a durable run is not in the state that the caller assumes
│   ├── ToolDefinitionError   an object cannot be a tool
│   ├── UnknownRun            there is no durable run with this id
│   └── UnknownToolError      there is no tool with this name in the registry
├── RunEnded                  the run stopped without an answer; carries its result
│   ├── AnswerCutOff          the replies were longer than the model may send
│   ├── AnswerRefused         the model or a filter of its provider declined to answer
│   ├── InvalidFinalAnswer    the answer never matched its type
│   ├── NoCandidatePassed     no candidate of `best_of` passed its check
│   ├── ReplayDiverged        a resumed durable run does something else than before
│   ├── RunAborted            a durable run was aborted because the result of a call is unknown
│   ├── StepLimitReached      the run took `max_steps` steps
│   └── UsageLimitReached     a limit on requests, tokens, tool calls or seconds was reached
│       └── NoProgress        the same call kept giving the same result
├── ModelError                the model's server failed
│   ├── ModelAuthenticationError   the key is refused
│   ├── ModelConnectionError       the connection failed or broke
│   ├── ModelRateLimited           too many requests
│   ├── ModelRefused               the server refuses this request
│   │   ├── ModelContextTooLong    the conversation is longer than the model can take
│   │   └── ModelFormatRefused     it does not support `tools` or `response_format`
│   ├── ModelReplyError            the server's reply cannot be read
│   ├── ModelServerError           the server failed
│   └── ModelTimeout               the server did not answer in time
├── ArtifactError             a file that code created cannot be saved
├── ToolServerError           an MCP server failed or cannot be reached
├── WorkspaceConflict         changes cannot be committed to the folder; nothing is written
└── ExecutionError            a model's code could not be run
    ├── ExecutionTimeout      it took too long
    └── SandboxUnavailable    this machine cannot keep the promises of the trust level
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tinyagent.core.results import RunResult, RunState


class TinyAgentError(Exception):
    """Root of the tree. `result` is the result of the run, if a run ended with this error."""

    result: RunResult[Any] | None = None


class ModelMayRetry(TinyAgentError):
    """Reported to the model, which tries again."""


class MalformedReply(ModelMayRetry):
    """The reply holds neither an answer nor a readable tool call; the message says what to send."""


class ToolArgumentsError(ModelMayRetry):
    """The arguments do not match the tool: which field, what was expected, what was sent."""


class ToolRetry(ModelMayRetry):
    """Raise it inside a tool to tell the model how to call the tool correctly."""


class CallerError(TinyAgentError):
    """An error in the calling program."""


class ConfigurationError(CallerError):
    """A key, an address or an option is missing or wrong; the message says how to fix it."""


class MultipleFinalAnswers(CallerError):
    """An answer was set twice."""


class RecordingMismatch(CallerError):
    """A request differs from the recorded one; the message shows the difference."""


class RunConflict(CallerError):
    """A durable run is not in the state that the caller assumes; the message says why."""


class ToolDefinitionError(CallerError):
    """An object cannot be a tool; the message names it and says how to fix it."""


class UnknownRun(CallerError):
    """There is no durable run with this id."""


class UnknownToolError(CallerError):
    """The registry has no tool with this name."""


class RunEnded(TinyAgentError):
    """The run stopped without an answer; `result` is its result up to there."""

    state: ClassVar[RunState] = "error"


class AnswerCutOff(RunEnded):
    """The model's replies were cut off at their maximum length, after `output_retries` more tries.

    Nothing that was cut off was run, or taken as the answer.
    """

    state: ClassVar[RunState] = "cut_off"


class AnswerRefused(RunEnded):
    """The model, or a filter of its provider, declined to answer; the message has their words."""

    state: ClassVar[RunState] = "refused"


class InvalidFinalAnswer(RunEnded):
    """The answer did not match its type after `output_retries` more tries."""


class NoCandidatePassed(RunEnded):
    """No candidate has an answer that passes the check; `candidates` holds their results."""

    def __init__(self, candidates: Sequence[RunResult[Any]]) -> None:
        reasons = [str(each.error or "the check refused its answer") for each in candidates]
        listed = "; ".join(f"{number}: {reason}" for number, reason in enumerate(reasons, 1))
        super().__init__(f"none of {len(candidates)} candidates passes the check ({listed})")
        self.candidates = tuple(candidates)


class ReplayDiverged(RunEnded):
    """A resumed durable run does something else than its journal records."""


class RunAborted(RunEnded):
    """The result of a started call is unknown, and a person decided to end the run."""


class StepLimitReached(RunEnded):
    """The run took `max_steps` steps without an answer."""

    state: ClassVar[RunState] = "step_limit_reached"


class UsageLimitReached(RunEnded):
    """A limit of `UsageLimits` on requests, tokens, tool calls or seconds was reached."""

    state: ClassVar[RunState] = "usage_limit_reached"


class NoProgress(UsageLimitReached):
    """The same call kept giving the same result, although the model was warned."""


class ModelError(TinyAgentError):
    """The model's server failed. If `retryable`, the same request may succeed later."""

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """How many seconds the server asked to wait, if it did."""


class ModelAuthenticationError(ModelError):
    """The key is refused."""


class ModelRefused(ModelError):
    """The server refuses this request, and would again."""


class ModelContextTooLong(ModelRefused):
    """The conversation is longer than the model can take."""


class ModelFormatRefused(ModelRefused):
    """The server or the model does not support `tools` or `response_format`."""


class ModelConnectionError(ModelError):
    """The connection failed, or broke before the answer was complete."""

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
    """An MCP server cannot be reached, does not answer in time, or sends invalid data."""


class ArtifactError(TinyAgentError, OSError):
    """A file that a model's code created cannot be saved; the message says why."""


class WorkspaceConflict(TinyAgentError):
    """Changes cannot be committed to the workspace's folder, which is as it was before.

    Attributes:
        paths: Where the folder is not as the code saw it, or cannot take the change.
    """

    def __init__(self, message: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.paths = paths


class ExecutionError(TinyAgentError):
    """A model's code could not be run, for a reason outside the code."""


class ExecutionTimeout(ExecutionError):
    """The code ran longer than `ExecutionLimits.timeout_seconds`."""


class SandboxUnavailable(ExecutionError):
    """This machine cannot keep the trust level's promises; the message says what to install."""


def how_to_install(extra: str) -> str:
    """The command that installs an extra of this distribution, which is on no package index.

    Args:
        extra: Its name in `pyproject.toml`; several are separated by commas.
    """
    return f"in the folder of the clone, run: pip install '.[{extra}]'"


def missing_extra(feature: str, extra: str) -> str:
    """The message of an error: a feature needs an extra that is not installed, and how to get it.

    Args:
        feature: What needs it, at the start of the sentence, in the singular.
        extra: The extra's name in `pyproject.toml`; several are separated by commas.
    """
    return f"{feature} needs the extra {extra!r}, which is not installed; {how_to_install(extra)}"
