from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from nicegui import ui
from nicegui.testing import User
from pydantic import SecretStr
from tests.skillian.web.views import fire, only, sees, viewed
from tests.skillian.web.visits import visit
from tests.support.waits import soon

from skillian.api import jobs
from skillian.api.comparisons import Comparisons
from skillian.api.jobs import ComparisonJobs
from skillian.api.runs import Runs
from skillian.api.service import Service
from skillian.app import open_service
from skillian.chat.turns import LocalTurns
from skillian.data.declare.saved import SavedComparison
from skillian.errors import UnavailableError
from skillian.settings import Settings
from skillian.tasks import Progress
from skillian.web.comparison.form.filter_fields import FilterFields
from skillian.web.comparison.form.view import compare_form
from skillian.web.start.view import start_view


def field(user: User, label: str, nth: int = 0) -> Any:
    fields = [
        element
        for element in user.find(ui.element).elements
        if isinstance(element, ui.select | ui.input)
        and label in (element.props.get("aria-label"), element.props.get("label"))
    ]
    return sorted(fields, key=lambda element: element.id)[nth]


def submit(user: User) -> None:
    [form] = [each for each in user.find(ui.element).elements if each.tag == "form"]
    fire(form, "submit", None)


@asynccontextmanager
async def form(service: Service) -> AsyncGenerator[User]:
    """The form, opened."""
    async with viewed(lambda: compare_form(visit(service))) as user:
        await sees(user, "Compare two sources")
        yield user


async def choose_rows(user: User) -> None:
    """Choose no measure, and wait for the columns."""
    with user:
        field(user, "Measures").value = []
    await soon(lambda: bool(field(user, "Key columns").options))


async def compared(user: User) -> str:
    """The key of the result, to which the form leads."""
    submit(user)
    await soon(lambda: len(user.back_history) == 2)
    return user.back_history[-1].removeprefix("/compare/")


async def test_the_form_offers_what_both_sources_have(service: Service) -> None:
    async with form(service) as user:
        assert field(user, "Source A, the baseline").value == "fi_reporting"
        assert field(user, "Source B").value == "bpc_reporting"
        assert field(user, "Measures").value == ["amount"]
        assert field(user, "Group by").value == ["company", "period"]
        user.find("Add a filter").click()
        user.find("Add a filter").click()
        with user:
            field(user, "Column", 1).value = "period"
            field(user, "Condition", 1).value = "between"
            field(user, "from").value = "2024001"
            field(user, "to").value = "2024003"
        await soon(lambda: [*field(user, "Values").options] == ["1001", "1002", "1003"])
        with user:
            field(user, "Values").value = ["1001", "1002"]
            field(user, "A match differs by at most: amount").value = "0"
        key = await compared(user)
    result = service.data.engine.remembered(key)
    assert (result.summary.classes.groups, result.summary.classes.match) == (6, 5)
    assert [condition.operator for condition in result.proof.filters] == ["in", "gte", "lte"]


async def test_without_a_measure_whole_rows_are_compared(customers: Service) -> None:
    async with form(customers) as user:
        await user.should_not_see("How rows are matched")
        with user:
            field(user, "Measures").value = []
        await sees(user, "How rows are matched")
        await soon(lambda: bool(field(user, "Key columns").options))
        await user.should_not_see("Limits of the classes")
        assert field(user, "Key columns").options == ["id", "name", "country", "credit", "since"]
        assert field(user, "Ignored columns").options[-2:] == ["segment", "grade"]
        for _ in range(2):
            user.find("Add a filter").click()
        with user:
            field(user, "Key columns").value = ["id"]
            field(user, "Ignored columns").value = ["segment", "grade", "country"]
            field(user, "Column").value = "country"
            field(user, "Column", 1).value = "since"  # not a dimension
            field(user, "Condition", 1).value = "gte"
            field(user, "Value").value = "2024-01-01"
        await soon(lambda: "Spain" in field(user, "Values").options)
        with user:
            field(user, "Values").value = ["Spain"]
        key = await compared(user)
    result = await customers.comparisons.find(key)
    assert (result["kind"], result["key"]["columns"]) == ("rows", ["id"])
    assert [column["a"] for column in result["columns"]] == ["name", "credit", "since"]
    assert (result["rows"]["a"], result["schema"]["findings"]) == (20, 0)


