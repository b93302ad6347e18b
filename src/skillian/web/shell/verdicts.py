"""The verdict of a comparison in a list: a symbol and a word, as a result begins with."""

from __future__ import annotations

from nicegui import ui

from skillian.data.subjects import Subject
from skillian.reports.outcome import Verdict


def verdict_mark(
    verdict: Verdict, subject: Subject, *, findings: int | None = None, new: int = 0
) -> ui.element:
    """Show a verdict, in the colour of its class.

    Args:
        verdict: The verdict.
        subject: What was compared.
        findings: How many findings there are, if that is known.
        new: How many of them are new; 0 is not shown.
    """
    status, symbol, word = _style(verdict, subject, is_accepted=bool(findings))
    with ui.element("span").classes(f"status status-{status} verdict-mark") as mark:
        ui.label(symbol).classes("status-symbol").props("aria-hidden=true")
        ui.label(word)
        if new:
            ui.label(f"· {new:,} new")
    return mark


def _style(verdict: Verdict, subject: Subject, *, is_accepted: bool) -> tuple[str, str, str]:
    """The class whose colour it has, its symbol and its word."""
    if verdict == "failed":
        return "major_diff", "✕", "Failed"
    if verdict == "findings":
        return "major_diff", "≠", subject.differ
    if is_accepted:
        return "match", "✓", "Only known differences"
    return "match", "✓", subject.equal
