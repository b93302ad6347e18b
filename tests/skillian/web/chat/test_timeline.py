from __future__ import annotations

from tests.skillian.web.views import sees, viewed, written

from skillian.chat.timeline import Span, Timeline
from skillian.web.chat.timeline import timeline_view


async def test_a_turn_is_shown_with_durations_and_tokens() -> None:
    spans = [
        Span("model", "<gpt>", 0, 100, tokens=(10, 2), thought="Let me <see>"),
        Span("tool", "compare_sources", 100, 1500, "a: <b>", is_error=True),
    ]

    async def view() -> None:
        timeline_view("s1", Timeline("Why <not>?", "answered", spans))

    async with viewed(view) as user:
        for words in (
            "Why <not>?", "answered", "Use of the model", "<gpt>", "100 ms", "compare_sources",
            "✕ failed", "a: <b>", "Reasoning",
        ):  # fmt: skip
            await sees(user, words)
        for words in (
            "1.6 s in models, tools and code", "100 ms", "1.5 s",
            "10 tokens in, 2 out", "Call 1: 10 in, 2 out",
        ):  # fmt: skip
            assert words in written(user).split("\n")


async def test_a_turn_without_steps() -> None:
    async def view() -> None:
        timeline_view("s1", Timeline())

    async with viewed(view) as user:
        await sees(user, "This turn has no steps: it was stopped or failed before the first.")
