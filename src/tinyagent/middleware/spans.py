"""The spans of one run; loads OpenTelemetry, so it is imported only when a run is traced.

Names that begin with `gen_ai.` and `error.` are from OpenTelemetry's semantic conventions for
generative AI, repository open-telemetry/semantic-conventions-genai, `docs/gen-ai`
(client-inference, execute-tool, gen-ai-agent-spans and non-normative/migration), read in November
2026, all at the stage "Development". They are written out because the constants of
`opentelemetry-semantic-conventions` are older and marked as deprecated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import (
    Span,
    SpanKind,
    Status,
    StatusCode,
    TracerProvider,
    get_tracer,
    set_span_in_context,
    use_span,
)

from tinyagent.core.context import RunContext
from tinyagent.core.events import Event, RunFinished, RunStarted, TextDelta
from tinyagent.core.execution import ExecutionResult
from tinyagent.core.messages import Message, Part, ToolCall
from tinyagent.core.parts import Reasoning, Text
from tinyagent.core.results import RunResult
from tinyagent.core.types import ModelRequest, ModelResponse, RawToolCall, ReplyPart, ToolResult
from tinyagent.core.untrusted import cut_middle
from tinyagent.middleware.base import CodeRun, Middleware, ModelCall, ToolCallHandler

_MAX_MESSAGES = 50
_Value = str | int | float | bool | list[str]


class Spans:
    """What all runs of an agent share: the tracer, and names that a middleware cannot see.

    Args:
        agent, provider: Names; an empty one is left out.
        max_chars: How many characters of each text are recorded; None records none.
        tracer_provider: None means the program's global one.
    """

    def __init__(
        self,
        *,
        agent: str,
        provider: str,
        max_chars: int | None,
        tracer_provider: TracerProvider | None,
    ) -> None:
        self.agent = agent
        self.provider = provider
        self.tracer = get_tracer("tinyagent", tracer_provider=tracer_provider)
        self.writer = None if max_chars is None else ContentWriter(max_chars)


class ContentWriter:
    """Writes content in the format of the GenAI conventions.

    Args:
        max_chars: Longer texts are cut in the middle. Only the newest 50 messages of a
            conversation are written.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars

    def messages(self, messages: Sequence[Message]) -> str:
        """The messages of a request."""
        return json.dumps(
            [self._message(message) for message in messages[-_MAX_MESSAGES:]], ensure_ascii=False
        )

    def response(self, response: ModelResponse) -> str:
        """The model's answer."""
        texts = [Text(response.content)] if response.content else []
        parts = [self._part(part) for part in response.parts or (*texts, *response.tool_calls)]
        return json.dumps([{"role": "assistant", "parts": parts}], ensure_ascii=False)

    def arguments(self, arguments: Mapping[str, Any]) -> str:
        """The arguments of a call."""
        return self.text(json.dumps(dict(arguments), ensure_ascii=False, default=str))

    def text(self, text: str) -> str:
        """A text, cut in the middle if it is too long."""
        return cut_middle(text, self._max_chars)

    def _message(self, message: Message) -> dict[str, Any]:
        if message.role == "tool":
            answer = {"type": "tool_call_response", "id": message.tool_call_id}
            return {"role": "tool", "parts": [answer | {"response": self.text(message.describe())}]}
        return {"role": message.role, "parts": [self._part(part) for part in message.parts]}

    def _part(self, part: Part | ReplyPart) -> dict[str, Any]:
        """A part as the conventions name it; opaque data and bytes are left out."""
        if isinstance(part, ToolCall):
            return self._call(part.id, part.name, self.arguments(part.arguments))
        if isinstance(part, RawToolCall):
            return self._call(part.id, part.name, self.text(part.arguments))
        if isinstance(part, Reasoning):
            return {"type": "reasoning", "content": self.text(part.text)}
        return {"type": "text", "content": self.text(part.describe())}

    def _call(self, call_id: str, name: str, arguments: str) -> dict[str, Any]:
        return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


