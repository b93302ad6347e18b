"""Tracing: a run as OpenTelemetry spans.

invoke_agent {agent}
├── chat {model}           one a model call
├── execute_tool {tool}    one a tool call; calls of one answer stand side by side
└── execute_code           one a block of a code agent
    └── execute_tool {tool}    the calls that it makes
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from tinyagent.core.context import RunContext
from tinyagent.core.errors import ConfigurationError
from tinyagent.middleware.base import Middleware

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


class Tracing(Middleware):
    """Tells OpenTelemetry of each run and of its model calls, tool calls and blocks of code.

    The names are those of the GenAI conventions, where these have one. Make it the first of an
    agent's middleware. Without `content=True` a span holds names, numbers and kinds of errors, and
    no text of a message, argument, result or error.

    Args:
        content: whether messages, arguments, results and the texts of errors are recorded too.
        max_chars: how much of each text is recorded.
        agent: the agent's name.
        provider: the provider's name, such as `"openai"`.
        tracer_provider: where the spans go; by default the program's global one.

    Raises:
        ConfigurationError: the package `opentelemetry-api` is not installed.
    """

    def __init__(
        self,
        *,
        content: bool = False,
        max_chars: int = 4_000,
        agent: str = "",
        provider: str = "",
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        if importlib.util.find_spec("opentelemetry") is None:
            raise ConfigurationError(
                "Tracing needs OpenTelemetry; install it with: pip install opentelemetry-api"
                " (and opentelemetry-sdk in the program that exports the spans)"
            )
        from tinyagent.middleware.spans import Spans  # noqa: PLC0415 - loads OpenTelemetry

        self._spans = Spans(
            agent=agent,
            provider=provider,
            max_chars=max_chars if content else None,
            tracer_provider=tracer_provider,
        )

    def bind(self, run: RunContext) -> Middleware:
        """Trace one run."""
        from tinyagent.middleware.spans import RunTrace  # noqa: PLC0415 - loads OpenTelemetry

        return RunTrace(self._spans, run)
