"""Nothing gets around the list of hosts, and no key gets in."""

from __future__ import annotations

import ast
import base64
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from tests.tinyagent.execution.network.cases import Outcome, outcomes, selected
from tests.tinyagent.execution.network.ways_around import (
    KEY,
    NETWORK,
    PERMITTED,
    PRELUDE,
    WAYS,
    WayAround,
)

LISTED = ("api.example.com", "other.example.com")
MAY_BE_ASKED = {item if isinstance(item, str) else "other.example.com" for item in NETWORK}


def _case(way: WayAround, level: str) -> dict[str, Any]:
    first, *others = way.steps
    return {
        "level": level,
        "network": NETWORK,
        "secrets": {"api.example.com": ["API_KEY"]},
        "environment": {"API_KEY": KEY},
        "limits": {"max_network_bytes": 2_000_000},
        "steps": [PRELUDE + first, *others],
    }


@pytest.fixture(scope="module")
def ran(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], dict[str, Outcome]]:
    """The outcomes of all ways that are tried at a level, which are run together."""

    @cache
    def at(how: str) -> dict[str, Outcome]:
        ways = selected(request, "way", how)
        level = "sandboxed" if how == "sandboxed" else "isolated"
        folder = tmp_path_factory.mktemp("world")
        cases = [_case(way, level) for way in ways]
        found = outcomes(cases, folder, as_user=how == "as an ordinary user")
        return dict(zip((way.id for way in ways), found, strict=True))

    return at


def _check(way: WayAround, outcome: Outcome) -> None:
    for request in outcome["reached"]:
        assert PERMITTED in request["path"], request
        assert "evil" not in f"{request['host']}{request['address']}", request
        assert request["address"].startswith("93.184.216.3"), request
        if request["host"] == "other.example.com":
            names = {name.replace("_", "-") for name in request["headers"]}
            assert not {name for name in names if name.startswith(("x-", "forwarded"))}, request
        key = request["headers"].get("authorization", "")
        is_of_the_key = request["tls"] and request["host"] == "api.example.com"
        assert key == (f"Bearer {KEY}" if is_of_the_key else key.replace(KEY, "")), request
    for name in outcome["asked"]:
        assert name in MAY_BE_ASKED or name.endswith(".example.org"), name
    for step in outcome["steps"]:
        for request in step["requests"]:
            assert f"{request['target']}{request['path']}{request['reason']}".isprintable(), request
    shown = repr(outcome["steps"])
    encoded = base64.b64encode(KEY.encode()).decode().rstrip("=")
    for text in (KEY, KEY.upper(), KEY.encode().hex(), encoded, "KEY-LEAK", "Traceback"):
        assert text not in shown, (text, shown)


def test_each_way_is_a_program() -> None:
    for way in WAYS:
        for step in way.steps:
            compile(step, way.id, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("how", ["isolated"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_nothing_gets_through(
    way: WayAround, how: str, ran: Callable[[str], dict[str, Outcome]]
) -> None:
    _check(way, ran(how)[way.id])


@pytest.mark.parametrize("how", ["sandboxed", "as an ordinary user"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_nothing_gets_through_elsewhere(
    way: WayAround, how: str, ran: Callable[[str], dict[str, Outcome]]
) -> None:
    _check(way, ran(how)[way.id])
