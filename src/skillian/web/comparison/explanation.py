"""Why two sources differ: by measure, dimension and member, the smallest explanation first."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from skillian.data.comparison.explain.explanation import (
    Breakdown,
    Contribution,
    Explanation,
    MeasureExplanation,
    share,
)
from skillian.display import printable
from skillian.reports.charts import WIDTH, from_zero
from skillian.reports.words import key_words
from skillian.web.comparison.context import ComparisonContext
from skillian.web.shell.activity import loading, reporting_errors
from skillian.web.shell.elements import Amount, Heading, scroll_to


class ExplanationPanel:
    """Hidden until `explain` is called; a click on a member shows its groups.

    Args:
        comparison: The comparison to explain.
    """

    def __init__(self, comparison: ComparisonContext) -> None:
        self._comparison = comparison
        self._room = ui.element("section").classes("explanation stack")
        self._room.props["data-testid"] = "explanation"
        self._room.props["aria-label"] = "Why they differ"
        self._room.set_visibility(False)

    async def explain(self, *more: str) -> None:
        """Show which members carry the gap.

        Args:
            *more: Dimensions to break the gap down by, in addition to those of the comparison.
        """
        service, key = self._comparison.service, self._comparison.result.cache_key
        self._room.clear()
        self._room.set_visibility(True)
        with self._room:
            loading("Finding the members that carry the gap …")
        scroll_to(self._room)
        with reporting_errors(), service.slots.taken():
            await service.comparisons.recall(key)
            explanation = await service.data.comparison.explain(key, more)
            self._room.clear()
            with self._room:
                self._show(explanation, more)
            scroll_to(self._room)
            return
        self._room.set_visibility(False)

    def _show(self, explanation: Explanation, more: tuple[str, ...]) -> None:
        Heading("Why they differ")
        for measure in explanation.measures:
            self._measure(measure)
        for note in explanation.notes:
            ui.label(note).classes("soft")
        others = [name for name in explanation.unused if name not in more]
        if others:
            with ui.element("div").classes("line"):
                ui.label("Break the gap down by:").classes("soft")
                for name in others:
                    button = ui.button(on_click=partial(self.explain, *more, name), color=None)
                    button.props("outline dense no-caps").set_text(name)

    def _measure(self, measure: MeasureExplanation) -> None:
        ui.label(printable(measure.sentence())).classes("why-sentence")
        with ui.element("ul").classes("tree"):
            for index, breakdown in enumerate(measure.breakdowns):
                with ui.element("li"):
                    self._breakdown(breakdown, measure, is_open=index == 0)

    def _breakdown(
        self, breakdown: Breakdown, measure: MeasureExplanation, *, is_open: bool
    ) -> None:
        title = f"{measure.measure} by {' and '.join(breakdown.dimensions)}"
        with ui.expansion(title, caption=_concentration(breakdown), value=is_open).props("dense"):
            with ui.element("ul").classes("tree"):
                amounts = [*(each.gross for each in breakdown.contributions), measure.gross]
                *bars, _ = from_zero(amounts)[1]
                for each, bar in zip(breakdown.contributions, bars, strict=True):
                    with ui.element("li").classes("member"):
                        self._member(each, measure, bar.length)
            rest = breakdown.members - len(breakdown.contributions)
            if rest:
                ui.label(f"and {rest} more with smaller gaps").classes("small soft")

    def _member(self, each: Contribution, measure: MeasureExplanation, length: int) -> None:
        name = key_words(each.member)
        with ui.element("div").classes("member-name"):
            if set(each.member) <= set(self._comparison.result.proof.align_on):
                select = partial(self._comparison.select_members, each.member)
                button = ui.button(on_click=select, color=None)
                button.props("flat dense no-caps align=left").set_text(name)
                button.props["aria-label"] = f"Show the groups of {name}"
            else:
                ui.label(name)
        with ui.element("div").classes("share").props("aria-hidden=true"):
            ui.element("div").style(f"width: {length * 100 / WIDTH}%")
        ui.label(share(each.gross, measure.gross) or "-").classes("number")
        Amount(each.net, measure.unit, signed=True)


def _concentration(breakdown: Breakdown) -> str:
    if breakdown.is_trivial or breakdown.needed is None:
        return f"spread over {breakdown.members}"
    verb = "carries" if breakdown.needed == 1 else "carry"
    return f"{breakdown.needed} of {breakdown.members} {verb} 80 % of the gap"
