"""Why two sources differ: by measure, dimension and member, the smallest explanation first."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial

from nicegui import ui

from skillian.data.comparison.explain.explanation import (
    Breakdown,
    Contribution,
    Explanation,
    MeasureExplanation,
    total,
)
from skillian.data.results.groups import share
from skillian.reports.charts import WIDTH, from_zero
from skillian.reports.words import key_words
from skillian.web.comparison.context import ComparisonContext
from skillian.web.shell import text
from skillian.web.shell.activity import loading, reporting_errors
from skillian.web.shell.buttons import Button
from skillian.web.shell.elements import Amount, Heading


def explanation_panel(comparison: ComparisonContext) -> None:
    """Show which members carry the gap; a click on one shows its groups."""
    panel = _Explanation(comparison)
    ui.timer(0, panel.explain, once=True)  # the tab opens before they are known


class _Explanation:
    def __init__(self, comparison: ComparisonContext) -> None:
        self._comparison = comparison
        self._room = ui.element("section").classes("explanation stack")
        self._room.props["data-testid"] = "explanation"
        self._room.props["aria-label"] = "Why they differ"

    async def explain(self, *more: str) -> None:
        """Show which members carry the gap.

        Args:
            *more: Dimensions to break the gap down by, in addition to those of the comparison.
        """
        service, key = self._comparison.service, self._comparison.result.cache_key
        self._room.clear()
        with self._room:
            loading("Finding the members that carry the gap …")
        with reporting_errors(), service.slots.taken():
            await service.comparisons.recall(key)
            explanation = await service.data.engine.measures.explain(key, more)
            self._room.clear()
            with self._room:
                self._show(explanation, more)
            return
        self._room.clear()
        with self._room:
            Button("Explain again", self.explain)

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
                    Button(name, partial(self.explain, *more, name))

    def _measure(self, measure: MeasureExplanation) -> None:
        with ui.element("p").classes("why-sentence"):
            text.sentence(*_sentence(measure))
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
            if set(each.member) <= set(self._comparison.result.key_columns):
                select = partial(self._comparison.select_members, each.member)
                Button(name, select, kind="quiet", label=f"Show the groups of {name}")
            else:
                ui.label(name)
        with ui.element("div").classes("share").props("aria-hidden=true"):
            bar = ui.element("div").classes("lower" if each.net < 0 else "higher")
            bar.style(f"width: {length * 100 / WIDTH}%")
        text.sentence(text.percentage(share(each.gross, measure.gross) or "0 %")).classes("number")
        Amount(each.net, measure.unit, signed=True)


def _sentence(measure: MeasureExplanation) -> Sequence[str]:
    """The smallest explanation of a measure."""
    if not measure.gross:
        return (f"There is no gap in {measure.measure} to explain.",)
    gap = text.amount(measure.gross, measure.unit or "")
    whole = (f"The gap in {measure.measure} without regard to sign, ", gap, ",")
    if not measure.is_explained:
        return *whole, " is spread over many members."
    first = measure.breakdowns[0]
    carried = share(total(each.gross for each in first.leading), measure.gross) or "0 %"
    members = "; ".join(key_words(each.member) for each in first.leading)
    part = f" of the gap in {measure.measure} without regard to sign, "
    of = (text.percentage(carried), part, gap, f": {members}")
    rows = None if first.rows is None else share(Decimal(first.rows), Decimal(measure.rows))
    return (*of, ".") if rows is None else (*of, ", with ", text.percentage(rows), " of the rows.")


def _concentration(breakdown: Breakdown) -> str:
    if breakdown.is_trivial or breakdown.needed is None:
        return f"spread over {breakdown.members}"
    verb = "carries" if breakdown.needed == 1 else "carry"
    return f"{breakdown.needed} of {breakdown.members} {verb} 80 % of it"
