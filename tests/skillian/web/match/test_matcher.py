"""How two sources are matched, in a simulated browser."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import cast

from nicegui import ui
from nicegui.testing import User
from tests.skillian.web.comparison.form.test_view import field
from tests.skillian.web.views import found, sees, viewed
from tests.skillian.web.visits import visit
from tests.support.waits import soon

from skillian.api.service import Service
from skillian.data.declare.saved import SavedComparison
from skillian.web.match.matcher import Matcher


def differs(user: User) -> bool:
    """Whether the reader sees in how many rows a column differs."""
    return any("differ" in str(each.content) for each in found(user, ui.html))


def switched(user: User) -> dict[str, ui.switch]:
    """The switches that make columns the key, by the name of the column."""
    suffix = " is a key column"
    return {
        cast("str", each.props["aria-label"]).removesuffix(suffix): each
        for each in found(user, ui.switch)
    }


def keys(user: User) -> list[str]:
    """The columns that are shown as the key."""
    return [name for name, switch in switched(user).items() if switch.value]


@asynccontextmanager
async def matcher(service: Service, key: tuple[str, ...] = ("id",)) -> AsyncGenerator[User]:
    """The customers of two sources, as they are matched."""
    question = SavedComparison(name="x", a="customers", b="customers_copy", key=key)

    async def view() -> None:
        Matcher(visit(service), question, ("A", "B"), 120)

    async with viewed(view) as user:
        await sees(user, "How rows and columns are matched")
        await soon(lambda: differs(user))
        yield user


async def test_no_earlier_value_is_used_instead_of_one_that_is_not_valid(
    customers: Service,
) -> None:
    async with matcher(customers) as user:
        with user:
            field(user, "credit is compared").value = "absolute"
        for value, words in (("", "value"), ("0.01", ""), ("", "value"), ("0,005", "point")):
            with user:
                field(user, "Value for credit").value = value
            error = field(user, "Value for credit").error
            assert words in error if words else error is None
        await soon(lambda: not differs(user))
        user.find("Compare").click()
        await soon(lambda: any("Correct" in each.text for each in found(user, ui.label)))
        assert len(user.back_history) == 1
        with user:
            field(user, "credit in B").value = ""  # with which its value is gone
        await soon(lambda: differs(user))
        user.find("Compare").click()
        await soon(lambda: len(user.back_history) == 2)


async def test_a_column_that_is_not_compared_keeps_its_line(customers: Service) -> None:
    async with matcher(customers) as user:
        with user:
            field(user, "name is compared").value = "ignore"
            field(user, "country in B").value = ""
        await soon(lambda: any(each.text == "not compared" for each in found(user, ui.label)))
        assert field(user, "country in B").value == ""
        assert field(user, "name is compared").value == "ignore"
        with user:
            field(user, "name is compared").value = ""
        await soon(lambda: "trim" in field(user, "name is compared").options)


async def test_the_key_that_is_shown_is_the_one_by_which_rows_are_compared(
    customers: Service,
) -> None:
    async with matcher(customers, key=()) as user:
        assert keys(user) == ["id"]
        with user:
            field(user, "id is compared").value = "absolute"
            field(user, "Value for id").value = "1"
        await soon(lambda: keys(user) == ["name"])
        with user:
            switched(user)["name"].value = False
        await soon(lambda: any("Choose the key" in each.text for each in found(user, ui.label)))
        user.find("Compare").click()
        with user:
            switched(user)["since"].value = True
        await soon(lambda: differs(user))
        assert (keys(user), len(user.back_history)) == (["since"], 1)
