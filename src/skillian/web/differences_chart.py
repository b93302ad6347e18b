"""The largest differences of a measure as bars; a click on one opens its group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from skillian.data.comparison.results import ComparisonResult, Difference, MeasureSummary
from skillian.data.sql.values import jsonable
from skillian.reports.words import key_words, text
from skillian.web.choices import OnGroup, picked
from skillian.web.heading import Heading
from skillian.web.theme import STATUSES

_ROW = 26
# They are constants: what comes of the data stands in the values they are given.
_AMOUNT = """p => {
  const digits = (p.data.exact.split(".")[1] || "").length;
  return new Intl.NumberFormat(navigator.language,
    {minimumFractionDigits: digits, maximumFractionDigits: digits, signDisplay: "exceptZero"}
  ).format(p.data.exact);
}"""
_COMPACT = """v => new Intl.NumberFormat(navigator.language,
  {notation: "compact", maximumFractionDigits: 1}).format(v)"""


def differences_chart(result: ComparisonResult, on_group: OnGroup) -> None:
    """Show the largest differences of each measure."""
    for measure in result.summary.measures:
        found = [each for each in result.top_differences if each.measure == measure.name]
        if found:
            _chart(measure, found, on_group)


def _chart(measure: MeasureSummary, found: Sequence[Difference], on_group: OnGroup) -> None:
    unit = f", in {measure.unit}" if measure.unit else ""
    Heading(f"Largest differences in {measure.name}{unit} (B − A)", 2)  # noqa: RUF001 - a minus

    async def clicked(event: EChartPointClickEventArguments) -> None:
        difference = picked(event.data_index, found)
        if difference is not None:
            await on_group(difference.key)

    chart = ui.echart(_options(found), on_point_click=clicked, renderer="svg")
    chart.classes("differences-chart")
    chart.style["height"] = f"{_ROW * len(found) + 40}px"
    chart.props["role"] = "img"
    chart.props["data-testid"] = "differences-chart"
    told = "; ".join(f"{key_words(each.key)}: {jsonable(each.gap)}" for each in found)
    chart.props["aria-label"] = f"Largest differences in {measure.name}: {told}"


def _options(found: Sequence[Difference]) -> dict[str, Any]:
    return {
        "animation": False,
        "grid": {"left": 8, "right": 90, "top": 4, "bottom": 4, "containLabel": True},
        "xAxis": {
            "type": "value",
            "axisLabel": {":formatter": _COMPACT, "color": "var(--ink-soft)", "hideOverlap": True},
            "splitLine": {"lineStyle": {"color": "var(--line)"}},
        },
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": [" · ".join(text(value) for value in each.key.values()) for each in found],
            "axisLabel": {"color": "var(--ink)", "width": 160, "overflow": "truncate"},
            "axisLine": {"show": False},
            "axisTick": {"show": False},
        },
        "series": [
            {
                "type": "bar",
                "barMaxWidth": 16,
                "cursor": "pointer",
                "data": [_bar(each) for each in found],
                # Right of 0 for all, so that none covers the names on the left.
                "label": {
                    "show": True,
                    "position": "right",
                    ":formatter": _AMOUNT,
                    "color": "var(--ink)",
                },
            }
        ],
    }


def _bar(each: Difference) -> dict[str, Any]:
    """A bar: as long as a float can be, and with the exact amount beside it."""
    mark = STATUSES[each.status]
    return {
        "value": float(each.gap),
        "exact": str(jsonable(each.gap)),
        "itemStyle": {"color": mark.colour},
    }