async def test_columns_are_paired_and_cells_compared_by_rules(customers: Service) -> None:
    async with form(customers) as user:
        await choose_rows(user)
        user.find("Pair two columns").click()
        for _ in range(3):
            user.find("Add a rule").click()
        assert "segment" in field(user, "Key columns").options
        with user:
            field(user, "Key columns").value = ["id"]
            field(user, "Compared columns").value = ["name", "credit", "segment"]
            field(user, "Value").value = "nearly"
            field(user, "Rule", 1).value = "trim"
            field(user, "For", 1).value = "types:text"
            field(user, "For", 2).value = "columns:name"
            field(user, "Rule", 2).value = "nfc"
        submit(user)
        await soon(lambda: field(user, "Value").error is not None)
        with user:
            field(user, "Value").value = "0.01"
        key = await compared(user)
    result = await customers.comparisons.find(key)
    names = {(column["a"], column["b"]): column for column in result["columns"]}
    assert [*names] == [("name", "name"), ("credit", "credit"), ("segment", "grade")]
    assert names["name", "name"]["rule"] == "trimmed, in Unicode form NFC"
    assert names["name", "name"]["mismatches"] == 1  # neither the space nor the form of Zoë
    assert names["credit", "credit"]["rule"] == "within 0.01"
    assert names["credit", "credit"]["mismatches"] == 1  # NULL, and not the cents


async def test_two_rules_of_one_kind_are_refused(customers: Service) -> None:
    async with form(customers) as user:
        await choose_rows(user)
        for place in range(2):
            user.find("Add a rule").click()
            with user:
                field(user, "Rule", place).value = "precision"
        submit(user)
        await soon(lambda: field(user, "Rule", 1).error is not None)
        assert len(user.back_history) == 1


async def test_rows_without_a_key_are_counted(customers: Service) -> None:
    async with form(customers) as user:
        with user:
            field(user, "Measures").value = []
            only(user, ui.checkbox).value = True
        await soon(lambda: not field(user, "Key columns").enabled)
        key = await compared(user)
    assert (await customers.comparisons.find(key))["key"]["origin"] == "none"


async def test_an_error_of_a_column_is_shown_at_its_field(customers: Service) -> None:
    async with form(customers) as user:
        await choose_rows(user)
        with user:
            field(user, "Key columns").value = ["id"]
            field(user, "Ignored columns").value = ["id"]
        submit(user)
        await soon(lambda: field(user, "Ignored columns").error is not None)
        assert field(user, "Ignored columns").error == "id is a key column."
        assert len(user.back_history) == 1


