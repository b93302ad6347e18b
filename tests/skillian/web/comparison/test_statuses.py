from __future__ import annotations

from tests.skillian.web.views import sees, viewed

from skillian.web.comparison.statuses import STATUS_STYLES, status_mark


async def test_a_class_is_shown_by_its_symbol_and_its_label() -> None:
    async def view() -> None:
        for status in STATUS_STYLES:
            status_mark(status)

    async with viewed(view) as user:
        for style in STATUS_STYLES.values():
            await sees(user, style.symbol)
            await sees(user, style.label)
    assert len({style.symbol for style in STATUS_STYLES.values()}) == len(STATUS_STYLES)