class RunTrace(Middleware):
    """Starts and ends the spans of one run."""

    def __init__(self, spans: Spans, run: RunContext) -> None:
        self._names = spans
        self._tracer = spans.tracer
        self._writer = spans.writer
        self._run = run
        self._model = run.model
        self._span: Span | None = None
        self._parent: Context | None = None
        self._unanswered: tuple[Span, float] | None = None

    def on_event(self, event: Event) -> None:
        """Start and end the run's span; record when the first piece of an answer arrives."""
        match event:
            case RunStarted():
                self._begin()
            case TextDelta() if self._unanswered is not None:
                span, asked = self._unanswered
                self._unanswered = None
                span.set_attribute("gen_ai.request.stream", value=True)
                span.set_attribute("gen_ai.response.time_to_first_chunk", time.monotonic() - asked)
            case RunFinished(result=result):
                self._end(result)
            case _:
                pass

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """A span around one request to the model."""
        attributes = _present(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": self._names.provider,
                "gen_ai.request.model": self._model,
                "gen_ai.request.temperature": request.temperature,
                "gen_ai.request.max_tokens": request.max_tokens,
            }
        )
        name = _named("chat", self._model)
        with self._child(name, SpanKind.CLIENT, attributes) as span:
            if self._writer is not None:
                span.set_attribute("gen_ai.input.messages", self._writer.messages(request.messages))
            self._unanswered = (span, time.monotonic())
            response = await call_next(request)
            self._record_answer(span, response)
            return response

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """A span around one tool call."""
        attributes = _present(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.call.id": call.id,
            }
        )
        name = _named("execute_tool", call.name)
        with self._child(name, SpanKind.INTERNAL, attributes) as span:
            if self._writer is not None:
                arguments = self._writer.arguments(call.arguments)
                span.set_attribute("gen_ai.tool.call.arguments", arguments)
            result = await call_next(call)
            if self._writer is not None:
                span.set_attribute("gen_ai.tool.call.result", self._writer.text(result.content))
            if result.is_error:
                self._mark_failed(span, "tool_error", result.content)
            return result

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """A span around one block of code and its tool calls."""
        attributes: dict[str, _Value] = {"gen_ai.operation.name": "execute_code"}
        with self._child("execute_code", SpanKind.INTERNAL, attributes) as span:
            if self._writer is not None:
                span.set_attribute("tinyagent.code", self._writer.text(code))
            outer, self._parent = self._parent, set_span_in_context(span)
            try:
                result = await call_next(code)
            finally:
                self._parent = outer
            if self._writer is not None:
                span.set_attribute("tinyagent.code.output", self._writer.text(result.output))
            if result.error is not None:
                self._mark_failed(span, "code_error", result.error)
            return result

    def _begin(self) -> None:
        attributes = _present(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": self._names.agent,
                "gen_ai.request.model": self._model,
                "tinyagent.run.id": self._run.run_id,
            }
        )
        name = _named("invoke_agent", self._names.agent)
        span = self._tracer.start_span(name, kind=SpanKind.INTERNAL, attributes=attributes)
        if self._writer is not None:
            task = self._writer.messages([Message("user", self._run.task)])
            span.set_attribute("gen_ai.input.messages", task)
        self._span = span
        self._parent = set_span_in_context(span)

    def _end(self, result: RunResult[Any]) -> None:
        span, self._span = self._span, None
        if span is None:
            return
        span.set_attributes(
            {
                "gen_ai.usage.input_tokens": result.usage.input_tokens,
                "gen_ai.usage.output_tokens": result.usage.output_tokens,
                "tinyagent.run.state": result.state,
                "tinyagent.run.steps": result.steps_taken,
            }
        )
        if self._writer is not None and result.final_answer is not None:
            answer = self._writer.response(ModelResponse(str(result)))
            span.set_attribute("gen_ai.output.messages", answer)
        if result.state != "completed":
            kind = result.state if result.error is None else type(result.error).__qualname__
            self._mark_failed(span, kind, str(result.error or ""))
        span.end()

    def _record_answer(self, span: Span, response: ModelResponse) -> None:
        usage = response.usage
        span.set_attributes(
            _present(
                {
                    "gen_ai.response.model": response.model,
                    "gen_ai.response.id": response.id,
                    "gen_ai.response.finish_reasons": [response.finish_reason],
                    "gen_ai.usage.input_tokens": usage.input_tokens,
                    "gen_ai.usage.output_tokens": usage.output_tokens,
                    "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
                    "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens or None,
                    "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
                }
            )
        )
        if self._writer is not None:
            span.set_attribute("gen_ai.output.messages", self._writer.response(response))

    @contextmanager
    def _child(
        self, name: str, kind: SpanKind, attributes: Mapping[str, _Value]
    ) -> Generator[Span]:
        """A span under the run's, current for whatever is called inside."""
        # The parent is passed and not taken from the current context because calls of one
        # answer run in separate tasks, and a middleware may run them anywhere.
        span = self._tracer.start_span(name, self._parent, kind, attributes)
        with use_span(
            span, end_on_exit=True, record_exception=False, set_status_on_exception=False
        ):
            try:
                yield span
            except BaseException as error:
                self._mark_failed(span, type(error).__qualname__, str(error))
                raise

    def _mark_failed(self, span: Span, kind: str, message: str) -> None:
        span.set_attribute("error.type", kind)
        text = None if self._writer is None else self._writer.text(message)
        span.set_status(Status(StatusCode.ERROR, text))


def _named(operation: str, what: str) -> str:
    return f"{operation} {what}".rstrip()


def _present(attributes: Mapping[str, _Value | None]) -> dict[str, _Value]:
    return {name: value for name, value in attributes.items() if value is not None and value != ""}
