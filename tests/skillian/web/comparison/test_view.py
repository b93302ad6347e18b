from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.testing import User
from pydantic import SecretStr
from tests.skillian.web.views import (
    asked,
    by_test_id,
    compared,
    fire,
    only,
    open_tab,
    point,
    sees,
    viewed,
    written,
)
from tests.support.waits import soon

from skillian.api.service import Service
from skillian.app import open_service
from skillian.settings import Settings
from skillian.web.comparison.view import comparison_view
from skillian.web.shell.elements import Amount, Time

SCRIPTS = {
    ":cellClass", ":cellRenderer", ":datasource", ":format", ":formatter", ":onCellClicked",
    ":onCellKeyDown", ":tooltipValueGetter", ":valueFormatter",
}  # fmt: skip


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield str(name)
            yield from keys(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from keys(each)


def labels_of(user: User) -> list[str]:
    return [label.text for label in user.find(ui.label).elements]


async def test_numbers_are_shown_with_all_of_their_digits(service: Service) -> None:
    key = await compared(service)
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, "fi_reporting and bpc_reporting")
        amounts = {element.props["value"] for element in user.find(Amount).elements}
        assert {"6586678.06", "6446372.27", "-140305.79"} <= amounts
        shown = written(user)
        for part in (
            "amount by company, period", "all rows", "524823.53 without regard to sign",
            "Limits: match up to 0.01 and 0.01, minor up to 1.00 and 1",
            "6 of 36 groups differ: 4 major, 1 minor, 1 only in fi_reporting.",
        ):  # fmt: skip
            assert part in shown
        assert only(user, Time).props["value"] == service.data.engine.remembered(key).proof.snapshot
        assert "major 4" in by_test_id(user, "status-bar").props["aria-label"]
        assert (
            "company 1001, period 2024004"
            in by_test_id(user, "differences-chart").props["aria-label"]
        )


async def test_no_sentence_repeats_a_number_of_the_verdict(service: Service) -> None:
    key = await compared(service)
    result = service.data.engine.remembered(key)
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        labels = [label.text for label in user.find(ui.label).elements]
    assert len(result.findings) > 2
    assert set(result.findings) <= set(labels)
    assert not {*result.sentences} - {*result.findings} & {*labels}
    sentences = [label for label in labels if label.endswith(".")]
    assert len(sentences) == len({*sentences})


async def test_a_click_on_a_bar_opens_the_rows_of_both_sides(service: Service) -> None:
    key = await compared(service)
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        chart = by_test_id(user, "differences-chart")
        for forged in (99, "0", -1, None):
            fire(chart, "componentClick", point(forged))
        await user.should_not_see("Rows behind")
        fire(chart, "componentClick", point(0))
        await sees(user, "Rows behind company 1001, period 2024004")
        counts = (
            "fi_reporting: 40 rows, bpc_reporting: 80 rows; 40 only in bpc_reporting, 40 equal."
        )
        assert counts in written(user)
        assert written(user).count("◨ only in bpc_reporting") == 40
        [show] = [
            each for each in user.find(ui.button).elements
            if any("Show the" in str(part.props.get("innerHTML")) for part in each.descendants())
        ]  # fmt: skip
        fire(show, "click", None)
        await soon(lambda: written(user).count("= match") == 40)


async def test_cells_that_differ_are_marked_next_to_their_counterparts(service: Service) -> None:
    key = await compared(service)
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        open_tab(user, "Rows")
        await soon(lambda: "Show the 40 equal rows too" in written(user))
        with user:
            only(user, ui.select).set_value("company 1001, period 2024009")
        await soon(lambda: "≠ differs" in written(user))


async def test_a_row_of_the_grid_opens_its_group_and_a_forged_one_is_refused(
    service: Service,
) -> None:
    key = await compared(service)
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        fire(only(user, ui.aggrid), "open", {"company": "1001", "period": "2024007"})
        await soon(lambda: "bpc_reporting: 0 rows; 40 only in fi_reporting" in written(user))
        for forged in ({"company": "1001"}, {"company": {"gt": 1}, "period": 1}, ["x"], None):
            fire(only(user, ui.aggrid), "open", forged)
        await soon(lambda: len(user.notify.messages) == 2)
        assert sum(dialog.value for dialog in user.find(ui.dialog).elements) == 1


