"""A number as the reader's country writes it, with all of its digits."""

from __future__ import annotations

from nicegui.element import Element

from skillian.data.sql.values import jsonable


class Amount(Element, component="amount.js"):
    """A number; the browser writes it, without ever making a binary float of it.

    Args:
        value: An int or a `Decimal`; None is shown as a dash.
        unit: Follows the number.
        signed: Whether a positive number has its sign too.
    """

    def __init__(self, value: object, unit: str | None = None, *, signed: bool = False) -> None:
        super().__init__()
        self.props["value"] = None if value is None else str(jsonable(value))
        self.props["unit"] = unit
        self.props["signed"] = signed
