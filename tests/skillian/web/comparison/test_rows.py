from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.testing import User
from tests.skillian.web.views import (
    by_test_id,
    compared,
    labels,
    only,
    open_tab,
    sees,
    viewed,
    written,
)

from skillian.api.service import Service
from skillian.web.comparison.rows import rows_tabs, verdict_on_rows
from skillian.web.comparison.view import comparison_view
from skillian.web.shell.elements import Amount, Heading, Time
from skillian.web.shell.frame import Visit


async def rows_compared(service: Service, **options: Any) -> str:
    """Compare the customers, unless the options say otherwise; returns the key."""
    names = {"a": "customers", "b": "customers_copy", "measures": ()}
    return await compared(service, **{**names, **options})


def tables(user: User) -> str:
    """The HTML of all tables."""
    return "".join(
        str(each.content) for each in user.find(ui.html).elements if each.props["tag"] == "table"
    )


def tab_names(user: User) -> list[str]:
    """The names of the tabs, in their order."""
    tabs = [each for each in user.find(ui.element).elements if each.props.get("role") == "tab"]
    return [name for tab in sorted(tabs, key=lambda each: each.id) for name in labels(tab)]


def headings(user: User) -> list[str]:
    return [each.text for each in sorted(user.find(Heading).elements, key=lambda each: each.id)]


def grid_filters(options: dict[str, Any], name: str) -> set[str]:
    """What the filter of A's values of a column offers."""
    [column] = [each for each in options["columnDefs"] if each["headerName"] == name]
    return {*column["children"][0]["filterParams"]["filterOptions"]}


async def test_the_verdict_and_a_tab_for_each_kind_of_difference(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"])
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Rows differ")
        verdict = (
            "24 rows differ, 2 rows are only in customers, 1 row is only in customers_copy,"
            " 3 rows have a key that is repeated; compared in 5 of 7 columns; segment and grade"
            " were not compared."
        )
        shown = written(user)
        assert verdict in shown
        for scope in ("whole rows by id", "all rows", "Limits: only equal cells match"):
            assert scope in shown
        amounts = sorted(user.find(Amount).elements, key=lambda each: each.id)
        assert [each.props["value"] for each in amounts[:3]] == ["60", "60", "30"]
        assert only(user, Time).props["value"].endswith("+00:00")
        bar = by_test_id(user, "status-bar").props["aria-label"]
        assert bar == (
            "Rows by class: matched 33, differing 24, only in customers 2,"
            " only in customers_copy 1, repeated key 3"
        )
        assert tab_names(user) == ["Differences", "Columns", "Schema", "Why", "Change", "SQL"]
        grid = by_test_id(user, "differences-grid")
        assert f"/comparisons/{key}/rows" in grid.props["options"][":datasource"]
        assert "rows are shown" in written(user)
        options = grid.props["options"]
        filters = {name: grid_filters(options, name) for name in ("name", "credit", "since")}
        assert filters["name"] == {"contains", "equals", "notEqual", "blank", "notBlank"}
        assert filters["credit"] > {"greaterThan", "lessThan", "inRange", "equals"}
        assert filters["since"] > {"after", "before", "inRange", "equals"}
        assert "contains" not in filters["credit"] | filters["since"]
        assert '"keys": ["id"], "values": ["name", ' in grid.props["options"][":datasource"]
        open_tab(user, "Schema")
        assert "segment" in tables(user)
        assert "grade" in tables(user)
        open_tab(user, "Columns")
        shown = tables(user)
    frequent = (
        '<span class="value">Germany</span> <span class="soft">→</span>'
        ' <span class="value">DE</span> <span class="soft">× '  # noqa: RUF001
        '<exact-number value="19">19</exact-number></span>'
    )
    for part in (
        '<exact-number value="33.33" unit="%">', '<exact-number value="0.01">', "VARCHAR", frequent,
        '<span class="no-value">NULL</span>', '<exact-number value="112.51">112.51</exact-number>',
    ):  # fmt: skip
        assert part in shown
    assert '<span class="value">Zo\\xeb</span>' in shown
    assert '<span class="value">Zoe\\u0308</span>' in shown
    assert "<img" not in shown


async def test_filters_and_rules_are_part_of_the_verdict(customers: Service) -> None:
    rules = {"types": {"number": {"absolute": "0.01"}}}
    key = await rows_compared(customers, key=["id"], filters={"country": "Spain"}, rules=rules)
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "SQL")
        assert "country is Spain\nLimits: credit within 0.01\n" in written(user)


