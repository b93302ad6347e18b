"""Tracing: a run as OpenTelemetry spans.

invoke_agent {agent}
├── chat {model}           for each model call
├── execute_tool {tool}    for each tool call; calls of one answer are siblings
└── execute_code           for each block of a code agent
    └── execute_tool {tool}    for each call that it makes
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from tinyagent.core.context import RunContext
from tinyagent.core.errors import ConfigurationError, missing_extra
from tinyagent.middleware.base import Middleware
from tinyagent.options import checks_options, require_least

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


@checks_options()
class Tracing(Middleware):
    """Reports each run, its model calls, tool calls and blocks of code to OpenTelemetry.

    Names follow the GenAI conventions where they define one. Make this the first of an agent's
    middleware. Without `content=True`, a span holds names, numbers and types of errors, but no text
    of a message, argument, result or error.

    Args:
        content: Whether to record messages, arguments, results and error messages too.
        max_chars: How many characters of each text are recorded.
        agent: The agent's name.
        provider: The provider's name, such as `"openai"`.
        tracer_provider: Receives the spans; by default the program's global one.

    Raises:
        ConfigurationError: `max_chars` is negative, or the package `opentelemetry-api` is not
            installed.
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
        require_least(0, max_chars=max_chars)
        if importlib.util.find_spec("opentelemetry") is None:
            raise ConfigurationError(missing_extra("Tracing", "otel"))
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
