"""The spans of one run; imports OpenTelemetry, so it is imported only where a run is traced."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
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
from tinyagent.core.messages import Message, ToolCall
from tinyagent.core.types import ModelRequest, ModelResponse, RunResult, ToolResult
from tinyagent.middleware import gen_ai
from tinyagent.middleware.base import CodeRun, Middleware, ModelCall, ToolCallHandler
from tinyagent.middleware.trace_content import ContentWriter

_Value = str | int | float | bool | list[str]


class Spans:
    """What all runs of an agent share: where spans go and what a middleware cannot see.

    Args:
        agent, provider: names; an empty one is left out.
        max_chars: how much of each text is recorded; None records none.
        tracer_provider: None is the program's global one.
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


class RunTrace(Middleware):
    """Begins and ends the spans of one run."""

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
        """Begin and end the run's span; note when the first piece of an answer came."""
        match event:
            case RunStarted():
                self._begin()
            case TextDelta() if self._unanswered is not None:
                span, asked = self._unanswered
                self._unanswered = None
                span.set_attribute(gen_ai.REQUEST_STREAM, value=True)
                span.set_attribute(gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK, time.monotonic() - asked)
            case RunFinished(result=result):
                self._end(result)
            case _:
                pass

    async def model_call(self, request: ModelRequest, call_next: ModelCall) -> ModelResponse:
        """A span around one request to the model."""
        attributes = _present(
            {
                gen_ai.OPERATION_NAME: gen_ai.CHAT,
                gen_ai.PROVIDER_NAME: self._names.provider,
                gen_ai.REQUEST_MODEL: self._model,
                gen_ai.REQUEST_TEMPERATURE: request.temperature,
                gen_ai.REQUEST_MAX_TOKENS: request.max_tokens,
            }
        )
        name = _named(gen_ai.CHAT, self._model)
        with self._child(name, SpanKind.CLIENT, attributes) as span:
            if self._writer is not None:
                span.set_attribute(gen_ai.INPUT_MESSAGES, self._writer.messages(request.messages))
            self._unanswered = (span, time.monotonic())
            response = await call_next(request)
            self._tell_answer(span, response)
            return response

    async def tool_call(self, call: ToolCall, call_next: ToolCallHandler) -> ToolResult:
        """A span around one tool call."""
        attributes = _present(
            {
                gen_ai.OPERATION_NAME: gen_ai.EXECUTE_TOOL,
                gen_ai.TOOL_NAME: call.name,
                gen_ai.TOOL_TYPE: gen_ai.TOOL_TYPE_FUNCTION,
                gen_ai.TOOL_CALL_ID: call.id,
            }
        )
        name = _named(gen_ai.EXECUTE_TOOL, call.name)
        with self._child(name, SpanKind.INTERNAL, attributes) as span:
            if self._writer is not None:
                arguments = self._writer.arguments(call.arguments)
                span.set_attribute(gen_ai.TOOL_CALL_ARGUMENTS, arguments)
            result = await call_next(call)
            if self._writer is not None:
                span.set_attribute(gen_ai.TOOL_CALL_RESULT, self._writer.text(result.content))
            if result.is_error:
                self._mark_failed(span, gen_ai.TOOL_ERROR, result.content)
            return result

    async def code_run(self, code: str, call_next: CodeRun) -> ExecutionResult:
        """A span around one block of code; its tool calls lie within."""
        attributes: dict[str, _Value] = {gen_ai.OPERATION_NAME: gen_ai.EXECUTE_CODE}
        with self._child(gen_ai.EXECUTE_CODE, SpanKind.INTERNAL, attributes) as span:
            if self._writer is not None:
                span.set_attribute(gen_ai.CODE, self._writer.text(code))
            outer, self._parent = self._parent, set_span_in_context(span)
            try:
                result = await call_next(code)
            finally:
                self._parent = outer
            if self._writer is not None:
                span.set_attribute(gen_ai.CODE_OUTPUT, self._writer.text(result.output))
            if result.error is not None:
                self._mark_failed(span, gen_ai.CODE_ERROR, result.error)
            return result

    def _begin(self) -> None:
        attributes = _present(
            {
                gen_ai.OPERATION_NAME: gen_ai.INVOKE_AGENT,
                gen_ai.AGENT_NAME: self._names.agent,
                gen_ai.REQUEST_MODEL: self._model,
                gen_ai.RUN_ID: self._run.run_id,
            }
        )
        name = _named(gen_ai.INVOKE_AGENT, self._names.agent)
        span = self._tracer.start_span(name, kind=SpanKind.INTERNAL, attributes=attributes)
        if self._writer is not None:
            task = self._writer.messages([Message("user", self._run.task)])
            span.set_attribute(gen_ai.INPUT_MESSAGES, task)
        self._span = span
        self._parent = set_span_in_context(span)

    def _end(self, result: RunResult[Any]) -> None:
        span, self._span = self._span, None
        if span is None:
            return
        span.set_attributes(
            {
                gen_ai.USAGE_INPUT_TOKENS: result.usage.input_tokens,
                gen_ai.USAGE_OUTPUT_TOKENS: result.usage.output_tokens,
                gen_ai.RUN_STATE: result.state,
                gen_ai.RUN_STEPS: result.steps_taken,
            }
        )
        if self._writer is not None and result.final_answer is not None:
            answer = self._writer.response(ModelResponse(str(result)))
            span.set_attribute(gen_ai.OUTPUT_MESSAGES, answer)
        if result.state != "completed":
            kind = result.state if result.error is None else type(result.error).__qualname__
            self._mark_failed(span, kind, str(result.error or ""))
        span.end()

    def _tell_answer(self, span: Span, response: ModelResponse) -> None:
        span.set_attributes(
            _present(
                {
                    gen_ai.RESPONSE_MODEL: response.model,
                    gen_ai.RESPONSE_ID: response.id,
                    gen_ai.RESPONSE_FINISH_REASONS: [response.finish_reason],
                    gen_ai.USAGE_INPUT_TOKENS: response.usage.input_tokens,
                    gen_ai.USAGE_OUTPUT_TOKENS: response.usage.output_tokens,
                    gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: response.usage.cached_tokens or None,
                    gen_ai.USAGE_CACHE_CREATION_INPUT_TOKENS: response.usage.cache_write_tokens
                    or None,
                    gen_ai.USAGE_REASONING_OUTPUT_TOKENS: response.usage.reasoning_tokens or None,
                }
            )
        )
        if self._writer is not None:
            span.set_attribute(gen_ai.OUTPUT_MESSAGES, self._writer.response(response))

    @contextmanager
    def _child(
        self, name: str, kind: SpanKind, attributes: Mapping[str, _Value]
    ) -> Generator[Span]:
        """A span under the run's, current for whatever is called inside."""
        # The run's span is named as the parent, not found as the current one: calls of one answer
        # run in tasks of their own, and a middleware may run them anywhere.
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
        span.set_attribute(gen_ai.ERROR_TYPE, kind)
        text = None if self._writer is None else self._writer.text(message)
        span.set_status(Status(StatusCode.ERROR, text))


def _named(operation: str, what: str) -> str:
    return f"{operation} {what}".rstrip()


def _present(attributes: Mapping[str, _Value | None]) -> dict[str, _Value]:
    return {name: value for name, value in attributes.items() if value is not None and value != ""}
