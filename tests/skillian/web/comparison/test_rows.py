from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.testing import User
from tests.skillian.web.views import by_test_id, compared, sees, viewed

from skillian.api.service import Service
from skillian.web.comparison.rows import rows_view
from skillian.web.comparison.view import comparison_view
from skillian.web.shell.elements import Amount, Heading


async def rows_compared(service: Service, **options: Any) -> str:
    """Compare the customers, unless the options say otherwise; returns the key."""
    names = {"a": "customers", "b": "customers_copy", "measures": ()}
    return await compared(service, **{**names, **options})


def tables(user: User) -> str:
    """The HTML of all tables."""
    return "".join(
        str(each.content) for each in user.find(ui.html).elements if each.props["tag"] == "table"
    )


def headings(user: User) -> list[str]:
    return [each.text for each in sorted(user.find(Heading).elements, key=lambda each: each.id)]


async def test_the_verdict_the_counts_and_each_kind_of_difference(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"])
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Rows differ")
        await user.should_see("24 rows differ, 2 rows are only in customers")
        amounts = {each.props["value"] for each in user.find(Amount).elements}
        assert {"60", "33", "24", "2", "1"} <= amounts
        bar = by_test_id(user, "status-bar").props["aria-label"]
        assert bar == (
            "Rows by class: matched 33, differing 24, only in A 2, only in B 1, repeated key 3"
        )
        assert headings(user) == [
            "customers and customers_copy", "Columns", "Rows that differ", "Rows only in A",
            "Rows only in B", "Repeated keys", "Schema",
        ]  # fmt: skip
        for note in ("10 of 24; ≠ marks a cell that differs", "All 2", "All 1"):
            await user.should_see(note)
        shown = tables(user)
    frequent = (
        '<span class="value">Germany</span> <span class="soft">→</span>'
        ' <span class="value">DE</span> <span class="soft">× 19</span>'  # noqa: RUF001
    )
    for part in (
        "33.33 %", "0.01", "VARCHAR", "segment", "grade", frequent,
        '<span class="no-value">NULL</span>', '<span class="sign">≠</span>',
        '<td><span class="soft">=</span></td>',
    ):  # fmt: skip
        assert part in shown
    assert '<span class="value">Zo\\xeb</span>' in shown
    assert '<span class="value">Zoe\\u0308</span>' in shown
    assert "<img" not in shown


async def test_downloads_are_reports(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"])
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "HTML report")
        links = {
            each.props["href"] for each in user.find(ui.element).elements
            if "download" in each.props
        }  # fmt: skip
    assert links == {f"/comparisons/{key}/report.{suffix}" for suffix in ("html", "json")}


async def test_equal_tables_show_no_differences(customers: Service) -> None:
    key = await rows_compared(customers, b="customers")
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Equal")
        await user.should_see("No row differs: all 60 rows of")
        assert headings(user) == ["customers and customers", "Columns"]
        await user.should_see("How this was computed")
        await user.should_see("Without mismatches: name, country, credit, since, segment")


async def test_rows_without_a_key_are_shown_with_their_counts(customers: Service) -> None:
    key = await rows_compared(customers, multiset=True, ignore=["segment", "grade"])
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Rows differ")
        await user.should_not_see("Differing")
        assert headings(user)[1:] == ["Rows only in A", "Rows only in B"]
        assert '<th scope="col">Rows in B</th>' in tables(user)


async def test_equal_rows_with_other_columns_are_not_equal_tables(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"], filters={"id": 14})
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Columns differ")
        await user.should_see("the only row of customers and customers_copy matches.")


async def test_names_and_values_are_texts(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"])
    result = await customers.comparisons.find(key)
    bad = "<img src=x onerror=alert(1)>"
    result["source_a"] = bad
    result["key"] = {"columns": [bad], "origin": "profile", "reason": bad}
    result["sentences"] = [bad, bad]
    result["columns"][0] |= {"a": bad, "b": bad, "rule": bad, "type_a": bad, "largest_gap": bad}
    result["columns"][1]["a"] = bad
    result["not_compared"] = [{"column": bad, "side": "a", "reason": bad}]
    result["proposals"] = [{"a": bad, "b": bad, "reason": bad}]
    for each in result["schema"]["differences"]:
        each["sentence"] = each["aspect"] = bad
    for rows in result["samples"].values():
        for row in rows:
            row["key"] = {bad: bad}
            row["cells"] = {bad: {"a": bad, "b": None}}
    result["proof"] |= {"statement": bad, "queries": {bad: bad}}

    async def view() -> None:
        rows_view(result, 1)

    async with viewed(view) as user:
        await sees(user, "Schema")
        html = "".join(str(each.content) for each in user.find(ui.html).elements)
    assert "<img" not in html
    assert "&lt;img" in html
