"""What the tests of tracing stand on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tinyagent.middleware.tracing import Tracing


class Traced:
    """A tracer provider of the test's own, and what it exported."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = self.provider.get_tracer("a user's own")

    def tracing(self, **options: Any) -> Tracing:
        return Tracing(tracer_provider=self.provider, **options)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span

    def facts(self, name: str) -> dict[str, Any]:
        """The attributes of the one span of that name."""
        return dict(self.one(name).attributes or {})

    def ids(self, span: ReadableSpan) -> tuple[int, int]:
        """Of its trace, and its own."""
        assert span.context is not None
        return int(span.context.trace_id), int(span.context.span_id)

    def tree(self) -> list[str]:
        """Each span as the path of names down to it."""
        by_id = {self.ids(span)[1]: span for span in self.spans}

        def path(span: ReadableSpan) -> str:
            parent = by_id.get(span.parent.span_id) if span.parent else None
            return span.name if parent is None else f"{path(parent)} > {span.name}"

        return sorted(path(span) for span in self.spans)


@pytest.fixture
def traced() -> Traced:
    return Traced()