async def test_rows_and_reports_can_be_downloaded(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"])
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "HTML report")
        links = {
            each.props["href"] for each in user.find(ui.element).elements
            if "download" in each.props
        }  # fmt: skip
    files = ("rows.csv", "rows.xlsx", "report.html", "report.json")
    assert links == {f"/comparisons/{key}/{name}" for name in files}


async def test_equal_tables_have_only_tabs_with_content(customers: Service) -> None:
    key = await rows_compared(customers, b="customers")
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Equal")
        assert headings(user) == ["customers (a) and customers (b)"]
        assert "All 60 rows match." in written(user)
        assert tab_names(user) == ["Columns", "Change", "SQL"]
        await sees(user, "Without mismatches: name, country, credit, since, segment")
        open_tab(user, "SQL")
        await sees(user, "Computed in the database.")


async def test_rows_without_a_key_are_shown_with_their_counts(customers: Service) -> None:
    key = await rows_compared(customers, multiset=True, ignore=["segment", "grade"])
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Rows differ")
        assert "whole rows, without a key" in written(user)
        assert tab_names(user) == ["Differences", "Change", "SQL"]
        options = by_test_id(user, "differences-grid").props["options"]
        assert '"keys": ["id", "name", ' in options[":datasource"]
        assert '"values": []' in options[":datasource"]
        columns = [column["headerName"] for column in options["columnDefs"]]
        assert columns[:4] == ["Class", "Rows", "id", "name"]
        assert "more in customers_copy" in options["columnDefs"][0][":valueFormatter"]


async def test_equal_rows_with_other_columns_are_not_equal_tables(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"], filters={"id": 14})
    async with viewed(lambda: comparison_view(customers, key)) as user:
        await sees(user, "Columns differ")
        assert "The only row of both sides matches in 5 of 7 columns;" in written(user)


async def test_more_rows_than_are_kept_are_sampled(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"])
    result = await customers.comparisons.find(key)
    result["rows"]["differing"] = 2_000_000

    async def view() -> None:
        verdict_on_rows(result).show(1, on_change=print)
        rows_tabs(result, Visit(customers, "", None))

    async with viewed(view) as user:
        await sees(user, "More rows differ than are kept")
        assert "10 of 2000000 differ. ≠ marks a cell that differs" in written(user)
        assert '<span class="sign">≠</span>' in tables(user)
        assert '<td><span class="soft">=</span></td>' in tables(user)


async def test_names_and_values_are_texts(customers: Service) -> None:
    key = await rows_compared(customers, key=["id"])
    result = await customers.comparisons.find(key)
    bad = "<img src=x onerror=alert(1)>"
    result["source_a"] = bad
    result["key"] = {"columns": [bad], "origin": "profile", "reason": bad}
    result["sentences"] = [bad, bad]
    result["columns"][0] |= {"a": bad, "b": bad, "rule": bad, "type_a": bad, "largest_gap": bad}
    result["columns"][1]["a"] = bad
    pair = result["schema"]["columns"][0]
    result["schema"]["columns"].append({**pair, "a": {**pair["a"], "column": bad}})
    result["not_compared"] = [{"column": bad, "side": "a", "reason": bad}]
    result["proposals"] = [{"a": bad, "b": bad, "reason": bad}]
    for each in result["schema"]["differences"]:
        each["sentence"] = each["aspect"] = bad
    for rows in result["samples"].values():
        for row in rows:
            row["key"] = {bad: bad}
            row["cells"] = {bad: {"a": bad, "b": None}}
    result["proof"] |= {"sql": bad, "queries": {bad: {"sql": bad}}}

    result["filters"] = [{"dimension": bad, "operator": "in", "values": [bad]}]
    result["notes"] = [bad] * 5

    async def view() -> None:
        verdict_on_rows(result).show(1, on_change=print)
        rows_tabs(result, Visit(customers, "", None))

    async with viewed(view) as user:
        await sees(user, "Schema")
        for name in ("Columns", "Schema", "Change", "SQL"):
            open_tab(user, name)
        html = "".join(str(each.content) for each in user.find(ui.html).elements)
    assert "<img" not in html
    assert "&lt;img" in html