async def test_columns_that_cannot_be_read_are_reported(
    customers: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def columns(_name: str) -> tuple[str, ...]:
        raise UnavailableError("the database does not answer")

    monkeypatch.setattr(customers.data.catalogue, "columns", columns)
    async with form(customers) as user:
        with user:
            field(user, "Measures").value = []
        await sees(user, "The columns cannot be read: the database does not answer")
        assert field(user, "Key columns").options == []


async def test_each_error_is_shown_at_its_field(service: Service) -> None:
    async with form(service) as user:
        user.find("Add a filter").click()
        with user:
            field(user, "Group by").value = []
            field(user, "A minor difference is at most: amount").value = "much"
        submit(user)
        await soon(lambda: field(user, "Group by").error is not None)
        assert field(user, "Group by").error == "Choose at least one dimension."
        assert field(user, "Values").error == "Choose or enter a value."
        assert "decimal" in field(user, "A minor difference is at most: amount").error
        assert len(user.back_history) == 1


async def test_an_error_of_the_engine_is_shown_at_the_filter(service: Service) -> None:
    async with form(service) as user:
        user.find("Add a filter").click()
        with user:
            field(user, "Column").value = "period"
            field(user, "Condition").value = "between"
            field(user, "from").value = "2024009"
            field(user, "to").value = "2024001"
        submit(user)
        await soon(lambda: field(user, "from").error is not None)
        assert "from low to high" in field(user, "from").error


async def test_a_filter_on_a_name_that_is_not_offered_is_kept(service: Service) -> None:
    filters: list[FilterFields] = []

    async def view() -> None:
        filters.append(FilterFields(service))
        filters[0].set_sources("fi_reporting", "bpc_reporting", ["company"])
        filters[0].fill({"a.text": {"gte": "5"}})

    async with viewed(view):
        assert filters[0].read() == {"a.text": {"gte": "5"}}


def offers_values(user: User, filter_index: int) -> bool:
    """Whether a filter offers the values that are known."""
    return bool(field(user, "Values", filter_index).options)


async def test_two_filters_on_one_dimension_are_combined_or_refused(service: Service) -> None:
    async with form(service) as user:
        for index, (condition, value) in enumerate((("gte", "1001"), ("lt", "1003"))):
            user.find("Add a filter").click()
            with user:
                field(user, "Condition", index).value = condition
                field(user, "Value", index).value = value
        await compared(user)
    async with form(service) as user:
        for index in range(2):
            user.find("Add a filter").click()
            await soon(partial(offers_values, user, index))
            with user:
                field(user, "Values", index).value = ["1001"]
        submit(user)
        await soon(lambda: field(user, "Values", 1).error is not None)
        assert "another filter on company" in field(user, "Values", 1).error


async def test_a_value_that_is_not_known_is_typed(service: Service) -> None:
    async with form(service) as user:
        user.find("Add a filter").click()
        await soon(lambda: bool(field(user, "Values").options))
        fire(field(user, "Values"), "inputValue", "10")
        fire(field(user, "Values"), "inputValue", "1009, Inc")
        fire(field(user, "Values"), "blur", None)
        await soon(lambda: field(user, "Values").value == ["1009, Inc"])
        fire(field(user, "Values"), "inputValue", "1003")
        key = await compared(user)
    [condition] = service.data.engine.remembered(key).proof.filters
    assert condition.values == ("1009, Inc", "1003")


async def test_the_same_source_twice_is_refused(service: Service) -> None:
    async with form(service) as user:
        with user:
            field(user, "Source B").value = "fi_reporting"
        assert field(user, "Source B").error == "A and B are the same. Choose two."
        submit(user)
        with user:
            field(user, "Source B").value = "bpc_reporting"
        assert field(user, "Source B").error is None
        assert len(user.back_history) == 1


async def test_the_configured_limits_are_shown(service: Service) -> None:
    async with viewed(lambda: compare_form(visit(service))) as user:
        text = "Configured for amount: a match up to 0.01 and 0.01 %, minor up to 1.00 and 1 %"
        await sees(user, text)
        placeholder = field(user, "A minor difference is at most: amount").props["placeholder"]
        assert placeholder == "1.00"
        with user:
            field(user, "Measures").value = ["documents"]
        await sees(user, text.replace("amount", "documents"))


def without(sources: Path, name: str) -> Path:
    """Write the declarations without one of the sources."""
    declared = yaml.safe_load(sources.read_text(encoding="utf-8"))
    del declared["sources"][name]
    fewer = sources.parent / "fewer.yaml"
    fewer.write_text(yaml.safe_dump(declared), encoding="utf-8")
    return fewer


async def test_one_source_cannot_be_compared(demo: Path, tmp_path: Path) -> None:
    alone = without(demo, "bpc_reporting")
    url = SecretStr(f"sqlite:///{tmp_path / 'sessions.db'}")
    async with open_service(Settings(sources=alone, database_url=url)) as service:
        async with viewed(lambda: compare_form(visit(service))) as user:
            await sees(user, "A comparison needs two sources.")
            await sees(user, "Compare two files")
        async with viewed(lambda: start_view(visit(service))) as user:
            await sees(user, "Declare two sources in sources.yaml to compare them here.")


async def test_names_that_look_like_code_are_compared(hostile: Service) -> None:
    async with viewed(lambda: compare_form(visit(hostile))) as user:
        await sees(user, "Compare two sources")
        assert field(user, "Measures").value == [":sum"]
        await compared(user)


async def test_a_busy_server_is_reported(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_WAITING", 0)
    async with form(service) as user:
        submit(user)
        await sees(user, "0 of your comparisons are queued already; try again later")


class Endless(Comparisons):
    """A comparison that ends only when it is stopped."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()

    async def check(self, question: SavedComparison, owner: str) -> str:
        """Anything can be compared."""
        return f"{question.a} and {question.b} of {owner}"

    async def compare(
        self,
        question: SavedComparison,
        owner: str,  # noqa: ARG002 - of the protocol
        progress: Progress | None = None,
        key: str = "",  # noqa: ARG002 - of the protocol
    ) -> dict[str, Any]:
        if progress is not None:
            progress(question.a, 7)
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
        return {}


async def test_a_comparison_shows_its_progress_and_can_be_stopped(service: Service) -> None:
    endless = Endless()
    background = ComparisonJobs(endless, service.store.jobs)
    service.runs = Runs(background, LocalTurns(service.work))
    async with form(service) as user:
        submit(user)
        await sees(user, "fi_reporting: 7 groups")
        user.find("Stop").click()
        await sees(user, "Stopped.")
        await asyncio.wait_for(endless.stopped.wait(), 60)
    await background.aclose()
