"""The largest differences of a measure as bars; a click on one opens its group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from skillian.data.results.groups import Difference, MeasureSummary
from skillian.data.sql.values import jsonable
from skillian.display import printable
from skillian.reports.words import key_words, text
from skillian.web.comparison.context import ComparisonContext
from skillian.web.comparison.statuses import STATUS_STYLES
from skillian.web.shell.elements import Heading, item_at

_ROW = 26
_LONGEST = 20
"""How many characters a label has at most before it is short."""
# These scripts are constants. Names and values reach them as data only.
_LABEL = "p => skillian.label(p.data.exact, true)"
_AMOUNT = "p => skillian.exact(p.data.exact, true)"
_SHORT = "v => skillian.short(v)"


def differences_chart(comparison: ComparisonContext) -> None:
    """Show the largest differences of each measure."""
    result = comparison.result
    with ui.element("section").classes("panel pad stack"):
        for measure in result.summary.measures:
            differences = [each for each in result.top_differences if each.measure == measure.name]
            if differences:
                _chart(comparison, measure, differences)


def _chart(
    comparison: ComparisonContext, measure: MeasureSummary, differences: Sequence[Difference]
) -> None:
    unit = f", in {measure.unit}" if measure.unit else ""
    a, b = comparison.names
    title = f"Largest differences in {measure.name}{unit}: {b} − {a}"  # noqa: RUF001 - a minus
    Heading(printable(title), 2)

    async def clicked(event: EChartPointClickEventArguments) -> None:
        difference = item_at(event.data_index, differences)
        if difference is not None:
            await comparison.open_group(difference.key)

    chart = ui.echart(_options(differences), on_point_click=clicked, renderer="svg")
    chart.classes("differences-chart")
    chart.style["height"] = f"{_ROW * len(differences) + 40}px"
    chart.props["role"] = "img"
    chart.props["data-testid"] = "differences-chart"
    amounts = "; ".join(f"{key_words(each.key)}: {jsonable(each.gap)}" for each in differences)
    chart.props["aria-label"] = f"Largest differences in {measure.name}: {amounts}"


def _options(differences: Sequence[Difference]) -> dict[str, Any]:
    return {
        "animation": False,
        # A long amount is short in the chart; drawn as text in a picture, never as HTML.
        "tooltip": {"renderMode": "richText", "confine": True, ":formatter": _AMOUNT},
        "grid": {
            "left": 8,
            "right": _label_width(differences),
            "top": 4,
            "bottom": 4,
            "containLabel": True,
        },
        "xAxis": {
            "type": "value",
            "axisLabel": {":formatter": _SHORT, "color": "var(--ink-soft)", "hideOverlap": True},
            "splitLine": {"lineStyle": {"color": "var(--line)"}},
        },
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": [
                " · ".join(text(value) for value in each.key.values()) for each in differences
            ],
            "axisLabel": {"color": "var(--ink)", "width": 160, "overflow": "truncate"},
            "axisLine": {"show": False},
            "axisTick": {"show": False},
        },
        "series": [
            {
                "type": "bar",
                "barMaxWidth": 16,
                "cursor": "pointer",
                "emphasis": {"disabled": True},
                "data": [_bar(each) for each in differences],
                # Always right of 0, so that no label covers the names on the left.
                "label": {
                    "show": True,
                    "position": "right",
                    ":formatter": _LABEL,
                    "color": "var(--ink)",
                },
            }
        ],
    }


def _label_width(differences: Sequence[Difference]) -> int:
    """The width of the longest label in pixels, as `skillian.label` writes them."""
    # With a sign, and commas between thousands.
    lengths = [len(f"{abs(each.gap):,f}") + 1 for each in differences]
    shown = max((each for each in lengths if each <= _LONGEST), default=0)
    return max(90, 12 + 7 * shown)


def _bar(each: Difference) -> dict[str, Any]:
    """A bar. Only its length is a float; the label shows the exact amount."""
    return {
        "value": float(each.gap),
        "exact": str(jsonable(each.gap)),
        "itemStyle": {"color": STATUS_STYLES[each.status].colour},
    }
