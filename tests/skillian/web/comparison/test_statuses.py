from __future__ import annotations

from tests.skillian.web.views import sees, viewed

from skillian.web.comparison.statuses import STATUS_STYLES, status_mark, styles_of


async def test_a_class_is_shown_by_its_symbol_and_its_label() -> None:
    styles = styles_of(("ledger", "plan"))

    async def view() -> None:
        for status, style in styles.items():
            status_mark(status, style)

    async with viewed(view) as user:
        for style in styles.values():
            await sees(user, style.symbol)
            await sees(user, style.label)
        await sees(user, "only in ledger")
    assert len({style.symbol for style in STATUS_STYLES.values()}) == len(STATUS_STYLES)
