"""The interpreter of tables of rules, without a provider."""

from __future__ import annotations

from typing import Any

import pytest

from tinyagent.testing.http import Request
from tinyagent.testing.strict.rules import RuleTable
from tinyagent.testing.strict.session import ProviderExchange, Refused, Session

REQUEST = Request("POST", "/", {}, {}, b"")
TABLE = """
.  keys :known
    {at} is unknown. #unknown
items[*].name  like [a-z]+
    Invalid '{at}': {value}. @{up} !422
items.*(kind=a|b).size  at-most 2  when !free
    {at} has {size} items in {model}.
limit  at-least 16  if bounded
    At least {argument}.
limit  absent  unless bounded  :gone
mode  one-of fast slow  when is-set
    Use one of {listed}.
.  check whole
"""


def refusal(body: dict[str, Any], *flags: str) -> Refused:
    def check_whole(node: Any) -> None:
        if node.get("whole") is False:
            raise node.refused("It is not whole: {reason}.", reason="{no}")

    table = RuleTable(
        TABLE,
        {"known": "items limit mode free model whole", "gone": "{at} is gone"},
        flags,
        {"is-set": lambda node: "mode" in node.parent, "whole": check_whole},
    )
    with pytest.raises(Refused) as caught:
        table.check(ProviderExchange(REQUEST, {"model": "m", **body}, Session()))
    return caught.value


@pytest.mark.parametrize(
    ("body", "flags", "message"),
    [
        ({"strange": 1}, (), "strange is unknown."),
        ({"items": [{"name": "x"}, {"name": 1}]}, (), "Invalid 'items[1].name': 1."),
        ({"items": [{"name": "x", "kind": "b", "size": [1] * 3}]}, (), "items.0.size has 3 items"),
        ({"limit": 3}, ("bounded",), "At least 16."),
        ({"limit": 16}, (), "limit is gone"),
        ({"mode": "odd"}, (), "Use one of 'fast', 'slow'."),
        ({"whole": False}, (), "It is not whole: {no}."),
    ],
)
def test_a_row_refuses_in_its_words(
    body: dict[str, Any], flags: tuple[str, ...], message: str
) -> None:
    assert refusal(body, *flags).message.startswith(message)


def test_words_may_end_with_a_code_a_parameter_and_a_status() -> None:
    assert refusal({"strange": 1}).code == "unknown"
    wrong = refusal({"items": [{"name": ""}]})
    assert (wrong.param, wrong.status) == ("items[0]", 422)


def test_a_row_applies_only_within_its_limits() -> None:
    long = {"name": "x", "kind": "c", "size": [1] * 3}
    assert refusal({"items": [long], "whole": False}).message.startswith("It is not whole")
    long["kind"] = "a"
    assert refusal({"items": [long], "free": 1, "whole": False}).message.startswith("It is not")
    body = {"limit": 16, "mode": "slow", "whole": False}
    assert refusal(body, "bounded").message.startswith("It is not whole")


@pytest.mark.parametrize("row", ["a  lkie x", "a  check nothing"])
def test_a_row_that_means_nothing_is_noticed_at_once(row: str) -> None:
    with pytest.raises(ValueError, match="a: there is no demand"):
        RuleTable(row)
