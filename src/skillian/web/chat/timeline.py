"""The timeline of a turn: what it did in order, and how long each step took."""

from __future__ import annotations

from nicegui import ui

from skillian.chat.timeline import Span, Timeline
from skillian.display import printable
from skillian.web.chat.tool_card import duration
from skillian.web.shell import text
from skillian.web.shell.elements import Heading

_KINDS = {"model": "Model", "tool": "Tool", "code": "Code"}


def timeline_view(session_id: str, timeline: Timeline) -> None:
    """Show the timeline."""
    with ui.element("div").classes("stack"):
        Heading("Timeline", 1)
        ui.label(printable(timeline.question)).classes("question-text")
        with ui.element("div").classes("line small soft"):
            ui.label(timeline.state)
            duration(timeline.total_ms, " in models, tools and code")
            ui.link("Conversation", f"/chat/{session_id}")
        with ui.element("ol").classes("timeline").props('aria-label="Timeline"'):
            for span in timeline.spans:
                _row(span, timeline.total_ms)
        if not timeline.spans:
            ui.label("This turn has no steps: it was stopped or failed before the first.")
        if timeline.input_tokens or timeline.output_tokens:
            _tokens(timeline)


def _tokens(timeline: Timeline) -> None:
    """The tokens of the model's calls, folded: they matter to whoever pays for the model."""
    with ui.element("details").classes("small soft"):
        with ui.element("summary"):
            ui.label("Use of the model").style("display: inline")
        sums = text.amount(timeline.input_tokens), text.amount(timeline.output_tokens)
        with ui.element("div"):
            text.sentence(sums[0], " tokens in, ", sums[1], " out")
        for number, span in enumerate((each for each in timeline.spans if each.tokens), 1):
            if span.tokens:
                into, out = map(text.amount, span.tokens)
                with ui.element("div"):
                    text.sentence(f"Call {number}: ", into, " in, ", out, " out")


def _row(span: Span, total: float) -> None:
    """One step: its kind, name, duration, and a bar at its position in time."""
    with ui.element("li").classes("span"):
        with ui.element("div").classes("line span-head"):
            ui.label(_KINDS[span.kind]).classes(f"span-kind span-{span.kind}")
            ui.label(span.name).classes("mono")
            if span.is_error:
                ui.label("✕ failed").classes("fault small")
            ui.label(printable(span.detail)).classes("soft small grow span-detail")
            duration(span.duration_ms).classes("number small")
        with ui.element("div").classes("span-track").props("aria-hidden=true"):
            bar = ui.element("div").classes(f"span-bar span-{span.kind}")
            share = 100 / (total or 1)
            bar.style(
                f"margin-left:{span.start_ms * share:.2f}%;"
                f"width:max(2px,{span.duration_ms * share:.2f}%)"
            )
        if span.thought:
            with ui.expansion("Reasoning").props("dense"):
                text.code(span.thought, "text")