async def test_the_grid_requests_the_selected_classes(service: Service) -> None:
    key = await compared(service)
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        options: dict[str, Any] = only(user, ui.aggrid).options
        assert options["rowModelType"] == "infinite"
        assert f"/comparisons/{key}/rows" in options[":datasource"]
        assert options["context"] == {
            "statuses": ["minor_diff", "major_diff", "missing_in_a", "missing_in_b"],
            "search": "",
        }
        assert [column["headerName"] for column in options["columnDefs"]] == [
            "Class", "company", "period", "amount, EUR", "Rows", "",
        ]  # fmt: skip
        assert [column["headerName"] for column in options["columnDefs"][3]["children"]] == [
            "fi_reporting", "bpc_reporting", "Gap", "Gap %",
        ]  # fmt: skip
        assert "6 of 36 groups are shown" in written(user)
        wrong: tuple[object, ...] = ("all", None, {})
        for forged in wrong:
            fire(only(user, ui.aggrid), "counted", forged)
        fire(only(user, ui.aggrid), "counted", 10**9)
        await soon(lambda: "36 of 36 groups are shown" in written(user))


async def test_why_names_the_members_and_breaks_the_gap_down_further(service: Service) -> None:
    key = await compared(service, filters={"company": "1001"})
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        open_tab(user, "Why")
        await sees(user, "amount by period")
        assert (
            "88.7 of the gap in amount without regard to sign, 516192.23: period 2024004"
            in written(user)
        )
        user.find("cost_centre").click()
        await sees(user, "amount by period and cost_centre")


async def test_the_heat_map_follows_the_selected_dimensions(service: Service) -> None:
    key = await compared(service, align_on=["company", "period", "account"])
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        open_tab(user, "Why")
        await sees(user, "+ bpc_reporting is higher")
        assert "by company and period" in by_test_id(user, "heat-map").props["aria-label"]
        [rows] = [each for each in user.find(ui.select).elements if each.props["label"] == "Rows"]
        with user:
            rows.set_value("account")
        await soon(
            lambda: "by account and period" in by_test_id(user, "heat-map").props["aria-label"]
        )
        cells: Any = by_test_id(user, "heat-map")
        data = cells.options["series"][0]["data"]
        assert {cell["row"] for cell in data} == {"400000", "410000", "500000", "620000", "650000"}
        with user:
            rows.set_value("period")
        await soon(lambda: len(user.notify.messages) == 1)
        assert "two different dimensions" in user.notify.messages[0]


async def test_each_download_has_a_link(service: Service) -> None:
    key = await compared(service)
    async with viewed(lambda: comparison_view(service, key)) as user:
        await sees(user, ui.aggrid)
        links = {
            element.props["href"] for element in user.find(ui.element).elements
            if "download" in element.props
        }  # fmt: skip
    names = ("rows.csv", "rows.xlsx", "report.html", "report.json")
    assert links == {f"/comparisons/{key}/{name}" for name in names}


async def test_names_and_values_are_never_keys_or_markup(hostile: Service) -> None:
    key = await compared(hostile, a=":a<img src=x onerror=alert(1)>", b=":b", measures=[":sum"])
    async with viewed(lambda: comparison_view(hostile, key)) as user:
        await sees(user, ui.aggrid)
        fire(only(user, ui.aggrid), "open", {":key": None, "a.b": "{{ 1 }}"})
        await soon(lambda: "Rows are matched" in str(labels_of(user)))
        open_tab(user, "Why")
        await sees(user, "Why they differ")
        open_tab(user, "Rows")
        await soon(lambda: str(labels_of(user)).count("Rows are matched") == 2)
        open_tab(user, "SQL")
        for element in user.find(ui.element).elements:
            scripts = {name for name in keys(dict(element.props)) if name.startswith(":")}
            assert scripts <= SCRIPTS, element
        amounts = {element.props["value"] for element in user.find(Amount).elements}
        assert "-246913578024691358.24" in amounts


async def test_equal_sources_and_an_empty_comparison(service: Service) -> None:
    equal = await compared(service, filters={"company": "1002"})
    # Asked in a chat, whose answer has a link to it; elsewhere it is refused.
    question = asked(filters={"company": "nobody"})
    empty = (await service.data.engine.compare(question)).cache_key
    async with viewed(lambda: comparison_view(service, equal)) as user:
        await sees(user, "They match")
        assert "All 12 groups match." in written(user)
        await user.should_not_see("Why")
    async with viewed(lambda: comparison_view(service, empty)) as user:
        await sees(user, "Nothing to compare")
        assert "Neither fi_reporting nor bpc_reporting has a row" in written(user)
        await user.should_not_see(ui.aggrid)


async def test_a_comparison_of_another_process_is_computed_again(
    demo: Path, tmp_path: Path
) -> None:
    settings = Settings(sources=demo, database_url=SecretStr(f"sqlite:///{tmp_path / 'shared.db'}"))
    async with open_service(settings) as first:
        key = await compared(first)
    async with (
        open_service(settings) as second,
        viewed(lambda: comparison_view(second, key)) as user,
    ):
        await sees(user, "They differ")


async def test_an_unknown_comparison_is_reported(service: Service) -> None:
    async with viewed(lambda: comparison_view(service, "0" * 64)) as user:
        await sees(user, "This comparison cannot be shown")
        await sees(user, "compare again")
